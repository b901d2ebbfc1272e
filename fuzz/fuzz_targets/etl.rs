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
    let full_result = walk(&recording);

    let mut scratch = BufferScratch::default();
    let mut records = 0;
    for buffer in recording.buffers() {
        let walk = recording.for_each_in_buffer(buffer, &mut scratch, |record| {
            touch(record);
            ControlFlow::<()>::Continue(())
        });
        records += walk.records;
    }
    assert_eq!(records, full_result.records, "both ways of reading find the same records");

    let mut windowed = ReadResult::default();
    for window in recording.windows(5) {
        let walk = window.for_each(|record| {
            windowed.add(record);
            ControlFlow::<()>::Continue(())
        });
        windowed.losses.merge(&walk.losses);
        windowed.records += walk.records;
        let _ = window.releasable_ranges();
    }
    assert_eq!(windowed, full_result, "windows");

    let half = recording.duration_ns() / 2;
    let first_half = recording.window(i64::MIN, half).for_each(proceed).records;
    let second_half = recording.window(half, i64::MAX).for_each(proceed).records;
    assert!(first_half + second_half <= full_result.records, "spans");

    // Open the same file twice as two files of one recording, so that every time stamp occurs twice.
    if let Ok(pair) = Recording::open(&[input, input]) {
        assert_eq!(walk(&pair).records, 2 * full_result.records, "two files");
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
    fn add(&mut self, record: &Record<'_>) {
        assert!(self.last <= Some(record.time_ns()), "records are in time order");
        self.last = Some(record.time_ns());
        let value = touch(record) ^ record.ticks() ^ u64::from(record.cpu());
        self.digest = self.digest.wrapping_mul(31).wrapping_add(value);
    }
}

fn walk(recording: &Recording<'_>) -> ReadResult {
    let mut result = ReadResult::default();
    let walk = recording.for_each(|record| {
        result.add(record);
        ControlFlow::<()>::Continue(())
    });
    ReadResult { records: walk.records, losses: walk.losses, ..result }
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
