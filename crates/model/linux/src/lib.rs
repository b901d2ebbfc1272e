//! Reads Linux recordings into the tables of the model: a trace, the kernel log, the service manager's properties, the
//! journal and firmware times, in any combination.
//!
//! The axis is `CLOCK_MONOTONIC` in ns. Zero is the kernel's start; firmware and loader have negative times.
//!
//! | module | contents |
//! | --- | --- |
//! | [`parts`], `recognition` | the kinds of files, and how to recognize them |
//! | [`clocks`] | converts other clocks to the axis |
//! | [`assembly`] | collects the rows of all parts |
//! | `processes` | processes and threads |
//! | `ftrace`, `kernel_log`, `journal`, `units`, `manager`, `dump`, `firmware`, `machine` | readers, one per kind of part |
//! | `power`, `devices` | rows that several readers share |
//!
//! # How to add a reader
//!
//! The module of a reader has two functions, both called from here:
//!
//! * `clock_pairs(part, &mut ClockPairs)` adds the moments that the part recorded on two clocks. It is called for every
//!   part before any part is read.
//! * `read(part, &Clocks, &mut Assembly)` adds rows. Times that are not on the axis are converted with
//!   [`Clocks::axis_ns`](clocks::Clocks::axis_ns); strings are interned with
//!   [`Assembly::intern`](assembly::Assembly::intern); unreadable data increments a [`Counter`](onoff_trace::Counter) of the
//!   module in `assembly.losses`; the latest time read is passed to [`Assembly::extend_to`](assembly::Assembly::extend_to).
//!
//! Parts are read in the order of [`PartKind`], journals last, because the service manager's properties come first.
//! If several files of a kind differ (one collected while running, one by a hook at the end), each is read in the given
//! order, so a reader must accept duplicate rows. Files with identical bytes are read once.

#![forbid(unsafe_code)]

mod assembly;
mod blame;
mod boot_failures;
mod bootchart;
mod bootchart_samples;
mod clocks;
mod critical_chain;
mod devices;
mod dump;
pub mod event_stream;
mod firmware;
mod ftrace;
mod identity;
mod journal;
mod journal_export;
mod journal_files;
mod journal_json;
mod journal_rows;
mod journal_survey;
mod journal_text;
mod journal_verbose;
mod kernel_log;
mod log_gaps;
mod log_lines;
mod machine;
mod manager;
mod network;
mod parts;
mod password_prompts;
mod perf_map;
mod power;
mod processes;
mod recognition;
mod serial_console;
mod shutdown_request;
mod startup_plot;
mod startup_times;
mod unit_dependencies;
mod unit_messages;
mod unit_reconciliation;
mod unit_rows;
mod units;

use hashbrown::HashSet;
use onoff_trace::{Clock, Losses, RecordedBoot, RecordingFile, TableSet, Trace, counters, milestone};

use assembly::Assembly;
use clocks::{ClockPairs, SourceClock};
use journal_files::Journals;
use journal_survey::JournalSurvey;
use kernel_log::Messages;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::sniff::RecordingKind;
use parts::PartKind;

pub use identity::PartIdentity;
pub use identity::{MAX_IDENTITY_BYTES, Relation};
pub use parts::Part;
pub use recognition::{advice, is_firmware_table, is_informational, is_part, part_kind};

counters! {
    OTHER_LOGS = "kernel_logs_of_other_boots", Notice, [],
        "Kernel logs of other boots in the same folder or archive, such as /var/log/dmesg.0, were skipped. Open them separately.";
    FILES_SKIPPED = "files_skipped", Notice, [],
        "Files in the folder or archive were skipped because they are unreadable or not part of a recording.";
}

/// Reads a recording into the requested tables.
pub fn open(files: &Files, wanted: TableSet, options: &Options) -> Result<Trace, Error> {
    let BootInputs { parts, journals, boots, pairs, other_logs } = BootInputs::from_files(files, options)?;
    let mut trace = read_boot(&parts, &journals, &boots, pairs, wanted)?;
    trace.losses.add(&OTHER_LOGS, other_logs.len() as u64);
    if let Some(name) = other_logs.first() {
        trace.losses.set_first_place(&OTHER_LOGS, || (*name).to_owned());
    }
    let skipped = files.skipped();
    trace.losses.add(&FILES_SKIPPED, skipped.len() as u64);
    if let Some(name) = skipped.first() {
        trace.losses.set_first_place(&FILES_SKIPPED, || name.clone());
    }
    Ok(trace)
}

/// Reads the boots of a recording's journals one after another. `choose` gets all boots in chronological order and
/// returns the indexes of the boots to read; `visit` gets the trace of each. The journals are scanned only once.
///
/// # Errors
/// Files that are not a Linux recording, or a journal that is damaged beyond use.
pub fn read_each_boot(
    files: &Files,
    wanted: TableSet,
    choose: &dyn Fn(&[RecordedBoot]) -> Vec<usize>,
    visit: &mut dyn FnMut(&RecordedBoot, &Trace),
) -> Result<Vec<RecordedBoot>, Error> {
    files.require_kind(RecordingKind::Linux)?;
    let mut parts = parts_of(files);
    let journals = Journals::from_parts(&parts)?;
    let survey = JournalSurvey::scan(&journals, None, None)?;
    // All other parts belong to a single boot.
    parts.retain(|part| part.kind.is_journal());
    let boots = survey.clone().finish(&mut Losses::new());
    for index in choose(&boots) {
        let Some(boot) = boots.get(index) else { continue };
        let selected = survey.with_selected(index);
        let mut pairs = ClockPairs::default();
        selected.clock_pairs(&mut pairs);
        visit(boot, &read_boot(&parts, &journals, &selected, pairs, wanted)?);
    }
    Ok(boots)
}

/// Reads one boot of `journals` and the other parts, which belong to the same boot.
fn read_boot(
    parts: &[Part<'_>],
    journals: &Journals<'_>,
    boots: &JournalSurvey,
    mut pairs: ClockPairs,
    wanted: TableSet,
) -> Result<Trace, Error> {
    let mut assembly = Assembly::new(wanted);
    let traces = ftrace::selection::select_traces(parts, &mut pairs)?;
    ftrace::read(&traces, &pairs.clone().finish(), &mut assembly);
    let messages = kernel_messages(parts, journals, boots.boot());
    add_pairs_from_rows(&messages, &assembly, &mut pairs);
    let clocks = pairs.finish();
    kernel_log::read(&messages, &clocks, &mut assembly);
    for part in parts {
        read(part, &clocks, &mut assembly);
    }
    for journal in journals.iter() {
        journal_rows::read(journal, boots.boot(), &clocks, &mut assembly);
    }
    if journals.is_empty() {
        journal_rows::read_kernel_log(&messages, &clocks, &mut assembly);
    }
    log_lines::read(&messages, (journals, boots.boot()), &clocks, &mut assembly);
    if boots.has_whole_seconds() || messages.has_whole_seconds() {
        assembly.log_resolution_ns = 1_000_000_000;
    }
    assembly.add_log_gaps();
    firmware::read(parts, &mut assembly);
    power::fill_sleep_durations(&clocks, &mut assembly);
    let mut trace = Trace {
        recorder: recorder(parts),
        files: parts
            .iter()
            .map(|part| RecordingFile {
                name: part.name.to_owned(),
                content: part.kind.as_str(),
                bytes: part.bytes.len() as u64,
                compressed: false,
                finished: true,
            })
            .collect(),
        clock: Clock {
            start_unix_ns: clocks.first_offset_ns(SourceClock::RealTime).and_then(i64::checked_neg),
            source: "CLOCK_MONOTONIC",
            ticks_per_second: 1_000_000_000,
            ..Clock::default()
        },
        clock_conversions: clocks.summary(),
        requested_tables: wanted,
        log_resolution_ns: assembly.log_resolution_ns,
        ..Trace::default()
    };
    trace.boots = boots.clone().finish(&mut trace.losses);
    journals.count_losses(&mut trace.losses);
    unit_reconciliation::reconcile(&mut assembly);
    password_prompts::add(&mut assembly);
    assembly.finish(&mut trace);
    Ok(trace)
}

/// Inputs for one boot: the parts and the clock pairs known before traces and logs are read. Only the journals are kept
/// if the selected boot differs from the boot of the other parts.
struct BootInputs<'f> {
    parts: Vec<Part<'f>>,
    journals: Journals<'f>,
    boots: JournalSurvey,
    pairs: ClockPairs,
    /// Names of kernel logs of other boots.
    other_logs: Vec<&'f str>,
}

impl<'f> BootInputs<'f> {
    fn from_files(files: &'f Files, options: &Options) -> Result<Self, Error> {
        let mut parts = parts_of(files);
        let other_logs = keep_one_kernel_log(&mut parts);
        let mut pairs = clock_pairs_of_parts(&parts);
        let wall_clock_ns = pairs.first_offset_ns(SourceClock::RealTime);
        let journals = Journals::from_parts(&parts)?;
        let boots = JournalSurvey::scan(&journals, options.boot.as_deref(), wall_clock_ns)?;
        if boots.is_another_boot(wall_clock_ns) {
            // The other parts belong to a different boot.
            parts.retain(|part| part.kind.is_journal());
            pairs = clock_pairs_of_parts(&parts);
        }
        boots.clock_pairs(&mut pairs);
        Ok(Self { parts, journals, boots, pairs, other_logs })
    }
}

/// Recognizes the parts, drops duplicates and sorts them in reading order.
fn parts_of(files: &Files) -> Vec<Part<'_>> {
    let mut seen = HashSet::new();
    let mut parts: Vec<Part<'_>> = files
        .iter()
        .filter_map(|file| {
            let kind = part_kind(file.name(), file.bytes())?;
            Some(Part { kind, name: file.name(), bytes: file.bytes() })
        })
        .filter(|part| seen.insert((part.kind, part.bytes)))
        .collect();
    parts.sort_by_key(|part| part.kind);
    parts
}

/// Keeps the kernel logs of a single boot: the boot of the unit properties if they match a log, otherwise the latest
/// boot by the wall clock, otherwise the first by name, since Linux numbers older logs. Returns the names of the
/// removed logs.
fn keep_one_kernel_log<'f>(parts: &mut Vec<Part<'f>>) -> Vec<&'f str> {
    let is_kernel_log = |part: &Part<'_>| matches!(part.kind, PartKind::KernelLog | PartKind::KernelLogJson);
    if parts.iter().filter(|part| is_kernel_log(part)).count() < 2 {
        return Vec::new();
    }
    let mut logs: Vec<(&'f str, PartIdentity)> = parts
        .iter()
        .filter(|part| is_kernel_log(part))
        .map(|part| (part.name, PartIdentity::from_part(part)))
        .collect();
    logs.sort_by_key(|(name, _)| *name);
    let boot_identities: Vec<PartIdentity> = parts
        .iter()
        .filter(|part| matches!(part.kind, PartKind::Units | PartKind::Manager | PartKind::ClockReadings))
        .map(PartIdentity::from_part)
        .collect();
    let matches_units =
        |log: &PartIdentity| boot_identities.iter().any(|identity| log.relation(identity) == Relation::Same);
    let selected =
        logs.iter().rev().max_by_key(|(_, log)| (matches_units(log), log.start_s())).map(|(_, log)| log.clone());
    let Some(selected) = selected else { return Vec::new() };
    let other_logs: Vec<&str> =
        logs.iter().filter(|(_, log)| selected.relation(log) == Relation::Different).map(|(name, _)| *name).collect();
    parts.retain(|part| !is_kernel_log(part) || !other_logs.contains(&part.name));
    other_logs
}

fn recorder(parts: &[Part<'_>]) -> String {
    let has = |kinds: &[PartKind]| parts.iter().any(|part| kinds.contains(&part.kind));
    let name = if has(&[PartKind::TraceText, PartKind::TraceData]) {
        "ftrace"
    } else if parts.iter().any(|part| part.kind.is_journal()) {
        "systemd-journald"
    } else if has(&[
        PartKind::Units,
        PartKind::Manager,
        PartKind::Dump,
        PartKind::StartupTimes,
        PartKind::StartupPlot,
        PartKind::CriticalChain,
    ]) {
        "systemd"
    } else if has(&[PartKind::BootchartProcesses]) {
        "bootchart"
    } else {
        "kernel log"
    };
    name.to_owned()
}

fn clock_pairs_of_parts(parts: &[Part<'_>]) -> ClockPairs {
    let mut pairs = ClockPairs::default();
    for part in parts {
        clock_pairs(part, &mut pairs);
    }
    pairs
}

/// Adds the clock pairs that can be read from a part alone.
fn clock_pairs(part: &Part<'_>, pairs: &mut ClockPairs) {
    match part.kind {
        PartKind::Units => units::clock_pairs(part, pairs),
        PartKind::Manager => manager::clock_pairs(part, pairs),
        PartKind::Dump => dump::clock_pairs(part, pairs),
        PartKind::ClockReadings => {
            for line in String::from_utf8_lossy(part.bytes).lines() {
                ftrace::clock_readings(line, pairs);
            }
        }
        _ => {}
    }
}

/// Collects the kernel messages from the kernel logs if there are any, otherwise from the journals.
fn kernel_messages(parts: &[Part<'_>], journals: &Journals<'_>, boot: Option<u128>) -> Messages {
    let mut messages = Messages::default();
    let logs = || {
        let is_log = |kind| matches!(kind, PartKind::KernelLog | PartKind::KernelLogJson);
        parts.iter().filter(move |part| is_log(part.kind))
    };
    for part in logs() {
        messages.add_part(part);
    }
    if logs().next().is_none() {
        for journal in journals.iter() {
            messages.add_journal(journal, boot);
        }
    }
    messages.sort();
    messages
}

/// Adds clock pairs that are available only after the traces are read: clock readings in marks, and steps that both the
/// trace and the kernel log recorded.
fn add_pairs_from_rows(messages: &Messages, assembly: &Assembly, pairs: &mut ClockPairs) {
    if let Some(mark) = assembly.texts.find(milestone::MARK) {
        for row in assembly.milestones.iter().filter(|row| row.name == mark) {
            ftrace::clock_readings(assembly.texts.get(row.detail), pairs);
        }
    }
    kernel_log::clock::add_pairs(messages, assembly, pairs);
}

/// Adds the power counters saved with clock readings: `mono=66.1 … power.total_hw_sleep_us=1200
/// power.BAT0.energy_uwh=50000000`.
fn power_readings(part: &Part<'_>, assembly: &mut Assembly) {
    for line in String::from_utf8_lossy(part.bytes).lines() {
        let Some(time_ns) = ftrace::clock_readings(line, &mut ClockPairs::default()) else { continue };
        for word in line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("power.")) {
            if let Some((name, value)) = word.split_once('=')
                && let Ok(value) = value.parse()
            {
                assembly.add_milestone(time_ns, milestone::POWER_READING, name, Some(value), "clock readings");
            }
        }
    }
}

fn read(part: &Part<'_>, clocks: &clocks::Clocks, assembly: &mut Assembly) {
    match part.kind {
        PartKind::Units => units::read(part, clocks, assembly),
        PartKind::Manager => manager::read(part, clocks, assembly),
        PartKind::Dump => dump::read(part, clocks, assembly),
        PartKind::StartupTimes | PartKind::CriticalChain | PartKind::Blame => {
            startup_times::read_outputs(part, assembly);
        }
        PartKind::StartupPlot => startup_plot::read(part, assembly),
        PartKind::BootchartHeader | PartKind::BootchartProcesses | PartKind::BootchartTotals => {
            bootchart::read(part, assembly);
        }
        PartKind::ClockReadings => power_readings(part, assembly),
        PartKind::PerfMap => perf_map::read(part, assembly),
        _ => machine::read(part, assembly),
    }
}
