//! Reads the XML export of Process Monitor: the columns of the CSV export as elements of each event.
//!
//! ```text
//! <event><Time_of_Day>1:18:10.7752429 PM</Time_of_Day><Operation>ReadFile</Operation>...</event>
//! ```

use std::borrow::Cow;

use memchr::memmem;

use crate::csv::Records;
use crate::error::Error;
use crate::losses::LossKind;
use crate::operation::OperationWriter;
use crate::process_monitor_csv::RowReader;

/// Elements with the columns of the CSV export, in the order of [`HEADER`].
const ELEMENTS: [&[u8]; 10] = [
    b"Operation",
    b"Path",
    b"Detail",
    b"Result",
    b"Process_Name",
    b"PID",
    b"TID",
    b"Relative_Time",
    b"Time_of_Day",
    b"Duration",
];
const HEADER: &[u8] = b"Operation,Path,Detail,Result,Process Name,PID,TID,Relative Time,Time of Day,Duration";

/// True if the bytes start like an XML export.
pub(crate) fn is_export(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.get(..512).unwrap_or(bytes);
    start.starts_with(b"<") && memmem::find(start, b"<procmon>").is_some()
}

pub(crate) fn read(bytes: &[u8], out: &mut OperationWriter<'_>) -> Result<(), Error> {
    let mut header = Vec::new();
    Records::new(HEADER).read(&mut header);
    let mut rows = RowReader::from_header(&header)?;
    let event_end = memmem::Finder::new(b"</event>");
    let mut next = 0;
    for start in memmem::find_iter(bytes, b"<event>") {
        // A text cannot contain the element: `<` is escaped in it.
        if start < next {
            continue;
        }
        let event = bytes.get(start + b"<event>".len()..).unwrap_or_default();
        let Some(length) = event_end.find(event) else {
            // The export ends within the event.
            out.count_record();
            out.count_loss(LossKind::Unreadable, start);
            break;
        };
        next = start + b"<event>".len() + length;
        let values = values(event.get(..length).unwrap_or_default());
        let fields: [&[u8]; ELEMENTS.len()] =
            std::array::from_fn(|index| values.get(index).map_or(&b""[..], |value| value));
        rows.read(&fields, start, out);
    }
    Ok(())
}

/// Returns the values of an event, without escapes.
fn values(event: &[u8]) -> [Cow<'_, [u8]>; ELEMENTS.len()] {
    let mut values: [Cow<'_, [u8]>; ELEMENTS.len()] = Default::default();
    let mut rest = event;
    while let Some(start) = memchr::memchr(b'<', rest) {
        rest = rest.get(start + 1..).unwrap_or_default();
        let Some(name_len) = memchr::memchr(b'>', rest) else { break };
        let name = rest.get(..name_len).unwrap_or_default();
        rest = rest.get(name_len + 1..).unwrap_or_default();
        if let Some(value) =
            ELEMENTS.iter().position(|element| *element == name).and_then(|index| values.get_mut(index))
        {
            let text = rest.get(..memchr::memchr(b'<', rest).unwrap_or(rest.len())).unwrap_or_default();
            *value = unescape(text);
        }
    }
    values
}

/// Replaces the escapes of XML.
fn unescape(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'&', text).is_none() {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = memchr::memchr(b'&', rest) {
        bytes.extend_from_slice(rest.get(..start).unwrap_or_default());
        rest = rest.get(start..).unwrap_or_default();
        let length = memchr::memchr(b';', rest).filter(|&length| length <= 10);
        let character = length.and_then(|length| character(rest.get(1..length)?));
        let Some((length, character)) = length.zip(character) else {
            bytes.push(b'&');
            rest = rest.get(1..).unwrap_or_default();
            continue;
        };
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(length + 1..).unwrap_or_default();
    }
    bytes.extend_from_slice(rest);
    Cow::Owned(bytes)
}

/// Returns the character of an entity, without `&` and `;`.
fn character(entity: &[u8]) -> Option<char> {
    match entity {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => {
            let number = str::from_utf8(entity.strip_prefix(b"#")?).ok()?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_escapes() {
        for (text, expected) in [
            ("a &amp; b", "a & b"),
            ("&lt;&quot;&apos;&gt;", "<\"'>"),
            ("&#228;&#xE4;", "ää"),
            ("&unknown; & &#xD800; &", "&unknown; & &#xD800; &"),
        ] {
            assert_eq!(unescape(text.as_bytes()).as_ref(), expected.as_bytes(), "{text}");
        }
    }
}
