//! Parses the lines of bootchart's logs; see `bootchart` for the format.

/// A file of `bootchart.tgz`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogKind {
    /// `header`: describes the machine.
    Header,
    /// `proc_ps.log`.
    Processes,
    /// `proc_stat.log` or `proc_diskstats.log`.
    Totals,
}

/// Recognizes a file of the archive by its first lines.
pub(super) fn recognizes(text: &str) -> Option<LogKind> {
    if text.starts_with("version = ") && text.lines().take(4).any(|line| line.starts_with("title = Boot chart for ")) {
        return Some(LogKind::Header);
    }
    let mut lines = text.lines();
    hundredths(lines.next()?)?;
    let second_line = lines.next()?;
    if Sample::parse(second_line).is_some() {
        return Some(LogKind::Processes);
    }
    let mut words = second_line.split_ascii_whitespace();
    let is_cpu_line =
        second_line.starts_with("cpu ") && words.clone().skip(1).all(is_number) && words.clone().count() > 4;
    let is_disk_line = words.clone().count() >= 7
        && words.next().is_some_and(is_number)
        && words.next().is_some_and(is_number)
        && words.next().is_some_and(|name| !is_number(name))
        && words.all(is_number);
    (is_cpu_line || is_disk_line).then_some(LogKind::Totals)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses the first line of a sample, in hundredths of a second, to ns.
pub(super) fn hundredths(line: &str) -> Option<i64> {
    let line = line.trim_end();
    if !is_number(line) {
        return None;
    }
    line.parse::<i64>().ok()?.checked_mul(10_000_000)
}

/// The fields of a `/proc/PID/stat` line that identify the process.
pub(super) struct Sample<'a> {
    pub(super) pid: u32,
    pub(super) name: &'a str,
    pub(super) parent_pid: u32,
    /// ns since the kernel's start.
    pub(super) start_ns: i64,
}

impl<'a> Sample<'a> {
    /// Parses `1 (init) S 0 …`; the name may contain parentheses and spaces. The 22nd field is the start in hundredths
    /// of a second (`USER_HZ` on every platform that bootchart supports).
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (pid, rest) = line.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        if state.len() != 1 {
            return None;
        }
        let parent_pid = fields.next()?.parse().ok()?;
        let start = fields.nth(17)?;
        Some(Self { pid: pid.trim().parse().ok()?, name, parent_pid, start_ns: hundredths(start)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = "1 (init) S 0 1 1 0 -1 4194560 272 0 15 0 0 98 0 0 20 0 1 0 5 3227648 594\n";

    #[test]
    fn recognizes_each_file_by_content() {
        for (text, expected) in [
            ("version = 0.8\ntitle = Boot chart for h (now)\n", Some(LogKind::Header)),
            (&format!("204\n{}", INIT), Some(LogKind::Processes)),
            ("204\ncpu  4 0 142 36 0 0 0\ncpu0 4 0 142 36 0 0 0\n", Some(LogKind::Totals)),
            ("204\n   8       0 sda 64 0 297 168 0 0 0\n", Some(LogKind::Totals)),
            ("204\n", None),
            ("204\n205\n", None),
            ("1\n2 3 4\n", None),
            ("version = 1\ntitle = a book\n", None),
            ("hello\n8 0 sda 1 2 3 4\n", None),
        ] {
            assert_eq!(recognizes(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String) {
            let _ = recognizes(&text);
            let _ = Sample::parse(&text);
        }
    }
}
