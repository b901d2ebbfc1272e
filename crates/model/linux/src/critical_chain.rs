//! Reads `systemd-analyze critical-chain`: when each unit on the critical chain started and which unit it waited for.
//!
//! ```text
//! graphical.target @18.622s
//! └─docker.service @12.500s +6.121s
//!   └─NetworkManager-wait-online.service @6.301s +6.186s
//! ```
//!
//! Times count from the start of user space. `+` is the duration of the start, and `@` is when it began; without `+`,
//! `@` is the time at which the unit became active. A unit starts after the unit below it. Sources: systemd-analyze(1);
//! the meaning of `@` is derived from the tool's output and the units' properties.

use onoff_trace::{DependencyKind, StringId, counters, milestone};

use super::assembly::{Assembly, ChainStart};
use super::parts::Part;
use super::unit_dependencies::UnitDependencies;
use super::unit_rows;
use onoff_linux_log::duration::duration_ns;
use onoff_linux_log::kernel_line::strip_colors;
use onoff_linux_log::unit_names::is_unit;

pub(super) const EVENT: &str = "systemd-analyze critical-chain";

const MAX_UNITS: usize = 100_000;
/// Maximum depth of the tree.
const MAX_DEPTH: usize = 1_000;
/// Number of lines inspected to recognize the tree.
const SNIFF_LINES: usize = 12;

counters! {
    UNREADABLE = "critical_chain_lines_unreadable", Notice, [ServiceTransitions],
        "Lines of systemd-analyze critical-chain were skipped: not a unit with its times, or too many lines.";
    BEGIN_UNKNOWN = "user_space_begin_unknown", Warning, [Milestones],
        "The start of user space was not recorded: times count from there, and firmware, loader, kernel and initramfs times are unknown. Add the output of 'systemd-analyze time'.";
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<'t> {
    depth: usize,
    unit: &'t str,
    /// ns since the start of user space; `None` if the unit has not started.
    begin_ns: Option<i64>,
    /// Duration of the start, ns.
    duration_ns: Option<i64>,
}

/// True if the text is a tree with a timed root and a unit below it.
pub(super) fn recognizes(text: &str) -> bool {
    let plain = strip_colors(text.get(..text.len().min(4096)).unwrap_or_default());
    let mut entries = plain.lines().take(SNIFF_LINES).filter_map(entry);
    // The first unit is the root, and the next one is its child.
    // Of a unit that is passed by name and is not a target, only the duration is printed, or nothing.
    let has_legend = || text.contains("is printed after the \"+\" character");
    let is_timed = |root: &Entry<'_>| root.begin_ns.or(root.duration_ns).is_some() || has_legend();
    let Some(root) = entries.next().filter(|root| root.depth == 0 && is_timed(root)) else { return false };
    entries.next().map_or_else(has_legend, |next| next.depth == root.depth + 1)
}

/// Removes the marks of a quote in a mail or a comment, but no blanks or grave accents: they belong to the tree.
fn without_quote_marks(line: &str) -> &str {
    line.trim_start_matches("> ").trim_start_matches('>')
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let line = without_quote_marks(line).trim_end();
    // Branches use box-drawing characters, or `|`, `-` and a grave accent; a level is two characters wide.
    let mut prefix_len = 0;
    let unit_offset = line.char_indices().find_map(|(offset, character)| {
        let is_branch =
            matches!(character, ' ' | '│' | '├' | '└' | '─' | '|' | '`') || character == '-' && prefix_len % 2 == 1;
        prefix_len += usize::from(is_branch);
        (!is_branch).then_some(offset)
    })?;
    let label = line.get(unit_offset..)?;
    let (unit, times) = label.split_once(" @").map_or((label, None), |(unit, times)| (unit, Some(times)));
    let (unit, duration) = unit.split_once(" +").map_or((unit, None), |(unit, duration)| (unit, Some(duration)));
    if !is_unit(unit) {
        return None;
    }
    let mut entry = Entry { depth: prefix_len / 2, unit, begin_ns: None, duration_ns: None };
    if let Some(duration) = duration {
        entry.duration_ns = Some(duration_ns(duration)?);
    }
    if let Some(times) = times {
        let (begin, duration) =
            times.split_once(" +").map_or((times, None), |(begin, duration)| (begin, Some(duration)));
        entry.begin_ns = Some(duration_ns(begin)?);
        if let Some(duration) = duration {
            entry.duration_ns = Some(duration_ns(duration)?);
        }
    }
    Some(entry)
}

/// True for a line of the output: a unit, or a line of the explanation above the tree.
pub(super) fn is_output(line: &str) -> bool {
    without_quote_marks(line).starts_with("The time ")
        || entry(line).is_some_and(|entry| entry.depth > 0 || entry.begin_ns.or(entry.duration_ns).is_some())
}

/// Adds the ordering dependencies and collects the starts; [`add_missing_starts`] uses them once all parts are read.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let text = strip_colors(&text);
    let mut dependencies = UnitDependencies::default();
    let mut ancestors: Vec<&str> = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        let line = without_quote_marks(line);
        if line.trim().is_empty() || line.starts_with("The time ") {
            continue;
        }
        let has_room = assembly.chain.len() < MAX_UNITS;
        let entry = entry(line).filter(|entry| has_room && entry.depth <= ancestors.len() && entry.depth < MAX_DEPTH);
        let Some(entry) = entry else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {number}", part.name));
            continue;
        };
        ancestors.truncate(entry.depth);
        if let Some(waiting) = ancestors.last() {
            dependencies.add(waiting, DependencyKind::After, entry.unit.to_owned());
        }
        ancestors.push(entry.unit);
        if let Some(begin_ns) = entry.begin_ns {
            let unit = assembly.intern(entry.unit);
            let end_ns = begin_ns.saturating_add(entry.duration_ns.unwrap_or(0));
            assembly.chain.push(ChainStart { unit, begin_ns, end_ns });
        }
    }
    dependencies.finish(assembly);
}

/// Adds the starts that no other part has.
pub(super) fn add_missing_starts(assembly: &mut Assembly) {
    let chain = std::mem::take(&mut assembly.chain);
    if chain.is_empty() {
        return;
    }
    let recorded_units: hashbrown::HashSet<StringId> =
        assembly.service_transitions.iter().map(|row| row.service).collect();
    let user_space_ns = assembly.last_time_of(milestone::USER_SPACE_BEGIN).unwrap_or_else(|| {
        assembly.losses.add(&BEGIN_UNKNOWN, 1);
        assembly.add_milestone(0, milestone::USER_SPACE_BEGIN, "", None, EVENT);
        0
    });
    for start in chain.into_iter().filter(|start| !recorded_units.contains(&start.unit)) {
        let unit = assembly.texts.get(start.unit).to_owned();
        let [begin_ns, end_ns] = [start.begin_ns, start.end_ns].map(|ns| user_space_ns.saturating_add(ns));
        unit_rows::add_start(&unit, begin_ns, end_ns, EVENT, assembly);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::PartKind;
    use onoff_trace::{TableSet, Trace};

    const TREE: &str = "The time when unit became active or started is printed after the \"@\" character.\n\
        The time the unit takes to start is printed after the \"+\" character.\n\n\
        graphical.target @18.622s\n\
        └─multi-user.target @18.622s\n\
        \u{20} ├─\u{1b}[0;1;31mdocker.service @12.500s +6.122s\u{1b}[0m\n\
        \u{20} │ └─basic.target @5.690s\n\
        \u{20} └─cron.service @6s\n\
        \u{20}   └─late.service\n";

    fn trace(parts: &[(PartKind, &str)]) -> Trace {
        let mut assembly = Assembly::new(TableSet::all());
        for &(kind, text) in parts {
            let part = Part { kind, name: "chain.txt", bytes: text.as_bytes() };
            match kind {
                PartKind::CriticalChain => read(&part, &mut assembly),
                _ => super::super::startup_times::read(&part, &mut assembly),
            }
        }
        crate::unit_reconciliation::reconciled_trace(assembly)
    }

    fn rows(trace: &Trace) -> Vec<(&str, i64, i64)> {
        let ms = |ns: i64| ns / 1_000_000;
        let rows = trace.service_transitions.iter();
        rows.map(|row| (trace.text(row.service), ms(row.start_ns), ms(row.end_ns.unwrap()))).collect()
    }

    #[test]
    fn reads_starts_and_ordering() {
        let trace = trace(&[
            (PartKind::StartupTimes, "Startup finished in 2s (kernel) + 19s (userspace) = 21s\n"),
            (PartKind::CriticalChain, TREE),
        ]);
        let expected = [
            ("basic.target", 7690, 7690),
            ("cron.service", 8000, 8000),
            ("docker.service", 14_500, 20_622),
            ("graphical.target", 20_622, 20_622),
            ("multi-user.target", 20_622, 20_622),
        ];
        let mut starts = rows(&trace);
        starts.sort_unstable();
        assert_eq!(starts, expected);
        let mut ordering: Vec<(&str, &str)> =
            trace.service_dependencies.iter().map(|row| (trace.text(row.service), trace.text(row.on))).collect();
        ordering.sort_unstable();
        assert_eq!(
            ordering,
            [
                ("cron.service", "late.service"),
                ("docker.service", "basic.target"),
                ("graphical.target", "multi-user.target"),
                ("multi-user.target", "cron.service"),
                ("multi-user.target", "docker.service"),
            ]
        );
        assert!(trace.losses.is_empty(), "{:?}", trace.losses);
    }

    #[test]
    fn reports_missing_user_space_start() {
        let trace = trace(&[(PartKind::CriticalChain, TREE)]);
        assert_eq!(rows(&trace).last(), Some(&("multi-user.target", 18_622, 18_622)));
        let lost: Vec<&str> = trace.losses.iter().map(|loss| loss.counter).collect();
        assert_eq!(lost, ["user_space_begin_unknown"]);
    }

    #[test]
    fn recognizes_only_trees() {
        assert!(recognizes(TREE));
        assert!(recognizes("graphical.target @5s\n`-multi-user.target @5s\n  `-a.service @1s +4s\n"));
        for text in [
            "",
            "graphical.target\n",
            "graphical.target @5s\n",
            "2.1s a.service\n",
            "graphical.target @soon\n└─a.service @1s\n",
            "└─a.service @1s\n",
            "see a.service @home\n",
            "a.service +soon\n└─b.target @1s\n",
        ] {
            assert!(!recognizes(text), "{text}");
        }
        assert!(recognizes("a.service +150ms\n└─network.target @12.1s\n"));
        let ascii = entry("  |-a-b.service @1min 2s +3ms").unwrap();
        assert_eq!((ascii.depth, ascii.unit), (2, "a-b.service"));
        assert_eq!((ascii.begin_ns, ascii.duration_ns), (Some(62_000_000_000), Some(3_000_000)));
        assert_eq!(entry("-.slice @1s").map(|entry| (entry.depth, entry.unit)), Some((0, "-.slice")));
        let trace = trace(&[(PartKind::CriticalChain, "a.target @2s\n    └─too-deep.service @1s\nnot a unit\n")]);
        assert_eq!(rows(&trace), [("a.target", 2000, 2000)]);
        assert_eq!(trace.losses.iter().map(|loss| loss.count).max(), Some(2));
    }

    proptest::proptest! {
        #[test]
        fn accepts_any_text(text: String, branch in "[ │├└─|`-]{0,8}", times in "[@+ 0-9a-z.]{0,20}") {
            let text = format!("a.target @1s\n{branch}b.service {times}\n{text}");
            recognizes(&text);
            trace(&[(PartKind::CriticalChain, &text)]);
        }
    }
}
