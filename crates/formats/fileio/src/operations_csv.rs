//! Reads a simple CSV that any filter driver, hook or script can write.
//!
//! UTF-8, RFC 4180 quoting. The first line has the column names, in any order. Lines that start with `#` are comments.
//!
//! | column | content |
//! |---|---|
//! | `operation` | `read`, `write`, `flush`, `open` or `close`; required |
//! | `offset` | offset in the file, bytes; required |
//! | `length` | transferred bytes; required |
//! | `time` or `time_ns` | start, in seconds with decimals or in nanoseconds; all lines use the same clock |
//! | `duration` or `duration_ns` | duration, in the same units |
//! | `pid`, `tid` | process and thread id |
//! | `process` | executable name of the process |
//! | `file` | path of the file |
//! | `handle` | id of the open file |
//! | `level` | `application` (the default), `paging` or `device` |
//! | `result` | `ok` (the default), `end` for a read at or beyond the end of the file, `failed` |
//!
//! Other columns are ignored. Without times, lines are assumed to be in order.
//!
//! If every line has a time, lines are independent of each other, and [`chunks`] splits the file into parts that can be
//! read in parallel.

use std::borrow::Cow;

use crate::csv::{Records, text, unquoted_bytes};
use crate::error::Error;
use crate::format::Format;
use crate::losses::{LossKind, Losses};
use crate::number::{parse_u32, parse_unsigned, seconds_ns};
use crate::operation::{Level, Operation, OperationKind, OperationWriter, Outcome, Summary};

/// A part of a recording that can be read independently.
#[derive(Clone, Debug)]
pub struct Chunk<'b> {
    columns: Columns,
    /// The recording up to the end of the chunk.
    bytes: &'b [u8],
    start: usize,
}

impl Chunk<'_> {
    /// Returns the offset of the first byte after the chunk.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Reads the chunk. Times are not shifted. Returns `None` if a line has no time: its time would be the line number,
    /// which is unknown in a chunk.
    pub fn read(&self, sink: &mut dyn FnMut(&Operation<'_>)) -> Option<Summary> {
        let mut release = |_| {};
        let mut out =
            OperationWriter::with_absolute_times(Format::OperationsCsv, Losses::default(), sink, &mut release);
        let mut records = Records::from_offset(self.bytes, self.start);
        let mut all_timed = true;
        read_lines(&self.columns, &mut records, &mut all_timed, &mut out);
        all_timed.then(|| out.finish())
    }
}

/// Splits the file into chunks of about `chunk_bytes`, in order. Returns `None` if lines have no times or the columns
/// are invalid.
pub fn chunks(bytes: &[u8], chunk_bytes: usize) -> Option<impl Iterator<Item = Chunk<'_>>> {
    let mut records = Records::new(bytes);
    let mut fields = Vec::new();
    records.read(&mut fields);
    let columns =
        Columns::from_header(&fields).ok().filter(|columns| columns.time.is_some() || columns.time_ns.is_some())?;
    let mut next = records.offset();
    Some(std::iter::from_fn(move || {
        let start = next;
        if start >= bytes.len() {
            return None;
        }
        next = end_of_record(bytes, start, start.saturating_add(chunk_bytes));
        Some(Chunk { columns: columns.clone(), bytes: bytes.get(..next)?, start })
    }))
}

/// Returns the offset after the first record that ends at or after `target`. A record must start at `start`. A line
/// end within quotes does not end a record, and complete records have an even number of quotes.
fn end_of_record(bytes: &[u8], start: usize, target: usize) -> usize {
    let quotes =
        |start: usize, end: usize| memchr::memchr_iter(b'"', bytes.get(start..end).unwrap_or_default()).count();
    let mut position = target.min(bytes.len());
    let mut parity = quotes(start, position) % 2;
    while let Some(length) = memchr::memchr(b'\n', bytes.get(position..).unwrap_or_default()) {
        parity = (parity + quotes(position, position + length)) % 2;
        position += length + 1;
        if parity == 0 {
            return position;
        }
    }
    bytes.len()
}

/// Index of each column.
#[derive(Clone, Debug)]
struct Columns {
    operation: usize,
    offset: usize,
    length: usize,
    time: Option<usize>,
    time_ns: Option<usize>,
    duration: Option<usize>,
    duration_ns: Option<usize>,
    pid: Option<usize>,
    tid: Option<usize>,
    process: Option<usize>,
    file: Option<usize>,
    handle: Option<usize>,
    level: Option<usize>,
    result: Option<usize>,
}

impl Columns {
    fn from_header(header: &[&[u8]]) -> Result<Self, Error> {
        let find = |name: &str| header.iter().position(|field| text(field).trim() == name);
        let require = |name: &'static str| find(name).ok_or(Error::MissingColumn { column: name });
        Ok(Columns {
            operation: require("operation")?,
            offset: require("offset")?,
            length: require("length")?,
            time: find("time"),
            time_ns: find("time_ns"),
            duration: find("duration"),
            duration_ns: find("duration_ns"),
            pid: find("pid"),
            tid: find("tid"),
            process: find("process"),
            file: find("file"),
            handle: find("handle"),
            level: find("level"),
            result: find("result"),
        })
    }
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) -> Result<(), Error> {
    let mut records = Records::new(bytes);
    let mut fields = Vec::new();
    records.read(&mut fields);
    let columns = Columns::from_header(&fields)?;
    read_lines(&columns, &mut records, &mut true, out);
    Ok(())
}

/// Reads the remaining records. Sets `all_timed` to false at the first operation without a time.
fn read_lines(columns: &Columns, records: &mut Records<'_>, all_timed: &mut bool, out: &mut OperationWriter<'_>) {
    let mut fields = Vec::new();
    let mut line = 0_i64;
    loop {
        let offset = records.offset();
        if !records.read(&mut fields) {
            return;
        }
        if fields.first().is_some_and(|field| fields.len() == 1 && field.is_empty() || field.starts_with(b"#")) {
            continue;
        }
        out.count_record();
        out.report_progress(offset);
        line += 1;
        if push(columns, &fields, line, all_timed, out).is_none() {
            out.count_loss(LossKind::Unreadable, offset);
        }
    }
}

/// Writes one operation. Returns `None` if a cell is invalid.
fn push(
    columns: &Columns,
    fields: &[&[u8]],
    line: i64,
    all_timed: &mut bool,
    out: &mut OperationWriter<'_>,
) -> Option<()> {
    let cell = |column: Option<usize>| column.and_then(|index| fields.get(index)).map(|field| unquoted_bytes(field));
    let number = |column: Option<usize>| match cell(column) {
        None | Some(b"") => Some(None),
        Some(field) => parse_u32(field).map(Some),
    };
    let time_ns = |seconds: Option<usize>, nanoseconds: Option<usize>| match (cell(nanoseconds), cell(seconds)) {
        (Some(field @ [_, ..]), _) => i64::try_from(parse_unsigned(field)?).ok().map(Some),
        (_, Some(field @ [_, ..])) => seconds_ns(field).map(Some),
        _ => Some(None),
    };
    let cell_text = |column: Option<usize>| {
        column.and_then(|index| fields.get(index)).map_or(Cow::Borrowed(""), |field| text(field))
    };
    let kind = match cell(Some(columns.operation))?.trim_ascii() {
        b"read" => OperationKind::Read,
        b"write" => OperationKind::Write,
        b"flush" => OperationKind::Flush,
        b"open" => OperationKind::Open,
        b"close" => OperationKind::Close,
        _ => return None,
    };
    let transfers_data = matches!(kind, OperationKind::Read | OperationKind::Write);
    let bytes = |column: usize| match cell(Some(column)) {
        Some(field @ [_, ..]) => parse_unsigned(field),
        _ if transfers_data => None,
        _ => Some(0),
    };
    let level = match cell(columns.level).unwrap_or_default().trim_ascii() {
        b"" | b"application" => Level::Application,
        b"paging" => Level::Paging,
        b"device" => Level::Device,
        _ => return None,
    };
    let outcome = match cell(columns.result).unwrap_or_default().trim_ascii() {
        b"" | b"ok" => Outcome::Done,
        b"end" => Outcome::EndOfFile,
        b"failed" => Outcome::Failed,
        _ => return None,
    };
    let (process, file) = (cell_text(columns.process), cell_text(columns.file));
    let start_ns = time_ns(columns.time, columns.time_ns)?;
    *all_timed &= start_ns.is_some();
    out.push(&Operation {
        start_ns: start_ns.unwrap_or(line),
        duration_ns: time_ns(columns.duration, columns.duration_ns)?,
        level,
        outcome,
        pid: number(columns.pid)?,
        tid: number(columns.tid)?,
        process: &process,
        file: &file,
        handle: match cell(columns.handle) {
            None | Some(b"") => 0,
            Some(field) => parse_unsigned(field)?,
        },
        offset: bytes(columns.offset)?,
        length: bytes(columns.length)?,
        ..Operation::new(kind)
    });
    Some(())
}
