//! Reads comma-separated values (RFC 4180), without copying unless a quote is doubled.

use std::borrow::Cow;

use crate::number::decode;

/// Iterates over the records of a file.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    bytes: &'b [u8],
    next: usize,
}

impl<'b> Records<'b> {
    /// Starts at the first record of `bytes`, after an optional byte order mark.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        let next = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Records { bytes, next }
    }

    /// Starts at byte `next` of `bytes`, where a record must start.
    pub(crate) fn from_offset(bytes: &'b [u8], next: usize) -> Self {
        Records { bytes, next }
    }

    /// Returns the offset of the next record.
    pub(crate) fn offset(&self) -> usize {
        self.next.min(self.bytes.len())
    }

    /// Reads the fields of the next record, with their quotes. Returns false at the end.
    pub(crate) fn read(&mut self, fields: &mut Vec<&'b [u8]>) -> bool {
        fields.clear();
        let Some(remaining) = self.bytes.get(self.next..).filter(|remaining| !remaining.is_empty()) else {
            return false;
        };
        let mut start = 0;
        let end = loop {
            let end = end_of_field(remaining, start);
            if remaining.get(end) != Some(&b',') {
                break end;
            }
            fields.push(remaining.get(start..end).unwrap_or_default());
            start = end + 1;
        };
        let field = remaining.get(start..end).unwrap_or_default();
        fields.push(field.strip_suffix(b"\r").unwrap_or(field));
        self.next += end + 1;
        true
    }
}

/// Returns the offset of the comma or line end after the field that starts at `start`. Quotes can be anywhere in a
/// field.
fn end_of_field(bytes: &[u8], start: usize) -> usize {
    let mut position = start;
    loop {
        let rest = bytes.get(position..).unwrap_or_default();
        // Most fields are quoted as a whole, or not at all.
        let length = match rest.first() {
            Some(b'"' | b',' | b'\n') => Some(0),
            _ => memchr::memchr3(b'"', b',', b'\n', rest),
        };
        let Some(length) = length else { return bytes.len() };
        if rest.get(length) != Some(&b'"') {
            return position + length;
        }
        let quoted = rest.get(length + 1..).unwrap_or_default();
        let Some(quoted_length) = memchr::memchr(b'"', quoted) else { return bytes.len() };
        position += length + quoted_length + 2;
    }
}

/// Returns the text of a field without quotes. Invalid UTF-8 becomes replacement characters.
pub(crate) fn text(field: &[u8]) -> Cow<'_, str> {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else { return decode(field) };
    let inner = decode(inner);
    if memchr::memchr(b'"', inner.as_bytes()).is_some() { inner.replace("\"\"", "\"").into() } else { inner }
}

/// Returns the bytes of a field without quotes, for fields that cannot have doubled quotes.
pub(crate) fn unquoted_bytes(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_quoted_fields() {
        let mut records = Records::new(b"\xef\xbb\xbfa,\"b,\"\"c\"\"\nd\",\r\n\"\",x");
        let mut fields = Vec::new();
        assert!(records.read(&mut fields));
        let texts: Vec<_> = fields.iter().map(|field| text(field)).collect();
        assert_eq!(texts, ["a", "b,\"c\"\nd", ""]);
        assert!(records.read(&mut fields));
        assert_eq!(fields, [&b"\"\""[..], b"x"]);
        assert_eq!(unquoted_bytes(fields[0]), b"");
        assert!(!records.read(&mut fields));
    }
}
