//! Events that have no dedicated table, with their fields as text.

use onoff_etl::{HeaderKind, Record};
use onoff_etw::{Fields, SchemaSource, Schemas, Status, Value};
use onoff_trace::{Batches, Event, EventField, EventFields, Events, Losses, SpillStore, StringId, StringPool, Table};

use super::counters;
use super::schemas::count_unknown_message;
use super::texts::Texts;

/// The generic events of a window, with a separate string pool.
#[derive(Debug, Default)]
pub(super) struct GenericEvents {
    events: Events,
    fields: EventFields,
    texts: Texts,
    scratch: Fields<'static>,
    json: String,
}

impl GenericEvents {
    pub(super) fn push(&mut self, record: &Record<'_>, schemas: &Schemas, losses: &mut Losses) {
        let description = schemas.describe(record);
        let mut fields = std::mem::take(&mut self.scratch).reuse();
        let decoded = schemas.decode(record, &mut fields);
        match (decoded.status, decoded.source) {
            (_, SchemaSource::Wpp) => count_unknown_message(record, 1, schemas, losses),
            (Status::NoSchema, _) => losses.add_at(&counters::SCHEMA_UNKNOWN, || label(record)),
            (Status::Short | Status::Opaque | Status::Excessive, _) => {
                losses.add_at(&counters::FIELDS_INCOMPLETE, || label(record));
            }
            _ => {}
        }
        let first_field = self.fields.len() as u64;
        for field in fields.iter().take(usize::from(u16::MAX)) {
            let name = self.texts.str(field.name());
            let value = match field.value() {
                Value::Array | Value::Struct => {
                    self.json.clear();
                    // Writing to a `String` does not fail.
                    let _ = field.write_json(&mut self.json);
                    self.texts.str(&self.json)
                }
                value => self.texts.display(value),
            };
            self.fields.push(EventField { name, value });
        }
        let count = self.fields.len() as u64 - first_field;
        self.scratch = fields.reuse();
        let provider = match (description.provider, description.provider_guid) {
            ("", Some(guid)) => self.texts.display(guid),
            (name, _) => self.texts.str(name),
        };
        let task = match (description.task, description.event) {
            ("", event) => self.texts.str(event),
            (task, _) => self.texts.str(task),
        };
        let id = match (record.descriptor(), record.message_number()) {
            (Some(descriptor), _) => u32::from(descriptor.id),
            (None, Some(number)) => u32::from(number),
            (None, None) => u32::from(record.opcode()),
        };
        self.events.push(Event {
            time_ns: record.time_ns(),
            cpu: record.cpu(),
            pid: record.process_id(),
            tid: record.thread_id(),
            provider,
            id,
            version: record.version(),
            level: description.level,
            keyword: match record.kind() {
                HeaderKind::Event => description.keyword,
                _ => 0,
            },
            task,
            opcode: self.texts.str(description.opcode),
            first_field,
            fields: u16::try_from(count).unwrap_or(u16::MAX),
        });
    }

    pub(super) fn shrink_to_fit(&mut self) {
        self.events.shrink_to_fit();
        self.fields.shrink_to_fit();
    }
}

fn label(record: &Record<'_>) -> String {
    match (record.hook(), record.class_guid(), record.descriptor()) {
        (Some(hook), ..) => format!("hook {hook:#06x} version {}", record.version()),
        (None, Some(provider), Some(event)) => {
            format!("{provider}/{} version {}", event.id, event.version)
        }
        (None, Some(class), None) => format!("{class} opcode {}", record.opcode()),
        (None, None, _) => format!("record at {} ns", record.time_ns()),
    }
}

#[derive(Debug, Default)]
pub(super) struct GenericEventTables {
    pub(super) events: Batches<Events>,
    pub(super) fields: Batches<EventFields>,
    field_count: u64,
}

impl GenericEventTables {
    /// Absorbs the events of the next window.
    pub(super) fn absorb(&mut self, window: GenericEvents, texts: &mut Texts, spill_store: Option<&dyn SpillStore>) {
        let GenericEvents { mut events, mut fields, texts: window_texts, .. } = window;
        let mut id_map = IdMap::new(&window_texts.pool, &mut texts.pool);
        for column in [&mut events.provider, &mut events.task, &mut events.opcode] {
            id_map.apply(column);
        }
        id_map.apply(&mut fields.name);
        id_map.apply(&mut fields.value);
        for first_field in &mut events.first_field {
            *first_field += self.field_count;
        }
        self.field_count += Table::len(&fields) as u64;
        if let Some(spill_store) = spill_store {
            events.spill(spill_store);
            fields.spill(spill_store);
        }
        self.events.push(events);
        self.fields.push(fields);
    }
}

/// Maps the ids of a string pool to the ids of another.
struct IdMap<'p> {
    source: &'p StringPool,
    target: &'p mut StringPool,
    target_ids: Vec<Option<StringId>>,
}

impl<'p> IdMap<'p> {
    fn new(source: &'p StringPool, target: &'p mut StringPool) -> Self {
        Self { target_ids: vec![None; source.len()], source, target }
    }

    fn apply(&mut self, ids: &mut [StringId]) {
        for id in ids {
            let Some(target_id) = self.target_ids.get_mut(id.index()) else { continue };
            *id = *target_id.get_or_insert_with(|| self.target.intern(self.source.get(*id)));
        }
    }
}
