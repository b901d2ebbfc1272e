//! `onoff io`.

use onoff::NoRequests;
use onoff_analysis::io::{self, IoReport};
use onoff_analysis::recording::Provenance;
use onoff_record::file_operations::{Tracer, record_command};
use onoff_report::{json, section, text};

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
                TableFormat::Csv | TableFormat::Svg => section::csv::write(&[text::io::all_groups(&report)], out)?,
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
            TableFormat::Csv | TableFormat::Svg => section::csv::write(&[text::io::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

fn read(recording: Recording, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    let (session, report) =
        super::ask(recording, |session| session.requests(question.range, &question.processes, &question.options))?;
    let report = report.map_err(|refusal| {
        Failure::refused(refusal, |instead| match instead {
            NoRequests::Range(error) => format!("--range: {error}"),
            nothing @ NoRequests::NoPhase => format!("--by phase: {nothing}"),
            NoRequests::Nothing(nothing) => nothing,
        })
    })?;
    let provenance = if question.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command, and reads what was recorded of it.
fn recorded(record: &IoRecord, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    let (path, temporary) = match &record.keep {
        Some(path) => (path.clone(), false),
        None => (std::env::temp_dir().join(format!("onoff-io-{}.trace", std::process::id())), true),
    };
    let status = record_command(record.tracer, &record.command, &path).map_err(|error| {
        Failure::NothingToAnswer(match record.tracer {
            Tracer::Strace => format!(
                "strace cannot be started ({error}); install it, use the kernel's tracer as root (--tracer ftrace), or give a recording"
            ),
            Tracer::Ftrace => format!("the kernel's tracer cannot be used ({error}); it needs root"),
        })
    })?;
    let answer = read(Recording::of(vec![path.clone()]), question);
    if temporary {
        // What cannot be removed from the folder of temporary files is the system's to remove.
        let _ = std::fs::remove_file(&path);
    }
    answer.map_err(|failure| match status.code() {
        Some(0) => failure,
        _ => Failure::NothingToAnswer(format!("the command ended with {status}, and nothing of it was recorded")),
    })
}
