//! Reads the journal export format: entries are lines `NAME=value`, or `NAME` followed by a length and bytes; an empty
//! line ends an entry.
//!
//! Source: "Journal Export Formats", systemd's documentation.

use std::borrow::Cow;

use super::journal::{Entry, JournalFaults};

/// Passes every entry of `bytes` to `visit`, in file order.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'a>)) {
    let mut entry = Entry::default();
    let mut unread = bytes;
    loop {
        let Some(end) = memchr::memchr(b'\n', unread) else {
            // An unterminated last line belongs to a truncated entry.
            if !unread.is_empty() || entry.has_fields() {
                faults.truncated += 1;
            }
            if entry.has_fields() {
                visit(&entry);
            }
            return;
        };
        let (line, newline_and_rest) = unread.split_at(end);
        unread = newline_and_rest.get(1..).unwrap_or_default();
        if line.is_empty() {
            if entry.has_fields() {
                visit(&entry);
                entry = Entry::default();
            }
            if unread.is_empty() {
                return;
            }
            continue;
        }
        match memchr::memchr(b'=', line) {
            Some(name_len) => {
                let (name, value) = line.split_at(name_len);
                entry.set(name, text(value.get(1..).unwrap_or_default()));
            }
            None => {
                let Some((value, rest)) = split_sized_value(unread) else {
                    faults.truncated += 1;
                    if entry.has_fields() {
                        visit(&entry);
                    }
                    return;
                };
                unread = rest;
                entry.set(line, text(value));
            }
        }
        if unread.is_empty() && entry.has_fields() {
            visit(&entry);
            return;
        }
    }
}

/// Splits off a value that is preceded by its length and followed by a newline. Returns the value and the remaining
/// bytes.
fn split_sized_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, data) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (value, rest) = data.split_at_checked(length)?;
    Some((value, rest.strip_prefix(b"\n")?))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
