//! Recognizes the format of a recording by its content.

use crate::csv::{self, Records};
use crate::format::Format;
use crate::number::{lines, parse_unsigned};
use crate::{blkparse, process_monitor_xml, strace};

/// Number of bytes inspected at the start of a recording.
pub const SNIFF_LEN: usize = 64 * 1024;

/// Number of lines inspected.
const SNIFF_LINES: usize = 200;

/// Returns the format of a recording that starts with `bytes`; `None` if not supported.
#[must_use]
pub fn recognize(bytes: &[u8]) -> Option<Format> {
    let bytes = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    if bytes.starts_with(b"PML_") {
        return Some(Format::ProcessMonitorLog);
    }
    if bytes.starts_with(b"fio version ") {
        return Some(Format::FioIolog);
    }
    if bytes.iter().take(4096).any(|&byte| byte == 0) {
        return None;
    }
    if process_monitor_xml::is_export(bytes) {
        return Some(Format::ProcessMonitorXml);
    }
    let mut header = Vec::new();
    Records::new(bytes).read(&mut header);
    let has_column = |name: &str| header.iter().any(|field| csv::text(field).trim() == name);
    if has_column("Operation") && (has_column("Detail") || has_column("Path")) {
        return Some(Format::ProcessMonitorCsv);
    }
    if has_column("operation") && has_column("offset") && has_column("length") {
        return Some(Format::OperationsCsv);
    }
    let is_darshan = |line: &[u8]| line.starts_with(b"# darshan") || line.starts_with(b"# DXT");
    if bytes.starts_with(b"#") && lines(bytes).take(SNIFF_LINES).any(|(_, line)| is_darshan(line)) {
        return Some(Format::DarshanTrace);
    }
    let mut nonblank_lines = lines(bytes).map(|(_, line)| line).filter(|line| !line.trim_ascii().is_empty()).peekable();
    if nonblank_lines.peek().is_some_and(|line| is_fio_log_line(line)) {
        return Some(Format::FioLog);
    }
    nonblank_lines.take(SNIFF_LINES).find_map(|line| {
        if blkparse::is_event(line) {
            Some(Format::Blkparse)
        } else if strace::is_call(line) {
            Some(Format::Strace)
        } else {
            None
        }
    })
}

/// True for `time, value, direction, block size[, offset[, priority]]`, all numbers.
fn is_fio_log_line(line: &[u8]) -> bool {
    let fields: Vec<Option<u64>> = line.split(|&byte| byte == b',').map(number_or_hexadecimal).collect();
    (4..=7).contains(&fields.len())
        && fields.iter().all(Option::is_some)
        && fields.get(2).copied().flatten().is_some_and(|direction| direction <= 2)
}

/// Parses a decimal number, or a hexadecimal one such as the priority in newer logs.
fn number_or_hexadecimal(field: &[u8]) -> Option<u64> {
    let field = field.trim_ascii();
    match field.strip_prefix(b"0x") {
        Some(digits) => u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok(),
        None => parse_unsigned(field),
    }
}
