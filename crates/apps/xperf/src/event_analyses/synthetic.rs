//! Synthetic events for the tests of this module.

use std::borrow::Cow;

use onoff_trace::{DerivedValues, DescribedEvent, Directory, EventOrigin, Field, FieldValue};

pub(super) fn field(name: &'static str, value: FieldValue<'static>) -> Field<'static> {
    Field { name: Cow::Borrowed(name), value }
}

pub(super) fn number(name: &'static str, value: u64) -> Field<'static> {
    field(name, FieldValue::Unsigned(value))
}

pub(super) fn text(name: &'static str, value: &'static str) -> Field<'static> {
    field(name, FieldValue::Text(Cow::Borrowed(value)))
}

/// The parts of an event that tests vary.
pub(super) struct EventTemplate<'a> {
    pub(super) time_ns: i64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) fields: &'a [Field<'a>],
    pub(super) elapsed_ns: Option<i64>,
}

impl<'a> EventTemplate<'a> {
    pub(super) fn new(time_ns: i64, fields: &'a [Field<'a>]) -> Self {
        Self { time_ns, pid: 4, tid: 8, fields, elapsed_ns: None }
    }

    /// Creates a kernel event.
    pub(super) fn kernel(&self, hook: u16, name: &'a str, directory: &'a Directory) -> DescribedEvent<'a> {
        DescribedEvent {
            origin: EventOrigin::Kernel { hook },
            opcode: (hook & 0xff) as u8,
            id: hook & 0xff,
            ..self.event(name, "", directory)
        }
    }

    /// Creates a manifest event named `Provider/Task/Opcode`.
    pub(super) fn event(&self, name: &'a str, guid: &'a str, directory: &'a Directory) -> DescribedEvent<'a> {
        let mut parts = name.split('/');
        DescribedEvent {
            time_ns: self.time_ns,
            pid: Some(self.pid),
            tid: Some(self.tid),
            provider: parts.next().unwrap_or_default(),
            guid,
            name,
            task: parts.next().unwrap_or_default(),
            opcode_name: parts.next().unwrap_or_default(),
            fields: self.fields,
            derived: DerivedValues { elapsed_ns: self.elapsed_ns, ..DerivedValues::default() },
            ..DescribedEvent::without_fields(EventOrigin::Manifest, directory)
        }
    }
}
