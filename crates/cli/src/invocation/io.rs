//! What the arguments of `onoff io` mean.

use std::ffi::OsString;
use std::path::PathBuf;

use onoff_analysis::io::{DeviceOrigin, GroupKey, IoOptions, StorageDevice};
use onoff_record::file_operations::Tracer;
use onoff_report::text::io::IoTextOptions;
use onoff_report::text::time_point::TimePoint;
use onoff_sources::Pattern;

use super::{Invocation, Recording, Task, time_range};
use crate::arguments::io::{IoAction, IoArguments, IoBy, IoQuestionArguments, IoTracer};
use crate::arguments::table::TableFormat;
use crate::failure::Failure;

/// About what, and how.
#[derive(Debug)]
pub struct IoQuestion {
    /// A command to record instead of reading files.
    pub record: Option<IoRecord>,
    /// The recording to compare with.
    pub compare: Option<PathBuf>,
    /// How to analyse.
    pub options: IoOptions,
    /// From when to when.
    pub range: Option<(TimePoint, TimePoint)>,
    /// The processes; all when empty.
    pub processes: Vec<Pattern>,
    /// How much text.
    pub text: IoTextOptions,
    /// How.
    pub format: TableFormat,
}

/// A command to record.
#[derive(Debug)]
pub struct IoRecord {
    /// The command and its arguments.
    pub command: Vec<OsString>,
    /// What records.
    pub tracer: Tracer,
    /// Where the recording stays.
    pub keep: Option<PathBuf>,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: IoArguments) -> Result<Invocation, Failure> {
    let (question, files, compare, record) = match arguments.action {
        Some(IoAction::Record(record)) => {
            let tracer = match record.tracer {
                IoTracer::Strace => Tracer::Strace,
                IoTracer::Ftrace => Tracer::Ftrace,
            };
            let kept = IoRecord { command: record.command, tracer, keep: record.keep };
            (record.question, Vec::new(), None, Some(kept))
        }
        None => (arguments.question, arguments.files, arguments.compare, None),
    };
    let options = options(&question)?;
    Ok(Invocation {
        recording: Recording::of(files),
        task: Task::Io(Box::new(IoQuestion {
            record,
            compare,
            options,
            range: time_range(question.range.as_deref())?,
            processes: question.processes.iter().map(|text| Pattern::new(text)).collect(),
            text: IoTextOptions { top: question.top },
            format: super::table::without_page(question.format)?,
        })),
        destination: question.output.into(),
    })
}

fn options(question: &IoQuestionArguments) -> Result<IoOptions, Failure> {
    let mut options = IoOptions {
        page_bytes: bytes("--page", &question.page)?,
        buffer_bytes: bytes("--buffer", &question.buffer)?,
        slice_ns: time_ns("--slice", &question.slice)?,
        read_ahead_pages: question.read_ahead.max(1),
        by: question.by.iter().map(|&by| by.into()).collect(),
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
            return Err(Failure::NothingToAnswer("--device needs both: latency=TIME,bandwidth=SIZE/s".to_owned()));
        };
        options.device = Some(StorageDevice { latency_ns, bytes_per_second, origin: DeviceOrigin::Given });
    }
    Ok(options)
}

fn pairs<'t>(option: &str, text: &'t str) -> Result<Vec<(&'t str, &'t str)>, Failure> {
    let pair = |part: &'t str| part.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
    text.split(',')
        .map(|part| {
            pair(part)
                .ok_or_else(|| Failure::NothingToAnswer(format!("{option}: '{part}' is not of the form key=value")))
        })
        .collect()
}

fn unknown(option: &str, key: &str, known: &str) -> Failure {
    Failure::NothingToAnswer(format!("{option}: there is no '{key}'; there are {known}"))
}

fn no_such(option: &str, what: &str, value: &str) -> Failure {
    Failure::NothingToAnswer(format!("{option}: '{value}' is no {what}"))
}

/// A number of bytes: `4096`, `64KiB`, `20MB`.
pub(super) fn bytes(option: &str, text: &str) -> Result<u64, Failure> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        _ => return Err(no_such(option, "size; write 4096, 64KiB or 20MB", text)),
    };
    match number.parse::<f64>() {
        Ok(number) if number * factor >= 1.0 && number * factor < 1e18 => Ok((number * factor) as u64),
        _ => Err(no_such(option, "size; write 4096, 64KiB or 20MB", text)),
    }
}

/// A length of time: `100us`, `1.5ms`, `2s`.
fn time_ns(option: &str, text: &str) -> Result<i64, Failure> {
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return Err(no_such(option, "time; write 100us, 5ms or 1s", text)),
    };
    match number.parse::<f64>() {
        Ok(number) if number * factor >= 1.0 && number * factor < 9e18 => Ok((number * factor) as i64),
        _ => Err(no_such(option, "time; write 100us, 5ms or 1s", text)),
    }
}

impl From<IoBy> for GroupKey {
    fn from(by: IoBy) -> Self {
        match by {
            IoBy::Process => Self::Process,
            IoBy::File => Self::File,
            IoBy::Extension => Self::Extension,
            IoBy::Folder => Self::Folder,
            IoBy::Handle => Self::Handle,
            IoBy::Slice => Self::Slice,
            IoBy::Phase => Self::Phase,
        }
    }
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
