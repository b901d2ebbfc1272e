//! Splits texts that contain many command outputs, each below its command: the files of supportconfig (SUSE), and what
//! people copy from a terminal into a forum, where a prompt precedes the command (`user@host:~$ systemd-analyze blame`).
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
    marked_sections(bytes).or_else(|| terminal_sections(bytes))
}

/// Finds the outputs below prompts with a command.
fn terminal_sections(bytes: &[u8]) -> Option<Vec<Section>> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    head.split(|&byte| byte == b'\n').find_map(command)?;
    let mut sections: Vec<Section> = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let end = start + line.len();
        if let Some(name) = command(line).filter(|_| sections.len() < MAX_SECTIONS) {
            sections.push(Section { name, range: end..end });
        } else if let Some(section) = sections.last_mut() {
            section.range.end = end;
        }
        start = end;
    }
    Some(sections)
}

/// Returns the command in a line with a prompt, such as `$ systemd-analyze blame` or `[root@host ~]# journalctl -b`.
/// `systemd-analyze` needs no prompt.
fn command(line: &[u8]) -> Option<String> {
    /// Programs whose output is of use.
    const PROGRAMS: [&str; 4] = ["systemd-analyze", "journalctl", "dmesg", "systemctl"];
    /// Maximum length of a line with a command, in bytes.
    const MAX_LINE_BYTES: usize = 160;
    if line.len() > MAX_LINE_BYTES {
        return None;
    }
    let line = std::str::from_utf8(line).ok()?.trim();
    let start = PROGRAMS.iter().filter_map(|program| line.find(program)).min()?;
    let (prompt, command) = line.split_at_checked(start)?;
    let prompt = prompt.trim_end();
    let prompt = prompt.strip_suffix("sudo").unwrap_or(prompt).trim_end();
    let is_prompt = match prompt {
        "" => command.starts_with("systemd-analyze"),
        // A line of a log has a time or a sender.
        prompt => {
            prompt.ends_with(['$', '#', '%', '>', '❯', '➜']) && !prompt.contains("]: ") && !prompt.starts_with("[ ")
        }
    };
    let mut words = command.split(' ');
    let is_program = words.next().is_some_and(|program| PROGRAMS.contains(&program));
    // A sentence about a program is no command.
    let is_argument = |word: &str| word.len() < 60 && !word.ends_with([':', ',', ';', '.']);
    (is_prompt && is_program && words.all(is_argument)).then(|| command.to_owned())
}

/// Finds the outputs below the marks of supportconfig.
fn marked_sections(bytes: &[u8]) -> Option<Vec<Section>> {
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

    #[test]
    fn finds_outputs_in_terminal() {
        let text = "My PC is slow, please help!\n\nuser@host:~$ systemd-analyze\none\n[user@host ~]$ sudo systemd-analyze blame\n\
                    two\nthree\n# journalctl -b -o short-monotonic\n[    1.000000] host a: $ dmesg\n❯ dmesg\n";
        let sections = sections(text.as_bytes()).unwrap();
        let outputs: Vec<(&str, &str)> =
            sections.iter().map(|section| (section.name.as_str(), &text[section.range.clone()])).collect();
        assert_eq!(
            outputs,
            [
                ("systemd-analyze", "one\n"),
                ("systemd-analyze blame", "two\nthree\n"),
                ("journalctl -b -o short-monotonic", ""),
                ("dmesg", "")
            ]
            .map(|(name, output)| (
                name,
                if name.starts_with("journalctl") { "[    1.000000] host a: $ dmesg\n" } else { output }
            ))
        );
        for text in [
            "Nov 22 09:04:00 host sudo[1]: user ; COMMAND=/usr/bin/systemd-analyze blame\n",
            "Nov 22 09:04:00 host bash[1]: # systemd-analyze blame\n",
            "systemd-analyze prints the times: look at them\n",
            "I ran systemd-analyze blame\n",
            "systemd-analyzer x\n",
        ] {
            assert_eq!(super::sections(text.as_bytes()), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ranges_are_in_bounds(bytes: Vec<u8>) {
            for head in ["#==[ Command ]==#\n# x\n", "$ dmesg\n"] {
                let mut report = head.as_bytes().to_vec();
                report.extend(&bytes);
                for section in sections(&report).unwrap_or_default() {
                    proptest::prop_assert!(report.get(section.range).is_some());
                }
            }
        }
    }
}
