//! One event as rows of the dump.

use std::borrow::Cow;
use std::fmt::Write as _;

use onoff_trace::{DescribedEvent, EventContext, EventOrigin, Field, FieldValue};

use super::LineEnds;
use super::layout::{Column, Content, DISPOSITIONS, Layout, OPEN_OPTIONS, Rows};
use super::text::{self, right, signed, unsigned};
use onoff_report::text::printable::printable;

/// What is not known, as xperf has it.
const UNKNOWN: &str = "\"Unknown\"";

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
pub(super) fn with_layout(
    plan: &Plan,
    event: &DescribedEvent<'_>,
    ends: LineEnds,
    whole_stacks: bool,
    line: &mut String,
) {
    let layout = plan.layout;
    match layout.rows {
        Rows::One(columns) => {
            begin(layout.name, event.time_ns, line);
            for (column, place) in columns.iter().zip(&plan.places) {
                line.push_str(", ");
                let field = place.and_then(|place| event.fields.get(place));
                value(column, field.map(|field| &field.value), event, line);
            }
            line.push_str(ends.as_str());
        }
        Rows::Frames => frames(layout.name, event, ends, whole_stacks, line),
        Rows::GroupMasks => group_masks(layout.name, event, ends, line),
    }
}

/// The titles of an event without a layout.
pub(super) fn titles<'f>(
    name: &str,
    origin: EventOrigin,
    fields: impl Iterator<Item = &'f str>,
    ends: LineEnds,
    line: &mut String,
) {
    let name = printable(name);
    put(line, format_args!("{name:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU"));
    if has_context(origin) {
        line.push_str(", etw:ActivityId, etw:Related ActivityId, etw:UserSid, etw:SessionId");
    }
    for field in fields {
        put(line, format_args!(", {}", printable(field)));
    }
    line.push_str(ends.as_str());
}

/// Whether rows of such events say which activity, user and session logged them.
const fn has_context(origin: EventOrigin) -> bool {
    matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging)
}

/// The row of an event without a layout: who, and its fields in their order.
pub(super) fn generic(event: &DescribedEvent<'_>, names: bool, ends: LineEnds, line: &mut String) {
    begin(event.name, event.time_ns, line);
    who(event, line);
    if has_context(event.origin) {
        context(&event.context, line);
    }
    for field in event.fields {
        line.push_str(", ");
        if names {
            put(line, format_args!("{} : ", printable(&field.name)));
        }
        match &field.value {
            // A structure is a list of one.
            FieldValue::Structure(fields) => {
                line.push('[');
                structure(fields, line);
                line.push(']');
            }
            value => plain(value, line),
        }
    }
    line.push_str(ends.as_str());
}

/// The four columns of what is known of an event beside its payload; empty where nothing is.
fn context(context: &EventContext, line: &mut String) {
    for activity in [context.activity, context.related_activity] {
        line.push_str(", ");
        if let Some(activity) = activity {
            guid(activity, line);
        }
    }
    line.push_str(", ");
    line.push_str(context.user_sid.as_deref().unwrap_or_default());
    line.push_str(", ");
    if let Some(session) = context.session {
        unsigned(session.into(), 0, line);
    }
}

/// A GUID, whose text is the number's hexadecimal digits, between braces.
fn guid(number: u128, line: &mut String) {
    let digits = format!("{number:032x}");
    line.push('{');
    for (at, part) in [0..8, 8..12, 12..16, 16..20, 20..32].into_iter().enumerate() {
        if at > 0 {
            line.push('-');
        }
        line.push_str(digits.get(part).unwrap_or_default());
    }
    line.push('}');
}

/// The row of an event that could not be decoded.
pub(super) fn unknown(event: &DescribedEvent<'_>, ends: LineEnds, line: &mut String) {
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
            event.size,
            ends.as_str()
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
    right(&name.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
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
        Content::LoggingProcess => process(event, event.derived.logging_pid.or(event.pid), line),
        Content::LoggingThread => {
            signed(event.derived.logging_tid.or(event.tid).map_or(-1, i64::from), width, line);
        }
        Content::FileObject => {
            let digits = event.field("IrpPtr").map_or(16, |irp| match irp {
                FieldValue::Hexadecimal(_, digits) => usize::from(*digits),
                _ => 16,
            });
            text::hexadecimal(event.derived.file_object.unwrap_or(0), digits, line);
        }
        Content::Operation => line.push_str(event.derived.operation.unwrap_or(UNKNOWN)),
        Content::Path(_) => {
            let path = field.and_then(FieldValue::as_text).unwrap_or_default();
            quoted(&directory.readable(path), line);
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
        Content::Bits(_, names) => bits(number.unwrap_or(0), names, line),
        Content::OpenOptions(_) => {
            let number = number.unwrap_or(0);
            let disposition = usize::try_from(number >> 24).unwrap_or(usize::MAX);
            line.push_str(DISPOSITIONS.get(disposition).unwrap_or(&UNKNOWN));
            if number & 0x00ff_ffff != 0 {
                line.push_str(" | ");
                bits(number & 0x00ff_ffff, OPEN_OPTIONS, line);
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
                plain(field, line);
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

/// The names of the bits that are set, the lowest first; a bit without a name is its number.
fn bits(number: u64, names: &[&str], line: &mut String) {
    let mut first = true;
    for bit in (0..u64::BITS).filter(|bit| number >> bit & 1 != 0) {
        if !std::mem::take(&mut first) {
            line.push_str(" | ");
        }
        match names.get(bit as usize) {
            Some(name) => line.push_str(name),
            None => unsigned(bit.into(), 0, line),
        }
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
    right(&module.map_or(Cow::Borrowed(UNKNOWN), printable), 16, line);
    line.push('!');
    text::hexadecimal(address, 1, line);
}

fn frames(name: &str, event: &DescribedEvent<'_>, ends: LineEnds, whole: bool, line: &mut String) {
    let time_ns = event.derived.stack_of_ns.unwrap_or(event.time_ns);
    let pid = event.number("StackProcess").and_then(|pid| u32::try_from(pid).ok());
    let tid = event.number("StackThread").and_then(|tid| u32::try_from(tid).ok());
    let digits = |value: Option<&FieldValue<'_>>| match value {
        Some(FieldValue::Hexadecimal(_, digits)) => usize::from(*digits),
        _ => 16,
    };
    let frames: Vec<(u64, usize)> = match (event.derived.frames, event.field("Frames")) {
        (Some(frames), _) => {
            let digits = digits(event.field("StackKey"));
            frames.iter().map(|&address| (address, digits)).collect()
        }
        (None, Some(FieldValue::List(frames))) => {
            frames.iter().map(|frame| (frame.as_u64().unwrap_or(0), digits(Some(frame)))).collect()
        }
        _ => return,
    };
    let begin = |number: usize, line: &mut String| {
        begin(name, time_ns, line);
        line.push_str(", ");
        thread(tid, line);
        line.push_str(", ");
        unsigned(number as u64, 3, line);
    };
    let frame = |(address, digits): (u64, usize), line: &mut String| {
        line.push_str(", ");
        text::hexadecimal(address, digits, line);
        line.push_str(", ");
        image(event, Some(address), pid, line);
    };
    if whole && !frames.is_empty() {
        begin(frames.len(), line);
        frames.iter().for_each(|&one| frame(one, line));
        line.push_str(ends.as_str());
        return;
    }
    for (number, &one) in frames.iter().enumerate() {
        begin(number + 1, line);
        frame(one, line);
        line.push_str(ends.as_str());
    }
}

fn group_masks(name: &str, event: &DescribedEvent<'_>, ends: LineEnds, line: &mut String) {
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
        put(line, format_args!("{} : ", printable(&field.name)));
        plain(&field.value, line);
    }
    line.push('}');
}
