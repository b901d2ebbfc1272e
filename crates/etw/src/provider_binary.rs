//! Schemas out of a provider's own DLL or EXE: its `WEVT_TEMPLATE` resource, a compiled manifest.
//!
//! The resource has names of tasks, opcodes and keywords but no symbols; messages and the names in maps are
//! in another resource and left out.
//!
//! Verified with four system binaries (wevtsvc.dll, lsasrv.dll, adtschema.dll, services.exe): events, names,
//! types, and lengths told by another property (flag 4). None of them has a struct, an array or a fixed
//! length; their flags follow the same order and are unverified.

use std::sync::Arc;

use evtx::wevt_templates::extract_wevt_template_resources;
use evtx::wevt_templates::manifest::{CrimManifest, EventDefinition, Provider, TemplateDefinition, TemplateItem};
use onoff_etl::Guid;
use onoff_order::InOrder;

use crate::schema::{Count, EventSchema, InType, Layout, Length, OutType, Property, ProviderSchema};
use crate::standard;

/// Why a provider's binary was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ProviderBinaryError {
    /// It is no PE file, or a damaged one.
    #[error("not a valid PE file: {0}")]
    Pe(String),
    /// It holds no compiled manifest.
    #[error("no WEVT_TEMPLATE resource: the file describes no provider")]
    NoTemplates,
    /// The compiled manifest is damaged.
    #[error("the WEVT_TEMPLATE resource is malformed: {0}")]
    Manifest(String),
}

/// Reads all providers of a PE file.
pub(crate) fn read(pe: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let resources = extract_wevt_template_resources(pe).map_err(|error| ProviderBinaryError::Pe(error.to_string()))?;
    let mut providers = Vec::new();
    for resource in &resources {
        providers.extend(read_compiled(&resource.data)?);
    }
    if providers.is_empty() { Err(ProviderBinaryError::NoTemplates) } else { Ok(providers) }
}

/// Reads a compiled manifest, as the resource holds it.
pub(crate) fn read_compiled(resource: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let manifest = CrimManifest::parse(resource).map_err(|error| ProviderBinaryError::Manifest(error.to_string()))?;
    Ok(manifest.providers.iter().map(provider).collect())
}

fn provider(provider: &Provider<'_>) -> ProviderSchema {
    let elements = &provider.wevt.elements;
    let mut schema = ProviderSchema {
        guid: Guid::parse_str(&provider.guid.to_string()).unwrap_or_default(),
        ..ProviderSchema::default()
    };
    if let Some(keywords) = &elements.keywords {
        schema.keywords =
            keywords.keywords.iter().map(|keyword| (keyword.identifier, text(keyword.name.as_deref()))).collect();
        schema.keywords.order();
    }
    let events = elements.events.iter().flat_map(|events| &events.events);
    schema.events = events.map(|definition| event(provider, definition)).collect();
    schema.sort();
    schema
}

fn event(provider: &Provider<'_>, event: &EventDefinition) -> EventSchema {
    let elements = &provider.wevt.elements;
    let task_name = elements
        .tasks
        .iter()
        .flat_map(|tasks| &tasks.tasks)
        .find(|task| task.identifier == u32::from(event.task))
        .and_then(|task| task.name.as_deref());
    // The high half of the number is the opcode; the low half is its task where it belongs to one.
    let opcode_name = elements
        .opcodes
        .iter()
        .flat_map(|opcodes| &opcodes.opcodes)
        .find(|opcode| {
            let task = opcode.identifier & 0xffff;
            opcode.identifier >> 16 == u32::from(event.opcode) && (task == 0 || task == u32::from(event.task))
        })
        .and_then(|opcode| opcode.name.as_deref())
        .map(|name| name.strip_prefix("win:").unwrap_or(name))
        .or_else(|| standard::opcode_name(event.opcode));
    let template = event.template_offset.and_then(|offset| provider.template_by_offset(offset));
    EventSchema {
        id: event.identifier,
        version: event.version,
        level: event.level,
        opcode: Some(event.opcode),
        task: Some(event.task),
        keyword: event.keywords,
        name: Arc::default(),
        task_name: text(task_name),
        opcode_name: text(opcode_name),
        message: Arc::default(),
        layout: template.map(|template| Arc::new(layout(template))).unwrap_or_default(),
    }
}

fn layout(template: &TemplateDefinition<'_>) -> Layout {
    let count = template.items.len();
    let properties: Vec<_> = template.items.iter().map(|item| property(item, count)).collect();
    // Members of structs follow the top-level properties, beginning where the first struct says.
    let top_level = properties
        .iter()
        .filter(|property| property.in_type == InType::Struct && property.members.1 > 0)
        .map(|property| usize::from(property.members.0))
        .min()
        .unwrap_or(count);
    Layout { properties, top_level: top_level.min(count) }
}

fn property(item: &TemplateItem, count: usize) -> Property {
    const STRUCT: u32 = 0x01;
    const LENGTH_OF: u32 = 0x04;
    const COUNT_FIXED: u32 = 0x08;
    const COUNT_OF: u32 = 0x10;
    let flags = item.unknown1;
    let mut property = Property::new(text(item.name.as_deref()), InType::Struct);
    property.count = match item.count {
        index if flags & COUNT_OF != 0 => Count::Of(index),
        count if flags & COUNT_FIXED != 0 || count > 1 => Count::Fixed(count),
        _ => Count::One,
    };
    if flags & STRUCT != 0 {
        let first = u16::from_le_bytes([item.input_type, item.output_type]);
        if usize::from(first) + usize::from(item.unknown3) <= count {
            property.members = (first, item.unknown3);
        }
        return property;
    }
    property.in_type = InType::from_number(item.input_type.into()).unwrap_or(InType::Opaque);
    property.out_type = OutType::from_number(item.output_type.into());
    let takes_length = matches!(property.in_type, InType::UnicodeString | InType::AnsiString | InType::Binary);
    property.length = match item.length {
        index if flags & LENGTH_OF != 0 => Length::Of(index),
        length if takes_length && length > 0 => Length::Fixed(length),
        _ => Length::Natural,
    };
    property
}

fn text(text: Option<&str>) -> Arc<str> {
    text.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(at: usize, bytes: &mut [u8], value: usize) {
        let value = u32::try_from(value).unwrap();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn element(signature: &[u8; 4], count: u32, entries: &[u8]) -> Vec<u8> {
        let size = u32::try_from(12 + entries.len()).unwrap();
        [&signature[..], &size.to_le_bytes(), &count.to_le_bytes(), entries].concat()
    }

    fn name(text: &str) -> Vec<u8> {
        let units: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        [&u32::try_from(4 + units.len()).unwrap().to_le_bytes()[..], &units].concat()
    }

    fn item(flags: u32, types: (u8, u8), length: u16) -> Vec<u8> {
        let mut item = flags.to_le_bytes().to_vec();
        item.extend([types.0, types.1, 0, 0, 0, 0, 0, 0, 0, 0]);
        item.extend(length.to_le_bytes());
        item.extend([0; 4]);
        item
    }

    /// A compiled manifest of one provider: event 7 with a counted text, and a start opcode.
    fn compiled() -> Vec<u8> {
        let mut whole = b"CRIM\0\0\0\0\x03\0\x01\0\x01\0\0\0".to_vec();
        whole.extend(Guid::from_u128(7).to_bytes_le());
        put(
            whole.len(),
            {
                whole.extend([0; 4]);
                &mut whole
            },
            36,
        );
        let provider = whole.len();
        whole.extend(b"WEVT");
        whole.extend([0; 4]);
        whole.extend([0xff; 4]);
        whole.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        let descriptors = whole.len();
        whole.extend([0; 24]);

        let opcodes = whole.len();
        let mut entry = vec![0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff];
        entry.extend(u32::try_from(opcodes + 24).unwrap().to_le_bytes());
        whole.extend(element(b"OPCO", 1, &entry));
        whole.extend(name("win:Start"));

        let table = whole.len();
        let template = table + 12;
        let mut temp = b"TEMP\0\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        temp.extend([9; 16]);
        put(16, &mut temp, template + 40);
        let (first, second) = (name("Length"), name("Text"));
        let names = template + temp.len() + 40;
        temp.extend(item(0, (6, 6), 0));
        put(temp.len() - 4, &mut temp, names);
        temp.extend(item(4, (1, 1), 0));
        put(temp.len() - 4, &mut temp, names + first.len());
        temp.extend(first);
        temp.extend(second);
        let size = temp.len();
        put(4, &mut temp, size);
        whole.extend(element(b"TTBL", 1, &temp));

        let events = whole.len();
        let mut event = vec![7, 0, 2, 0, 4, 1, 0, 0];
        event.extend(0x10u64.to_le_bytes());
        event.extend([0xff; 4]);
        event.extend(u32::try_from(template).unwrap().to_le_bytes());
        event.resize(48, 0);
        whole.extend(element(b"EVNT", 1, &[&[0; 4], &event[..]].concat()));

        for (at, offset) in [opcodes, table, events].into_iter().enumerate() {
            put(descriptors + at * 8, &mut whole, offset);
        }
        let size = whole.len();
        put(4, &mut whole, size);
        put(provider + 4, &mut whole, size - provider);
        whole
    }

    #[test]
    fn a_compiled_manifest_gives_its_events() {
        let providers = read_compiled(&compiled()).unwrap();
        let [provider] = &providers[..] else { panic!("one provider") };
        assert_eq!(provider.guid, Guid::from_u128(7));
        let event = provider.exact(7, 2).unwrap();
        assert_eq!((event.level, event.opcode, event.keyword), (4, Some(1), 0x10));
        assert_eq!(&*event.opcode_name, "Start");
        let [length, text] = &event.layout.properties[..] else { panic!("two properties") };
        assert_eq!((&*length.name, length.in_type), ("Length", InType::UInt16));
        assert_eq!((&*text.name, text.length), ("Text", Length::Of(0)));
    }

    #[test]
    fn a_cut_or_damaged_one_is_refused_or_read() {
        let whole = compiled();
        for cut in 0..whole.len() {
            assert!(read_compiled(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            let _ = read_compiled(&damaged);
        }
        assert!(matches!(read(b"MZ"), Err(ProviderBinaryError::Pe(_))));
        assert!(matches!(read(&[]), Err(ProviderBinaryError::Pe(_))));
    }
}
