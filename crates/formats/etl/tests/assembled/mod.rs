//! Synthetic recordings whose events carry identifying numbers.

#![allow(dead_code, reason = "shared by tests that use different parts of it")]

use std::ops::ControlFlow;

use onoff_etl::{Input, Losses, Record, Recording};
use onoff_testkit::assemble::{EtlBuilder, Payload, Record as Assembled, Session};

pub const START: u64 = 6_370_000;
pub const HOOK: u16 = 0x0532;

pub fn small_buffers(processors: u32) -> Session {
    Session { buffer_size: 0x1000, header_buffer_size: 0x1000, ..Session::windows_10(processors) }
}

/// A kernel event whose payload identifies it by number.
pub fn numbered(ticks: u64, number: u32) -> Assembled<'static> {
    Assembled::perfinfo(HOOK, 2, ticks, Payload::wide().u32(number).u32(0))
}

pub fn number_of(record: &Record<'_>) -> Option<u32> {
    let number = record.payload().first_chunk().copied().map(u32::from_le_bytes);
    number.filter(|_| record.hook() == Some(HOOK))
}

pub fn open(bytes: &[u8]) -> Recording<'_> {
    Recording::open(&[Input { name: "boot.etl", bytes }]).unwrap_or_else(|error| panic!("{error}"))
}

/// The numbered events in visiting order (time, number), and all losses.
pub fn read(recording: &Recording<'_>) -> (Vec<(i64, u32)>, Losses) {
    let mut found = Vec::new();
    let walk = recording.for_each(|record| {
        found.extend(number_of(record).map(|number| (record.time_ns(), number)));
        ControlFlow::<()>::Continue(())
    });
    let mut losses = recording.losses().clone();
    losses.merge(&walk.losses);
    (found, losses)
}

pub fn numbers(recording: &Recording<'_>) -> Vec<u32> {
    read(recording).0.into_iter().map(|(_, number)| number).collect()
}

/// Events every 10 ticks, on the processors in turn. Each processor's buffers are written when full.
pub fn interleaved(session: Session, count: u32) -> EtlBuilder {
    let processors = session.processors;
    let mut etl = EtlBuilder::new(session);
    for number in 0..count {
        etl.push((number % processors) as u16, &numbered(START + u64::from(number) * 10, number));
    }
    etl
}
