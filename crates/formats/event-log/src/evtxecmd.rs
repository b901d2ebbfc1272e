//! CSV files of the program EvtxECmd: one row for each record, with its data as JSON in the column `Payload`.
//!
//! Values differ from the text form of Windows, and are converted: times have a space and no time zone, booleans are
//! capitalized, bytes are separated by dashes, and `&` and `<` are escaped once more than necessary. The unnamed texts
//! of a classic event are joined with `, `, without the empty ones. Where that hides which text is which, the record
//! counts as joined. The version of the event and its activity are not in the file.
//!
//! Source: the program's source code, release of 2026.

use std::borrow::Cow;

use csv::{ReaderBuilder, StringRecord};
use quick_xml::escape::unescape;
use serde_json::Value;

use crate::record::{Record, time_ns};
use crate::text::{decode, start};
use crate::xml::push_field;
use crate::{Summary, Wanted};

/// Maximum size of the data of a record, bytes. A record of Windows has up to 64 KiB.
const MAX_PAYLOAD_SIZE: usize = 1 << 20;
/// Separator of the texts of a classic event.
const SEPARATOR: &str = ", ";
/// Length of a time such as `2024-11-15 14:28:34.8747054`.
const TIME_LENGTH: usize = 27;
/// The events of Windows Installer whose third and fourth texts are the numbers of a language and a status.
const INSTALLATIONS: [u32; 2] = [1033, 1034];
/// An event of Windows Installer with one text, followed by placeholders.
const PRODUCT: u32 = 11_707;

/// Indexes of the columns. Those that some versions do not write are optional.
struct Columns {
    number: usize,
    time: usize,
    id: usize,
    level: usize,
    provider: usize,
    channel: usize,
    computer: usize,
    payload: usize,
    process_id: Option<usize>,
    thread_id: Option<usize>,
    user: Option<usize>,
}

impl Columns {
    fn new(header: &StringRecord) -> Option<Self> {
        let find = |name: &str| header.iter().position(|column| column == name);
        Some(Self {
            number: find("EventRecordId")?,
            time: find("TimeCreated")?,
            id: find("EventId")?,
            level: find("Level")?,
            provider: find("Provider")?,
            channel: find("Channel")?,
            computer: find("Computer")?,
            payload: find("Payload")?,
            process_id: find("ProcessId"),
            thread_id: find("ThreadId"),
            user: find("UserId"),
        })
    }

    /// Returns the record of a row without its fields; `None` if the row has no event id or time.
    fn record(&self, row: &StringRecord) -> Option<Record> {
        let text = |column: usize| row.get(column).unwrap_or_default().to_owned();
        let number = |column: Option<usize>| row.get(column?)?.parse().ok();
        Some(Record {
            provider: text(self.provider),
            id: row.get(self.id)?.parse().ok()?,
            version: 0,
            level: level(row.get(self.level)?),
            time_ns: time_ns(&with_zone(row.get(self.time)?))?,
            number: row.get(self.number)?.parse().unwrap_or(0),
            channel: text(self.channel),
            computer: text(self.computer),
            user: self.user.map(text).unwrap_or_default(),
            process_id: number(self.process_id).unwrap_or(0),
            thread_id: number(self.thread_id).unwrap_or(0),
            ..Record::default()
        })
    }
}

/// True if the text starts with the columns of such a file.
pub(crate) fn is_export(bytes: &[u8]) -> bool {
    let start = start(bytes);
    let header = start.lines().next().unwrap_or_default();
    header.contains("EventRecordId")
        && Columns::new(&header.split(',').map(|name| name.trim_matches('"')).collect()).is_some()
}

/// Reads a file. A row that is not complete counts as an unreadable record.
pub(crate) fn read(bytes: &[u8], wanted: Wanted<'_>, each: &mut dyn FnMut(Record)) -> Summary {
    let text = decode(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let mut summary = Summary::default();
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let Some(columns) = reader.headers().ok().and_then(Columns::new) else { return summary };
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).is_ok_and(|is_row| is_row) {
        let Some(mut record) = columns.record(&row) else {
            note_unreadable(&row, &mut summary);
            continue;
        };
        if !wanted(&record) {
            summary.records += 1;
            continue;
        }
        match set_fields(&mut record, row.get(columns.payload).unwrap_or_default()) {
            Ok(()) => {
                summary.records += 1;
                each(record);
            }
            Err(Problem::Joined) => summary.joined_records += 1,
            Err(Problem::Damaged) => note_unreadable(&row, &mut summary),
        }
    }
    summary
}

fn note_unreadable(row: &StringRecord, summary: &mut Summary) {
    summary.unreadable_records += 1;
    let offset = row.position().map_or(0, csv::Position::byte);
    summary.note_damage(usize::try_from(offset).unwrap_or(usize::MAX));
}

/// Why the fields of a record are unknown.
enum Problem {
    Damaged,
    /// Several texts are one, and where they end is unknown.
    Joined,
}

/// Reads the fields from JSON such as `{"EventData":{"Data":[{"@Name":"BootTime","#text":"38336"}]}}`.
fn set_fields(record: &mut Record, payload: &str) -> Result<(), Problem> {
    if payload.len() > MAX_PAYLOAD_SIZE {
        return Err(Problem::Damaged);
    }
    let data: Value = serde_json::from_str(payload).map_err(|_| Problem::Damaged)?;
    let parts = ["EventData", "UserData"].into_iter().filter_map(|part| data.get(part)?.as_object());
    for (name, value) in parts.flatten().filter(|(name, _)| !is_attribute(name)) {
        push_fields(record, name, value);
    }
    separate_texts(record)
}

/// Adds an element with all elements in it.
fn push_fields(record: &mut Record, tag: &str, value: &Value) {
    let label = value.get("@Name").and_then(Value::as_str);
    match value {
        Value::Array(values) => values.iter().for_each(|value| push_fields(record, tag, value)),
        Value::Object(members) if members.keys().any(|name| !is_attribute(name)) => {
            for (name, value) in members.iter().filter(|(name, _)| !is_attribute(name)) {
                push_fields(record, name, value);
            }
        }
        Value::Object(members) => {
            let text = members.get("#text").and_then(Value::as_str).unwrap_or_default();
            push_field(record, label.map(str::to_owned), tag.to_owned(), windows_form(tag, text));
        }
        Value::String(text) => push_field(record, None, tag.to_owned(), windows_form(tag, text)),
        Value::Null => push_field(record, None, tag.to_owned(), String::new()),
        Value::Bool(_) | Value::Number(_) => push_field(record, None, tag.to_owned(), value.to_string()),
    }
}

/// Attributes and texts are members of an element like the elements in it.
fn is_attribute(name: &str) -> bool {
    name.starts_with(['@', '#'])
}

/// Converts a value to the text form of Windows.
fn windows_form(tag: &str, text: &str) -> String {
    let text = unescape(text).unwrap_or(Cow::Borrowed(text));
    match &*text {
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        bytes if tag == "Binary" => bytes.replace('-', ""),
        time if is_time(time) => with_zone(time).into_owned(),
        _ => text.into_owned(),
    }
}

/// True for times such as `2024-11-15 14:28:34.8747054`.
fn is_time(text: &str) -> bool {
    text.len() == TIME_LENGTH
        && text.bytes().zip(b"0000-00-00 00:00:00.0000000").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == *form,
        })
}

/// Returns a time in the form of RFC 3339. Times without a zone are UTC.
fn with_zone(text: &str) -> Cow<'_, str> {
    match text.contains('T') {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{}Z", text.replacen(' ', "T", 1))),
    }
}

fn level(name: &str) -> u8 {
    match name {
        "Critical" => 1,
        "Error" => 2,
        "Warning" => 3,
        "Info" | "Information" => 4,
        "Verbose" => 5,
        "Success" => 8,
        "Failure" => 16,
        _ => name.parse().unwrap_or(0),
    }
}

/// Separates the unnamed texts of a classic event that are joined to one.
fn separate_texts(record: &mut Record) -> Result<(), Problem> {
    let is_joined = |field: &crate::Field| field.name.is_empty() && field.value.contains(SEPARATOR);
    let Some(place) = record.fields.iter().position(is_joined) else { return Ok(()) };
    let joined = record.fields.get(place).map(|field| field.value.clone()).unwrap_or_default();
    let texts: Vec<&str> = joined.split(SEPARATOR).collect();
    let is_number = |index: usize| texts.get(index).is_some_and(|text| text.parse::<u32>().is_ok());
    let is_separable = match record.provider.as_str() {
        // The texts of the log service contain no commas.
        "EventLog" => true,
        // A comma in the name of the product moves the numbers.
        "MsiInstaller" if INSTALLATIONS.contains(&record.id) => is_number(2) && is_number(3),
        "MsiInstaller" if record.id == PRODUCT => return Ok(()),
        _ => false,
    };
    if !is_separable {
        return Err(Problem::Joined);
    }
    record.fields.remove(place);
    for text in texts {
        push_field(record, None, "Data".to_owned(), text.to_owned());
    }
    Ok(())
}
