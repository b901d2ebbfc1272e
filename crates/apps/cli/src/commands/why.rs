//! `onoff why`.

use std::io::{self, Write};

use onoff::{RangeError, Session};
use onoff_blame::waits::{CriticalPath, PathOptions};
use onoff_blame::why::{WhyError, WhyQuestion, WhyReport, WhyTarget};
use onoff_evidence::Interval;
use onoff_lists::flame;
use onoff_report::folded;
use onoff_report::svg;
use onoff_report::text;
use onoff_report::text::time_point::TimePoint;
use onoff_report::text::why::WhyTextOptions;
use onoff_sections::json;
use onoff_sources::Pattern;

use super::functions;
use super::symbols::SymbolTask;
use crate::arguments::why::{WhyArguments, WhyFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

struct Task {
    /// The option that names the target, for error messages, e.g. `--service Spooler`; `None` for phases.
    target_option: Option<String>,
    /// The question without its times, which depend on the recording's clock and phases.
    question: WhyQuestion,
    time: Option<TimePoint>,
    /// Restricts the question to this phase.
    phase: Option<String>,
    symbols: SymbolTask,
}

/// Flame graphs and pictures use every step.
const ALL_STEPS: PathOptions = PathOptions { min_step_ns: 0, max_steps: 1 << 22 };

pub fn resolve(arguments: WhyArguments) -> Result<Invocation, Failure> {
    let symbols = SymbolTask::resolve(arguments.symbols);
    let time = match &arguments.at {
        Some(text) => Some(TimePoint::parse(text).ok_or_else(|| {
            Failure::no_data(format!(
                "--at: '{text}' is not a time; use 1234us, 245ms, 12.5s or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]"
            ))
        })?),
        None => None,
    };
    let phase = arguments.phase.clone();
    let target_option = [
        ("process", arguments.process.clone()),
        ("thread", arguments.thread.map(|id| id.to_string())),
        ("service", arguments.service.clone()),
        ("device", arguments.device.clone()),
    ]
    .into_iter()
    .find_map(|(option, value)| value.map(|value| format!("--{option} {value}")));
    let pattern = |text: Option<String>| text.map(|text| Pattern::new(&text));
    let target = if let Some(process) = pattern(arguments.process) {
        WhyTarget::Process(process)
    } else if let Some(tid) = arguments.thread {
        WhyTarget::Thread(tid)
    } else if let Some(service) = pattern(arguments.service) {
        WhyTarget::Service(service)
    } else if let Some(device) = pattern(arguments.device) {
        WhyTarget::Device(device)
    } else if arguments.phase.as_ref().is_some_and(String::is_empty) {
        WhyTarget::LongestPhase(arguments.transition)
    } else {
        WhyTarget::Phase(pattern(arguments.phase), arguments.transition)
    };
    let (format, steps) = (arguments.format, arguments.steps);
    let path_options = match format {
        WhyFormat::Text => PathOptions { min_step_ns: 0, ..PathOptions::default() },
        WhyFormat::Json => PathOptions::default(),
        WhyFormat::Folded | WhyFormat::Svg | WhyFormat::Flamegraph => ALL_STEPS,
    };
    let question = WhyQuestion {
        target,
        at_ns: None,
        within: None,
        min_duration_ns: i64::from(arguments.min) * 1_000_000,
        max_intervals: Some(arguments.top),
        include_work_waits: arguments.idle,
        path: path_options,
    };
    let phase = phase.filter(|_| !matches!(question.target, WhyTarget::Phase(..) | WhyTarget::LongestPhase(_)));
    let task = Task { target_option, question, time, phase, symbols };
    let invocation = Invocation::new(arguments.recording, arguments.output, move |recording, destination| {
        run(recording, task, (format, steps), destination)
    });
    Ok(invocation.single_recording().text_if(format == WhyFormat::Text))
}

fn run(
    recording: Recording,
    task: Task,
    (format, steps): (WhyFormat, usize),
    destination: &Destination,
) -> Result<(), Failure> {
    let (session, report) = super::query(recording, |session| answer(session, task))?;
    let report = report?;
    if report.intervals.is_empty() && matches!(format, WhyFormat::Folded | WhyFormat::Svg | WhyFormat::Flamegraph) {
        return Err(Failure::no_data(
            "a Windows event log does not record threads, so there is no critical path to draw",
        ));
    }
    destination.write(|out| {
        match format {
            WhyFormat::Text => text::why::write(&report, &WhyTextOptions { steps, ..WhyTextOptions::default() }, out)?,
            WhyFormat::Json => json::document::write(&[session.provenance()?], &report, out)?,
            WhyFormat::Folded => folded::write(&report, out)?,
            WhyFormat::Svg => svg::chain::write(&report, out)?,
            WhyFormat::Flamegraph => flame_graph(&report, out)?,
        }
        Ok(())
    })
}

/// Draws all critical paths as one flame graph.
fn flame_graph(report: &WhyReport, out: &mut dyn Write) -> io::Result<()> {
    let paths: Vec<CriticalPath> = report.intervals.iter().map(|interval| interval.path.clone()).collect();
    let start_ns = paths.iter().map(|path| path.start_ns).min().unwrap_or(0);
    let end_ns = paths.iter().map(|path| path.end_ns).max().unwrap_or(0);
    let flame = flame::path_flame(&paths, Interval::new(start_ns, end_ns));
    svg::flame::write(&flame, "Waits", "on the critical path", out)
}

fn answer(session: &Session, mut task: Task) -> Result<WhyReport, Failure> {
    // Read all tables needed below in one pass.
    session.tables(Session::WAIT_TABLES)?;
    if let Some(time) = task.time {
        let describe =
            |_: RangeError| "--at: the time is out of range, or the recording has no wall-clock time".to_owned();
        task.question.at_ns =
            Some(session.resolve_time(time).map_err(|error| Failure::from_query_error_with(error, describe))?);
    }
    if let Some(name) = &task.phase {
        let phase = session.phase(name).map_err(Failure::from_query_error)?;
        task.question.within = Some(Interval::new(phase.start_ns, phase.end_ns));
    }
    let target_option = task.target_option.take();
    let describe = |reason: WhyError| match &target_option {
        Some(option) => format!("{option}: {reason}"),
        None => reason.to_string(),
    };
    let mut report = session.why(&task.question).map_err(|error| Failure::from_query_error_with(error, describe))?;
    let servers_skipped = functions::is_offline(&task.symbols) && !task.symbols.path.servers().is_empty();
    session.name_functions(&mut report, functions::finder(task.symbols), servers_skipped)?;
    Ok(report)
}
