//! The `etl` reader on arbitrary bytes: it succeeds or fails without a panic, and its results are consistent.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use onoff_etl::{BufferScratch, Input, Losses, Record, Recording};

fuzz_target!(|bytes: &[u8]| {
    let input = Input { name: "fuzz.etl", bytes };
    let Ok(recording) = Recording::open(&[input]) else {
        return;
    };
    let whole = walk(&recording);

    let mut space = BufferScratch::default();
    let mut records = 0;
    for buffer in recording.buffers() {
        let walk = recording.for_each_in_buffer(buffer, &mut space, |record| {
            touch(record);
            ControlFlow::<()>::Continue(())
        });
        records += walk.records;
    }
    assert_eq!(records, whole.records, "both ways of reading find the same records");

    let mut parts = ReadResult::default();
    for window in recording.windows(5) {
        let walk = window.for_each(|record| {
            parts.see(record);
            ControlFlow::<()>::Continue(())
        });
        parts.losses.merge(&walk.losses);
        parts.records += walk.records;
        let _ = window.releasable_ranges();
    }
    assert_eq!(parts, whole, "windows");

    let half = recording.duration_ns() / 2;
    let first = recording.between(i64::MIN, half).for_each(proceed).records;
    let second = recording.between(half, i64::MAX).for_each(proceed).records;
    assert!(first + second <= whole.records, "spans");

    // Two files of one recording: the same file twice, which makes every time stamp a tie.
    if let Ok(pair) = Recording::open(&[input, input]) {
        assert_eq!(walk(&pair).records, 2 * whole.records, "two files");
    }
});

fn proceed(record: &Record<'_>) -> ControlFlow<()> {
    touch(record);
    ControlFlow::Continue(())
}

#[derive(Debug, Default, PartialEq)]
struct ReadResult {
    records: u64,
    last: Option<i64>,
    digest: u64,
    losses: Losses,
}

impl ReadResult {
    fn see(&mut self, record: &Record<'_>) {
        assert!(self.last <= Some(record.time_ns()), "records are in time order");
        self.last = Some(record.time_ns());
        let seen = touch(record) ^ record.ticks() ^ u64::from(record.cpu());
        self.digest = self.digest.wrapping_mul(31).wrapping_add(seen);
    }
}

fn walk(recording: &Recording<'_>) -> ReadResult {
    let mut walked = ReadResult::default();
    let walk = recording.for_each(|record| {
        walked.see(record);
        ControlFlow::<()>::Continue(())
    });
    ReadResult { records: walk.records, losses: walk.losses, ..walked }
}

/// Calls all accessors of a record.
fn touch(record: &Record<'_>) -> u64 {
    let items: usize = record.extended_items().map(|item| item.data.len()).sum();
    let counters = record.hardware_counters().fold(0, u64::wrapping_add);
    assert!(record.payload().len() <= record.size());
    std::hint::black_box((
        record.descriptor(),
        record.class_guid(),
        record.activity_id(),
        record.cpu_times(),
        record.instance(),
        record.pebs_index(),
        (record.thread_id(), record.process_id(), record.hook()),
        (record.opcode(), record.version(), record.level()),
        (record.message_number(), record.message_sequence()),
        (record.message_component(), record.message_flags()),
        (record.raw_ticks(), record.event_flags()),
    ));
    counters.wrapping_add((items + record.size()) as u64)
}
