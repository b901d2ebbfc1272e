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

use crate::arguments::io::{IoAction, IoArguments, IoQuestionArguments};
use crate::arguments::table::TableFormat;
use crate::failure::Failure;
use crate::invocation::{Invocation, Recording, time_range};
use crate::output::Destination;

struct Question {
    /// A command to record, instead of reading files.
    record: Option<Record>,
    compare: Option<PathBuf>,
    options: IoOptions,
    range: Option<(TimePoint, TimePoint)>,
    /// Empty means all.
    processes: Vec<Pattern>,
    top: usize,
    format: TableFormat,
}

struct Record {
    command: Vec<OsString>,
    tracer: Tracer,
    /// The file that keeps the recording.
    keep: Option<PathBuf>,
}

pub fn resolve(arguments: IoArguments) -> Result<Invocation, Failure> {
    let (question, files, compare, record) = match arguments.action {
        Some(IoAction::Record(record)) => {
            let command = Record { command: record.command, tracer: record.tracer, keep: record.keep };
            (record.question, Vec::new(), None, Some(command))
        }
        None => (arguments.question, arguments.files, arguments.compare, None),
    };
    let (other, keep) = (compare.clone(), record.as_ref().and_then(|record| record.keep.clone()));
    let options = options(&question)?;
    let range = time_range(question.range.as_deref())?;
    let processes = question.processes.iter().map(|text| Pattern::new(text)).collect();
    let format = super::table::without_page(question.format)?;
    let resolved = Question { record, compare, options, range, processes, top: question.top, format };
    let invocation = Invocation::new(Recording::of(files), question.output, move |recording, destination| {
        run(recording, &resolved, destination)
    });
    Ok(invocation.text_if(format == TableFormat::Text).reading(other).writing(keep))
}

fn options(question: &IoQuestionArguments) -> Result<IoOptions, Failure> {
    let mut options = IoOptions {
        page_bytes: bytes("--page", &question.page)?,
        buffer_bytes: bytes("--buffer", &question.buffer)?,
        slice_ns: time_ns("--slice", &question.slice)?,
        read_ahead_pages: question.read_ahead.max(1),
        by: question.by.clone(),
        ..IoOptions::default()
    };
    if let Some(filter) = &question.filter {
        for (key, value) in pairs("--filter", filter)? {
            match key {
                "key-blocks" => {
                    options.key_blocks = value.parse().map_err(|_| invalid("--filter key-blocks", "number", value))?;
                }
                "block" => options.page_bytes = bytes("--filter block", value)?,
                _ => return Err(unknown("--filter", key, "key-blocks and block")),
            }
        }
    }
    if let Some(device) = &question.device {
        let (mut latency_ns, mut bytes_per_second) = (None, None);
        for (key, value) in pairs("--device", device)? {
            match key {
                "latency" => latency_ns = Some(time_ns("--device latency", value)?),
                "bandwidth" => {
                    let rate = value.strip_suffix("/s").unwrap_or(value);
                    bytes_per_second = Some(bytes("--device bandwidth", rate)? as f64);
                }
                _ => return Err(unknown("--device", key, "latency and bandwidth")),
            }
        }
        let (Some(latency_ns), Some(bytes_per_second)) = (latency_ns, bytes_per_second) else {
            return Err(Failure::no_data("--device requires both values: latency=TIME,bandwidth=SIZE/s"));
        };
        options.device = Some(StorageDevice { latency_ns, bytes_per_second, origin: DeviceOrigin::Given });
    }
    Ok(options)
}

fn pairs<'t>(option: &str, text: &'t str) -> Result<Vec<(&'t str, &'t str)>, Failure> {
    let pair = |part: &'t str| part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    text.split(',')
        .map(|part| {
            pair(part).ok_or_else(|| Failure::no_data(format!("{option}: '{part}' does not have the form key=value")))
        })
        .collect()
}

fn unknown(option: &str, key: &str, known: &str) -> Failure {
    Failure::no_data(format!("{option}: unknown key '{key}'; use {known}"))
}

fn invalid(option: &str, kind: &str, value: &str) -> Failure {
    Failure::no_data(format!("{option}: '{value}' is not a {kind}"))
}

/// Parses a size: `4096`, `64KiB`, `20MB`.
pub(super) fn bytes(option: &str, text: &str) -> Result<u64, Failure> {
    let bytes = amount(text, |unit| match unit.to_ascii_lowercase().as_str() {
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
    bytes.ok_or_else(|| invalid(option, "size; use 4096, 64KiB or 20MB", text))
}

/// Parses a duration: `100us`, `1.5ms`, `2s`.
fn time_ns(option: &str, text: &str) -> Result<i64, Failure> {
    let ns = amount(text, |unit| match unit {
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    });
    let ns = ns.filter(|&ns| ns < 9e18).map(|ns| ns as i64);
    ns.ok_or_else(|| invalid(option, "duration; use 100us, 5ms or 1s", text))
}

/// Parses a number with a unit; the product must be at least 1.
fn amount(text: &str, factor: impl FnOnce(&str) -> Option<f64>) -> Option<f64> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let amount = number.parse::<f64>().ok()? * factor(unit.trim())?;
    (amount >= 1.0).then_some(amount)
}

fn run(recording: Recording, question: &Question, destination: &Destination) -> Result<(), Failure> {
    let (report, provenance) = match &question.record {
        Some(record) => recorded(record, question)?,
        None => read(recording, question)?,
    };
    let Some(other) = &question.compare else {
        return destination.write(|out| {
            match question.format {
                TableFormat::Text => text::io::write(&report, question.top, out)?,
                TableFormat::Json => json::document::write(&[provenance], &report, out)?,
                // Other formats were rejected earlier.
                _ => section::csv::write(&[text::io::all_groups(&report)], out)?,
            }
            Ok(())
        });
    };
    let other = Recording::of(vec![other.clone()]);
    let (other, provenance_of_other) = read(other, question)?;
    let comparison = onoff_requests::compare(&other, &report);
    destination.write(|out| {
        match question.format {
            TableFormat::Text => text::io::write_comparison(&comparison, out)?,
            TableFormat::Json => json::document::write(&[provenance_of_other, provenance], &comparison, out)?,
            // Other formats were rejected earlier.
            _ => section::csv::write(&[text::io::changes(&comparison)], out)?,
        }
        Ok(())
    })
}

pub fn failure(refusal: QueryError<RequestsError>) -> Failure {
    Failure::from_refusal_with(refusal, |reason| match reason {
        RequestsError::Range(error) => format!("--range: {error}"),
        reason @ RequestsError::NoPhase => format!("--by phase: {reason}"),
        RequestsError::NoRequests(message) => message,
    })
}

fn read(recording: Recording, question: &Question) -> Result<(IoReport, Provenance), Failure> {
    let (session, report) =
        super::ask(recording, |session| session.requests(question.range, &question.processes, &question.options))?;
    let report = report.map_err(failure)?;
    let provenance = if question.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command under the tracer and reads the recording.
fn recorded(record: &Record, question: &Question) -> Result<(IoReport, Provenance), Failure> {
    // Always create a new file, under an unpredictable name if temporary: as root, an existing symlink would be
    // followed.
    let unwritable = |path: &Path, error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let temporary = match &record.keep {
        Some(path) => {
            File::create_new(path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => Failure::usage(format!("--keep: {} already exists", path.display())),
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
            // Created above, still empty.
            let _ = std::fs::remove_file(&path);
        }
        Failure::NoData(match record.tracer {
            Tracer::Strace => format!(
                "cannot start strace ({error}); install it, use the kernel's tracer as root (--tracer ftrace), or pass a recording"
            ),
            Tracer::Ftrace => format!("cannot use the kernel's tracer ({error}); it needs root"),
        })
    })?;
    let answer = read(Recording::of(vec![path]), question);
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
