//! The verbs that list rows of any range.

use onoff::{List, ListAnswer, ListQuestion, NoList, OutOfRange, Refusal, Session};
use onoff_analysis::lists::functions::TimeOf;
use onoff_report::text::quantity::duration;
use onoff_report::{folded, speedscope, svg};

use super::functions;
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::lists::FunctionTask;
use crate::output::Destination;

pub fn run(
    recording: Recording,
    list: &List,
    (question, format): (&ListQuestion, TableFormat),
    to: &Destination,
) -> Result<(), Failure> {
    let (session, answer) = super::ask(recording, |session| session.list(list, question))?;
    let answer = answer.map_err(refused)?;
    write(&session, &answer, format, to)
}

/// In which functions the time went, as a list or as a picture.
pub fn functions(recording: Recording, task: FunctionTask, to: &Destination) -> Result<(), Failure> {
    let FunctionTask { of, by, question, format, symbols } = task;
    let mut name = functions::names(symbols);
    if !format.is_picture() {
        let (session, answer) = super::ask(recording, |session| session.functions(of, &by, &question, &mut name))?;
        return write(&session, &answer.map_err(refused)?, format, to);
    }
    let (_, answer) = super::ask(recording, |session| session.flame(of, &question, &mut name))?;
    let (flame, scope) = answer.map_err(refused)?;
    let (title, what) = match of {
        TimeOf::Samples => ("Where the processors were", "samples"),
        TimeOf::Waits => ("Where threads waited", "waits"),
        TimeOf::DiskRequests => ("Who asked the disks", "disk requests"),
        TimeOf::HardFaults => ("Who waited for pages from disks", "hard faults"),
    };
    let (from, until) = (duration(scope.range.start_ns), duration(scope.range.end_ns));
    to.write(|out| {
        match format {
            TableFormat::Folded => folded::write_flame(&flame, out)?,
            TableFormat::Speedscope => speedscope::write(&flame, title, out)?,
            _ => svg::flame::write(&flame, title, &format!("{what}, {from} to {until}"), out)?,
        }
        Ok(())
    })
}

fn write(session: &Session, answer: &ListAnswer, format: TableFormat, to: &Destination) -> Result<(), Failure> {
    to.write(|out| {
        match format {
            TableFormat::Text => answer.write_text(out)?,
            TableFormat::Html => answer.write_html(out)?,
            TableFormat::Json => answer.write_json(&[session.provenance()?], out)?,
            // Pictures come from elsewhere.
            _ => answer.write_csv(out)?,
        }
        Ok(())
    })
}

fn refused(refusal: Refusal<NoList>) -> Failure {
    match refusal {
        Refusal::Unreadable(error) => error.into(),
        Refusal::Nothing(NoList::Column(error)) => Failure::WrongUsage(format!("--sort: {error}")),
        Refusal::Nothing(error @ NoList::OfNoProcess(_)) => Failure::WrongUsage(format!("--process: {error}")),
        Refusal::Nothing(NoList::Phase(error)) => Failure::NothingToAnswer(error.to_string()),
        Refusal::Nothing(NoList::Range(error @ OutOfRange::Order { .. })) => {
            Failure::WrongUsage(format!("--range: {error}"))
        }
        Refusal::Nothing(NoList::Range(error)) => Failure::NothingToAnswer(format!("--range: {error}")),
        Refusal::Nothing(NoList::Nothing(nothing)) => Failure::NothingToAnswer(nothing),
    }
}
