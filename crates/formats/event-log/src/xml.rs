//! Events as XML: one `<Event>` element each, alone, in a sequence, or in `<Events>`.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::{resolve_predefined_entity, unescape};
use quick_xml::events::{BytesRef, BytesStart, Event as Node};

use crate::record::{Field, Record, time_ns};
use crate::text::{decode, start};
use crate::write::read_losses;
use crate::{Summary, Wanted};

/// Maximum depth of elements; events of Windows have up to 8.
const MAX_DEPTH: usize = 64;
/// Maximum number of fields of an event.
const MAX_FIELDS: usize = 1024;

/// True if the text starts like an export of events.
pub(crate) fn is_export(bytes: &[u8]) -> bool {
    let start = start(bytes);
    start.starts_with('<') && ["<Event>", "<Event ", "<Events>", "<Events "].iter().any(|tag| start.contains(tag))
}

/// Reads an export. Text after a syntax error is lost and counted as one unreadable record.
pub(crate) fn read(bytes: &[u8], wanted: Wanted<'_>, each: &mut dyn FnMut(Record)) -> Summary {
    let mut summary = Summary::default();
    read_text(&decode(bytes), 0, &mut summary, wanted, each);
    summary
}

/// Reads the events in `text`, which starts at `offset` in the file.
pub(crate) fn read_text(
    text: &str,
    offset: usize,
    summary: &mut Summary,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(Record),
) {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut damaged = false;
    loop {
        match reader.read_event() {
            Ok(Node::Start(element)) if is_named(&element, "Event") => match read_event(&mut reader, wanted) {
                Ok(Some(record)) => {
                    summary.records += 1;
                    each(record);
                }
                Ok(None) => summary.records += 1,
                Err(Damage) => damaged = true,
            },
            Ok(Node::PI(instruction)) => read_losses(&instruction, summary),
            Ok(Node::Eof) => break,
            Ok(_) => {}
            Err(_) => damaged = true,
        }
        if damaged {
            summary.unreadable_records += 1;
            summary.note_damage(offset.saturating_add(usize::try_from(reader.error_position()).unwrap_or(0)));
            break;
        }
    }
}

struct Damage;

/// The part of an event that an element is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    System,
    /// `EventData` or `UserData`.
    Data,
    /// Text of the provider in the language of the exporting computer.
    Other,
}

/// An element that is still open.
struct Open {
    name: String,
    /// Value of its attribute `Name`.
    label: Option<String>,
    has_children: bool,
}

/// Reads up to the end of the event. `None` if it is not wanted.
fn read_event(reader: &mut Reader<&[u8]>, wanted: Wanted<'_>) -> Result<Option<Record>, Damage> {
    let mut record = Record::default();
    let mut is_wanted = true;
    let mut open: Vec<Open> = Vec::new();
    let mut part = Part::Other;
    let mut text = String::new();
    loop {
        let node = reader.read_event().map_err(|_| Damage)?;
        match node {
            Node::Start(element) => {
                let name = local_name(&element);
                match open.last_mut() {
                    None => part = part_named(&name),
                    Some(parent) => parent.has_children = true,
                }
                if open.len() >= MAX_DEPTH {
                    return Err(Damage);
                }
                if part == Part::System {
                    set_attributes(&mut record, &name, &element);
                }
                let label = (part == Part::Data).then(|| attribute(&element, "Name")).flatten();
                open.push(Open { name, label, has_children: false });
                text.clear();
            }
            Node::Empty(element) => {
                if let Some(parent) = open.last_mut() {
                    parent.has_children = true;
                }
                let name = local_name(&element);
                match part {
                    Part::System => set_attributes(&mut record, &name, &element),
                    Part::Data if open.len() > 1 || part_named(&name) == Part::Other => {
                        push_field(&mut record, attribute(&element, "Name"), name, String::new());
                    }
                    _ => {}
                }
            }
            Node::Text(value) if is_wanted => text.push_str(&value),
            Node::CData(value) if is_wanted => text.push_str(&value),
            Node::GeneralRef(reference) if is_wanted => push_reference(&mut text, &reference)?,
            Node::End(_) => {
                let Some(element) = open.pop() else {
                    return Ok(is_wanted.then_some(record));
                };
                let value = std::mem::take(&mut text);
                match part {
                    Part::System if open.len() == 1 => set_text(&mut record, &element.name, &value),
                    Part::System if open.is_empty() => is_wanted = wanted(&record),
                    Part::Data if is_wanted && !open.is_empty() && !element.has_children => {
                        push_field(&mut record, element.label, element.name, value);
                    }
                    _ => {}
                }
            }
            Node::Eof => return Err(Damage),
            _ => {}
        }
    }
}

fn part_named(name: &str) -> Part {
    match name {
        "System" => Part::System,
        "EventData" | "UserData" => Part::Data,
        _ => Part::Other,
    }
}

/// Adds a field. `Data` without a label has no name; other elements are named by their tag.
pub(crate) fn push_field(record: &mut Record, label: Option<String>, tag: String, value: String) {
    if record.fields.len() < MAX_FIELDS {
        let name = label.unwrap_or_else(|| if tag == "Data" { String::new() } else { tag });
        record.fields.push(Field { name, value });
    }
}

/// Sets what an element of `System` has as attributes.
fn set_attributes(record: &mut Record, name: &str, element: &BytesStart<'_>) {
    let number = |key: &str| attribute(element, key).and_then(|text| text.parse().ok()).unwrap_or(0);
    let text = |key: &str| attribute(element, key).unwrap_or_default();
    match name {
        "Provider" => record.provider = text("Name"),
        "TimeCreated" => record.time_ns = time_ns(&text("SystemTime")).unwrap_or(0),
        "Execution" => (record.process_id, record.thread_id) = (number("ProcessID"), number("ThreadID")),
        "Correlation" => record.activity_id = text("ActivityID"),
        "Security" => record.user = text("UserID"),
        _ => {}
    }
}

/// Sets what an element of `System` has as text.
fn set_text(record: &mut Record, name: &str, value: &str) {
    let value = value.trim();
    match name {
        "EventID" => record.id = value.parse().unwrap_or(0),
        "Version" => record.version = value.parse().unwrap_or(0),
        "Level" => record.level = value.parse().unwrap_or(0),
        "EventRecordID" => record.number = value.parse().unwrap_or(0),
        "Channel" => value.clone_into(&mut record.channel),
        "Computer" => value.clone_into(&mut record.computer),
        _ => {}
    }
}

fn local_name(element: &BytesStart<'_>) -> String {
    element.local_name().as_ref().to_owned()
}

fn is_named(element: &BytesStart<'_>, name: &str) -> bool {
    element.local_name().as_ref() == name
}

fn attribute(element: &BytesStart<'_>, key: &str) -> Option<String> {
    let attribute = element.attributes().with_checks(false).flatten().find(|one| one.key.as_ref() == key)?;
    let raw = &attribute.value;
    Some(unescape(raw).map_or_else(|_| raw.clone().into_owned(), Cow::into_owned))
}

/// Appends the character of `&name;` or `&#number;`. Entities that only a document type could define are kept as text.
fn push_reference(text: &mut String, reference: &BytesRef<'_>) -> Result<(), Damage> {
    if let Some(character) = reference.resolve_char_ref().map_err(|_| Damage)? {
        text.push(character);
        return Ok(());
    }
    let name: &str = reference;
    match resolve_predefined_entity(name) {
        Some(character) => text.push_str(character),
        None => {
            text.push('&');
            text.push_str(name);
            text.push(';');
        }
    }
    Ok(())
}
