//! TraceLogging: events that contain their own schema (section 5.5 of the format reference).

use onoff_etl::Guid;

use crate::fields::Fields;
use crate::payload::{Scalar, Status};
use crate::reader::Reader;
use crate::schema::{InType, OutType};
use crate::value::Value;

/// Name and fields of an event, from its metadata.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventMetadata<'r> {
    pub name: &'r str,
    fields: &'r [u8],
}

impl<'r> EventMetadata<'r> {
    /// Parses extended item 11; `None` if it is malformed.
    pub fn read(item: &'r [u8]) -> Option<Self> {
        let mut reader = item_reader(item)?;
        skip_tag(&mut reader)?;
        let name = read_text(&mut reader)?;
        Some(Self { name, fields: reader.unread() })
    }

    /// Decodes a payload with the metadata.
    pub fn decode(&self, payload: &'r [u8], pointer_size: usize, fields: &mut Fields<'r>) -> (Status, usize) {
        // A field description takes at least two bytes.
        fields.set_limit(self.fields.len() / 2, payload.len());
        let steps = fields.limit() * 2;
        let mut decoder = Decoder { payload: Reader::new(payload, pointer_size), fields, steps, opaque: false };
        let mut descriptions = Reader::new(self.fields, pointer_size);
        let mut result = Ok(());
        while descriptions.remaining() > 0 && result.is_ok() && !decoder.opaque {
            result = decoder.decode_field(&mut descriptions, 0);
        }
        let consumed = payload.len() - decoder.payload.remaining();
        let status = match result {
            Err(DecodeStop::Short) => Status::Short,
            Err(DecodeStop::Excessive) => Status::Excessive,
            Err(DecodeStop::Malformed) => Status::Opaque,
            Ok(()) if decoder.opaque => Status::Opaque,
            Ok(()) if consumed == payload.len() => Status::Exact,
            Ok(()) => Status::Trailing,
        };
        (status, consumed)
    }
}

/// Name and group of a provider, from extended item 12.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProviderTraits<'r> {
    pub name: &'r str,
    pub group: Option<Guid>,
}

impl<'r> ProviderTraits<'r> {
    /// Parses the item; `None` if it is malformed.
    pub fn read(item: &'r [u8]) -> Option<Self> {
        const GROUP: u8 = 1;
        let mut reader = item_reader(item)?;
        let name = read_text(&mut reader)?;
        let mut group = None;
        while let Some(size) = reader.u16() {
            let Some(kind) = reader.u8() else { break };
            let Some(data) = usize::from(size).checked_sub(3).and_then(|length| reader.take(length)) else { break };
            if kind == GROUP {
                group = <[u8; 16]>::try_from(data).ok().map(Guid::from_bytes_le);
            }
        }
        Some(Self { name, group })
    }
}

/// Creates a reader for an item. Items start with their size, which may be smaller than the padded item.
fn item_reader(item: &[u8]) -> Option<Reader<'_>> {
    let size = usize::from(u16::from_le_bytes(*item.first_chunk()?));
    Some(Reader::new(item.get(2..size.min(item.len()))?, 8))
}

/// Reads UTF-8 text up to the NUL or the first invalid byte.
fn read_text<'r>(reader: &mut Reader<'r>) -> Option<&'r str> {
    if reader.remaining() == 0 {
        return None;
    }
    let bytes = reader.ansi_z().as_bytes();
    Some(match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    })
}

/// Skips a tag, which has 7 bits per byte; the high bit means that another byte follows.
fn skip_tag(reader: &mut Reader<'_>) -> Option<()> {
    while reader.u8()? & 0x80 != 0 {}
    Some(())
}

enum DecodeStop {
    Short,
    /// The field limit is reached.
    Excessive,
    /// The metadata is truncated or inconsistent.
    Malformed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Once,
    Constant(u16),
    /// The payload contains the count.
    Variable,
    /// The payload contains a byte count, then bytes in a format private to the provider.
    Custom,
}

/// A field description from the metadata.
#[derive(Clone, Copy)]
struct FieldDescription<'r> {
    name: &'r str,
    in_type: u8,
    out_type: u8,
    repeat: Repeat,
}

/// Maximum nesting depth of structs.
const MAX_DEPTH: usize = 8;
const STRUCT: u8 = 24;

fn read_description<'r>(metadata: &mut Reader<'r>) -> Option<FieldDescription<'r>> {
    let name = read_text(metadata)?;
    let type_byte = metadata.u8()?;
    let mut out_type = 0;
    if type_byte & 0x80 != 0 {
        let out_type_byte = metadata.u8()?;
        out_type = out_type_byte & 0x7f;
        if out_type_byte & 0x80 != 0 {
            skip_tag(metadata)?;
        }
    }
    let repeat = match type_byte & 0x60 {
        0x00 => Repeat::Once,
        0x20 => Repeat::Constant(metadata.u16()?),
        0x40 => Repeat::Variable,
        _ => {
            let size = metadata.u16()?;
            metadata.skip(size.into())?;
            Repeat::Custom
        }
    };
    Some(FieldDescription { name, in_type: type_byte & 0x1f, out_type, repeat })
}

struct Decoder<'r, 'f> {
    payload: Reader<'r>,
    fields: &'f mut Fields<'r>,
    /// Remaining number of field descriptions that may be read. Members of struct arrays are read once per element, so
    /// a 64 KiB record could otherwise take hours.
    steps: usize,
    opaque: bool,
}

impl<'r> Decoder<'r, '_> {
    fn next_description(&mut self, metadata: &mut Reader<'r>) -> Result<FieldDescription<'r>, DecodeStop> {
        self.steps = self.steps.checked_sub(1).ok_or(DecodeStop::Excessive)?;
        read_description(metadata).ok_or(DecodeStop::Malformed)
    }

    fn decode_field(&mut self, metadata: &mut Reader<'r>, depth: usize) -> Result<(), DecodeStop> {
        let field = self.next_description(metadata)?;
        let count = match field.repeat {
            Repeat::Once => return self.decode_element(&field, field.name, metadata, depth),
            Repeat::Constant(count) => count,
            Repeat::Variable => self.payload.u16().ok_or(DecodeStop::Short)?,
            Repeat::Custom => {
                let size = self.payload.u16().ok_or(DecodeStop::Short)?;
                let bytes = self.payload.take(size.into()).ok_or(DecodeStop::Short)?;
                self.push(field.name, Value::Binary(bytes))?;
                return Ok(());
            }
        };
        let array = self.push(field.name, Value::Array)?;
        let members = *metadata;
        let mut result = Ok(());
        for _ in 0..count {
            *metadata = members;
            result = self.decode_element(&field, "", metadata, depth);
            if result.is_err() || self.opaque {
                break;
            }
        }
        self.fields.adopt(array);
        if count == 0 && field.in_type == STRUCT {
            self.skip_members(metadata, field.out_type, depth)?;
        }
        result
    }

    fn decode_element(
        &mut self,
        field: &FieldDescription<'r>,
        name: &'r str,
        metadata: &mut Reader<'r>,
        depth: usize,
    ) -> Result<(), DecodeStop> {
        if field.in_type == STRUCT {
            return self.decode_struct(field.out_type, name, metadata, depth);
        }
        let scalar = to_scalar(field.in_type, field.out_type);
        self.opaque |= scalar.in_type == InType::Opaque;
        let value = scalar.read(&mut self.payload).ok_or(DecodeStop::Short)?;
        self.push(name, value)?;
        Ok(())
    }

    fn decode_struct(
        &mut self,
        members: u8,
        name: &'r str,
        metadata: &mut Reader<'r>,
        depth: usize,
    ) -> Result<(), DecodeStop> {
        if depth >= MAX_DEPTH {
            return Err(DecodeStop::Excessive);
        }
        let index = self.push(name, Value::Struct)?;
        let mut result = Ok(());
        for _ in 0..members {
            result = self.decode_field(metadata, depth + 1);
            if result.is_err() || self.opaque {
                break;
            }
        }
        self.fields.adopt(index);
        result
    }

    fn skip_members(&mut self, metadata: &mut Reader<'r>, members: u8, depth: usize) -> Result<(), DecodeStop> {
        if depth >= MAX_DEPTH {
            return Err(DecodeStop::Excessive);
        }
        for _ in 0..members {
            let field = self.next_description(metadata)?;
            if field.in_type == STRUCT {
                self.skip_members(metadata, field.out_type, depth + 1)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, name: &'r str, value: Value<'r>) -> Result<usize, DecodeStop> {
        self.fields.push(name, value).ok_or(DecodeStop::Excessive)
    }
}

/// Converts TraceLogging types. The in-types are the same as in manifests, except that binary data always has a size prefix.
/// The out-types have different numbers.
fn to_scalar(in_type: u8, out_type: u8) -> Scalar {
    const NUL_STRING: u8 = 2;
    const BOOLEAN: u8 = 3;
    let in_type = match (InType::from_number(in_type.into()), out_type) {
        (None, _) => InType::Opaque,
        (Some(InType::Binary), _) => InType::CountedBinary,
        (Some(InType::Int8 | InType::UInt8), NUL_STRING) => InType::AnsiChar,
        (Some(InType::UInt16 | InType::Int16), NUL_STRING) => InType::UnicodeChar,
        (Some(InType::Int8 | InType::UInt8), BOOLEAN) => InType::ByteBoolean,
        (Some(in_type), _) => in_type,
    };
    let out_type = match out_type {
        2 => OutType::String,
        3 => OutType::Boolean,
        4 => OutType::HexInt64,
        5 => OutType::ProcessId,
        6 => OutType::ThreadId,
        7 => OutType::Port,
        8 => OutType::Ipv4,
        9 => OutType::Ipv6,
        10 => OutType::SocketAddress,
        11 => OutType::Xml,
        12 => OutType::Json,
        13 => OutType::Win32Error,
        14 => OutType::NtStatus,
        15 => OutType::HResult,
        16 | 38 => OutType::DateTime,
        17 => OutType::Long,
        18 => OutType::UnsignedLong,
        35 => OutType::Utf8,
        36 => OutType::Pkcs7,
        37 => OutType::CodePointer,
        _ => OutType::Default,
    };
    Scalar { in_type, out_type, length: None, is_fixed: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(name: &str, fields: &[u8]) -> Vec<u8> {
        let mut item = vec![0, 0, 0];
        item.extend(name.as_bytes());
        item.push(0);
        item.extend(fields);
        let size = u16::try_from(item.len()).unwrap();
        item[..2].copy_from_slice(&size.to_le_bytes());
        item
    }

    fn json(item: &[u8], payload: &[u8]) -> (Status, String) {
        let mut fields = Fields::new();
        let (status, _) = EventMetadata::read(item).unwrap().decode(payload, 8, &mut fields);
        let mut out = String::new();
        fields.write_json(&mut out).unwrap();
        (status, out)
    }

    #[test]
    fn reads_scalars_arrays_and_structs() {
        let item = metadata(
            "E",
            b"a\0\x08\
              b\0\x44\
              s\0\xd8\x02x\0\x84\x04y\0\x02\
              c\0\x26\x02\0\
              z\0\x8d\x83\x05",
        );
        let mut payload = vec![1, 0, 0, 0];
        payload.extend([2, 0, 7, 8]);
        payload.extend([2, 0, 0xab, b'p', 0, 0xcd, 0]);
        payload.extend([5, 0, 6, 0]);
        payload.extend([1, 0, 0, 0]);
        let (status, json) = json(&item, &payload);
        assert_eq!(json, r#"{"a":1,"b":[7,8],"s":[{"x":"0xab","y":"p"},{"x":"0xcd","y":""}],"c":[5,6],"z":true}"#);
        assert_eq!(status, Status::Exact);
    }

    #[test]
    fn skips_members_of_empty_struct_array() {
        let item = metadata("E", b"s\0\xd8\x02x\0\x04t\0\x98\x01u\0\x04a\0\x04");
        assert_eq!(json(&item, &[0, 0, 9]), (Status::Exact, r#"{"s":[],"a":9}"#.to_owned()));
    }

    #[test]
    fn limits_work_for_struct_arrays() {
        // 65,535 structs, each with an empty array of structs with 127 members to skip.
        let mut fields = b"s\0\xb8\x01\xff\xfft\0\xb8\x7f\0\0".to_vec();
        for _ in 0..127 {
            fields.extend(b"\0\x00");
        }
        let (status, _) = json(&metadata("E", &fields), &[]);
        assert_eq!(status, Status::Excessive);
    }

    #[test]
    fn unknown_type_ends_in_opaque_field() {
        let item = metadata("E", b"a\0\x1fb\0\x04");
        assert_eq!(json(&item, &[1, 2]), (Status::Opaque, r#"{"a":"0102"}"#.to_owned()));
    }

    #[test]
    fn reads_provider_name_and_group() {
        let mut item = vec![0, 0];
        item.extend(b"Prov\0");
        item.extend([19, 0, 1]);
        item.extend([7; 16]);
        item[0] = u8::try_from(item.len()).unwrap();
        let traits = ProviderTraits::read(&item).unwrap();
        assert_eq!(traits.name, "Prov");
        assert_eq!(traits.group, Some(Guid::from_bytes_le([7; 16])));
        assert!(ProviderTraits::read(&[2]).is_none());
    }
}
