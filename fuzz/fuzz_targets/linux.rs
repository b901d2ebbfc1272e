//! Reads arbitrary bytes as a Linux recording (files of every kind, or an archive): succeeds or returns an error, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_sources::{EventFilter, files_from_bytes, Limits, LinuxEventStream, Options, RecordingKind, open_files};
use onoff_trace::Tables;
use std::ops::ControlFlow;

/// Names of files that are recognized only by name.
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
    // Files are separated by the record separator; the byte after it selects the name.
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
    let Ok(trace) = open_files(&files, Tables::all(), &Options::default()) else {
        return;
    };
    for rows in [
        trace.activities.iter().map(|row| (row.start_ns, row.end_ns)).collect::<Vec<_>>(),
        trace.device_operations.iter().map(|row| (row.start_ns, row.end_ns)).collect(),
    ] {
        assert!(rows.is_sorted_by_key(|(start_ns, _)| *start_ns), "rows are by begin");
    }
    if let Ok(stream) = LinuxEventStream::open(&files, &Options::default()) {
        let end = stream.for_each(&EventFilter::default(), &Options::default(), |_| ControlFlow::<()>::Continue(()));
        assert!(end.outcome.is_continue());
    }
});
