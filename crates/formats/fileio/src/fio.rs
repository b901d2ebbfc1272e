//! Reads the logs of `fio`.
//!
//! An I/O log (`--write_iolog`) starts with `fio version 2 iolog` or `fio version 3 iolog`. Version 3 puts a time in
//! microseconds before each line: `183 /tmp/fio.dat read 503808 8192`. A latency, bandwidth or completion log has
//! `time in ms, value, direction, block size, offset, priority` (source: fio's manual, "Trace file format", "Log file
//! formats").

use crate::error::Error;
use crate::losses::LossKind;
use crate::number::{lines, parse_unsigned};
use crate::operation::{Level, Operation, OperationKind, OperationWriter};

pub(crate) fn read_iolog(bytes: &[u8], out: &mut OperationWriter<'_>) {
    let has_times = bytes.starts_with(b"fio version 3");
    // Version 2 has waits, in microseconds, instead of times.
    let mut now_ns = 0_i64;
    for (offset, line) in lines(bytes).skip(1) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        out.count_record();
        if read_iolog_line(line, has_times, &mut now_ns, out).is_none() {
            out.count_loss(LossKind::Unreadable, offset);
        }
    }
}

fn read_iolog_line(line: &[u8], has_times: bool, now_ns: &mut i64, out: &mut OperationWriter<'_>) -> Option<()> {
    let line = str::from_utf8(line).ok()?.trim();
    let line = if has_times {
        let (time, rest) = line.split_once(' ')?;
        *now_ns = i64::try_from(parse_unsigned(time.as_bytes())?).ok()?.checked_mul(1000)?;
        rest
    } else {
        line
    };
    // A file name may contain spaces, so the action is parsed from the end.
    let words: Vec<&str> = line.rsplitn(4, ' ').collect();
    if let [action, _] = words.as_slice()
        && matches!(*action, "add" | "open" | "close")
    {
        return push_lifecycle(line, *now_ns, out);
    }
    let [length, offset, action, file] = words.as_slice() else { return push_lifecycle(line, *now_ns, out) };
    let (Some(offset), Some(length)) = (parse_unsigned(offset.as_bytes()), parse_unsigned(length.as_bytes())) else {
        return push_lifecycle(line, *now_ns, out);
    };
    let kind = match *action {
        "read" => OperationKind::Read,
        "write" => OperationKind::Write,
        "sync" | "datasync" => OperationKind::Flush,
        "wait" => {
            let wait_ns = i64::try_from(offset).ok()?.checked_mul(1000)?;
            *now_ns = now_ns.saturating_add(wait_ns);
            return Some(());
        }
        "trim" => return Some(()),
        _ => return None,
    };
    out.push(&Operation { start_ns: *now_ns, file, offset, length, ..Operation::new(kind) });
    Some(())
}

fn push_lifecycle(line: &str, now_ns: i64, out: &mut OperationWriter<'_>) -> Option<()> {
    let (file, action) = line.rsplit_once(' ')?;
    let kind = match action {
        "add" => return Some(()),
        "open" => OperationKind::Open,
        "close" => OperationKind::Close,
        _ => return None,
    };
    out.push(&Operation { start_ns: now_ns, file, ..Operation::new(kind) });
    Some(())
}

/// True if a log with this name has latencies: `fio` adds `_lat.1.log` or `_clat.1.log` to the name of the job. Logs of
/// submission latencies, bandwidths and rates have other values in the same column.
pub(crate) fn has_latencies(name: &str) -> bool {
    let file_name = name.rsplit(['/', '\\']).next().unwrap_or(name);
    ["_lat.", "_clat."].iter().any(|part| file_name.contains(part))
}

/// Reads a log. Latencies are in ns (since `fio` 3.0), and a request is logged when it completes.
pub(crate) fn read_log(bytes: &[u8], has_latencies: bool, out: &mut OperationWriter<'_>) -> Result<(), Error> {
    for (line_offset, line) in lines(bytes) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        out.count_record();
        let mut fields = line.split(|&byte| byte == b',').map(parse_unsigned);
        let mut field = || fields.next().flatten();
        let (Some(time), Some(value), Some(direction), Some(length)) = (field(), field(), field(), field()) else {
            out.count_loss(LossKind::Unreadable, line_offset);
            continue;
        };
        let kind = match direction {
            0 => OperationKind::Read,
            1 => OperationKind::Write,
            2 => continue,
            _ => {
                out.count_loss(LossKind::Unreadable, line_offset);
                continue;
            }
        };
        let Some(offset) = field() else {
            return Err(Error::MissingColumn { column: "offset; run fio with --log_offset=1" });
        };
        let logged_ns = i64::try_from(time).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let duration_ns = if has_latencies { i64::try_from(value).ok() } else { None };
        let start_ns = logged_ns.saturating_sub(duration_ns.unwrap_or(0));
        let level = Level::Application;
        out.push(&Operation { start_ns, duration_ns, level, offset, length, ..Operation::new(kind) });
    }
    Ok(())
}
