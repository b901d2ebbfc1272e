//! Events by name: the vocabulary of Windows turning on and off, with the layouts of the reference ("ETL format",
//! sections 4 and 6). Fields stand in layout order, so that a reader's own catalog is tested against a second
//! transcription.

pub mod configuration;
pub mod device;
pub mod kernel;
pub mod logon;
pub mod network;
pub mod power;
pub mod service;
pub mod shutdown;
pub mod storage;

use uuid::Uuid;

use crate::assemble::{ManifestEvent, Payload, Record};

/// A manifest event without time, thread and process: what happened, not when.
#[derive(Clone, Debug)]
pub struct Occurrence {
    event: ManifestEvent,
    payload: Payload,
    /// Where in the payload the wall clock's time stands.
    wall_clock: Option<usize>,
}

impl Occurrence {
    /// The record of this event at a time, logged by a thread of a process.
    #[must_use]
    pub fn at(&self, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let event = ManifestEvent { thread, process, ..self.event.clone() };
        Record::manifest(event, ticks, self.payload.clone())
    }

    /// Ties the event to an activity.
    #[must_use]
    pub fn in_activity(mut self, activity: Uuid) -> Self {
        self.event.activity = activity;
        self
    }

    /// Has the wall clock's time, 8 bytes at `offset` of the payload, filled in when it happens.
    #[must_use]
    pub(crate) fn with_wall_clock(mut self, offset: usize) -> Self {
        self.wall_clock = Some(offset);
        self
    }

    /// The event with the wall clock's time filled in where it has one.
    #[must_use]
    pub fn stamped(mut self, filetime: u64) -> Self {
        if let Some(offset) = self.wall_clock {
            self.payload = self.payload.overwrite(offset, &filetime.to_le_bytes());
        }
        self
    }

    /// Sets the version and payload of another version of the event.
    #[must_use]
    pub fn version(mut self, version: u8, payload: Payload) -> Self {
        self.event.version = version;
        self.payload = payload;
        self
    }
}

/// Opcode "start" of manifests.
const START: u8 = 1;
/// Opcode "stop" of manifests.
const STOP: u8 = 2;
/// Opcode "suspend" of manifests: the work goes on elsewhere.
const SUSPEND: u8 = 8;

/// A provider and the channel bit its events carry in the top keyword bits.
struct Provider {
    guid: Uuid,
    channel_bit: u64,
}

impl Provider {
    const fn new(guid: u128) -> Self {
        Self { guid: Uuid::from_u128(guid), channel_bit: 0x8000_0000_0000_0000 }
    }

    fn event(&self, id: u16, task: u16, opcode: u8, keyword: u64, payload: Payload) -> Occurrence {
        Occurrence {
            event: ManifestEvent {
                provider: self.guid,
                id,
                task,
                opcode,
                level: 4,
                channel: 16,
                keyword: self.channel_bit | keyword,
                ..ManifestEvent::default()
            },
            payload,
            wall_clock: None,
        }
    }
}
