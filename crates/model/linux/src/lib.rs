//! Linux recordings: a trace, the kernel's log, the service manager's account, the journal, firmware's times, in any
//! combination, into the tables of the model.
//!
//! The axis is `CLOCK_MONOTONIC`, ns, zero at the kernel's start; firmware and loader lie before it.
//!
//! | module | question |
//! | --- | --- |
//! | [`parts`], `recognition` | what is each file? |
//! | [`clocks`] | how do its times come onto the axis? |
//! | [`assembly`] | what do the parts hold together? |
//! | `processes` | who is who? |
//! | `ftrace`, `kernel_log`, `journal`, `units`, `manager`, `dump`, `firmware`, `machine` | what does one kind of part say? |
//! | `power`, `devices` | rows that several of these make |
//!
//! # How a part's reader plugs in
//!
//! Its module has two functions, both called from here:
//!
//! * `clock_pairs(part, &mut Pairs)`: adds what the part knows of other clocks (two times of one moment); called for every part
//!   before any is read.
//! * `read(part, &Clocks, &mut Assembly)`: adds rows. Times go through [`Clocks::axis_ns`](clocks::Clocks::axis_ns) where they
//!   are not of the axis already; texts through [`Assembly::text`](assembly::Assembly::text); what cannot be read is a
//!   [`Counter`](onoff_trace::Counter) of the module in `assembly.losses`; the latest time read goes to
//!   [`Assembly::reaches`](assembly::Assembly::reaches).
//!
//! Parts come in the order of [`PartKind`], the journals last: the service manager's own account comes before them. A part that several files hold
//! with other bytes (collected while running, and by a hook at the end) is read from each, in the order given: a reader must be
//! ready to meet a row again. Files with the same bytes are read once.

#![forbid(unsafe_code)]

mod assembly;
mod blame;
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
mod kernel_line;
mod kernel_log;
mod log_lines;
mod machine;
mod manager;
mod network;
mod parts;
mod perf_map;
mod power;
mod processes;
mod recognition;
mod shutdown_request;
mod start_chart;
mod startup_lengths;
mod time_span;
mod unit_account;
mod unit_dependencies;
mod unit_messages;
mod unit_names;
mod unit_rows;
mod units;

use hashbrown::HashSet;
use onoff_trace::{Clock, Losses, RecordedBoot, RecordingFile, Tables, Trace, counters, milestone};

use assembly::Assembly;
use clocks::{Pairs, SourceClock};
use journal_files::Journals;
use journal_survey::JournalSurvey;
use kernel_log::Messages;
use onoff_input::error::Error;
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::sniff::RecordingKind;
use parts::PartKind;

pub use identity::PartIdentity;
pub use identity::{IDENTITY_BYTES, Relation};
pub use parts::Part;
pub use recognition::{advice, is_firmware_table, is_for_people, is_part, kind_of};

counters! {
    OTHER_LOGS = "kernel_logs_of_other_boots", Notice, [],
        "kernel logs of other boots in the same folder or archive, such as /var/log/dmesg.0, were left out; open them by themselves";
    PASSED_OVER = "files_passed_over", Notice, [],
        "files in the folder or archive that are no part of a recording, or that cannot be read, were passed over";
}

/// Reads a recording into the wanted tables.
pub fn open(files: &Files, wanted: Tables, options: &Options) -> Result<Trace, Error> {
    let OneBoot { parts, journals, boots, pairs, other_logs } = OneBoot::of(files, options)?;
    let mut trace = read_boot(&parts, &journals, &boots, pairs, wanted)?;
    trace.losses.add(&OTHER_LOGS, other_logs.len() as u64);
    if let Some(name) = other_logs.first() {
        trace.losses.place(&OTHER_LOGS, || (*name).to_owned());
    }
    let passed_over = files.passed_over();
    trace.losses.add(&PASSED_OVER, passed_over.len() as u64);
    if let Some(name) = passed_over.first() {
        trace.losses.place(&PASSED_OVER, || name.clone());
    }
    Ok(trace)
}

/// Reads boots of a recording's journals one after the other, each by itself: of all that they hold, in the order in which they began,
/// those whose places `choose` gives. The journals are looked through once for all of them.
///
/// # Errors
/// Files that are no recording of Linux, or a journal damaged beyond use.
pub fn each_boot(
    files: &Files,
    wanted: Tables,
    choose: &dyn Fn(&[RecordedBoot]) -> Vec<usize>,
    each: &mut dyn FnMut(&RecordedBoot, &Trace),
) -> Result<Vec<RecordedBoot>, Error> {
    files.must_be(RecordingKind::Linux)?;
    let mut parts = parts_of(files);
    let journals = Journals::of(&parts)?;
    let survey = JournalSurvey::of(&journals, None, None)?;
    // Units, times and traces are of one boot, and say nothing of the others.
    parts.retain(|part| part.kind.is_journal());
    let boots = survey.clone().finish(&mut Losses::new());
    for place in choose(&boots) {
        let Some(boot) = boots.get(place) else { continue };
        let chosen = survey.choosing(place);
        let mut pairs = Pairs::default();
        chosen.clock_pairs(&mut pairs);
        each(boot, &read_boot(&parts, &journals, &chosen, pairs, wanted)?);
    }
    Ok(boots)
}

/// Reads one boot of `journals`, and the other parts, which are of it.
fn read_boot(
    parts: &[Part<'_>],
    journals: &Journals<'_>,
    boots: &JournalSurvey,
    mut pairs: Pairs,
    wanted: Tables,
) -> Result<Trace, Error> {
    let mut assembly = Assembly::new(wanted);
    let traces = ftrace::files::chosen(parts, &mut pairs)?;
    ftrace::read(&traces, &pairs.clone().finish(), &mut assembly);
    let messages = kernel_messages(parts, journals, boots.boot());
    pairs_of_rows(&messages, &assembly, &mut pairs);
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
    firmware::read(parts, &mut assembly);
    power::fill_slept(&clocks, &mut assembly);
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
        wanted,
        ..Trace::default()
    };
    trace.boots = boots.clone().finish(&mut trace.losses);
    journals.count_losses(&mut trace.losses);
    unit_account::settle(&mut assembly);
    assembly.finish(&mut trace);
    Ok(trace)
}

/// What is read of a recording: its parts, or of another boot than theirs the journals alone, and what is known of the clocks before
/// traces and logs are read.
struct OneBoot<'f> {
    parts: Vec<Part<'f>>,
    journals: Journals<'f>,
    boots: JournalSurvey,
    pairs: Pairs,
    /// Kernel logs that are of other boots than the one that is read.
    other_logs: Vec<&'f str>,
}

impl<'f> OneBoot<'f> {
    fn of(files: &'f Files, options: &Options) -> Result<Self, Error> {
        let mut parts = parts_of(files);
        let other_logs = leave_one_kernel_log(&mut parts);
        let mut pairs = clock_pairs_of(&parts);
        let wall_clock_ns = pairs.first_offset_ns(SourceClock::RealTime);
        let journals = Journals::of(&parts)?;
        let boots = JournalSurvey::of(&journals, options.boot.as_deref(), wall_clock_ns)?;
        if boots.is_another_boot(wall_clock_ns) {
            // The other parts are not of the boot that was chosen.
            parts.retain(|part| part.kind.is_journal());
            pairs = clock_pairs_of(&parts);
        }
        boots.clock_pairs(&mut pairs);
        Ok(Self { parts, journals, boots, pairs, other_logs })
    }
}

/// The files that say something, each content once, in the order in which they are read.
fn parts_of(files: &Files) -> Vec<Part<'_>> {
    let mut met = HashSet::new();
    let mut parts: Vec<Part<'_>> = files
        .iter()
        .filter_map(|file| {
            let kind = kind_of(file.name(), file.bytes())?;
            Some(Part { kind, name: file.name(), bytes: file.bytes() })
        })
        .filter(|part| met.insert((part.kind, part.bytes)))
        .collect();
    parts.sort_by_key(|part| part.kind);
    parts
}

/// Leaves of kernel logs of several boots those of one: of the boot whose units are told, else of the last by the wall clock, else of the first
/// log by name, as Linux numbers older ones. Gives the names of the others.
fn leave_one_kernel_log<'f>(parts: &mut Vec<Part<'f>>) -> Vec<&'f str> {
    let is_log = |part: &Part<'_>| matches!(part.kind, PartKind::KernelLog | PartKind::KernelLogJson);
    if parts.iter().filter(|part| is_log(part)).count() < 2 {
        return Vec::new();
    }
    let mut logs: Vec<(&'f str, PartIdentity)> =
        parts.iter().filter(|part| is_log(part)).map(|part| (part.name, PartIdentity::of(part))).collect();
    logs.sort_by_key(|(name, _)| *name);
    let others: Vec<PartIdentity> = parts
        .iter()
        .filter(|part| matches!(part.kind, PartKind::Units | PartKind::Manager | PartKind::ClockReadings))
        .map(PartIdentity::of)
        .collect();
    let of_units = |log: &PartIdentity| others.iter().any(|other| log.relation(other) == Relation::Same);
    let chosen = logs.iter().rev().max_by_key(|(_, log)| (of_units(log), log.start_s())).map(|(_, log)| log.clone());
    let Some(chosen) = chosen else { return Vec::new() };
    let other_logs: Vec<&str> =
        logs.iter().filter(|(_, log)| chosen.relation(log) == Relation::Different).map(|(name, _)| *name).collect();
    parts.retain(|part| !is_log(part) || !other_logs.contains(&part.name));
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
        PartKind::StartupLengths,
        PartKind::StartChart,
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

fn clock_pairs_of(parts: &[Part<'_>]) -> Pairs {
    let mut pairs = Pairs::default();
    for part in parts {
        clock_pairs(part, &mut pairs);
    }
    pairs
}

/// Pairs that the parts hold by themselves.
fn clock_pairs(part: &Part<'_>, pairs: &mut Pairs) {
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

/// The messages of the kernel's log: from its own parts, or else from the journal, which keeps them too.
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

/// Pairs that show only once the traces are read: readings of clocks in their marks, and what the kernel's log tells of the same
/// steps.
fn pairs_of_rows(messages: &Messages, assembly: &Assembly, pairs: &mut Pairs) {
    if let Some(mark) = assembly.texts.find(milestone::MARK) {
        for row in assembly.milestones.iter().filter(|row| row.name == mark) {
            ftrace::clock_readings(assembly.texts.get(row.detail), pairs);
        }
    }
    kernel_log::clock::pairs(messages, assembly, pairs);
}

/// What counters of power said when clocks were read: `mono=66.1 … power.total_hw_sleep_us=1200 power.BAT0.energy_uwh=50000000`.
fn power_readings(part: &Part<'_>, assembly: &mut Assembly) {
    for line in String::from_utf8_lossy(part.bytes).lines() {
        let Some(time_ns) = ftrace::clock_readings(line, &mut Pairs::default()) else { continue };
        for word in line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("power.")) {
            if let Some((which, value)) = word.split_once('=')
                && let Ok(value) = value.parse()
            {
                assembly.milestone(time_ns, milestone::POWER_READING, which, Some(value), "clock readings");
            }
        }
    }
}

fn read(part: &Part<'_>, clocks: &clocks::Clocks, assembly: &mut Assembly) {
    match part.kind {
        PartKind::Units => units::read(part, clocks, assembly),
        PartKind::Manager => manager::read(part, clocks, assembly),
        PartKind::Dump => dump::read(part, clocks, assembly),
        PartKind::StartupLengths => startup_lengths::read(part, assembly),
        PartKind::StartChart => start_chart::read(part, assembly),
        PartKind::CriticalChain => critical_chain::read(part, assembly),
        PartKind::Blame => blame::read(part, assembly),
        PartKind::BootchartHeader | PartKind::BootchartProcesses | PartKind::BootchartUse => {
            bootchart::read(part, assembly);
        }
        PartKind::ClockReadings => power_readings(part, assembly),
        PartKind::PerfMap => perf_map::read(part, assembly),
        _ => machine::read(part, assembly),
    }
}
