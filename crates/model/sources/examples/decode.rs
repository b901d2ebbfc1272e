//! Benchmark: decodes all tables of a recording and prints the time and memory used as one line of JSON.
//!
//! ```text
//! cargo run --release -p onoff-sources --example decode -- FILE…
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use onoff_files::{Options, open};
use onoff_trace::{TableName, TableSet, Trace};

/// Decodes the tables named in `ONOFF_TABLES` (comma-separated); by default all except generic events and the
/// inventory.
fn main() -> ExitCode {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(Into::into).collect();
    let wanted = match std::env::var("ONOFF_TABLES") {
        Ok(names) => names
            .split(',')
            .filter_map(|name| TableName::ALL.iter().find(|table| table.as_str() == name))
            .fold(TableSet::NONE, |wanted, &table| wanted.with(table)),
        Err(_) => TableSet::all().without(TableName::Events).without(TableName::Inventory),
    };
    let bytes: u64 = paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len()).sum();
    let start = Instant::now();
    match open(&paths, wanted, &Options::default()) {
        Ok(trace) => {
            let seconds = start.elapsed().as_secs_f64();
            let mib = bytes as f64 / f64::from(1 << 20);
            println!(
                "{{\"bytes\":{bytes},\"seconds\":{seconds:.4},\"mib_per_s\":{:.1},\"threads\":{},\"peak_memory_bytes\":{},\"rows\":{{{}}}}}",
                mib / seconds,
                rayon::current_num_threads(),
                peak_memory_bytes(),
                rows(&trace)
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn rows(trace: &Trace) -> String {
    [
        (TableName::Processes, trace.processes.len()),
        (TableName::Threads, trace.threads.len()),
        (TableName::Images, trace.images.len()),
        (TableName::ContextSwitches, trace.context_switches.len()),
        (TableName::ReadyThreads, trace.ready_threads.len()),
        (TableName::Samples, trace.samples.len()),
        (TableName::Stacks, trace.stacks.len()),
        (TableName::Interrupts, trace.interrupts.len()),
        (TableName::DiskIos, trace.disk_ios.len()),
        (TableName::FileIos, trace.file_ios.len()),
        (TableName::HardFaults, trace.hard_faults.len()),
        (TableName::ServiceTransitions, trace.service_transitions.len()),
        (TableName::DeviceOperations, trace.device_operations.len()),
        (TableName::Milestones, trace.milestones.len()),
        (TableName::Activities, trace.activities.len()),
        (TableName::Events, trace.events.len()),
    ]
    .iter()
    .map(|(table, rows)| format!("\"{}\":{rows}", table.as_str()))
    .collect::<Vec<_>>()
    .join(",")
}

/// Peak memory of this process, including file pages; 0 if unknown.
fn peak_memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
            let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
            Some(kib << 10)
        })
        .unwrap_or(0)
}
