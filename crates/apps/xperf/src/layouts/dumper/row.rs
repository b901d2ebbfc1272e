//! Formats an event as rows of the dump.

use std::borrow::Cow;
use std::io::Write as _;

use onoff_etl::CompressionFormat;
use onoff_trace::{DescribedEvent, EventContext, EventOrigin, Field, FieldValue};

use super::layout::{Column, Content, DISPOSITIONS, Layout, OPEN_OPTIONS, QUALITIES_OF_SERVICE, Rows, layout_of};
use super::text::{push, push_hexadecimal, push_right_aligned, push_signed, push_unsigned};
use super::{LineEnds, Style};
use onoff_report::text::printable::printable;

/// xperf's placeholder for unknown values.
const UNKNOWN: &str = "\"Unknown\"";

/// Name of the rows of events without a matching description.
pub(super) const UNKNOWN_CLASSIC: &str = "UnknownEvent/Classic";

/// Name of the rows of events with an unknown manifest.
pub(super) const UNKNOWN_MANIFEST: &str = "UnknownEvent/Crimson";

/// Name of the rows of hardware counters.
pub(super) const COUNTERS: &str = "Pmc";

/// Appends the titles of the rows of hardware counters.
pub(super) fn push_counter_titles<'n>(names: impl Iterator<Item = &'n str>, ends: LineEnds, line: &mut Vec<u8>) {
    push_formatted(line, format_args!("{COUNTERS:>23},  TimeStamp,   ThreadID"));
    for name in names {
        push_formatted(line, format_args!(", {}", printable(name)));
    }
    push(ends.as_str(), line);
}

/// Appends the row of the hardware counters of an event, with the thread that the event is attributed to.
pub(super) fn push_counters(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    push_name_and_time(COUNTERS, event.time_ns, line);
    push(", ", line);
    push_thread(event.tid, line);
    for &value in event.derived.counters {
        push(", ", line);
        push_unsigned(value, 0, line);
    }
    push(ends.as_str(), line);
}

/// A layout, and the field indexes of its columns for events with the same fields.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) layout: &'static Layout,
    /// True if the columns are the default columns of the name, or their header block was written.
    pub(super) has_header: bool,
    /// Field indexes by column.
    field_indexes: Vec<Option<usize>>,
}

impl Plan {
    /// Returns a plan for events with the same fields as `event`.
    pub(super) fn new(layout: &'static Layout, event: &DescribedEvent<'_>) -> Self {
        let field_index = |column: &Column| {
            let name = column.content.field()?;
            event.fields.iter().position(|field| field.name == name)
        };
        let field_indexes = match layout.rows {
            Rows::One(columns) => columns.iter().map(field_index).collect(),
            Rows::Frames | Rows::GroupMasks => Vec::new(),
        };
        let has_header = layout_of(layout.name).is_none_or(|default| default.columns() == layout.columns());
        Self { layout, has_header, field_indexes }
    }
}

/// Appends the rows of an event with a layout.
pub(super) fn push_layout_rows(plan: &Plan, event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    let layout = plan.layout;
    match layout.rows {
        Rows::One(columns) => {
            push_name_and_time(layout.name, event.time_ns, line);
            for (column, index) in columns.iter().zip(&plan.field_indexes) {
                push(", ", line);
                let field = index.and_then(|index| event.fields.get(index));
                push_value(column, field.map(|field| &field.value), event, style, line);
            }
            push(style.ends.as_str(), line);
        }
        Rows::Frames => push_frames(layout.name, event, style, line),
        Rows::GroupMasks => push_group_masks(layout.name, event, style.ends, line),
    }
}

/// Appends the titles of an event without a layout.
pub(super) fn push_titles<'f>(
    name: &str,
    origin: EventOrigin,
    fields: impl Iterator<Item = &'f str>,
    ends: LineEnds,
    line: &mut Vec<u8>,
) {
    let name = printable(name);
    push_formatted(line, format_args!("{name:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU"));
    if has_context(origin) {
        push(", etw:ActivityId, etw:Related ActivityId, etw:UserSid, etw:SessionId", line);
    }
    for field in fields {
        push_formatted(line, format_args!(", {}", printable(field)));
    }
    push(ends.as_str(), line);
}

/// True if rows of such events have activity, user and session.
const fn has_context(origin: EventOrigin) -> bool {
    matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging)
}

/// Appends the row of an event without a layout: process, thread, processor and its fields in order.
pub(super) fn push_generic_row(event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    push_name_and_time(&printable(event.name), event.time_ns, line);
    push_process_thread_cpu(event, line);
    if has_context(event.origin) {
        push_context(&event.context, line);
    }
    for field in event.fields {
        push(", ", line);
        let start = line.len();
        match &field.value {
            // A structure counts as a list with one element.
            FieldValue::Structure(fields) => {
                line.push(b'[');
                push_structure(fields, line);
                line.push(b']');
            }
            value => push_plain(value, Quotes::Always, line),
        }
        if style.with_names {
            // A text is quoted together with its name.
            let start = if line.get(start) == Some(&b'"') { start + 1 } else { start };
            let value = line.split_off(start);
            push_formatted(line, format_args!("{} : ", printable(&field.name)));
            line.extend_from_slice(&value);
        }
    }
    push(style.ends.as_str(), line);
}

/// Appends the four context columns of an event. Unknown values are empty.
fn push_context(context: &EventContext, line: &mut Vec<u8>) {
    for activity in [context.activity, context.related_activity] {
        push(", ", line);
        if let Some(activity) = activity {
            push_guid(activity, line);
        }
    }
    push(", ", line);
    push(context.user_sid.as_deref().unwrap_or_default(), line);
    push(", ", line);
    if let Some(session) = context.session {
        push_unsigned(session.into(), 0, line);
    }
}

/// Appends a GUID in braces. Its digits are the number in hexadecimal.
fn push_guid(number: u128, line: &mut Vec<u8>) {
    let digits = format!("{number:032x}");
    line.push(b'{');
    for (index, part) in [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().enumerate() {
        if index > 0 {
            line.push(b'-');
        }
        push(digits.get(part).unwrap_or_default(), line);
    }
    line.push(b'}');
}

/// Appends the row of an event that could not be decoded.
pub(super) fn push_unknown_row(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    push_name_and_time(UNKNOWN_CLASSIC, event.time_ns, line);
    push_process_thread_cpu(event, line);
    let provider = if event.guid.is_empty() { event.provider } else { event.guid };
    push_formatted(
        line,
        format_args!(
            ", {{{}}}, {:#04x},  {:#04x},  {:#06x}, {}{}",
            printable(provider),
            event.opcode,
            event.level,
            event.version,
            event.payload_size,
            ends.as_str()
        ),
    );
}

/// Appends the row of an event with an unknown manifest: only its numbers.
pub(super) fn push_unknown_manifest_row(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    push_name_and_time(UNKNOWN_MANIFEST, event.time_ns, line);
    push_process_thread_cpu(event, line);
    push_formatted(
        line,
        format_args!(
            ", {{{}}}, {:#x}, {}, {}, {:#x}, {}, {:#x}, {:#x}, {}{}",
            printable(event.guid),
            event.id,
            event.task_number,
            event.opcode,
            event.version,
            event.channel,
            event.level,
            event.keyword,
            event.payload_size,
            ends.as_str()
        ),
    );
}

/// Appends formatted text; writing to a `Vec` cannot fail.
fn push_formatted(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = line.write_fmt(text);
}

/// Appends the event's name and its time in µs.
fn push_name_and_time(name: &str, time_ns: i64, line: &mut Vec<u8>) {
    push_right_aligned(name, 23, line);
    push(", ", line);
    push_signed(time_ns.div_euclid(1_000), 10, line);
}

fn push_process_thread_cpu(event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
    push(", ", line);
    push_process(event, event.pid, line);
    push(", ", line);
    push_thread(event.tid, line);
    push(", ", line);
    push_unsigned(event.cpu.into(), 3, line);
}

fn push_thread(tid: Option<u32>, line: &mut Vec<u8>) {
    push_signed(tid.map_or(-1, i64::from), 10, line);
}

/// Appends `name.exe (PID)` as xperf shows it: the name right-aligned to 16 characters, the id to four.
fn push_process(event: &DescribedEvent<'_>, pid: Option<u32>, line: &mut Vec<u8>) {
    let name = pid.and_then(|pid| event.directory.process(pid));
    push_right_aligned(&name.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
    push(" (", line);
    push_signed(pid.map_or(-1, i64::from), 4, line);
    line.push(b')');
}

/// Appends the value of a column. `field` is the value of its first field.
fn push_value(
    column: &Column,
    field: Option<&FieldValue<'_>>,
    event: &DescribedEvent<'_>,
    style: &Style,
    line: &mut Vec<u8>,
) {
    let width = column.width;
    let directory = event.directory;
    let number = field.and_then(FieldValue::as_u64);
    let id = || number.and_then(|id| u32::try_from(id).ok());
    match column.content {
        Content::Process => push_process(event, event.pid, line),
        Content::ProcessIn(_) => push_process(event, id(), line),
        Content::ProcessOfThread(_) => {
            let pid = id().and_then(|tid| directory.thread_process(tid));
            push_process(event, pid, line);
        }
        Content::Thread => push_thread(event.tid, line),
        Content::Cpu => push_unsigned(event.cpu.into(), width, line),
        Content::LoggingProcess => push_process(event, event.derived.logging_pid.or(event.pid), line),
        Content::LoggingThread => {
            push_signed(event.derived.logging_tid.or(event.tid).map_or(-1, i64::from), width, line);
        }
        Content::FileObject => {
            let digits = event.field("IrpPtr").map_or(16, |irp| match irp {
                FieldValue::Hexadecimal(_, digits) => usize::from(*digits),
                _ => 16,
            });
            push_hexadecimal(event.derived.file_object.unwrap_or(0), digits, line);
        }
        Content::Operation => push(event.derived.operation.unwrap_or(UNKNOWN), line),
        Content::Path(_) => {
            let path = field.and_then(FieldValue::as_text).unwrap_or_default();
            push_quoted(&directory.with_drive_letter(path), line);
        }
        Content::FaultType => {
            let kind = match event.opcode {
                0x0a => "TransitionFault",
                0x0b => "DemandZeroFault",
                0x0c => "CopyOnWrite",
                0x0d => "GuardPageFault",
                0x0e => "HardPageFault",
                _ => "AccessViolation",
            };
            push_right_aligned(kind, width, line);
        }
        Content::ModuleOf(_) => {
            let module = directory.module(event.pid.unwrap_or(0), number.unwrap_or(0));
            push_quoted(module.unwrap_or_default(), line);
        }
        Content::Bits(_, names) => push_bits(number.unwrap_or(0), names, " | ", line),
        Content::Words(_, names) => {
            line.push(b' ');
            push_bits(number.unwrap_or(0), names, " ", line);
        }
        Content::OpenOptions(_) => {
            let number = number.unwrap_or(0);
            let disposition = usize::try_from(number >> 24).unwrap_or(usize::MAX);
            push(DISPOSITIONS.get(disposition).unwrap_or(&UNKNOWN), line);
            if number & 0x00ff_ffff != 0 {
                push(" | ", line);
                push_bits(number & 0x00ff_ffff, OPEN_OPTIONS, " | ", line);
            }
        }
        Content::IoPriorityName(_) => {
            let name = match number.map_or(0, |flags| flags >> 17 & 7) {
                0 => "NotSet",
                1 => "VeryLow",
                2 => "Low",
                3 => "Normal",
                4 => "High",
                5 => "Critical",
                _ => UNKNOWN,
            };
            push_right_aligned(name, width, line);
        }
        Content::Plain(_) => {
            if let Some(field) = field {
                push_plain(field, Quotes::Needed, line);
            }
        }
        Content::Number(_) => match (field, number) {
            (Some(&FieldValue::Signed(number)), _) => push_signed(number, width, line),
            (_, Some(number)) => push_unsigned(number, width, line),
            (_, None) => push_signed(-1, width, line),
        },
        Content::Hexadecimal(_, digits) => push_hexadecimal_field(field, digits, line),
        Content::HexadecimalOr(_, second) => {
            push_hexadecimal_field(field.or_else(|| event.field(second)), 16, line);
        }
        Content::End(_, size) => {
            let size = event.number(size).unwrap_or(0);
            let end = number.unwrap_or(0).wrapping_add(size);
            let digits = match field {
                Some(FieldValue::Hexadecimal(_, digits)) => usize::from(*digits),
                _ => 16,
            };
            push_hexadecimal(end, digits, line);
        }
        Content::Text(_) => match field.and_then(FieldValue::as_text) {
            Some(text) if !text.is_empty() => push(&printable(text), line),
            _ => push("<none>", line),
        },
        Content::Quoted(_) => {
            push_quoted(field.and_then(FieldValue::as_text).unwrap_or_default(), line);
        }
        Content::File(_) => match event.derived.file {
            Some(path) => push_quoted(path, line),
            None => push_formatted(line, format_args!("\"Unknown ({:#x})\"", number.unwrap_or(0))),
        },
        Content::ImageIn(_, pid) => {
            let pid = event.number(pid).and_then(|pid| u32::try_from(pid).ok());
            push_image(event, (pid, number, event.time_ns), style, line);
        }
        Content::Image(_) => push_image(event, (event.pid, number, event.time_ns), style, line),
        Content::ThreadStartImage => {
            let start = event.tid.and_then(|tid| directory.thread_start_address(tid));
            push_image(event, (event.pid, start, event.time_ns), style, line);
        }
        Content::Elapsed => push_microseconds(event.derived.elapsed_ns, width, line),
        Content::Service => push_microseconds(event.derived.service_ns, width, line),
        Content::SinceLast => push_microseconds(event.derived.since_last_ns, width, line),
        Content::Ran => push_microseconds(event.derived.ran_ns, width, line),
        Content::OldState => push_right_aligned(event.derived.old_state.unwrap_or("Unknown"), width, line),
        Content::WaitReason => {
            push_right_aligned(event.derived.old_wait_reason.unwrap_or("Unknown"), width, line);
        }
        Content::Swapable(_) => {
            let text = if number.is_some_and(|mode| mode & 1 != 0) { "Swapable" } else { "NonSwap" };
            push_right_aligned(text, width, line);
        }
        // Bits 17 to 19 of the flags: 0 not set, 1 very low, 2 low, 3 normal, 4 high, 5 critical. A published row with
        // flags 0x060043 shows 3.
        Content::IoPriority(_) => {
            push_unsigned(number.map_or(0, |flags| flags >> 17 & 7), width, line);
        }
        Content::Flag(_) => {
            let is_set = number.unwrap_or(0) & 1 != 0;
            push_right_aligned(if is_set { "Yes" } else { "No" }, width, line);
        }
        Content::QualityOfService(_, bit) => {
            let level = number.map_or(0, |flags| flags >> bit & 7);
            match usize::try_from(level).ok().and_then(|level| QUALITIES_OF_SERVICE.get(level)) {
                Some(name) => push_right_aligned(name, width, line),
                None => push_unsigned(level, width, line),
            }
        }
        Content::Packed(_, length) => {
            let packed = field.and_then(FieldValue::as_text).unwrap_or_default();
            let length = event.number(length).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
            push(&printable(&decompress(packed, length)), line);
        }
        Content::Guid(_) => {
            line.push(b'{');
            push(&printable(field.and_then(FieldValue::as_text).unwrap_or_default()), line);
            line.push(b'}');
        }
        Content::Always(text) => push_right_aligned(text, width, line),
    }
}

/// Maximum uncompressed size of a text.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Decompresses a UTF-16 text (LZNT1, given in hexadecimal digits) and joins its lines.
fn decompress(packed: &str, length: usize) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes: Vec<u8> = packed
        .as_bytes()
        .as_chunks::<2>()
        .0
        .iter()
        .map_while(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect();
    let mut text = vec![0; length.min(MAX_TEXT_BYTES)];
    let text_bytes = CompressionFormat::Lznt1.decompress(&bytes, &mut text);
    let units =
        text.get(..text_bytes).unwrap_or_default().as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let text = String::from_utf16_lossy(&units.take_while(|&unit| unit != 0).collect::<Vec<u16>>());
    text.split(['\r', '\n', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Appends the names of the set bits, lowest first; the bit number if a bit has no name.
fn push_bits(number: u64, names: &[&str], separator: &str, line: &mut Vec<u8>) {
    let mut is_first = true;
    for bit in (0..u64::BITS).filter(|bit| number >> bit & 1 != 0) {
        if !std::mem::take(&mut is_first) {
            push(separator, line);
        }
        match names.get(bit as usize) {
            Some(name) => push(name, line),
            None => push_unsigned(bit.into(), 0, line),
        }
    }
}

fn push_quoted(text: &str, line: &mut Vec<u8>) {
    line.push(b'"');
    push(&printable(text), line);
    line.push(b'"');
}

fn push_microseconds(ns: Option<i64>, width: usize, line: &mut Vec<u8>) {
    push_signed(ns.unwrap_or(0) / 1_000, width, line);
}

fn push_hexadecimal_field(field: Option<&FieldValue<'_>>, digits: usize, line: &mut Vec<u8>) {
    // Addresses have as many digits as pointers of the recorded computer.
    let digits = match field {
        Some(&FieldValue::Hexadecimal(_, recorded)) if digits == 16 => usize::from(recorded),
        _ => digits,
    };
    let number = match field {
        // A signed status is shown as its bit pattern.
        Some(&FieldValue::Signed(number)) if digits <= 8 => u64::from(number as u32),
        field => field.and_then(FieldValue::as_u64).unwrap_or(0),
    };
    push_hexadecimal(number, digits, line);
}

/// Appends the module and function of an address in a process, or the address if the function is unknown.
fn push_image(
    event: &DescribedEvent<'_>,
    (pid, address, time_ns): (Option<u32>, Option<u64>, i64),
    style: &Style,
    line: &mut Vec<u8>,
) {
    let (pid, address) = (pid.unwrap_or(0), address.unwrap_or(0));
    let function_frame = style.functions.as_ref().and_then(|functions| functions.frame_at(pid, address, time_ns));
    let function_module = function_frame.map(|frame| &*frame.module).filter(|module| !module.is_empty());
    let module = event.directory.module(pid, address).or(function_module);
    push_right_aligned(&module.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
    line.push(b'!');
    match function_frame {
        Some(frame) => push(&printable(&frame.function), line),
        None => push_hexadecimal(address, 1, line),
    }
}

fn push_frames(name: &str, event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    let time_ns = event.derived.stack_event_ns.unwrap_or(event.time_ns);
    let Some(frames) = event.derived.frames else { return };
    let digits = usize::from(event.derived.frame_digits);
    let frame = |address: u64, line: &mut Vec<u8>| push_image(event, (event.pid, Some(address), time_ns), style, line);
    // The prefix is the same for all rows, so it is formatted once.
    let start = line.len();
    push_name_and_time(name, time_ns, line);
    push(", ", line);
    push_thread(event.tid, line);
    push(", ", line);
    let prefix = start..line.len();
    if frames.is_empty() {
        line.truncate(start);
    } else if style.whole_stacks {
        // A comma follows every frame, including the last, as in published rows.
        for &address in frames {
            frame(address, line);
            push(", ", line);
        }
        push(style.ends.as_str(), line);
    } else {
        for (index, &address) in frames.iter().enumerate() {
            if index > 0 {
                line.extend_from_within(prefix.clone());
            }
            push_unsigned(index as u64 + 1, 3, line);
            push(", ", line);
            push_hexadecimal(address, digits, line);
            push(", ", line);
            frame(address, line);
            push(style.ends.as_str(), line);
        }
    }
}

fn push_group_masks(name: &str, event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    let mut row = |number: usize, mask: Option<u64>| {
        push_name_and_time(name, event.time_ns, line);
        push_formatted(line, format_args!(", {number:>3}, {:#010x}{}", mask.unwrap_or(0), ends.as_str()));
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

/// Selects the texts to quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Always,
    /// Texts that would look like several columns.
    Needed,
}

/// Appends the value of a field.
fn push_plain(value: &FieldValue<'_>, quotes: Quotes, line: &mut Vec<u8>) {
    match value {
        FieldValue::Null => {}
        FieldValue::Boolean(flag) => push_formatted(line, format_args!("{flag}")),
        FieldValue::Signed(number) => push_formatted(line, format_args!("{number}")),
        FieldValue::Unsigned(number) => push_formatted(line, format_args!("{number}")),
        FieldValue::Hexadecimal(number, digits) => {
            push_formatted(line, format_args!("{number:#0width$x}", width = usize::from(*digits) + 2));
        }
        FieldValue::Float(number) => push_formatted(line, format_args!("{number}")),
        FieldValue::Formatted(text) => push(&printable(text), line),
        FieldValue::Text(text) => {
            let text = printable(text);
            if quotes == Quotes::Always || text.contains([',', '"']) || text.trim() != text {
                push_formatted(line, format_args!("\"{}\"", text.replace('"', "\"\"")));
            } else {
                push(&text, line);
            }
        }
        FieldValue::List(values) => {
            line.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    push("; ", line);
                }
                push_plain(value, quotes, line);
            }
            line.push(b']');
        }
        FieldValue::Addresses(addresses, digits) => {
            line.push(b'[');
            for (index, &address) in addresses.iter().enumerate() {
                if index > 0 {
                    push("; ", line);
                }
                push_hexadecimal(address, usize::from(*digits), line);
            }
            line.push(b']');
        }
        FieldValue::Structure(fields) => push_structure(fields, line),
    }
}

fn push_structure(fields: &[Field<'_>], line: &mut Vec<u8>) {
    line.push(b'{');
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            push("; ", line);
        }
        push_formatted(line, format_args!("{} : ", printable(&field.name)));
        push_plain(&field.value, Quotes::Always, line);
    }
    line.push(b'}');
}
