//! Events that are in no other table.

use crate::string::StringId;
use crate::table::table;

table! {
    /// An event that is in no other table.
    Events of Event {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor.
        cpu: u16 as Processor,
        /// Process id.
        pid: Option<u32> as Process,
        /// Thread id.
        tid: Option<u32> as Thread,
        /// Provider name; its GUID as text when the name is not known.
        provider: StringId,
        /// Event id; the opcode for classic events.
        id: u32,
        /// Version.
        version: u16,
        /// Level.
        level: u8,
        /// Keyword bits.
        keyword: u64,
        /// Task name.
        task: StringId,
        /// Opcode name.
        opcode: StringId,
        /// First row of this event's fields in [`EventFields`].
        first_field: u64 as RowOffset,
        /// Number of fields of the event.
        fields: u16,
    }
}

table! {
    /// A named field of an event; the fields of an event are consecutive rows.
    EventFields of EventField {
        /// Name.
        name: StringId,
        /// Value as text.
        value: StringId,
    }
}
