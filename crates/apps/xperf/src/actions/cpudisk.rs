//! `-a cpudisk`: processor and disk time by process or thread.

use crate::cpu_disk;
use crate::layouts::cpudisk;
use onoff_evidence::Scope;
use onoff_report::text::time_point::TimePoint;
use onoff_sources::Pattern;
use onoff_trace::{TableName, Trace, milestone};
use onoff_usage::cpu::processors;

use crate::action::{Action, Question};
use crate::command_words::{Words, usage};
use crate::failure::{Failure, no_data_if};

pub const ACTION: Action = Action {
    name: "cpudisk",
    summary: "processor and disk time of each process or thread, by interval (text, µs)",
    help: "  -thread           threads, not processes
  -exc_dpcisr       without the time that interrupts and DPCs took
  -pids ID…         only these processes
  -exes NAME…       only processes of these images, * for any text
  -marks [TEXT…]    intervals between these marks; none without a text
  -times T1 T2 …    intervals between these times
                    without either, intervals between all marks; the whole recording where there is none",
    ..Action::of(parse)
};

#[derive(Default)]
struct Options {
    threads: bool,
    without_interrupts: bool,
    processes: Vec<Pattern>,
    marks: Vec<Pattern>,
    /// `-marks` without a list: marks make no intervals.
    without_marks: bool,
    times: Vec<TimePoint>,
}

fn parse(words: &mut Words) -> Result<Question, Failure> {
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
                options.without_marks |= texts.is_empty();
                options.marks.extend(texts.iter().map(|text| Pattern::new(text)));
            }
            "times" => {
                for text in words.list(&option, "a time")? {
                    let time = TimePoint::parse(&text).ok_or_else(|| usage(format!("-times: '{text}' is no time")))?;
                    options.times.push(time);
                }
            }
            _ => return Err(words.unknown(ACTION.name, &option)),
        }
    }
    let wanted = cpu_disk::wanted(options.threads).with(TableName::Milestones);
    Ok(Question::tables(wanted, move |trace, out| {
        let nothing = trace.context_switches.is_empty() && trace.samples.is_empty() && trace.disk_ios.is_empty();
        let processors = processors(trace);
        let cuts = cuts(trace, &options)?;
        let mut any = false;
        for ends in cuts.windows(2) {
            let Some(scope) = Scope::between(trace, ends[0], ends[1]) else { continue };
            let scope = scope.of_processes(options.processes.clone());
            let rows = cpu_disk::rows(trace, &scope, options.threads, options.without_interrupts);
            if any {
                writeln!(out)?;
            }
            any = true;
            cpudisk::write(&rows, scope.range, processors, options.threads, out)?;
        }
        if !any {
            return Err(usage("-times: no interval holds any of the recording's time"));
        }
        no_data_if(
            nothing,
            "nobody used processors or disks; this needs the kernel's CSWITCH or PROFILE, and DISK_IO events",
        )
    }))
}

/// The ends of the intervals asked for.
fn cuts(trace: &Trace, options: &Options) -> Result<Vec<i64>, Failure> {
    let mut cuts = Vec::new();
    for time in &options.times {
        let time_ns = time.resolve_on(&trace.clock);
        cuts.push(time_ns.ok_or_else(|| usage("-times: the time is outside what the recording can hold"))?);
    }
    if options.times.is_empty() && options.without_marks && options.marks.is_empty() {
        cuts = vec![0, i64::MAX];
    } else if options.times.is_empty() {
        let marks = trace.milestones.iter().filter(|row| {
            let text = trace.text(row.detail);
            trace.text(row.name) == milestone::MARK
                && (options.marks.is_empty() || options.marks.iter().any(|pattern| pattern.matches(text)))
        });
        cuts.extend(marks.map(|row| row.time_ns));
        if cuts.len() < 2 {
            if !options.marks.is_empty() {
                return Err(usage("-marks: the recording has fewer than two such marks"));
            }
            cuts = vec![0, i64::MAX];
        }
    }
    cuts.sort();
    cuts.dedup();
    if cuts.len() < 2 {
        return Err(usage("an interval needs two times"));
    }
    Ok(cuts)
}
