//! `onoff events`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use onoff_analysis::transition::PHASE_TABLES;
use onoff_report::json;
use onoff_report::text::quantity::duration;
use onoff_report::text::time_point::TimePoint;
use onoff_report::text::{self, losses};
use onoff_sources::{EventFilter, EventStream, Files, LinuxEventStream, Options, RecordingKind, StreamEnd};
use onoff_trace::{DescribedEvent, Losses, StreamHeader};
use onoff_xperf::layouts::dumper::Dumper;

use crate::arguments::PlainFormat;
use crate::failure::Failure;
use crate::invocation::{EventQuestion, Recording};
use crate::output::Destination;
use crate::progress::ProgressLine;

pub fn run(recording: Recording, question: EventQuestion, destination: &Destination) -> Result<(), Failure> {
    let mut options = recording.options;
    let files = {
        let line = ProgressLine::reading();
        options.progress = Some(line.listener());
        super::files_of(&recording.files, recording.this_computer.as_deref(), &options)?
    };
    options.progress = None;
    let stream = Stream::open(&files, &options.read()?)?;
    let mut filter = question.filter;
    if let Some(name) = &question.phase {
        let trace = onoff_sources::read_tables(&files, PHASE_TABLES, &options.read()?)?;
        let phase = super::phase(&trace, name)?;
        say_range(&phase.to_string(), phase.start_ns, phase.end_ns);
        filter.from_ns = Some(phase.start_ns);
        filter.until_ns = Some(phase.end_ns);
    }
    if let Some((from, until)) = question.range {
        filter.from_ns = Some(resolve(from, stream.header())?);
        filter.until_ns = Some(resolve(until, stream.header())?);
        onoff::check_order(filter.from_ns.unwrap_or(i64::MIN), filter.until_ns.unwrap_or(i64::MAX))
            .map_err(|error| Failure::WrongUsage(format!("--range: {error}")))?;
    }
    // Rows on the same terminal are progress enough.
    let line = (destination.path.is_some() || !io::stdout().is_terminal()).then(ProgressLine::reading);
    options.progress = line.as_ref().map(ProgressLine::listener);
    let options = options.read()?;
    let mut shown = 0;
    let mut lost = Losses::new();
    destination.write(|out| {
        let mut rows = Rows::begin(question.format, &stream, out)?;
        let end = stream.for_each(&filter, &options, |event| match rows.write(event, out) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        });
        shown = end.shown;
        lost = end.losses;
        files.check_complete()?;
        match end.outcome {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error.into()),
        }
    })?;
    drop(line);
    tell_losses(&lost);
    if shown == 0 {
        return Err(Failure::NothingToAnswer("no event matches".to_owned()));
    }
    Ok(())
}

/// Says which part of the recording is shown, on stderr: the rows have no place for it.
fn say_range(what: &str, from_ns: i64, until_ns: i64) {
    // Where stderr is gone the rows are still right.
    let _ = writeln!(io::stderr(), "onoff: {what}: {} to {}", duration(from_ns), duration(until_ns));
}

fn resolve(point: TimePoint, header: &StreamHeader) -> Result<i64, Failure> {
    point.resolve(header).ok_or_else(|| {
        Failure::NothingToAnswer("--range: the time lies outside what the recording can hold".to_owned())
    })
}

/// Says what was lost, on stderr: the rows are a format of their own and have no place for it.
fn tell_losses(lost: &Losses) {
    if lost.is_empty() {
        return;
    }
    // Where stderr is gone, nobody is there to be told.
    let _ = losses::write(lost, &mut anstream::stderr().lock() as &mut dyn Write);
}

/// The events of a recording, whichever system it is of.
enum Stream<'f> {
    Windows(Box<EventStream<'f>>),
    Linux(Box<LinuxEventStream<'f>>),
}

impl<'f> Stream<'f> {
    fn open(files: &'f Files, options: &Options) -> Result<Self, Failure> {
        Ok(match files.kind() {
            RecordingKind::Linux => Self::Linux(Box::new(LinuxEventStream::open(files)?)),
            _ => Self::Windows(Box::new(EventStream::open(files, options)?)),
        })
    }

    fn header(&self) -> &StreamHeader {
        match self {
            Self::Windows(stream) => stream.header(),
            Self::Linux(stream) => stream.header(),
        }
    }

    fn for_each<B>(
        self,
        filter: &EventFilter,
        options: &Options,
        visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> StreamEnd<B> {
        match self {
            Self::Windows(stream) => stream.for_each(filter, options, visit),
            Self::Linux(stream) => stream.for_each(filter, options, visit),
        }
    }
}

/// Rows in one of the formats.
enum Rows {
    Dump(Dumper),
    Lines,
    Json,
}

impl Rows {
    fn begin(format: PlainFormat, stream: &Stream<'_>, out: &mut dyn Write) -> io::Result<Self> {
        match (format, stream) {
            (PlainFormat::Text, Stream::Windows(stream)) => {
                let mut dumper = Dumper::new();
                dumper.begin(stream.header(), out)?;
                Ok(Self::Dump(dumper))
            }
            (PlainFormat::Text, Stream::Linux(_)) => Ok(Self::Lines),
            (PlainFormat::Json, _) => Ok(Self::Json),
        }
    }

    fn write(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Dump(dumper) => dumper.event(event, out),
            Self::Lines => text::events::write(event, out),
            Self::Json => json::event::write(event, out),
        }
    }
}
