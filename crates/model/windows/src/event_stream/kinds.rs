//! Names of event kinds, computed once per kind.

use std::cell::Cell;

use hashbrown::HashMap;
use onoff_etl::{Guid, HeaderKind, Record};
use onoff_etw::{Description, FixedLayout, SchemaSource, Schemas};
use onoff_trace::EventOrigin;

use super::EventFilter;
use crate::names::{event_name, kernel_hook, provider_name};

/// A kind of event: its names, and whether the filter selects it.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) origin: EventOrigin,
    pub(super) provider: Box<str>,
    pub(super) guid: Box<str>,
    pub(super) name: Box<str>,
    pub(super) task: Box<str>,
    pub(super) opcode_name: Box<str>,
    /// Event id; for kernel and classic events the opcode, for messages the number.
    pub(super) id: u16,
    /// Level of a message, which is not in its records.
    pub(super) level: Option<u8>,
    pub(super) described: bool,
    pub(super) selected: bool,
    /// Field layout of a kernel event that contains only numbers.
    pub(super) fixed: Option<FixedLayout<'static>>,
    /// True once a survey has described the kind.
    pub(super) surveyed: Cell<bool>,
}

/// Key of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    guid: Guid,
    /// Hook, event id, or message number.
    number: u16,
    opcode: u8,
    version: u16,
    header: HeaderKind,
}

/// The kinds seen so far.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    by_key: HashMap<Key, Kind>,
    /// Self-describing events, which have no number, by provider and opcode, then by name.
    by_name: HashMap<(Guid, u8), HashMap<Box<str>, Kind>>,
}

impl Kinds {
    /// Discards the cached names because better names became known.
    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.by_name.clear();
    }

    pub(super) fn kind_of(&mut self, record: &Record<'_>, schemas: &Schemas, filter: &EventFilter) -> &Kind {
        let descriptor = record.descriptor();
        let guid = record.class_guid().unwrap_or_default();
        // Every self-describing event has id 0, but an event with id 0 may also come from a manifest.
        if descriptor.is_some_and(|descriptor| descriptor.id == 0) {
            let description = schemas.describe(record);
            let by_name = self.by_name.entry((guid, record.opcode())).or_default();
            // Two lookups, because `entry` does not accept a borrowed key.
            if !by_name.contains_key(description.event) {
                by_name.insert(description.event.into(), Kind::new(record, &description, filter));
            }
            return &by_name[description.event];
        }
        let number = match descriptor {
            Some(descriptor) => descriptor.id,
            None => record.hook().or(record.message_number()).unwrap_or_default(),
        };
        let key = Key { guid, number, opcode: record.opcode(), version: record.version(), header: record.kind() };
        self.by_key.entry(key).or_insert_with(|| Kind::new(record, &schemas.describe(record), filter))
    }
}

impl Kind {
    fn new(record: &Record<'_>, description: &Description<'_>, filter: &EventFilter) -> Self {
        let guid = description.provider_guid.map(|guid| guid.to_string()).unwrap_or_default();
        let hook = kernel_hook(record);
        let origin = match (description.source, record.kind()) {
            (SchemaSource::TraceLogging, _) => EventOrigin::TraceLogging,
            (SchemaSource::Wpp, _) | (_, HeaderKind::Message) => EventOrigin::Message,
            (_, HeaderKind::Event) => EventOrigin::Manifest,
            (_, HeaderKind::Full | HeaderKind::Instance) => match hook {
                Some(hook) => EventOrigin::Kernel { hook },
                None => EventOrigin::Classic,
            },
            (_, HeaderKind::Other(_)) => EventOrigin::Unknown,
            _ => hook.map_or(EventOrigin::Unknown, |hook| EventOrigin::Kernel { hook }),
        };
        let id = match record.descriptor() {
            Some(descriptor) => descriptor.id,
            None => record.message_number().unwrap_or_else(|| record.opcode().into()),
        };
        let mut kind = Self {
            origin,
            provider: provider_name(description).into(),
            guid: guid.as_str().into(),
            name: event_name(record, description).into(),
            task: description.task.into(),
            opcode_name: description.opcode.into(),
            id,
            level: (origin == EventOrigin::Message).then_some(description.level),
            described: description.source != SchemaSource::Unknown,
            selected: true,
            fixed: record.hook().and_then(|hook| Schemas::fixed_layout(hook, record.version(), record.pointer_size())),
            surveyed: Cell::new(false),
        };
        kind.selected = kind.is_selected(description, filter);
        kind
    }

    fn is_selected(&self, description: &Description<'_>, filter: &EventFilter) -> bool {
        let matches_provider = filter.providers.is_empty()
            || filter.providers.iter().any(|pattern| pattern.matches(&self.provider) || pattern.matches(&self.guid));
        let hook = match self.origin {
            EventOrigin::Kernel { hook } => Some(hook),
            _ => None,
        };
        let matches_event = filter.events.is_empty()
            || filter.events.iter().any(|pattern| {
                let path = format!("{}/{}", description.task, description.opcode);
                let full_path = format!("{}/{path}", self.provider);
                [&*self.name, description.event, description.task, &path, &full_path]
                    .iter()
                    .any(|text| !text.is_empty() && pattern.matches(text))
                    || pattern.is_number(hook.unwrap_or(self.id).into())
            });
        matches_provider && matches_event
    }
}
