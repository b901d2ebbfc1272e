//! Schemas that come with the program: manifest providers that matter to on/off transitions, and every known
//! layout of kernel events.
//!
//! Both files here are written by `examples/catalogue` from its `further_providers.json` and the reference (`providers.json`,
//! `kernel-mof.json`). A provider is expanded the first time one of its events is asked about, and stays
//! expanded for the life of the process.
//!
//! # File format
//!
//! Integers are LEB128 (`n`), texts are their length and UTF-8.
//!
//! `providers.bin`: `n` providers, each 16 bytes GUID (as Windows stores it), text name, `n` size of its
//! deflated block; then the blocks in the same order. A block, inflated: see [`block::Block`].
//!
//! `kernel.bin`: one deflated block and after it the kernel's own tables; see [`kernel::KernelCatalogue`].

mod block;
mod kernel;

use std::sync::{Arc, LazyLock, OnceLock};

use hashbrown::HashMap;
use onoff_etl::Guid;
use onoff_order::InOrder;

pub(crate) use self::block::Block;
pub(crate) use self::kernel::{KernelCatalogue, KernelEvent};
use crate::schema::{EventSchema, ProviderSchema};

static PROVIDERS: &[u8] = include_bytes!("providers.bin");
static KERNEL: &[u8] = include_bytes!("kernel.bin");

/// More than any block inflates to; guards against a damaged file.
const LARGEST_BLOCK: usize = 16 << 20;

/// A provider of the catalogue, expanded when first asked for.
pub(crate) struct CatalogueProvider {
    pub guid: Guid,
    pub name: &'static str,
    deflated: &'static [u8],
    expanded: OnceLock<ProviderSchema>,
}

impl CatalogueProvider {
    /// Its schema; without events if the embedded file is damaged (a test expands them all).
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
        let shared = block.shared()?;
        let keywords =
            (0..block.count()?).map(|_| Some((block.number()?, shared.text(&mut block)?))).collect::<Option<_>>()?;
        let mut events = Vec::new();
        for _ in 0..block.count()? {
            events.push(EventSchema {
                id: block.number()?.try_into().ok()?,
                version: block.number()?.try_into().ok()?,
                level: block.number()?.try_into().ok()?,
                // One more than the number; 0 = only the name is known.
                opcode: optional(block.number()?)?,
                task: optional(block.number()?)?,
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
fn optional<T: TryFrom<u64>>(stored: u64) -> Option<Option<T>> {
    match stored.checked_sub(1) {
        None => Some(None),
        Some(number) => number.try_into().ok().map(Some),
    }
}

fn inflate(deflated: &[u8]) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_with_limit(deflated, LARGEST_BLOCK).ok()
}

/// All providers of the catalogue, by GUID.
pub(crate) fn providers() -> &'static HashMap<Guid, CatalogueProvider> {
    static INDEX: LazyLock<HashMap<Guid, CatalogueProvider>> = LazyLock::new(|| index().unwrap_or_default());
    &INDEX
}

/// GUID and name of every provider of the catalogue, by name.
#[must_use]
pub fn known_providers() -> Vec<(Guid, &'static str)> {
    let mut known: Vec<_> = providers().values().map(|provider| (provider.guid, provider.name)).collect();
    known.order_by_key(|(_, name)| *name);
    known
}

/// A provider of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// Its GUID.
    pub guid: Guid,
    /// Its name.
    pub name: &'static str,
    /// Events whose fields are known, each of its versions counted.
    pub events: usize,
}

/// Every provider of the catalogue with how many events of it are known, by name.
#[must_use]
pub fn known_provider_events() -> Vec<KnownProvider> {
    let of = |(guid, name)| KnownProvider {
        guid,
        name,
        events: providers().get(&guid).map_or(0, |provider| provider.schema().events.len()),
    };
    known_providers().into_iter().map(of).collect()
}

/// A kind of kernel event of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKernelEvent {
    /// `group << 8 | type`.
    pub hook: u16,
    /// Its class.
    pub class: Arc<str>,
    /// Its name in the class.
    pub name: Arc<str>,
    /// Versions whose fields are known.
    pub layouts: usize,
}

/// Every kind of kernel event of the catalogue, by hook.
#[must_use]
pub fn known_kernel_events() -> Vec<KnownKernelEvent> {
    let of = |hook: u16| {
        let event = kernel().by_hook(hook)?;
        let (class, name) = (Arc::clone(&event.class), Arc::clone(&event.name));
        Some(KnownKernelEvent { hook, class, name, layouts: event.versions.len() })
    };
    (0..=u16::MAX).filter_map(of).collect()
}

fn index() -> Option<HashMap<Guid, CatalogueProvider>> {
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
        providers.insert(guid, CatalogueProvider { guid, name, deflated, expanded });
    }
    Some(providers)
}

/// The kernel's events.
pub(crate) fn kernel() -> &'static KernelCatalogue {
    static CATALOGUE: LazyLock<KernelCatalogue> = LazyLock::new(|| KernelCatalogue::read(KERNEL).unwrap_or_default());
    &CATALOGUE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_expands() {
        // Damaged blocks would have no events either: they are counted apart from those of which the name is known.
        let mut described = 0;
        let mut events = 0;
        for provider in providers().values() {
            let schema = provider.expand().unwrap();
            assert!(!provider.name.is_empty());
            described += usize::from(!schema.events.is_empty());
            events += schema.events.len();
        }
        assert_eq!((providers().len(), described, events), (911, 110, 14_639));
    }

    #[test]
    fn the_catalogue_stays_small() {
        assert!(PROVIDERS.len() + KERNEL.len() <= 1_500_000);
    }

    #[test]
    fn kernel_general_says_when_the_system_time_changed() {
        let guid = Guid::from_u128(0xa68ca8b7_004f_d7b6_a698_07e2de0f1f5d);
        let provider = providers().get(&guid).unwrap().schema();
        assert_eq!(&*provider.name, "Microsoft-Windows-Kernel-General");
        let event = provider.exact(1, 1).unwrap();
        let names: Vec<_> = event.layout.properties.iter().map(|p| &*p.name).collect();
        assert_eq!(names, ["NewTime", "OldTime", "Reason"]);
        assert!(event.layout.properties[2].map.is_some());
        assert_eq!(&*event.task_name, "SystemTimeChange");
    }
}
