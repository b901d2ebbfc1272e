//! Reads schemas from a provider's DLL or EXE, which contains a compiled manifest as a `WEVT_TEMPLATE` resource.
//!
//! The resource has names of tasks, opcodes and keywords but no symbols. Messages and map names are in another
//! resource, which is not read.
//!
//! Verified with four system binaries (wevtsvc.dll, lsasrv.dll, adtschema.dll, services.exe): events, names, types, and
//! lengths given by another property (flag 4). None of them has a struct, an array or a fixed length, so those flags
//! are unverified.

mod compiled;
mod resource;

use std::sync::Arc;

use compiled::{Event, Item, NamedNumber, Provider};

use crate::schema::{Count, EventSchema, InType, Layout, Length, OutType, Property, ProviderSchema};
use crate::standard;

/// Why a provider binary cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderBinaryError {
    /// The file is not a PE file, or is damaged.
    #[error("not a valid PE file")]
    Pe,
    /// The file contains no compiled manifest.
    #[error("the file has no WEVT_TEMPLATE resource, so it describes no providers")]
    NoTemplates,
    /// The compiled manifest is damaged.
    #[error("the WEVT_TEMPLATE resource is malformed: {0}")]
    Manifest(String),
}

/// Reads all providers of a PE file.
pub(crate) fn read(pe: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let mut providers = Vec::new();
    for resource in resource::compiled_manifests(pe).ok_or(ProviderBinaryError::Pe)? {
        providers.extend(read_compiled(resource)?);
    }
    if providers.is_empty() { Err(ProviderBinaryError::NoTemplates) } else { Ok(providers) }
}

/// Reads a compiled manifest from the bytes of the resource.
fn read_compiled(resource: &[u8]) -> Result<Vec<ProviderSchema>, ProviderBinaryError> {
    let providers = compiled::providers(resource);
    let providers = providers.map_err(|error| ProviderBinaryError::Manifest(error.to_string()))?;
    Ok(providers.iter().map(provider_schema).collect())
}

fn provider_schema(provider: &Provider) -> ProviderSchema {
    let keywords = provider.keywords.iter();
    let mut schema = ProviderSchema {
        guid: provider.guid,
        keywords: keywords.map(|keyword| (keyword.number, Arc::from(&*keyword.name))).collect(),
        events: provider.events.iter().map(|definition| event_schema(provider, definition)).collect(),
        ..ProviderSchema::default()
    };
    schema.keywords.sort();
    schema.sort();
    schema
}

fn event_schema(provider: &Provider, event: &Event) -> EventSchema {
    let name = |entry: Option<&NamedNumber>| entry.map(|entry| entry.name.clone()).filter(|name| !name.is_empty());
    let task_name = name(provider.tasks.iter().find(|task| task.number == u64::from(event.task)));
    // The high half of the number is the opcode; the low half is the task if the opcode belongs to a task,
    // otherwise 0.
    let opcode = provider.opcodes.iter().find(|opcode| {
        let task = opcode.number & 0xffff;
        opcode.number >> 16 == u64::from(event.opcode) && (task == 0 || task == u64::from(event.task))
    });
    let opcode_name = name(opcode);
    let opcode_name = opcode_name.as_deref().map(|name| name.strip_prefix("win:").unwrap_or(name));
    let opcode_name = opcode_name.or_else(|| standard::opcode_name(event.opcode));
    EventSchema {
        id: event.id,
        version: event.version,
        level: event.level,
        opcode: Some(event.opcode),
        task: Some(event.task),
        keyword: event.keywords,
        name: Arc::default(),
        task_name: to_text(task_name.as_deref()),
        opcode_name: to_text(opcode_name),
        message: Arc::default(),
        layout: if event.items.is_empty() { Arc::default() } else { Arc::new(to_layout(&event.items)) },
    }
}

fn to_layout(items: &[Item]) -> Layout {
    let count = items.len();
    let properties: Vec<_> = items.iter().map(|item| to_property(item, count)).collect();
    // Members of structs follow the top-level properties, starting at the first struct's first member.
    let top_level = properties
        .iter()
        .filter(|property| property.in_type == InType::Struct && property.members.1 > 0)
        .map(|property| usize::from(property.members.0))
        .min()
        .unwrap_or(count);
    Layout { properties, top_level: top_level.min(count) }
}

fn to_property(item: &Item, count: usize) -> Property {
    const STRUCT: u32 = 0x01;
    const LENGTH_OF: u32 = 0x04;
    const COUNT_FIXED: u32 = 0x08;
    const COUNT_OF: u32 = 0x10;
    let flags = item.flags;
    let mut property = Property::new(Arc::from(&*item.name), InType::Struct);
    property.count = match item.count {
        index if flags & COUNT_OF != 0 => Count::FromProperty(index),
        count if flags & COUNT_FIXED != 0 || count > 1 => Count::Fixed(count),
        _ => Count::One,
    };
    if flags & STRUCT != 0 {
        let first_member = u16::from_le_bytes(item.types);
        if usize::from(first_member) + usize::from(item.members) <= count {
            property.members = (first_member, item.members);
        }
        return property;
    }
    let [in_type, out_type] = item.types;
    property.in_type = InType::from_number(in_type.into()).unwrap_or(InType::Opaque);
    property.out_type = OutType::from_number(out_type.into());
    let takes_length = matches!(property.in_type, InType::UnicodeString | InType::AnsiString | InType::Binary);
    property.length = match item.length {
        index if flags & LENGTH_OF != 0 => Length::FromProperty(index),
        length if takes_length && length > 0 => Length::Fixed(length),
        _ => Length::Natural,
    };
    property
}

fn to_text(text: Option<&str>) -> Arc<str> {
    text.unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use evtx::wevt_templates::extract_wevt_template_resources;
    use evtx::wevt_templates::manifest::CrimManifest;
    use onoff_etl::Guid;

    use super::*;

    fn put_u32(index: usize, bytes: &mut [u8], value: usize) {
        let value = u32::try_from(value).unwrap();
        bytes[index..index + 4].copy_from_slice(&value.to_le_bytes());
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

    /// Builds a compiled manifest of one provider, with event 7 (a counted text) and a start opcode.
    fn compiled() -> Vec<u8> {
        let mut resource = b"CRIM\0\0\0\0\x03\0\x01\0\x01\0\0\0".to_vec();
        resource.extend(Guid::from_u128(7).to_bytes_le());
        put_u32(
            resource.len(),
            {
                resource.extend([0; 4]);
                &mut resource
            },
            36,
        );
        let provider = resource.len();
        resource.extend(b"WEVT");
        resource.extend([0; 4]);
        resource.extend([0xff; 4]);
        resource.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        let descriptors = resource.len();
        resource.extend([0; 24]);

        let opcodes = resource.len();
        let mut entry = vec![0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff];
        entry.extend(u32::try_from(opcodes + 24).unwrap().to_le_bytes());
        resource.extend(element(b"OPCO", 1, &entry));
        resource.extend(name("win:Start"));

        let table = resource.len();
        let template = table + 12;
        let mut temp = b"TEMP\0\0\0\0\x02\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0".to_vec();
        temp.extend([9; 16]);
        put_u32(16, &mut temp, template + 40);
        let (first, second) = (name("Length"), name("Text"));
        let names = template + temp.len() + 40;
        temp.extend(item(0, (6, 6), 0));
        put_u32(temp.len() - 4, &mut temp, names);
        temp.extend(item(4, (1, 1), 0));
        put_u32(temp.len() - 4, &mut temp, names + first.len());
        temp.extend(first);
        temp.extend(second);
        let size = temp.len();
        put_u32(4, &mut temp, size);
        resource.extend(element(b"TTBL", 1, &temp));

        let events = resource.len();
        let mut event = vec![7, 0, 2, 0, 4, 1, 0, 0];
        event.extend(0x10u64.to_le_bytes());
        event.extend([0xff; 4]);
        event.extend(u32::try_from(template).unwrap().to_le_bytes());
        event.resize(48, 0);
        resource.extend(element(b"EVNT", 1, &[&[0; 4], &event[..]].concat()));

        for (index, offset) in [opcodes, table, events].into_iter().enumerate() {
            put_u32(descriptors + index * 8, &mut resource, offset);
        }
        let size = resource.len();
        put_u32(4, &mut resource, size);
        put_u32(provider + 4, &mut resource, size - provider);
        resource
    }

    #[test]
    fn reads_events_of_compiled_manifest() {
        let providers = read_compiled(&compiled()).unwrap();
        let [provider] = &providers[..] else { panic!("one provider") };
        assert_eq!(provider.guid, Guid::from_u128(7));
        let event = provider.find_exact(7, 2).unwrap();
        assert_eq!((event.level, event.opcode, event.keyword), (4, Some(1), 0x10));
        assert_eq!(&*event.opcode_name, "Start");
        let [length, text] = &event.layout.properties[..] else { panic!("two properties") };
        assert_eq!((&*length.name, length.in_type), ("Length", InType::UInt16));
        assert_eq!((&*text.name, text.length), ("Text", Length::FromProperty(0)));
    }

    /// Lists the events of a compiled manifest as read by the `evtx` crate: id, version, level, opcode, task, keywords
    /// and items.
    fn events_by_evtx(resource: &[u8]) -> Option<Vec<String>> {
        let manifest = CrimManifest::parse(resource).ok()?;
        let mut events = Vec::new();
        for provider in &manifest.providers {
            for event in provider.wevt.elements.events.iter().flat_map(|events| &events.events) {
                let template = event.template_offset.and_then(|offset| provider.template_by_offset(offset));
                let items = template.iter().flat_map(|template| &template.items).map(|item| {
                    let name = item.name.as_deref().unwrap_or_default();
                    let types = [item.input_type, item.output_type];
                    format!("{name} {} {types:?} {} {} {}", item.unknown1, item.unknown3, item.count, item.length)
                });
                let numbers = (event.identifier, event.version, event.level, event.opcode, event.task, event.keywords);
                events.push(format!("{} {numbers:?} {:?}", provider.guid, items.collect::<Vec<_>>()));
            }
        }
        Some(events)
    }

    fn events_by_this_crate(resource: &[u8]) -> Option<Vec<String>> {
        let mut events = Vec::new();
        for provider in compiled::providers(resource).ok()? {
            for event in &provider.events {
                let items = event.items.iter().map(|item| {
                    let Item { flags, types, members, count, length, name } = item;
                    format!("{name} {flags} {types:?} {members} {count} {length}")
                });
                let numbers = (event.id, event.version, event.level, event.opcode, event.task, event.keywords);
                let guid = provider.guid.to_string().trim_matches(['{', '}']).to_uppercase();
                events.push(format!("{guid} {numbers:?} {:?}", items.collect::<Vec<_>>()));
            }
        }
        Some(events)
    }

    #[test]
    fn agrees_with_evtx_crate_even_on_changed_bytes() {
        let resource = compiled();
        assert_eq!(events_by_this_crate(&resource), events_by_evtx(&resource));
        assert_eq!(events_by_this_crate(&resource).unwrap().len(), 1);
        let mut parsed_by_both = 0;
        for index in 16..resource.len() {
            let mut changed = resource.clone();
            changed[index] ^= 1;
            if let (Some(ours), Some(theirs)) = (events_by_this_crate(&changed), events_by_evtx(&changed)) {
                // `evtx` finds templates only in the list of templates; this crate follows the offset in the event.
                assert!(
                    ours == theirs || theirs.iter().all(|event| event.ends_with("[]")),
                    "byte {index}: {ours:?}, {theirs:?}"
                );
                parsed_by_both += 1;
            }
        }
        assert!(parsed_by_both > 150, "{parsed_by_both} of {} changes were read by both", resource.len());
    }

    /// Builds a PE file with one section, which contains the resource tree (type, name, language).
    fn pe(resource: &[u8], is_64_bit: bool) -> Vec<u8> {
        const SECTION: u32 = 0x3000;
        const FILE_OFFSET: u32 = 0x400;
        let mut tree = Vec::new();
        for (named_count, id_count, name, reference) in
            [(1, 0, 1 << 31 | 0x58, 1 << 31 | 0x18), (0, 1, 1, 1 << 31 | 0x30), (0, 1, 0x409, 0x48)]
        {
            tree.extend([0; 12]);
            tree.extend(u16::to_le_bytes(named_count));
            tree.extend(u16::to_le_bytes(id_count));
            tree.extend(u32::to_le_bytes(name));
            tree.extend(u32::to_le_bytes(reference));
        }
        tree.extend((SECTION + 0x80).to_le_bytes());
        tree.extend(u32::try_from(resource.len()).unwrap().to_le_bytes());
        tree.resize(0x58, 0);
        tree.extend(13_u16.to_le_bytes());
        tree.extend("WEVT_TEMPLATE".encode_utf16().flat_map(u16::to_le_bytes));
        tree.resize(0x80, 0);
        tree.extend(resource);
        let size = u32::try_from(tree.len()).unwrap();

        let (magic, directories): (u16, usize) = if is_64_bit { (0x20b, 112) } else { (0x10b, 96) };
        let mut file = b"MZ".to_vec();
        file.resize(0x3c, 0);
        file.extend(0x40_u32.to_le_bytes());
        file.extend(b"PE\0\0\x64\x86\x01\0");
        file.extend([0; 12]);
        let optional = directories + 16 * 8;
        file.extend(u16::try_from(optional).unwrap().to_le_bytes());
        file.extend([2, 0x20]);
        let start = file.len();
        file.extend(magic.to_le_bytes());
        file.resize(start + 32, 0);
        // Alignment in memory and in the file.
        file.extend(0x1000_u32.to_le_bytes());
        file.extend(0x200_u32.to_le_bytes());
        file.resize(start + directories - 4, 0);
        file.extend(16_u32.to_le_bytes());
        file.resize(start + directories + 16, 0);
        file.extend(SECTION.to_le_bytes());
        file.extend(size.to_le_bytes());
        file.resize(start + optional, 0);
        file.extend(b".rsrc\0\0\0");
        for number in [size, SECTION, size, FILE_OFFSET] {
            file.extend(number.to_le_bytes());
        }
        file.extend([0; 16]);
        file.resize(usize::try_from(FILE_OFFSET).unwrap(), 0);
        file.extend(tree);
        file
    }

    #[test]
    fn finds_resource_in_32_and_64_bit_programs() {
        let resource = compiled();
        for is_64_bit in [false, true] {
            let file = pe(&resource, is_64_bit);
            assert_eq!(read(&file).unwrap()[0].guid, Guid::from_u128(7));
            let theirs = extract_wevt_template_resources(&file).unwrap();
            assert_eq!(theirs.iter().map(|resource| &resource.data[..]).collect::<Vec<_>>(), [&resource[..]]);
            for index in 0..file.len() {
                let mut damaged = file.clone();
                damaged[index] ^= 0xff;
                let _ = read(&damaged);
                let _ = read(&file[..index]);
            }
        }
        // With a resource of another type, the file describes no provider.
        let mut renamed = pe(&resource, true);
        let name_offset = renamed.windows(2).rposition(|pair| pair == b"W\0").unwrap();
        renamed[name_offset] = b'X';
        assert!(matches!(read(&renamed), Err(ProviderBinaryError::NoTemplates)));
    }

    #[test]
    fn limits_work_for_cyclic_tables() {
        // All providers in the list refer to the same table.
        let mut resource = compiled();
        let table_offset = resource[32..36].to_owned();
        let mut list = Vec::new();
        for _ in 0..40_000_u32 {
            list.extend([7; 16]);
            list.extend(&table_offset);
        }
        resource.extend(&list);
        let size = resource.len();
        put_u32(4, &mut resource, size);
        put_u32(12, &mut resource, 40_000);
        assert!(read_compiled(&resource).is_err());
    }

    #[test]
    fn rejects_truncated_and_survives_damaged_manifests() {
        let resource = compiled();
        for length in 0..resource.len() {
            assert!(read_compiled(&resource[..length]).is_err(), "truncated at {length}");
        }
        for index in 0..resource.len() {
            let mut damaged = resource.clone();
            damaged[index] ^= 0xff;
            let _ = read_compiled(&damaged);
        }
        assert!(matches!(read(b"MZ"), Err(ProviderBinaryError::Pe)));
        assert!(matches!(read(&[]), Err(ProviderBinaryError::Pe)));
    }
}
