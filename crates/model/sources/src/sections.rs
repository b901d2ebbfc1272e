//! Splits reports that contain many command outputs, each below its command: the files of supportconfig (SUSE).
//!
//! ```text
//! #==[ Command ]======================================#
//! # /usr/bin/dmesg -T
//! [Fri Nov 20 23:15:25 2026] Linux version …
//! ```

use std::ops::Range;

/// Start of the line above each output.
const MARK: &[u8] = b"#==[ ";

/// Maximum number of sections in a file: the largest reports have a few thousand.
const MAX_SECTIONS: usize = 100_000;

/// Number of bytes at the start of a report that contain its first mark.
const HEAD_BYTES: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// The command that printed the section, or the file from which it was copied.
    pub(crate) name: String,
    /// Byte range of the lines.
    pub(crate) range: Range<usize>,
}

/// Finds the sections of `bytes`. Returns `None` if it is not a report.
pub(crate) fn sections(bytes: &[u8]) -> Option<Vec<Section>> {
    let is_line_start = |offset: usize| offset == 0 || bytes.get(offset - 1) == Some(&b'\n');
    let marks = || memchr::memmem::find_iter(bytes, MARK).filter(|&offset| is_line_start(offset));
    // Reject other files without searching their whole content.
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    memchr::memmem::find_iter(head, MARK).find(|&offset| is_line_start(offset))?;
    let next_line = |start: usize| {
        let length = bytes.get(start..).and_then(|rest| memchr::memchr(b'\n', rest))?;
        Some(start + length + 1)
    };
    let mut sections = Vec::new();
    let ends = marks().skip(1).chain([bytes.len()]);
    for (mark, end) in marks().zip(ends).take(MAX_SECTIONS) {
        let Some(name_start) = next_line(mark).filter(|&offset| offset <= end) else { continue };
        let Some(start) = next_line(name_start).filter(|&offset| offset <= end) else { continue };
        let name_line = String::from_utf8_lossy(bytes.get(name_start..start).unwrap_or_default());
        let name = name_line.trim_start_matches('#').trim().to_owned();
        sections.push(Section { name, range: start..end });
    }
    Some(sections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_each_output_under_its_command() {
        let report = "=== Support Utilities ===\n\n#==[ Command ]======================================#\n# /usr/bin/dmesg -T\none\ntwo\n\n\
                      #==[ Log File ]====#\n# /var/log/messages - Last 500 Lines\nthree #==[ not a mark\n#==[ Command ]===#\n# empty\n";
        let sections = sections(report.as_bytes()).unwrap();
        let outputs: Vec<(&str, &str)> =
            sections.iter().map(|section| (section.name.as_str(), &report[section.range.clone()])).collect();
        assert_eq!(
            outputs,
            [
                ("/usr/bin/dmesg -T", "one\ntwo\n\n"),
                ("/var/log/messages - Last 500 Lines", "three #==[ not a mark\n"),
                ("empty", "")
            ]
        );
    }

    #[test]
    fn other_files_have_no_sections() {
        for text in ["", "[    0.000000] Linux version\n", "x #==[ Command ]\n# y\n", "#==[", "#==[ Command ]"] {
            assert_eq!(sections(text.as_bytes()).unwrap_or_default(), [], "{text}");
        }
        let late = format!("{}\n#==[ Command ]\n# x\ny\n", "a".repeat(HEAD_BYTES));
        assert_eq!(sections(late.as_bytes()), None);
    }

    proptest::proptest! {
        #[test]
        fn ranges_are_in_bounds(bytes: Vec<u8>) {
            let mut report = b"#==[ Command ]==#\n# x\n".to_vec();
            report.extend(&bytes);
            for section in sections(&report).unwrap_or_default() {
                proptest::prop_assert!(report.get(section.range).is_some());
            }
        }
    }
}
