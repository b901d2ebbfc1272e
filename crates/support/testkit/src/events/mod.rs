//! The events of Windows turning on and off, with the layouts of the reference ("ETL format", sections 4 and 6). Fields
//! are written in layout order, as a second transcription against which a reader's catalog is tested.

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

use crate::assemble::{EventHeader, Payload, Record};

/// A manifest event without time, thread and process.
#[derive(Clone, Debug)]
pub struct EventTemplate {
    event: EventHeader,
    payload: Payload,
    /// Payload offset of the wall clock.
    wall_clock: Option<usize>,
}

impl EventTemplate {
    /// Returns the record of this event at a time, logged by `thread` of `process`.
    #[must_use]
    pub fn record(&self, ticks: u64, thread: u32, process: u32) -> Record<'static> {
        let event = EventHeader { thread, process, ..self.event.clone() };
        Record::manifest(event, ticks, self.payload.clone())
    }

    /// Sets the activity id.
    #[must_use]
    pub fn in_activity(mut self, activity: Uuid) -> Self {
        self.event.activity = activity;
        self
    }

    /// Marks the 8 bytes at `offset` of the payload as the wall clock, for
    /// [`with_wall_clock_time`](Self::with_wall_clock_time).
    #[must_use]
    pub(crate) fn with_wall_clock(mut self, offset: usize) -> Self {
        self.wall_clock = Some(offset);
        self
    }

    /// Sets the wall clock, if the event has one.
    #[must_use]
    pub fn with_wall_clock_time(mut self, filetime: u64) -> Self {
        if let Some(offset) = self.wall_clock {
            self.payload = self.payload.overwrite(offset, &filetime.to_le_bytes());
        }
        self
    }

    /// Replaces version and payload.
    #[must_use]
    pub fn version(mut self, version: u8, payload: Payload) -> Self {
        self.event.version = version;
        self.payload = payload;
        self
    }
}

const START: u8 = 1;
const STOP: u8 = 2;
/// Manifest opcode "suspend": the work continues elsewhere.
const SUSPEND: u8 = 8;

/// A provider, and the channel bit in the top keyword bits of its events.
struct Provider {
    guid: Uuid,
    channel_bit: u64,
}

impl Provider {
    const fn new(guid: u128) -> Self {
        Self { guid: Uuid::from_u128(guid), channel_bit: 0x8000_0000_0000_0000 }
    }

    fn event(&self, id: u16, task: u16, opcode: u8, keyword: u64, payload: Payload) -> EventTemplate {
        EventTemplate {
            event: EventHeader {
                provider: self.guid,
                id,
                task,
                opcode,
                level: 4,
                channel: 16,
                keyword: self.channel_bit | keyword,
                ..EventHeader::default()
            },
            payload,
            wall_clock: None,
        }
    }
}
