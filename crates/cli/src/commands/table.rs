//! What all verbs share whose answer is a table: the part of the recording asked for, and how the answer is shown.

use onoff_analysis::Scope;
use onoff_report::json::{self, document::Document};
use onoff_report::table::{TableReport, arrange, write_csv, write_text};
use onoff_report::text::quantity::duration;
use onoff_report::text::time_point::TimePoint;
use onoff_trace::{SystemKind, Tables, Trace};

use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::table::TableQuestion;
use crate::output::Destination;

/// Reads the tables, asks `list` about the part of the recording asked for, and shows its answer.
pub fn run<T: TableReport + Document>(
    recording: Recording,
    tables: Tables,
    question: TableQuestion,
    destination: &Destination,
    list: impl FnOnce(&Trace, &Scope) -> T,
) -> Result<(), Failure> {
    let (session, trace) = super::open(recording, tables)?;
    let scope = scope_of(&trace, question.range)?.of_processes(question.processes);
    let mut report = list(&trace, &scope);
    let left_out =
        arrange(&mut report, &question.order).map_err(|error| Failure::WrongUsage(format!("--sort: {error}")))?;
    if report.rows().is_empty() {
        let is_linux = trace.system.kind == SystemKind::Linux;
        let on_linux = report.nothing_on_linux().filter(|_| is_linux);
        let nothing = on_linux.map_or_else(|| report.nothing(), str::to_owned);
        return Err(Failure::NothingToAnswer(format!("{nothing}; {}", what_it_is(&trace))));
    }
    destination.write(|out| {
        match question.format {
            TableFormat::Text => write_text(&report, left_out, out)?,
            TableFormat::Json => json::document::write(&[session.provenance()?], &report, out)?,
            TableFormat::Csv => write_csv(&report, out)?,
        }
        Ok(())
    })
}

/// What the recording is, for who got no answer from it.
fn what_it_is(trace: &Trace) -> String {
    let recorder = match trace.recorder.as_str() {
        "" => "an unnamed session",
        name => name,
    };
    format!("it was recorded by {recorder} over {}, and 'onoff info' lists what it holds", duration(trace.length_ns()))
}

/// The part of the recording asked for.
pub fn scope_of(trace: &Trace, range: Option<(TimePoint, TimePoint)>) -> Result<Scope, Failure> {
    let Some((from, until)) = range else {
        return Ok(Scope::whole(trace));
    };
    let resolve = |point: TimePoint| {
        point.resolve_on(&trace.clock).ok_or_else(|| {
            Failure::NothingToAnswer("--range: the time lies outside what the recording can hold".to_owned())
        })
    };
    Scope::between(trace, resolve(from)?, resolve(until)?).ok_or_else(|| {
        Failure::NothingToAnswer(format!(
            "--range: holds none of the recording, which is from {} to {}",
            duration(trace.start_ns),
            duration(trace.duration_ns)
        ))
    })
}
