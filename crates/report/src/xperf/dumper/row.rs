//! One event as rows of the dump.

use std::borrow::Cow;
use std::fmt::Write as _;

use onoff_trace::{DescribedEvent, Field, FieldValue};

use super::layout::{Column, Content, Layout, Rows};
use crate::text::printable::printable;

/// Name of events that no description fits.
pub(super) const UNKNOWN_CLASSIC: &str = "UnknownEvent/Classic";

/// The rows of an event that has a layout.
pub(super) fn with_layout(layout: &Layout, event: &DescribedEvent<'_>, line: &mut String) {
    match layout.rows {
        Rows::One(columns) => {
            begin(layout.name, event.time_ns, line);
            for column in columns {
                line.push_str(", ");
                value(column, event, line);
            }
            line.push('\n');
        }
        Rows::Frames => frames(layout.name, event, line),
        Rows::GroupMasks => group_masks(layout.name, event, line),
    }
}

/// The header block of an event without a layout.
pub(super) fn announcement(event: &DescribedEvent<'_>, line: &mut String) {
    line.push_str("BeginHeader\n");
    let name = printable(event.name);
    put(
        line,
        format_args!("{name:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU"),
    );
    for field in event.fields {
        put(line, format_args!(", {}", printable(&field.name)));
    }
    line.push_str("\nEndHeader\n");
}

/// The row of an event without a layout: who, and its fields in their order.
pub(super) fn generic(event: &DescribedEvent<'_>, line: &mut String) {
    begin(event.name, event.time_ns, line);
    who(event, line);
    for field in event.fields {
        line.push_str(", ");
        plain(&field.value, line);
    }
    line.push('\n');
}

/// The row of an event that could not be decoded.
pub(super) fn unknown(event: &DescribedEvent<'_>, line: &mut String) {
    begin(UNKNOWN_CLASSIC, event.time_ns, line);
    who(event, line);
    let provider = if event.guid.is_empty() {
        event.provider
    } else {
        event.guid
    };
    put(
        line,
        format_args!(
            ", {{{}}}, {:#04x},  {:#04x},  {:#06x}, {}\n",
            printable(provider),
            event.opcode,
            event.level,
            event.version,
            event.size
        ),
    );
}

/// Appends to a text, which cannot fail.
fn put(line: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = line.write_fmt(text);
}

fn begin(name: &str, time_ns: i64, line: &mut String) {
    put(
        line,
        format_args!("{:>23}, {:>10}", printable(name), time_ns.div_euclid(1_000)),
    );
}

fn who(event: &DescribedEvent<'_>, line: &mut String) {
    line.push_str(", ");
    process(event, event.pid, line);
    line.push_str(", ");
    thread(event.tid, line);
    put(line, format_args!(", {:>3}", event.cpu));
}

fn thread(tid: Option<u32>, line: &mut String) {
    match tid {
        Some(tid) => put(line, format_args!("{tid:>10}")),
        None => put(line, format_args!("{:>10}", -1)),
    }
}

/// `name.exe (PID)` as xperf shows it: the name to the right of 16 characters, the id to the right of four.
fn process(event: &DescribedEvent<'_>, pid: Option<u32>, line: &mut String) {
    match pid {
        Some(pid) => {
            let name = event
                .directory
                .process(pid)
                .map_or(Cow::Borrowed("Unknown"), printable);
            put(line, format_args!("{name:>16} ({pid:>4})"));
        }
        None => put(line, format_args!("{:>16} ({:>4})", "Unknown", -1)),
    }
}

fn value(column: &Column, event: &DescribedEvent<'_>, line: &mut String) {
    let width = column.width;
    let directory = event.directory;
    let pid_in = |name| event.number(name).and_then(|pid| u32::try_from(pid).ok());
    match column.content {
        Content::Process => process(event, event.pid, line),
        Content::ProcessIn(name) => process(event, pid_in(name), line),
        Content::ProcessOfThread(name) => {
            let pid = pid_in(name).and_then(|tid| directory.process_of_thread(tid));
            process(event, pid, line);
        }
        Content::Thread => thread(event.tid, line),
        Content::Cpu => put(line, format_args!("{:>width$}", event.cpu)),
        Content::Number(name) => match event.field(name) {
            Some(&FieldValue::Signed(number)) => put(line, format_args!("{number:>width$}")),
            field => match field.and_then(FieldValue::as_u64) {
                Some(number) => put(line, format_args!("{number:>width$}")),
                None => put(line, format_args!("{:>width$}", -1)),
            },
        },
        Content::Hexadecimal(name, digits) => hexadecimal(event.field(name), digits, line),
        Content::HexadecimalOr(first, second) => {
            hexadecimal(event.field(first).or_else(|| event.field(second)), 16, line);
        }
        Content::End(base, size) => {
            let end = event
                .number(base)
                .unwrap_or(0)
                .wrapping_add(event.number(size).unwrap_or(0));
            let digits = match event.field(base) {
                Some(FieldValue::Hexadecimal(_, digits)) => usize::from(*digits),
                _ => 16,
            };
            put(line, format_args!("{:#0width$x}", end, width = digits + 2));
        }
        Content::Text(name) => match event.field(name).and_then(FieldValue::as_text) {
            Some(text) if !text.is_empty() => line.push_str(&printable(text)),
            _ => line.push_str("<none>"),
        },
        Content::Quoted(name) => {
            let text = event
                .field(name)
                .and_then(FieldValue::as_text)
                .unwrap_or_default();
            put(line, format_args!("\"{}\"", printable(text)));
        }
        Content::File(key) => match event.derived.file {
            Some(path) => put(line, format_args!("\"{}\"", printable(path))),
            None => put(
                line,
                format_args!("\"Unknown ({:#x})\"", event.number(key).unwrap_or(0)),
            ),
        },
        Content::ImageIn(address, pid) => image(event, event.number(address), pid_in(pid), line),
        Content::Image(address) => image(event, event.number(address), event.pid, line),
        Content::ThreadStartImage => {
            let start = event.tid.and_then(|tid| directory.start_of_thread(tid));
            image(event, start, event.pid, line);
        }
        Content::Elapsed => microseconds(event.derived.elapsed_ns, width, line),
        Content::Service => microseconds(event.derived.service_ns, width, line),
        Content::SinceLast => microseconds(event.derived.since_last_ns, width, line),
        Content::Ran => microseconds(event.derived.ran_ns, width, line),
        Content::OldState => {
            put(
                line,
                format_args!("{:>width$}", event.derived.old_state.unwrap_or("Unknown")),
            );
        }
        Content::WaitReason => {
            put(
                line,
                format_args!(
                    "{:>width$}",
                    event.derived.old_wait_reason.unwrap_or("Unknown")
                ),
            );
        }
        Content::Swapable(name) => {
            let text = if event.number(name) == Some(1) {
                "Swapable"
            } else {
                "NonSwap"
            };
            put(line, format_args!("{text:>width$}"));
        }
        // Bits 17 to 19 of the flags: 0 not set, 1 very low, 2 low, 3 normal, 4 high, 5 critical. A posted row with flags
        // 0x060043 shows 3.
        Content::IoPriority(flags) => {
            let priority = event.number(flags).map_or(0, |flags| flags >> 17 & 7);
            put(line, format_args!("{priority:>width$}"));
        }
        Content::Flag(name) => {
            let set = event.number(name).unwrap_or(0) & 1 != 0;
            put(
                line,
                format_args!("{:>width$}", if set { "Yes" } else { "No" }),
            );
        }
        Content::Always(text) => put(line, format_args!("{text:>width$}")),
    }
}

fn microseconds(ns: Option<i64>, width: usize, line: &mut String) {
    put(line, format_args!("{:>width$}", ns.unwrap_or(0) / 1_000));
}

fn hexadecimal(field: Option<&FieldValue<'_>>, digits: usize, line: &mut String) {
    // Addresses take the digits of the recorded machine's pointers.
    let digits = match field {
        Some(&FieldValue::Hexadecimal(_, recorded)) if digits == 16 => usize::from(recorded),
        _ => digits,
    };
    let number = match field {
        // A signed status is shown by its bits.
        Some(&FieldValue::Signed(number)) if digits <= 8 => u64::from(number as u32),
        field => field.and_then(FieldValue::as_u64).unwrap_or(0),
    };
    put(line, format_args!("{number:#0width$x}", width = digits + 2));
}

fn image(event: &DescribedEvent<'_>, address: Option<u64>, pid: Option<u32>, line: &mut String) {
    let address = address.unwrap_or(0);
    let module = event
        .directory
        .module(pid.unwrap_or(0), address)
        .map_or(Cow::Borrowed("Unknown"), printable);
    put(line, format_args!("{module:>16}!{address:#x}"));
}

fn frames(name: &str, event: &DescribedEvent<'_>, line: &mut String) {
    let time_ns = event.derived.stack_of_ns.unwrap_or(event.time_ns);
    let pid = event
        .number("StackProcess")
        .and_then(|pid| u32::try_from(pid).ok());
    let tid = event
        .number("StackThread")
        .and_then(|tid| u32::try_from(tid).ok());
    let Some(FieldValue::List(frames)) = event.field("Frames") else {
        return;
    };
    for (number, frame) in frames.iter().enumerate() {
        begin(name, time_ns, line);
        line.push_str(", ");
        thread(tid, line);
        put(line, format_args!(", {:>3}, ", number + 1));
        hexadecimal(Some(frame), 16, line);
        line.push_str(", ");
        image(event, frame.as_u64(), pid, line);
        line.push('\n');
    }
}

fn group_masks(name: &str, event: &DescribedEvent<'_>, line: &mut String) {
    let mut row = |number: usize, mask: Option<u64>| {
        begin(name, event.time_ns, line);
        put(
            line,
            format_args!(", {number:>3}, {:#010x}\n", mask.unwrap_or(0)),
        );
    };
    if let Some(FieldValue::List(masks)) = event.field("GroupMasks") {
        for (number, mask) in masks.iter().enumerate() {
            row(number, mask.as_u64());
        }
        return;
    }
    let masks = event
        .fields
        .iter()
        .filter(|field| field.name.starts_with("GroupMask"));
    for (number, field) in masks.enumerate() {
        row(number, field.value.as_u64());
    }
}

/// A value of an event without a layout. Texts that could be taken for several columns stand between quotes.
fn plain(value: &FieldValue<'_>, line: &mut String) {
    match value {
        FieldValue::Null => {}
        FieldValue::Boolean(flag) => put(line, format_args!("{flag}")),
        FieldValue::Signed(number) => put(line, format_args!("{number}")),
        FieldValue::Unsigned(number) => put(line, format_args!("{number}")),
        FieldValue::Hexadecimal(number, digits) => {
            put(
                line,
                format_args!("{number:#0width$x}", width = usize::from(*digits) + 2),
            );
        }
        FieldValue::Float(number) => put(line, format_args!("{number}")),
        FieldValue::Text(text) => {
            let text = printable(text);
            if text.contains([',', '"']) || text.trim() != text {
                put(line, format_args!("\"{}\"", text.replace('"', "\"\"")));
            } else {
                line.push_str(&text);
            }
        }
        FieldValue::List(values) => {
            line.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    line.push_str("; ");
                }
                plain(value, line);
            }
            line.push(']');
        }
        FieldValue::Structure(fields) => structure(fields, line),
    }
}

fn structure(fields: &[Field<'_>], line: &mut String) {
    line.push('{');
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            line.push_str("; ");
        }
        put(line, format_args!("{}=", printable(&field.name)));
        plain(&field.value, line);
    }
    line.push('}');
}
