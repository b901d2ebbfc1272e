//! Event records: a header of any of the eight kinds, then a payload.
//!
//! Layouts: reference "ETL format", sections 2.1 to 2.7. A record's size field is the unpadded length; the packer
//! aligns the next record to 8 bytes.

use std::borrow::Cow;

use uuid::Uuid;

use super::payload::{Payload, PointerSize};

#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Timestamp in the log's clock (QPC ticks, `FILETIME` or CPU cycles).
    pub ticks: u64,
    /// Pointer size, which selects the header type.
    pub pointer_size: PointerSize,
    pub header: Header<'a>,
    /// Bytes after the header (and after extension counters or extended items).
    pub payload: Cow<'a, [u8]>,
}

/// The header kinds of event trace logs.
#[derive(Clone, Debug)]
pub enum Header<'a> {
    /// `SYSTEM_TRACE_HEADER`, 0x20 bytes.
    System(SystemHeader),
    /// Compact `SYSTEM_TRACE_HEADER` without CPU times, 0x18 bytes.
    Compact(SystemHeader),
    /// `PERFINFO_TRACE_HEADER`, 0x10 bytes plus extension values.
    Perfinfo {
        /// Group in the high byte, type in the low byte.
        hook: u16,
        version: u8,
        /// PEBS index inserted before the counters (marker bit 0x8000).
        pebs_index: Option<u64>,
        /// Up to 7 performance counter values (marker bits 0x0700).
        counters: &'a [u64],
    },
    /// `EVENT_TRACE_HEADER` of classic providers and merge tools, 0x30 bytes.
    Full(ClassHeader),
    /// `EVENT_INSTANCE_GUID_HEADER`, 0x48 bytes.
    Instance {
        /// Fields shared with [`Header::Full`].
        event: ClassHeader,
        instance: u32,
        parent: u32,
        parent_class: Uuid,
    },
    /// `EVENT_HEADER` of manifest and `TraceLogging` providers, 0x50 bytes plus extended items.
    Event(Box<EventHeader>),
    /// `MESSAGE_TRACE_HEADER` of WPP tracing.
    Message(MessageHeader),
    /// Raw bytes, for defects: the payload is written without a header.
    Raw,
}

/// Fields of system and compact headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemHeader {
    /// Group in the high byte, type in the low byte.
    pub hook: u16,
    pub version: u8,
    /// Logging thread; `u32::MAX` for none.
    pub thread: u32,
    /// Logging process; `u32::MAX` for none.
    pub process: u32,
    /// Kernel-mode CPU time, timer ticks (absent in compact headers).
    pub kernel_time: u32,
    /// User-mode CPU time, timer ticks (absent in compact headers).
    pub user_time: u32,
}

/// Fields of full and instance headers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClassHeader {
    pub class: Uuid,
    pub opcode: u8,
    pub level: u8,
    pub version: u16,
    pub thread: u32,
    pub process: u32,
}

/// Fields of an `EVENT_HEADER`.
#[derive(Clone, Debug, Default)]
pub struct EventHeader {
    pub provider: Uuid,
    pub id: u16,
    pub version: u8,
    /// Channel; 11 marks `TraceLogging`.
    pub channel: u8,
    pub level: u8,
    pub opcode: u8,
    pub task: u16,
    pub keyword: u64,
    pub thread: u32,
    pub process: u32,
    /// Activity id; nil for none.
    pub activity: Uuid,
    /// Extended items, written in this order.
    pub extended: Vec<ExtendedItem>,
}

/// An extended data item of an `EVENT_HEADER` record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtendedItem {
    /// Item type: 1 related activity, 5/6 stack, 11 `TraceLogging` metadata, 12 provider traits...
    pub kind: u16,
    /// Item data, without padding.
    pub data: Vec<u8>,
}

/// Fields of a WPP message header. The option flags are derived from the fields present.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageHeader {
    /// Message number within its GUID.
    pub number: u16,
    /// Sequence number (flag 0x01).
    pub sequence: Option<u32>,
    /// Component id (flag 0x04); replaces the GUID.
    pub component: Option<u32>,
    /// Message GUID (flag 0x02).
    pub guid: Option<Uuid>,
    /// The record has a timestamp (flag 0x08).
    pub timestamp: bool,
    /// Thread and process (flag 0x20).
    pub thread_and_process: Option<(u32, u32)>,
}

const NO_EXTENSION: &[u64] = &[];

impl<'a> Record<'a> {
    /// Returns a kernel event with a system header, logged by `thread` of `process`.
    #[must_use]
    pub fn system(hook: u16, version: u8, ticks: u64, thread: u32, process: u32, payload: Payload) -> Self {
        Self::new(
            ticks,
            Header::System(SystemHeader { hook, version, thread, process, ..SystemHeader::default() }),
            payload,
        )
    }

    #[must_use]
    pub fn compact(hook: u16, version: u8, ticks: u64, thread: u32, process: u32, payload: Payload) -> Self {
        Self::new(
            ticks,
            Header::Compact(SystemHeader { hook, version, thread, process, ..SystemHeader::default() }),
            payload,
        )
    }

    /// Returns a kernel event with a `PERFINFO` header.
    #[must_use]
    pub fn perfinfo(hook: u16, version: u8, ticks: u64, payload: Payload) -> Self {
        Self::new(ticks, Header::Perfinfo { hook, version, pebs_index: None, counters: NO_EXTENSION }, payload)
    }

    #[must_use]
    pub fn full(event: ClassHeader, ticks: u64, payload: Payload) -> Self {
        Self::new(ticks, Header::Full(event), payload)
    }

    #[must_use]
    pub fn manifest(event: EventHeader, ticks: u64, payload: Payload) -> Self {
        Self::new(ticks, Header::Event(Box::new(event)), payload)
    }

    /// Returns a WPP message, followed by its arguments.
    #[must_use]
    pub fn message(message: MessageHeader, ticks: u64, arguments: Payload) -> Self {
        Self::new(ticks, Header::Message(message), arguments)
    }

    /// Creates a record from arbitrary bytes, for defects.
    #[must_use]
    pub fn raw(bytes: &'a [u8]) -> Self {
        Self { ticks: 0, pointer_size: PointerSize::Eight, header: Header::Raw, payload: Cow::Borrowed(bytes) }
    }

    #[must_use]
    pub fn new(ticks: u64, header: Header<'a>, payload: Payload) -> Self {
        Self { ticks, pointer_size: payload.pointer_size(), header, payload: Cow::Owned(payload.into_bytes()) }
    }

    /// Returns the length of the encoded record without padding, bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let header = match &self.header {
            Header::System(_) => 0x20,
            Header::Compact(_) => 0x18,
            Header::Perfinfo { pebs_index, counters, .. } => {
                0x10 + 8 * (usize::from(pebs_index.is_some()) + counters.len().min(7))
            }
            Header::Full(_) => 0x30,
            Header::Instance { .. } => 0x48,
            Header::Event(event) => 0x50 + event.extended.iter().map(item_len).sum::<usize>(),
            Header::Message(message) => message.header_len(),
            Header::Raw => 0,
        };
        header + self.payload.len()
    }

    /// Encodes the record into `out`, unpadded. The size field of a record longer than 65,535 bytes saturates.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let size = u16::try_from(self.encoded_len()).unwrap_or(u16::MAX);
        let wide = self.pointer_size == PointerSize::Eight;
        match &self.header {
            Header::System(classic) => {
                self.classic(classic, if wide { 0x02 } else { 0x01 }, size, out);
                out.extend_from_slice(&classic.kernel_time.to_le_bytes());
                out.extend_from_slice(&classic.user_time.to_le_bytes());
            }
            Header::Compact(classic) => {
                self.classic(classic, if wide { 0x04 } else { 0x03 }, size, out);
            }
            Header::Perfinfo { hook, version, pebs_index, counters } => {
                let counters = &counters[..counters.len().min(7)];
                let extension = if pebs_index.is_some() { 0x80 } else { 0 } | (counters.len() as u8);
                out.extend_from_slice(&[*version, extension, if wide { 0x11 } else { 0x10 }, 0xC0]);
                out.extend_from_slice(&size.to_le_bytes());
                out.extend_from_slice(&hook.to_le_bytes());
                out.extend_from_slice(&self.ticks.to_le_bytes());
                for value in pebs_index.iter().chain(counters) {
                    out.extend_from_slice(&value.to_le_bytes());
                }
            }
            Header::Full(event) => self.class_event(event, if wide { 0x14 } else { 0x0A }, size, out),
            Header::Instance { event, instance, parent, parent_class } => {
                self.class_event(event, if wide { 0x15 } else { 0x0B }, size, out);
                out.extend_from_slice(&instance.to_le_bytes());
                out.extend_from_slice(&parent.to_le_bytes());
                out.extend_from_slice(&parent_class.to_bytes_le());
            }
            Header::Event(event) => self.manifest_event(event, wide, size, out),
            Header::Message(message) => message.encode(self.ticks, wide, size, out),
            Header::Raw => {}
        }
        out.extend_from_slice(&self.payload);
    }

    fn classic(&self, classic: &SystemHeader, kind: u8, size: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&[classic.version, 0, kind, 0xC0]);
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&classic.hook.to_le_bytes());
        out.extend_from_slice(&classic.thread.to_le_bytes());
        out.extend_from_slice(&classic.process.to_le_bytes());
        out.extend_from_slice(&self.ticks.to_le_bytes());
    }

    fn class_event(&self, event: &ClassHeader, kind: u8, size: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&[kind, 0xC0, event.opcode, event.level]);
        out.extend_from_slice(&event.version.to_le_bytes());
        out.extend_from_slice(&event.thread.to_le_bytes());
        out.extend_from_slice(&event.process.to_le_bytes());
        out.extend_from_slice(&self.ticks.to_le_bytes());
        out.extend_from_slice(&event.class.to_bytes_le());
        out.extend_from_slice(&[0; 8]);
    }

    fn manifest_event(&self, event: &EventHeader, wide: bool, size: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&[if wide { 0x13 } else { 0x12 }, 0xC0]);
        out.extend_from_slice(&u16::from(!event.extended.is_empty()).to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&event.thread.to_le_bytes());
        out.extend_from_slice(&event.process.to_le_bytes());
        out.extend_from_slice(&self.ticks.to_le_bytes());
        out.extend_from_slice(&event.provider.to_bytes_le());
        out.extend_from_slice(&event.id.to_le_bytes());
        out.extend_from_slice(&[event.version, event.channel, event.level, event.opcode]);
        out.extend_from_slice(&event.task.to_le_bytes());
        out.extend_from_slice(&event.keyword.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&event.activity.to_bytes_le());
        for (index, item) in event.extended.iter().enumerate() {
            let total = item_len(item);
            let end = out.len() + total;
            let linkage = u16::from(index + 1 < event.extended.len());
            for field in [
                u16::try_from(total).unwrap_or(u16::MAX),
                item.kind,
                linkage,
                u16::try_from(item.data.len()).unwrap_or(u16::MAX),
            ] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(&item.data);
            out.resize(end, 0);
        }
    }
}

fn item_len(item: &ExtendedItem) -> usize {
    (8 + item.data.len()).next_multiple_of(8)
}

impl MessageHeader {
    fn header_len(&self) -> usize {
        8 + 4 * usize::from(self.sequence.is_some())
            + match (self.component, self.guid) {
                (Some(_), _) => 4,
                (None, Some(_)) => 16,
                (None, None) => 0,
            }
            + 8 * usize::from(self.timestamp)
            + 8 * usize::from(self.thread_and_process.is_some())
    }

    fn encode(&self, ticks: u64, wide: bool, size: u16, out: &mut Vec<u8>) {
        let mut flags: u16 = if wide { 0x80 } else { 0x40 };
        flags |= u16::from(self.sequence.is_some());
        flags |= match (self.component, self.guid) {
            (Some(_), _) => 0x04,
            (None, Some(_)) => 0x02,
            (None, None) => 0,
        };
        flags |= 0x08 * u16::from(self.timestamp);
        flags |= 0x20 * u16::from(self.thread_and_process.is_some());
        out.extend_from_slice(&size.to_le_bytes());
        out.extend_from_slice(&[0, 0x90]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&flags.to_le_bytes());
        if let Some(sequence) = self.sequence {
            out.extend_from_slice(&sequence.to_le_bytes());
        }
        match (self.component, self.guid) {
            (Some(component), _) => out.extend_from_slice(&component.to_le_bytes()),
            (None, Some(guid)) => out.extend_from_slice(&guid.to_bytes_le()),
            (None, None) => {}
        }
        if self.timestamp {
            out.extend_from_slice(&ticks.to_le_bytes());
        }
        if let Some((thread, process)) = self.thread_and_process {
            out.extend_from_slice(&thread.to_le_bytes());
            out.extend_from_slice(&process.to_le_bytes());
        }
    }
}
