//! Lists or counts the recorded events of a range. Events are read from the recording on demand.

use std::borrow::Cow;
use std::fmt;
use std::ops::ControlFlow;

use hashbrown::HashMap;
use onoff_report::text::printable::printable;
use onoff_report::text::quantity::{count as counted_text, duration};
use onoff_trace::{DescribedEvent, EventOrigin, FieldValue};

use crate::table::{PageColumn, PageTable, seconds};

/// Prefix of groups that are names of fields.
pub const FIELD_PREFIX: &str = "field:";
/// Maximum number of events that are listed at once.
const MAX_LISTED: usize = 2_000;
/// Maximum number of distinct groups. Events of further groups are only counted.
const MAX_GROUPS: usize = 20_000;
/// Maximum number of groups and fields in the answer.
const MAX_LISTED_GROUPS: usize = 20_000;
const MAX_FIELDS: usize = 300;
/// Maximum length of an event's fields, and of a grouped value, characters.
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

/// Returns the events of a range that pass `filter`: listed individually after `skipped` ones, or counted by `groups`.
/// A group is a name such as `event`, or `field:` with the name of a field.
#[must_use]
pub fn table(
    reader: Option<&EventReader>,
    groups: &[&str],
    filter: &str,
    skipped: usize,
    range: (i64, i64),
) -> PageTable {
    let empty_table = |message: String| PageTable { nothing: message, ..PageTable::default() };
    let Some(reader) = reader else {
        return empty_table("This recording has no events to list.".to_owned());
    };
    let filter = EventFilter::new(filter);
    let is_list = groups.is_empty() || groups.contains(&"each");
    let table = if is_list {
        let fields: Vec<&str> = groups.iter().filter_map(|group| group.strip_prefix(FIELD_PREFIX)).collect();
        event_list(reader, &fields, &filter, skipped, range)
    } else {
        group_counts(reader, groups, &filter, range)
    };
    match table {
        Ok(table) if table.rows.is_empty() && !filter.is_empty() => {
            PageTable { nothing: "No event in this range matches the filter.".to_owned(), ..table }
        }
        Ok(table) if table.rows.is_empty() => empty_table("No events in this range.".to_owned()),
        Ok(table) => table,
        Err(error) => empty_table(error),
    }
}

/// Words that an event must contain, and fields with the value that it must have: `Irp=0xFFFF Power "a b"`.
struct EventFilter {
    words: Vec<String>,
    fields: Vec<(String, String)>,
}

impl EventFilter {
    fn new(text: &str) -> Self {
        let mut filter = Self { words: Vec::new(), fields: Vec::new() };
        let mut term = String::new();
        let mut is_quoted = false;
        for letter in text.to_lowercase().chars().chain([' ']) {
            match letter {
                '"' => is_quoted = !is_quoted,
                letter if letter.is_whitespace() && !is_quoted => filter.add(&std::mem::take(&mut term)),
                letter => term.push(letter),
            }
        }
        filter.add(&term);
        filter
    }

    fn add(&mut self, term: &str) {
        match term.trim().split_once('=') {
            Some((name, value)) if !name.is_empty() => self.fields.push((name.to_owned(), value.to_owned())),
            _ if term.trim().is_empty() => {}
            _ => self.words.push(term.trim().to_owned()),
        }
    }

    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.fields.is_empty()
    }

    fn matches(&self, event: &DescribedEvent<'_>) -> bool {
        let has_value = |(name, expected): &(String, String)| {
            event
                .fields
                .iter()
                .any(|field| field.name.to_lowercase() == *name && value(&field.value).to_lowercase() == *expected)
                || matches!(name.as_str(), "thread" | "tid")
                    && event.tid.is_some_and(|tid| tid.to_string() == *expected)
                || matches!(name.as_str(), "pid") && event.pid.is_some_and(|pid| pid.to_string() == *expected)
        };
        if !self.fields.iter().all(has_value) {
            return false;
        }
        if self.words.is_empty() {
            return true;
        }
        let mut text = format!("{} {} {}", event.provider, event.name, process(event)).to_lowercase();
        for field in event.fields {
            text.push(' ');
            text.push_str(&value(&field.value).to_lowercase());
        }
        self.words.iter().all(|word| text.contains(word))
    }
}

fn column(name: impl Into<Cow<'static, str>>, title: impl Into<Cow<'static, str>>, number: bool) -> PageColumn {
    PageColumn { name: name.into(), title: title.into(), number }
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

/// Counts the events with each field.
#[derive(Default)]
struct FieldCounts(HashMap<String, u64>);

impl FieldCounts {
    fn add(&mut self, event: &DescribedEvent<'_>) {
        for field in event.fields {
            if let Some(count) = self.0.get_mut(field.name.as_ref()) {
                *count = count.saturating_add(1);
            } else if self.0.len() < MAX_GROUPS {
                self.0.insert(field.name.to_string(), 1);
            }
        }
    }

    /// Returns the names, most frequent first.
    fn into_names(self) -> Vec<String> {
        let mut names: Vec<(String, u64)> = self.0.into_iter().collect();
        names.sort_by(|(name_a, count_a), (name_b, count_b)| count_b.cmp(count_a).then_with(|| name_a.cmp(name_b)));
        names.into_iter().take(MAX_FIELDS).map(|(name, _)| printable(&name).into_owned()).collect()
    }
}

/// Returns the value of a field; empty if the event does not have it.
fn field_value(event: &DescribedEvent<'_>, name: &str) -> String {
    event.fields.iter().find(|field| field.name == name).map_or_else(String::new, |field| value(&field.value))
}

fn event_list(
    reader: &EventReader,
    shown_fields: &[&str],
    filter: &EventFilter,
    skipped: usize,
    range: (i64, i64),
) -> Result<PageTable, String> {
    let mut columns = vec![
        column("time_ns", "time (s)", true),
        column("cpu", "CPU", true),
        column("process", "process", false),
        column("tid", "thread", true),
        column("event", "event", false),
    ];
    columns.extend(shown_fields.iter().map(|name| column(format!("{FIELD_PREFIX}{name}"), (*name).to_owned(), false)));
    columns.push(column("fields", "fields", false));
    let mut table = PageTable { columns, skipped, ..PageTable::default() };
    let mut field_counts = FieldCounts::default();
    let mut visit = |event: &DescribedEvent<'_>| {
        field_counts.add(event);
        if !filter.matches(event) {
            return ControlFlow::Continue(());
        }
        table.of = table.of.saturating_add(1);
        if table.of > skipped && table.rows.len() < MAX_LISTED {
            let tid = event.tid.map_or_else(String::new, |tid| tid.to_string());
            // Log lines have no CPU.
            let processor = (event.origin != EventOrigin::LogLine).then_some(event.cpu);
            let mut row = vec![
                seconds(event.time_ns),
                processor.map_or_else(String::new, |processor| processor.to_string()),
                process(event),
                tid,
                printable(event.name).into_owned(),
            ];
            row.extend(shown_fields.iter().map(|name| field_value(event, name)));
            row.push(fields(event));
            let tid = event.tid.map(f64::from);
            let mut numbers = vec![Some(event.time_ns as f64), processor.map(f64::from), None, tid];
            numbers.resize(row.len(), None);
            table.rows.push(row);
            table.numbers.push(numbers);
            table.spans.push((event.time_ns, event.time_ns));
        }
        ControlFlow::Continue(())
    };
    (reader.0)(range, &mut visit)?;
    table.fields = field_counts.into_names();
    Ok(table)
}

/// Counts the events per group, largest group first, with the times of the first and the last one.
fn group_counts(
    reader: &EventReader,
    group_by: &[&str],
    filter: &EventFilter,
    range: (i64, i64),
) -> Result<PageTable, String> {
    let mut groups: HashMap<Vec<String>, (u64, i64, i64)> = HashMap::new();
    let mut field_counts = FieldCounts::default();
    let (mut total, mut omitted) = (0_u64, 0_u64);
    let mut visit = |event: &DescribedEvent<'_>| {
        field_counts.add(event);
        if !filter.matches(event) {
            return ControlFlow::Continue(());
        }
        total = total.saturating_add(1);
        let part = |group: &&str| match *group {
            "provider" => printable(event.provider).into_owned(),
            "event" => printable(event.name).into_owned(),
            "process" => process(event),
            group => field_value(event, group.strip_prefix(FIELD_PREFIX).unwrap_or(group)),
        };
        let key: Vec<String> = group_by.iter().map(part).collect();
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
    let mut table = PageTable { of: rows.len(), fields: field_counts.into_names(), ..PageTable::default() };
    for group in group_by {
        let title = group.strip_prefix(FIELD_PREFIX).unwrap_or(group);
        table.columns.push(column((*group).to_owned(), title.to_owned(), false));
    }
    table.columns.extend([
        column("events", "events", true),
        column("percent", "share", true),
        column("first_ns", "first (s)", true),
        column("last_ns", "last (s)", true),
        column("between_ns", "first to last", true),
    ]);
    for (mut row, (count, first_ns, last_ns)) in rows.into_iter().take(MAX_LISTED_GROUPS) {
        let mut numbers = vec![None; row.len()];
        let percent = count as f64 * 100.0 / total.max(1) as f64;
        let between_ns = last_ns.saturating_sub(first_ns);
        row.extend([
            counted_text(count),
            format!("{percent:.1} %"),
            seconds(first_ns),
            seconds(last_ns),
            duration(between_ns),
        ]);
        let times = [first_ns, last_ns, between_ns].map(|ns| Some(ns as f64));
        numbers.extend([Some(count as f64), Some(percent)].into_iter().chain(times));
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
        let listed = table(Some(&reader((0..9_000).collect())), &[], "", 0, (10, 8_900));
        assert_eq!((listed.rows.len(), listed.of), (MAX_LISTED, 8_890));
        assert_eq!(listed.rows[0][2..], ["a<b>.exe (7)", "9", "P/B", "Path=C:\\x\\u{1b}"]);
        assert_eq!(listed.numbers[0][0], Some(10.0));
        let rest = table(Some(&reader((0..9_000).collect())), &[], "", 8_000, (10, 8_900));
        assert_eq!((rest.rows.len(), rest.of, rest.numbers[0][0]), (890, 8_890, Some(8_010.0)));
    }

    #[test]
    fn times_of_neighbors_differ() {
        let listed = table(Some(&reader(vec![7_780_000_000, 7_780_014_000])), &[], "", 0, (0, i64::MAX));
        assert_eq!((listed.rows[0][0].as_str(), listed.rows[1][0].as_str()), ("7.7800000", "7.7800140"));
    }

    #[test]
    fn groups_and_filters_by_any_field() {
        let all = reader((0..9).collect());
        let by_field = table(Some(&all), &["field:Path", "event"], "", 0, (0, 9));
        assert_eq!(by_field.fields, ["Path"]);
        assert_eq!(by_field.rows[0][..3], ["C:\\x\\u{1b}", "P/B", "6"]);
        assert_eq!((by_field.numbers[0][4], by_field.numbers[0][5]), (Some(1.0), Some(8.0)));
        assert_eq!(table(Some(&all), &[], "p/b \"a<b>.exe (7)\"", 0, (0, 9)).rows.len(), 3);
        assert_eq!(table(Some(&all), &[], "path=c:\\x\\u{1b} thread=9", 0, (0, 9)).rows.len(), 9);
        let none = table(Some(&all), &["each"], "Path=other", 0, (0, 9));
        assert!(none.rows.is_empty() && none.nothing.contains("matches the filter"), "{none:?}");
        let as_column = table(Some(&all), &["each", "field:Path"], "", 0, (0, 9));
        assert_eq!(as_column.rows[0][5], "C:\\x\\u{1b}");
    }

    #[test]
    fn counts_events_by_group() {
        let reader = reader((0..9).collect());
        let by_event = table(Some(&reader), &["event"], "", 0, (0, 9));
        let counts: Vec<&[String]> = by_event.rows.iter().map(|row| &row[..3]).collect();
        assert_eq!(counts, [["P/B", "6", "66.7 %"], ["P/A", "3", "33.3 %"]]);
        let by_both = table(Some(&reader), &["event", "process"], "", 0, (0, 9));
        assert_eq!(by_both.rows.len(), 4);
        assert_eq!(by_both.numbers.iter().filter_map(|row| row[2]).sum::<f64>(), 9.0);
    }

    #[test]
    fn explains_empty_tables() {
        assert!(table(Some(&reader(vec![5])), &["event"], "", 0, (6, 9)).nothing.contains("No events"));
        assert!(table(None, &[], "", 0, (0, 9)).nothing.contains("no events to list"));
        let failing = EventReader::new(|_, _| Err("the file was truncated".to_owned()));
        assert_eq!(table(Some(&failing), &[], "", 0, (0, 9)).nothing, "the file was truncated");
    }
}
