//! Schemas that merging adds to a recording: `TRACE_EVENT_INFO` and `EVENT_MAP_INFO` (sections 5.1 to 5.3 of the format
//! reference).

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::Guid;

use crate::reader::Reader;
use crate::schema::{Count, EventSchema, InType, Layout, Length, OutType, Property, ValueMap};
use crate::text::Utf16;

/// Class of the records that contain schemas.
pub(crate) const EVENT_METADATA_CLASS: Guid = Guid::from_u128(0xbbccf6c1_6cd1_48c4_80ff_839482e37671);
/// Opcode of the records with a `TRACE_EVENT_INFO`.
pub(crate) const EVENT_INFO: u8 = 32;
/// Opcode of the records with a provider GUID and an `EVENT_MAP_INFO`.
pub(crate) const EVENT_MAP_INFO: u8 = 33;

/// Maximum length of a name in UTF-16 units; longer names are truncated. Names in a record may overlap, so a small
/// record could otherwise expand without limit.
const MAX_NAME_LEN: usize = 512;
/// Maximum length of a message in UTF-16 units.
const MAX_MESSAGE_LEN: usize = 8192;

/// A schema from a recording.
pub(crate) struct TraceEventInfo {
    pub provider: Guid,
    pub provider_name: Arc<str>,
    /// Class of a classic event.
    pub class: Option<Guid>,
    pub event: EventSchema,
}

/// `DecodingSource` of the schemas of classic events.
const WBEM: u32 = 1;

mod flag {
    pub const STRUCT: u32 = 0x01;
    pub const LENGTH_OF: u32 = 0x02;
    pub const COUNT_OF: u32 = 0x04;
    pub const LENGTH_FIXED: u32 = 0x10;
    pub const COUNT_FIXED: u32 = 0x20;
}

/// Texts by offset, each converted once.
struct Texts<'b> {
    bytes: &'b [u8],
    converted: HashMap<u32, Arc<str>>,
}

impl Texts<'_> {
    fn get(&mut self, offset: u32, max_length: usize) -> Arc<str> {
        if offset == 0 {
            return Arc::default();
        }
        let bytes = self.bytes;
        let text = self.converted.entry(offset).or_insert_with(|| {
            let start = usize::try_from(offset).ok();
            let tail = start.and_then(|start| bytes.get(start..)).unwrap_or_default();
            let max_length = tail.len().min(max_length * 2);
            let text = Utf16::new(&tail[..max_length]).until_nul().to_string();
            // Names from message tables end in a space or a line break.
            text.trim_end().into()
        });
        Arc::clone(text)
    }

    fn name(&mut self, offset: u32) -> Arc<str> {
        self.get(offset, MAX_NAME_LEN)
    }
}

impl TraceEventInfo {
    /// Reads a `TRACE_EVENT_INFO`; `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut texts = Texts { bytes, converted: HashMap::new() };
        let mut fields = Reader::new(bytes, 8);
        let provider = fields.guid()?;
        let event_guid = fields.guid()?;
        let id = fields.u16()?;
        let version = fields.u8()?;
        let _channel = fields.u8()?;
        let level = fields.u8()?;
        let opcode = fields.u8()?;
        let task = fields.u16()?;
        let keyword = fields.u64()?;
        let source = fields.u32()?;
        let provider_name = texts.name(fields.u32()?);
        fields.skip(4 * 3)?;
        let task_name = texts.name(fields.u32()?);
        let opcode_name = texts.name(fields.u32()?);
        let message = texts.get(fields.u32()?, MAX_MESSAGE_LEN);
        fields.skip(4 * 3)?;
        let event_name = fields.u32()?;
        fields.skip(4)?;
        let count = usize::try_from(fields.u32()?).ok()?;
        let top_level = usize::try_from(fields.u32()?).ok()?;
        fields.skip(4)?;
        // For WBEM schemas, this field is the offset of an activity id.
        let name = if source == WBEM { Arc::default() } else { texts.name(event_name) };
        if top_level > count || count.checked_mul(0x18)? > fields.remaining() {
            return None;
        }
        let properties =
            (0..count).map(|_| read_property(&mut fields, &mut texts, count)).collect::<Option<Vec<_>>>()?;
        Some(Self {
            provider,
            provider_name,
            class: (source == WBEM).then_some(event_guid),
            event: EventSchema {
                id,
                version,
                level,
                opcode: Some(opcode),
                task: Some(task),
                keyword,
                name,
                task_name,
                opcode_name,
                message,
                layout: Arc::new(Layout { properties, top_level }),
            },
        })
    }
}

fn read_property(fields: &mut Reader<'_>, texts: &mut Texts<'_>, count: usize) -> Option<Property> {
    let flags = fields.u32()?;
    let name = texts.name(fields.u32()?);
    let in_type = fields.u16()?;
    let out_type = fields.u16()?;
    let map_name = fields.u32()?;
    let element_count = fields.u16()?;
    let length = fields.u16()?;
    fields.skip(4)?;
    let mut property = Property::new(name, InType::Struct);
    property.count = match element_count {
        index if flags & flag::COUNT_OF != 0 => Count::FromProperty(index),
        count if flags & flag::COUNT_FIXED != 0 || count > 1 => Count::Fixed(count),
        _ => Count::One,
    };
    if flags & flag::STRUCT != 0 {
        let members = usize::from(in_type) + usize::from(out_type);
        if members > count {
            return None;
        }
        property.members = (in_type, out_type);
        return Some(property);
    }
    property.in_type = InType::from_number(in_type).unwrap_or(InType::Opaque);
    property.out_type = OutType::from_number(out_type);
    property.length = match length {
        index if flags & flag::LENGTH_OF != 0 => Length::FromProperty(index),
        // Fixed-size types also declare a size (always 4 for pointers), which is ignored.
        length if takes_length(property.in_type) && length > 0 => Length::Fixed(length),
        _ if flags & flag::LENGTH_FIXED != 0 && takes_length(property.in_type) => Length::Fixed(0),
        _ => Length::Natural,
    };
    if map_name != 0 {
        property.map_name = Some(texts.name(map_name));
    }
    Some(property)
}

fn takes_length(in_type: InType) -> bool {
    matches!(in_type, InType::UnicodeString | InType::AnsiString | InType::Binary)
}

/// Reads a map: provider, name and entries. `None` if it is malformed.
pub(crate) fn read_map(payload: &[u8]) -> Option<(Guid, Arc<str>, ValueMap)> {
    const BITS: u32 = 0x02;
    const WBEM_BITS: u32 = 0x10;
    const WBEM_FLAG: u32 = 0x20;
    const PATTERN: u32 = 0x04;
    const NUMBER: u32 = 0;
    let (guid, bytes) = payload.split_first_chunk::<16>()?;
    let mut texts = Texts { bytes, converted: HashMap::new() };
    let mut fields = Reader::new(bytes, 8);
    let name = texts.name(fields.u32()?);
    let flags = fields.u32()?;
    let count = usize::try_from(fields.u32()?).ok()?;
    let value_type = fields.u32()?;
    if flags & PATTERN != 0 || value_type != NUMBER || count.checked_mul(8)? > fields.remaining() {
        return None;
    }
    let entries = (0..count)
        .map(|_| {
            let text = texts.name(fields.u32()?);
            Some((fields.u32()?.into(), text))
        })
        .collect::<Option<Vec<_>>>()?;
    let is_bit_map = flags & (BITS | WBEM_BITS | WBEM_FLAG) != 0;
    Some((Guid::from_bytes_le(*guid), name, ValueMap { is_bit_map, entries }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_z(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn map_offsets_are_relative_to_map() {
        let mut bytes = vec![9; 16];
        let texts_offset = 16 + 8;
        bytes.extend([texts_offset, 1, 1, 0].iter().flat_map(|v: &u32| v.to_le_bytes()));
        bytes.extend([texts_offset + 4, 7].iter().flat_map(|v: &u32| v.to_le_bytes()));
        bytes.extend(utf16_z("M"));
        bytes.extend(utf16_z("seven "));
        let (guid, name, map) = read_map(&bytes).unwrap();
        assert_eq!((guid, &*name), (Guid::from_bytes_le([9; 16]), "M"));
        assert_eq!(map.entries, [(7, "seven".into())]);
        assert!(!map.is_bit_map);
        bytes[16 + 8] = 200;
        assert!(read_map(&bytes).is_none(), "more entries than bytes");
    }

    #[test]
    fn reads_properties_with_structs_lengths_and_counts() {
        let mut bytes = vec![1; 16];
        bytes.extend([2; 16]);
        bytes.extend([44, 0, 3, 0, 4, 1, 10, 0]);
        bytes.extend(0x80u64.to_le_bytes());
        bytes.resize(0x64, 0);
        bytes.extend([4u32, 3, 0].iter().flat_map(|v| v.to_le_bytes()));
        let mut property = |flags: u32, in_type: u16, out_type: u16, count: u16, length: u16| {
            bytes.extend(flags.to_le_bytes());
            bytes.extend(0u32.to_le_bytes());
            bytes.extend([in_type, out_type].iter().flat_map(|v| v.to_le_bytes()));
            bytes.extend(0u32.to_le_bytes());
            bytes.extend([count, length].iter().flat_map(|v| v.to_le_bytes()));
            bytes.extend(0u32.to_le_bytes());
        };
        property(0, 6, 0, 1, 2);
        property(flag::LENGTH_OF, 1, 1, 1, 0);
        property(flag::STRUCT | flag::COUNT_OF, 3, 1, 0, 0);
        property(0, 16, 0, 1, 4);
        let info = TraceEventInfo::read(&bytes).unwrap();
        assert_eq!((info.event.id, info.event.version, info.event.keyword), (44, 3, 0x80));
        let layout = &info.event.layout;
        assert_eq!((layout.properties.len(), layout.top_level), (4, 3));
        assert_eq!(layout.properties[0].length, Length::Natural);
        assert_eq!(layout.properties[1].length, Length::FromProperty(0));
        assert_eq!(layout.properties[2].members, (3, 1));
        assert_eq!(layout.properties[2].count, Count::FromProperty(0));
        assert_eq!(layout.properties[3].length, Length::Natural);
        for length in 0..bytes.len() {
            assert!(TraceEventInfo::read(&bytes[..length]).is_none(), "truncated at {length}");
        }
    }
}
