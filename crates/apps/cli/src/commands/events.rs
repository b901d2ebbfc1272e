//! `onoff events`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use onoff::{EventQuery, EventsError, QueryError, RangeError, Session};
use onoff_report::text;
use onoff_report::text::quantity::duration;
use onoff_sections::json::event::EventLines;
use onoff_sources::{EventFilter, EventWriter, Pattern};
use onoff_trace::{DescribedEvent, Losses, SystemKind};
use onoff_xperf::layouts::dumper::Dumper;

use crate::arguments::{EventsArguments, PlainFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording, time_range};
use crate::output::Destination;
use crate::progress::ProgressLine;

pub fn resolve(arguments: EventsArguments) -> Result<Invocation, Failure> {
    let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
    let filter = EventFilter {
        providers: patterns(&arguments.providers),
        events: patterns(&arguments.events),
        processes: patterns(&arguments.processes),
        activities: arguments.activities.iter().map(|text| activity(text)).collect::<Result<_, _>>()?,
        ..EventFilter::default()
    };
    let range = time_range(arguments.range.as_deref())?;
    let query = EventQuery { filter, range, phase: arguments.phase };
    let format = arguments.format;
    Ok(Invocation::new(arguments.recording, arguments.output, move |recording, destination| {
        run(recording, &query, format, destination)
    }))
}

/// Parses an activity id: a GUID, with or without braces.
fn activity(text: &str) -> Result<u128, Failure> {
    let digits: String = text.trim_matches(['{', '}']).split('-').collect();
    let id = Some(digits).filter(|digits| digits.len() == 32).and_then(|digits| u128::from_str_radix(&digits, 16).ok());
    id.ok_or_else(|| Failure::usage(format!("--activity: '{text}' is not a GUID")))
}

fn run(
    recording: Recording,
    query: &EventQuery,
    format: PlainFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let mut options = recording.options;
    let files = {
        let progress = ProgressLine::reading();
        options.progress = Some(progress.listener());
        super::open_files(&recording.files, recording.local_root.as_deref(), recording.redact, &options)?
    };
    // No progress line if rows go to the terminal.
    let progress = (destination.path.is_some() || !io::stdout().is_terminal()).then(ProgressLine::reading);
    options.progress = progress.as_ref().map(ProgressLine::listener);
    let session = Session::new(files, options.read()?);
    let events = session.events(query).map_err(failure)?;
    if let Some(phase) = events.phase() {
        // On stderr, to keep the rows machine-readable. A closed stderr does not affect them.
        let (start, end) = (duration(phase.start_ns), duration(phase.end_ns));
        let _ = writeln!(io::stderr(), "onoff: {phase}: {start} to {end}");
    }
    let mut visited = 0;
    let mut losses = Losses::new();
    let mut is_interrupted = false;
    // All formats escape control characters, so there are no color sequences to remove, which would take longer than
    // everything else.
    let mut destination = destination.clone();
    destination.display.is_unstyled = true;
    destination.write(|out| {
        let end = match (format, events.system()) {
            (PlainFormat::Json, _) => {
                events.write_each(|| Box::new(JsonLines::default()), |text| stop_on_error(out.write_all(text)))
            }
            (PlainFormat::Text, SystemKind::Linux) => {
                events.for_each(|event| stop_on_error(text::events::write(event, out)))
            }
            (PlainFormat::Text, _) => {
                let mut dumper = Dumper::new();
                dumper.begin(events.header(), out)?;
                events.for_each(|event| stop_on_error(dumper.event(event, out)))
            }
        }?;
        visited = end.visited;
        losses = end.losses;
        match end.outcome {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => {
                is_interrupted = true;
                Err(error.into())
            }
        }
    })?;
    drop(progress);
    if is_interrupted {
        // The reader closed the pipe, so the counts are incomplete.
        return Ok(());
    }
    show_losses(&losses);
    if visited == 0 {
        return Err(Failure::no_data("no event matches"));
    }
    Ok(())
}

fn failure(error: QueryError<EventsError>) -> Failure {
    match error {
        QueryError::Unanswerable(EventsError::Range(error @ RangeError::Order { .. })) => {
            Failure::usage(format!("--range: {error}"))
        }
        error => Failure::from_query_error_with(error, |reason| match reason {
            EventsError::Range(error) => format!("--range: {error}"),
            EventsError::Phase(error) => error.to_string(),
        }),
    }
}

/// Prints losses on stderr, to keep the rows machine-readable.
fn show_losses(losses: &Losses) {
    if losses.is_empty() {
        return;
    }
    // A closed stderr is not an error.
    let _ = text::losses::write(losses, &mut anstream::stderr().lock() as &mut dyn Write);
}

/// Stops the event stream after a write error.
fn stop_on_error(result: io::Result<()>) -> ControlFlow<io::Error> {
    result.map_or_else(ControlFlow::Break, ControlFlow::Continue)
}

/// Writes each event as a line of JSON.
#[derive(Default)]
struct JsonLines(EventLines);

impl EventWriter for JsonLines {
    fn event(&mut self, event: &DescribedEvent<'_>, text: &mut Vec<u8>) {
        self.0.append(event, text);
    }
}
