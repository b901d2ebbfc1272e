//! Values of decoded fields.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use onoff_etl::Guid;

use crate::schema::ValueMap;
use crate::security_identifier::Sid;
use crate::text::{Ansi, Utf16};
use crate::time::{FileTime, SystemTime};

/// A typed value, borrowed from the record and the schema. `Display` formats it for people, [`Value::write_json`] for
/// programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// No value.
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    /// An integer shown in hexadecimal.
    Hex(u64),
    /// An address, shown in hexadecimal.
    Pointer(u64),
    Float(f32),
    Double(f64),
    Guid(Guid),
    Sid(Sid<'r>),
    /// A time in UTC.
    FileTime(FileTime),
    /// A date and time without time zone.
    SystemTime(SystemTime),
    /// A time in ticks of the log's clock.
    Ticks(u64),
    Utf16(Utf16<'r>),
    /// 8-bit text of unknown code page.
    Ansi(Ansi<'r>),
    /// Bytes, shown in hexadecimal.
    Binary(&'r [u8]),
    Ip(IpAddr),
    /// A `SOCKADDR`, shown as address and port for IPv4 and IPv6, otherwise in hexadecimal.
    SocketAddress(&'r [u8]),
    /// An NTSTATUS, Win32 error, HRESULT or other error code, shown in hexadecimal.
    Status(u32),
    /// An integer with names for its values or bits.
    Mapped(u64, &'r ValueMap),
    /// The text of a software tracing (WPP) message.
    Message(Message<'r>),
    /// An array; its elements are the children of the field.
    Array,
    /// A struct; its members are the children of the field.
    Struct,
}

/// A message whose text consists of its arguments; `Display` writes the text.
#[derive(Clone, Copy)]
pub struct Message<'r> {
    pub(crate) format: &'r dyn FormatMessage,
    pub(crate) payload: &'r [u8],
    pub(crate) pointer_size: usize,
}

/// Formats the text of messages of one kind.
pub(crate) trait FormatMessage: Send + Sync {
    fn write(&self, payload: &[u8], pointer_size: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl PartialEq for Message<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::addr_eq(self.format, other.format)
            && (self.payload, self.pointer_size) == (other.payload, other.pointer_size)
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format.write(self.payload, self.pointer_size, f)
    }
}

impl fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl<'r> Value<'r> {
    /// Returns the integer in an integer, address, status, time or mapped value; `None` if negative or another type.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Self::Bool(value) => Some(value.into()),
            Self::Int(value) => u64::try_from(value).ok(),
            Self::UInt(value)
            | Self::Hex(value)
            | Self::Pointer(value)
            | Self::Ticks(value)
            | Self::Mapped(value, _) => Some(value),
            Self::Status(value) => Some(value.into()),
            Self::FileTime(time) => Some(time.0),
            _ => None,
        }
    }

    /// Like [`Self::as_u64`]; `None` if the value does not fit.
    #[must_use]
    pub fn as_u32(&self) -> Option<u32> {
        self.as_u64().and_then(|value| u32::try_from(value).ok())
    }

    /// Returns the integer, including negative values; `None` for other types or above `i64::MAX`.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Self::Int(value) => Some(value),
            _ => self.as_u64().and_then(|value| i64::try_from(value).ok()),
        }
    }

    /// Returns the boolean; for integers, true if not zero.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Self::Int(value) => Some(value != 0),
            _ => self.as_u64().map(|value| value != 0),
        }
    }

    /// Returns the text of a string of either encoding, or of a message.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        match self {
            Self::Utf16(text) => Some(text.to_string()),
            Self::Ansi(text) => Some(text.to_string()),
            Self::Message(message) => Some(message.to_string()),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_guid(&self) -> Option<Guid> {
        match *self {
            Self::Guid(guid) => Some(guid),
            _ => None,
        }
    }

    /// Writes the value as JSON. Integers of any width are numbers; addresses, codes and types unknown to JSON are
    /// strings as formatted by `Display`. Arrays and structs are written by
    /// [`Field::write_json`](crate::Field::write_json).
    ///
    /// # Errors
    /// `out` fails.
    pub fn write_json(&self, out: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Null | Self::Array | Self::Struct => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Int(value) => write!(out, "{value}"),
            Self::UInt(value) | Self::Ticks(value) => write!(out, "{value}"),
            // JSON has neither infinities nor NaN.
            Self::Float(value) if value.is_finite() => write!(out, "{value}"),
            Self::Double(value) if value.is_finite() => write!(out, "{value}"),
            Self::FileTime(time) if time.is_none() => out.write_str("null"),
            Self::Utf16(text) => write_json_string(out, text.chars()),
            Self::Ansi(text) => write_json_string(out, text.to_str().chars()),
            value => {
                let mut escaper = JsonEscaper { out };
                escaper.out.write_char('"')?;
                fmt::write(&mut escaper, format_args!("{value}"))?;
                escaper.out.write_char('"')
            }
        }
    }
}

/// A writer that escapes text for a JSON string.
struct JsonEscaper<'w, W> {
    out: &'w mut W,
}

impl<W: fmt::Write> fmt::Write for JsonEscaper<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|c| write_json_char(self.out, c))
    }
}

/// Writes a quoted JSON string.
pub(crate) fn write_json_string(out: &mut impl fmt::Write, chars: impl Iterator<Item = char>) -> fmt::Result {
    out.write_char('"')?;
    for c in chars {
        write_json_char(out, c)?;
    }
    out.write_char('"')
}

fn write_json_char(out: &mut impl fmt::Write, c: char) -> fmt::Result {
    match c {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c)),
        c => out.write_char(c),
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::UInt(value) | Self::Ticks(value) => write!(f, "{value}"),
            Self::Hex(value) => write!(f, "{value:#x}"),
            Self::Pointer(value) => write!(f, "{value:#018x}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
            Self::Guid(guid) => write!(f, "{guid}"),
            Self::Sid(sid) => write!(f, "{sid}"),
            Self::FileTime(time) => write!(f, "{time}"),
            Self::SystemTime(time) => write!(f, "{time}"),
            Self::Utf16(text) => write!(f, "{text}"),
            Self::Ansi(text) => write!(f, "{text}"),
            Self::Binary(bytes) => write_hex(f, bytes),
            Self::Ip(address) => write!(f, "{address}"),
            Self::SocketAddress(bytes) => write_socket_address(f, bytes),
            Self::Status(code) => write!(f, "{code:#010x}"),
            Self::Mapped(value, map) => write_mapped(f, *value, map),
            Self::Message(message) => write!(f, "{message}"),
            Self::Array => f.write_str("[]"),
            Self::Struct => f.write_str("{}"),
        }
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

// Values and bits without a name are shown as numbers.
fn write_mapped(f: &mut fmt::Formatter<'_>, value: u64, map: &ValueMap) -> fmt::Result {
    let mut named_bits = 0;
    let mut is_first = true;
    for (key, name) in &map.entries {
        let applies = if map.is_bit_map { *key != 0 && value & key == *key } else { value == *key };
        if !applies {
            continue;
        }
        if !is_first {
            f.write_str("|")?;
        }
        // Names in manifests often end in a space.
        f.write_str(name.trim_end())?;
        is_first = false;
        if !map.is_bit_map {
            return Ok(());
        }
        named_bits |= key;
    }
    let unnamed = if map.is_bit_map { value & !named_bits } else { value };
    match (is_first, unnamed) {
        (true, _) if map.is_bit_map => write!(f, "{value:#x}"),
        (true, _) => write!(f, "{value}"),
        (false, 0) => Ok(()),
        (false, unnamed) => write!(f, "|{unnamed:#x}"),
    }
}

// The family is little-endian; the port and the address are big-endian.
fn write_socket_address(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    const INET: u16 = 2;
    const INET6: u16 = 23;
    let family = bytes.first_chunk().copied().map(u16::from_le_bytes);
    let port = bytes.get(2..4).map(|port| u16::from_be_bytes([port[0], port[1]]));
    match (family, port) {
        (Some(INET), Some(port)) => {
            if let Some(address) = bytes.get(4..).and_then(<[u8]>::first_chunk::<4>) {
                return write!(f, "{}:{port}", Ipv4Addr::from(*address));
            }
        }
        (Some(INET6), Some(port)) => {
            if let Some(address) = bytes.get(8..).and_then(<[u8]>::first_chunk::<16>) {
                return write!(f, "[{}]:{port}", Ipv6Addr::from(*address));
            }
        }
        _ => {}
    }
    write_hex(f, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: Value<'_>) -> String {
        let mut out = String::new();
        value.write_json(&mut out).unwrap();
        out
    }

    #[test]
    fn formats_addresses_codes_and_bytes() {
        assert_eq!(Value::Pointer(0x1000).to_string(), "0x0000000000001000");
        assert_eq!(Value::Status(0xc000_0022).to_string(), "0xc0000022");
        assert_eq!(Value::Binary(&[0, 0xab]).to_string(), "00ab");
        let v4 = [2, 0, 0x1f, 0x90, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Value::SocketAddress(&v4).to_string(), "127.0.0.1:8080");
        let mut v6 = [0; 28];
        v6[0] = 23;
        v6[3] = 80;
        v6[23] = 1;
        assert_eq!(Value::SocketAddress(&v6).to_string(), "[::1]:80");
        assert_eq!(Value::SocketAddress(&v6[..20]).to_string().len(), 40);
    }

    #[test]
    fn maps_keep_unnamed_values() {
        let entries = vec![(1, "Read ".into()), (2, "Write".into())];
        let bits = ValueMap { is_bit_map: true, entries: entries.clone() };
        assert_eq!(Value::Mapped(3, &bits).to_string(), "Read|Write");
        assert_eq!(Value::Mapped(6, &bits).to_string(), "Write|0x4");
        assert_eq!(Value::Mapped(8, &bits).to_string(), "0x8");
        let values = ValueMap { is_bit_map: false, entries };
        assert_eq!(Value::Mapped(1, &values).to_string(), "Read");
        assert_eq!(Value::Mapped(9, &values).to_string(), "9");
    }

    #[test]
    fn json_is_always_valid() {
        assert_eq!(json(Value::Ansi(Ansi::new(b"a\"\\\n\x01"))), r#""a\"\\\n\u0001""#);
        assert_eq!(json(Value::Double(f64::NAN)), "\"NaN\"");
        assert_eq!(json(Value::FileTime(FileTime(0))), "null");
        assert_eq!(json(Value::UInt(u64::MAX)), "18446744073709551615");
        let map = ValueMap { is_bit_map: false, entries: vec![(0, "say \"no\"".into())] };
        assert_eq!(json(Value::Mapped(0, &map)), r#""say \"no\"""#);
    }

    #[test]
    fn integers_convert_without_wrapping() {
        assert_eq!(Value::Int(-1).as_u64(), None);
        assert_eq!(Value::Int(-1).as_i64(), Some(-1));
        assert_eq!(Value::UInt(1 << 40).as_u32(), None);
        assert_eq!(Value::Int(-1).as_bool(), Some(true));
        assert_eq!(Value::Status(5).as_u32(), Some(5));
    }
}
