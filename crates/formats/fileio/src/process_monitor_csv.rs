//! Reads the CSV export of Process Monitor with any columns and in any locale.
//!
//! Names of columns, operations, results and details are always English. Numbers have the locale's digits and thousands
//! separators; times have the locale's decimal separator and words for AM and PM.

use crate::csv::{Records, text, unquoted_bytes};
use crate::error::Error;
use crate::losses::LossKind;
use crate::number::{MidnightUnwrapper, clock_ns, parse_u32, seconds_ns};
use crate::operation::{Level, Operation, OperationKind, OperationWriter, Outcome};

struct Columns {
    operation: usize,
    path: Option<usize>,
    detail: Option<usize>,
    result: Option<usize>,
    process: Option<usize>,
    pid: Option<usize>,
    tid: Option<usize>,
    relative: Option<usize>,
    time: Option<usize>,
    duration: Option<usize>,
}

/// Reads the rows of an export.
pub(crate) struct RowReader {
    columns: Columns,
    midnights: MidnightUnwrapper,
    line: i64,
}

impl RowReader {
    pub(crate) fn from_header(header: &[&[u8]]) -> Result<Self, Error> {
        let find = |name: &str| header.iter().position(|field| text(field).trim() == name);
        let columns = Columns {
            operation: find("Operation").ok_or(Error::MissingColumn { column: "operation" })?,
            path: find("Path"),
            detail: find("Detail"),
            result: find("Result"),
            process: find("Process Name"),
            pid: find("PID"),
            tid: find("TID"),
            relative: find("Relative Time"),
            time: find("Time of Day"),
            duration: find("Duration"),
        };
        Ok(Self { columns, midnights: MidnightUnwrapper::default(), line: 0 })
    }

    /// Reads the row at byte `offset`.
    pub(crate) fn read(&mut self, fields: &[&[u8]], offset: usize, out: &mut OperationWriter<'_>) {
        out.count_record();
        out.report_progress(offset);
        self.line += 1;
        let operation = fields.get(self.columns.operation);
        let Some(kind) = operation.and_then(|field| operation_kind(unquoted_bytes(field))) else { return };
        if let Err(loss) = push(&self.columns, fields, kind, self.line, &mut self.midnights, out) {
            out.count_loss(loss, offset);
        }
    }
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) -> Result<(), Error> {
    let mut records = Records::new(bytes);
    let mut fields = Vec::new();
    records.read(&mut fields);
    let mut rows = RowReader::from_header(&fields)?;
    loop {
        let offset = records.offset();
        if !records.read(&mut fields) {
            return Ok(());
        }
        if fields.len() > 1 {
            rows.read(&fields, offset, out);
        }
    }
}

fn operation_kind(operation: &[u8]) -> Option<OperationKind> {
    Some(match operation {
        b"ReadFile" => OperationKind::Read,
        b"WriteFile" => OperationKind::Write,
        b"FlushBuffersFile" => OperationKind::Flush,
        b"CreateFile" => OperationKind::Open,
        b"CloseFile" => OperationKind::Close,
        _ => return None,
    })
}

fn push(
    columns: &Columns,
    fields: &[&[u8]],
    kind: OperationKind,
    line: i64,
    midnights: &mut MidnightUnwrapper,
    out: &mut OperationWriter<'_>,
) -> Result<(), LossKind> {
    let cell = |column: Option<usize>| {
        column.and_then(|index| fields.get(index)).map(|field| unquoted_bytes(field)).unwrap_or_default()
    };
    let cell_text =
        |column: Option<usize>| column.and_then(|index| fields.get(index)).map(|field| text(field)).unwrap_or_default();
    let start_ns = match (cell(columns.relative), cell_text(columns.time)) {
        (relative @ [_, ..], _) => clock_ns(relative).ok_or(LossKind::Unreadable)?,
        (_, time) if !time.is_empty() => midnights.unwrap_time(time_of_day_ns(&time).ok_or(LossKind::Unreadable)?),
        _ => line,
    };
    let outcome = match cell(columns.result) {
        // Results without an error: data was or will be transferred.
        b"" | b"SUCCESS" | b"BUFFER OVERFLOW" | b"PENDING" | b"REPARSE" | b"OPLOCK BREAK IN PROGRESS" => Outcome::Done,
        b"END OF FILE" => Outcome::EndOfFile,
        _ => Outcome::Failed,
    };
    let detail = cell_text(columns.detail);
    let mut operation = Operation {
        start_ns,
        duration_ns: seconds_ns(cell(columns.duration)),
        outcome,
        pid: parse_u32(cell(columns.pid)),
        tid: parse_u32(cell(columns.tid)),
        ..Operation::new(kind)
    };
    if matches!(kind, OperationKind::Read | OperationKind::Write) {
        if columns.detail.is_none() {
            return Err(LossKind::OffsetUnknown);
        }
        match (number_after(&detail, "Offset:"), number_after(&detail, "Length:")) {
            (Some(offset), Some(length)) => (operation.offset, operation.length) = (offset, length),
            // A failed request transfers nothing, so its offset is irrelevant.
            _ if outcome != Outcome::Done => {}
            _ => return Err(LossKind::OffsetUnknown),
        }
        if let Some(flags) = after(&detail, "I/O Flags:") {
            if flags.contains("Paging I/O") {
                operation.level = Level::Paging;
            }
            operation.unbuffered = flags.contains("Non-cached");
        }
    }
    let (process, file) = (cell_text(columns.process), cell_text(columns.path));
    out.push(&Operation { process: &process, file: &file, ..operation });
    Ok(())
}

/// Parses the number after `key` in a detail: digits of any script with any separators, up to the comma and letter that
/// start the next detail. Returns `None` if there is none or it is negative, which means that the offset is not given.
fn number_after(detail: &str, key: &str) -> Option<u64> {
    let tail = after(detail, key)?;
    let mut number: Option<u64> = None;
    let mut add = |digit: u32| {
        number = Some(number.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(digit))?);
        Some(())
    };
    for (index, byte) in tail.trim_start().bytes().enumerate() {
        match byte {
            b'0'..=b'9' => add(u32::from(byte - b'0'))?,
            b'-' | b':' => break,
            _ if byte.is_ascii_alphabetic() => break,
            _ if byte.is_ascii() => {}
            _ => {
                // Other scripts.
                for character in tail.trim_start().get(index..).unwrap_or_default().chars() {
                    if let Some(digit) = digit(character) {
                        add(digit)?;
                    } else if character.is_alphabetic() || character == '-' || character == ':' {
                        break;
                    }
                }
                break;
            }
        }
    }
    number
}

/// Returns the text after the first occurrence of `key`.
fn after<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    match text.strip_prefix(key) {
        Some(tail) => Some(tail),
        None => text.get(memchr::memmem::find(text.as_bytes(), key.as_bytes())? + key.len()..),
    }
}

/// The zero digits of the scripts in which Windows writes numbers.
const ZEROS: [char; 12] = [
    '0', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{e50}', '\u{ed0}', '\u{1040}',
    '\u{17e0}', '\u{ff10}',
];

fn digit(character: char) -> Option<u32> {
    ZEROS.iter().find_map(|&zero| u32::from(character).checked_sub(u32::from(zero)).filter(|&digit| digit < 10))
}

/// Words for PM, in lower case.
const PM_WORDS: [&str; 14] =
    ["pm", "p.m.", "p. m.", "p.\u{a0}m.", "午後", "下午", "오후", "μμ", "μ.μ.", "م", "ب.ظ", "ch", "md", "em"];

/// Parses a time of day in any locale, to ns since midnight.
fn time_of_day_ns(text: &str) -> Option<i64> {
    let (time, word) = text.split_once(' ').unwrap_or((text, ""));
    match clock_ns(time.as_bytes()) {
        Some(ns) if matches!(word, "" | "AM" | "PM") => Some(with_half_day(ns, word == "PM", word.is_empty())),
        _ => localized_time_of_day_ns(text),
    }
}

/// Converts a time on a 12-hour clock to one on a 24-hour clock.
const fn with_half_day(ns: i64, is_pm: bool, has_24_hours: bool) -> i64 {
    const HOUR_NS: i64 = 3_600_000_000_000;
    match (ns / HOUR_NS, is_pm) {
        _ if has_24_hours => ns,
        (12, false) => ns - 12 * HOUR_NS,
        (0..12, true) => ns + 12 * HOUR_NS,
        _ => ns,
    }
}

/// Parses a time with digits, separators and words of any locale.
fn localized_time_of_day_ns(text: &str) -> Option<i64> {
    let mut normalized = String::with_capacity(text.len());
    let mut letters = String::new();
    let mut last_was_digit = false;
    for character in text.chars() {
        if let Some(digit) = digit(character) {
            normalized.push(char::from(b'0' + u8::try_from(digit).ok()?));
            last_was_digit = true;
        } else if last_was_digit && is_separator(character) {
            normalized.push(character);
            last_was_digit = false;
        } else {
            letters.push(character);
            last_was_digit = false;
        }
    }
    // A separator other than a colon (`13.18.10,775`) occurs twice before the decimal separator.
    let parts: Vec<&str> = normalized.split([':', '.', ',']).filter(|part| !part.is_empty()).collect();
    let time = match parts.as_slice() {
        [hours, minutes, seconds] => format!("{hours}:{minutes}:{seconds}"),
        [hours, minutes, seconds, decimals] => format!("{hours}:{minutes}:{seconds}.{decimals}"),
        _ => return None,
    };
    let ns = clock_ns(time.as_bytes())?;
    let word = letters.trim().to_lowercase();
    Some(with_half_day(ns, PM_WORDS.contains(&word.as_str()), word.is_empty()))
}

fn is_separator(character: char) -> bool {
    matches!(character, ':' | '.' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_of_any_locale() {
        for detail in [
            "Offset: 1,234,567, Length: 4,096, I/O Flags: Non-cached, Paging I/O, Priority: Normal",
            "Offset: 1.234.567, Length: 4.096",
            "Offset: 1\u{a0}234\u{202f}567, Length: 4\u{a0}096, Priority: Normal",
            "Offset: 1'234’567, Length: 4'096",
            "Offset: 12,34,567, Length: 4,096",
            "Offset: 1234567, Length: 4096",
            "Offset: ١٬٢٣٤٬٥٦٧, Length: ٤٬٠٩٦",
        ] {
            assert_eq!(
                (number_after(detail, "Offset:"), number_after(detail, "Length:")),
                (Some(1_234_567), Some(4096)),
                "{detail}"
            );
        }
        assert_eq!(number_after("Offset: -1, Length: 8", "Offset:"), None);
        assert_eq!(number_after("Length: 8", "Offset:"), None);
        assert_eq!(number_after("Offset: 99999999999999999999999", "Offset:"), None);
    }

    #[test]
    fn parses_times_of_any_locale() {
        let ns = (((13 * 60 + 18) * 60) + 10) * 1_000_000_000 + 775_242_900;
        for time in [
            "1:18:10.7752429 PM",
            "13:18:10,7752429",
            "13.18.10,7752429",
            "1:18:10.7752429 p. m.",
            "午後 1:18:10.7752429",
            "下午 01:18:10.7752429",
        ] {
            assert_eq!(time_of_day_ns(time), Some(ns), "{time}");
        }
        assert_eq!(time_of_day_ns("12:00:00.0 AM"), Some(0));
        assert_eq!(time_of_day_ns("12:00:01"), Some(43_201_000_000_000));
        assert_eq!(time_of_day_ns("n/a"), None);
    }
}
