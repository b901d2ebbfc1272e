//! `--redact`: replaces names and addresses in event logs before they are read, so that every output follows.

use onoff_files::Options;
use onoff_record::redaction::Redaction;
use onoff_record::windows::collection::xml_name;
use onoff_record::windows::export::{EventLog, learn_names, write_log};
use onoff_sources::{Files, RecordingKind, files_from_bytes};

use crate::failure::Failure;

/// Returns the event logs with names and addresses replaced. Reports on stderr which names could not be replaced.
pub fn redacted(files: &Files, options: &Options) -> Result<Files, Failure> {
    if files.kind() != RecordingKind::WindowsEventLogs {
        let message = "--redact supports Windows event logs only; on Linux, use 'onoff collect --redact'";
        return Err(Failure::no_data(message));
    }
    let logs: Vec<EventLog<'_>> =
        files.iter().map(|file| EventLog { name: file.name(), bytes: file.bytes() }).collect();
    let mut redaction = Redaction::default();
    learn_names(&logs, &mut redaction);
    let mut contents = Vec::with_capacity(logs.len());
    for log in &logs {
        let mut xml = Vec::new();
        write_log(*log, None, Some(&mut redaction), &mut xml)
            .map_err(|error| Failure::Unreadable(format!("{}: {error}", log.name)))?;
        contents.push((redaction.redact(&xml_name(log.name)), xml));
    }
    for name in redaction.replaced().kept {
        super::report_on_stderr(&format!("not replaced: '{name}', because the word is common in logs"));
    }
    Ok(files_from_bytes(contents, &options.limits)?)
}
