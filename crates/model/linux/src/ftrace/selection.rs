//! Selects the trace files to read and determines the clock of their times.

use onoff_ftrace::{Kind, Losses as TraceLosses};
use onoff_trace::{Losses, TableName, counters};

use super::trace_file::TraceFile;
use crate::clocks::{ClockPairs, Evidence, SourceClock};
use crate::parts::{Part, PartKind};
use onoff_input::error::Error;

counters! {
    SAME_TIME = "traces_of_same_time", Notice, [],
        "A second trace of the same time was skipped; it is usually the same trace in another format.";
    UNKNOWN_CLOCK = "trace_clock_unknown", Warning, [],
        "The trace's clock was not recorded; its times are taken as CLOCK_MONOTONIC. Save the file trace_clock with the trace.";
    NOT_CONVERTED = "trace_clock_not_converted", Warning, [],
        "The trace's clock differs from CLOCK_MONOTONIC and the recording has no pair of times to convert it; its times are used unchanged.";
    OVERWRITTEN = "trace_events_lost", Error, [],
        "The tracer dropped events because its buffer was full. Record with a larger buffer or fewer events.";
    GAPS = "trace_gaps", Error, [],
        "The tracer dropped an unknown number of events. Record with a larger buffer or fewer events.";
    UNREADABLE_LINES = "trace_lines_unreadable", Warning, [],
        "Lines of the trace that are not events were skipped.";
    UNKNOWN_EVENTS = "trace_events_unknown", Warning, [],
        "Trace records were skipped because the file does not describe their event.";
    DAMAGED = "trace_records_damaged", Error, [],
        "Truncated or inconsistent pages or records of the trace were skipped.";
    UNREADABLE_SYMBOLS = "trace_symbols_unreadable", Warning, [Methods, Images],
        "Unreadable lines in the trace's lists of kernel functions and mapped files were skipped.";
    TEXT_STACKS = "text_stacks", Notice, [Stacks],
        "Call stacks in trace text were skipped: text has no addresses. Use the file written by 'trace-cmd extract' or 'trace-cmd record'.";
}

/// The traces to read.
#[derive(Debug, Default)]
pub(crate) struct SelectedTraces<'f> {
    pub(crate) traces: Vec<TraceFile<'f>>,
    skipped: u64,
    first_skipped: Option<String>,
    clock_unknown: bool,
    not_converted: bool,
}

impl SelectedTraces<'_> {
    pub(crate) fn count_losses(&self, losses: &mut Losses) {
        losses.add(&SAME_TIME, self.skipped);
        if let Some(name) = &self.first_skipped {
            losses.set_first_place(&SAME_TIME, || name.clone());
        }
        losses.add(&UNKNOWN_CLOCK, self.clock_unknown.into());
        losses.add(&NOT_CONVERTED, self.not_converted.into());
    }
}

/// Selects the traces to read from `parts`. If several cover the same time, selects the trace-cmd file, which has ns
/// where text has µs. Adds what is known about the clock of the traces to `pairs`.
pub(crate) fn select_traces<'f>(parts: &[Part<'f>], pairs: &mut ClockPairs) -> Result<SelectedTraces<'f>, Error> {
    let mut traces: Vec<Part<'f>> =
        parts.iter().filter(|part| matches!(part.kind, PartKind::TraceText | PartKind::TraceData)).copied().collect();
    let mut selected = SelectedTraces::default();
    if traces.is_empty() {
        return Ok(selected);
    }
    traces.sort_by_key(|part| (part.kind != PartKind::TraceData, std::cmp::Reverse(part.bytes.len())));
    let mut covered: Vec<(u64, u64)> = Vec::new();
    let is_only_trace = traces.len() == 1;
    for part in traces {
        let trace = TraceFile::open(part)?;
        if is_only_trace {
            selected.traces.push(trace);
            break;
        }
        let Some((first, last)) = time_range(&trace) else { continue };
        if covered.iter().any(|&(begin, end)| first <= end && begin <= last) {
            selected.skipped += 1;
            selected.first_skipped.get_or_insert(part.name.to_owned());
        } else {
            covered.push((first, last));
            selected.traces.push(trace);
        }
    }
    match clock(&selected, parts).as_deref() {
        Some("mono") => pairs.set_axis(SourceClock::Trace),
        Some("boot") => pairs.set_same(SourceClock::Trace, SourceClock::BootTime),
        clock_name => {
            compare(&selected, pairs);
            if !pairs.has(SourceClock::Trace) {
                selected.clock_unknown = clock_name.is_none();
                // `local` and `global`, the kernel's defaults, are the clock of its log.
                pairs.set_same(SourceClock::Trace, SourceClock::KernelLog);
                selected.not_converted = clock_name.is_some() && !pairs.has(SourceClock::KernelLog);
            }
        }
    }
    Ok(selected)
}

/// Returns the times of the first and last event.
fn time_range(trace: &TraceFile<'_>) -> Option<(u64, u64)> {
    let mut range: Option<(u64, u64)> = None;
    trace.events(|event| {
        let (first, last) = range.get_or_insert((event.time_ns, event.time_ns));
        *first = (*first).min(event.time_ns);
        *last = (*last).max(event.time_ns);
    });
    range
}

/// Returns the clock's name as the kernel spells it: from the trace file, `trace_clock`, or the kernel command line.
fn clock(selected: &SelectedTraces<'_>, parts: &[Part<'_>]) -> Option<String> {
    let clock_in_trace = selected.traces.iter().find_map(TraceFile::clock);
    clock_in_trace.map(str::to_owned).or_else(|| {
        parts.iter().find_map(|part| {
            let text = std::str::from_utf8(part.bytes).ok()?;
            match part.kind {
                PartKind::TraceClock => {
                    let (_, selected_clock) = text.split_once('[')?;
                    Some(selected_clock.split_once(']')?.0.to_owned())
                }
                PartKind::CommandLine => {
                    text.split_ascii_whitespace().find_map(|word| word.strip_prefix("trace_clock=")).map(str::to_owned)
                }
                _ => None,
            }
        })
    })
}

/// Compares the trace's clock with readings of the monotonic clock that a recorder wrote into the trace. A reading is
/// older than its event by the time the write took, so the smallest difference counts. If that delay explains the
/// difference, the trace's clock is the monotonic clock, even if a file saved at another time names a different clock.
fn compare(selected: &SelectedTraces<'_>, pairs: &mut ClockPairs) {
    const MAX_DELAY_NS: i64 = 5_000_000;
    const HOW: &str = "monotonic clock read and written into the trace";
    for trace in &selected.traces {
        let mut best: Option<(i64, i64)> = None;
        trace.events(|event| {
            if matches!(event.name, "tracing_mark_write" | "print")
                && let Some(Kind::Mark(text)) = Kind::from_event(&event)
                && let Ok(time) = i64::try_from(event.time_ns)
                && let Some(mono) = super::clock_readings(text, &mut ClockPairs::default())
                && best.is_none_or(|(best_time, best_mono)| {
                    time.saturating_sub(mono) < best_time.saturating_sub(best_mono)
                })
            {
                best = Some((time, mono));
            }
        });
        match best {
            Some((time, mono)) if (0..MAX_DELAY_NS).contains(&time.saturating_sub(mono)) => {
                pairs.set_axis(SourceClock::Trace);
                return;
            }
            Some((time, mono)) => {
                pairs.add(SourceClock::Trace, Evidence::Reading, HOW, time, mono);
            }
            None => {}
        }
    }
}

/// Adds the losses of the trace named `name`.
pub(crate) fn count_losses(name: &str, lost: &TraceLosses, losses: &mut Losses) {
    losses.add(&OVERWRITTEN, lost.overwritten);
    losses.add(&GAPS, lost.gaps);
    losses.add(&UNREADABLE_LINES, lost.unreadable_lines);
    losses.add(&UNKNOWN_EVENTS, lost.unknown_events);
    losses.add(&DAMAGED, lost.damaged);
    losses.add(&UNREADABLE_SYMBOLS, lost.unreadable_symbols);
    losses.add(&TEXT_STACKS, lost.text_stacks);
    if let Some(offset) = lost.first_offset {
        for counter in [&UNREADABLE_LINES, &UNKNOWN_EVENTS, &DAMAGED] {
            losses.set_first_place(counter, || format!("{name}, byte offset {offset:#x}"));
        }
    }
}

/// Tables that events of a trace fill.
pub(crate) const TABLES: &[TableName] = &[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::ReadyThreads,
    TableName::Interrupts,
    TableName::DiskIos,
    TableName::FileIos,
    TableName::DeviceOperations,
    TableName::PowerRequests,
    TableName::CallGraphFunctions,
    TableName::Stacks,
    TableName::Methods,
    TableName::Images,
    TableName::Activities,
    TableName::Milestones,
    TableName::Inventory,
];
