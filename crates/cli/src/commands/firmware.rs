//! `onoff firmware`.

use std::path::PathBuf;

use onoff_analysis::firmware::{FirmwareOptions, FirmwareReport, NoTimes, analyse, compare};
use onoff_analysis::recording::{Provenance, ProvenanceFile};
use onoff_files::{Options, open_firmware_boot, read_guid_names};
use onoff_report::{csv, json, section, text};
use onoff_trace::firmware::FirmwareInput;

use crate::arguments::firmware::FirmwareFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::firmware::FirmwareQuestion;
use crate::output::Destination;

pub fn run(recording: &Recording, question: &FirmwareQuestion, destination: &Destination) -> Result<(), Failure> {
    let guids = &question.guids;
    let report = match read_boot(&recording.files, &recording.options, guids, question.boot)? {
        (_, Ok(report)) => report,
        // A program is better served by a document that says what is missing.
        (inputs, Err(nothing)) if question.format == FirmwareFormat::Json && !nothing.tables.is_empty() => {
            nothing.into_report(inputs)
        }
        (_, Err(nothing)) => return Err(no_times(&recording.files, &nothing)),
    };
    let Some(other) = &question.compare else {
        return destination.write(|out| {
            match question.format {
                FirmwareFormat::Text => text::firmware::write(&report, &question.text, out)?,
                FirmwareFormat::Json => json::document::write(&[provenance(&report.inputs)], &report, out)?,
                FirmwareFormat::Csv => section::csv::write(&[csv::firmware::measured(&report)], out)?,
            }
            Ok(())
        });
    };
    let other = read(std::slice::from_ref(other), &recording.options, &question.guids)?;
    let comparison = compare(&other, &report);
    destination.write(|out| {
        match question.format {
            FirmwareFormat::Text => text::firmware::write_comparison(&comparison, &question.text, out)?,
            FirmwareFormat::Json => {
                json::document::write(&[provenance(&other.inputs), provenance(&report.inputs)], &comparison, out)?
            }
            FirmwareFormat::Csv => section::csv::write(&[csv::firmware::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

/// The files that tables were read from.
pub fn provenance(inputs: &[FirmwareInput]) -> Provenance {
    let inputs = inputs.iter().cloned();
    let files = inputs.map(|FirmwareInput { name, bytes, sha256, .. }| ProvenanceFile { name, bytes, sha256 });
    Provenance { files: files.collect(), ..Provenance::default() }
}

/// The report of one machine's tables, with the names of modules in the lists `guids`.
pub fn read(files: &[PathBuf], options: &Options, guids: &[PathBuf]) -> Result<FirmwareReport, Failure> {
    read_boot(files, options, guids, 0)?.1.map_err(|nothing| no_times(files, &nothing))
}

/// The same of a boot of a serial log; and the files that were read.
fn read_boot(
    files: &[PathBuf],
    options: &Options,
    guids: &[PathBuf],
    boot: i64,
) -> Result<(Vec<FirmwareInput>, Result<FirmwareReport, NoTimes>), Failure> {
    let names = FirmwareOptions { names: read_guid_names(guids)? };
    let recording = open_firmware_boot(files, &options.limits, boot)?;
    let report = analyse(&recording, &names);
    Ok((recording.inputs, report))
}

fn no_times(files: &[PathBuf], nothing: &NoTimes) -> Failure {
    let asked: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    Failure::NothingToAnswer(text::firmware::no_times(&asked.join(", "), nothing))
}
