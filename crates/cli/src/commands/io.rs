//! `onoff io`.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use onoff::{NoRequests, Refusal};
use onoff_analysis::io::{self, IoReport};
use onoff_analysis::recording::Provenance;
use onoff_record::file_operations::{Tracer, record_command};
use onoff_report::{json, section, text};
use tempfile::NamedTempFile;

use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::Recording;
use crate::invocation::io::{IoQuestion, IoRecord};
use crate::output::Destination;

pub fn run(recording: Recording, question: &IoQuestion, destination: &Destination) -> Result<(), Failure> {
    let (report, provenance) = match &question.record {
        Some(record) => recorded(record, question)?,
        None => read(recording, question)?,
    };
    let Some(other) = &question.compare else {
        return destination.write(|out| {
            match question.format {
                TableFormat::Text => text::io::write(&report, &question.text, out)?,
                TableFormat::Json => json::document::write(&[provenance], &report, out)?,
                // The others were refused.
                _ => section::csv::write(&[text::io::all_groups(&report)], out)?,
            }
            Ok(())
        });
    };
    let other = Recording::of(vec![other.clone()]);
    let (other, provenance_of_other) = read(other, question)?;
    let comparison = io::compare(&other, &report);
    destination.write(|out| {
        match question.format {
            TableFormat::Text => text::io::write_comparison(&comparison, out)?,
            TableFormat::Json => json::document::write(&[provenance_of_other, provenance], &comparison, out)?,
            // The others were refused.
            _ => section::csv::write(&[text::io::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

/// Why there is no answer about requests.
pub fn refused(refusal: Refusal<NoRequests>) -> Failure {
    Failure::refused(refusal, |instead| match instead {
        NoRequests::Range(error) => format!("--range: {error}"),
        nothing @ NoRequests::NoPhase => format!("--by phase: {nothing}"),
        NoRequests::Nothing(nothing) => nothing,
    })
}

fn read(recording: Recording, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    let (session, report) =
        super::ask(recording, |session| session.requests(question.range, &question.processes, &question.options))?;
    let report = report.map_err(refused)?;
    let provenance = if question.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command, and reads what was recorded of it.
fn recorded(record: &IoRecord, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    // A file that is made anew, under a name that nobody can know before: as root, a link laid there would be followed.
    let unwritable = |path: &Path, error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let temporary = match &record.keep {
        Some(path) => {
            File::create_new(path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    Failure::WrongUsage(format!("--keep: {} is there already, and is not replaced", path.display()))
                }
                _ => unwritable(path, error),
            })?;
            None
        }
        None => Some(NamedTempFile::new().map_err(|error| unwritable(&std::env::temp_dir(), error))?),
    };
    let path =
        temporary.as_ref().map_or_else(|| record.keep.clone().unwrap_or_default(), |file| file.path().to_owned());
    let status = record_command(record.tracer, &record.command, &path).map_err(|error| {
        if record.keep.is_some() {
            // It was made above, and holds nothing.
            let _ = std::fs::remove_file(&path);
        }
        Failure::NothingToAnswer(match record.tracer {
            Tracer::Strace => format!(
                "strace cannot be started ({error}); install it, use the kernel's tracer as root (--tracer ftrace), or give a recording"
            ),
            Tracer::Ftrace => format!("the kernel's tracer cannot be used ({error}); it needs root"),
        })
    })?;
    let answer = read(Recording::of(vec![path]), question);
    answer.map_err(|failure| match status.code() {
        Some(0) => failure,
        _ => Failure::NothingToAnswer(format!("the command ended with {status}, and nothing of it was recorded")),
    })
}
