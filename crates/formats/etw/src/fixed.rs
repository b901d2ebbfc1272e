//! Fixed layouts: payloads that consist of numbers only, as in nearly all events of a large recording. The offsets are
//! computed once per kind of event.

use crate::schema::{Count, InType, Layout, Length, OutType, Property};
use crate::value::Value;

/// Interpretation of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberFormat {
    Unsigned,
    Signed,
    Ticks,
    Hexadecimal,
    Pointer,
}

#[derive(Clone, Copy, Debug)]
struct FixedField<'s> {
    name: &'s str,
    /// Offset from the start of the payload, in bytes.
    offset: usize,
    /// Size in bytes: 1, 2, 4 or 8.
    width: usize,
    format: NumberFormat,
}

/// Offsets of the numbers in a payload that consists of numbers only. The values equal those decoded with the schema.
#[derive(Clone, Debug)]
pub struct FixedLayout<'s> {
    fields: Vec<FixedField<'s>>,
    size: usize,
    pointer_size: usize,
}

impl<'s> FixedLayout<'s> {
    /// Creates the layout for pointers of `pointer_size` bytes; `None` if a property is not a plain number.
    pub(crate) fn new(layout: &'s Layout, pointer_size: usize) -> Option<Self> {
        let width_index = usize::from(pointer_size == 8);
        let (mut fields, mut size) = (Vec::new(), 0);
        for property in layout.properties.get(..layout.top_level)? {
            size += usize::from(*property.padding.get(width_index)?);
            let (width, format) = number_format(property, pointer_size)?;
            fields.push(FixedField { name: &property.name, offset: size, width, format });
            size += width;
        }
        Some(Self { fields, size, pointer_size })
    }

    /// True if a payload has the size and pointer size of this layout.
    #[inline]
    #[must_use]
    pub fn fits(&self, payload: &[u8], pointer_size: usize) -> bool {
        payload.len() == self.size && pointer_size == self.pointer_size
    }

    /// Iterates over the names and values of a payload that fits, in payload order.
    pub fn values<'p>(&'p self, payload: &'p [u8]) -> impl Iterator<Item = (&'s str, Value<'static>)> + 'p {
        self.fields.iter().map(move |field| {
            let number = read_number(payload, field.offset, field.width);
            let value = match field.format {
                NumberFormat::Unsigned => Value::UInt(number),
                NumberFormat::Signed => Value::Int(sign_extend(number, field.width)),
                NumberFormat::Ticks => Value::Ticks(number),
                NumberFormat::Hexadecimal => Value::Hex(number),
                NumberFormat::Pointer => Value::Pointer(number),
            };
            (field.name, value)
        })
    }
}

/// Returns the width and interpretation of a number; `None` for other properties.
fn number_format(property: &Property, pointer_size: usize) -> Option<(usize, NumberFormat)> {
    let is_plain = property.count == Count::One
        && property.length == Length::Natural
        && property.map.is_none()
        && property.map_name.is_none();
    is_plain.then_some(())?;
    let unsigned = |width: usize| {
        let format = match property.out_type {
            OutType::Default => NumberFormat::Unsigned,
            OutType::HexInt8 | OutType::HexInt16 | OutType::HexInt32 | OutType::HexInt64 => NumberFormat::Hexadecimal,
            OutType::CodePointer => NumberFormat::Pointer,
            OutType::EtwTime => NumberFormat::Ticks,
            _ => return None,
        };
        Some((width, format))
    };
    let default_format =
        |width: usize, format: NumberFormat| (property.out_type == OutType::Default).then_some((width, format));
    match property.in_type {
        InType::UInt8 => unsigned(1),
        InType::UInt16 => unsigned(2),
        InType::UInt32 => unsigned(4),
        InType::UInt64 => unsigned(8),
        InType::Int8 => default_format(1, NumberFormat::Signed),
        InType::Int16 => default_format(2, NumberFormat::Signed),
        InType::Int32 => default_format(4, NumberFormat::Signed),
        InType::Int64 => default_format(8, NumberFormat::Signed),
        InType::HexInt32 => default_format(4, NumberFormat::Hexadecimal),
        InType::HexInt64 => Some((8, NumberFormat::Hexadecimal)),
        InType::Pointer => Some((pointer_size, NumberFormat::Pointer)),
        InType::SizeT => Some((pointer_size, NumberFormat::Unsigned)),
        _ => None,
    }
}

/// Reads the number of `width` bytes at `offset`; 0 past the end, which cannot happen if the payload fits.
#[inline]
fn read_number(payload: &[u8], offset: usize, width: usize) -> u64 {
    let bytes = payload.get(offset..).unwrap_or_default();
    match width {
        1 => bytes.first().map_or(0, |&byte| byte.into()),
        2 => bytes.first_chunk().map_or(0, |&chunk| u16::from_le_bytes(chunk).into()),
        4 => bytes.first_chunk().map_or(0, |&chunk| u32::from_le_bytes(chunk).into()),
        _ => bytes.first_chunk().map_or(0, |&chunk| u64::from_le_bytes(chunk)),
    }
}

/// Sign-extends a number of `width` bytes.
fn sign_extend(number: u64, width: usize) -> i64 {
    let unused_bits = 64 - 8 * width as u32;
    ((number << unused_bits) as i64) >> unused_bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Fields;
    use crate::payload;

    const NUMBERS: [InType; 12] = [
        InType::UInt8,
        InType::UInt16,
        InType::UInt32,
        InType::UInt64,
        InType::Int8,
        InType::Int16,
        InType::Int32,
        InType::Int64,
        InType::HexInt32,
        InType::HexInt64,
        InType::Pointer,
        InType::SizeT,
    ];
    const OUT_TYPES: [OutType; 13] = [
        OutType::Default,
        OutType::HexInt8,
        OutType::HexInt16,
        OutType::HexInt32,
        OutType::HexInt64,
        OutType::HexBinary,
        OutType::CodePointer,
        OutType::EtwTime,
        OutType::Boolean,
        OutType::NtStatus,
        OutType::Ipv4,
        OutType::Port,
        OutType::ErrorCode,
    ];

    /// Decodes every combination of number type and interpretation, alone and followed by another number.
    #[test]
    fn values_match_decoder() {
        let payload: Vec<u8> = (0..200u8).map(|byte| byte.wrapping_mul(151) ^ 0x80).collect();
        let mut fixed_count = 0;
        for pointer_size in [4, 8] {
            for in_type in NUMBERS {
                for out_type in OUT_TYPES {
                    let mut property = Property::new("number", in_type);
                    property.out_type = out_type;
                    property.padding = [1, 3];
                    let layout = Layout::flat(vec![property, Property::new("next", InType::UInt16)]);
                    let Some(fixed_layout) = FixedLayout::new(&layout, pointer_size) else { continue };
                    fixed_count += 1;
                    let payload = &payload[..fixed_layout.size];
                    let mut fields = Fields::new();
                    let (status, _) = payload::decode(&layout, payload, pointer_size, &mut fields);
                    assert_eq!(status, payload::Status::Exact, "{in_type:?} {out_type:?}");
                    let decoded: Vec<_> = fields.iter().map(|field| (field.name(), field.value())).collect();
                    assert_eq!(fixed_layout.values(payload).collect::<Vec<_>>(), decoded, "{in_type:?} {out_type:?}");
                    assert!(fixed_layout.fits(payload, pointer_size));
                    assert!(
                        !fixed_layout.fits(payload, 12 - pointer_size)
                            && !fixed_layout.fits(&payload[1..], pointer_size)
                    );
                }
            }
        }
        assert!(fixed_count > 60, "{fixed_count}");
    }

    #[test]
    fn rejects_other_types() {
        for in_type in [InType::UnicodeString, InType::Sid, InType::Guid, InType::Boolean, InType::Binary] {
            assert!(FixedLayout::new(&Layout::flat(vec![Property::new("a", in_type)]), 8).is_none(), "{in_type:?}");
        }
        let mut array = Property::new("a", InType::UInt32);
        array.count = Count::ToEnd;
        assert!(FixedLayout::new(&Layout::flat(vec![array]), 8).is_none());
        let mut mapped = Property::new("a", InType::UInt32);
        mapped.map_name = Some("map".into());
        assert!(FixedLayout::new(&Layout::flat(vec![mapped]), 8).is_none());
    }
}
