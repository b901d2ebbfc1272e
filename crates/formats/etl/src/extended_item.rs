//! Extended data items: what the recorder stores between an `EVENT_HEADER` and its payload (stack, activity,
//! schema and others).

use crate::layout::u16_at;

/// An extended data item of an event (`EVENT_HEADER_EXTENDED_DATA_ITEM` as stored in a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedItem<'b> {
    /// Item type (`EVENT_HEADER_EXT_TYPE_...`). Known types are constants of this struct.
    pub kind: u16,
    /// Data without padding.
    pub data: &'b [u8],
}

impl ExtendedItem<'_> {
    /// GUID of the related (parent) activity.
    pub const RELATED_ACTIVITY_ID: u16 = 1;
    /// SID of the user who logged the event.
    pub const SID: u16 = 2;
    /// Terminal session: u32.
    pub const TERMINAL_SESSION_ID: u16 = 3;
    /// u32 instance, u32 parent instance, parent GUID.
    pub const INSTANCE_INFO: u16 = 4;
    /// u64 match id, then 32-bit return addresses.
    pub const STACK_TRACE_32: u16 = 5;
    /// u64 match id, then 64-bit return addresses.
    pub const STACK_TRACE_64: u16 = 6;
    /// PEBS index of the event: u64.
    pub const PEBS_INDEX: u16 = 7;
    /// Hardware counter values: u64 each.
    pub const PMC_COUNTERS: u16 = 8;
    /// Process State Manager key.
    pub const PSM_KEY: u16 = 9;
    /// Unique event key: u64.
    pub const EVENT_KEY: u16 = 10;
    /// TraceLogging: event name and fields.
    pub const EVENT_SCHEMA_TRACELOGGING: u16 = 11;
    /// Provider traits: provider name and group.
    pub const PROVIDER_TRAITS: u16 = 12;
    /// Unique number of the process instance: u64.
    pub const PROCESS_START_KEY: u16 = 13;
    /// Control GUID of a provider with a separate decode GUID.
    pub const CONTROL_GUID: u16 = 14;
    /// Performance counter offset between container and host: u64.
    pub const QPC_DELTA: u16 = 15;
    /// Container id: a GUID as text.
    pub const CONTAINER_ID: u16 = 16;
    /// u64 match id, then a u32 key of a stack defined elsewhere in the recording.
    pub const STACK_KEY_32: u16 = 17;
    /// u64 match id, then a u64 key of a stack defined elsewhere in the recording.
    pub const STACK_KEY_64: u16 = 18;
}

/// Iterates over the extended items of a record, in file order. Stops at the first malformed item.
#[derive(Debug, Clone)]
pub struct ExtendedItems<'b> {
    record: &'b [u8],
    next: usize,
    has_more: bool,
}

impl<'b> ExtendedItems<'b> {
    pub(crate) fn new(record: &'b [u8], first: usize, present: bool) -> Self {
        ExtendedItems { record, next: first, has_more: present }
    }

    /// Returns the offset in the record of the first byte after the items returned so far.
    pub(crate) fn position(&self) -> usize {
        self.next
    }
}

impl<'b> Iterator for ExtendedItems<'b> {
    type Item = ExtendedItem<'b>;

    // u16 total size (rounded up to 8), u16 type, u16 linkage, u16 data size, data.
    fn next(&mut self) -> Option<ExtendedItem<'b>> {
        if !self.has_more {
            return None;
        }
        self.has_more = false;
        let item = self.record.get(self.next..)?;
        let total = usize::from(u16_at(item, 0)?);
        let kind = u16_at(item, 2)?;
        let linkage = u16_at(item, 4)?;
        let length = usize::from(u16_at(item, 6)?);
        let body = item.get(8..total)?;
        self.next += total;
        self.has_more = linkage & 1 != 0;
        Some(ExtendedItem { kind, data: body.get(..length).unwrap_or(body) })
    }
}
