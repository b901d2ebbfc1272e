//! Formats an event as rows of the dump.

use std::borrow::Cow;
use std::io::Write as _;

use onoff_etl::CompressionFormat;
use onoff_trace::{DescribedEvent, EventContext, EventOrigin, Field, FieldValue};

use super::layout::{Column, Content, DISPOSITIONS, Layout, OPEN_OPTIONS, QUALITIES_OF_SERVICE, Rows, layout_of};
use super::text::{hexadecimal as hexadecimal_digits, push, right, signed, unsigned};
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
pub(super) fn counter_titles<'n>(names: impl Iterator<Item = &'n str>, ends: LineEnds, line: &mut Vec<u8>) {
    put(line, format_args!("{COUNTERS:>23},  TimeStamp,   ThreadID"));
    for name in names {
        put(line, format_args!(", {}", printable(name)));
    }
    push(ends.as_str(), line);
}

/// Appends the row of the hardware counters of an event, with the thread that the event is attributed to.
pub(super) fn counters(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    begin(COUNTERS, event.time_ns, line);
    push(", ", line);
    thread(event.tid, line);
    for &value in event.derived.counters {
        push(", ", line);
        unsigned(value, 0, line);
    }
    push(ends.as_str(), line);
}

/// A layout, and the field indexes of its columns for events with the same fields.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) layout: &'static Layout,
    /// True if the columns are the default ones of the name, or their header block was written.
    pub(super) announced: bool,
    /// By column.
    places: Vec<Option<usize>>,
}

impl Plan {
    /// A plan for events with the same fields as `event`.
    pub(super) fn new(layout: &'static Layout, event: &DescribedEvent<'_>) -> Self {
        let place = |column: &Column| {
            let name = column.content.field()?;
            event.fields.iter().position(|field| field.name == name)
        };
        let places = match layout.rows {
            Rows::One(columns) => columns.iter().map(place).collect(),
            Rows::Frames | Rows::GroupMasks => Vec::new(),
        };
        let announced = layout_of(layout.name).is_none_or(|usual| usual.columns() == layout.columns());
        Self { layout, announced, places }
    }
}

/// Appends the rows of an event with a layout.
pub(super) fn with_layout(plan: &Plan, event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    let layout = plan.layout;
    match layout.rows {
        Rows::One(columns) => {
            begin(layout.name, event.time_ns, line);
            for (column, place) in columns.iter().zip(&plan.places) {
                push(", ", line);
                let field = place.and_then(|place| event.fields.get(place));
                value(column, field.map(|field| &field.value), event, style, line);
            }
            push(style.ends.as_str(), line);
        }
        Rows::Frames => frames(layout.name, event, style, line),
        Rows::GroupMasks => group_masks(layout.name, event, style.ends, line),
    }
}

/// Appends the titles of an event without a layout.
pub(super) fn titles<'f>(
    name: &str,
    origin: EventOrigin,
    fields: impl Iterator<Item = &'f str>,
    ends: LineEnds,
    line: &mut Vec<u8>,
) {
    let name = printable(name);
    put(line, format_args!("{name:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU"));
    if has_context(origin) {
        push(", etw:ActivityId, etw:Related ActivityId, etw:UserSid, etw:SessionId", line);
    }
    for field in fields {
        put(line, format_args!(", {}", printable(field)));
    }
    push(ends.as_str(), line);
}

/// True if rows of such events have activity, user and session.
const fn has_context(origin: EventOrigin) -> bool {
    matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging)
}

/// Appends the row of an event without a layout: process, thread, processor and its fields in order.
pub(super) fn generic(event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    begin(&printable(event.name), event.time_ns, line);
    who(event, line);
    if has_context(event.origin) {
        context(&event.context, line);
    }
    for field in event.fields {
        push(", ", line);
        if style.names {
            put(line, format_args!("{} : ", printable(&field.name)));
        }
        match &field.value {
            // A structure counts as a list with one element.
            FieldValue::Structure(fields) => {
                line.push(b'[');
                structure(fields, line);
                line.push(b']');
            }
            value => plain(value, Quotes::Always, line),
        }
    }
    push(style.ends.as_str(), line);
}

/// Appends the four context columns of an event; empty if unknown.
fn context(context: &EventContext, line: &mut Vec<u8>) {
    for activity in [context.activity, context.related_activity] {
        push(", ", line);
        if let Some(activity) = activity {
            guid(activity, line);
        }
    }
    push(", ", line);
    push(context.user_sid.as_deref().unwrap_or_default(), line);
    push(", ", line);
    if let Some(session) = context.session {
        unsigned(session.into(), 0, line);
    }
}

/// Appends a GUID in braces; its digits are the number in hexadecimal.
fn guid(number: u128, line: &mut Vec<u8>) {
    let digits = format!("{number:032x}");
    line.push(b'{');
    for (at, part) in [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().enumerate() {
        if at > 0 {
            line.push(b'-');
        }
        push(digits.get(part).unwrap_or_default(), line);
    }
    line.push(b'}');
}

/// Appends the row of an event that could not be decoded.
pub(super) fn unknown(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    begin(UNKNOWN_CLASSIC, event.time_ns, line);
    who(event, line);
    let provider = if event.guid.is_empty() { event.provider } else { event.guid };
    put(
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
pub(super) fn unknown_manifest(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    begin(UNKNOWN_MANIFEST, event.time_ns, line);
    who(event, line);
    put(
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
fn put(line: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = line.write_fmt(text);
}

/// Appends the event's name and its time in µs.
fn begin(name: &str, time_ns: i64, line: &mut Vec<u8>) {
    right(name, 23, line);
    push(", ", line);
    signed(time_ns.div_euclid(1_000), 10, line);
}

fn who(event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
    push(", ", line);
    process(event, event.pid, line);
    push(", ", line);
    thread(event.tid, line);
    push(", ", line);
    unsigned(event.cpu.into(), 3, line);
}

fn thread(tid: Option<u32>, line: &mut Vec<u8>) {
    signed(tid.map_or(-1, i64::from), 10, line);
}

/// Appends `name.exe (PID)` as xperf shows it: the name right-aligned to 16 characters, the id to four.
fn process(event: &DescribedEvent<'_>, pid: Option<u32>, line: &mut Vec<u8>) {
    let name = pid.and_then(|pid| event.directory.process(pid));
    right(&name.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
    push(" (", line);
    signed(pid.map_or(-1, i64::from), 4, line);
    line.push(b')');
}

/// Appends the value of a column; `field` is the value of its first field.
fn value(
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
        Content::Process => process(event, event.pid, line),
        Content::ProcessIn(_) => process(event, id(), line),
        Content::ProcessOfThread(_) => {
            let pid = id().and_then(|tid| directory.thread_process(tid));
            process(event, pid, line);
        }
        Content::Thread => thread(event.tid, line),
        Content::Cpu => unsigned(event.cpu.into(), width, line),
        Content::LoggingProcess => process(event, event.derived.logging_pid.or(event.pid), line),
        Content::LoggingThread => {
            signed(event.derived.logging_tid.or(event.tid).map_or(-1, i64::from), width, line);
        }
        Content::FileObject => {
            let digits = event.field("IrpPtr").map_or(16, |irp| match irp {
                FieldValue::Hexadecimal(_, digits) => usize::from(*digits),
                _ => 16,
            });
            hexadecimal_digits(event.derived.file_object.unwrap_or(0), digits, line);
        }
        Content::Operation => push(event.derived.operation.unwrap_or(UNKNOWN), line),
        Content::Path(_) => {
            let path = field.and_then(FieldValue::as_text).unwrap_or_default();
            quoted(&directory.with_drive_letter(path), line);
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
            right(kind, width, line);
        }
        Content::ModuleOf(_) => {
            let module = directory.module(event.pid.unwrap_or(0), number.unwrap_or(0));
            quoted(module.unwrap_or_default(), line);
        }
        Content::Bits(_, names) => bits(number.unwrap_or(0), names, " | ", line),
        Content::Words(_, names) => {
            line.push(b' ');
            bits(number.unwrap_or(0), names, " ", line);
        }
        Content::OpenOptions(_) => {
            let number = number.unwrap_or(0);
            let disposition = usize::try_from(number >> 24).unwrap_or(usize::MAX);
            push(DISPOSITIONS.get(disposition).unwrap_or(&UNKNOWN), line);
            if number & 0x00ff_ffff != 0 {
                push(" | ", line);
                bits(number & 0x00ff_ffff, OPEN_OPTIONS, " | ", line);
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
            right(name, width, line);
        }
        Content::Plain(_) => {
            if let Some(field) = field {
                plain(field, Quotes::Needed, line);
            }
        }
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
            hexadecimal_digits(end, digits, line);
        }
        Content::Text(_) => match field.and_then(FieldValue::as_text) {
            Some(text) if !text.is_empty() => push(&printable(text), line),
            _ => push("<none>", line),
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
            image(event, (pid, number, event.time_ns), style, line);
        }
        Content::Image(_) => image(event, (event.pid, number, event.time_ns), style, line),
        Content::ThreadStartImage => {
            let start = event.tid.and_then(|tid| directory.thread_start_address(tid));
            image(event, (event.pid, start, event.time_ns), style, line);
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
            let text = if number.is_some_and(|mode| mode & 1 != 0) { "Swapable" } else { "NonSwap" };
            right(text, width, line);
        }
        // Bits 17 to 19 of the flags: 0 not set, 1 very low, 2 low, 3 normal, 4 high, 5 critical. A published row with
        // flags 0x060043 shows 3.
        Content::IoPriority(_) => {
            unsigned(number.map_or(0, |flags| flags >> 17 & 7), width, line);
        }
        Content::Flag(_) => {
            let set = number.unwrap_or(0) & 1 != 0;
            right(if set { "Yes" } else { "No" }, width, line);
        }
        Content::QualityOfService(_, bit) => {
            let level = number.map_or(0, |flags| flags >> bit & 7);
            match usize::try_from(level).ok().and_then(|level| QUALITIES_OF_SERVICE.get(level)) {
                Some(name) => right(name, width, line),
                None => unsigned(level, width, line),
            }
        }
        Content::Packed(_, length) => {
            let packed = field.and_then(FieldValue::as_text).unwrap_or_default();
            let length = event.number(length).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
            push(&printable(&decompressed(packed, length)), line);
        }
        Content::Guid(_) => {
            line.push(b'{');
            push(&printable(field.and_then(FieldValue::as_text).unwrap_or_default()), line);
            line.push(b'}');
        }
        Content::Always(text) => right(text, width, line),
    }
}

/// Maximum uncompressed size of a text.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// Decompresses a UTF-16 text (LZNT1, given in hexadecimal digits) and joins its lines.
fn decompressed(packed: &str, length: usize) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let bytes: Vec<u8> = packed
        .as_bytes()
        .as_chunks::<2>()
        .0
        .iter()
        .map_while(|&[high, low]| Some(digit(high)? << 4 | digit(low)?))
        .collect();
    let mut text = vec![0; length.min(MAX_TEXT_BYTES)];
    let good = CompressionFormat::Lznt1.decompress(&bytes, &mut text);
    let units = text.get(..good).unwrap_or_default().as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit));
    let text = String::from_utf16_lossy(&units.take_while(|&unit| unit != 0).collect::<Vec<u16>>());
    text.split(['\r', '\n', '\t']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Appends the names of the set bits, lowest first; the bit number if a bit has no name.
fn bits(number: u64, names: &[&str], between: &str, line: &mut Vec<u8>) {
    let mut first = true;
    for bit in (0..u64::BITS).filter(|bit| number >> bit & 1 != 0) {
        if !std::mem::take(&mut first) {
            push(between, line);
        }
        match names.get(bit as usize) {
            Some(name) => push(name, line),
            None => unsigned(bit.into(), 0, line),
        }
    }
}

fn quoted(text: &str, line: &mut Vec<u8>) {
    line.push(b'"');
    push(&printable(text), line);
    line.push(b'"');
}

fn microseconds(ns: Option<i64>, width: usize, line: &mut Vec<u8>) {
    signed(ns.unwrap_or(0) / 1_000, width, line);
}

fn hexadecimal(field: Option<&FieldValue<'_>>, digits: usize, line: &mut Vec<u8>) {
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
    hexadecimal_digits(number, digits, line);
}

/// Appends module and function of an address in a process; the address if the function is unknown.
fn image(
    event: &DescribedEvent<'_>,
    (pid, address, time_ns): (Option<u32>, Option<u64>, i64),
    style: &Style,
    line: &mut Vec<u8>,
) {
    let (pid, address) = (pid.unwrap_or(0), address.unwrap_or(0));
    let named = style.functions.as_ref().and_then(|functions| functions.at(pid, address, time_ns));
    let of_function = named.map(|frame| &*frame.module).filter(|module| !module.is_empty());
    let module = event.directory.module(pid, address).or(of_function);
    right(&module.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
    line.push(b'!');
    match named {
        Some(frame) => push(&printable(&frame.function), line),
        None => hexadecimal_digits(address, 1, line),
    }
}

fn frames(name: &str, event: &DescribedEvent<'_>, style: &Style, line: &mut Vec<u8>) {
    let time_ns = event.derived.stack_of_ns.unwrap_or(event.time_ns);
    let Some(frames) = event.derived.frames else { return };
    let digits = usize::from(event.derived.frame_digits);
    let frame = |address: u64, line: &mut Vec<u8>| image(event, (event.pid, Some(address), time_ns), style, line);
    // The common prefix of all rows is formatted once.
    let start = line.len();
    begin(name, time_ns, line);
    push(", ", line);
    thread(event.tid, line);
    push(", ", line);
    let common = start..line.len();
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
        for (before, &address) in frames.iter().enumerate() {
            if before > 0 {
                line.extend_from_within(common.clone());
            }
            unsigned(before as u64 + 1, 3, line);
            push(", ", line);
            hexadecimal_digits(address, digits, line);
            push(", ", line);
            frame(address, line);
            push(style.ends.as_str(), line);
        }
    }
}

fn group_masks(name: &str, event: &DescribedEvent<'_>, ends: LineEnds, line: &mut Vec<u8>) {
    let mut row = |number: usize, mask: Option<u64>| {
        begin(name, event.time_ns, line);
        put(line, format_args!(", {number:>3}, {:#010x}{}", mask.unwrap_or(0), ends.as_str()));
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

/// Which texts are quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quotes {
    Always,
    /// Texts that would look like several columns.
    Needed,
}

/// Appends the value of a field.
fn plain(value: &FieldValue<'_>, quotes: Quotes, line: &mut Vec<u8>) {
    match value {
        FieldValue::Null => {}
        FieldValue::Boolean(flag) => put(line, format_args!("{flag}")),
        FieldValue::Signed(number) => put(line, format_args!("{number}")),
        FieldValue::Unsigned(number) => put(line, format_args!("{number}")),
        FieldValue::Hexadecimal(number, digits) => {
            put(line, format_args!("{number:#0width$x}", width = usize::from(*digits) + 2));
        }
        FieldValue::Float(number) => put(line, format_args!("{number}")),
        FieldValue::Formatted(text) => push(&printable(text), line),
        FieldValue::Text(text) => {
            let text = printable(text);
            if quotes == Quotes::Always || text.contains([',', '"']) || text.trim() != text {
                put(line, format_args!("\"{}\"", text.replace('"', "\"\"")));
            } else {
                push(&text, line);
            }
        }
        FieldValue::List(values) => {
            line.push(b'[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    push("; ", line);
                }
                plain(value, quotes, line);
            }
            line.push(b']');
        }
        FieldValue::Addresses(addresses, digits) => {
            line.push(b'[');
            for (at, &address) in addresses.iter().enumerate() {
                if at > 0 {
                    push("; ", line);
                }
                hexadecimal_digits(address, usize::from(*digits), line);
            }
            line.push(b']');
        }
        FieldValue::Structure(fields) => structure(fields, line),
    }
}

fn structure(fields: &[Field<'_>], line: &mut Vec<u8>) {
    line.push(b'{');
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            push("; ", line);
        }
        put(line, format_args!("{} : ", printable(&field.name)));
        plain(&field.value, Quotes::Always, line);
    }
    line.push(b'}');
}
