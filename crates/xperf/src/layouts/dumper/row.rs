//! One event as rows of the dump.

use std::borrow::Cow;
use std::fmt::Write as _;

use onoff_trace::{DescribedEvent, Field, FieldValue};

use super::layout::{Column, Content, Layout, Rows};
use super::text::{self, right, signed, unsigned};
use onoff_report::text::printable::printable;

/// Name of events that no description fits.
pub(super) const UNKNOWN_CLASSIC: &str = "UnknownEvent/Classic";

/// A layout, and where the fields of its columns stand in the events of one kind.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    layout: &'static Layout,
    /// For each column.
    places: Vec<Option<usize>>,
}

impl Plan {
    /// The plan for events with the same fields as `event`.
    pub(super) fn new(layout: &'static Layout, event: &DescribedEvent<'_>) -> Self {
        let place = |column: &Column| {
            let name = column.content.field()?;
            event.fields.iter().position(|field| field.name == name)
        };
        let places = match layout.rows {
            Rows::One(columns) => columns.iter().map(place).collect(),
            Rows::Frames | Rows::GroupMasks => Vec::new(),
        };
        Self { layout, places }
    }
}

/// The rows of an event that has a layout.
pub(super) fn with_layout(plan: &Plan, event: &DescribedEvent<'_>, line: &mut String) {
    let layout = plan.layout;
    match layout.rows {
        Rows::One(columns) => {
            begin(layout.name, event.time_ns, line);
            for (column, place) in columns.iter().zip(&plan.places) {
                line.push_str(", ");
                let field = place.and_then(|place| event.fields.get(place));
                value(column, field.map(|field| &field.value), event, line);
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
    put(line, format_args!("{name:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU"));
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
    let provider = if event.guid.is_empty() { event.provider } else { event.guid };
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
    right(&printable(name), 23, line);
    line.push_str(", ");
    signed(time_ns.div_euclid(1_000), 10, line);
}

fn who(event: &DescribedEvent<'_>, line: &mut String) {
    line.push_str(", ");
    process(event, event.pid, line);
    line.push_str(", ");
    thread(event.tid, line);
    line.push_str(", ");
    unsigned(event.cpu.into(), 3, line);
}

fn thread(tid: Option<u32>, line: &mut String) {
    signed(tid.map_or(-1, i64::from), 10, line);
}

/// `name.exe (PID)` as xperf shows it: the name to the right of 16 characters, the id to the right of four.
fn process(event: &DescribedEvent<'_>, pid: Option<u32>, line: &mut String) {
    let name = pid.and_then(|pid| event.directory.process(pid));
    right(&name.map_or(Cow::Borrowed("Unknown"), printable), 16, line);
    line.push_str(" (");
    signed(pid.map_or(-1, i64::from), 4, line);
    line.push(')');
}

/// The value of a column; `field` is that of its first field.
fn value(column: &Column, field: Option<&FieldValue<'_>>, event: &DescribedEvent<'_>, line: &mut String) {
    let width = column.width;
    let directory = event.directory;
    let number = field.and_then(FieldValue::as_u64);
    let id = || number.and_then(|id| u32::try_from(id).ok());
    match column.content {
        Content::Process => process(event, event.pid, line),
        Content::ProcessIn(_) => process(event, id(), line),
        Content::ProcessOfThread(_) => {
            let pid = id().and_then(|tid| directory.process_of_thread(tid));
            process(event, pid, line);
        }
        Content::Thread => thread(event.tid, line),
        Content::Cpu => unsigned(event.cpu.into(), width, line),
        Content::Number(_) => match (field, number) {
            (Some(&FieldValue::Signed(number)), _) => signed(number, width, line),
            (_, Some(number)) => unsigned(number, width, line),
            (_, None) => signed(-1, width, line),
        },
        Content::Hexadecimal(_, digits) => hexadecimal(field, digits, line),
        Content::HexadecimalOr(_, second) => {
            hexadecimal(field.or_else(|| event.field(second)), 16, line);
        }
        Content::End(_, size) => {
            let size = event.number(size).unwrap_or(0);
            let end = number.unwrap_or(0).wrapping_add(size);
            let digits = match field {
                Some(FieldValue::Hexadecimal(_, digits)) => usize::from(*digits),
                _ => 16,
            };
            text::hexadecimal(end, digits, line);
        }
        Content::Text(_) => match field.and_then(FieldValue::as_text) {
            Some(text) if !text.is_empty() => line.push_str(&printable(text)),
            _ => line.push_str("<none>"),
        },
        Content::Quoted(_) => {
            quoted(field.and_then(FieldValue::as_text).unwrap_or_default(), line);
        }
        Content::File(_) => match event.derived.file {
            Some(path) => quoted(path, line),
            None => put(line, format_args!("\"Unknown ({:#x})\"", number.unwrap_or(0))),
        },
        Content::ImageIn(_, pid) => {
            let pid = event.number(pid).and_then(|pid| u32::try_from(pid).ok());
            image(event, number, pid, line);
        }
        Content::Image(_) => image(event, number, event.pid, line),
        Content::ThreadStartImage => {
            let start = event.tid.and_then(|tid| directory.start_of_thread(tid));
            image(event, start, event.pid, line);
        }
        Content::Elapsed => microseconds(event.derived.elapsed_ns, width, line),
        Content::Service => microseconds(event.derived.service_ns, width, line),
        Content::SinceLast => microseconds(event.derived.since_last_ns, width, line),
        Content::Ran => microseconds(event.derived.ran_ns, width, line),
        Content::OldState => right(event.derived.old_state.unwrap_or("Unknown"), width, line),
        Content::WaitReason => {
            right(event.derived.old_wait_reason.unwrap_or("Unknown"), width, line);
        }
        Content::Swapable(_) => {
            let text = if number == Some(1) { "Swapable" } else { "NonSwap" };
            right(text, width, line);
        }
        // Bits 17 to 19 of the flags: 0 not set, 1 very low, 2 low, 3 normal, 4 high, 5 critical. A posted row with flags
        // 0x060043 shows 3.
        Content::IoPriority(_) => {
            unsigned(number.map_or(0, |flags| flags >> 17 & 7), width, line);
        }
        Content::Flag(_) => {
            let set = number.unwrap_or(0) & 1 != 0;
            right(if set { "Yes" } else { "No" }, width, line);
        }
        Content::Always(text) => right(text, width, line),
    }
}

fn quoted(text: &str, line: &mut String) {
    line.push('"');
    line.push_str(&printable(text));
    line.push('"');
}

fn microseconds(ns: Option<i64>, width: usize, line: &mut String) {
    signed(ns.unwrap_or(0) / 1_000, width, line);
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
    text::hexadecimal(number, digits, line);
}

fn image(event: &DescribedEvent<'_>, address: Option<u64>, pid: Option<u32>, line: &mut String) {
    let address = address.unwrap_or(0);
    let module = event.directory.module(pid.unwrap_or(0), address);
    right(&module.map_or(Cow::Borrowed("Unknown"), printable), 16, line);
    line.push('!');
    text::hexadecimal(address, 1, line);
}

fn frames(name: &str, event: &DescribedEvent<'_>, line: &mut String) {
    let time_ns = event.derived.stack_of_ns.unwrap_or(event.time_ns);
    let pid = event.number("StackProcess").and_then(|pid| u32::try_from(pid).ok());
    let tid = event.number("StackThread").and_then(|tid| u32::try_from(tid).ok());
    let Some(FieldValue::List(frames)) = event.field("Frames") else {
        return;
    };
    for (number, frame) in frames.iter().enumerate() {
        begin(name, time_ns, line);
        line.push_str(", ");
        thread(tid, line);
        line.push_str(", ");
        unsigned(number as u64 + 1, 3, line);
        line.push_str(", ");
        hexadecimal(Some(frame), 16, line);
        line.push_str(", ");
        image(event, frame.as_u64(), pid, line);
        line.push('\n');
    }
}

fn group_masks(name: &str, event: &DescribedEvent<'_>, line: &mut String) {
    let mut row = |number: usize, mask: Option<u64>| {
        begin(name, event.time_ns, line);
        put(line, format_args!(", {number:>3}, {:#010x}\n", mask.unwrap_or(0)));
    };
    if let Some(FieldValue::List(masks)) = event.field("GroupMasks") {
        for (number, mask) in masks.iter().enumerate() {
            row(number, mask.as_u64());
        }
        return;
    }
    let masks = event.fields.iter().filter(|field| field.name.starts_with("GroupMask"));
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
            put(line, format_args!("{number:#0width$x}", width = usize::from(*digits) + 2));
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
