//! `onoff io`.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use onoff::{NoRequests, Refusal};
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

/// About what, and how.
struct Question {
    /// A command to record instead of reading files.
    record: Option<Record>,
    /// The recording to compare with.
    compare: Option<PathBuf>,
    options: IoOptions,
    range: Option<(TimePoint, TimePoint)>,
    /// All when empty.
    processes: Vec<Pattern>,
    top: usize,
    format: TableFormat,
}

/// A command to record.
struct Record {
    /// The command and its arguments.
    command: Vec<OsString>,
    tracer: Tracer,
    /// Where the recording stays.
    keep: Option<PathBuf>,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: IoArguments) -> Result<Invocation, Failure> {
    let (question, files, compare, record) = match arguments.action {
        Some(IoAction::Record(record)) => {
            let kept = Record { command: record.command, tracer: record.tracer, keep: record.keep };
            (record.question, Vec::new(), None, Some(kept))
        }
        None => (arguments.question, arguments.files, arguments.compare, None),
    };
    let (other, keep) = (compare.clone(), record.as_ref().and_then(|record| record.keep.clone()));
    let options = options(&question)?;
    let range = time_range(question.range.as_deref())?;
    let processes = question.processes.iter().map(|text| Pattern::new(text)).collect();
    let format = super::table::without_page(question.format)?;
    let asked = Question { record, compare, options, range, processes, top: question.top, format };
    let invocation = Invocation::new(Recording::of(files), question.output, move |recording, destination| {
        run(recording, &asked, destination)
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
                    options.key_blocks = value.parse().map_err(|_| no_such("--filter", "key-blocks", value))?;
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
            return Err(Failure::nothing("--device needs both: latency=TIME,bandwidth=SIZE/s"));
        };
        options.device = Some(StorageDevice { latency_ns, bytes_per_second, origin: DeviceOrigin::Given });
    }
    Ok(options)
}

fn pairs<'t>(option: &str, text: &'t str) -> Result<Vec<(&'t str, &'t str)>, Failure> {
    let pair = |part: &'t str| part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    text.split(',')
        .map(|part| {
            pair(part).ok_or_else(|| Failure::nothing(format!("{option}: '{part}' is not of the form key=value")))
        })
        .collect()
}

fn unknown(option: &str, key: &str, known: &str) -> Failure {
    Failure::nothing(format!("{option}: there is no '{key}'; there are {known}"))
}

fn no_such(option: &str, what: &str, value: &str) -> Failure {
    Failure::nothing(format!("{option}: '{value}' is no {what}"))
}

/// A number of bytes: `4096`, `64KiB`, `20MB`.
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
    bytes.ok_or_else(|| no_such(option, "size; write 4096, 64KiB or 20MB", text))
}

/// A length of time: `100us`, `1.5ms`, `2s`.
fn time_ns(option: &str, text: &str) -> Result<i64, Failure> {
    let ns = amount(text, |unit| match unit {
        "ns" => Some(1.0),
        "us" | "µs" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    });
    let ns = ns.filter(|&ns| ns < 9e18).map(|ns| ns as i64);
    ns.ok_or_else(|| no_such(option, "time; write 100us, 5ms or 1s", text))
}

/// A number times what its unit stands for, at least 1.
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
                // The others were refused.
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

fn read(recording: Recording, question: &Question) -> Result<(IoReport, Provenance), Failure> {
    let (session, report) =
        super::ask(recording, |session| session.requests(question.range, &question.processes, &question.options))?;
    let report = report.map_err(refused)?;
    let provenance = if question.format == TableFormat::Json { session.provenance()? } else { Provenance::default() };
    Ok((report, provenance))
}

/// Runs a command, and reads what was recorded of it.
fn recorded(record: &Record, question: &Question) -> Result<(IoReport, Provenance), Failure> {
    // A file that is made anew, under a name that nobody can know before: as root, a link laid there would be followed.
    let unwritable = |path: &Path, error| Failure::Unreadable(format!("{}: {error}", path.display()));
    let temporary = match &record.keep {
        Some(path) => {
            File::create_new(path).map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => {
                    Failure::usage(format!("--keep: {} is there already, and is not replaced", path.display()))
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
        _ => Failure::nothing(format!("the command ended with {status}, and nothing of it was recorded")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_with_their_units() {
        assert_eq!(bytes("", "64KiB").unwrap(), 65_536);
        assert_eq!(bytes("", "20MB").unwrap(), 20_000_000);
        assert_eq!(bytes("", "1.5k").unwrap(), 1536);
        assert_eq!(time_ns("", "1.5ms").unwrap(), 1_500_000);
        for wrong in ["", "0", "4096 pages", "-1", "1e9", "KiB", "99999999999999999999G"] {
            assert!(bytes("", wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "5", "0s", "s", "-1s"] {
            assert!(time_ns("", wrong).is_err(), "{wrong}");
        }
    }
}
