//! `onoff prefetch`.

use std::ops::ControlFlow;

use onoff::Session;
use onoff_image::prefetch::{ReadAheadReport, TABLES, boot_read_ahead};
use onoff_report::text;
use onoff_sections::json;
use onoff_sections::section;
use onoff_sources::{EventFilter, EventStream, Pattern};
use onoff_transitions::boot::{self, BootOptions};
use onoff_xperf::event_analyses::ready_boot::{EVENTS, ReadyBoot};

use super::table;
use crate::arguments::prefetch::PrefetchArguments;
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;

/// The recording of the invocation is `--trace`.
pub fn resolve(arguments: PrefetchArguments) -> Result<Invocation, Failure> {
    let is_text = table::without_page(arguments.format)? == TableFormat::Text;
    let (recording, paths) = (Recording::from_files(arguments.trace.clone()), arguments.paths.clone());
    let invocation = Invocation::new(recording, arguments.output.clone(), move |recording, destination| {
        run(recording, &arguments, destination)
    });
    Ok(invocation.text_if(is_text).with_inputs(paths))
}

fn run(recording: Recording, arguments: &PrefetchArguments, destination: &Destination) -> Result<(), Failure> {
    let mut report = onoff::prefetch(&arguments.paths, arguments.programs.clone())?;
    let mut recordings = Vec::new();
    if !recording.files.is_empty() {
        let (session, read_ahead) = analyze_read_ahead(recording)?;
        recordings.push(session.provenance()?);
        report.add_boot(read_ahead);
    }
    if report.is_empty() {
        let reason =
            report.unreadable.first().map_or_else(String::new, |file| format!(" ({}: {})", file.name, file.reason));
        return Err(Failure::no_data(format!(
            "no prefetch plan (.pf), Layout.ini, ReadyBoot file or Superfetch database found{reason}"
        )));
    }
    destination.write(|out| {
        match arguments.format {
            TableFormat::Text => text::prefetch::write(&report, table::all_if_zero(arguments.top), out)?,
            TableFormat::Json => json::document::write(&recordings, &report, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::prefetch::rows(&report, arguments.rows)], out)?,
        }
        Ok(())
    })
}

/// Analyzes the read-ahead of a recorded boot, including ReadyBoot's own events if recorded.
fn analyze_read_ahead(recording: Recording) -> Result<(Session, ReadAheadReport), Failure> {
    let options = recording.options.read()?;
    let files = onoff_files::open_all(&recording.files, &recording.options.limits)?;
    let mut ready_boot = ReadyBoot::default();
    let filter =
        EventFilter { events: EVENTS.iter().map(|name| Pattern::new(name)).collect(), ..EventFilter::default() };
    let end = EventStream::open(&files, &options)?.for_each(&filter, &options, |event| {
        ready_boot.take(event);
        ControlFlow::<()>::Continue(())
    });
    debug_assert!(end.outcome.is_continue(), "the visitor never breaks");
    let (session, trace) = super::open(recording, TABLES)?;
    let report = boot::analyze(&trace, &BootOptions::default())
        .map_err(|no_boot| Failure::NoData(text::boot::no_boot(&no_boot)))?;
    if trace.disk_ios.is_empty() {
        return Err(Failure::no_data(
            "--trace: no disk requests in this recording; record the kernel flags DISK_IO and FILENAME",
        ));
    }
    Ok((session, boot_read_ahead(&trace, &report, ready_boot.sums)))
}
