//! The journal as JSON: one object per line, as `journalctl -o json` writes it.
//!
//! A value is a text, `null` when it was too long to be shown, an array of numbers when it is no text, and an array of
//! those when a field was set more than once (source: "Journal JSON Format", systemd's documentation).

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::journal::{Entry, JournalFaults};

/// Bytes of one entry, at most; a longer line is no entry that journald writes.
const LONGEST_LINE: usize = 64 << 20;

/// Calls `take` with every entry of `bytes`, in their order.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut take: impl FnMut(&Entry<'a>)) {
    // `journalctl -o json-sse` and `json-seq` put a word or a control character before the object.
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = line.strip_prefix(b"data: ").unwrap_or(line);
        let line = line.strip_prefix(b"\x1e").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        let mut entry = Entry::default();
        let read = line.len() <= LONGEST_LINE && {
            let mut reader = serde_json::Deserializer::from_slice(line);
            Fields(&mut entry).deserialize(&mut reader).and_then(|()| reader.end()).is_ok()
        };
        if read {
            take(&entry);
        } else {
            faults.unreadable += 1;
        }
    }
}

/// Reads an object's members into an entry.
struct Fields<'e, 'a>(&'e mut Entry<'a>);

impl<'a> DeserializeSeed<'a> for Fields<'_, 'a> {
    type Value = ();

    fn deserialize<D: de::Deserializer<'a>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Fields<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a journal entry")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<(), M::Error> {
        while let Some(name) = members.next_key_seed(Value)? {
            let value = members.next_value_seed(Value)?;
            if let (Some(name), Some(value)) = (name, value) {
                self.0.set(name.as_bytes(), value);
            }
        }
        Ok(())
    }
}

/// Reads a field's name or value; of several values the first.
struct Value;

impl<'a> DeserializeSeed<'a> for Value {
    type Value = Option<Cow<'a, str>>;

    fn deserialize<D: de::Deserializer<'a>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Value {
    type Value = Option<Cow<'a, str>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a field's value")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(number.to_string())))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut members: S) -> Result<Self::Value, S::Error> {
        let mut bytes = Vec::new();
        let mut first = None;
        while let Some(member) = members.next_element_seed(MemberSeed)? {
            match member {
                Member::Byte(byte) => bytes.push(byte),
                Member::Text(text) => first = first.or(text),
            }
        }
        Ok(first.or_else(|| (!bytes.is_empty()).then(|| Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))))
    }

    fn visit_map<M: MapAccess<'a>>(self, mut members: M) -> Result<Self::Value, M::Error> {
        while members.next_entry::<de::IgnoredAny, de::IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A member of an array: a byte of a value, or one of several values.
enum Member<'a> {
    Byte(u8),
    Text(Option<Cow<'a, str>>),
}

/// Reads a [`Member`].
struct MemberSeed;

impl<'a> DeserializeSeed<'a> for MemberSeed {
    type Value = Member<'a>;

    fn deserialize<D: de::Deserializer<'a>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for MemberSeed {
    type Value = Member<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a byte or a value")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Member::Text(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Member::Text(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(u8::try_from(number).map_or(Member::Text(None), Member::Byte))
    }

    // Old journalctl writes bytes above 127 as negative numbers.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(i8::try_from(number).map_or(Member::Text(None), |byte| Member::Byte(byte.cast_unsigned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Member::Text(None))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, members: S) -> Result<Self::Value, S::Error> {
        // A value that is no text, among several; nothing that is read here has such values.
        let mut members = members;
        while members.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(Member::Text(None))
    }
}
