//! `onoff io`.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use onoff::{QueryError, RequestsError};
use onoff_evidence::recording::Provenance;
use onoff_record::file_operations::{Tracer, record_command};
use onoff_report::text;
use onoff_report::text::time_point::TimePoint;
use onoff_requests::{DeviceOrigin, IoOptions, IoReport, StorageDevice};
use onoff_sections::json;
use onoff_sections::section;
use onoff_sources::Pattern;
use tempfile::NamedTempFile;

use crate::arguments::io::{IoAction, IoAnalysisArguments, IoArguments};
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording, time_range};
use crate::output::Destination;

struct Task {
    /// The command to record instead of reading files.
    record: Option<CommandRecording>,
    compare: Option<PathBuf>,
    options: IoOptions,
    range: Option<(TimePoint, TimePoint)>,
    /// Restricts the report to these processes; empty means all.
    processes: Vec<Pattern>,
    top: usize,
    format: TableFormat,
}

struct CommandRecording {
    command: Vec<OsString>,
    tracer: Tracer,
    /// The file to keep the recording in.
    keep: Option<PathBuf>,
}

pub fn resolve(arguments: IoArguments) -> Result<Invocation, Failure> {
    let (analysis, files, compare, record) = match arguments.action {
        Some(IoAction::Record(record)) => {
            let command = CommandRecording { command: record.command, tracer: record.tracer, keep: record.keep };
            (record.analysis, Vec::new(), None, Some(command))
        }
        None => (arguments.analysis, arguments.files, arguments.compare, None),
    };
    let (compared_files, keep) = (compare.clone(), record.as_ref().and_then(|record| record.keep.clone()));
    let options = options(&analysis)?;
    let range = time_range(analysis.range.as_deref())?;
    let processes = analysis.processes.iter().map(|text| Pattern::new(text)).collect();
    let format = super::table::without_page(analysis.format)?;
    let task = Task { record, compare, options, range, processes, top: analysis.top, format };
    let invocation = Invocation::new(Recording::from_files(files), analysis.output, move |recording, destination| {
        run(recording, &task, destination)
    });
    Ok(invocation.text_if(format == TableFormat::Text).with_inputs(compared_files).with_outputs(keep))
}

fn options(arguments: &IoAnalysisArguments) -> Result<IoOptions, Failure> {
    let mut options = IoOptions {
        page_bytes: bytes("--page", &arguments.page)?,
        buffer_bytes: bytes("--buffer", &arguments.buffer)?,
        slice_ns: time_ns("--slice", &arguments.slice)?,
        read_ahead_pages: arguments.read_ahead.max(1),
        group_by: arguments.group_by.clone(),
        ..IoOptions::default()
    };
    if let Some(filter) = &arguments.filter {
        for (key, value) in key_value_pairs("--filter", filter)? {
            match key {
                "key-blocks" => {
                    options.key_blocks =
                        value.parse().map_err(|_| invalid_value("--filter key-blocks", "number", value))?;
                }
                "block" => options.page_bytes = bytes("--filter block", value)?,
                _ => return Err(unknown_key("--filter", key, "key-blocks and block")),
            }
        }
    }
    if let Some(device) = &arguments.device {
        let (mut latency_ns, mut bytes_per_second) = (None, None);
        for (key, value) in key_value_pairs("--device", device)? {
            match key {
                "latency" => latency_ns = Some(time_ns("--device latency", value)?),
                "bandwidth" => {
                    let rate = value.strip_suffix("/s").unwrap_or(value);
                    bytes_per_second = Some(bytes("--device bandwidth", rate)? as f64);
                }
                _ => return Err(unknown_key("--device", key, "latency and bandwidth")),
            }
        }
        let (Some(latency_ns), Some(bytes_per_second)) = (latency_ns, bytes_per_second) else {
            return Err(Failure::no_data("--device requires both values: latency=TIME,bandwidth=SIZE/s"));
        };
        options.device = Some(StorageDevice { latency_ns, bytes_per_second, origin: DeviceOrigin::Given });
    }
    Ok(options)
}

fn key_value_pairs<'t>(option: &str, text: &'t str) -> Result<Vec<(&'t str, &'t str)>, Failure> {
    text.split(',')
        .map(|pair| match pair.split_once('=') {
            Some((key, value)) => Ok((key.trim(), value.trim())),
            None => Err(Failure::no_data(format!("{option}: '{pair}' does not have the form key=value"))),
        })
        .collect()
}

fn unknown_key(option: &str, key: &str, valid_keys: &str) -> Failure {
    Failure::no_data(format!("{option}: unknown key '{key}'; use {valid_keys}"))
}

fn invalid_value(option: &str, expected: &str, value: &str) -> Failure {
    Failure::no_data(format!("{option}: '{value}' is not a {expected}"))
}

/// Parses a size: `4096`, `64KiB`, `20MB`.
pub(super) fn bytes(option: &str, text: &str) -> Result<u64, Failure> {
    let bytes = parse_amount(text, |unit| match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1.0),
        "k" | "kib" => Some(1024.0),
        "kb" => Some(1e3),
        "m" | "mib" => Some(1024.0 * 1024.0),
        "mb" => Some(1e6),
        "g" | "gib" => Some(1024.0 * 1024.0 * 1024.0),
        "gb" => Some(1e9),
        _ => None,
    });
    let bytes = bytes.filter(|&bytes| bytes < 1e18).map(|bytes| bytes as u64);
    bytes.ok_or_else(|| invalid_value(option, "size; use 4096, 64KiB or 20MB", text))
}

/// Parses a duration: `100us`, `1.5ms`, `2s`.
fn time_ns(option: &str, text: &str) -> Result<i64, Failure> {
    let ns = parse_amount(text, |unit| match unit {
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    });
    let ns = ns.filter(|&ns| ns < 9e18).map(|ns| ns as i64);
    ns.ok_or_else(|| invalid_value(option, "duration; use 100us, 5ms or 1s", text))
}

/// Parses a number with a unit and multiplies it by the factor of the unit; the result must be at least 1.
fn parse_amount(text: &str, factor: impl FnOnce(&str) -> Option<f64>) -> Option<f64> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let amount = number.parse::<f64>().ok()? * factor(unit.trim())?;
    (amount >= 1.0).then_some(amount)
}

fn run(recording: Recording, task: &Task, destination: &Destination) -> Result<(), Failure> {
    let (report, provenance) = match &task.record {
        Some(record) => record_and_read(record, task)?,
        None => read(recording, task)?,
    };
    let Some(other) = &task.compare else {
        return destination.write(|out| {
            match task.format {
                TableFormat::Text => text::io::write(&report, task.top, out)?,
                TableFormat::Json => json::document::write(&[provenance], &report, out)?,
                // Other formats were rejected earlier.
                _ => section::csv::write(&[text::io::all_groups(&report)], out)?,
            }
            Ok(())
        });
    };
    let other_recording = Recording::from_files(vec![other.clone()]);
    let (other_report, other_provenance) = read(other_recording, task)?;
    let comparison = onoff_requests::compare(&other_report, &report);
    destination.write(|out| {
        match task.format {
            TableFormat::Text => text::io::write_comparison(&comparison, task.top, out)?,
            TableFormat::Json => json::document::write(&[other_provenance, provenance], &comparison, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::io::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

pub fn failure(error: QueryError<RequestsError>) -> Failure {
    Failure::from_query_error_with(error, |reason| match reason {
        RequestsError::Range(error) => format!("--range: {error}"),
        reason @ RequestsError::NoPhase => format!("--by phase: {reason}"),
        reason @ RequestsError::NoProcess => format!("--process: {reason}"),
        RequestsError::NoRequests(message) => message,
    })
}

fn read(recording: Recording, task: &Task) -> Result<(IoReport, Provenance), Failure> {
    let (session, report) =
        super::query(recording, |session| session.requests(task.range, &task.processes, &task.options))?;
    let report = report.map_err(failure)?;
    let provenance = if task.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command under the tracer and reads the recording.
fn record_and_read(record: &CommandRecording, task: &Task) -> Result<(IoReport, Provenance), Failure> {
    // Always create a new file, under an unpredictable name if it is temporary: otherwise, root would follow a symlink
    // placed there by another user.
    let cannot_create = |path: &Path, error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let temporary = match &record.keep {
        Some(path) => {
            File::create_new(path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Failure::usage(format!("--keep: {} already exists", path.display())),
                _ => cannot_create(path, error),
            })?;
            None
        }
        None => Some(NamedTempFile::new().map_err(|error| cannot_create(&std::env::temp_dir(), error))?),
    };
    let path =
        temporary.as_ref().map_or_else(|| record.keep.clone().unwrap_or_default(), |file| file.path().to_owned());
    let status = record_command(record.tracer, &record.command, &path).map_err(|error| {
        if record.keep.is_some() {
            // The file was created above and is still empty.
            let _ = std::fs::remove_file(&path);
        }
        Failure::NoData(match record.tracer {
            Tracer::Strace => format!(
                "cannot start strace ({error}); install it, use the kernel's tracer as root (--tracer ftrace), or pass a recording"
            ),
            Tracer::Ftrace => format!("cannot use the kernel's tracer ({error}); it needs root"),
        })
    })?;
    let answer = read(Recording::from_files(vec![path]), task);
    answer.map_err(|failure| match status.code() {
        Some(0) => failure,
        _ => Failure::no_data(format!("the command failed ({status}) and nothing was recorded")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_sizes_and_durations() {
        assert_eq!(bytes("", "64KiB").unwrap(), 65_536);
        assert_eq!(bytes("", "20MB").unwrap(), 20_000_000);
        assert_eq!(bytes("", "1.5k").unwrap(), 1536);
        assert_eq!(time_ns("", "1.5ms").unwrap(), 1_500_000);
        for invalid in ["", "0", "4096 pages", "-1", "1e9", "KiB", "99999999999999999999G"] {
            assert!(bytes("", invalid).is_err(), "{invalid}");
        }
        for invalid in ["", "5", "0s", "s", "-1s"] {
            assert!(time_ns("", invalid).is_err(), "{invalid}");
        }
    }
}
