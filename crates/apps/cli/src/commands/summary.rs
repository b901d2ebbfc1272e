//! `onoff summary`, and the check that the other verbs get only one recording.

use std::path::PathBuf;

use onoff::summarize_all;
use onoff_compare::summary::Summary;
use onoff_files::volume::Volume;
use onoff_report::svg;
use onoff_sections::json;
use onoff_sections::lists::write_on;
use onoff_sections::report_writer::{HtmlWriter, TextWriter};
use onoff_sections::table::{RowSelection, TableReport, sort_and_truncate, write_csv};

use crate::arguments::summary::SummaryArguments;
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording};
use crate::output::Destination;
use crate::progress::ProgressLine;

pub fn resolve(arguments: SummaryArguments) -> Result<Invocation, Failure> {
    let SummaryArguments { paths, sort, reverse, top, format, output } = arguments;
    if matches!(format, TableFormat::Folded | TableFormat::Speedscope) {
        return Err(Failure::usage("--format: a summary has no call stacks; use 'onoff cpu', 'disk' or 'hardfaults'"));
    }
    let selection = RowSelection { sort, reverse, top: (top > 0).then_some(top) };
    let invocation = Invocation::new(Recording::from_files(paths), output, move |recording, destination| {
        run(&recording, &selection, format, destination)
    });
    Ok(invocation.text_if(format == TableFormat::Text))
}

fn run(
    recording: &Recording,
    selection: &RowSelection,
    format: TableFormat,
    destination: &Destination,
) -> Result<(), Failure> {
    let search = onoff_files::find_recordings(&recording.files)?;
    let (other_files, unusable_count) = (search.other_files, search.unusable.len());
    let recordings = search.into_all_paths();
    let progress = ProgressLine::recordings(recordings.len());
    let summary = summarize_all(&recordings, &recording.options, &|| progress.increment());
    drop(progress);
    let mut summary = Summary { other_files, ..summary };
    let omitted =
        sort_and_truncate(&mut summary, selection).map_err(|error| Failure::usage(format!("--sort: {error}")))?;
    if summary.rows.is_empty() {
        return Err(Failure::NoData(summary.empty_message()));
    }
    destination.write(|out| {
        match format {
            TableFormat::Text => write_on(&summary, omitted, &mut TextWriter(out))?,
            TableFormat::Html => HtmlWriter::write("Summary", out, |writer| write_on(&summary, omitted, writer))?,
            TableFormat::Json => json::document::write(&[], &summary, out)?,
            // Folded and Speedscope were rejected earlier.
            TableFormat::Csv | TableFormat::Folded | TableFormat::Speedscope => write_csv(&summary, out)?,
            TableFormat::Svg => svg::summary::write(&summary, out)?,
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
