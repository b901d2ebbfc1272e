//! Decoding payloads by a [`Layout`]. Fields are packed, in property order (section 5.4 of the format
//! reference).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use onoff_etl::Guid;

use crate::fields::Fields;
use crate::reader::Reader;
use crate::schema::{Count, InType, Layout, Length, OutType, Property};
use crate::text::{Ansi, Utf16};
use crate::time::{FileTime, SystemTime};
use crate::value::Value;

/// How decoding a payload ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Every property was read and no byte is left.
    Exact,
    /// Every property was read; newer systems append fields, and these bytes are left.
    Trailing,
    /// The payload ends before its properties do: an older record, or a cut one.
    Short,
    /// The schema itself is incomplete from some property on; the rest is one opaque field.
    Opaque,
    /// The schema describes more fields than a record can hold.
    Excessive,
    /// No schema is known.
    NoSchema,
}

/// Deepest nesting of structs that is followed; real schemas have one level.
const DEEPEST: usize = 8;

/// Reads all properties of `layout` from `payload` into `fields`, after whatever is there. Returns how it
/// ended and how many bytes were read.
pub(crate) fn decode<'r>(
    layout: &'r Layout,
    payload: &'r [u8],
    pointer_size: usize,
    fields: &mut Fields<'r>,
) -> (Status, usize) {
    fields.numbers.clear();
    fields.numbers.resize(layout.properties.len(), 0);
    fields.allow(layout.properties.len(), payload.len());
    let mut decoder = Decoder {
        layout,
        reader: Reader::new(payload, pointer_size),
        fields,
        opaque: false,
    };
    let top_level = layout
        .properties
        .get(..layout.top_level)
        .unwrap_or_default();
    let end = decoder.properties(top_level, 0, 0);
    let opaque = decoder.opaque;
    let consumed = payload.len() - decoder.reader.remaining();
    let status = match end {
        Err(Stop::Short) => Status::Short,
        Err(Stop::Excessive) => Status::Excessive,
        Ok(()) if opaque => Status::Opaque,
        Ok(()) if consumed == payload.len() => Status::Exact,
        Ok(()) => Status::Trailing,
    };
    (status, consumed)
}

/// Why decoding cannot go on.
enum Stop {
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
    fn properties(
        &mut self,
        properties: &'r [Property],
        first_index: usize,
        depth: usize,
    ) -> Result<(), Stop> {
        for (at, property) in properties.iter().enumerate() {
            if self.reader.remaining() == 0 && property.optional {
                continue;
            }
            let wide = usize::from(self.reader.pointer_size() == 8);
            let padding = usize::from(property.padding[wide]);
            if padding > 0 {
                self.reader.skip(padding).ok_or(Stop::Short)?;
            }
            self.property(property, first_index + at, depth)?;
            if self.opaque {
                break;
            }
        }
        Ok(())
    }

    fn property(&mut self, property: &'r Property, index: usize, depth: usize) -> Result<(), Stop> {
        let count = match property.count {
            Count::One => return self.element(property, &property.name, index, depth),
            Count::Fixed(count) => u64::from(count),
            Count::Of(index) => self.number(index),
            Count::Rest => u64::MAX,
        };
        let array = self.push(&property.name, Value::Array)?;
        let mut end = Ok(());
        for _ in 0..count {
            if property.count == Count::Rest && self.reader.remaining() == 0 {
                break;
            }
            end = self.element(property, "", index, depth);
            if end.is_err() || self.opaque {
                break;
            }
        }
        self.fields.adopt(array);
        end
    }

    fn element(
        &mut self,
        property: &'r Property,
        name: &'r str,
        index: usize,
        depth: usize,
    ) -> Result<(), Stop> {
        if property.in_type == InType::Struct {
            return self.structure(property, name, depth);
        }
        let length = match property.length {
            Length::Natural => None,
            Length::Fixed(length) => Some(u64::from(length)),
            Length::Of(index) => Some(self.number(index)),
            Length::OfAndTerminator(index) => Some(self.number(index).saturating_add(1)),
        };
        self.opaque |= property.in_type == InType::Opaque;
        let fixed = matches!(property.length, Length::Fixed(_));
        let scalar = Scalar {
            in_type: property.in_type,
            out_type: property.out_type,
            length,
            fixed,
        };
        let value = scalar.read(&mut self.reader).ok_or(Stop::Short)?;
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

    fn structure(
        &mut self,
        property: &'r Property,
        name: &'r str,
        depth: usize,
    ) -> Result<(), Stop> {
        if depth >= DEEPEST {
            return Err(Stop::Excessive);
        }
        let (first, count) = (
            usize::from(property.members.0),
            usize::from(property.members.1),
        );
        let members = self
            .layout
            .properties
            .get(first..first + count)
            .unwrap_or_default();
        let place = self.push(name, Value::Struct)?;
        let end = self.properties(members, first, depth + 1);
        self.fields.adopt(place);
        end
    }

    fn push(&mut self, name: &'r str, value: Value<'r>) -> Result<usize, Stop> {
        self.fields.push(name, value).ok_or(Stop::Excessive)
    }

    fn number(&self, index: u16) -> u64 {
        self.fields
            .numbers
            .get(usize::from(index))
            .copied()
            .unwrap_or(0)
    }
}

/// One value and how to read it.
pub(crate) struct Scalar {
    pub in_type: InType,
    pub out_type: OutType,
    /// Bytes or units, where the type takes a length.
    pub length: Option<u64>,
    /// Whether that length is the size of a padded array.
    pub fixed: bool,
}

impl Scalar {
    /// Reads the value; `None` when the payload is too short.
    pub(crate) fn read<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(match self.in_type {
            InType::Null => Value::Null,
            InType::UnicodeString => self.utf16(reader)?,
            InType::AnsiString => self.ansi(reader)?,
            InType::UnicodeArray => {
                Value::Utf16(reader.utf16_array(usize::try_from(self.length?).ok()?)?)
            }
            InType::Int8 => self.signed(reader.i8()?.into(), 0xff),
            InType::UInt8 => self.byte(reader.u8()?),
            InType::Int16 => self.signed(i16::from_le_bytes(*reader.array()?).into(), 0xffff),
            InType::UInt16 => match self.out_type {
                OutType::Port => Value::UInt(u16::from_be_bytes(*reader.array()?).into()),
                _ => self.unsigned(reader.u16()?.into()),
            },
            InType::Int32 => self.signed(reader.i32()?.into(), u64::from(u32::MAX)),
            InType::UInt32 => self.word(reader)?,
            InType::Int64 => self.signed(reader.i64()?, u64::MAX),
            InType::UInt64 => self.unsigned(reader.u64()?),
            InType::Float => Value::Float(f32::from_le_bytes(*reader.array()?)),
            InType::Double => Value::Double(f64::from_le_bytes(*reader.array()?)),
            InType::Boolean => Value::Bool(reader.u32()? != 0),
            InType::ByteBoolean => Value::Bool(reader.u8()? != 0),
            InType::Binary => self.binary(reader)?,
            InType::Guid => Value::Guid(Guid::from_bytes_le(*reader.array()?)),
            InType::Pointer => Value::Pointer(reader.pointer()?),
            InType::SizeT => Value::UInt(reader.pointer()?),
            InType::FileTime => Value::FileTime(FileTime(reader.u64()?)),
            InType::SystemTime => {
                let parts: &[u8; 16] = reader.array()?;
                Value::SystemTime(SystemTime(std::array::from_fn(|at| {
                    u16::from_le_bytes([parts[at * 2], parts[at * 2 + 1]])
                })))
            }
            InType::Sid => Value::Sid(reader.sid()?),
            InType::WbemSid => reader.token_user_sid()?.map_or(Value::Null, Value::Sid),
            InType::HexInt32 => match self.out_type {
                OutType::Default | OutType::HexInt32 => Value::Hex(reader.u32()?.into()),
                _ => self.word(reader)?,
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
                self.bytes(reader.take(size.into())?)
            }
            InType::UnterminatedString => {
                Value::Utf16(Utf16::new(reader.take(reader.remaining())?).until_nul())
            }
            InType::UnterminatedAnsiString => {
                Value::Ansi(Ansi::new(reader.take(reader.remaining())?).until_nul())
            }
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

    /// A stated length counts units; without one the text ends at its NUL, or with the payload. A payload
    /// that ends before the text begins is short.
    fn utf16<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(Value::Utf16(match self.length {
            Some(units) => {
                let text = Utf16::new(reader.take(usize::try_from(units.checked_mul(2)?).ok()?)?);
                if self.fixed {
                    text.until_nul()
                } else {
                    without_last_nul_utf16(text)
                }
            }
            None if reader.remaining() == 0 => return None,
            None => reader.utf16_z(),
        }))
    }

    fn ansi<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(Value::Ansi(match self.length {
            Some(size) => {
                let text = Ansi::new(reader.take(usize::try_from(size).ok()?)?);
                if self.fixed {
                    text.until_nul()
                } else {
                    without_last_nul(text)
                }
            }
            None if reader.remaining() == 0 => return None,
            None => reader.ansi_z(),
        }))
    }

    fn binary<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        let size = match self.length {
            Some(size) => usize::try_from(size).ok()?,
            None if self.out_type == OutType::Ipv6 => 16,
            None => reader.remaining(),
        };
        Some(self.bytes(reader.take(size)?))
    }

    fn bytes<'r>(&self, bytes: &'r [u8]) -> Value<'r> {
        match self.out_type {
            OutType::SocketAddress => Value::SocketAddress(bytes),
            OutType::Ipv6 => match <&[u8; 16]>::try_from(bytes) {
                Ok(address) => Value::Ip(IpAddr::V6(Ipv6Addr::from(*address))),
                Err(_) => Value::Binary(bytes),
            },
            OutType::Utf8 => Value::Ansi(Ansi::new(bytes)),
            _ => Value::Binary(bytes),
        }
    }

    fn byte<'r>(&self, value: u8) -> Value<'r> {
        match self.out_type {
            OutType::Boolean => Value::Bool(value != 0),
            _ => self.unsigned(value.into()),
        }
    }

    fn word<'r>(&self, reader: &mut Reader<'r>) -> Option<Value<'r>> {
        Some(match self.out_type {
            OutType::Ipv4 => Value::Ip(IpAddr::V4(Ipv4Addr::from(*reader.array()?))),
            _ => self.unsigned(reader.u32()?.into()),
        })
    }

    fn unsigned<'r>(&self, value: u64) -> Value<'r> {
        match self.out_type {
            OutType::HexInt8
            | OutType::HexInt16
            | OutType::HexInt32
            | OutType::HexInt64
            | OutType::HexBinary => Value::Hex(value),
            OutType::CodePointer => Value::Pointer(value),
            OutType::EtwTime => Value::Ticks(value),
            OutType::Boolean => Value::Bool(value != 0),
            OutType::ErrorCode | OutType::Win32Error | OutType::NtStatus | OutType::HResult => {
                Value::Status(value as u32)
            }
            _ => Value::UInt(value),
        }
    }

    /// `mask` keeps the bits the type has, for when they are shown without their sign.
    fn signed<'r>(&self, value: i64, mask: u64) -> Value<'r> {
        match self.unsigned(value as u64 & mask) {
            Value::UInt(_) => Value::Int(value),
            other => other,
        }
    }
}

fn without_last_nul_utf16(text: Utf16<'_>) -> Utf16<'_> {
    match text.as_bytes() {
        [rest @ .., 0, 0] => Utf16::new(rest),
        whole => Utf16::new(whole),
    }
}

fn without_last_nul(text: Ansi<'_>) -> Ansi<'_> {
    match text.as_bytes() {
        [rest @ .., 0] => Ansi::new(rest),
        whole => Ansi::new(whole),
    }
}
