//! Finds the intervals of a boot in which nothing was logged, with the lines around them.

/// Minimum length of a gap between exact times, ns: 1 s.
const MIN_GAP_NS: i64 = 1_000_000_000;

/// Maximum number of lines to keep. A boot has a few thousand.
const MAX_LINES: usize = 100_000;

/// Maximum number of bytes of a line to keep.
const MAX_LINE_LEN: usize = 200;

/// Maximum number of gaps to return.
const MAX_GAPS: usize = 64;

/// The first lines of the logs.
#[derive(Debug, Default)]
pub(super) struct LogGaps {
    lines: Vec<(i64, String)>,
}

impl LogGaps {
    /// Adds a line of `sender`, which is empty for the kernel.
    pub(super) fn add_line(&mut self, time_ns: i64, sender: &str, text: &str) {
        if self.lines.len() >= MAX_LINES || text.trim().is_empty() {
            return;
        }
        let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or(text).trim();
        let mut line = if sender.is_empty() { String::new() } else { format!("{sender}: ") };
        let end = first_line.char_indices().map(|(index, _)| index).find(|&index| index > MAX_LINE_LEN);
        line.push_str(end.and_then(|end| first_line.get(..end)).unwrap_or(first_line));
        self.lines.push((time_ns, line));
    }

    /// Returns the gaps that begin before the boot ends, longest first.
    pub(super) fn finish(self, boot_end_ns: i64, resolution_ns: i64) -> Vec<LogGap> {
        let mut lines = self.lines;
        // Stable sort: lines of the same time keep the order of their log.
        lines.sort_by_key(|&(time_ns, _)| time_ns);
        let min_ns = MIN_GAP_NS.saturating_add(resolution_ns);
        let mut gaps: Vec<LogGap> = lines
            .iter()
            .zip(lines.iter().skip(1))
            .filter(|((start_ns, _), (end_ns, _))| {
                end_ns.saturating_sub(*start_ns) >= min_ns && *start_ns < boot_end_ns
            })
            .map(|((start_ns, before), (end_ns, after))| LogGap {
                start_ns: *start_ns,
                end_ns: *end_ns,
                before: before.clone(),
                after: after.clone(),
            })
            .collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.end_ns.saturating_sub(gap.start_ns)));
        gaps.truncate(MAX_GAPS);
        gaps
    }
}

/// An interval without log lines, with the lines around it.
#[derive(Debug)]
pub(super) struct LogGap {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) before: String,
    pub(super) after: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(lines: &[(i64, &str)], resolution_ns: i64) -> Vec<(i64, String, String)> {
        let mut logs = LogGaps::default();
        for (time_ms, text) in lines {
            logs.add_line(time_ms * 1_000_000, "", text);
        }
        let gaps = logs.finish(i64::MAX, resolution_ns).into_iter();
        gaps.map(|gap| ((gap.end_ns - gap.start_ns) / 1_000_000, gap.before, gap.after)).collect()
    }

    #[test]
    fn names_the_lines_around_a_gap() {
        let lines = [
            (0, "Linux version"),
            (1_200, "usb 1-1: new device"),
            (151_300, "random: fast init done"),
            (151_350, ""),
            (152_100, "done"),
        ];
        let expected = [
            (150_100, "usb 1-1: new device".to_owned(), "random: fast init done".to_owned()),
            (1_200, "Linux version".to_owned(), "usb 1-1: new device".to_owned()),
        ];
        assert_eq!(gaps(&lines, 0), expected);
    }

    #[test]
    fn one_second_is_no_gap_in_a_log_with_whole_seconds() {
        let lines = [(500, "a"), (1_500, "b"), (2_500, "c"), (2_500, "d"), (3_500, "e"), (9_500, "f")];
        assert_eq!(gaps(&lines, 1_000_000_000).len(), 1);
        assert_eq!(gaps(&lines, 0).len(), 4);
        assert_eq!(gaps(&[(0, "a"), (900, "b")], 0).len(), 0);
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_lines(lines: Vec<(i64, String)>) {
            let mut logs = LogGaps::default();
            for (time_ns, text) in &lines {
                logs.add_line(*time_ns, text, text);
            }
            proptest::prop_assert!(logs.finish(i64::MAX, 0).len() <= MAX_GAPS);
        }
    }
}
