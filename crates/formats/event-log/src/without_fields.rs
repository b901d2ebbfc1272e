//! Recognizes exports that have no field values: only a text in the language of the computer, and local times.

use csv::{ReaderBuilder, StringRecord};

use crate::text::start;

/// The columns that Event Viewer writes on an English Windows. The message has no header.
const EVENT_VIEWER: [&str; 5] = ["Level", "Date and Time", "Source", "Event ID", "Task Category"];

/// Returns what a text is, with article, if it is an export of events without their field values.
///
/// The columns of Event Viewer are localized, so a file of it is recognized by its first row, too.
#[must_use]
pub fn export_without_fields(bytes: &[u8]) -> Option<&'static str> {
    let start = start(bytes);
    if start.starts_with("Event[0]") {
        return Some("an event log exported as text by wevtutil");
    }
    // Windows PowerShell writes the type of the rows first.
    let table = match start.strip_prefix("#TYPE ") {
        Some(rest) => rest.split_once('\n')?.1,
        None => &start,
    };
    b",;\t".iter().find_map(|&delimiter| {
        let mut reader = ReaderBuilder::new().flexible(true).delimiter(delimiter).from_reader(table.as_bytes());
        let header = reader.headers().ok()?.clone();
        let row = reader.records().next().and_then(Result::ok).unwrap_or_default();
        writer(&header, &row)
    })
}

fn writer(header: &StringRecord, row: &StringRecord) -> Option<&'static str> {
    let has = |name: &str| header.iter().any(|column| column == name);
    if has("TimeCreated") && has("EventRecordId") && has("EventId") && !has("Payload") {
        Some("an event log exported by EvtxECmd without the column Payload")
    } else if has("TimeCreated") && has("Id") || has("TimeGenerated") && (has("EventID") || has("InstanceId")) {
        Some("an event log exported as CSV by PowerShell")
    } else if header.iter().take(EVENT_VIEWER.len()).eq(EVENT_VIEWER) || is_event_viewer_row(header, row) {
        Some("an event log exported as CSV or text by Event Viewer")
    } else {
        None
    }
}

/// True for a row with level, time, source, event id, category and message below a header without the message.
fn is_event_viewer_row(header: &StringRecord, row: &StringRecord) -> bool {
    let is_id = |text: Option<&str>| text.is_some_and(|text| text.parse::<u16>().is_ok());
    let is_time = |text: &str| text.contains(':') && text.bytes().filter(u8::is_ascii_digit).count() >= 6;
    header.len() == EVENT_VIEWER.len()
        && row.len() == EVENT_VIEWER.len() + 1
        && is_id(row.get(3))
        && !is_id(header.get(3))
        && row.get(1).is_some_and(is_time)
        && !header.get(1).is_some_and(is_time)
}
