//! Extracts packets from Windows event trace logs, recorded by the capture filter (`netsh trace start capture=yes`) or
//! by `pktmon`.
//!
//! The capture filter logs a packet in one event or in several fragments; keywords mark the first and the last
//! fragment. `pktmon` logs whole packets, once for each network component that they pass. Copies are detected later, as
//! in any other capture.

use hashbrown::HashMap;
use onoff_etl::{Guid, Record};
use onoff_netboot::losses;
use onoff_trace::losses::Counter;
use uuid::uuid;

/// Provider of the capture filter, `Microsoft-Windows-NDIS-PacketCapture`.
const CAPTURE_FILTER: Guid = uuid!("2ed6006e-4729-4609-b423-3ee7bcd678ef");
/// A fragment of a packet at a network card.
const FRAGMENT: u16 = 1001;
/// A fragment of a packet at a virtual switch.
const SWITCH_FRAGMENT: u16 = 1003;
// Keywords for the frame type; Ethernet if there is none.
const WIRELESS_WAN: u64 = 0x200;
const TUNNEL: u64 = 0x8000;
const NATIVE_802_11: u64 = 0x1_0000;
const PACKET_START: u64 = 0x4000_0000;
const PACKET_END: u64 = 0x8000_0000;

/// Provider `Microsoft-Windows-PktMon`.
const PACKET_MONITOR: Guid = uuid!("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac");
/// Event for a packet.
const PACKET: u16 = 160;
/// Event for a dropped packet.
const DROPPED_PACKET: u16 = 170;
/// Size of the header before the packet: packet, component and drop ids, the packet type at offset 14, the packet size
/// at 30 and the logged size at 32.
const MONITOR_HEADER: usize = 34;

// Link types, as in captures.
const ETHERNET: i32 = 1;
const RAW_IP: i32 = 101;
const WIRELESS: i32 = 105;

/// Maximum packet size, bytes; larger packets are a sign of damage.
const MAX_PACKET_LEN: usize = 1 << 20;
/// Maximum number of incomplete packets. Each thread logs one packet at a time.
const MAX_UNFINISHED: usize = 4096;

/// Meaning of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PacketEvent<'a> {
    /// The event is not about a packet.
    Other,
    /// A fragment other than the last.
    Incomplete,
    /// A packet: link type, bytes, and original size.
    Packet { link: i32, bytes: &'a [u8], wire_bytes: u32 },
    /// A loss, with its counter.
    Lost(&'static Counter),
}

/// Assembles packets from events.
#[derive(Debug, Default)]
pub(super) struct PacketEvents {
    /// Packets whose last fragment has not been logged yet, by process and thread.
    unfinished: HashMap<(u32, u32), Vec<u8>>,
    assembled: Vec<u8>,
}

impl PacketEvents {
    pub(super) fn process<'a>(&'a mut self, record: &Record<'a>) -> PacketEvent<'a> {
        let Some(descriptor) = record.descriptor() else { return PacketEvent::Other };
        match (record.class_guid(), descriptor.id) {
            (Some(CAPTURE_FILTER), id @ (FRAGMENT | SWITCH_FRAGMENT)) => {
                let fragment =
                    if id == FRAGMENT { fragment(record.payload()) } else { switch_fragment(record.payload()) };
                let logger = (record.process_id().unwrap_or(0), record.thread_id().unwrap_or(0));
                match fragment {
                    Some(bytes) => self.add_fragment(bytes, descriptor.keyword, logger),
                    None => PacketEvent::Lost(&losses::FRAMES_MALFORMED),
                }
            }
            (Some(PACKET_MONITOR), PACKET) => monitor_packet(record.payload()),
            (Some(PACKET_MONITOR), DROPPED_PACKET) => PacketEvent::Lost(&losses::PACKETS_DROPPED_BY_WINDOWS),
            _ => PacketEvent::Other,
        }
    }

    /// Returns the number of packets without a last fragment.
    pub(super) fn incomplete_count(&self) -> u64 {
        self.unfinished.len() as u64
    }

    fn add_fragment<'a>(&'a mut self, bytes: &'a [u8], keyword: u64, logger: (u32, u32)) -> PacketEvent<'a> {
        let link = match keyword {
            wireless if wireless & NATIVE_802_11 != 0 => WIRELESS,
            network if network & (WIRELESS_WAN | TUNNEL) != 0 => RAW_IP,
            _ => ETHERNET,
        };
        let (is_first, is_last) = (keyword & PACKET_START != 0, keyword & PACKET_END != 0);
        if is_first && is_last {
            return packet(link, bytes, bytes.len());
        }
        if is_first {
            let was_unfinished = self.unfinished.remove(&logger).is_some();
            if self.unfinished.len() >= MAX_UNFINISHED {
                return PacketEvent::Lost(&losses::FRAMES_INCOMPLETE);
            }
            self.unfinished.insert(logger, bytes.to_vec());
            return if was_unfinished {
                PacketEvent::Lost(&losses::FRAMES_INCOMPLETE)
            } else {
                PacketEvent::Incomplete
            };
        }
        let Some(partial) = self.unfinished.get_mut(&logger) else {
            // Later fragments of a packet without a recorded start count once, at the end of the packet.
            return if is_last { PacketEvent::Lost(&losses::FRAMES_INCOMPLETE) } else { PacketEvent::Incomplete };
        };
        if partial.len().saturating_add(bytes.len()) > MAX_PACKET_LEN {
            self.unfinished.remove(&logger);
            return PacketEvent::Lost(&losses::FRAMES_MALFORMED);
        }
        partial.extend_from_slice(bytes);
        if !is_last {
            return PacketEvent::Incomplete;
        }
        self.assembled = self.unfinished.remove(&logger).unwrap_or_default();
        packet(link, &self.assembled, self.assembled.len())
    }
}

fn packet(link: i32, bytes: &[u8], wire_bytes: usize) -> PacketEvent<'_> {
    match u32::try_from(wire_bytes) {
        Ok(wire_bytes) if bytes.len() <= MAX_PACKET_LEN => PacketEvent::Packet { link, bytes, wire_bytes },
        _ => PacketEvent::Lost(&losses::FRAMES_MALFORMED),
    }
}

/// Reads two interface ids, the fragment size, and the fragment.
fn fragment(payload: &[u8]) -> Option<&[u8]> {
    let mut unread = payload.get(8..)?;
    let length = take_u32(&mut unread)?;
    unread.get(..usize::try_from(length).ok()?)
}

/// Reads two interface ids; port, name, card and type of the source; the same for each destination; the fragment with
/// its size; out-of-band data with its size.
fn switch_fragment(payload: &[u8]) -> Option<&[u8]> {
    let mut unread = payload.get(8..)?;
    let skip_port = |unread: &mut &[u8]| {
        take_u32(unread)?;
        (0..3).try_for_each(|_| skip_text(unread))
    };
    skip_port(&mut unread)?;
    let destinations = take_u32(&mut unread)?;
    for _ in 0..destinations {
        skip_port(&mut unread)?;
    }
    let length = usize::try_from(take_u32(&mut unread)?).ok()?;
    let fragment = unread.get(..length)?;
    unread = unread.get(length..)?;
    // The out-of-band data must have the stated size; otherwise, this layout is wrong.
    let trailing_bytes = usize::try_from(take_u32(&mut unread)?).ok()?;
    (trailing_bytes == unread.len()).then_some(fragment)
}

fn take_u32(unread: &mut &[u8]) -> Option<u32> {
    let (number, rest) = unread.split_first_chunk::<4>()?;
    *unread = rest;
    Some(u32::from_le_bytes(*number))
}

/// Skips a zero-terminated UTF-16 text.
fn skip_text(unread: &mut &[u8]) -> Option<()> {
    let (units, _) = unread.as_chunks::<2>();
    let end = units.iter().position(|unit| *unit == [0, 0])?;
    *unread = unread.get((end + 1) * 2..)?;
    Some(())
}

fn monitor_packet(payload: &[u8]) -> PacketEvent<'_> {
    let number = |offset: usize| Some(u16::from_le_bytes(payload.get(offset..)?.first_chunk::<2>().copied()?));
    let (Some(kind), Some(original), Some(logged)) = (number(14), number(30), number(32)) else {
        return PacketEvent::Lost(&losses::FRAMES_MALFORMED);
    };
    let Some(bytes) = payload.get(MONITOR_HEADER..MONITOR_HEADER + usize::from(logged)) else {
        return PacketEvent::Lost(&losses::FRAMES_MALFORMED);
    };
    let link = match kind {
        1 => ETHERNET,
        2 => WIRELESS,
        3 => RAW_IP,
        _ => return PacketEvent::Lost(&losses::LINK_TYPE_UNSUPPORTED),
    };
    packet(link, bytes, usize::from(original.max(logged)))
}
