//! `-a cpudisk`: CPU and disk time by process or thread.

use crate::cpu_disk;
use crate::layouts::cpudisk;
use onoff_evidence::Scope;
use onoff_report::text::time_point::TimePoint;
use onoff_sources::Pattern;
use onoff_trace::{TableName, Trace, milestone};
use onoff_usage::cpu::processors;

use crate::action::{Action, Query};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "cpudisk",
    summary: "CPU and disk time by process or thread, per interval (text, µs)",
    help: "  -thread           by thread instead of by process
  -exc_dpcisr       exclude the time of interrupts and DPCs
  -pids ID…         only these processes
  -exes NAME…       only processes with these image names; * matches any text
  -marks [TEXT…]    intervals between these marks; without a text, marks are ignored
  -times T1 T2 …    intervals between these times
                    default: intervals between all marks, or the whole recording if it has no marks",
    ..Action::with_parser(parse)
};

#[derive(Default)]
struct Options {
    threads: bool,
    without_interrupts: bool,
    processes: Vec<Pattern>,
    marks: Vec<Pattern>,
    /// `-marks` without a text.
    ignore_marks: bool,
    times: Vec<TimePoint>,
}

fn parse(words: &mut Words) -> Result<Query, Failure> {
    let mut options = Options::default();
    while let Some(option) = words.option()? {
        match option.as_str() {
            "thread" => options.threads = true,
            "exc_dpcisr" => options.without_interrupts = true,
            "pids" | "exes" => {
                let names = words.list(&option, "a process")?;
                let patterns = names.iter().map(|name| Pattern::new(name));
                options.processes.extend(patterns);
            }
            "marks" => {
                let texts = words.list(&option, "a mark").unwrap_or_default();
                options.ignore_marks |= texts.is_empty();
                options.marks.extend(texts.iter().map(|text| Pattern::new(text)));
            }
            "times" => {
                for text in words.list(&option, "a time")? {
                    let time =
                        TimePoint::parse(&text).ok_or_else(|| usage(format!("-times: invalid time '{text}'")))?;
                    options.times.push(time);
                }
            }
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let wanted = cpu_disk::tables(options.threads).with(TableName::Milestones);
    Ok(Query::tables(wanted, move |trace, out| {
        let is_empty = trace.context_switches.is_empty() && trace.samples.is_empty() && trace.disk_ios.is_empty();
        let processors = processors(trace);
        let boundaries = interval_boundaries(trace, &options)?;
        let mut has_written = false;
        for interval in boundaries.windows(2) {
            let Some(scope) = Scope::between(trace, interval[0], interval[1]) else { continue };
            let scope = scope.with_processes(options.processes.clone());
            let rows = cpu_disk::rows(trace, &scope, options.threads, options.without_interrupts);
            if has_written {
                writeln!(out)?;
            }
            has_written = true;
            cpudisk::write(&rows, scope.range, processors, options.threads, out)?;
        }
        if !has_written {
            return Err(usage("-times: all intervals are outside the recording"));
        }
        no_data_if(
            is_empty,
            "no CPU or disk use recorded; this needs the kernel's CSWITCH or PROFILE, and DISK_IO events",
        )
    }))
}

/// Returns the boundaries of the requested intervals, ascending, in ns.
fn interval_boundaries(trace: &Trace, options: &Options) -> Result<Vec<i64>, Failure> {
    let mut boundaries = Vec::new();
    for time in &options.times {
        let time_ns = time.resolve_on(&trace.clock);
        boundaries.push(time_ns.ok_or_else(|| usage("-times: the time is out of range"))?);
    }
    if options.times.is_empty() && options.ignore_marks && options.marks.is_empty() {
        boundaries = vec![0, i64::MAX];
    } else if options.times.is_empty() {
        let marks = trace.milestones.iter().filter(|row| {
            let text = trace.text(row.detail);
            trace.text(row.name) == milestone::MARK
                && (options.marks.is_empty() || options.marks.iter().any(|pattern| pattern.matches(text)))
        });
        boundaries.extend(marks.map(|row| row.time_ns));
        if boundaries.len() < 2 {
            if !options.marks.is_empty() {
                return Err(usage("-marks: fewer than two marks match"));
            }
            boundaries = vec![0, i64::MAX];
        }
    }
    boundaries.sort();
    boundaries.dedup();
    if boundaries.len() < 2 {
        return Err(usage("-times needs at least two different times"));
    }
    Ok(boundaries)
}
