//! An event as one line of JSON.
//!
//! Numbers that are read in hexadecimal (addresses, flags, codes, keywords) are texts such as `"0xffff8000deadbeef"`:
//! many readers of JSON hold numbers as floating point and would lose their low bits.

use std::io::{self, Write};

use onoff_trace::{Derived, DescribedEvent, EventOrigin, Field, FieldValue};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::escape::write_compact;

/// Writes `event` and a line end.
///
/// # Errors
/// What `out` answers.
pub fn write(event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
    write_compact(&Line(event), out)?;
    out.write_all(b"\n")
}

struct Line<'a>(&'a DescribedEvent<'a>);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let event = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time_ns", &event.time_ns)?;
        map.serialize_entry("unix_ns", &event.unix_ns)?;
        map.serialize_entry("name", event.name)?;
        map.serialize_entry("kind", event.origin.as_str())?;
        map.serialize_entry("provider", event.provider)?;
        map.serialize_entry("guid", event.guid)?;
        map.serialize_entry("task", event.task)?;
        map.serialize_entry("opcode_name", event.opcode_name)?;
        map.serialize_entry("id", &event.id)?;
        map.serialize_entry("version", &event.version)?;
        map.serialize_entry("opcode", &event.opcode)?;
        map.serialize_entry("level", &event.level)?;
        map.serialize_entry("keyword", &Hexadecimal(event.keyword, 16))?;
        map.serialize_entry("cpu", &(event.origin != EventOrigin::LogLine).then_some(event.cpu))?;
        map.serialize_entry("pid", &event.pid)?;
        map.serialize_entry("process", &event.process())?;
        map.serialize_entry("tid", &event.tid)?;
        map.serialize_entry("size", &event.size)?;
        map.serialize_entry("described", &event.described)?;
        map.serialize_entry("complete", &event.complete)?;
        map.serialize_entry("fields", &Fields(event.fields))?;
        if event.derived != Derived::default() {
            map.serialize_entry("derived", &Follows(&event.derived))?;
        }
        map.end()
    }
}

struct Hexadecimal(u64, u8);

impl Serialize for Hexadecimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#0width$x}", self.0, width = usize::from(self.1) + 2))
    }
}

struct Fields<'a>(&'a [Field<'a>]);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for field in self.0 {
            map.serialize_entry(&field.name, &Value(&field.value))?;
        }
        map.end()
    }
}

struct Value<'a>(&'a FieldValue<'a>);

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            FieldValue::Null => serializer.serialize_unit(),
            FieldValue::Boolean(flag) => serializer.serialize_bool(*flag),
            FieldValue::Signed(number) => serializer.serialize_i64(*number),
            FieldValue::Unsigned(number) => serializer.serialize_u64(*number),
            FieldValue::Hexadecimal(number, digits) => Hexadecimal(*number, *digits).serialize(serializer),
            FieldValue::Float(number) => serializer.serialize_f64(*number),
            FieldValue::Text(text) | FieldValue::Form(text) => serializer.serialize_str(text),
            FieldValue::List(values) => {
                let mut sequence = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    sequence.serialize_element(&Value(value))?;
                }
                sequence.end()
            }
            FieldValue::Structure(fields) => Fields(fields).serialize(serializer),
        }
    }
}

struct Follows<'a>(&'a Derived<'a>);

impl Serialize for Follows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let derived = self.0;
        let mut map = serializer.serialize_map(None)?;
        let times = [
            ("elapsed_ns", derived.elapsed_ns),
            ("service_ns", derived.service_ns),
            ("since_last_ns", derived.since_last_ns),
            ("ran_ns", derived.ran_ns),
            ("stack_of_ns", derived.stack_of_ns),
        ];
        for (name, ns) in times {
            if let Some(ns) = ns {
                map.serialize_entry(name, &ns)?;
            }
        }
        let texts =
            [("old_state", derived.old_state), ("old_wait_reason", derived.old_wait_reason), ("file", derived.file)];
        for (name, text) in texts {
            if let Some(text) = text {
                map.serialize_entry(name, text)?;
            }
        }
        map.end()
    }
}
