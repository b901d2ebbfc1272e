//! A Linux recording from arbitrary bytes, as several parts or an archive: reading succeeds or fails, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_sources::{EventFilter, Limits, LinuxEventStream, Options, RecordingKind, files_from_bytes, open_files};
use onoff_trace::TableSet;
use std::ops::ControlFlow;

/// Names of parts that are recognized by name; other parts may have any name.
const NAMES: [&str; 6] = [
    "part",
    "cmdline",
    "uname",
    "LoaderTimeInitUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    "LoaderTimeExecUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    "saved_cmdlines",
];

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits { unpacked_bytes: 1 << 22, ..Limits::default() };
    // The record separator splits the input into parts; the byte after it selects the name.
    let inputs: Vec<(String, Vec<u8>)> = match bytes.split_first() {
        Some((b'A', archive)) => vec![("archive.tar".to_owned(), archive.to_vec())],
        _ => bytes
            .split(|&byte| byte == 0x1e)
            .filter_map(|part| part.split_first())
            .take(8)
            .map(|(name, part)| {
                let name = NAMES[usize::from(*name) % NAMES.len()];
                (name.to_owned(), part.to_vec())
            })
            .collect(),
    };
    let Ok(files) = files_from_bytes(inputs, &limits) else {
        return;
    };
    if files.kind() != RecordingKind::Linux {
        return;
    }
    let Ok(trace) = open_files(&files, TableSet::all(), &Options::default()) else {
        return;
    };
    for rows in [
        trace.activities.iter().map(|row| (row.start_ns, row.end_ns)).collect::<Vec<_>>(),
        trace.device_operations.iter().map(|row| (row.start_ns, row.end_ns)).collect(),
    ] {
        assert!(rows.is_sorted_by_key(|(start_ns, _)| *start_ns), "rows are sorted by start");
    }
    if let Ok(stream) = LinuxEventStream::open(&files, &Options::default()) {
        let end = stream.for_each(&EventFilter::default(), &Options::default(), |_| ControlFlow::<()>::Continue(()));
        assert!(end.outcome.is_continue());
    }
});
