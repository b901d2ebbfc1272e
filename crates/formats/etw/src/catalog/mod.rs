//! Schemas shipped with the program: the manifest providers relevant to on/off transitions, and all known layouts of
//! kernel events.
//!
//! `examples/catalog` generates both files from its `further_providers.json` and `field_facts.json` and from the
//! reference (`providers.json`, `kernel-mof.json`). A provider is expanded when one of its events is first looked up,
//! and stays expanded for the lifetime of the process.
//!
//! # File format
//!
//! Integers are LEB128 (`n`); texts are a length and UTF-8 bytes.
//!
//! `providers.bin`: `n` providers, each with 16 bytes GUID (in Windows byte order), text name, `n` size of its deflated
//! block; then the blocks in the same order. For the inflated blocks, see [`block::Block`].
//!
//! `kernel.bin`: one deflated block with additional tables; see [`kernel::KernelCatalog`].

mod block;
mod kernel;

use std::sync::{Arc, LazyLock, OnceLock};

use hashbrown::HashMap;
use onoff_etl::Guid;

pub(crate) use self::block::Block;
pub(crate) use self::kernel::{KernelCatalog, KernelEvent};
use crate::schema::{EventSchema, ProviderSchema};

static PROVIDERS: &[u8] = include_bytes!("providers.bin");
static KERNEL: &[u8] = include_bytes!("kernel.bin");

/// Maximum size of an inflated block in bytes; guards against damaged files.
const MAX_BLOCK_SIZE: usize = 16 << 20;

/// A provider of the catalog, expanded on first use.
pub(crate) struct CatalogProvider {
    pub guid: Guid,
    pub name: &'static str,
    deflated: &'static [u8],
    expanded: OnceLock<ProviderSchema>,
}

impl CatalogProvider {
    /// Returns the schema. It has no events if the embedded file is damaged (a test expands all providers).
    pub fn schema(&self) -> &ProviderSchema {
        self.expanded.get_or_init(|| {
            self.expand().unwrap_or_else(|| ProviderSchema {
                guid: self.guid,
                name: self.name.into(),
                ..ProviderSchema::default()
            })
        })
    }

    fn expand(&self) -> Option<ProviderSchema> {
        let bytes = inflate(self.deflated)?;
        let mut block = Block::new(&bytes);
        let shared = block.read_shared()?;
        let keywords =
            (0..block.count()?).map(|_| Some((block.number()?, shared.text(&mut block)?))).collect::<Option<_>>()?;
        let mut events = Vec::new();
        for _ in 0..block.count()? {
            events.push(EventSchema {
                id: block.number()?.try_into().ok()?,
                version: block.number()?.try_into().ok()?,
                level: block.number()?.try_into().ok()?,
                // Stored plus 1; 0 if only the name is known.
                opcode: decode_optional(block.number()?)?,
                task: decode_optional(block.number()?)?,
                keyword: block.number()?,
                name: shared.text(&mut block)?,
                task_name: shared.text(&mut block)?,
                opcode_name: shared.text(&mut block)?,
                message: Arc::default(),
                layout: shared.layout(&mut block)?,
            });
        }
        let mut schema = ProviderSchema { guid: self.guid, name: self.name.into(), events, keywords };
        schema.sort();
        Some(schema)
    }
}

#[allow(clippy::option_option, reason = "outer: the file is damaged; inner: no number is known")]
fn decode_optional<T: TryFrom<u64>>(stored: u64) -> Option<Option<T>> {
    match stored.checked_sub(1) {
        None => Some(None),
        Some(number) => number.try_into().ok().map(Some),
    }
}

fn inflate(deflated: &[u8]) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, MAX_BLOCK_SIZE).ok()
}

/// Returns all providers of the catalog, by GUID.
pub(crate) fn providers() -> &'static HashMap<Guid, CatalogProvider> {
    static INDEX: LazyLock<HashMap<Guid, CatalogProvider>> = LazyLock::new(|| read_index().unwrap_or_default());
    &INDEX
}

/// Lists the GUIDs and names of all providers in the catalog, sorted by name.
#[must_use]
pub fn known_providers() -> Vec<(Guid, &'static str)> {
    let mut names: Vec<_> = providers().values().map(|provider| (provider.guid, provider.name)).collect();
    names.sort_by_key(|(_, name)| *name);
    names
}

/// A provider in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    pub guid: Guid,
    pub name: &'static str,
    /// Number of events with completely known fields; each version counts.
    pub events: usize,
}

/// Lists all providers in the catalog with their numbers of known events, sorted by name.
#[must_use]
pub fn known_provider_events() -> Vec<KnownProvider> {
    let to_entry = |(guid, name)| KnownProvider {
        guid,
        name,
        events: providers()
            .get(&guid)
            .map_or(0, |provider| provider.schema().events.iter().filter(|event| event.layout.is_complete()).count()),
    };
    known_providers().into_iter().map(to_entry).collect()
}

/// A kind of kernel event in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKernelEvent {
    /// `group << 8 | type`.
    pub hook: u16,
    pub class: Arc<str>,
    /// Name within the class.
    pub name: Arc<str>,
    /// Number of versions with known fields.
    pub layouts: usize,
}

/// Lists all kinds of kernel events in the catalog, sorted by hook.
#[must_use]
pub fn known_kernel_events() -> Vec<KnownKernelEvent> {
    let to_entry = |hook: u16| {
        let event = kernel().by_hook(hook)?;
        let (class, name) = (Arc::clone(&event.class), Arc::clone(&event.name));
        Some(KnownKernelEvent { hook, class, name, layouts: event.versions.len() })
    };
    (0..=u16::MAX).filter_map(to_entry).collect()
}

fn read_index() -> Option<HashMap<Guid, CatalogProvider>> {
    let mut block = Block::new(PROVIDERS);
    let mut entries = Vec::new();
    for _ in 0..block.count()? {
        let guid = block.guid()?;
        let name = block.text()?;
        entries.push((guid, name, block.count()?));
    }
    let mut providers = HashMap::with_capacity(entries.len());
    for (guid, name, size) in entries {
        let deflated = block.bytes(size)?;
        let expanded = OnceLock::new();
        providers.insert(guid, CatalogProvider { guid, name, deflated, expanded });
    }
    Some(providers)
}

/// Returns the catalog of kernel events.
pub(crate) fn kernel() -> &'static KernelCatalog {
    static CATALOG: LazyLock<KernelCatalog> = LazyLock::new(|| KernelCatalog::read(KERNEL).unwrap_or_default());
    &CATALOG
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::schema::{Count, InType, Layout, Length, OutType, Property};

    #[test]
    fn every_provider_expands() {
        // Damaged blocks would also have no events, so providers with events are counted separately.
        let mut described = 0;
        let mut events = 0;
        for provider in providers().values() {
            let schema = provider.expand().unwrap();
            assert!(!provider.name.is_empty());
            described += usize::from(!schema.events.is_empty());
            events += schema.events.len();
        }
        assert_eq!((providers().len(), described, events), (911, 110, 14_679));
    }

    /// True if a field is a network address or port by name and type. Formatted as a number, its bytes would be in the
    /// wrong order.
    fn is_network_field(name: &str, in_type: InType) -> bool {
        let name = name.to_ascii_lowercase();
        let is_address = || {
            ["daddr", "saddr"].contains(&&*name)
                || name.contains("ipv4") && ["addr", "prefix", "hop"].iter().any(|part| name.contains(part))
                || ["address", "address1", "sourceaddress", "destinationaddress", "srcaddress", "destaddress"]
                    .contains(&&*name)
        };
        match in_type {
            InType::UInt16 => name.ends_with("port"),
            InType::UInt32 => is_address(),
            InType::Binary => ["addr", "bssid"].iter().any(|part| name.contains(part)) || name.ends_with("prefix"),
            _ => false,
        }
    }

    /// Fields of unknown byte order or format, shown as numbers or bytes.
    const UNKNOWN_FORMAT: &[(&str, &[&str])] = &[
        ("Microsoft-Windows-DHCPv6-Client", &["Address1"]),
        ("Microsoft-Windows-DNS-Client", &["DestinationAddress", "SourceAddress"]),
        ("Microsoft-Windows-Dhcp-Client", &["Address"]),
        // A memory address of the processor.
        ("Microsoft-Windows-Kernel-Processor-Power", &["Address"]),
        ("Microsoft-Windows-NCSI", &["IpAddress", "NextHopAddress"]),
        (
            "Microsoft-Windows-TCPIP",
            &["DestPort", "LocalPort", "Port", "RtcEndPort", "RtcStartPort", "SrcPort", "StartPort"],
        ),
        (
            "Microsoft-Windows-WLAN-AutoConfig",
            &["BSSID", "BSSIDList", "DestinationAddress", "PeerAddr", "SourceAddress"],
        ),
    ];

    /// Returns the fields whose extent is unknown, although other fields follow, or differs from the field before them.
    fn faults(layout: &Layout) -> BTreeSet<String> {
        let mut faults = BTreeSet::new();
        let mut previous: Option<&Property> = None;
        for (index, property) in layout.properties.iter().enumerate() {
            let is_last = index + 1 == layout.top_level;
            let has_length = property.length != Length::Natural || property.out_type == OutType::Ipv6;
            if property.in_type == InType::Binary && !has_length && !is_last {
                faults.insert(format!("{} has no length", property.name));
            }
            if property.in_type == InType::Opaque && !is_last {
                faults.insert(format!("{} hides fields", property.name));
            }
            let is_after_count = previous.is_some_and(|previous| previous.name.to_ascii_lowercase().ends_with("count"));
            let is_single_structure = property.in_type == InType::Struct && property.count == Count::One;
            if is_after_count && (is_single_structure || matches!(property.count, Count::Fixed(2..))) {
                faults.insert(format!("{} ignores the count before it", property.name));
            }
            previous = Some(property);
        }
        faults
    }

    #[test]
    fn faults_are_found() {
        let fault = |properties: Vec<Property>| faults(&Layout::flat(properties)).into_iter().collect::<Vec<_>>();
        let count = || Property::new("FrameCount", InType::UInt32);
        let list = |count| {
            let mut list = Property::new("Stack", InType::Pointer);
            list.count = count;
            list
        };
        assert_eq!(fault(vec![count(), list(Count::Fixed(2))]), ["Stack ignores the count before it"]);
        assert_eq!(fault(vec![count(), list(Count::FromProperty(0))]), [""; 0]);
        // A number after a count is not a list.
        assert_eq!(fault(vec![count(), list(Count::One)]), [""; 0]);
        let structure = || Property::new("Values", InType::Struct);
        assert_eq!(fault(vec![count(), structure()]), ["Values ignores the count before it"]);
        assert_eq!(fault(vec![structure(), count()]), [""; 0]);
        let data = |in_type| Property::new("Data", in_type);
        assert_eq!(fault(vec![data(InType::Binary), count()]), ["Data has no length"]);
        assert_eq!(fault(vec![count(), data(InType::Binary)]), [""; 0]);
        assert_eq!(fault(vec![data(InType::Opaque), count()]), ["Data hides fields"]);
    }

    #[test]
    fn dotnet_events_are_complete() {
        let is_dotnet = |provider: &&CatalogProvider| provider.name.starts_with("Microsoft-Windows-DotNETRuntime");
        let mut events: Vec<_> = providers()
            .values()
            .filter(is_dotnet)
            .map(|provider| {
                let events = &provider.schema().events;
                let complete = events.iter().filter(|event| event.layout.is_complete()).count();
                (provider.name.trim_start_matches("Microsoft-Windows-"), events.len(), complete)
            })
            .collect();
        events.sort_unstable();
        let expected = [
            ("DotNETRuntime", 211, 211),
            ("DotNETRuntimePrivate", 185, 185),
            ("DotNETRuntimeRundown", 51, 51),
            ("DotNETRuntimeStress", 3, 3),
        ];
        assert_eq!(events, expected);
    }

    #[test]
    fn fields_have_extents_and_network_fields_have_formats() {
        let mut unknown: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for provider in providers().values() {
            for event in &provider.schema().events {
                let event_name = format!("{} {} version {}", provider.name, event.id, event.version);
                assert_eq!(faults(&event.layout), BTreeSet::new(), "{event_name}");
                for property in &event.layout.properties {
                    if property.out_type == OutType::Default && is_network_field(&property.name, property.in_type) {
                        unknown.entry(provider.name).or_default().insert(&property.name);
                    }
                }
            }
        }
        let expected =
            UNKNOWN_FORMAT.iter().map(|&(provider, fields)| (provider, fields.iter().copied().collect())).collect();
        assert_eq!(unknown, expected);
    }

    #[test]
    fn network_events_match_kernel_layouts() {
        // The same event with a kernel header has its layout from another source (kernel-mof.json).
        let guid = Guid::from_u128(0x7dd42a49_5329_4832_8dfd_43d979153a88);
        let provider = providers().get(&guid).unwrap().schema();
        let sizes = |properties: &[Property]| -> Vec<(String, usize, OutType)> {
            let to_entry = |property: &Property| {
                let size = match (property.in_type, property.length) {
                    (InType::UInt16 | InType::Int16, _) => 2,
                    (InType::UInt32, _) => 4,
                    (InType::Pointer, _) => 8,
                    (InType::Binary, Length::Fixed(size)) => size.into(),
                    unexpected => panic!("{}: {unexpected:?}", property.name),
                };
                (property.name.to_string(), size, property.out_type)
            };
            properties.iter().map(to_entry).collect()
        };
        let groups = [(10..=18, 0x0600, 0), (26..=34, 0x0600, 0), (42..=49, 0x0800, 32), (58..=59, 0x0800, 32)];
        let mut compared = 0;
        for (ids, group, id_offset) in groups {
            for id in ids {
                let Some(event) = provider.find_exact(id, 0) else { continue };
                let kernel_event = kernel().by_hook(group | (id - id_offset)).unwrap().version(2).unwrap();
                assert_eq!(sizes(&event.layout.properties), sizes(&kernel_event.layout.properties), "{id}");
                compared += 1;
            }
        }
        assert_eq!(compared, provider.events.len());
    }

    #[test]
    fn catalog_stays_small() {
        assert!(PROVIDERS.len() + KERNEL.len() <= 1_500_000);
    }

    #[test]
    fn kernel_general_has_time_change_event() {
        let guid = Guid::from_u128(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);
        let provider = providers().get(&guid).unwrap().schema();
        assert_eq!(&*provider.name, "Microsoft-Windows-Kernel-General");
        let event = provider.find_exact(1, 1).unwrap();
        let names: Vec<_> = event.layout.properties.iter().map(|p| &*p.name).collect();
        assert_eq!(names, ["NewTime", "OldTime", "Reason"]);
        assert!(event.layout.properties[2].map.is_some());
        assert_eq!(&*event.task_name, "SystemTimeChange");
    }
}
