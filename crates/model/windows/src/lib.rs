//! Reads Windows recordings (Event Trace Logs) into the tables of the model.
//!
//! Reading has two tiers. Records that can be decoded independently (context switches, samples and interrupts, nearly
//! all of a large recording) are decoded straight into columns, window by window, in parallel on all processors. All
//! other records are deferred and processed in order by small trackers, one per subject. Names and owners are resolved
//! last, because the end of a recording names the files, threads and devices of its start.
//!
//! | module | purpose |
//! | --- | --- |
//! | `kernel_events`, `phase_events` | declarations of events, their tables and names |
//! | [`selection`] | decides how a record is processed |
//! | [`window_rows`] | decodes one time window |
//! | [`assembly`] | joins the windows in order |
//! | `processes`, `threads`, `images`, `stacks`, `stack_keys`, `disk`, `file_names`, `file_operations`, `file_events`, `hard_faults`, `system` | trackers of kernel events, fed window by window |
//! | `phases`: `milestones`, `services`, `devices`, `activities` | trackers of transition events, fed after the last window |
//! | `event_logs` | event logs instead of a trace, or with it |
//! | `power_reports` | reports of `powercfg` instead of a trace |
//! | `generic_events`, [`survey`] | other events, and event counts |
//! | [`counters`], `losses` | losses |
//! | [`event_stream`] | an event stream instead of tables |

#![forbid(unsafe_code)]

mod activities;
mod activity_rules;
mod assembly;
mod compact_switches;
mod counters;
mod deferred_records;
mod devices;
mod disk;
mod event_logs;
pub mod event_stream;
mod file_events;
mod file_names;
mod file_operations;
mod generic_events;
mod hard_faults;
mod images;
pub mod kernel_events;
mod kernel_power;
mod losses;
pub use event_logs::{add_logged_accounts, logged_event_filter, open_logs, read_each_logged_boot};
pub use losses::count as count_losses;
pub use power_reports::open as open_power_report;
pub use schemas::describes_events;
mod methods;
mod milestone_rules;
mod milestones;
mod names;
mod notifications;
mod phase_events;
mod phases;
mod power_reports;
mod power_requests;
mod processes;
mod schemas;
mod selection;
mod services;
mod stack_keys;
mod stacks;
mod survey;
mod system;
mod texts;
mod threads;
mod window_rows;

use std::convert::Infallible;
use std::ops::ControlFlow;

use onoff_etl::{LogfileHeader, Record, Recording, Window};
use onoff_etw::Schemas;
use onoff_trace::{Clock, RecordingFile, TableName, TableSet, Trace};
use rayon::prelude::*;

use assembly::Assembly;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::options::Progress;
use selection::Selection;
use survey::Survey;
use system::SystemTracker;
use window_rows::WindowRows;

/// Reads an Event Trace Log of one or several files into the `wanted` tables.
pub fn open(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    let recording = Recording::open(&files.inputs())?;
    let schemas = schemas::initial(&recording, options)?;
    Ok(read(&recording, files, wanted, schemas, options, None))
}

/// Receives every record in time order, before the trackers.
type Observer<'o> = &'o mut dyn FnMut(&Record<'_>);

/// Reads `recording` into the `wanted` tables. With an observer, windows are read sequentially.
fn read(
    recording: &Recording<'_>,
    files: &Files,
    wanted: TableSet,
    mut schemas: Schemas,
    options: &Options,
    observer: Option<Observer<'_>>,
) -> Trace {
    let selection = Selection::new(wanted);
    let mut trace = describe(recording, files, wanted);
    let header = recording.header();
    let mut assembly =
        Assembly::new(recording.clock(), header.os_build, SystemTracker::new(recording), options.spill_store.clone());
    let mut walk_losses = onoff_etl::Losses::default();
    if selection.needs_survey {
        let survey = Survey::new(recording, &selection, files, options);
        survey.teach(&mut schemas);
        if wanted.contains(TableName::Inventory) {
            // The events are counted when they are read.
            let counts_messages = !wanted.contains(TableName::Events);
            trace.inventory = Some(survey.inventory(&schemas, counts_messages.then_some(&mut trace.losses)));
        }
        assembly.replay(&survey.machine);
        // Both passes have the same losses.
        if !selection.needs_ordered_pass {
            walk_losses = survey.losses;
        }
    }
    if let Some(observer) = observer {
        read_observed(files, recording, &selection, &schemas, &mut assembly, options, observer);
    } else if selection.needs_ordered_pass {
        read_in_order(files, recording, &selection, &schemas, &mut assembly, options);
    }
    walk_losses.merge(&assembly.finish(&mut schemas, &mut trace));
    losses::count(recording, &walk_losses, &mut trace.losses);
    trace
}

fn describe(recording: &Recording<'_>, files: &Files, wanted: TableSet) -> Trace {
    let header = recording.header();
    let clock = recording.clock();
    Trace {
        recorder: header.logger_name.clone(),
        files: recording
            .files()
            .iter()
            .zip(files.iter())
            .map(|(summary, opened)| RecordingFile {
                name: summary.name.clone(),
                content: "",
                bytes: opened.stored_bytes(),
                compressed: summary.compression.is_some(),
                finished: summary.is_finished,
            })
            .collect(),
        clock: Clock {
            start_unix_ns: Some(clock.start_unix_ns()),
            utc_bias_minutes: Some(header.time_zone.bias_minutes),
            source: clock.kind().name(),
            ticks_per_second: clock.ticks_per_second(),
        },
        duration_ns: recording.duration_ns(),
        events_lost: total(recording, |header| header.events_lost),
        buffers_lost: total(recording, |header| header.buffers_lost),
        requested_tables: wanted,
        ..Trace::default()
    }
}

fn total(recording: &Recording<'_>, counter: impl Fn(&LogfileHeader) -> u32) -> u64 {
    recording.files().iter().map(|file| u64::from(counter(&file.header))).sum()
}

/// Target payload size of a window: large enough to outweigh the overhead of a window, small enough that several fit in
/// memory.
const WINDOW_BYTES: usize = 8 << 20;

/// Minimum number of buffers per processor in a window. Every processor's stream contributes at least one buffer to
/// each window, so a window with few buffers mostly repeats the buffers of its neighbors.
const MIN_BUFFERS_PER_PROCESSOR: usize = 4;

fn windows<'r>(recording: &'r Recording<'r>) -> Vec<Window<'r>> {
    let payload_bytes: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
    let header = recording.header();
    // Count the actual streams, because the header may be wrong.
    let streams = recording.buffers().iter().map(|buffer| usize::from(buffer.cpu) + 1).max().unwrap_or(1);
    let round_bytes = (header.buffer_size as usize).saturating_mul(streams);
    let target_bytes = WINDOW_BYTES.max(round_bytes.saturating_mul(MIN_BUFFERS_PER_PROCESSOR));
    recording.windows(payload_bytes.div_ceil(target_bytes).max(1))
}

fn read_in_order(
    files: &Files,
    recording: &Recording<'_>,
    selection: &Selection,
    schemas: &Schemas,
    assembly: &mut Assembly<'_>,
    options: &Options,
) {
    let clock = recording.clock();
    let windows = windows(recording);
    let total_bytes: u64 = windows.iter().map(|window| window.size() as u64).sum();
    let mut done_bytes = 0;
    let mut previous_batch: Vec<WindowRows> = Vec::new();
    // While the windows of one batch are decoded, the previous batch is absorbed.
    let batch_size = (rayon::current_num_threads() * 2).max(1);
    for windows in windows.chunks(batch_size) {
        let (decoded, ()) = rayon::join(
            || decode(windows, selection, schemas, clock),
            || absorb(assembly, std::mem::take(&mut previous_batch)),
        );
        previous_batch = decoded;
        for window in windows {
            done_bytes += window.size() as u64;
            for range in window.releasable_ranges() {
                files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
            }
        }
        options.report(Progress { done_bytes, total_bytes });
    }
    absorb(assembly, previous_batch);
}

/// Reads like [`read_in_order`], but sequentially, so that `observer` sees each record before the next record is read.
fn read_observed(
    files: &Files,
    recording: &Recording<'_>,
    selection: &Selection,
    schemas: &Schemas,
    assembly: &mut Assembly<'_>,
    options: &Options,
    observer: Observer<'_>,
) {
    let windows = windows(recording);
    let total_bytes: u64 = windows.iter().map(|window| window.size() as u64).sum();
    let mut done_bytes = 0;
    for window in windows {
        if selection.needs_ordered_pass {
            assembly.absorb(WindowRows::decode(&window, selection, schemas, recording.clock(), &mut *observer));
        } else {
            // The survey has already counted these losses.
            let _ = window.for_each(|record| {
                observer(record);
                ControlFlow::<Infallible>::Continue(())
            });
        }
        done_bytes += window.size() as u64;
        for range in window.releasable_ranges() {
            files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
        }
        options.report(Progress { done_bytes, total_bytes });
    }
}

fn decode(
    windows: &[Window<'_>],
    selection: &Selection,
    schemas: &Schemas,
    clock: &onoff_etl::Clock,
) -> Vec<WindowRows> {
    windows.par_iter().map(|window| WindowRows::decode(window, selection, schemas, clock, |_| {})).collect()
}

fn absorb(assembly: &mut Assembly<'_>, windows: Vec<WindowRows>) {
    for window in windows {
        assembly.absorb(window);
    }
}
