//! A first pass over all records, in no particular order. Counts events and collects the records that describe events.
//!
//! Buffers are processed in parallel without merging their streams, which is much faster than reading in order.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use onoff_etl::{BufferInfo, BufferScratch, ExtendedItem, Guid, HeaderKind, Record, Recording};
use onoff_etw::{Description, Fields, SchemaSource, Schemas};
use onoff_trace::{Inventory, KindCount, KindDetail, Losses, ManifestNumbers, ProviderCount};
use rayon::prelude::*;

use super::deferred_records::DeferredRecords;
use super::names;
use super::schemas::{count_unknown_message, describes_others};
use super::selection::{Interest, Selection};
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::options::Progress;

/// The result of a survey.
#[derive(Debug, Default)]
pub(super) struct Survey {
    kinds: HashMap<Kind, Count>,
    /// Records that describe events, in file order.
    pub(super) schema_records: DeferredRecords,
    /// Records about the computer, in file order.
    pub(super) machine: DeferredRecords,
    pub(super) losses: onoff_etl::Losses,
}

/// Key of a kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Kernel { hook: u16, version: u8 },
    Manifest { provider: Guid, id: u16, version: u8 },
    TraceLogging { provider: Guid, name: u64 },
    Class { class: Guid, opcode: u8, version: u16 },
    Message { guid: Option<Guid>, number: u16 },
    Other(u8),
}

#[derive(Debug)]
struct Count {
    events: u64,
    bytes: u64,
    /// A record of the kind, used to name it.
    example: Vec<u8>,
}

impl Survey {
    pub(super) fn new(recording: &Recording<'_>, selection: &Selection, files: &Files, options: &Options) -> Survey {
        let total_bytes = recording.buffers().iter().map(stored_bytes).sum();
        let done_bytes = AtomicU64::new(0);
        // Large enough to outweigh the overhead of a task, small enough to distribute the work.
        const BUFFERS_PER_TASK: usize = 64;
        recording
            .buffers()
            .par_chunks(BUFFERS_PER_TASK)
            .map_init(BufferScratch::default, |scratch, buffers| {
                let survey = Survey::from_buffers(recording, buffers, scratch, selection);
                for buffer in buffers {
                    let end = buffer.offset + buffer.available;
                    files.release(buffer.file, buffer.offset as u64..end as u64);
                }
                let read_bytes: u64 = buffers.iter().map(stored_bytes).sum();
                options.report(Progress {
                    done_bytes: done_bytes.fetch_add(read_bytes, Ordering::Relaxed) + read_bytes,
                    total_bytes,
                });
                survey
            })
            .reduce(Survey::default, Survey::merge)
    }

    fn from_buffers<'a>(
        recording: &Recording<'a>,
        buffers: &[BufferInfo],
        scratch: &mut BufferScratch<'a>,
        selection: &Selection,
    ) -> Survey {
        let mut survey = Survey::default();
        for buffer in buffers {
            let walk = recording.for_each_in_buffer(buffer, scratch, |record| {
                survey.on_record(record, selection);
                ControlFlow::<Infallible>::Continue(())
            });
            survey.losses.merge(&walk.losses);
        }
        survey
    }

    fn on_record(&mut self, record: &Record<'_>, selection: &Selection) {
        let count = self.kinds.entry(kind(record)).or_insert_with(|| Count {
            events: 0,
            bytes: 0,
            example: record.bytes().to_vec(),
        });
        count.events += 1;
        count.bytes += record.size() as u64;
        if describes_others(record) {
            self.schema_records.push(record);
        }
        if selection.needs_ordered_pass {
            return;
        }
        let interest = match record.hook() {
            Some(hook) => selection.hook_interest(hook),
            None => selection.record_interest(record),
        };
        if interest == Interest::Ordered {
            self.machine.push(record);
        }
    }

    fn merge(mut self, other: Survey) -> Survey {
        for (kind, count) in other.kinds {
            self.kinds
                .entry(kind)
                .and_modify(|merged| {
                    merged.events += count.events;
                    merged.bytes += count.bytes;
                })
                .or_insert(count);
        }
        self.schema_records.append(&other.schema_records);
        self.machine.append(&other.machine);
        self.losses.merge(&other.losses);
        self
    }

    /// Adds the schemas in the recording to `schemas`.
    pub(super) fn teach(&self, schemas: &mut Schemas) {
        for record in self.schema_records.iter() {
            schemas.observe(&record);
        }
        // Events can contain the names of their providers.
        for count in self.kinds.values() {
            if let Ok(example) = Record::parse(&count.example) {
                schemas.observe(&example);
            }
        }
    }

    /// Returns the event counts, with names from `schemas`. Adds the messages without a format to `losses`.
    pub(super) fn inventory(&self, schemas: &Schemas, mut losses: Option<&mut Losses>) -> Inventory {
        let mut providers: HashMap<(String, String), (u64, u64)> = HashMap::new();
        let mut kinds = Vec::with_capacity(self.kinds.len());
        let mut events = 0;
        for (kind, count) in &self.kinds {
            events += count.events;
            let Ok(example) = Record::parse(&count.example) else { continue };
            let description = schemas.describe(&example);
            if description.source == SchemaSource::Wpp
                && let Some(losses) = &mut losses
            {
                count_unknown_message(&example, count.events, schemas, losses);
            }
            let guid = description.provider_guid.map_or_else(String::new, |guid| guid.to_string());
            let provider = names::provider_name(&description);
            let (id, version) = kind.number();
            let name = names::event_name(&example, &description);
            let (provider_events, provider_bytes) = providers.entry((guid, provider.clone())).or_default();
            *provider_events += count.events;
            *provider_bytes += count.bytes;
            kinds.push(KindCount {
                provider,
                name,
                id,
                version,
                events: count.events,
                bytes: count.bytes,
                detail: detail(&example, &description, schemas),
            });
        }
        let mut providers: Vec<ProviderCount> = providers
            .into_iter()
            .map(|((guid, name), (events, bytes))| ProviderCount { guid, name, events, bytes })
            .collect();
        providers.sort_by(|a, b| (b.events, &a.name, &a.guid).cmp(&(a.events, &b.name, &b.guid)));
        kinds.sort_by(|a, b| {
            let order = |kind: &KindCount| (kind.id, kind.version);
            b.events.cmp(&a.events).then_with(|| a.name.cmp(&b.name)).then_with(|| order(a).cmp(&order(b)))
        });
        Inventory { events, providers, kinds }
    }
}

fn detail(example: &Record<'_>, description: &Description<'_>, schemas: &Schemas) -> KindDetail {
    let mut fields = Fields::new();
    schemas.decode(example, &mut fields);
    KindDetail {
        guid: description.provider_guid.map_or_else(String::new, |guid| guid.to_string()),
        opcode: example.opcode(),
        numbers: example
            .descriptor()
            .map(|descriptor| ManifestNumbers { task: descriptor.task, channel: descriptor.channel }),
        level: example.level(),
        keyword: example.descriptor().map_or(0, |descriptor| descriptor.keyword),
        task: description.task.to_owned(),
        opcode_name: description.opcode.to_owned(),
        described: description.source != SchemaSource::Unknown,
        fields: fields.iter().map(|field| field.name().to_owned()).collect(),
    }
}

/// Returns the size of a buffer in its file.
fn stored_bytes(buffer: &BufferInfo) -> u64 {
    buffer.available as u64
}

impl Kind {
    /// Returns the event id or hook, and the version.
    fn number(self) -> (u32, u16) {
        match self {
            Kind::Kernel { hook, version } => (hook.into(), version.into()),
            Kind::Manifest { id, version, .. } => (id.into(), version.into()),
            Kind::TraceLogging { .. } => (0, 0),
            Kind::Class { opcode, version, .. } => (opcode.into(), version),
            Kind::Message { number, .. } => (number.into(), 0),
            Kind::Other(number) => (number.into(), 0),
        }
    }
}

#[inline]
fn kind(record: &Record<'_>) -> Kind {
    if let Some(hook) = record.hook() {
        // Kernel headers store the version in one byte.
        let version = (record.version() & 0xFF) as u8;
        return Kind::Kernel { hook, version };
    }
    let guid = record.class_guid();
    match (record.kind(), guid, record.descriptor()) {
        (HeaderKind::Event, Some(provider), Some(descriptor)) => {
            match record.extended_item(ExtendedItem::EVENT_SCHEMA_TRACELOGGING) {
                Some(metadata) => Kind::TraceLogging { provider, name: fingerprint(event_name(metadata.data)) },
                None => Kind::Manifest { provider, id: descriptor.id, version: descriptor.version },
            }
        }
        (HeaderKind::Full | HeaderKind::Instance, Some(class), _) => {
            Kind::Class { class, opcode: record.opcode(), version: record.version() }
        }
        (HeaderKind::Message, guid, _) => Kind::Message { guid, number: record.message_number().unwrap_or_default() },
        (HeaderKind::Other(number), ..) => Kind::Other(number),
        _ => Kind::Other(0),
    }
}

/// Reads the name in TraceLogging metadata, which follows the size (2 bytes) and the tag (7 bits per byte) and ends at
/// the zero byte.
fn event_name(metadata: &[u8]) -> &[u8] {
    let tag_and_name = metadata.get(2..).unwrap_or_default();
    let tag_end = tag_and_name.iter().position(|byte| byte & 0x80 == 0);
    let name = tag_end.and_then(|last| tag_and_name.get(last + 1..)).unwrap_or_default();
    name.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Hashes a name with 64-bit FNV-1a, only to distinguish names.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
