//! Writes the frames of a capture as an event trace, as Windows logs them.

use uuid::{Uuid, uuid};

use crate::assemble::{EtlBuilder, EventHeader, Payload, Record, Session};

const CAPTURE_FILTER: Uuid = uuid!("2ed6006e-4729-4609-b423-3ee7bcd678ef");
const PACKET_MONITOR: Uuid = uuid!("4d4f80d9-c8bd-4d73-bb5b-19c90402c5ac");
const PACKET_START: u64 = 0x4000_0000;
const PACKET_END: u64 = 0x8000_0000;
/// Seconds from 1601 (`FILETIME`) to 1970.
const FILETIME_TO_UNIX_S: u64 = 11_644_473_600;
const NS_PER_TICK: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketLog {
    /// The capture filter, one event per packet.
    Whole,
    /// The capture filter, packets in fragments of this many bytes, from two threads at once.
    Fragments(usize),
    /// The capture filter at a virtual switch with one destination.
    Switch,
    /// `pktmon`, which truncates packets to this many bytes.
    Monitor(usize),
}

/// Writes an event trace of Ethernet frames. Each has its time in ns since 1970, a multiple of 100.
#[must_use]
pub fn event_trace(frames: &[(u64, Vec<u8>)], log: PacketLog) -> Vec<u8> {
    let mut session = Session::windows_10(1);
    let start_ns = frames.first().map_or(0, |(unix_ns, _)| *unix_ns);
    session.start_time = start_ns / NS_PER_TICK + FILETIME_TO_UNIX_S * 10_000_000 - 1_000;
    session.boot_time = session.start_time - session.start_ticks;
    session.end_time = session.start_time + 1_200_000_000;
    let first_ticks = session.start_ticks + 1_000;
    let mut trace = EtlBuilder::new(session);
    for (number, (unix_ns, frame)) in frames.iter().enumerate() {
        let ticks = first_ticks + (unix_ns - start_ns) / NS_PER_TICK;
        let thread = 100 + number as u32 % 2;
        let mut add_event = |provider, id, keyword, payload| {
            let event = EventHeader { provider, id, keyword, process: 4, thread, ..EventHeader::default() };
            trace.push(0, &Record::manifest(event, ticks, payload));
        };
        match log {
            PacketLog::Whole => {
                add_event(CAPTURE_FILTER, 1001, 1 | PACKET_START | PACKET_END, fragment_payload(frame));
            }
            PacketLog::Fragments(bytes) => {
                let chunks = frame.chunks(bytes.max(1));
                let last_index = chunks.len() - 1;
                for (index, chunk) in chunks.enumerate() {
                    let start_flag = if index == 0 { PACKET_START } else { 0 };
                    let end_flag = if index == last_index { PACKET_END } else { 0 };
                    add_event(CAPTURE_FILTER, 1001, 1 | start_flag | end_flag, fragment_payload(chunk));
                }
            }
            PacketLog::Switch => {
                let payload = Payload::wide().u32(5).u32(6).u32(1).text("port").text("NIC").text("Synthetic");
                let payload = payload.u32(1).u32(2).text("other port").text("NIC 2").text("Internal");
                let payload = payload.u32(frame.len() as u32).bytes(frame).u32(3).bytes(b"oob");
                add_event(CAPTURE_FILTER, 1003, 0x100_0000 | PACKET_START | PACKET_END, payload);
            }
            PacketLog::Monitor(max_len) => {
                let captured = &frame[..frame.len().min(max_len)];
                let payload = Payload::wide().u64(number as u64).u16(1).u16(1).u16(3).u16(1).u16(9).u16(1).u16(0);
                let payload = payload.u32(0).u32(0).u16(frame.len() as u16).u16(captured.len() as u16).bytes(captured);
                add_event(PACKET_MONITOR, 160, 0x10, payload);
            }
        }
    }
    trace.finish()
}

fn fragment_payload(bytes: &[u8]) -> Payload {
    Payload::wide().u32(5).u32(6).u32(bytes.len() as u32).bytes(bytes)
}

/// Reads the frames of a capture written by this crate: little-endian pcapng with nanoseconds, or little-endian pcap
/// with microseconds.
#[must_use]
pub fn read_frames(capture: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let read_u32 = |offset: usize| u32::from_le_bytes(capture[offset..offset + 4].try_into().unwrap_or_default());
    let mut frames = Vec::new();
    if read_u32(0) == 0xA1B2_C3D4 {
        let mut offset = 24;
        while offset + 16 <= capture.len() {
            let unix_ns = u64::from(read_u32(offset)) * 1_000_000_000 + u64::from(read_u32(offset + 4)) * 1_000;
            let length = read_u32(offset + 8) as usize;
            frames.push((unix_ns, capture[offset + 16..offset + 16 + length].to_vec()));
            offset += 16 + length;
        }
        return frames;
    }
    let mut offset = 0;
    while offset + 12 <= capture.len() {
        if read_u32(offset) == 6 {
            let unix_ns = (u64::from(read_u32(offset + 12)) << 32) | u64::from(read_u32(offset + 16));
            let length = read_u32(offset + 20) as usize;
            frames.push((unix_ns, capture[offset + 28..offset + 28 + length].to_vec()));
        }
        offset += read_u32(offset + 4) as usize;
    }
    frames
}
