//! xperf's text dump of events: a header block that names the columns, then one row per event in time order.
//!
//! In xperf's form ([`Dumper::after_survey`]), one header block has the columns of all events in the recording, and
//! lines end in CR LF. In streaming form ([`Dumper::new`]), a separate header block precedes the first row of each
//! event without a layout. Names of processes, threads and modules come from preceding events.

mod layout;
mod row;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use hashbrown::HashMap;
use onoff_trace::{DescribedEvent, EventOrigin, EventSchema, StreamHeader};
use onoff_usage::address_names::AddressNames;

use layout::{FRAME_TITLES, GROUP_MASK_TITLES, LAYOUTS, Layout, Rows, STACK_TITLES, layout_of, layout_with};
use row::Plan;
use text::push;

/// True if events with this name have xperf's columns; other events have one column per field.
#[must_use]
pub fn has_columns(name: &str) -> bool {
    layout_of(name).is_some()
}

/// Days from the FILETIME epoch, 1601-01-01, to 1970-01-01.
const DAYS_1601_TO_1970: i128 = 134_774;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineEnds {
    #[default]
    Lf,
    CrLf,
}

impl LineEnds {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Style {
    ends: LineEnds,
    /// `name : value` for fields of events without a layout.
    with_names: bool,
    /// One row per call stack instead of one per frame.
    whole_stacks: bool,
    functions: Option<Arc<AddressNames>>,
}

#[derive(Clone, Debug, Default)]
pub struct Dumper {
    style: Style,
    /// Event types for the single header block; `None` in streaming form.
    schemas: Option<Vec<EventSchema>>,
    /// Events without a layout whose header block was written: id, version and number of fields by name. Providers may
    /// give several events the same name.
    written_headers: HashMap<Box<str>, Vec<(u16, u16, usize)>>,
    /// True if only selected events are dumped, without hardware counters.
    is_partial: bool,
    /// Plans by hook, version and number of fields, which together determine the fields.
    plans: HashMap<(u16, u16, usize), Option<Plan>>,
    line: Vec<u8>,
}

impl Dumper {
    /// Starts a dump in streaming form.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a dump in xperf's form. `schemas` are the event types in the recording.
    #[must_use]
    pub fn after_survey(schemas: Vec<EventSchema>) -> Self {
        let style = Style { ends: LineEnds::CrLf, ..Style::default() };
        Self { style, schemas: Some(schemas), ..Self::default() }
    }

    /// Writes `name : value` for fields of events without a layout.
    #[must_use]
    pub fn with_names(mut self, with_names: bool) -> Self {
        self.style.with_names = with_names;
        self
    }

    /// Writes one row per call stack instead of one per frame.
    #[must_use]
    pub fn with_whole_stacks(mut self, whole_stacks: bool) -> Self {
        self.style.whole_stacks = whole_stacks;
        self
    }

    /// Writes function names instead of addresses.
    #[must_use]
    pub fn with_functions(mut self, functions: Option<Arc<AddressNames>>) -> Self {
        self.style.functions = functions;
        self
    }

    /// Writes the header block and the line about the recording.
    pub fn begin(&mut self, header: &StreamHeader, out: &mut dyn Write) -> io::Result<()> {
        let end = self.style.ends.as_str();
        write!(out, "BeginHeader{end}")?;
        write!(out, "FirstReliableEventTimeStamp, TimeStamp{end}")?;
        write!(out, "FirstReliableCSwitchEventTimeStamp, TimeStamp{end}")?;
        for layout in LAYOUTS {
            write_titles(self.surveyed_layout(layout), &self.style, out)?;
        }
        write!(
            out,
            "{:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU,                              EventGuid, Type, \
             Level, Version, MofLength{end}",
            row::UNKNOWN_CLASSIC
        )?;
        if self.schemas.is_some() {
            write!(
                out,
                "{:>23},  TimeStamp,     Process Name ( PID),   ThreadID, CPU,                             ProviderId,     \
                 Id, Task, Opcode, Version, Channel, Level,            Keyword, UserDataLength{end}",
                row::UNKNOWN_MANIFEST
            )?;
        }
        self.line.clear();
        for schema in self.schemas.iter().flatten() {
            if is_counter_schema(schema) {
                row::push_counter_titles(schema.fields.iter().map(String::as_str), self.style.ends, &mut self.line);
                continue;
            }
            let is_unknown = !schema.described && (is_classic(schema.origin) || is_manifest(schema.origin));
            if layout_of(&schema.name).is_none() && !is_unknown {
                let fields = schema.fields.iter().map(String::as_str);
                row::push_titles(&schema.name, schema.origin, fields, self.style.ends, &mut self.line);
            }
        }
        out.write_all(&self.line)?;
        write!(out, "EndHeader{end}")?;
        let (major, minor, build) = header.os_version;
        let duration =
            header.duration_ns.map_or_else(|| "unknown".to_owned(), |ns| format!("{} sec", ns / 1_000_000_000));
        write!(
            out,
            "OS Version: {major}.{minor}.{build}, Trace Size: {}KB, Events Lost: {}, Buffers lost: {}, \
             Trace Start: {}, Trace Length: {duration}, PointerSize: {}, Trace Name: {}{end}",
            header.bytes / 1024,
            header.events_lost,
            header.buffers_lost,
            filetime(header.start_unix_ns),
            header.pointer_bytes,
            header.name,
        )?;
        let microseconds = |ns: i64| ns.div_euclid(1_000);
        write!(out, "FirstReliableEventTimeStamp, {}{end}", microseconds(header.complete_from_ns))?;
        let switches = header.switches_complete_from_ns.map_or(-1, microseconds);
        write!(out, "FirstReliableCSwitchEventTimeStamp, {switches}{end}")
    }

    /// Returns the layout that events with the name of `layout` have in this recording, according to the survey.
    fn surveyed_layout(&self, layout: &'static Layout) -> &'static Layout {
        let schemas = self.schemas.iter().flatten().filter(|schema| schema.name == layout.name);
        let find_layout = |schema: &EventSchema| layout_with(layout.name, schema.fields.iter().map(String::as_str));
        schemas.filter_map(find_layout).max_by_key(|layout| layout.columns()).unwrap_or(layout)
    }

    /// Writes the column titles of these events instead of a header block, for a dump of only these events.
    pub fn begin_with(&mut self, events: &[&str], out: &mut dyn Write) -> io::Result<()> {
        self.is_partial = true;
        for layout in events.iter().filter_map(|name| layout_of(name)) {
            write_titles(layout, &self.style, out)?;
        }
        Ok(())
    }

    /// Writes the rows of an event.
    pub fn event(&mut self, event: &DescribedEvent<'_>, out: &mut dyn Write) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        self.append(event, &mut line);
        let result = out.write_all(&line);
        self.line = line;
        result
    }

    /// Appends the rows of an event.
    pub fn append(&mut self, event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
        if !event.derived.counters.is_empty() && !self.is_partial {
            self.push_counters(event, line);
        }
        if let EventOrigin::Kernel { hook } = event.origin {
            let key = (hook, event.version, event.fields.len());
            let find_layout = || layout_with(event.name, event.fields.iter().map(|field| &*field.name));
            let plan = self.plans.entry(key).or_insert_with(|| Some(Plan::new(find_layout()?, event)));
            if let Some(plan) = plan {
                // After a survey, the header block already has these columns.
                if !std::mem::replace(&mut plan.has_header, true) && self.schemas.is_none() && !self.is_partial {
                    push_layout_header(plan.layout, &self.style, line);
                }
                row::push_layout_rows(plan, event, &self.style, line);
                return;
            }
        }
        match layout_of(event.name) {
            Some(layout) => row::push_layout_rows(&Plan::new(layout, event), event, &self.style, line),
            None if !event.described && is_classic(event.origin) => row::push_unknown_row(event, self.style.ends, line),
            None if !event.described && is_manifest(event.origin) && self.schemas.is_some() => {
                row::push_unknown_manifest_row(event, self.style.ends, line);
            }
            None => {
                if self.schemas.is_none() {
                    self.push_header(event, line);
                }
                row::push_generic_row(event, &self.style, line);
            }
        }
    }

    /// Appends the row of the hardware counters that were recorded with an event.
    fn push_counters(&mut self, event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
        let values = event.derived.counters;
        let ends = self.style.ends;
        if self.schemas.is_none() {
            let written = self.written_headers.entry(row::COUNTERS.into()).or_default();
            let key = (0, 0, values.len());
            if !written.contains(&key) {
                written.push(key);
                push("BeginHeader", line);
                push(ends.as_str(), line);
                let names = event.derived.counter_names;
                let unnamed_counters: Vec<String> =
                    (names.len()..values.len()).map(|index| format!("Counter {}", index + 1)).collect();
                row::push_counter_titles(
                    names.iter().map(AsRef::as_ref).chain(unnamed_counters.iter().map(String::as_str)),
                    ends,
                    line,
                );
                push("EndHeader", line);
                push(ends.as_str(), line);
            }
        }
        row::push_counters(event, ends, line);
    }

    /// Appends the header block of an event without a layout before its first row.
    fn push_header(&mut self, event: &DescribedEvent<'_>, line: &mut Vec<u8>) {
        let key = (event.id, event.version, event.fields.len());
        let written = match self.written_headers.get_mut(event.name) {
            Some(written) => written,
            None => self.written_headers.entry(event.name.into()).or_default(),
        };
        if !written.contains(&key) {
            written.push(key);
            let end = self.style.ends.as_str();
            push("BeginHeader", line);
            push(end, line);
            let fields = event.fields.iter().map(|field| &*field.name);
            row::push_titles(event.name, event.origin, fields, self.style.ends, line);
            push("EndHeader", line);
            push(end, line);
        }
    }
}

fn write_titles(layout: &Layout, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{:>23},  TimeStamp", layout.name)?;
    let end = style.ends.as_str();
    match layout.rows {
        Rows::One(columns) => {
            for column in columns {
                write!(out, ", {}", column.title)?;
            }
            write!(out, "{end}")
        }
        Rows::Frames if style.whole_stacks => write!(out, ", {STACK_TITLES}{end}"),
        Rows::Frames => write!(out, ", {FRAME_TITLES}{end}"),
        Rows::GroupMasks => write!(out, ", {GROUP_MASK_TITLES}{end}"),
    }
}

/// Appends a header block with the columns of one layout.
fn push_layout_header(layout: &Layout, style: &Style, line: &mut Vec<u8>) {
    let end = style.ends.as_str();
    push("BeginHeader", line);
    push(end, line);
    let _ = write_titles(layout, style, line);
    push("EndHeader", line);
    push(end, line);
}

/// True for the schema of hardware counters, which are recorded with other events.
fn is_counter_schema(schema: &EventSchema) -> bool {
    schema.name == row::COUNTERS && matches!(schema.origin, EventOrigin::Kernel { .. })
}

/// True for events that have only a class and a number.
fn is_classic(origin: EventOrigin) -> bool {
    !matches!(origin, EventOrigin::Manifest | EventOrigin::TraceLogging | EventOrigin::Message)
}

const fn is_manifest(origin: EventOrigin) -> bool {
    matches!(origin, EventOrigin::Manifest)
}

/// Converts to FILETIME: units of 100 ns since 1601-01-01; 0 if unknown.
fn filetime(unix_ns: Option<i64>) -> i128 {
    unix_ns.map_or(0, |ns| i128::from(ns) / 100 + DAYS_1601_TO_1970 * 864_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filetime_counts_from_1601() {
        assert_eq!(filetime(Some(0)), 116_444_736_000_000_000);
        assert_eq!(filetime(Some(1_623_095_069_034_714_200)), 132_675_686_690_347_142);
        assert_eq!(filetime(None), 0);
    }
}
