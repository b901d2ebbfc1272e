//! Lists or counts the recorded events of a range. Events are read from the recording on demand.

use std::fmt;
use std::ops::ControlFlow;

use hashbrown::HashMap;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::{count as counted_text, duration};
use onoff_trace::{DescribedEvent, EventOrigin, FieldValue};

use crate::table::{PageColumn, PageTable};

/// Maximum number of listed events or groups.
const MAX_LISTED: usize = 400;
/// Maximum number of distinct groups. Events of further groups are only counted.
const MAX_GROUPS: usize = 20_000;
/// Maximum length of an event's fields, characters.
const MAX_FIELD_LEN: usize = 600;

/// Callback that receives each event and can stop the iteration.
pub type Visit<'v> = &'v mut dyn FnMut(&DescribedEvent<'_>) -> ControlFlow<()>;

type Read = dyn Fn((i64, i64), Visit<'_>) -> Result<(), String> + Send + Sync;

/// Reads the events of a recording in a range of times (ns), in order of time.
pub struct EventReader(Box<Read>);

impl EventReader {
    /// Wraps a function that passes every event of a range to a visitor.
    pub fn new(read: impl Fn((i64, i64), Visit<'_>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Box::new(read))
    }
}

impl fmt::Debug for EventReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EventReader")
    }
}

/// Returns the events of a range: listed individually, or counted by `groups`.
#[must_use]
pub fn table(reader: Option<&EventReader>, groups: &[&str], range: (i64, i64)) -> PageTable {
    let empty_table = |message: String| PageTable { nothing: message, ..PageTable::default() };
    let Some(reader) = reader else {
        return empty_table("This recording has no events to list.".to_owned());
    };
    let table = if groups.is_empty() || groups.contains(&"each") {
        event_list(reader, range)
    } else {
        group_counts(reader, groups, range)
    };
    match table {
        Ok(table) if table.rows.is_empty() => empty_table("No events in this range.".to_owned()),
        Ok(table) => table,
        Err(error) => empty_table(error),
    }
}

fn column(name: &'static str, title: &'static str, number: bool) -> PageColumn {
    PageColumn { name, title, number }
}

fn process(event: &DescribedEvent<'_>) -> String {
    let image = match event.pid {
        Some(pid) => event.directory.process(pid).unwrap_or_default(),
        None => "",
    };
    match (image, event.pid) {
        ("", Some(pid)) => format!("process {pid}"),
        (image, Some(pid)) => format!("{} ({pid})", printable(image)),
        (_, None) => String::new(),
    }
}

fn event_list(reader: &EventReader, range: (i64, i64)) -> Result<PageTable, String> {
    let columns = vec![
        column("time_ns", "time", true),
        column("cpu", "CPU", true),
        column("process", "process", false),
        column("tid", "thread", true),
        column("event", "event", false),
        column("fields", "fields", false),
    ];
    let mut table = PageTable { columns, ..PageTable::default() };
    let mut visit = |event: &DescribedEvent<'_>| {
        table.of = table.of.saturating_add(1);
        if table.rows.len() < MAX_LISTED {
            let tid = event.tid.map_or_else(String::new, |tid| tid.to_string());
            // Log lines have no CPU.
            let processor = (event.origin != EventOrigin::LogLine).then_some(event.cpu);
            table.rows.push(vec![
                duration(event.time_ns),
                processor.map_or_else(String::new, |processor| processor.to_string()),
                process(event),
                tid,
                printable(event.name).into_owned(),
                fields(event),
            ]);
            let tid = event.tid.map(f64::from);
            table.numbers.push(vec![Some(event.time_ns as f64), processor.map(f64::from), None, tid, None, None]);
            table.spans.push((event.time_ns, event.time_ns));
        }
        ControlFlow::Continue(())
    };
    (reader.0)(range, &mut visit)?;
    Ok(table)
}

/// Counts the events per group, largest group first.
fn group_counts(reader: &EventReader, group_by: &[&str], range: (i64, i64)) -> Result<PageTable, String> {
    let is_grouped_by = |name| group_by.contains(&name);
    let mut groups: HashMap<(String, String, String), (u64, i64, i64)> = HashMap::new();
    let (mut total, mut omitted) = (0_u64, 0_u64);
    let mut visit = |event: &DescribedEvent<'_>| {
        total = total.saturating_add(1);
        let text = |is_wanted: bool, text: &dyn Fn() -> String| if is_wanted { text() } else { String::new() };
        let key = (
            text(is_grouped_by("provider"), &|| printable(event.provider).into_owned()),
            text(is_grouped_by("event"), &|| printable(event.name).into_owned()),
            text(is_grouped_by("process"), &|| process(event)),
        );
        if groups.len() >= MAX_GROUPS && !groups.contains_key(&key) {
            omitted = omitted.saturating_add(1);
            return ControlFlow::Continue(());
        }
        let group = groups.entry(key).or_insert((0, event.time_ns, event.time_ns));
        *group = (group.0.saturating_add(1), group.1.min(event.time_ns), group.2.max(event.time_ns));
        ControlFlow::Continue(())
    };
    (reader.0)(range, &mut visit)?;
    let mut rows: Vec<_> = groups.into_iter().collect();
    rows.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    let mut table = PageTable { of: rows.len(), ..PageTable::default() };
    for (name, title) in [("provider", "provider"), ("event", "event"), ("process", "process")] {
        if is_grouped_by(name) {
            table.columns.push(column(name, title, false));
        }
    }
    table.columns.extend([column("events", "events", true), column("percent", "share", true)]);
    for ((provider, name, process), (count, first_ns, last_ns)) in rows.into_iter().take(MAX_LISTED) {
        let names = [("provider", provider), ("event", name), ("process", process)];
        let mut row: Vec<String> =
            names.into_iter().filter(|(name, _)| is_grouped_by(name)).map(|(_, text)| text).collect();
        let mut numbers = vec![None; row.len()];
        let percent = count as f64 * 100.0 / total.max(1) as f64;
        row.extend([counted_text(count), format!("{percent:.1} %")]);
        numbers.extend([Some(count as f64), Some(percent)]);
        table.rows.push(row);
        table.numbers.push(numbers);
        table.spans.push((first_ns, last_ns.max(first_ns)));
    }
    if omitted > 0 {
        table.omitted = format!("{} events belong to further groups", counted_text(omitted));
    }
    Ok(table)
}

/// Formats the fields on one line.
fn fields(event: &DescribedEvent<'_>) -> String {
    let mut text = String::new();
    for field in event.fields {
        if text.len() > MAX_FIELD_LEN {
            text.push('…');
            break;
        }
        if !text.is_empty() {
            text.push_str("  ");
        }
        text.push_str(&printable(&field.name));
        text.push('=');
        text.push_str(&value(&field.value));
    }
    text
}

fn value(value: &FieldValue<'_>) -> String {
    match value {
        FieldValue::Null => "-".to_owned(),
        FieldValue::Boolean(flag) => flag.to_string(),
        FieldValue::Signed(number) => number.to_string(),
        FieldValue::Unsigned(number) => number.to_string(),
        FieldValue::Hexadecimal(number, digits) => format!("0x{number:0width$x}", width = usize::from(*digits)),
        FieldValue::Float(number) => number.to_string(),
        FieldValue::Text(text) | FieldValue::Formatted(text) => printable(text).chars().take(MAX_FIELD_LEN).collect(),
        FieldValue::List(list) => format!("{} values", list.len()),
        FieldValue::Addresses(list, _) => format!("{} values", list.len()),
        FieldValue::Structure(fields) => format!("{} fields", fields.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::{Directory, EventOrigin, Field};

    fn reader(times: Vec<i64>) -> EventReader {
        EventReader::new(move |(start_ns, end_ns), visit| {
            let mut directory = Directory::new();
            directory.set_process(7, "a<b>.exe");
            let fields = [Field { name: "Path".into(), value: FieldValue::Text("C:\\x\u{1b}".into()) }];
            for (&time_ns, index) in times.iter().zip(0_u32..) {
                if time_ns < start_ns || time_ns >= end_ns {
                    continue;
                }
                let event = DescribedEvent {
                    time_ns,
                    cpu: 1,
                    pid: Some(7 + index % 2),
                    tid: Some(9),
                    provider: "P",
                    name: if index % 3 == 0 { "P/A" } else { "P/B" },
                    fields: &fields,
                    ..DescribedEvent::without_fields(EventOrigin::Manifest, &directory)
                };
                if visit(&event).is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    #[test]
    fn lists_events_with_fields_and_counts_the_rest() {
        let listed = table(Some(&reader((0..1_000).collect())), &[], (10, 900));
        assert_eq!((listed.rows.len(), listed.of), (MAX_LISTED, 890));
        assert_eq!(listed.rows[0][2..], ["a<b>.exe (7)", "9", "P/B", "Path=C:\\x\\u{1b}"]);
        assert_eq!(listed.numbers[0][0], Some(10.0));
    }

    #[test]
    fn counts_events_by_group() {
        let reader = reader((0..9).collect());
        let by_event = table(Some(&reader), &["event"], (0, 9));
        assert_eq!(by_event.rows, [["P/B", "6", "66.7 %"], ["P/A", "3", "33.3 %"]]);
        let by_both = table(Some(&reader), &["event", "process"], (0, 9));
        assert_eq!(by_both.rows.len(), 4);
        assert_eq!(by_both.numbers.iter().filter_map(|row| row[2]).sum::<f64>(), 9.0);
    }

    #[test]
    fn explains_empty_tables() {
        assert!(table(Some(&reader(vec![5])), &["event"], (6, 9)).nothing.contains("No events"));
        assert!(table(None, &[], (0, 9)).nothing.contains("no events to list"));
        let failing = EventReader::new(|_, _| Err("the file was truncated".to_owned()));
        assert_eq!(table(Some(&failing), &[], (0, 9)).nothing, "the file was truncated");
    }
}
