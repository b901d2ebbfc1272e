//! Reads the two container formats: pcapng, and pcap with all byte orders and clocks.

use onoff_netboot::losses;
use onoff_trace::losses::Counter;
use pcap_parser::nom::Err as Fault;
use pcap_parser::pcap::{
    LegacyPcapBlock, PcapHeader, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified, parse_pcap_header,
};
use pcap_parser::pcapng::{Block, OptionCode, PcapNGOption, parse_block_be, parse_block_le};

use onoff_input::error::Error;

const NANOSECONDS: i128 = 1_000_000_000;
/// Maximum frame length; longer frames are a sign of damage.
const MAX_FRAME_LEN: u32 = 1 << 20;
/// Maximum number of interfaces in a section; more are a sign of damage.
const MAX_INTERFACES: usize = 1 << 12;

// pcapng options: seconds to add to an interface's times, and frames dropped by the interface or the system.
const TIME_OFFSET: OptionCode = OptionCode(14);
const DROPPED_BY_INTERFACE: OptionCode = OptionCode(5);
const DROPPED_BY_SYSTEM: OptionCode = OptionCode(7);

#[derive(Clone, Copy, Debug)]
pub(super) struct RawFrame<'a> {
    pub(super) unix_ns: i64,
    pub(super) link: i32,
    pub(super) wire_bytes: u32,
    pub(super) bytes: &'a [u8],
}

/// An item of a container.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Frame(RawFrame<'a>),
    /// A loss: counter, count, and byte offset.
    Loss(&'static Counter, u64, u64),
}

/// A capture file, read sequentially.
#[derive(Debug)]
pub(super) struct Container<'a> {
    bytes: &'a [u8],
    position: usize,
    format: Format,
    snap_length: Option<u32>,
}

#[derive(Debug)]
enum Format {
    Pcap(PcapHeader),
    Pcapng(Section),
    /// Reading has ended.
    Ended(&'static str),
}

#[derive(Debug, Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: i32,
    /// `if_tsresol` as recorded: a power of ten, or of two if the top bit is set.
    resolution: u8,
    offset_s: i64,
    dropped: u64,
}

impl<'a> Container<'a> {
    pub(super) fn open(name: &str, bytes: &'a [u8]) -> Result<Self, Error> {
        let (position, format, snap_length) = if bytes.starts_with(&[0x0A, 0x0D, 0x0D, 0x0A]) {
            (0, Format::Pcapng(Section::default()), None)
        } else {
            let (rest, header) = parse_pcap_header(bytes)
                .map_err(|_| Error::CaptureHeader { name: name.to_owned(), bytes: bytes.len() as u64 })?;
            let snap_length = Some(header.snaplen).filter(|length| (1..65_535).contains(length));
            (bytes.len() - rest.len(), Format::Pcap(header), snap_length)
        };
        Ok(Self { bytes, position, format, snap_length })
    }

    /// Returns the number of bytes read so far.
    pub(super) fn offset(&self) -> u64 {
        self.position as u64
    }

    pub(super) fn name(&self) -> &'static str {
        match self.format {
            Format::Pcap(_) => "pcap",
            Format::Pcapng(_) => "pcapng",
            Format::Ended(name) => name,
        }
    }

    /// Returns the snapshot length, if the recorder used one.
    pub(super) fn snap_length(&self) -> Option<u32> {
        self.snap_length
    }

    pub(super) fn next(&mut self) -> Option<Item<'a>> {
        loop {
            let unread = self.bytes.get(self.position..).unwrap_or_default();
            if unread.is_empty() {
                return None;
            }
            let offset = self.position as u64;
            let name = self.name();
            let step = match &mut self.format {
                Format::Ended(_) => return None,
                Format::Pcap(header) => pcap_frame(header, unread),
                Format::Pcapng(section) => pcapng_block(section, unread, &mut self.snap_length),
            };
            match step {
                Step::Frame(frame, length) => {
                    self.position += length;
                    return Some(Item::Frame(frame));
                }
                Step::Loss(counter, count, length) => {
                    self.position += length;
                    return Some(Item::Loss(counter, count, offset));
                }
                Step::Nothing(length) => self.position += length,
                Step::Ended(counter) => {
                    self.format = Format::Ended(name);
                    return Some(Item::Loss(counter, 1, offset));
                }
            }
        }
    }
}

/// The item found and its length, which is never zero.
enum Step<'a> {
    Frame(RawFrame<'a>, usize),
    Loss(&'static Counter, u64, usize),
    Nothing(usize),
    Ended(&'static Counter),
}

fn pcap_frame<'a>(header: &PcapHeader, unread: &'a [u8]) -> Step<'a> {
    let parse = match (header.is_modified_format(), header.is_bigendian()) {
        (true, _) => parse_pcap_frame_modified,
        (false, true) => parse_pcap_frame_be,
        (false, false) => parse_pcap_frame,
    };
    let length_field = unread.get(8..12).and_then(|bytes| bytes.try_into().ok());
    let length = length_field.map_or(0, |bytes: [u8; 4]| {
        if header.is_bigendian() { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    });
    if length > MAX_FRAME_LEN {
        return Step::Ended(&losses::CAPTURE_DAMAGED);
    }
    match parse(unread) {
        Ok((rest, block)) => {
            let frame = RawFrame {
                unix_ns: pcap_time(header, &block),
                // The upper bits contain the length of the frame check sequence, which recorders also state elsewhere.
                link: header.network.0 & 0xFFFF,
                wire_bytes: block.origlen.max(block.caplen),
                bytes: block.data,
            };
            Step::Frame(frame, unread.len() - rest.len())
        }
        Err(Fault::Incomplete(_)) => Step::Ended(&losses::CAPTURE_TRUNCATED),
        Err(_) => Step::Ended(&losses::CAPTURE_DAMAGED),
    }
}

fn pcap_time(header: &PcapHeader, block: &LegacyPcapBlock<'_>) -> i64 {
    let fraction =
        if header.is_nanosecond_precision() { i64::from(block.ts_usec) } else { i64::from(block.ts_usec) * 1_000 };
    i64::from(block.ts_sec) * 1_000_000_000 + fraction
}

fn pcapng_block<'a>(section: &mut Section, unread: &'a [u8], snap_length: &mut Option<u32>) -> Step<'a> {
    let is_section_start = unread.starts_with(&[0x0A, 0x0D, 0x0D, 0x0A]);
    if is_section_start && let Some(magic) = unread.get(8..12) {
        section.big_endian = magic == [0x1A, 0x2B, 0x3C, 0x4D];
        section.interfaces.clear();
    }
    let parse_result = if section.big_endian { parse_block_be(unread) } else { parse_block_le(unread) };
    let (rest_after_block, block) = match parse_result {
        Ok(result) => result,
        Err(fault) => {
            // If the whole block is present, its length is known and the next block may be intact.
            return match (block_length(section, unread), fault) {
                (Some(length), _) => Step::Loss(&losses::BLOCKS_SKIPPED, 1, length),
                (None, Fault::Incomplete(_)) => Step::Ended(&losses::CAPTURE_TRUNCATED),
                (None, _) => Step::Ended(&losses::CAPTURE_DAMAGED),
            };
        }
    };
    let length = unread.len() - rest_after_block.len();
    match block {
        Block::InterfaceDescription(description) => {
            if section.interfaces.len() >= MAX_INTERFACES {
                return Step::Ended(&losses::CAPTURE_DAMAGED);
            }
            if (1..65_535).contains(&description.snaplen) {
                *snap_length = (*snap_length).max(Some(description.snaplen));
            }
            section.interfaces.push(Interface {
                link: description.linktype.0,
                resolution: description.if_tsresol,
                offset_s: number(&description.options, TIME_OFFSET, section.big_endian).map_or(0, u64::cast_signed),
                dropped: 0,
            });
            Step::Nothing(length)
        }
        Block::EnhancedPacket(packet) => {
            let Some(interface) = section.interfaces.get(packet.if_id as usize) else {
                return Step::Loss(&losses::BLOCKS_SKIPPED, 1, length);
            };
            let ticks = (u64::from(packet.ts_high) << 32) | u64::from(packet.ts_low);
            let captured_len = packet.caplen as usize;
            let Some(bytes) = packet.data.get(..captured_len) else {
                return Step::Loss(&losses::BLOCKS_SKIPPED, 1, length);
            };
            let frame = RawFrame {
                unix_ns: interface.unix_ns(ticks),
                link: interface.link,
                wire_bytes: packet.origlen.max(packet.caplen),
                bytes,
            };
            Step::Frame(frame, length)
        }
        // Packets without a timestamp cannot be placed.
        Block::SimplePacket(_) => Step::Loss(&losses::BLOCKS_SKIPPED, 1, length),
        Block::InterfaceStatistics(statistics) => {
            let dropped = [DROPPED_BY_INTERFACE, DROPPED_BY_SYSTEM]
                .into_iter()
                .filter_map(|code| number(&statistics.options, code, section.big_endian))
                .fold(0_u64, u64::saturating_add);
            // Each block contains the running total.
            let interface = section.interfaces.get_mut(statistics.if_id as usize);
            match interface {
                Some(interface) if dropped > interface.dropped => {
                    let newly_dropped = dropped - interface.dropped;
                    interface.dropped = dropped;
                    Step::Loss(&losses::FRAMES_DROPPED, newly_dropped, length)
                }
                _ => Step::Nothing(length),
            }
        }
        _ => Step::Nothing(length),
    }
}

/// Reads a 64-bit option value in the section's byte order.
fn number(options: &[PcapNGOption<'_>], code: OptionCode, big_endian: bool) -> Option<u64> {
    let option = options.iter().find(|option| option.code == code)?;
    let bytes = *option.value().first_chunk::<8>()?;
    Some(if big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
}

fn block_length(section: &Section, unread: &[u8]) -> Option<usize> {
    let length_field: [u8; 4] = unread.get(4..8)?.try_into().ok()?;
    let length =
        if section.big_endian { u32::from_be_bytes(length_field) } else { u32::from_le_bytes(length_field) } as usize;
    (length >= 12 && length.is_multiple_of(4) && length <= unread.len()).then_some(length)
}

impl Interface {
    fn unix_ns(&self, ticks: u64) -> i64 {
        let ticks = i128::from(ticks);
        let exponent = u32::from(self.resolution & 0x7F);
        let ns = if self.resolution & 0x80 != 0 {
            // A tick is 2^-exponent seconds.
            (ticks * NANOSECONDS).checked_shr(exponent).unwrap_or(0)
        } else {
            match 10_i128.checked_pow(exponent) {
                Some(ticks_per_second) => ticks * NANOSECONDS / ticks_per_second,
                None => 0,
            }
        };
        let ns = ns + i128::from(self.offset_s) * NANOSECONDS;
        i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_interface_clocks() {
        let interface = |resolution, offset_s| Interface { link: 1, resolution, offset_s, dropped: 0 };
        assert_eq!(interface(6, 0).unix_ns(1_500_000), 1_500_000_000);
        assert_eq!(interface(9, 2).unix_ns(7), 2_000_000_007);
        // 2^-10 s, which the container library does not support.
        assert_eq!(interface(0x8A, 0).unix_ns(512), 500_000_000);
        assert_eq!(interface(127, 0).unix_ns(u64::MAX), 0);
        assert_eq!(interface(0, i64::MAX).unix_ns(u64::MAX), i64::MAX);
    }
}
