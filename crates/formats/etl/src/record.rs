//! Records: one event with its header (any of the eight kinds) and its payload.

use crate::extended_item::ExtendedItems;
use crate::header::{Defect, HeaderKind, MessageOffsets, Shape};
use crate::layout::{guid_at, u16_at, u32_at, u64_at};
use crate::{ExtendedItem, Guid};

/// Identity of a manifest or TraceLogging event (`EVENT_DESCRIPTOR`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventDescriptor {
    /// Event id, unique with `version` within the provider; 0 for TraceLogging.
    pub id: u16,
    /// Version of the payload layout.
    pub version: u8,
    /// Channel; 11 marks TraceLogging events.
    pub channel: u8,
    /// Level: 1 critical to 5 verbose; 0 means always logged.
    pub level: u8,
    /// Operation within the task.
    pub opcode: u8,
    /// Component of the provider.
    pub task: u16,
    /// Categories, one bit each.
    pub keyword: u64,
}

/// CPU time used by the logging thread, in ticks of the system timer (`LogfileHeader::timer_resolution`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTimes {
    /// In kernel mode.
    pub kernel: u32,
    /// In user mode.
    pub user: u32,
}

/// The instance fields that an `EVENT_INSTANCE_GUID_HEADER` adds to a classic header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstanceIds {
    /// Instance the event is about.
    pub instance: u32,
    /// Instance that caused it.
    pub parent: u32,
    /// Class of the parent instance.
    pub parent_guid: Guid,
}

const NO_ID: u32 = u32::MAX;

const EVENT_EXTENDED: u16 = 0x0001;

/// One event, borrowed from the file or from a decompressed buffer.
///
/// A `Record` is cheap to create and to copy: accessors read the header when they are called. A field that the header
/// kind does not have is `None` (or 0 where documented).
#[derive(Clone, Copy)]
pub struct Record<'b> {
    bytes: &'b [u8],
    ticks: u64,
    time_ns: i64,
    cpu: u16,
    file: u16,
    kind: HeaderKind,
    pointer_size: u8,
    header: u8,
}

impl<'b> Record<'b> {
    /// Reads the record at the start of `bytes` and ignores the bytes after it.
    ///
    /// The record is not part of a recording: its ticks are the stored timestamp, and its time and processor are 0
    /// until [`Record::with_origin`] sets them.
    ///
    /// # Errors
    /// [`Defect`] if the bytes are not a complete record.
    pub fn parse(bytes: &'b [u8]) -> Result<Record<'b>, Defect> {
        let shape = Shape::parse(bytes)?;
        let ticks = shape.ticks(bytes).unwrap_or(0);
        Ok(Record::from_shape(bytes.get(..shape.size as usize).unwrap_or(bytes), shape, ticks, 0, 0, 0))
    }

    /// Returns the record with another file, processor and time. `time_ns` counts from the start of the recording.
    #[must_use]
    pub fn with_origin(self, file: u16, cpu: u16, time_ns: i64) -> Record<'b> {
        Record { file, cpu, time_ns, ..self }
    }

    #[inline]
    pub(crate) fn from_shape(
        bytes: &'b [u8],
        shape: Shape,
        ticks: u64,
        time_ns: i64,
        cpu: u16,
        file: u16,
    ) -> Record<'b> {
        Record {
            bytes,
            ticks,
            time_ns,
            cpu,
            file,
            kind: shape.kind,
            pointer_size: shape.pointer_size,
            header: shape.header,
        }
    }

    /// Returns the kind of the header.
    #[inline]
    #[must_use]
    pub fn kind(&self) -> HeaderKind {
        self.kind
    }

    /// Returns the size of pointers in the payload, 4 or 8 bytes. Differs between records: one file may contain both.
    #[inline]
    #[must_use]
    pub fn pointer_size(&self) -> usize {
        usize::from(self.pointer_size)
    }

    /// Returns the processor that logged the record; 0 if the log has no buffers per processor.
    #[inline]
    #[must_use]
    pub fn cpu(&self) -> u16 {
        self.cpu
    }

    /// Returns the index of the input that contains the record.
    #[inline]
    #[must_use]
    pub fn file(&self) -> usize {
        usize::from(self.file)
    }

    /// Returns the timestamp used for ordering, in ticks of the recording's clock.
    ///
    /// Equal to the stored timestamp ([`Record::raw_ticks`]) unless the record has none, its timestamp contradicts
    /// the position of its buffer, or the clocks of the file and the recording differ.
    #[inline]
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the stored timestamp, in ticks of the file's clock. `None` if the header has none.
    #[must_use]
    pub fn raw_ticks(&self) -> Option<u64> {
        Shape::parse(self.bytes).ok()?.ticks(self.bytes)
    }

    /// Returns the nanoseconds since the start of the recording. Negative for records stamped before the logfile
    /// header.
    #[inline]
    #[must_use]
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }

    /// Returns the whole record, header included, without padding.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'b [u8] {
        self.bytes
    }

    /// Returns the size of the whole record in bytes.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes after the header and its extensions.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> &'b [u8] {
        let start = if self.kind == HeaderKind::Event { self.event_payload_offset() } else { usize::from(self.header) };
        self.bytes.get(start..).unwrap_or_default()
    }

    #[inline]
    fn event_payload_offset(&self) -> usize {
        if !self.has_extended_items() {
            return usize::from(self.header);
        }
        let mut items = self.extended_items();
        while items.next().is_some() {}
        items.position()
    }

    #[inline]
    fn has_extended_items(&self) -> bool {
        self.kind == HeaderKind::Event && self.u16(4) & EVENT_EXTENDED != 0
    }

    /// Iterates over the extended data items, in file order. Empty unless the kind is [`HeaderKind::Event`].
    #[must_use]
    pub fn extended_items(&self) -> ExtendedItems<'b> {
        ExtendedItems::new(self.bytes, usize::from(self.header), self.has_extended_items())
    }

    /// Returns the first extended item of a type.
    #[must_use]
    pub fn extended_item(&self, kind: u16) -> Option<ExtendedItem<'b>> {
        self.extended_items().find(|item| item.kind == kind)
    }

    /// Returns the kernel event number, `group << 8 | type`; `None` if the record is not a kernel event.
    #[inline]
    #[must_use]
    pub fn hook(&self) -> Option<u16> {
        match self.kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::Perfinfo => Some(self.u16(6)),
            _ => None,
        }
    }

    /// Returns the thread that logged the record. `None` if not recorded or recorded as 0xFFFFFFFF.
    #[inline]
    #[must_use]
    pub fn thread_id(&self) -> Option<u32> {
        self.thread_or_process_id(0)
    }

    /// Returns the process that logged the record. `None` if not recorded or recorded as 0xFFFFFFFF.
    #[inline]
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.thread_or_process_id(4)
    }

    #[inline]
    fn thread_or_process_id(&self, field_offset: usize) -> Option<u32> {
        let offset = match self.kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::Full | HeaderKind::Instance | HeaderKind::Event => 8,
            HeaderKind::Message => match self.message_offsets().ids {
                0 => return None,
                offset => usize::from(offset),
            },
            HeaderKind::Perfinfo | HeaderKind::Other(_) => return None,
        };
        u32_at(self.bytes, offset + field_offset).filter(|&id| id != NO_ID)
    }

    /// Returns the operation: event type of kernel and classic events, opcode of manifest events, otherwise 0.
    #[inline]
    #[must_use]
    pub fn opcode(&self) -> u8 {
        match self.kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::Perfinfo => self.u8(6),
            HeaderKind::Full | HeaderKind::Instance => self.u8(4),
            HeaderKind::Event => self.u8(0x2D),
            HeaderKind::Message | HeaderKind::Other(_) => 0,
        }
    }

    /// Returns the version of the payload layout; 0 if the header has none.
    #[inline]
    #[must_use]
    pub fn version(&self) -> u16 {
        match self.kind {
            HeaderKind::System | HeaderKind::Compact | HeaderKind::Perfinfo => u16::from(self.u8(0)),
            HeaderKind::Full | HeaderKind::Instance => self.u16(6),
            HeaderKind::Event => u16::from(self.u8(0x2A)),
            HeaderKind::Message | HeaderKind::Other(_) => 0,
        }
    }

    /// Returns the level: 1 critical to 5 verbose; 0 if the header has none.
    #[inline]
    #[must_use]
    pub fn level(&self) -> u8 {
        match self.kind {
            HeaderKind::Full | HeaderKind::Instance => self.u8(5),
            HeaderKind::Event => self.u8(0x2C),
            _ => 0,
        }
    }

    /// Returns the GUID that identifies the definition of the payload: event class (`Full`, `Instance`), provider
    /// (`Event`) or message file (`Message`).
    #[inline]
    #[must_use]
    pub fn class_guid(&self) -> Option<Guid> {
        match self.kind {
            HeaderKind::Full | HeaderKind::Instance | HeaderKind::Event => guid_at(self.bytes, 0x18),
            HeaderKind::Message => match self.message_offsets().guid {
                0 => None,
                offset => guid_at(self.bytes, usize::from(offset)),
            },
            _ => None,
        }
    }

    /// Returns the descriptor of a manifest or TraceLogging event.
    #[inline]
    #[must_use]
    pub fn descriptor(&self) -> Option<EventDescriptor> {
        if self.kind != HeaderKind::Event {
            return None;
        }
        Some(EventDescriptor {
            id: self.u16(0x28),
            version: self.u8(0x2A),
            channel: self.u8(0x2B),
            level: self.u8(0x2C),
            opcode: self.u8(0x2D),
            task: self.u16(0x2E),
            keyword: u64_at(self.bytes, 0x30)?,
        })
    }

    /// Returns the activity of a manifest or TraceLogging event; all zero if there is none.
    #[inline]
    #[must_use]
    pub fn activity_id(&self) -> Option<Guid> {
        if self.kind == HeaderKind::Event { guid_at(self.bytes, 0x40) } else { None }
    }

    /// Returns the `EVENT_HEADER.Flags` of a manifest or TraceLogging event.
    #[must_use]
    pub fn event_flags(&self) -> Option<u16> {
        if self.kind == HeaderKind::Event { u16_at(self.bytes, 4) } else { None }
    }

    /// Returns the `EVENT_HEADER.EventProperty` of a manifest or TraceLogging event.
    #[must_use]
    pub fn event_property(&self) -> Option<u16> {
        if self.kind == HeaderKind::Event { u16_at(self.bytes, 6) } else { None }
    }

    /// Returns the CPU time of the logging thread. Current Windows does not record it reliably for manifest events.
    #[must_use]
    pub fn cpu_times(&self) -> Option<CpuTimes> {
        let offset = match self.kind {
            HeaderKind::System => 0x18,
            HeaderKind::Full | HeaderKind::Instance => 0x28,
            HeaderKind::Event => 0x38,
            _ => return None,
        };
        Some(CpuTimes { kernel: u32_at(self.bytes, offset)?, user: u32_at(self.bytes, offset + 4)? })
    }

    /// Returns the instance fields of an [`HeaderKind::Instance`] record.
    #[must_use]
    pub fn instance(&self) -> Option<InstanceIds> {
        if self.kind != HeaderKind::Instance {
            return None;
        }
        Some(InstanceIds {
            instance: u32_at(self.bytes, 0x30)?,
            parent: u32_at(self.bytes, 0x34)?,
            parent_guid: guid_at(self.bytes, 0x38)?,
        })
    }

    /// Returns the PEBS index of a kernel event: the number of the processor's event-based sample.
    #[must_use]
    pub fn pebs_index(&self) -> Option<u64> {
        if self.kind == HeaderKind::Perfinfo && self.u8(1) & 0x80 != 0 { u64_at(self.bytes, 0x10) } else { None }
    }

    /// Iterates over the values of hardware counters recorded with the event, in configuration order. Kernel events
    /// store them after the header, other events in an extended item. Empty for most records.
    pub fn hardware_counters(&self) -> impl ExactSizeIterator<Item = u64> + use<'b> {
        let values = match self.kind {
            HeaderKind::Perfinfo => {
                let start = 0x10 + 8 * usize::from(self.u8(1) >> 7);
                self.bytes.get(start..usize::from(self.header)).unwrap_or_default()
            }
            HeaderKind::Event if self.has_extended_items() => {
                self.extended_item(ExtendedItem::PMC_COUNTERS).map_or(&[][..], |item| item.data)
            }
            _ => &[],
        };
        let (values, _) = values.as_chunks::<8>();
        values.iter().map(|value| u64::from_le_bytes(*value))
    }

    /// Returns the number of a WPP message within its message file.
    #[must_use]
    pub fn message_number(&self) -> Option<u16> {
        if self.kind == HeaderKind::Message { u16_at(self.bytes, 4) } else { None }
    }

    /// Returns the option flags of a WPP message, which select the optional header fields.
    #[must_use]
    pub fn message_flags(&self) -> Option<u16> {
        if self.kind == HeaderKind::Message { u16_at(self.bytes, 6) } else { None }
    }

    /// Returns the sequence number of a WPP message.
    #[must_use]
    pub fn message_sequence(&self) -> Option<u32> {
        match self.kind {
            HeaderKind::Message => self.message_field(self.message_offsets().sequence),
            _ => None,
        }
    }

    /// Returns the component number of a WPP message, which some loggers store instead of a GUID.
    #[must_use]
    pub fn message_component(&self) -> Option<u32> {
        match self.kind {
            HeaderKind::Message => self.message_field(self.message_offsets().component),
            _ => None,
        }
    }

    fn message_field(&self, offset: u8) -> Option<u32> {
        if offset == 0 { None } else { u32_at(self.bytes, usize::from(offset)) }
    }

    fn message_offsets(&self) -> MessageOffsets {
        MessageOffsets::from_options(self.u16(6))
    }

    // `Shape::parse` checked the size against the header, so the bytes exist. The default 0 avoids a panic path.
    #[inline]
    fn u8(&self, offset: usize) -> u8 {
        self.bytes.get(offset).copied().unwrap_or_default()
    }

    #[inline]
    fn u16(&self, offset: usize) -> u16 {
        u16_at(self.bytes, offset).unwrap_or_default()
    }
}

impl std::fmt::Debug for Record<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Record")
            .field("kind", &self.kind)
            .field("time_ns", &self.time_ns)
            .field("cpu", &self.cpu)
            .field("hook", &self.hook())
            .field("class_guid", &self.class_guid())
            .field("opcode", &self.opcode())
            .field("version", &self.version())
            .field("size", &self.size())
            .finish_non_exhaustive()
    }
}
