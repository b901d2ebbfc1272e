//! The lines of bootchart's logs: which log a text is, and what a sample says of a process. See `bootchart`.

/// A file of the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// `header`: the machine.
    Header,
    /// `proc_ps.log`.
    Processes,
    /// `proc_stat.log` or `proc_diskstats.log`.
    Use,
}

/// What a text is of such a collection.
pub(super) fn recognizes(text: &str) -> Option<File> {
    if text.starts_with("version = ") && text.lines().take(4).any(|line| line.starts_with("title = Boot chart for ")) {
        return Some(File::Header);
    }
    let mut lines = text.lines();
    hundredths(lines.next()?)?;
    let second = lines.next()?;
    if Sample::of(second).is_some() {
        return Some(File::Processes);
    }
    let mut words = second.split_ascii_whitespace();
    let of_processors = second.starts_with("cpu ") && words.clone().skip(1).all(is_number) && words.clone().count() > 4;
    let of_disks = words.clone().count() >= 7
        && words.next().is_some_and(is_number)
        && words.next().is_some_and(is_number)
        && words.next().is_some_and(|name| !is_number(name))
        && words.all(is_number);
    (of_processors || of_disks).then_some(File::Use)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first line of a sample, as ns.
pub(super) fn hundredths(line: &str) -> Option<i64> {
    let line = line.trim_end();
    if !is_number(line) {
        return None;
    }
    line.parse::<i64>().ok()?.checked_mul(10_000_000)
}

/// A line of `/proc/PID/stat`, as far as it says who it is.
pub(super) struct Sample<'a> {
    pub(super) pid: u32,
    pub(super) name: &'a str,
    pub(super) parent_pid: u32,
    /// Since the kernel's start, ns.
    pub(super) start_ns: i64,
}

impl<'a> Sample<'a> {
    /// `1 (init) S 0 …`: a name may hold brackets and spaces. The 22nd field is the start, in hundredths of a second (`USER_HZ` of every
    /// platform that bootchart runs on).
    pub(super) fn of(line: &'a str) -> Option<Self> {
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
    fn each_file_of_the_collection_is_known_by_its_content() {
        for (text, expected) in [
            ("version = 0.8\ntitle = Boot chart for h (now)\n", Some(File::Header)),
            (&format!("204\n{}", INIT), Some(File::Processes)),
            ("204\ncpu  4 0 142 36 0 0 0\ncpu0 4 0 142 36 0 0 0\n", Some(File::Use)),
            ("204\n   8       0 sda 64 0 297 168 0 0 0\n", Some(File::Use)),
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
        fn any_line_is_a_sample_or_not(text: String) {
            let _ = recognizes(&text);
            let _ = Sample::of(&text);
        }
    }
}
