//! The journal export format: entries as lines `NAME=value`, or `NAME`, a length and bytes; an empty line ends an entry.
//!
//! Source: "Journal Export Formats", systemd's documentation.

use std::borrow::Cow;

use super::journal::{Entry, JournalFaults};

/// Calls `take` with every entry of `bytes`, in their order.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut take: impl FnMut(&Entry<'a>)) {
    let mut entry = Entry::default();
    let mut rest = bytes;
    loop {
        let Some(end) = memchr::memchr(b'\n', rest) else {
            // A last line without its end belongs to an entry that was cut off.
            if !rest.is_empty() || entry.has_fields() {
                faults.cut_off += 1;
            }
            if entry.has_fields() {
                take(&entry);
            }
            return;
        };
        let (line, after) = rest.split_at(end);
        rest = after.get(1..).unwrap_or_default();
        if line.is_empty() {
            if entry.has_fields() {
                take(&entry);
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
                    faults.cut_off += 1;
                    if entry.has_fields() {
                        take(&entry);
                    }
                    return;
                };
                rest = after;
                entry.set(line, text(value));
            }
        }
        if rest.is_empty() && entry.has_fields() {
            take(&entry);
            return;
        }
    }
}

/// A value that is preceded by its length and followed by a line end, and what comes after.
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
