//! Extended data items: what the recorder adds between an `EVENT_HEADER` and its payload (stack, activity, schema...).

use crate::layout::u16_at;

/// One extended data item of an event (`EVENT_HEADER_EXTENDED_DATA_ITEM` as it is stored in a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtendedItem<'b> {
    /// `EVENT_HEADER_EXT_TYPE_...`; the constants of this type name the known ones.
    pub kind: u16,
    /// The item's data, without padding.
    pub data: &'b [u8],
}

impl ExtendedItem<'_> {
    /// GUID of the related (parent) activity.
    pub const RELATED_ACTIVITY_ID: u16 = 1;
    /// Security identifier of the user who logged the event.
    pub const SID: u16 = 2;
    /// Terminal session: u32.
    pub const TERMINAL_SESSION_ID: u16 = 3;
    /// u32 instance, u32 parent instance, parent GUID.
    pub const INSTANCE_INFO: u16 = 4;
    /// u64 match id, then 32-bit return addresses.
    pub const STACK_TRACE_32: u16 = 5;
    /// u64 match id, then 64-bit return addresses.
    pub const STACK_TRACE_64: u16 = 6;
    /// Index of the processor's event-based sample: u64.
    pub const PEBS_INDEX: u16 = 7;
    /// Hardware counters: u64 each.
    pub const PMC_COUNTERS: u16 = 8;
    /// Key of the process state manager.
    pub const PSM_KEY: u16 = 9;
    /// Unique key of the event: u64.
    pub const EVENT_KEY: u16 = 10;
    /// TraceLogging: name and fields of the event.
    pub const EVENT_SCHEMA_TRACELOGGING: u16 = 11;
    /// Provider traits: name and group of the provider.
    pub const PROVIDER_TRAITS: u16 = 12;
    /// Unique number of the process instance: u64.
    pub const PROCESS_START_KEY: u16 = 13;
    /// Control GUID of a provider with a separate decode GUID.
    pub const CONTROL_GUID: u16 = 14;
    /// Difference of performance counters between container and host: u64.
    pub const QPC_DELTA: u16 = 15;
    /// Identifier of the container: text GUID.
    pub const CONTAINER_ID: u16 = 16;
    /// u64 match id, then a u32 key of a stack defined elsewhere in the recording.
    pub const STACK_KEY_32: u16 = 17;
    /// u64 match id, then a u64 key of a stack defined elsewhere in the recording.
    pub const STACK_KEY_64: u16 = 18;
}

/// Iterates over the extended items of one record, in file order. Stops at the first item that does not fit.
#[derive(Debug, Clone)]
pub struct ExtendedItems<'b> {
    record: &'b [u8],
    next: usize,
    more: bool,
}

impl<'b> ExtendedItems<'b> {
    pub(crate) fn new(record: &'b [u8], first: usize, present: bool) -> Self {
        ExtendedItems { record, next: first, more: present }
    }

    /// Offset in the record of what follows the items yielded so far.
    pub(crate) fn position(&self) -> usize {
        self.next
    }
}

impl<'b> Iterator for ExtendedItems<'b> {
    type Item = ExtendedItem<'b>;

    // u16 total size (rounded up to 8), u16 type, u16 linkage, u16 data size, data.
    fn next(&mut self) -> Option<ExtendedItem<'b>> {
        if !self.more {
            return None;
        }
        self.more = false;
        let item = self.record.get(self.next..)?;
        let total = usize::from(u16_at(item, 0)?);
        let kind = u16_at(item, 2)?;
        let linkage = u16_at(item, 4)?;
        let length = usize::from(u16_at(item, 6)?);
        let body = item.get(8..total)?;
        self.next += total;
        self.more = linkage & 1 != 0;
        Some(ExtendedItem { kind, data: body.get(..length).unwrap_or(body) })
    }
}
