//! Which files of traces are read, and by which clock their times are.

use onoff_ftrace::{Kind, Losses as TraceLosses};
use onoff_trace::{Losses, TableName, counters};

use super::trace_file::TraceFile;
use crate::clocks::{Evidence, Pairs, SourceClock};
use crate::parts::{Part, PartKind};
use onoff_input::error::Error;

counters! {
    SAME_TIME = "traces_of_same_time", Notice, [],
        "a second trace of a time that another trace covers was left out; usually the same trace in another form";
    UNKNOWN_CLOCK = "trace_clock_unknown", Warning, [],
        "nothing in the recording says which clock stamped the trace; its times are taken as CLOCK_MONOTONIC. Keep the file trace_clock next to it";
    NOT_CONVERTED = "trace_clock_not_converted", Warning, [],
        "the trace's clock is not the axis and nothing in the recording compares the two; its times are taken as they are";
    OVERWRITTEN = "trace_events_lost", Error, [],
        "the tracer dropped events because its buffer was full; record with a larger buffer or fewer events";
    GAPS = "trace_gaps", Error, [],
        "the tracer says that events are missing and not how many; record with a larger buffer or fewer events";
    UNREADABLE_LINES = "trace_lines_unreadable", Warning, [],
        "lines of the trace that are no event were left out";
    UNKNOWN_EVENTS = "trace_events_unknown", Warning, [],
        "records of the trace whose event the file does not describe were left out";
    DAMAGED = "trace_records_damaged", Error, [],
        "pages or records of the trace that are cut or contradict themselves were left out";
    UNREADABLE_SYMBOLS = "trace_symbols_unreadable", Warning, [Methods, Images],
        "lines of the trace's lists of the kernel's functions and of processes' mapped files that are neither were left out";
    TEXT_STACKS = "text_stacks", Notice, [Stacks],
        "call stacks in a trace's text, which has no addresses, are in no table; the file that 'trace-cmd extract' or 'trace-cmd record' writes has them";
}

/// The traces that are read.
#[derive(Debug, Default)]
pub(crate) struct Chosen<'f> {
    pub(crate) traces: Vec<TraceFile<'f>>,
    left_out: u64,
    first_left_out: Option<String>,
    clock_unknown: bool,
    not_converted: bool,
}

impl Chosen<'_> {
    pub(crate) fn count_losses(&self, losses: &mut Losses) {
        losses.add(&SAME_TIME, self.left_out);
        if let Some(name) = &self.first_left_out {
            losses.place(&SAME_TIME, || name.clone());
        }
        losses.add(&UNKNOWN_CLOCK, self.clock_unknown.into());
        losses.add(&NOT_CONVERTED, self.not_converted.into());
    }
}

/// Chooses among the traces in `parts`: of several of the same time, the file of trace-cmd, which has ns where text has µs.
/// Adds what is known of their clock to `pairs`.
pub(crate) fn chosen<'f>(parts: &[Part<'f>], pairs: &mut Pairs) -> Result<Chosen<'f>, Error> {
    let mut traces: Vec<Part<'f>> =
        parts.iter().filter(|part| matches!(part.kind, PartKind::TraceText | PartKind::TraceData)).copied().collect();
    let mut chosen = Chosen::default();
    if traces.is_empty() {
        return Ok(chosen);
    }
    traces.sort_by_key(|part| (part.kind != PartKind::TraceData, std::cmp::Reverse(part.bytes.len())));
    let mut taken: Vec<(u64, u64)> = Vec::new();
    let only = traces.len() == 1;
    for part in traces {
        let trace = TraceFile::open(part)?;
        if only {
            chosen.traces.push(trace);
            break;
        }
        let Some((first, last)) = span(&trace) else { continue };
        if taken.iter().any(|&(from, until)| first <= until && from <= last) {
            chosen.left_out += 1;
            chosen.first_left_out.get_or_insert(part.name.to_owned());
        } else {
            taken.push((first, last));
            chosen.traces.push(trace);
        }
    }
    match clock(&chosen, parts).as_deref() {
        Some("mono") => pairs.is_axis(SourceClock::Trace),
        Some("boot") => pairs.is_same(SourceClock::Trace, SourceClock::BootTime),
        named => {
            compare(&chosen, pairs);
            if !pairs.knows(SourceClock::Trace) {
                chosen.clock_unknown = named.is_none();
                // `local` and `global`, the kernel's defaults, are what its log is stamped by.
                pairs.is_same(SourceClock::Trace, SourceClock::KernelLog);
                chosen.not_converted = named.is_some() && !pairs.knows(SourceClock::KernelLog);
            }
        }
    }
    Ok(chosen)
}

/// Times of the first and last event.
fn span(trace: &TraceFile<'_>) -> Option<(u64, u64)> {
    let mut span: Option<(u64, u64)> = None;
    trace.events(|event| {
        let (first, last) = span.get_or_insert((event.time_ns, event.time_ns));
        *first = (*first).min(event.time_ns);
        *last = (*last).max(event.time_ns);
    });
    span
}

/// The clock's name as the kernel gives it: from the trace's own file, from `trace_clock`, or from the kernel's command line.
fn clock(chosen: &Chosen<'_>, parts: &[Part<'_>]) -> Option<String> {
    let own = chosen.traces.iter().find_map(TraceFile::clock);
    own.map(str::to_owned).or_else(|| {
        parts.iter().find_map(|part| {
            let text = std::str::from_utf8(part.bytes).ok()?;
            match part.kind {
                PartKind::TraceClock => {
                    let (_, rest) = text.split_once('[')?;
                    Some(rest.split_once(']')?.0.to_owned())
                }
                PartKind::CommandLine => {
                    text.split_ascii_whitespace().find_map(|word| word.strip_prefix("trace_clock=")).map(str::to_owned)
                }
                _ => None,
            }
        })
    })
}

/// Compares the trace's clock with readings of the monotonic clock that somebody wrote into the trace. A reading is older than the
/// event that holds it by the time writing took, so that the one with the smallest difference counts; a difference that such a
/// delay can explain says that the clock is the axis itself, whatever a file kept from another moment says.
fn compare(chosen: &Chosen<'_>, pairs: &mut Pairs) {
    const DELAY_NS: i64 = 5_000_000;
    const HOW: &str = "monotonic clock read and written into the trace";
    for trace in &chosen.traces {
        let mut best: Option<(i64, i64)> = None;
        trace.events(|event| {
            if matches!(event.name, "tracing_mark_write" | "print")
                && let Some(Kind::Mark(text)) = Kind::of(&event)
                && let Ok(time) = i64::try_from(event.time_ns)
                && let Some(mono) = super::clock_readings(text, &mut Pairs::default())
                && best.is_none_or(|(than, by)| time.saturating_sub(mono) < than.saturating_sub(by))
            {
                best = Some((time, mono));
            }
        });
        match best {
            Some((time, mono)) if (0..DELAY_NS).contains(&time.saturating_sub(mono)) => {
                pairs.is_axis(SourceClock::Trace);
                return;
            }
            Some((time, mono)) => {
                pairs.add(SourceClock::Trace, Evidence::Reading, HOW, time, mono);
            }
            None => {}
        }
    }
}

/// Counts what reading the trace called `name` lost.
pub(crate) fn count(name: &str, lost: &TraceLosses, losses: &mut Losses) {
    losses.add(&OVERWRITTEN, lost.overwritten);
    losses.add(&GAPS, lost.gaps);
    losses.add(&UNREADABLE_LINES, lost.unreadable_lines);
    losses.add(&UNKNOWN_EVENTS, lost.unknown_events);
    losses.add(&DAMAGED, lost.damaged);
    losses.add(&UNREADABLE_SYMBOLS, lost.unreadable_symbols);
    losses.add(&TEXT_STACKS, lost.text_stacks);
    if let Some(offset) = lost.first_at {
        for counter in [&UNREADABLE_LINES, &UNKNOWN_EVENTS, &DAMAGED] {
            losses.place(counter, || format!("{name}, byte offset {offset:#x}"));
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
