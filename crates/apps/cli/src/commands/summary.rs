//! `onoff summary`, and the check that the other verbs get only one recording.

use std::path::PathBuf;

use onoff::summarize_all;
use onoff_compare::summary::Summary;
use onoff_export::summary_tables::{WrittenSummaries, write_summaries};
use onoff_files::Options;
use onoff_files::volume::Volume;
use onoff_report::svg;
use onoff_sections::json;
use onoff_sections::lists::write_on;
use onoff_sections::report_writer::{HtmlWriter, TextWriter};
use onoff_sections::table::{RowSelection, TableReport, sort_and_truncate, write_csv};

use crate::arguments::summary::{SummaryArguments, SummaryFormat};
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;
use crate::progress::ProgressLine;

pub fn resolve(arguments: SummaryArguments) -> Result<Invocation, Failure> {
    let SummaryArguments { paths, sort, reverse, top, format, output } = arguments;
    if format == SummaryFormat::Parquet && (sort.is_some() || reverse || top > 0) {
        return Err(Failure::usage("--format parquet writes all rows: omit --sort, --reverse and --top"));
    }
    let selection = RowSelection { sort, reverse, top: (top > 0).then_some(top) };
    let destination = Destination { path: output, ..Destination::default() };
    let invocation =
        Invocation::new(Recording::from_files(paths), destination, move |recording, destination| match format {
            SummaryFormat::Parquet => write_tables(&recording, destination),
            format => run(&recording, &selection, format, destination),
        });
    Ok(invocation.text_if(format == SummaryFormat::Text))
}

/// Writes Parquet tables to a new folder.
fn write_tables(recording: &Recording, destination: &Destination) -> Result<(), Failure> {
    let Some(folder) = &destination.path else { return Err(Failure::usage("name a folder with --output")) };
    let search = onoff_files::find_recordings(&recording.files)?;
    let other_files = search.other_files;
    let recordings = search.into_all_paths();
    let progress = ProgressLine::recordings(recordings.len());
    let options = Options { progress: Some(progress.within_recording()), ..recording.options.clone() };
    let written = write_summaries(&recordings, &options, folder, &|| progress.increment());
    drop(progress);
    let written = written.map_err(|error| Failure::cannot_write(folder, error))?;
    let WrittenSummaries { recordings, copies, unreadable, answered } = written;
    Destination { path: None, ..destination.clone() }.write(|out| {
        let notes = [(copies, "copies of others"), (unreadable, "could not be read")];
        let notes = notes.iter().filter(|(count, _)| *count > 0).map(|(count, note)| format!(", {count} {note}"));
        let notes: String = notes.collect();
        writeln!(out, "{}: {recordings} recordings{notes}; {other_files} other files", folder.display())?;
        Ok(())
    })?;
    match (unreadable, answered) {
        (0, 0) => Err(Failure::Reported(2)),
        (0, _) => Ok(()),
        _ => Err(Failure::Reported(1)),
    }
}

fn run(
    recording: &Recording,
    selection: &RowSelection,
    format: SummaryFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let search = onoff_files::find_recordings(&recording.files)?;
    let (other_files, unusable_count) = (search.other_files, search.unusable.len());
    let recordings = search.into_all_paths();
    let progress = ProgressLine::recordings(recordings.len());
    let options = Options { progress: Some(progress.within_recording()), ..recording.options.clone() };
    let summary = summarize_all(&recordings, &options, &|| progress.increment());
    drop(progress);
    let mut summary = Summary { other_files, ..summary };
    let omitted =
        sort_and_truncate(&mut summary, selection).map_err(|error| Failure::usage(format!("--sort: {error}")))?;
    if summary.rows.is_empty() {
        return Err(Failure::NoData(summary.empty_message()));
    }
    destination.write(|out| {
        match format {
            SummaryFormat::Text => write_on(&summary, omitted, &mut TextWriter(out))?,
            SummaryFormat::Html => HtmlWriter::write("Summary", out, |writer| write_on(&summary, omitted, writer))?,
            SummaryFormat::Json => json::document::write(&[], &summary, out)?,
            // Parquet tables go to a folder.
            SummaryFormat::Csv | SummaryFormat::Parquet => write_csv(&summary, out)?,
            SummaryFormat::Svg => svg::summary::write(&summary, out)?,
        }
        Ok(())
    })?;
    match (summary.unreadable.max(unusable_count as u64), summary.transitions) {
        (0, 0) => Err(Failure::Reported(2)),
        (0, _) => Ok(()),
        _ => Err(Failure::Reported(1)),
    }
}

/// True for a Windows volume, which is not searched for recordings.
fn is_image(paths: &[PathBuf]) -> bool {
    matches!(paths, [path] if Volume::open(path).is_some())
}

/// Rejects multiple recordings for a verb that takes one, because reading them together would merge them.
pub fn reject_multiple_recordings(invocation: &Invocation) -> Result<(), Failure> {
    let recording = &invocation.recording;
    // A single file is a single recording; no need to open it.
    let is_single_file = matches!(&recording.files[..], [path] if !path.is_dir()) || is_image(&recording.files);
    if !invocation.requires_single_recording || is_single_file || recording.files.is_empty() {
        return Ok(());
    }
    let recordings = onoff_files::find_recordings(&recording.files)?.recordings;
    let names: Vec<String> = recordings.iter().flatten().take(2).map(|path| path.display().to_string()).collect();
    match (recordings.len(), &names[..]) {
        (2.., [first, second, ..]) => Err(Failure::usage(format!(
            "pass one recording; these are {} ({first}, {second}{}). For several, use 'onoff summary'",
            recordings.len(),
            if recordings.len() > 2 { ", ..." } else { "" }
        ))),
        _ => Ok(()),
    }
}
