//! Identifies the header of a record: its kind, the size of the record and the offset of the timestamp.

use crate::layout::u64_at;

/// Kind of a record header. The 32- and 64-bit variants are one kind; see [`crate::Record::pointer_size`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HeaderKind {
    /// `SYSTEM_TRACE_HEADER`: kernel event with thread, process and CPU times.
    System,
    /// `SYSTEM_TRACE_HEADER` without CPU times.
    Compact,
    /// `PERFINFO_TRACE_HEADER`: kernel event with a timestamp only.
    Perfinfo,
    /// `EVENT_TRACE_HEADER`: classic (MOF) event of a class GUID.
    Full,
    /// `EVENT_INSTANCE_GUID_HEADER`: classic event with instance numbers.
    Instance,
    /// `EVENT_HEADER`: manifest or TraceLogging event.
    Event,
    /// `MESSAGE_TRACE_HEADER`: WPP software tracing.
    Message,
    /// A record of known size and unknown layout: header type (below 0x80), or the marker byte (0xA0: bare number,
    /// 0xB0: number and timestamp).
    Other(u8),
}

impl HeaderKind {
    /// Returns the name used in reports, lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            HeaderKind::System => "system",
            HeaderKind::Compact => "compact",
            HeaderKind::Perfinfo => "perfinfo",
            HeaderKind::Full => "full",
            HeaderKind::Instance => "instance",
            HeaderKind::Event => "event",
            HeaderKind::Message => "message",
            HeaderKind::Other(_) => "other",
        }
    }
}

/// Why bytes are not a valid record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// Fewer bytes than any header.
    #[error("fewer than 8 bytes")]
    Short,
    /// The space was reserved and never written (fill pattern 0xFF).
    #[error("never written (fill pattern)")]
    Fill,
    /// The first four bytes are not the marker of a trace header.
    #[error("marker {0:#010x} is not a trace header")]
    Marker(u32),
    /// The declared size is smaller than the header or larger than the remaining space.
    #[error("record size {size} is outside {header}..={space}")]
    Size {
        /// Declared size in bytes.
        size: usize,
        /// Header size in bytes.
        header: usize,
        /// Bytes from the start of the record to the end of the buffer.
        space: usize,
    },
}

const NO_TIME: u8 = 0;
const MESSAGE_SEQUENCE: u16 = 0x0001;
const MESSAGE_GUID: u16 = 0x0002;
const MESSAGE_COMPONENT: u16 = 0x0004;
const MESSAGE_TIMESTAMP: u16 = 0x0008;
const MESSAGE_PERFORMANCE_TIMESTAMP: u16 = 0x0010;
const MESSAGE_SYSTEM_INFO: u16 = 0x0020;
const MESSAGE_POINTER_32: u16 = 0x0040;

/// Information from the first eight bytes of a record: enough to skip it and to order it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub kind: HeaderKind,
    /// Pointer size in bytes: 4 or 8.
    pub pointer_size: u8,
    /// Record size in bytes, header included, without padding.
    pub size: u32,
    /// Bytes before the payload, or before the first extended item if there are any.
    pub header: u8,
    /// Offset of the timestamp; `NO_TIME` if the header has none.
    time: u8,
}

impl Shape {
    /// Recognizes the record at the start of `bytes`, which ends with the valid bytes of the buffer.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Shape, Defect> {
        let Some(&[b0, b1, b2, b3, b4, b5, b6, b7]) = bytes.first_chunk::<8>() else { return Err(Defect::Short) };
        let first_word = u16::from_le_bytes([b0, b1]);
        let third_word = u16::from_le_bytes([b4, b5]);
        let shape = match LAYOUTS.get(usize::from(b2)) {
            Some(layout) if b3 == 0xC0 && layout.header != 0 => {
                let extension = perfinfo_extension(b1) & layout.extension;
                Shape {
                    kind: layout.kind,
                    pointer_size: layout.pointer_size,
                    size: u32::from(if layout.size_is_third_word { third_word } else { first_word }),
                    header: layout.header + extension,
                    time: layout.time,
                }
            }
            _ => Shape::from_marker([b0, b1, b2, b3], u16::from_le_bytes([b6, b7]))?,
        };
        let size = shape.size as usize;
        if size < usize::from(shape.header) || size > bytes.len() {
            return Err(Defect::Size { size, header: usize::from(shape.header), space: bytes.len() });
        }
        Ok(shape)
    }

    /// Recognizes records whose marker has no header type.
    #[cold]
    fn from_marker(marker: [u8; 4], options: u16) -> Result<Shape, Defect> {
        let [low, high, _, flags] = marker;
        let size = u32::from(u16::from_le_bytes([low, high]));
        let other_shape = |header, time| Shape { kind: HeaderKind::Other(flags), pointer_size: 8, size, header, time };
        match flags {
            0x90 => {
                let offsets = MessageOffsets::from_options(options);
                Ok(Shape {
                    kind: HeaderKind::Message,
                    pointer_size: if options & MESSAGE_POINTER_32 != 0 { 4 } else { 8 },
                    size,
                    header: offsets.end,
                    time: offsets.time,
                })
            }
            0xA0 => Ok(other_shape(8, NO_TIME)),
            0xB0 => Ok(other_shape(16, 8)),
            _ if marker == [0xFF; 4] => Err(Defect::Fill),
            _ => Err(Defect::Marker(u32::from_le_bytes(marker))),
        }
    }

    /// Reads the timestamp, in ticks of the log's clock.
    #[inline]
    pub(crate) fn ticks(&self, bytes: &[u8]) -> Option<u64> {
        if self.time == NO_TIME { None } else { u64_at(bytes, usize::from(self.time)) }
    }

    /// True if the header has a timestamp.
    #[inline]
    pub(crate) fn has_time(&self) -> bool {
        self.time != NO_TIME
    }

    /// Returns the distance to the next record in bytes. Sizes are stored without padding, and records start at
    /// multiples of 8.
    #[inline]
    pub(crate) fn stride(&self) -> usize {
        (self.size as usize + 7) & !7
    }
}

/// Returns the size in bytes of the PEBS index and the up to seven counters that may follow the header.
#[inline]
const fn perfinfo_extension(flags: u8) -> u8 {
    8 * ((flags >> 7) + (flags & 7))
}

/// Layout of one header type.
#[derive(Clone, Copy)]
struct HeaderLayout {
    kind: HeaderKind,
    pointer_size: u8,
    /// True if the record's size is the third 16-bit word, not the first.
    size_is_third_word: bool,
    /// Size in bytes; 0 if the type does not exist.
    header: u8,
    time: u8,
    /// Mask of the allowed extension bytes.
    extension: u8,
}

/// Layouts by header type, the third byte of records whose fourth is 0xC0 (`TRACE_HEADER_TYPE_...` of `ntwmi.h`).
static LAYOUTS: [HeaderLayout; 0x16] = {
    const fn layout(kind: HeaderKind, pointer_size: u8, header: u8) -> HeaderLayout {
        let kernel = matches!(kind, HeaderKind::System | HeaderKind::Compact | HeaderKind::Perfinfo);
        let perfinfo = matches!(kind, HeaderKind::Perfinfo);
        HeaderLayout {
            kind,
            pointer_size,
            size_is_third_word: kernel,
            header,
            time: if perfinfo { 8 } else { 0x10 },
            extension: if perfinfo { u8::MAX } else { 0 },
        }
    }
    const fn other_layout(header_type: u8) -> HeaderLayout {
        HeaderLayout { time: NO_TIME, ..layout(HeaderKind::Other(header_type), 8, 8) }
    }
    let mut table = [layout(HeaderKind::Other(0), 8, 0); 0x16];
    table[0x01] = layout(HeaderKind::System, 4, 0x20);
    table[0x02] = layout(HeaderKind::System, 8, 0x20);
    table[0x03] = layout(HeaderKind::Compact, 4, 0x18);
    table[0x04] = layout(HeaderKind::Compact, 8, 0x18);
    table[0x0A] = layout(HeaderKind::Full, 4, 0x30);
    table[0x0B] = layout(HeaderKind::Instance, 4, 0x48);
    table[0x0C] = other_layout(0x0C);
    table[0x0D] = other_layout(0x0D);
    table[0x0E] = other_layout(0x0E);
    table[0x10] = layout(HeaderKind::Perfinfo, 4, 0x10);
    table[0x11] = layout(HeaderKind::Perfinfo, 8, 0x10);
    table[0x12] = layout(HeaderKind::Event, 4, 0x50);
    table[0x13] = layout(HeaderKind::Event, 8, 0x50);
    table[0x14] = layout(HeaderKind::Full, 8, 0x30);
    table[0x15] = layout(HeaderKind::Instance, 8, 0x48);
    table
};

/// Offsets of the optional fields of a message header, which are packed in the order of this struct. 0 means absent.
#[derive(Clone, Copy)]
pub(crate) struct MessageOffsets {
    pub sequence: u8,
    pub component: u8,
    pub guid: u8,
    pub time: u8,
    pub ids: u8,
    pub end: u8,
}

impl MessageOffsets {
    #[inline]
    pub(crate) fn from_options(options: u16) -> MessageOffsets {
        let mut end = 8;
        let mut take = |present: bool, size: u8| {
            let offset = end;
            if present {
                end += size;
                offset
            } else {
                0
            }
        };
        let sequence = take(options & MESSAGE_SEQUENCE != 0, 4);
        let component = take(options & MESSAGE_COMPONENT != 0, 4);
        let guid = take(component == 0 && options & MESSAGE_GUID != 0, 16);
        let timestamp = take(options & (MESSAGE_TIMESTAMP | MESSAGE_PERFORMANCE_TIMESTAMP) != 0, 8);
        // The obsolete flag alone reserves the space, but stores no time of the log's clock there.
        let time = if options & MESSAGE_TIMESTAMP != 0 { timestamp } else { 0 };
        let ids = take(options & MESSAGE_SYSTEM_INFO != 0, 8);
        MessageOffsets { sequence, component, guid, time, ids, end }
    }
}
