//! Streams the events of a trace and the log lines one by one, with named fields. The stream has exactly the records
//! that the inventory counts.

use std::borrow::Cow;
use std::ops::ControlFlow;

use onoff_ftrace::{Body, Event, Kind, RecordValue};
use onoff_trace::{
    DescribedEvent, Directory, EventOrigin, Field, FieldValue, Losses, StreamHeader, TableName, TableSet,
};

use super::assembly::Assembly;
use super::clocks::{Clocks, SourceClock};
use super::ftrace::selection::{SelectedTraces, count_losses, select_traces};
use super::ftrace::trace_file::TraceFile;
use super::log_lines::{self, LogLine};
use super::{BootInputs, add_pairs_from_rows, ftrace, kernel_messages};
use onoff_input::error::Error;
use onoff_input::event_filter::{EventFilter, StreamResult};
use onoff_input::opened::Files;
use onoff_input::options::Options;
use onoff_input::sniff::RecordingKind;

/// Provider name of trace events in counts and filters.
pub(super) const PROVIDER: &str = "ftrace";

/// The traces and logs of a recording as a stream of events.
#[derive(Debug)]
pub struct LinuxEventStream<'f> {
    traces: SelectedTraces<'f>,
    /// Sorted by time.
    lines: Vec<LogLine>,
    /// Losses while listing the lines.
    losses: Losses,
    clocks: Clocks,
    header: StreamHeader,
}

impl<'f> LinuxEventStream<'f> {
    /// Opens the stream. `options` select the boot of a journal that has several, as for the tables.
    ///
    /// # Errors
    /// Files that are not a Linux recording or have neither a trace nor a log, or a trace that is damaged beyond use.
    pub fn open(files: &'f Files, options: &Options) -> Result<Self, Error> {
        files.require_kind(RecordingKind::Linux)?;
        let BootInputs { parts, journals, boots, mut pairs, .. } = BootInputs::from_files(files, options)?;
        let traces = select_traces(&parts, &mut pairs)?;
        let messages = kernel_messages(&parts, &journals, boots.boot());
        // Convert clocks exactly as the tables do, so that a line has the same time everywhere.
        let mut clock_rows = Assembly::new(CLOCK_TABLES);
        ftrace::read(&traces, &pairs.clone().finish(), &mut clock_rows);
        add_pairs_from_rows(&messages, &clock_rows, &mut pairs);
        let clocks = pairs.finish();
        let mut losses = Losses::new();
        let lines = log_lines::lines(&messages, (&journals, boots.boot()), &clocks, &mut losses);
        if traces.traces.is_empty() && lines.is_empty() {
            return Err(Error::NoEvents { name: parts.first().map_or("", |part| part.name).to_owned() });
        }
        let header = StreamHeader {
            bytes: traces.traces.iter().map(TraceFile::bytes).sum(),
            start_unix_ns: clocks.first_offset_ns(SourceClock::RealTime).and_then(i64::checked_neg),
            name: traces.traces.first().map_or(parts.first().map_or("", |part| part.name), TraceFile::name).to_owned(),
            ..StreamHeader::default()
        };
        Ok(Self { traces, lines, losses, clocks, header })
    }

    /// Returns what is known before the first event.
    #[must_use]
    pub fn header(&self) -> &StreamHeader {
        &self.header
    }

    /// Passes every event that matches `filter` to `visit`, in time order, until `visit` breaks.
    pub fn for_each<B>(
        self,
        filter: &EventFilter,
        _options: &Options,
        mut visit: impl FnMut(&DescribedEvent<'_>) -> ControlFlow<B>,
    ) -> StreamResult<B> {
        let mut losses = self.losses.clone();
        self.traces.count_losses(&mut losses);
        let mut visited = 0;
        let mut outcome = ControlFlow::Continue(());
        let mut directory = Directory::new();
        let mut lines = self.lines.iter().filter(|line| line_matches(line, filter)).peekable();
        for trace in &self.traces.traces {
            let trace_losses = trace.events(|event| {
                if outcome.is_break() {
                    return;
                }
                let trace_ns = i64::try_from(event.time_ns).unwrap_or(i64::MAX);
                let time_ns = self.clocks.axis_ns_or_unchanged(SourceClock::Trace, trace_ns);
                if !event.task.is_empty() && event.pid != 0 {
                    directory.set_process(event.pid, event.task);
                }
                while let Some(line) = lines.next_if(|line| line.time_ns < time_ns)
                    && outcome.is_continue()
                {
                    visited += 1;
                    outcome = visit(&self.describe_line(line, &directory, &fields_of_line(line)));
                }
                if outcome.is_break() || !event_matches(&event, time_ns, filter) {
                    return;
                }
                visited += 1;
                let fields = fields(&event);
                outcome = visit(&self.describe(&event, time_ns, &fields, &directory));
            });
            count_losses(trace.name(), &trace_losses, &mut losses);
            if outcome.is_break() {
                break;
            }
        }
        while outcome.is_continue()
            && let Some(line) = lines.next()
        {
            visited += 1;
            outcome = visit(&self.describe_line(line, &directory, &fields_of_line(line)));
        }
        StreamResult { outcome, visited, losses }
    }

    fn describe_line<'e>(
        &self,
        line: &'e LogLine,
        directory: &'e Directory,
        fields: &'e [Field<'e>],
    ) -> DescribedEvent<'e> {
        DescribedEvent {
            time_ns: line.time_ns,
            unix_ns: self.unix_ns(line.time_ns),
            pid: line.pid,
            tid: line.pid,
            provider: line.log.provider(),
            name: log_lines::LINE,
            task: &line.task,
            fields,
            ..DescribedEvent::without_fields(EventOrigin::LogLine, directory)
        }
    }

    fn unix_ns(&self, time_ns: i64) -> Option<i64> {
        self.header.start_unix_ns.and_then(|start| start.checked_add(time_ns))
    }

    fn describe<'e>(
        &self,
        event: &Event<'e>,
        time_ns: i64,
        fields: &'e [Field<'e>],
        directory: &'e Directory,
    ) -> DescribedEvent<'e> {
        DescribedEvent {
            time_ns,
            unix_ns: self.unix_ns(time_ns),
            cpu: event.cpu,
            pid: Some(event.pid),
            tid: Some(event.pid),
            provider: PROVIDER,
            name: event.name,
            task: event.task,
            fields,
            ..DescribedEvent::without_fields(EventOrigin::Ftrace, directory)
        }
    }
}

/// Tables whose rows are used to compare the clocks of traces and logs.
const CLOCK_TABLES: TableSet = TableSet::from_names(&[
    TableName::DeviceOperations,
    TableName::PowerRequests,
    TableName::Activities,
    TableName::Milestones,
    TableName::Notifications,
]);

fn line_matches(line: &LogLine, filter: &EventFilter) -> bool {
    let EventFilter { providers, events, processes, activities, from_ns, until_ns } = filter;
    let any = |patterns: &[onoff_trace::Pattern], name: &str| {
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
    };
    // Lines have no activity.
    activities.is_empty()
        && from_ns.is_none_or(|from| line.time_ns >= from)
        && until_ns.is_none_or(|until| line.time_ns < until)
        && any(providers, line.log.provider())
        && any(events, log_lines::LINE)
        && (any(processes, &line.task)
            || line.pid.is_some_and(|pid| processes.iter().any(|pattern| pattern.is_number(pid))))
}

fn fields_of_line(line: &LogLine) -> [Field<'_>; 1] {
    [Field { name: Cow::Borrowed(log_lines::TEXT), value: FieldValue::Text(Cow::Borrowed(&line.text)) }]
}

fn event_matches(event: &Event<'_>, time_ns: i64, filter: &EventFilter) -> bool {
    let EventFilter { providers, events, processes, activities, from_ns, until_ns } = filter;
    // Events of Linux have no activity.
    activities.is_empty()
        && from_ns.is_none_or(|from| time_ns >= from)
        && until_ns.is_none_or(|until| time_ns < until)
        && (providers.is_empty() || providers.iter().any(|pattern| pattern.matches(PROVIDER)))
        && (events.is_empty() || events.iter().any(|pattern| pattern.matches(event.name)))
        && (processes.is_empty() || {
            let names_process =
                |pid: u32, task: &str| processes.iter().any(|pattern| pattern.is_number(pid) || pattern.matches(task));
            names_process(event.pid, event.task)
                || match Kind::from_event(event) {
                    Some(Kind::Switch { next_task, next_pid, .. }) => names_process(next_pid, next_task),
                    Some(Kind::Waking { task, pid, .. }) => names_process(pid, task),
                    Some(Kind::Fork { child_task, child_pid, .. }) => names_process(child_pid, child_task),
                    _ => false,
                }
        })
}

fn fields<'e>(event: &Event<'e>) -> Vec<Field<'e>> {
    match event.body {
        Body::Record(body) => body
            .fields()
            .map(|(name, value)| Field {
                name: Cow::Borrowed(name),
                value: match value {
                    RecordValue::Number(number) => symbolic(event, name, number),
                    RecordValue::Text(text) => FieldValue::Text(Cow::Borrowed(text.trim_end())),
                    RecordValue::Bytes(bytes) => FieldValue::Text(Cow::Owned(hexadecimal(bytes))),
                },
            })
            .collect(),
        Body::Text(text) => fields_of_text(text.trim()),
    }
}

/// Returns a number in the symbolic form that the kernel prints, if it has one.
fn symbolic<'e>(event: &Event<'e>, name: &str, number: i64) -> FieldValue<'e> {
    if name == "prev_state"
        && let Some(Kind::Switch { previous_state, .. }) = Kind::from_event(event)
    {
        let preempted = if previous_state.preempted { "+" } else { "" };
        let letter = char::from(previous_state.letter);
        return FieldValue::Text(Cow::Owned(format!("{letter}{preempted}")));
    }
    if name == "dev" && event.name.starts_with("block_") {
        let (major, minor) = (number >> 20, number & 0xf_ffff);
        return FieldValue::Text(Cow::Owned(format!("{major},{minor}")));
    }
    FieldValue::Signed(number)
}

fn hexadecimal(bytes: &[u8]) -> String {
    const MAX_BYTES: usize = 32;
    let mut text: String = bytes.iter().take(MAX_BYTES).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MAX_BYTES {
        text.push('…');
    }
    text
}

/// Splits `key=value key=value`. A value may contain spaces and ends where the next key begins. Text without keys is a
/// single field.
fn fields_of_text(text: &str) -> Vec<Field<'_>> {
    let mut keys: Vec<(usize, usize)> = Vec::new();
    let mut offset = 0;
    for word in text.split(' ') {
        let is_key =
            |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if let Some((key, _)) = word.split_once('=')
            && is_key(key)
        {
            keys.push((offset, offset + key.len()));
        }
        offset += word.len() + 1;
    }
    let single_field = || Field { name: Cow::Borrowed("text"), value: FieldValue::Text(Cow::Borrowed(text)) };
    if keys.first().is_none_or(|(first_key, _)| *first_key > 0) {
        return if text.is_empty() { Vec::new() } else { vec![single_field()] };
    }
    let ends = keys.iter().skip(1).map(|(begin, _)| begin - 1).chain([text.len()]);
    keys.iter()
        .zip(ends)
        .filter_map(|(&(begin, equals), end)| {
            let value = text.get(equals + 1..end)?;
            let value = value.strip_suffix(" ==>").unwrap_or(value);
            Some(Field {
                name: Cow::Borrowed(text.get(begin..equals)?),
                value: match value.parse() {
                    Ok(number) if !value.starts_with(['0', '+']) || value == "0" => FieldValue::Signed(number),
                    _ => FieldValue::Text(Cow::Borrowed(value)),
                },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_text_into_fields() {
        let split_fields = |text: &'static str| -> Vec<(String, FieldValue<'static>)> {
            fields_of_text(text).into_iter().map(|field| (field.name.into_owned(), field.value)).collect()
        };
        let text = |text: &'static str| FieldValue::Text(text.into());
        assert_eq!(
            split_fields("prev_comm=Web Content prev_pid=7 prev_state=R+ ==> next_comm=a=b next_pid=0"),
            [
                ("prev_comm".to_owned(), text("Web Content")),
                ("prev_pid".to_owned(), FieldValue::Signed(7)),
                ("prev_state".to_owned(), text("R+")),
                ("next_comm".to_owned(), text("a=b")),
                ("next_pid".to_owned(), FieldValue::Signed(0)),
            ]
        );
        assert_eq!(
            split_fields("254,0 R 4096 () 32 + 8 [x]"),
            [("text".to_owned(), text("254,0 R 4096 () 32 + 8 [x]"))]
        );
        assert!(split_fields("").is_empty());
    }
}
