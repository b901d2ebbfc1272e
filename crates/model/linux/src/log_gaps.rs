//! Finds the intervals of a boot in which nothing was logged, with the lines around them.

use onoff_trace::{Activity, ActivityKind, TableName, milestone};

use super::assembly::Assembly;

/// Minimum length of a gap, ns: 1 s.
const MIN_GAP_NS: i64 = 1_000_000_000;

/// Minimum length of a gap in a log with whole seconds, ns: 2 s.
const MIN_WHOLE_SECONDS_GAP_NS: i64 = 2_000_000_000;

/// Maximum number of lines to keep. A boot has a few thousand.
const MAX_LINES: usize = 100_000;

/// Maximum number of bytes of a line to keep.
const MAX_LINE_LEN: usize = 200;

/// Maximum number of gaps to add, longest first.
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
}

/// Adds an activity for each gap before the end of the boot.
pub(super) fn finish(assembly: &mut Assembly) {
    let mut lines = std::mem::take(&mut assembly.log_gaps).lines;
    if !assembly.wants(TableName::Activities) || lines.len() < 2 {
        return;
    }
    // Stable sort: lines of the same time keep the order of their log.
    lines.sort_by_key(|&(time_ns, _)| time_ns);
    let first_ns = lines.first().map_or(0, |&(time_ns, _)| time_ns);
    let whole_seconds = lines.iter().filter(|(time_ns, _)| (time_ns - first_ns) % 1_000_000_000 == 0).count();
    let is_whole_seconds = whole_seconds.saturating_mul(5) >= lines.len().saturating_mul(4) && lines.len() > 4;
    let min_ns = if is_whole_seconds { MIN_WHOLE_SECONDS_GAP_NS } else { MIN_GAP_NS };
    let boot_end_ns = assembly.last_time_of(milestone::STARTUP_FINISHED).unwrap_or(i64::MAX);
    let mut gaps: Vec<(i64, i64, &str, &str)> = lines
        .windows(2)
        .filter_map(|pair| match pair {
            [(start_ns, before), (end_ns, after)] => Some((*start_ns, *end_ns, before.as_str(), after.as_str())),
            _ => None,
        })
        .filter(|&(start_ns, end_ns, ..)| end_ns.saturating_sub(start_ns) >= min_ns && start_ns < boot_end_ns)
        .collect();
    gaps.sort_by_key(|&(start_ns, end_ns, ..)| std::cmp::Reverse(end_ns.saturating_sub(start_ns)));
    for (start_ns, end_ns, before, after) in gaps.into_iter().take(MAX_GAPS) {
        let row = Activity {
            kind: ActivityKind::LogGap,
            name: assembly.intern(before),
            detail: assembly.intern(after),
            start_ns,
            end_ns: Some(end_ns),
            event: assembly.intern("log lines"),
            ..Activity::UNKNOWN
        };
        assembly.activities.push(row);
    }
}

#[cfg(test)]
mod tests {
    use onoff_trace::TableSet;

    use super::*;

    fn gaps(lines: &[(i64, &str)]) -> Vec<(i64, String, String)> {
        let mut assembly = Assembly::new(TableSet::all());
        for (time_ms, text) in lines {
            assembly.log_gaps.add_line(time_ms * 1_000_000, "", text);
        }
        finish(&mut assembly);
        let text = |id| assembly.texts.get(id).to_owned();
        assembly
            .activities
            .iter()
            .map(|row| ((row.end_ns.unwrap() - row.start_ns) / 1_000_000, text(row.name), text(row.detail)))
            .collect()
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
        assert_eq!(gaps(&lines), expected);
    }

    #[test]
    fn one_second_is_no_gap_in_a_log_with_whole_seconds() {
        let lines = [(500, "a"), (1_500, "b"), (2_500, "c"), (2_500, "d"), (3_500, "e"), (9_500, "f")];
        assert_eq!(gaps(&lines).len(), 1);
        assert_eq!(gaps(&[(0, "a"), (900, "b")]).len(), 0);
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_lines(lines: Vec<(i64, String)>) {
            let mut assembly = Assembly::new(TableSet::all());
            for (time_ns, text) in &lines {
                assembly.log_gaps.add_line((*time_ns).max(0), text, text);
            }
            finish(&mut assembly);
            proptest::prop_assert!(assembly.activities.len() <= MAX_GAPS);
        }
    }
}
