//! Reads the output of `journalctl -o verbose`: a line with the entry's cursor in brackets, then one indented line per
//! field.
//!
//! The cursor has the times to the µs, in hexadecimal: `b` is the boot, `m` the monotonic clock, `t` the wall clock
//! (sources: systemd.journal-fields(7), "Address Fields", and the output of journalctl 252). A value with several lines
//! continues below its first line, indented to the same column.

use std::borrow::Cow;

use super::journal::{Entry, JournalFaults};

/// Indentation of a field.
const INDENT: &str = "    ";

/// True if the line starts an entry.
pub(crate) fn is_head(line: &str) -> bool {
    !line.starts_with([' ', '\t'])
        && cursor(line).is_some_and(|cursor| part(cursor, "b").is_some() && part(cursor, "m").is_some())
}

fn cursor(line: &str) -> Option<&str> {
    let (_, cursor) = line.rsplit_once(" [s=")?;
    cursor.trim_end().strip_suffix(']')
}

/// Returns the part `name` of a cursor. The sequence, which comes first, is already cut off.
fn part<'a>(cursor: &'a str, name: &str) -> Option<&'a str> {
    cursor.split(';').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// A field being read.
struct Field<'a> {
    name: &'a str,
    value: Cow<'a, str>,
}

/// Passes every entry of `bytes` to `visit`, in file order.
pub(crate) fn entries<'a>(bytes: &'a [u8], faults: &mut JournalFaults, mut visit: impl FnMut(&Entry<'a>)) {
    let mut entry: Option<Entry<'a>> = None;
    let mut field: Option<Field<'a>> = None;
    for line in bytes.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // journalctl prints binary values as a size, so its output is always valid UTF-8.
        let Ok(line) = std::str::from_utf8(line) else {
            faults.unreadable += 1;
            continue;
        };
        if is_head(line) {
            finish(&mut entry, &mut field, &mut visit);
            entry = cursor(line).map(entry_from_cursor);
            continue;
        }
        let Some(open_entry) = &mut entry else {
            // "-- Boot … --", "-- No entries --" and the like.
            faults.unreadable += u64::from(!line.trim().is_empty() && !line.starts_with("-- "));
            continue;
        };
        match new_field(line) {
            Some(next_field) => {
                set(open_entry, field.replace(next_field));
            }
            None if line.is_empty() => {}
            None => match &mut field {
                Some(Field { name, value }) => {
                    let indent = INDENT.len() + name.len() + 1;
                    let spaces = line.bytes().take(indent).take_while(|&byte| byte == b' ').count();
                    let value = value.to_mut();
                    value.push('\n');
                    value.push_str(line.get(spaces..).unwrap_or_default());
                }
                None => faults.unreadable += 1,
            },
        }
    }
    finish(&mut entry, &mut field, &mut visit);
}

fn entry_from_cursor<'a>(cursor: &str) -> Entry<'a> {
    let mut entry = Entry::default();
    let hexadecimal = |name| part(cursor, name).and_then(|digits| i64::from_str_radix(digits, 16).ok());
    entry.monotonic_us = hexadecimal("m").filter(|&us| us >= 0);
    entry.realtime_us = hexadecimal("t").filter(|&us| us >= 0);
    entry.set(b"__CURSOR", cursor.to_owned().into());
    entry.fields = 0;
    entry.set(b"_BOOT_ID", part(cursor, "b").unwrap_or_default().to_owned().into());
    entry
}

/// Parses `    NAME=value`.
fn new_field(line: &str) -> Option<Field<'_>> {
    let (name, value) = line.strip_prefix(INDENT)?.split_once('=')?;
    let is_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (!name.is_empty() && name.bytes().all(is_name)).then_some(Field { name, value: value.into() })
}

fn set<'a>(entry: &mut Entry<'a>, field: Option<Field<'a>>) {
    if let Some(Field { name, value }) = field
        && Entry::is_relevant(name.as_bytes())
    {
        entry.set(name.as_bytes(), value);
    }
}

fn finish<'a>(entry: &mut Option<Entry<'a>>, field: &mut Option<Field<'a>>, visit: &mut impl FnMut(&Entry<'a>)) {
    if let Some(mut entry) = entry.take() {
        set(&mut entry, field.take());
        visit(&entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boot, real time, time since the boot began, message and unit.
    type Row = (u128, Option<i64>, Option<i64>, String, String);

    fn read(text: &[u8]) -> (Vec<Row>, JournalFaults) {
        let mut faults = JournalFaults::default();
        let mut rows = Vec::new();
        entries(text, &mut faults, |entry| {
            let text = |text: &Cow<'_, str>| text.clone().into_owned();
            rows.push((entry.boot, entry.realtime_us, entry.monotonic_us, text(&entry.message), text(&entry.unit)));
        });
        (rows, faults)
    }

    #[test]
    fn reads_cursor_times_and_multiline_values() {
        let text = "Fri 2026-11-20 23:15:25.100000 UTC [s=1;i=1;b=000000000000000000000000000000aa;m=1e;t=6450f00000000;x=5]\n\
                    \u{20}   PRIORITY=5\n    MESSAGE=two\n            lines\n              A=b\n    UNIT=a.service\n    _PID=1\n\
                    -- Boot bb --\n\
                    Fri 2026-11-20 23:16:25.1 UTC [s=1;i=2;b=000000000000000000000000000000bb;m=ff;t=6450f00000001;x=5]\n    MESSAGE=z\n";
        let (rows, faults) = read(text.as_bytes());
        assert_eq!(rows.len(), 2);
        assert_eq!(
            rows[0],
            (0xaa, Some(0x6_450f_0000_0000), Some(30), "two\nlines\n  A=b".to_owned(), "a.service".to_owned())
        );
        assert_eq!((rows[1].0, rows[1].2, rows[1].3.as_str()), (0xbb, Some(255), "z"));
        assert_eq!(faults.unreadable, 0);
    }

    #[test]
    fn counts_unreadable_lines() {
        let (rows, faults) = read(b"hello\n\xff\n    MESSAGE=x\n");
        assert_eq!((rows.len(), faults.unreadable), (0, 3));
        assert!(!is_head("Nov 20 23:15:25 host prog[1]: x [s=1;b=2] more"));
    }

    /// Compares with the output of journalctl, if it is installed.
    #[test]
    fn reads_journalctl_output() {
        use onoff_testkit::journal::{JournalEntry, JournalWriter};
        let fields = |message: &str| {
            [
                ("MESSAGE", message),
                ("UNIT", "a.service"),
                ("_PID", "1"),
                ("_BOOT_ID", "000000000000000000000000000000aa"),
            ]
            .map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()))
            .to_vec()
        };
        let entries: Vec<JournalEntry> = ["one", "two\n  lines\nA=b", "three = 3"]
            .into_iter()
            .zip(1..)
            .map(|(message, number)| JournalEntry {
                sequence_number: number,
                realtime_us: 1_700_000_000_000_000 + number,
                monotonic_us: 30 + number,
                boot_id: 0xaa,
                fields: fields(message),
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("system.journal");
        std::fs::write(&path, JournalWriter::default().file(&entries)).unwrap();
        let written = std::process::Command::new("journalctl")
            .arg("--file")
            .arg(&path)
            .args(["-o", "verbose", "--no-pager"])
            .output();
        let Ok(written) = written else {
            eprintln!("skipped: journalctl is not installed");
            return;
        };
        let (rows, faults) = read(&written.stdout);
        let expected: Vec<Row> = entries
            .iter()
            .map(|entry| {
                let message = String::from_utf8(entry.fields[0].1.clone()).unwrap();
                let time = |us: u64| i64::try_from(us).ok();
                (entry.boot_id, time(entry.realtime_us), time(entry.monotonic_us), message, "a.service".to_owned())
            })
            .collect();
        assert_eq!(rows, expected, "{}", String::from_utf8_lossy(&written.stdout));
        assert_eq!(faults.unreadable, 0);
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_bytes(bytes: Vec<u8>, text: String) {
            let _ = read(&bytes);
            let mut tail = b"x [s=1;b=aa;m=1;t=2;x=3]\n    MESSAGE=".to_vec();
            tail.extend(text.as_bytes());
            tail.extend(&bytes);
            proptest::prop_assert!(read(&tail).0.len() <= 1 + tail.iter().filter(|&&byte| byte == b'\n').count());
        }
    }
}
