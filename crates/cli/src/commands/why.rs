//! `onoff why`.

use std::io::{self, Write};

use onoff::{OutOfRange, Session};
use onoff_analysis::waits::CriticalPath;
use onoff_analysis::why::WhyReport;
use onoff_analysis::{Interval, flame};
use onoff_report::{folded, json, svg, text};

use super::functions;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::why::{WhyFormat, WhyTask};
use crate::output::Destination;

pub fn run(recording: Recording, task: WhyTask, destination: &Destination) -> Result<(), Failure> {
    let format = task.format;
    let (session, report) = super::ask(recording, |session| answer(session, task))?;
    let report = report?;
    destination.write(|out| {
        match format {
            WhyFormat::Text(options) => text::why::write(&report, &options, out)?,
            WhyFormat::Json => json::document::write(&[session.provenance()?], &report, out)?,
            WhyFormat::Folded => folded::write(&report, out)?,
            WhyFormat::Svg => svg::chain::write(&report, out)?,
            WhyFormat::FlameGraph => flame_graph(&report, out)?,
        }
        Ok(())
    })
}

/// All stretches as one flame graph: who waited for whom, down to what the time was.
fn flame_graph(report: &WhyReport, out: &mut dyn Write) -> io::Result<()> {
    let paths: Vec<CriticalPath> = report.stretches.iter().map(|stretch| stretch.path.clone()).collect();
    let from_ns = paths.iter().map(|path| path.start_ns).min().unwrap_or(0);
    let until_ns = paths.iter().map(|path| path.end_ns).max().unwrap_or(0);
    let flame = flame::of_paths(&paths, Interval::new(from_ns, until_ns));
    svg::flame::write(&flame, "Who waited for whom", "on the critical path", out)
}

fn answer(session: &Session, mut task: WhyTask) -> Result<WhyReport, Failure> {
    // All that is asked below, read at once.
    session.tables(Session::TABLES_OF_WAITS)?;
    if let Some(at) = task.at {
        let no_time = |_: OutOfRange| {
            "--at: the recording does not know real time, or the time is outside what it can hold".to_owned()
        };
        task.question.at_ns = Some(session.time(at).map_err(|refusal| Failure::refused(refusal, no_time))?);
    }
    if let Some(name) = &task.phase {
        let phase = session.phase(name).map_err(Failure::without_an_answer)?;
        task.question.within = Some(Interval::new(phase.start_ns, phase.end_ns));
    }
    let mut report = session.why(&task.question).map_err(Failure::without_an_answer)?;
    let servers_left_alone = functions::is_offline(&task.symbols) && !task.symbols.path.servers().is_empty();
    session.name_functions(&mut report, functions::finder(task.symbols), servers_left_alone)?;
    Ok(report)
}
