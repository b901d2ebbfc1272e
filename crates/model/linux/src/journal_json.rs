//! Reads the journal as JSON objects, one per entry, as written by `journalctl -o json`, `json-pretty`, `json-sse` and
//! `json-seq`.
//!
//! A value is a string, `null` if it was too long to show, an array of numbers if it is not text, or an array of values
//! if the field was set more than once (source: "Journal JSON Format", systemd's documentation).

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::journal::{Entry, JournalFaults};

/// Maximum size of one entry; journald writes no larger ones.
const MAX_ENTRY_LEN: usize = 64 << 20;

/// Passes every entry of `bytes` to `visit`, in file order. Objects may be one per line or span lines (`json-pretty`),
/// and may be framed by words (`json-sse`), control characters (`json-seq`) or an array.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'a>)) {
    let mut unread = bytes;
    // After an unterminated object, the next object can start only at the beginning of a line.
    let mut one_per_line = false;
    while let Some(start) = memchr::memchr(b'{', unread) {
        let (frame, tail) = unread.split_at(start);
        faults.unreadable += u64::from(!is_frame(frame));
        let line = tail.get(..memchr::memchr(b'\n', tail).unwrap_or(tail.len())).unwrap_or(tail);
        let object = if one_per_line { object(line) } else { object(tail) };
        let mut entry = Entry::default();
        let is_read = object.is_some_and(|object| {
            let mut reader = serde_json::Deserializer::from_slice(object);
            Fields(&mut entry).deserialize(&mut reader).and_then(|()| reader.end()).is_ok()
        });
        unread = if is_read {
            visit(&entry);
            tail.get(object.map_or(0, <[u8]>::len)..).unwrap_or_default()
        } else {
            faults.unreadable += 1;
            one_per_line |= object.is_none();
            tail.get(line.len()..).unwrap_or_default()
        };
    }
    faults.unreadable += u64::from(!is_frame(unread));
}

/// True if `bytes` are only separators between objects.
fn is_frame(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_suffix(b"data: ").unwrap_or(bytes);
    bytes.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']' | b'\x1e'))
}

/// Returns the object at the start of `bytes`, up to its closing brace.
fn object(bytes: &[u8]) -> Option<&[u8]> {
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    for (index, &byte) in bytes.iter().enumerate().take(MAX_ENTRY_LEN) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' if !in_text => depth += 1,
            b'}' if !in_text => {
                depth -= 1;
                if depth == 0 {
                    return bytes.get(..=index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Deserializes an object's members into an entry.
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

/// Deserializes the name or value of a field; if it has several values, the first.
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

/// An array element: either a byte of a value or one of several values.
enum Member<'a> {
    Byte(u8),
    Text(Option<Cow<'a, str>>),
}

/// Deserializes a [`Member`].
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

    // Old versions of journalctl write bytes above 127 as negative numbers.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        Ok(i8::try_from(number).map_or(Member::Text(None), |byte| Member::Byte(byte.cast_unsigned())))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Member::Text(None))
    }

    fn visit_seq<S: SeqAccess<'a>>(self, members: S) -> Result<Self::Value, S::Error> {
        // A binary value among several values; no field that is used here has one.
        let mut members = members;
        while members.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(Member::Text(None))
    }
}
