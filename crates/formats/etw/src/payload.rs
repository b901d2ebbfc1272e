//! Decodes payloads with a [`Layout`]. Fields are packed, in property order (section 5.4 of the format reference).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use onoff_etl::Guid;

use crate::fields::Fields;
use crate::reader::Reader;
use crate::schema::{Count, InType, Layout, Length, OutType, Property};
use crate::text::{Ansi, Utf16};
use crate::time::{FileTime, SystemTime};
use crate::value::Value;

/// Result of decoding a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Every property was read, and no bytes are left.
    Exact,
    /// Every property was read, and bytes are left: newer systems append fields.
    Trailing,
    /// The payload ends before its last property: an older or truncated record.
    Short,
    /// A property has an unknown type or size; the rest of the payload is one opaque field.
    Opaque,
    /// The schema describes more fields than the limit.
    Excessive,
    /// No schema was found.
    NoSchema,
}

/// Maximum nesting depth of structs. Real schemas have one level.
const MAX_DEPTH: usize = 8;

/// Reads all properties of `layout` from `payload` and appends them to `fields`. Returns the status and the number of
/// bytes read.
pub(crate) fn decode<'r>(
    layout: &'r Layout,
    payload: &'r [u8],
    pointer_size: usize,
    fields: &mut Fields<'r>,
) -> (Status, usize) {
    fields.numbers.clear();
    fields.numbers.resize(layout.properties.len(), 0);
    fields.set_limit(layout.properties.len(), payload.len());
    let mut decoder = Decoder { layout, reader: Reader::new(payload, pointer_size), fields, opaque: false };
    let top_level = layout.properties.get(..layout.top_level).unwrap_or_default();
    let result = decoder.decode_properties(top_level, 0, 0);
    let opaque = decoder.opaque;
    let consumed = payload.len() - decoder.reader.remaining();
    let status = match result {
        Err(DecodeStop::Short) => Status::Short,
        Err(DecodeStop::Excessive) => Status::Excessive,
        Ok(()) if opaque => Status::Opaque,
        Ok(()) if consumed == payload.len() => Status::Exact,
        Ok(()) => Status::Trailing,
    };
    (status, consumed)
}

/// Why decoding stops early.
enum DecodeStop {
    Short,
    Excessive,
}

struct Decoder<'r, 'f> {
    layout: &'r Layout,
    reader: Reader<'r>,
    fields: &'f mut Fields<'r>,
    opaque: bool,
}

impl<'r> Decoder<'r, '_> {
    fn decode_properties(
        &mut self,
        properties: &'r [Property],
        first_index: usize,
        depth: usize,
    ) -> Result<(), DecodeStop> {
        for (position, property) in properties.iter().enumerate() {
            if self.reader.remaining() == 0 && property.is_optional {
                continue;
            }
            let width_index = usize::from(self.reader.pointer_size() == 8);
            let padding = usize::from(property.padding[width_index]);
            if padding > 0 {
                self.reader.skip(padding).ok_or(DecodeStop::Short)?;
            }
            self.decode_property(property, first_index + position, depth)?;
            if self.opaque {
                break;
            }
        }
        Ok(())
    }

    fn decode_property(&mut self, property: &'r Property, index: usize, depth: usize) -> Result<(), DecodeStop> {
        let count = match property.count {
            Count::One => return self.decode_element(property, &property.name, index, depth),
            Count::Fixed(count) => u64::from(count),
            Count::FromProperty(index) => self.number(index),
            Count::ToEnd => u64::MAX,
        };
        let array = self.push(&property.name, Value::Array)?;
        let mut result = Ok(());
        for _ in 0..count {
            if property.count == Count::ToEnd && self.reader.remaining() == 0 {
                break;
            }
            result = self.decode_element(property, "", index, depth);
            if result.is_err() || self.opaque {
                break;
            }
        }
        self.fields.adopt(array);
        result
    }

    fn decode_element(
        &mut self,
        property: &'r Property,
        name: &'r str,
        index: usize,
        depth: usize,
    ) -> Result<(), DecodeStop> {
        if property.in_type == InType::Struct {
            return self.decode_struct(property, name, depth);
        }
        let length = match property.length {
            Length::Natural => None,
            Length::Fixed(length) => Some(u64::from(length)),
            Length::FromProperty(index) => Some(self.number(index)),
            Length::FromPropertyPlusOne(index) => Some(self.number(index).saturating_add(1)),
        };
        self.opaque |= property.in_type == InType::Opaque;
        let is_fixed = matches!(property.length, Length::Fixed(_));
        let scalar = Scalar { in_type: property.in_type, out_type: property.out_type, length, is_fixed };
        let value = scalar.read(&mut self.reader).ok_or(DecodeStop::Short)?;
        let number = value.as_u64();
        if let (Some(number), Some(slot)) = (number, self.fields.numbers.get_mut(index)) {
            *slot = number;
        }
        let value = match (&property.map, number) {
            (Some(map), Some(number)) => Value::Mapped(number, map),
            _ => value,
        };
        self.push(name, value)?;
        Ok(())
    }

    fn decode_struct(&mut self, property: &'r Property, name: &'r str, depth: usize) -> Result<(), DecodeStop> {
        if depth >= MAX_DEPTH {
            return Err(DecodeStop::Excessive);
        }
        let (first_member, count) = (usize::from(property.members.0), usize::from(property.members.1));
        let members = self.layout.properties.get(first_member..first_member + count).unwrap_or_default();
        let index = self.push(name, Value::Struct)?;
        let result = self.decode_properties(members, first_member, depth + 1);
        self.fields.adopt(index);
        result
    }

    fn push(&mut self, name: &'r str, value: Value<'r>) -> Result<usize, DecodeStop> {
        self.fields.push(name, value).ok_or(DecodeStop::Excessive)
    }

    fn number(&self, index: u16) -> u64 {
        self.fields.numbers.get(usize::from(index)).copied().unwrap_or(0)
    }
}

/// Type of one value.
pub(crate) struct Scalar {
    pub in_type: InType,
    pub out_type: OutType,
    /// Length in bytes or UTF-16 units, if the type takes one.
    pub length: Option<u64>,
    /// True if the length is the size of a NUL-padded array.
    pub is_fixed: bool,
}

impl Scalar {
    /// Reads the value; `None` if the payload is too short.
    pub(crate) fn read<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(match self.in_type {
            InType::Null => Value::Null,
            InType::UnicodeString => self.read_utf16(reader)?,
            InType::AnsiString => self.read_ansi(reader)?,
            InType::UnicodeArray => Value::Utf16(reader.utf16_array(usize::try_from(self.length?).ok()?)?),
            InType::Int8 => self.signed_value(reader.i8()?.into(), 0xff),
            InType::UInt8 => self.byte_value(reader.u8()?),
            InType::Int16 => self.signed_value(i16::from_le_bytes(*reader.array()?).into(), 0xffff),
            InType::UInt16 => match self.out_type {
                OutType::Port => Value::UInt(u16::from_be_bytes(*reader.array()?).into()),
                _ => self.unsigned_value(reader.u16()?.into()),
            },
            InType::Int32 => self.signed_value(reader.i32()?.into(), u64::from(u32::MAX)),
            InType::UInt32 => self.read_u32(reader)?,
            InType::Int64 => self.signed_value(reader.i64()?, u64::MAX),
            InType::UInt64 => self.unsigned_value(reader.u64()?),
            InType::Float => Value::Float(f32::from_le_bytes(*reader.array()?)),
            InType::Double => Value::Double(f64::from_le_bytes(*reader.array()?)),
            InType::Boolean => Value::Bool(reader.u32()? != 0),
            InType::ByteBoolean => Value::Bool(reader.u8()? != 0),
            InType::Binary => self.read_binary(reader)?,
            InType::Guid => Value::Guid(Guid::from_bytes_le(*reader.array()?)),
            InType::Pointer => Value::Pointer(reader.pointer()?),
            InType::SizeT => Value::UInt(reader.pointer()?),
            InType::FileTime => Value::FileTime(FileTime(reader.u64()?)),
            InType::SystemTime => {
                let parts: &[u8; 16] = reader.array()?;
                Value::SystemTime(SystemTime(std::array::from_fn(|position| {
                    u16::from_le_bytes([parts[position * 2], parts[position * 2 + 1]])
                })))
            }
            InType::Sid => Value::Sid(reader.sid()?),
            InType::WbemSid => reader.token_user_sid()?.map_or(Value::Null, Value::Sid),
            InType::HexInt32 => match self.out_type {
                OutType::Default | OutType::HexInt32 => Value::Hex(reader.u32()?.into()),
                _ => self.read_u32(reader)?,
            },
            InType::HexInt64 => Value::Hex(reader.u64()?),
            InType::CountedUnicodeString | InType::WbemCountedString => {
                let size = reader.u16()?;
                Value::Utf16(Utf16::new(reader.take(size.into())?))
            }
            InType::ReversedCountedString => {
                let size = u16::from_be_bytes(*reader.array()?);
                Value::Utf16(Utf16::new(reader.take(size.into())?))
            }
            InType::CountedAnsiString | InType::WbemCountedAnsiString => {
                let size = reader.u16()?;
                Value::Ansi(Ansi::new(reader.take(size.into())?))
            }
            InType::ReversedCountedAnsiString => {
                let size = u16::from_be_bytes(*reader.array()?);
                Value::Ansi(Ansi::new(reader.take(size.into())?))
            }
            InType::CountedBinary => {
                let size = reader.u16()?;
                self.bytes_value(reader.take(size.into())?)
            }
            InType::UnterminatedString => Value::Utf16(Utf16::new(reader.take(reader.remaining())?).until_nul()),
            InType::UnterminatedAnsiString => Value::Ansi(Ansi::new(reader.take(reader.remaining())?).until_nul()),
            InType::UnicodeChar => Value::Utf16(Utf16::new(reader.take(2)?)),
            InType::AnsiChar => Value::Ansi(Ansi::new(reader.take(1)?)),
            InType::HexDump => {
                let size = reader.u32()?;
                Value::Binary(reader.take(usize::try_from(size).ok()?)?)
            }
            InType::Opaque => Value::Binary(reader.take(reader.remaining())?),
            // Structs have members, not a value.
            InType::Struct => Value::Null,
        })
    }

    /// Reads UTF-16 text. An explicit length counts UTF-16 units. Without a length, the text ends at its NUL or at the
    /// end of the payload. Returns `None` if no bytes are left.
    fn read_utf16<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(Value::Utf16(match self.length {
            Some(units) => {
                let text = Utf16::new(reader.take(usize::try_from(units.checked_mul(2)?).ok()?)?);
                if self.is_fixed { text.until_nul() } else { strip_last_nul_utf16(text) }
            }
            None if reader.remaining() == 0 => return None,
            None => reader.utf16_z(),
        }))
    }

    fn read_ansi<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(Value::Ansi(match self.length {
            Some(size) => {
                let text = Ansi::new(reader.take(usize::try_from(size).ok()?)?);
                if self.is_fixed { text.until_nul() } else { strip_last_nul(text) }
            }
            None if reader.remaining() == 0 => return None,
            None => reader.ansi_z(),
        }))
    }

    fn read_binary<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        let size = match self.length {
            Some(size) => usize::try_from(size).ok()?,
            None if self.out_type == OutType::Ipv6 => 16,
            None => reader.remaining(),
        };
        Some(self.bytes_value(reader.take(size)?))
    }

    fn bytes_value<'r>(&self, bytes: &'r [u8]) -> Value<'r> {
        match self.out_type {
            OutType::SocketAddress => Value::SocketAddress(bytes),
            OutType::Ipv6 => match <&[u8; 16]>::try_from(bytes) {
                Ok(address) => Value::Ip(IpAddr::V6(Ipv6Addr::from(*address))),
                // This out-type is also used for fields that contain an IPv4 address.
                Err(_) => match <[u8; 4]>::try_from(bytes) {
                    Ok(address) => Value::Ip(IpAddr::V4(Ipv4Addr::from(address))),
                    Err(_) => Value::Binary(bytes),
                },
            },
            OutType::Utf8 => Value::Ansi(Ansi::new(bytes)),
            _ => Value::Binary(bytes),
        }
    }

    fn byte_value<'r>(&self, value: u8) -> Value<'r> {
        match self.out_type {
            OutType::Boolean => Value::Bool(value != 0),
            _ => self.unsigned_value(value.into()),
        }
    }

    fn read_u32<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(match self.out_type {
            OutType::Ipv4 => Value::Ip(IpAddr::V4(Ipv4Addr::from(*reader.array()?))),
            _ => self.unsigned_value(reader.u32()?.into()),
        })
    }

    fn unsigned_value<'r>(&self, value: u64) -> Value<'r> {
        match self.out_type {
            OutType::HexInt8 | OutType::HexInt16 | OutType::HexInt32 | OutType::HexInt64 | OutType::HexBinary => {
                Value::Hex(value)
            }
            OutType::CodePointer => Value::Pointer(value),
            OutType::EtwTime => Value::Ticks(value),
            OutType::Boolean => Value::Bool(value != 0),
            OutType::ErrorCode | OutType::Win32Error | OutType::NtStatus | OutType::HResult => {
                Value::Status(value as u32)
            }
            _ => Value::UInt(value),
        }
    }

    /// Interprets a signed integer. `mask` selects the bits of the type, for values that are shown unsigned.
    fn signed_value<'r>(&self, value: i64, mask: u64) -> Value<'r> {
        match self.unsigned_value(value as u64 & mask) {
            Value::UInt(_) => Value::Int(value),
            value => value,
        }
    }
}

fn strip_last_nul_utf16(text: Utf16<'_>) -> Utf16<'_> {
    match text.as_bytes() {
        [text @ .., 0, 0] => Utf16::new(text),
        bytes => Utf16::new(bytes),
    }
}

fn strip_last_nul(text: Ansi<'_>) -> Ansi<'_> {
    match text.as_bytes() {
        [text @ .., 0] => Ansi::new(text),
        bytes => Ansi::new(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property_with(name: &str, in_type: InType, change: impl Fn(&mut Property)) -> Property {
        let mut property = Property::new(name, in_type);
        change(&mut property);
        property
    }

    fn json(layout: &Layout, payload: &[u8], pointer_size: usize) -> (Status, usize, String) {
        let mut fields = Fields::new();
        let (status, consumed) = decode(layout, payload, pointer_size, &mut fields);
        let mut out = String::new();
        fields.write_json(&mut out).unwrap();
        (status, consumed, out)
    }

    #[test]
    fn reads_texts_by_length_terminator_and_to_the_end() {
        let layout = Layout::flat(vec![
            Property::new("n", InType::UInt8),
            property_with("counted", InType::UnicodeString, |property| property.length = Length::FromProperty(0)),
            property_with("padded", InType::AnsiString, |property| property.length = Length::Fixed(4)),
            Property::new("ended", InType::AnsiString),
            Property::new("last", InType::UnicodeString),
        ]);
        let payload = b"\x02a\0b\0xy\0\0z\0c\0d\0";
        let expected = r#"{"n":2,"counted":"ab","padded":"xy","ended":"z","last":"cd"}"#;
        assert_eq!(json(&layout, payload, 8), (Status::Exact, payload.len(), expected.into()));
        let (status, consumed, _) = json(&layout, &payload[..10], 8);
        assert_eq!((status, consumed), (Status::Short, 10), "no bytes left for the last property");
        assert_eq!(json(&layout, b"\x09a\0", 8).0, Status::Short);
    }

    #[test]
    fn reads_struct_arrays_with_outer_counts_and_inner_lengths() {
        let mut layout = Layout::flat(vec![
            Property::new("n", InType::UInt16),
            property_with("rows", InType::Struct, |property| {
                property.count = Count::FromProperty(0);
                property.members = (3, 2);
            }),
            Property::new("after", InType::Pointer),
        ]);
        layout.properties.push(Property::new("size", InType::UInt8));
        layout
            .properties
            .push(property_with("bytes", InType::Binary, |property| property.length = Length::FromProperty(3)));
        let mut payload = b"\x02\0\x01\xaa\x02\xbb\xcc".to_vec();
        payload.extend(7u32.to_le_bytes());
        payload.push(0xff);
        let expected = concat!(
            r#"{"n":2,"rows":[{"size":1,"bytes":"aa"},{"size":2,"bytes":"bbcc"}],"#,
            r#""after":"0x0000000000000007"}"#
        );
        let (status, consumed, out) = json(&layout, &payload, 4);
        assert_eq!((status, consumed, out.as_str()), (Status::Trailing, 11, expected));
    }

    #[test]
    fn padding_and_optional_properties_depend_on_the_record() {
        let layout = Layout::flat(vec![
            Property::new("a", InType::UInt8),
            property_with("b", InType::UInt32, |property| property.padding = [0, 3]),
            property_with("c", InType::UnicodeString, |property| property.is_optional = true),
        ]);
        let narrow = [1, 2, 0, 0, 0];
        let wide = [1, 9, 9, 9, 2, 0, 0, 0];
        let expected = r#"{"a":1,"b":2}"#.to_owned();
        assert_eq!(json(&layout, &narrow, 4), (Status::Exact, 5, expected.clone()));
        assert_eq!(json(&layout, &wide, 8), (Status::Exact, 8, expected));
    }

    #[test]
    fn limits_fields_without_size() {
        let endless = Layout::flat(vec![
            Property::new("n", InType::UInt32),
            property_with("nothing", InType::Null, |property| property.count = Count::FromProperty(0)),
        ]);
        assert_eq!(json(&endless, &[0xff; 4], 8).0, Status::Excessive);
        let mut nested = Layout::flat(vec![property_with("s", InType::Struct, |property| property.members = (0, 1))]);
        assert_eq!(json(&nested, &[0; 4], 8).0, Status::Excessive, "a struct that contains itself");
        nested.properties[0].members = (5, 9);
        assert_eq!(json(&nested, &[], 8), (Status::Exact, 0, r#"{"s":{}}"#.into()));
    }

    #[test]
    fn out_types_change_number_format() {
        let layout = Layout::flat(vec![
            property_with("port", InType::UInt16, |property| property.out_type = OutType::Port),
            property_with("address", InType::UInt32, |property| property.out_type = OutType::Ipv4),
            property_with("status", InType::UInt32, |property| property.out_type = OutType::NtStatus),
            property_with("hex", InType::Int8, |property| property.out_type = OutType::HexInt8),
            property_with("signed", InType::Int8, |_| ()),
        ]);
        let payload = [0x1f, 0x90, 127, 0, 0, 1, 0x22, 0, 0, 0xc0, 0xff, 0xff];
        let expected =
            concat!(r#"{"port":8080,"address":"127.0.0.1","status":"0xc0000022","#, r#""hex":"0xff","signed":-1}"#);
        assert_eq!(json(&layout, &payload, 8).2, expected);
    }
}
