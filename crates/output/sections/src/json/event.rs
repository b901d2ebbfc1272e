//! Events as JSON Lines.
//!
//! Hexadecimal numbers (addresses, flags, codes, keywords) are strings such as `"0xffff8000deadbeef"`: many JSON
//! parsers use floating point and would lose the low bits.
//!
//! A recording has tens of millions of events. Lines are therefore assembled from bytes, and the common prefix of all
//! events of a kind is cached.

use onoff_trace::{DerivedValues, DescribedEvent, EventContext, EventOrigin, Field, FieldValue};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::escape::write_compact;

/// Number of cached prefixes; a power of two.
const CACHED_KINDS: usize = 64;

/// Writes one line per event.
#[derive(Clone, Debug)]
pub struct EventLines {
    /// Cached prefixes by a hash of the kind. A collision replaces the entry.
    kinds: Vec<Option<Kind>>,
}

impl Default for EventLines {
    fn default() -> Self {
        Self { kinds: vec![None; CACHED_KINDS] }
    }
}

impl EventLines {
    /// Appends `event` and a line end.
    pub fn append(&mut self, event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
        line.extend_from_slice(b"{\"time_ns\":");
        signed(event.time_ns, line);
        line.extend_from_slice(b",\"unix_ns\":");
        or_null(event.unix_ns, line, signed);
        self.append_kind(event, line);
        line.extend_from_slice(b",\"cpu\":");
        or_null((event.origin != EventOrigin::LogLine).then_some(event.cpu), line, unsigned);
        line.extend_from_slice(b",\"pid\":");
        or_null(event.pid, line, unsigned);
        line.extend_from_slice(b",\"process\":");
        or_null(event.process(), line, text);
        line.extend_from_slice(b",\"tid\":");
        or_null(event.tid, line, unsigned);
        line.extend_from_slice(b",\"size\":");
        unsigned(event.size, line);
        let EventContext { activity, related_activity, .. } = event.context;
        for (name, id) in [("activity", activity), ("related_activity", related_activity)] {
            if let Some(id) = id {
                line.push(b',');
                key(name, line);
                guid(id, line);
            }
        }
        line.extend_from_slice(b",\"described\":");
        boolean(event.described, line);
        line.extend_from_slice(b",\"complete\":");
        boolean(event.complete, line);
        line.extend_from_slice(b",\"fields\":");
        fields(event.fields, line);
        if event.derived != DerivedValues::default() {
            line.extend_from_slice(b",\"derived\":{");
            derived(&event.derived, line);
            line.push(b'}');
        }
        line.extend_from_slice(b"}\n");
    }

    /// Appends the common prefix of all events of the kind.
    fn append_kind(&mut self, event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
        let hash =
            usize::from(event.id) ^ usize::from(event.version) << 3 ^ usize::from(event.provider.len() as u8) << 1;
        let Some(entry) = self.kinds.get_mut(hash % CACHED_KINDS) else { return };
        match entry {
            Some(kind) if kind.matches(event) => line.extend_from_slice(&kind.written),
            _ => line.extend_from_slice(&entry.insert(Kind::new(event)).written),
        }
    }
}

/// The cached prefix of a kind of event, and the values that it contains.
#[derive(Clone, Debug)]
struct Kind {
    numbers: (EventOrigin, u16, u16, u8, u8, u64),
    texts: [Box<str>; 5],
    written: Vec<u8>,
}

/// Returns the numbers that identify a kind, together with its texts.
const fn numbers(event: &DescribedEvent<'_>) -> (EventOrigin, u16, u16, u8, u8, u64) {
    (event.origin, event.id, event.version, event.opcode, event.level, event.keyword)
}

const fn texts<'a>(event: &DescribedEvent<'a>) -> [&'a str; 5] {
    [event.name, event.provider, event.guid, event.task, event.opcode_name]
}

impl Kind {
    fn matches(&self, event: &DescribedEvent<'_>) -> bool {
        self.numbers == numbers(event) && self.texts.iter().zip(texts(event)).all(|(cached, text)| **cached == *text)
    }

    fn new(event: &DescribedEvent<'_>) -> Self {
        let mut line = Vec::new();
        let text_values = [
            ("name", event.name),
            ("kind", event.origin.as_str()),
            ("provider", event.provider),
            ("guid", event.guid),
            ("task", event.task),
            ("opcode_name", event.opcode_name),
        ];
        for (name, value) in text_values {
            line.push(b',');
            key(name, &mut line);
            text(value, &mut line);
        }
        let number_values: [(&str, u64); 4] = [
            ("id", event.id.into()),
            ("version", event.version.into()),
            ("opcode", event.opcode.into()),
            ("level", event.level.into()),
        ];
        for (name, value) in number_values {
            line.push(b',');
            key(name, &mut line);
            unsigned(value, &mut line);
        }
        line.push(b',');
        key("keyword", &mut line);
        hexadecimal(event.keyword, 16, &mut line);
        Self { numbers: numbers(event), texts: texts(event).map(Into::into), written: line }
    }
}

fn fields(fields: &[Field<'_>], line: &mut Vec<u8>) {
    line.push(b'{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            line.push(b',');
        }
        key(&field.name, line);
        value(&field.value, line);
    }
    line.push(b'}');
}

fn value(value: &FieldValue<'_>, line: &mut Vec<u8>) {
    match value {
        FieldValue::Null => line.extend_from_slice(b"null"),
        FieldValue::Boolean(flag) => boolean(*flag, line),
        FieldValue::Signed(number) => signed(*number, line),
        FieldValue::Unsigned(number) => unsigned(*number, line),
        FieldValue::Hexadecimal(number, digits) => hexadecimal(*number, usize::from(*digits), line),
        // Writing to memory cannot fail.
        FieldValue::Float(number) => drop(write_compact(number, line)),
        FieldValue::Text(value) | FieldValue::Formatted(value) => text(value, line),
        FieldValue::List(values) => list(values.iter(), line, |value, line| self::value(value, line)),
        FieldValue::Addresses(addresses, digits) => {
            list(addresses.iter(), line, |&address, line| hexadecimal(address, usize::from(*digits), line));
        }
        FieldValue::Structure(members) => fields(members, line),
    }
}

fn list<T>(values: impl Iterator<Item = T>, line: &mut Vec<u8>, mut append: impl FnMut(T, &mut Vec<u8>)) {
    line.push(b'[');
    for (index, value) in values.enumerate() {
        if index > 0 {
            line.push(b',');
        }
        append(value, line);
    }
    line.push(b']');
}

fn derived(derived: &DerivedValues<'_>, line: &mut Vec<u8>) {
    let mut is_first = true;
    let mut append_key = |name: &str, line: &mut Vec<u8>| {
        if !std::mem::take(&mut is_first) {
            line.push(b',');
        }
        key(name, line);
    };
    let times = [
        ("elapsed_ns", derived.elapsed_ns),
        ("service_ns", derived.service_ns),
        ("since_last_ns", derived.since_last_ns),
        ("ran_ns", derived.ran_ns),
        ("stack_of_ns", derived.stack_event_ns),
    ];
    for (name, ns) in times {
        if let Some(ns) = ns {
            append_key(name, line);
            signed(ns, line);
        }
    }
    let texts =
        [("old_state", derived.old_state), ("old_wait_reason", derived.old_wait_reason), ("file", derived.file)];
    for (name, value) in texts {
        if let Some(value) = value {
            append_key(name, line);
            text(value, line);
        }
    }
}

/// Writes a GUID in lower case with hyphens.
fn guid(id: u128, line: &mut Vec<u8>) {
    let mut text = [0; Hyphenated::LENGTH];
    line.push(b'"');
    line.extend_from_slice(Uuid::from_u128(id).hyphenated().encode_lower(&mut text).as_bytes());
    line.push(b'"');
}

fn or_null<T>(value: Option<T>, line: &mut Vec<u8>, write: impl FnOnce(T, &mut Vec<u8>)) {
    match value {
        Some(value) => write(value, line),
        None => line.extend_from_slice(b"null"),
    }
}

fn boolean(flag: bool, line: &mut Vec<u8>) {
    line.extend_from_slice(if flag { b"true" } else { b"false" });
}

fn unsigned(number: impl Into<u64>, line: &mut Vec<u8>) {
    line.extend_from_slice(itoa::Buffer::new().format(number.into()).as_bytes());
}

fn signed(number: i64, line: &mut Vec<u8>) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn key(name: &str, line: &mut Vec<u8>) {
    text(name, line);
    line.push(b':');
}

/// Appends a quoted text, with a fast path for plain ASCII.
fn text(value: &str, line: &mut Vec<u8>) {
    let is_special = |byte: u8| byte.wrapping_sub(b' ') > b'~' - b' ' || byte == b'"' || byte == b'\\';
    if value.bytes().fold(false, |any, byte| any | is_special(byte)) {
        // Writing to memory cannot fail.
        let _ = write_compact(value, line);
        return;
    }
    line.push(b'"');
    line.extend_from_slice(value.as_bytes());
    line.push(b'"');
}

/// Appends a quoted `0x` number with at least `min_digits` digits.
fn hexadecimal(number: u64, min_digits: usize, line: &mut Vec<u8>) {
    let digits = hexadecimal_digits(number);
    let digit_count = ((u64::BITS - number.leading_zeros()).div_ceil(4) as usize).max(min_digits).max(1);
    line.extend_from_slice(b"\"0x");
    line.resize(line.len() + digit_count.saturating_sub(digits.len()), b'0');
    line.extend_from_slice(digits.get(digits.len().saturating_sub(digit_count)..).unwrap_or(&digits));
    line.push(b'"');
}

/// Computes all sixteen digits at once: each nibble becomes a byte, plus `0`, plus the gap between `9` and `a` for
/// values above 9.
const fn hexadecimal_digits(number: u64) -> [u8; 16] {
    const LOW_NIBBLES: u128 = 0x0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f_0f0f;
    const ONES: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
    let mut spread = number as u128;
    spread = (spread | spread << 32) & 0x0000_0000_ffff_ffff_0000_0000_ffff_ffff;
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff_0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff_00ff_00ff_00ff_00ff;
    spread = (spread | spread << 4) & LOW_NIBBLES;
    let above_nine = (spread + 6 * ONES) >> 4 & ONES;
    (spread + b'0' as u128 * ONES + (b'a' - b'9' - 1) as u128 * above_nine).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use onoff_trace::Directory;

    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut line = Vec::new();
        write(&mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn formats_values_like_serde_json() {
        for number in (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, 0x9abc_def0_1234_5678 >> bit]) {
            for digits in [1, 4, 8, 16, 20] {
                let expected = format!("\"{number:#0width$x}\"", width = digits + 2);
                assert_eq!(written(|line| hexadecimal(number, digits, line)), expected);
            }
        }
        for value in ["", "plain", "a\"b", "a\\b", "tab\t", "\u{7f}", "Gerät", "\u{202e}", "~ !"] {
            let mut expected = Vec::new();
            write_compact(value, &mut expected).unwrap();
            assert_eq!(written(|line| text(value, line)).into_bytes(), expected, "{value:?}");
        }
        for number in [0.1, 1.0, -0.0, 1e300, f64::NAN, f64::INFINITY] {
            let expected = serde_json::to_string(&number).unwrap();
            assert_eq!(written(|line| value(&FieldValue::Float(number), line)), expected);
        }
    }

    #[test]
    fn writes_every_kind_of_value() {
        let field = |name: &'static str, value| Field { name: Cow::Borrowed(name), value };
        let fields = [
            field("nothing", FieldValue::Null),
            field("flag", FieldValue::Boolean(true)),
            field("below", FieldValue::Signed(-7)),
            field("list \"1\"", FieldValue::List(vec![FieldValue::Unsigned(1), FieldValue::Text("x".into())])),
            field("frames", FieldValue::Addresses(&[0xffff_8000_dead_beef, 1], 16)),
            field("members", FieldValue::Structure(vec![field("a", FieldValue::Hexadecimal(255, 8))])),
            field("empty", FieldValue::Addresses(&[], 16)),
        ];
        let mut directory = Directory::new();
        directory.set_process(8, "a.exe");
        let event = DescribedEvent {
            time_ns: -5,
            unix_ns: None,
            cpu: 3,
            pid: Some(8),
            tid: None,
            origin: EventOrigin::Kernel { hook: 0x0524 },
            provider: "Thread",
            guid: "3d6fa8d1",
            name: "CSwitch",
            task_number: 0,
            channel: 0,
            payload_size: 24,
            task: "",
            opcode_name: "CSwitch",
            id: 36,
            opcode: 36,
            version: 2,
            level: 0,
            keyword: 1 << 63,
            size: 40,
            fields: &fields,
            described: true,
            complete: false,
            derived: DerivedValues { ran_ns: Some(9), file: Some("C:\\x"), ..DerivedValues::default() },
            context: EventContext { activity: Some(0x9c205a39_1250_487d_abd7_e831c6290539), ..EventContext::default() },
            directory: &directory,
        };
        let expected = concat!(
            r#"{"time_ns":-5,"unix_ns":null,"name":"CSwitch","kind":"kernel","provider":"Thread","guid":"3d6fa8d1","#,
            r#""task":"","opcode_name":"CSwitch","id":36,"version":2,"opcode":36,"level":0,"#,
            r#""keyword":"0x8000000000000000","cpu":3,"pid":8,"process":"a.exe","tid":null,"size":40,"#,
            r#""activity":"9c205a39-1250-487d-abd7-e831c6290539","described":true,"complete":false,"fields":{"nothing":null,"flag":true,"below":-7,"#,
            r#""list \"1\"":[1,"x"],"frames":["0xffff8000deadbeef","0x0000000000000001"],"#,
            r#""members":{"a":"0x000000ff"},"empty":[]},"derived":{"ran_ns":9,"file":"C:\\x"}}"#,
            "\n"
        );
        let mut lines = EventLines::default();
        assert_eq!(written(|line| lines.append(&event, line)), expected);
        // Another kind in the same cache entry, different only in name or level, then the first kind again.
        for (name, level, origin) in [("Other", 0, EventOrigin::Ftrace), ("CSwitch", 4, EventOrigin::LogLine)] {
            let other = DescribedEvent {
                name,
                level,
                origin,
                cpu: 0,
                fields: &[],
                derived: DerivedValues::default(),
                ..event.clone()
            };
            let line = written(|line| lines.append(&other, line));
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!((value["name"].as_str(), value["level"].as_u64()), (Some(name), Some(level.into())));
            assert_eq!(value["kind"], origin.as_str());
            assert_eq!(value["cpu"].is_null(), origin == EventOrigin::LogLine);
            assert!(value.get("derived").is_none() && line.contains("\"fields\":{}}"), "{line}");
            assert_eq!(written(|line| lines.append(&event, line)), expected);
        }
    }
}
