//! Reads the journal export format: entries are lines `NAME=value`, or `NAME` followed by a length and bytes; an empty
//! line ends an entry.
//!
//! Source: "Journal Export Formats", systemd's documentation.

use std::borrow::Cow;

use super::journal::{Entry, JournalFaults};

/// Passes every entry of `bytes` to `visit`, in file order.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'a>)) {
    let mut entry = Entry::default();
    let mut rest = bytes;
    loop {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            // An unterminated last line belongs to a truncated entry.
            if !rest.is_empty() || entry.has_fields() {
                faults.truncated += 1;
            }
            if entry.has_fields() {
                visit(&entry);
            }
            return;
        };
        let (line, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        if line.is_empty() {
            if entry.has_fields() {
                visit(&entry);
                entry = Entry::default();
            }
            if rest.is_empty() {
                return;
            }
            continue;
        }
        match memchr::memchr(b'=', line) {
            Some(at) => {
                let (name, value) = line.split_at(at);
                entry.set(name, text(value.get(1..).unwrap_or_default()));
            }
            None => {
                let Some((value, after)) = sized(rest) else {
                    faults.truncated += 1;
                    if entry.has_fields() {
                        visit(&entry);
                    }
                    return;
                };
                rest = after;
                entry.set(line, text(value));
            }
        }
        if rest.is_empty() && entry.has_fields() {
            visit(&entry);
            return;
        }
    }
}

/// Reads a value preceded by its length and followed by a newline. Returns the value and the rest.
fn sized(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, after) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let value = after.get(..length)?;
    let after = after.get(length..)?;
    Some((value, after.strip_prefix(b"\n")?))
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
