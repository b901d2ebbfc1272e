//! Writes records as the XML that `wevtutil` exports.
//!
//! Reading the text returns the same records, except for characters that XML 1.0 does not allow.

use std::fmt::Write;

use crate::Summary;
use crate::record::Record;

/// Start of an export, before the first record.
pub const XML_START: &str = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<Events>\r\n";
/// End of an export, after the last record.
pub const XML_END: &str = "</Events>\r\n";

const NAMESPACE: &str = "http://schemas.microsoft.com/win/2004/08/events/event";

/// Appends a record to `out` as an `<Event>` element. Characters that XML 1.0 does not allow, such as most control
/// characters, are replaced by U+FFFD.
pub fn write_xml(record: &Record, out: &mut String) {
    let Record { provider, id, version, level, time_ns, number, channel, computer, user, .. } = record;
    let Record { process_id, thread_id, activity_id, fields, .. } = record;
    out.push_str("<Event xmlns='");
    out.push_str(NAMESPACE);
    out.push_str("'><System><Provider Name='");
    push_escaped(provider, out);
    // Writing to a string does not fail.
    let _ = write!(out, "'/><EventID>{id}</EventID><Version>{version}</Version><Level>{level}</Level>");
    let time = jiff::Timestamp::from_nanosecond((*time_ns).into()).unwrap_or_default();
    let _ = write!(out, "<TimeCreated SystemTime='{time}'/><EventRecordID>{number}</EventRecordID>");
    if !activity_id.is_empty() {
        out.push_str("<Correlation ActivityID='");
        push_escaped(activity_id, out);
        out.push_str("'/>");
    }
    let _ = write!(out, "<Execution ProcessID='{process_id}' ThreadID='{thread_id}'/><Channel>");
    push_escaped(channel, out);
    out.push_str("</Channel><Computer>");
    push_escaped(computer, out);
    out.push_str("</Computer>");
    if !user.is_empty() {
        out.push_str("<Security UserID='");
        push_escaped(user, out);
        out.push_str("'/>");
    }
    out.push_str("</System>");
    if !fields.is_empty() {
        out.push_str("<EventData>");
        for field in fields {
            if field.name.is_empty() {
                out.push_str("<Data>");
            } else {
                out.push_str("<Data Name='");
                push_escaped(&field.name, out);
                out.push_str("'>");
            }
            push_escaped(&field.value, out);
            out.push_str("</Data>");
        }
        out.push_str("</EventData>");
    }
    out.push_str("</Event>\r\n");
}

/// Target of the processing instruction with the losses.
const LOSSES: &str = "onoff-losses";

/// Appends what was lost of the log that the records come from, as a processing instruction, which other readers
/// ignore. [`crate::read`] adds it to the summary of the export. Appends nothing if nothing was lost.
pub fn write_losses(summary: &Summary, out: &mut String) {
    let Summary { damaged_chunks, unreadable_records, joined_records, is_dirty, .. } = *summary;
    if damaged_chunks > 0 || unreadable_records > 0 || joined_records > 0 || is_dirty {
        let dirty = u8::from(is_dirty);
        let _ = write!(out, "<?{LOSSES} damaged-chunks='{damaged_chunks}' ");
        let _ = write!(out, "unreadable-records='{unreadable_records}' joined-records='{joined_records}' ");
        let _ = write!(out, "dirty='{dirty}'?>\r\n");
    }
}

/// Adds the losses in a processing instruction, if it is one of [`write_losses`].
pub(crate) fn read_losses(instruction: &str, summary: &mut Summary) {
    let mut words = instruction.split_whitespace();
    if words.next() != Some(LOSSES) {
        return;
    }
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        let count = value.trim_matches('\'').parse().unwrap_or(0);
        match name {
            "damaged-chunks" => summary.damaged_chunks = summary.damaged_chunks.saturating_add(count),
            "unreadable-records" => summary.unreadable_records = summary.unreadable_records.saturating_add(count),
            "joined-records" => summary.joined_records = summary.joined_records.saturating_add(count),
            "dirty" => summary.is_dirty |= count > 0,
            _ => {}
        }
    }
}

/// Appends text of an element or an attribute. Line breaks become references, because readers normalize them.
fn push_escaped(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(character));
            }
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => out.push(char::REPLACEMENT_CHARACTER),
            _ => out.push(character),
        }
    }
}
