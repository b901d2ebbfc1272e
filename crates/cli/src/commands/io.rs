//! `onoff io`.

use onoff_analysis::io::{self, GroupKey, IoReport, TABLES};
use onoff_analysis::recording::Provenance;
use onoff_analysis::transition::PHASE_TABLES;
use onoff_analysis::waits::phases;
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
                TableFormat::Csv => section::csv::write(&[text::io::all_groups(&report)], out)?,
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
            TableFormat::Csv => section::csv::write(&[text::io::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

fn read(recording: Recording, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    let by_phase = question.options.by.contains(&GroupKey::Phase);
    let (session, trace) = super::open(recording, if by_phase { TABLES.union(PHASE_TABLES) } else { TABLES })?;
    let scope = onoff::scope_of(&trace, question.range)
        .map_err(|error| Failure::NothingToAnswer(format!("--range: {error}")))?
        .of_processes(question.processes.clone());
    let mut options = question.options.clone();
    if by_phase {
        options.phases = phases(&trace, None);
        if options.phases.is_empty() {
            let why = "--by phase: the recording holds no boot, shutdown or sleep with a phase of known length";
            return Err(Failure::NothingToAnswer(why.to_owned()));
        }
    }
    let report = io::analyse(&trace, &scope, &options);
    if report.views.is_empty() {
        return Err(Failure::NothingToAnswer(text::io::nothing(&report, &trace.recorder)));
    }
    let provenance = if question.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command, and reads what was recorded of it.
fn recorded(record: &IoRecord, question: &IoQuestion) -> Result<(IoReport, Provenance), Failure> {
    let (path, temporary) = match &record.keep {
        Some(path) => (path.clone(), false),
        None => (std::env::temp_dir().join(format!("onoff-io-{}.strace", std::process::id())), true),
    };
    let status = onoff_record::file_operations::record_command(&record.command, &path).map_err(|error| {
        Failure::NothingToAnswer(format!("strace cannot be started ({error}); install it, or give a recording"))
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
