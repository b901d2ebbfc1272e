//! Synthetic recordings of numbered events.

#![allow(dead_code, reason = "shared by tests that use different parts of it")]

use std::ops::ControlFlow;

use onoff_etl::{Input, Losses, Record, Recording};
use onoff_testkit::assemble::{EtlBuilder, Payload, Record as BuiltRecord, Session};

pub const START: u64 = 6_370_000;
pub const HOOK: u16 = 0x0532;

pub fn small_buffers(processors: u32) -> Session {
    Session { buffer_size: 0x1000, header_buffer_size: 0x1000, ..Session::windows_10(processors) }
}

/// A kernel event whose payload identifies it by number.
pub fn numbered_event(ticks: u64, number: u32) -> BuiltRecord<'static> {
    BuiltRecord::perfinfo(HOOK, 2, ticks, Payload::wide().u32(number).u32(0))
}

pub fn event_number(record: &Record<'_>) -> Option<u32> {
    let number = record.payload().first_chunk().copied().map(u32::from_le_bytes);
    number.filter(|_| record.hook() == Some(HOOK))
}

pub fn open(bytes: &[u8]) -> Recording<'_> {
    Recording::open(&[Input { name: "boot.etl", bytes }]).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads the numbered events in visiting order (time, number), and all losses.
pub fn read(recording: &Recording<'_>) -> (Vec<(i64, u32)>, Losses) {
    let mut events = Vec::new();
    let walk = recording.for_each(|record| {
        events.extend(event_number(record).map(|number| (record.time_ns(), number)));
        ControlFlow::<()>::Continue(())
    });
    let mut losses = recording.losses().clone();
    losses.merge(&walk.losses);
    (events, losses)
}

pub fn numbers(recording: &Recording<'_>) -> Vec<u32> {
    read(recording).0.into_iter().map(|(_, number)| number).collect()
}

/// Builds events every 10 ticks, on each processor in turn. Each processor's buffers are written when full.
pub fn interleaved_events(session: Session, count: u32) -> EtlBuilder {
    let processors = session.processors;
    let mut etl = EtlBuilder::new(session);
    for number in 0..count {
        etl.push((number % processors) as u16, &numbered_event(START + u64::from(number) * 10, number));
    }
    etl
}
