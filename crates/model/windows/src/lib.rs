//! Windows recordings: Event Trace Logs into the tables of the model.
//!
//! Reading goes in two tiers. Records whose meaning stands alone (context switches, samples, interrupts: nearly all of
//! a large recording) are decoded window by window, side by side on all processors, straight into columns. The others
//! are set aside and followed in order by small trackers, one per subject. Names and owners are resolved last, because
//! a recording says at its end what the files, threads and devices of its beginning were called.
//!
//! | module | question |
//! | --- | --- |
//! | `kernel_events`, `phase_events` | which events are there, of which table, and what are they called? |
//! | [`selection`] | what is done with a record? |
//! | [`window_rows`] | what does one window of time hold? |
//! | [`assembly`] | what do the windows hold together? |
//! | `processes`, `threads`, `images`, `stacks`, `stack_keys`, `disk`, `file_names`, `file_operations`, `file_events`, `hard_faults`, `system` | trackers of kernel events, fed as windows come |
//! | `phases`: `milestones`, `services`, `devices`, `activities` | trackers of the transition's own events, fed when all is known |
//! | `generic_events`, [`survey`] | what else is there, and how much of everything? |
//! | [`counters`], `losses` | what was gone on without? |
//! | [`event_stream`] | the events one by one instead of tables |

#![forbid(unsafe_code)]

mod activities;
mod activity_rules;
mod assembly;
mod compact_switches;
mod counters;
mod devices;
mod disk;
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
mod set_aside;
pub use losses::count as count_losses;
pub use schemas::describes_events;
mod methods;
mod milestone_rules;
mod milestones;
mod names;
mod notifications;
mod phase_events;
mod phases;
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
use onoff_trace::{Clock, RecordingFile, TableName, Tables, Trace};
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

/// Reads an Event Trace Log, of one or several files, into the wanted tables.
pub fn open(files: &Files, wanted: Tables, options: &Options) -> Result<Trace, Error> {
    let schemas = schemas::known(options)?;
    let recording = Recording::open(&files.inputs())?;
    Ok(read(&recording, files, wanted, schemas, options, None))
}

/// Sees every record in the order of time, on its way to the trackers.
type Observer<'o> = &'o mut dyn FnMut(&Record<'_>);

/// Reads `recording` into the wanted tables. With an observer the windows are read one after the other.
fn read(
    recording: &Recording<'_>,
    files: &Files,
    wanted: Tables,
    mut schemas: Schemas,
    options: &Options,
    observer: Option<Observer<'_>>,
) -> Trace {
    let selection = Selection::new(wanted);
    let mut trace = describe(recording, files, wanted);
    let header = recording.header();
    let mut assembly =
        Assembly::new(recording.clock(), header.os_build, SystemTracker::new(recording), options.shelf.clone());
    let mut walk_losses = onoff_etl::Losses::default();
    if selection.survey {
        let survey = Survey::of(recording, &selection, files, options);
        survey.teach(&mut schemas);
        if wanted.contains(TableName::Inventory) {
            trace.inventory = Some(survey.inventory(&schemas));
        }
        assembly.replay(&survey.machine);
        // What both walks lose is the same.
        if !selection.in_order {
            walk_losses = survey.losses;
        }
    }
    if let Some(observer) = observer {
        read_observed(files, recording, &selection, &schemas, &mut assembly, options, observer);
    } else if selection.in_order {
        read_in_order(files, recording, &selection, &schemas, &mut assembly, options);
    }
    walk_losses.merge(&assembly.finish(&mut schemas, &mut trace));
    losses::count(recording, &walk_losses, &mut trace.losses);
    trace
}

fn describe(recording: &Recording<'_>, files: &Files, wanted: Tables) -> Trace {
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
                finished: summary.finished,
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
        wanted,
        ..Trace::default()
    }
}

fn total(recording: &Recording<'_>, counter: impl Fn(&LogfileHeader) -> u32) -> u64 {
    recording.files().iter().map(|file| u64::from(counter(&file.header))).sum()
}

/// Bytes of payload that a window is aimed to hold: enough to make up for its own cost, few enough that several fit in
/// memory at once.
const WINDOW_BYTES: usize = 8 << 20;

/// Every processor's stream contributes a buffer to each window; a window that holds few of each mostly repeats its
/// neighbors' buffers.
const BUFFERS_PER_PROCESSOR: usize = 8;

fn windows<'r>(recording: &'r Recording<'r>) -> Vec<Window<'r>> {
    let payload: usize = recording.buffers().iter().map(|buffer| buffer.fill).sum();
    let header = recording.header();
    // As many as there are, whatever the header says.
    let streams = recording.buffers().iter().map(|buffer| usize::from(buffer.cpu) + 1).max().unwrap_or(1);
    let round = (header.buffer_size as usize).saturating_mul(streams);
    let target = WINDOW_BYTES.max(round.saturating_mul(BUFFERS_PER_PROCESSOR));
    recording.windows(payload.div_ceil(target).max(1))
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
    let mut before: Vec<WindowRows> = Vec::new();
    // While the windows of one wave are decoded, the pieces of the wave before are put together.
    let wave = (rayon::current_num_threads() * 2).max(1);
    for windows in windows.chunks(wave) {
        let (pieces, ()) = rayon::join(
            || decode(windows, selection, schemas, clock),
            || absorb(assembly, std::mem::take(&mut before)),
        );
        before = pieces;
        for window in windows {
            done_bytes += window.size() as u64;
            for range in window.finished_ranges() {
                files.release(range.file, range.bytes.start as u64..range.bytes.end as u64);
            }
        }
        options.report(Progress { done_bytes, total_bytes });
    }
    absorb(assembly, before);
}

/// As [`read_in_order`], one window after the other, so that `observer` sees each record before the next one is read.
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
        if selection.in_order {
            assembly.absorb(WindowRows::decode(&window, selection, schemas, recording.clock(), &mut *observer));
        } else {
            // What is lost here the survey has counted.
            let _ = window.for_each(|record| {
                observer(record);
                ControlFlow::<Infallible>::Continue(())
            });
        }
        done_bytes += window.size() as u64;
        for range in window.finished_ranges() {
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

fn absorb(assembly: &mut Assembly<'_>, pieces: Vec<WindowRows>) {
    for piece in pieces {
        assembly.absorb(piece);
    }
}
