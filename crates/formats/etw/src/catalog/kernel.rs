//! Catalog of kernel events by hook, and of the records added by merge tools by class and type.

use std::sync::Arc;

use hashbrown::HashMap;
use onoff_etl::Guid;

use super::{Block, inflate};
use crate::schema::Layout;

/// All known kernel events.
///
/// File: one deflated block. After the common start of a block: `n` groups in numeric order, each with 16 bytes class
/// GUID and text index (class name); `n` events, each with `n` hook, text index (name), text index (class name), 16
/// bytes class GUID, `n` versions, each with `n` version and layout index; `n` merged records, each with 16 bytes class
/// GUID, `n` type, `n` version, text indexes (class and name), layout index.
#[derive(Default)]
pub(crate) struct KernelCatalog {
    groups: HashMap<Guid, u8>,
    by_hook: Vec<u16>,
    /// Events in the group of another class, by class and type: image loads are in the process group.
    other_group_events: HashMap<(Guid, u8), u16>,
    events: Vec<KernelEvent>,
    merged: HashMap<(Guid, u8), KernelEvent>,
}

#[derive(Default)]
pub(crate) struct KernelEvent {
    pub name: Arc<str>,
    pub class: Arc<str>,
    pub class_guid: Guid,
    /// Sorted by version; empty if no layout is known.
    pub versions: Vec<KernelVersion>,
}

/// Payload layout of one version.
pub(crate) struct KernelVersion {
    pub version: u16,
    pub layout: Arc<Layout>,
}

impl KernelEvent {
    /// Returns the layout for decoding a version: that version, otherwise the highest version below it, otherwise the
    /// lowest version.
    pub fn version(&self, version: u16) -> Option<&KernelVersion> {
        let end = self.versions.partition_point(|entry| entry.version <= version);
        self.versions.get(end.saturating_sub(1))
    }
}

/// Marks unused hooks in `by_hook`.
const UNUSED_HOOK: u16 = u16::MAX;

impl KernelCatalog {
    pub fn read(deflated: &[u8]) -> Option<Self> {
        let bytes = inflate(deflated)?;
        let mut block = Block::new(&bytes);
        let shared = block.read_shared()?;
        let mut catalog = Self::default();
        for group in 0..block.count()? {
            let guid = block.guid()?;
            shared.text(&mut block)?;
            catalog.groups.insert(guid, group.try_into().ok()?);
        }
        for index in 0..block.count()? {
            let hook = usize::from(block.number_u16()?);
            let name = shared.text(&mut block)?;
            let class = shared.text(&mut block)?;
            let class_guid = block.guid()?;
            let versions = (0..block.count()?)
                .map(|_| Some(KernelVersion { version: block.number_u16()?, layout: shared.layout(&mut block)? }))
                .collect::<Option<_>>()?;
            if catalog.by_hook.len() <= hook {
                catalog.by_hook.resize(hook + 1, UNUSED_HOOK);
            }
            let index = index.try_into().ok()?;
            *catalog.by_hook.get_mut(hook)? = index;
            let [group, opcode] = u16::try_from(hook).ok()?.to_be_bytes();
            if catalog.groups.get(&class_guid) != Some(&group) {
                catalog.other_group_events.entry((class_guid, opcode)).or_insert(index);
            }
            catalog.events.push(KernelEvent { name, class, class_guid, versions });
        }
        for _ in 0..block.count()? {
            let guid = block.guid()?;
            let opcode = block.number()?.try_into().ok()?;
            let version = block.number_u16()?;
            let class = shared.text(&mut block)?;
            let name = shared.text(&mut block)?;
            let layout = shared.layout(&mut block)?;
            let event = catalog.merged.entry((guid, opcode)).or_default();
            event.name = name;
            event.class = class;
            event.class_guid = guid;
            event.versions.push(KernelVersion { version, layout });
            event.versions.sort_by_key(|entry| entry.version);
        }
        Some(catalog)
    }

    pub fn by_hook(&self, hook: u16) -> Option<&KernelEvent> {
        let index = *self.by_hook.get(usize::from(hook))?;
        self.events.get(usize::from(index))
    }

    /// Returns the event with a class and type, for records with a FULL or INSTANCE header: records added by merge
    /// tools, or kernel events in that form.
    pub fn by_class(&self, class: Guid, opcode: u8) -> Option<&KernelEvent> {
        let in_group = || {
            let group = *self.groups.get(&class)?;
            self.by_hook(u16::from_be_bytes([group, opcode]))
        };
        let in_other_group = || self.events.get(usize::from(*self.other_group_events.get(&(class, opcode))?));
        self.merged.get(&(class, opcode)).or_else(in_group).or_else(in_other_group)
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = &KernelEvent> {
        self.events.iter().chain(self.merged.values())
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel;

    #[test]
    fn finds_events_by_hook_class_and_version() {
        assert_eq!(kernel().all().count(), 678 + 26);
        let switch = kernel().by_hook(0x0524).unwrap();
        assert_eq!((&*switch.class, &*switch.name), ("Thread", "CSwitch"));
        assert_eq!(switch.version(0).unwrap().version, 1);
        assert_eq!(switch.version(9).unwrap().version, 4);
        let image = kernel().by_hook(0x030a).unwrap();
        assert_eq!(&*image.class, "Image", "load is an image event in the process group");
        assert!(kernel().by_hook(0x7777).is_none());

        let class = crate::kernel::IMAGE_ID_CLASS;
        assert_eq!(&*kernel().by_class(class, 36).unwrap().name, "DbgID_RSDS");
        let mark = kernel().by_class(crate::kernel::PERF_INFO_CLASS, 34).unwrap();
        assert_eq!(&*mark.name, "Mark");
        let load = kernel().by_class(image.class_guid, 0x0a).unwrap();
        assert_eq!((&*load.class, &*load.name), ("Image", "Load"));
        let sample = kernel().by_class(crate::kernel::PERF_INFO_CLASS, 0x2e).unwrap();
        assert_eq!(&*sample.name, "SampledProfile");
    }
}
