//! `systemd-analyze critical-chain`: of the units that the start waited for, when each was started and who waited for whom.
//!
//! ```text
//! graphical.target @18.622s
//! └─docker.service @12.500s +6.121s
//!   └─NetworkManager-wait-online.service @6.301s +6.186s
//! ```
//!
//! Times count from the start of user space. `+` is how long the start took, and `@` is then its begin; without `+` it is when the unit
//! was active. A unit comes after the one below it. Source: systemd-analyze(1); what `@` is in each case, from the program's output
//! and the units' properties.

use onoff_trace::{DependencyKind, StringId, counters, milestone};

use super::assembly::{Assembly, ChainStart};
use super::kernel_line::uncolored;
use super::parts::Part;
use super::time_span::time_span_ns;
use super::unit_dependencies::UnitDependencies;
use super::unit_names::is_unit;
use super::unit_rows;

/// What rows name as their record.
pub(super) const EVENT: &str = "systemd-analyze critical-chain";

/// Units that are kept, at most.
const MAX: usize = 100_000;
/// Levels of the tree that are followed, at most.
const MAX_DEPTH: usize = 1_000;
/// Lines that are looked at to recognize the tree.
const LOOKED_AT: usize = 12;

counters! {
    UNREADABLE = "critical_chain_lines_unreadable", Notice, [ServiceTransitions],
        "lines of systemd-analyze critical-chain that are no unit with its times, or too many, were left out";
    BEGIN_UNKNOWN = "user_space_begin_unknown", Warning, [Milestones],
        "nothing says when user space began: times count from there, and firmware, loader, kernel and initial file system are not known. Add what 'systemd-analyze time' prints";
}

/// A line's unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry<'t> {
    depth: usize,
    unit: &'t str,
    /// Since the start of user space, ns; `None` for a unit that is not started yet.
    at_ns: Option<i64>,
    /// How long the start took, ns.
    took_ns: Option<i64>,
}

/// Whether a text is such a tree.
pub(super) fn recognizes(text: &str) -> bool {
    let plain = uncolored(text.get(..text.len().min(4096)).unwrap_or_default());
    let mut entries = plain.lines().take(LOOKED_AT).filter_map(entry);
    // The first unit is not below any, and what follows is below it.
    let Some(root) = entries.next().filter(|root| root.depth == 0 && root.at_ns.is_some()) else { return false };
    let explained = || text.contains("is printed after the \"+\" character");
    entries.next().map_or_else(explained, |next| next.depth == root.depth + 1)
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let line = line.trim_end();
    // Branches are drawn, or written with `|`, `-` and a grave accent; a level is two characters wide.
    let mut drawn = 0;
    let at = line.char_indices().find_map(|(at, character)| {
        let branch = matches!(character, ' ' | '│' | '├' | '└' | '─' | '|' | '`') || character == '-' && drawn % 2 == 1;
        drawn += usize::from(branch);
        (!branch).then_some(at)
    })?;
    let rest = line.get(at..)?;
    let (unit, times) = rest.split_once(" @").map_or((rest, None), |(unit, times)| (unit, Some(times)));
    if !is_unit(unit) {
        return None;
    }
    let mut entry = Entry { depth: drawn / 2, unit, at_ns: None, took_ns: None };
    if let Some(times) = times {
        let (at, took) = times.split_once(" +").map_or((times, None), |(at, took)| (at, Some(took)));
        entry.at_ns = Some(time_span_ns(at)?);
        if let Some(took) = took {
            entry.took_ns = Some(time_span_ns(took)?);
        }
    }
    Some(entry)
}

/// Keeps the starts of a tree until all parts are read, and adds who comes after whom.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    let text = uncolored(&text);
    let mut dependencies = UnitDependencies::default();
    let mut above: Vec<&str> = Vec::new();
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with("The time ") {
            continue;
        }
        let room = assembly.chain.len() < MAX;
        let entry = entry(line).filter(|entry| room && entry.depth <= above.len() && entry.depth < MAX_DEPTH);
        let Some(entry) = entry else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {number}", part.name));
            continue;
        };
        above.truncate(entry.depth);
        if let Some(waiting) = above.last() {
            dependencies.add(waiting, DependencyKind::After, entry.unit.to_owned());
        }
        above.push(entry.unit);
        if let Some(begin_ns) = entry.at_ns {
            let unit = assembly.text(entry.unit);
            let end_ns = begin_ns.saturating_add(entry.took_ns.unwrap_or(0));
            assembly.chain.push(ChainStart { unit, begin_ns, end_ns });
        }
    }
    dependencies.finish(assembly);
}

/// Adds the starts that no other part tells.
pub(super) fn settle(assembly: &mut Assembly) {
    let chain = std::mem::take(&mut assembly.chain);
    if chain.is_empty() {
        return;
    }
    let known: hashbrown::HashSet<StringId> = assembly.service_transitions.iter().map(|row| row.service).collect();
    let zero_ns = assembly.last_time_of(milestone::USER_SPACE_BEGIN).unwrap_or_else(|| {
        assembly.losses.add(&BEGIN_UNKNOWN, 1);
        assembly.milestone(0, milestone::USER_SPACE_BEGIN, "", None, EVENT);
        0
    });
    for start in chain.into_iter().filter(|start| !known.contains(&start.unit)) {
        let unit = assembly.texts.get(start.unit).to_owned();
        let [begin_ns, end_ns] = [start.begin_ns, start.end_ns].map(|ns| zero_ns.saturating_add(ns));
        unit_rows::add_start(&unit, begin_ns, end_ns, EVENT, assembly);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::PartKind;
    use onoff_trace::{Tables, Trace};

    const TREE: &str = "The time when unit became active or started is printed after the \"@\" character.\n\
        The time the unit takes to start is printed after the \"+\" character.\n\n\
        graphical.target @18.622s\n\
        └─multi-user.target @18.622s\n\
        \u{20} ├─\u{1b}[0;1;31mdocker.service @12.500s +6.122s\u{1b}[0m\n\
        \u{20} │ └─basic.target @5.690s\n\
        \u{20} └─cron.service @6s\n\
        \u{20}   └─late.service\n";

    fn trace(parts: &[(PartKind, &str)]) -> Trace {
        let mut assembly = Assembly::new(Tables::all());
        for &(kind, text) in parts {
            let part = Part { kind, name: "chain.txt", bytes: text.as_bytes() };
            match kind {
                PartKind::CriticalChain => read(&part, &mut assembly),
                _ => super::super::startup_lengths::read(&part, &mut assembly),
            }
        }
        crate::unit_account::settled(assembly)
    }

    fn rows(trace: &Trace) -> Vec<(&str, i64, i64)> {
        let ms = |ns: i64| ns / 1_000_000;
        let rows = trace.service_transitions.iter();
        rows.map(|row| (trace.text(row.service), ms(row.start_ns), ms(row.end_ns.unwrap()))).collect()
    }

    #[test]
    fn units_start_when_the_tree_says_and_after_whom_is_below() {
        let trace = trace(&[
            (PartKind::StartupLengths, "Startup finished in 2s (kernel) + 19s (userspace) = 21s\n"),
            (PartKind::CriticalChain, TREE),
        ]);
        let expected = [
            ("basic.target", 7690, 7690),
            ("cron.service", 8000, 8000),
            ("docker.service", 14_500, 20_622),
            ("graphical.target", 20_622, 20_622),
            ("multi-user.target", 20_622, 20_622),
        ];
        let mut found = rows(&trace);
        found.sort_unstable();
        assert_eq!(found, expected);
        let mut after: Vec<(&str, &str)> =
            trace.service_dependencies.iter().map(|row| (trace.text(row.service), trace.text(row.on))).collect();
        after.sort_unstable();
        assert_eq!(
            after,
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
    fn alone_it_counts_from_user_space_and_says_so() {
        let trace = trace(&[(PartKind::CriticalChain, TREE)]);
        assert_eq!(rows(&trace).last(), Some(&("multi-user.target", 18_622, 18_622)));
        let lost: Vec<&str> = trace.losses.iter().map(|loss| loss.counter).collect();
        assert_eq!(lost, ["user_space_begin_unknown"]);
    }

    #[test]
    fn only_a_tree_is_one() {
        assert!(recognizes(TREE));
        assert!(recognizes("graphical.target @5s\n`-multi-user.target @5s\n  `-a.service @1s +4s\n"));
        for other in [
            "",
            "graphical.target\n",
            "graphical.target @5s\n",
            "2.1s a.service\n",
            "graphical.target @soon\n└─a.service @1s\n",
            "└─a.service @1s\n",
            "see a.service @home\n",
        ] {
            assert!(!recognizes(other), "{other}");
        }
        let ascii = entry("  |-a-b.service @1min 2s +3ms").unwrap();
        assert_eq!((ascii.depth, ascii.unit), (2, "a-b.service"));
        assert_eq!((ascii.at_ns, ascii.took_ns), (Some(62_000_000_000), Some(3_000_000)));
        assert_eq!(entry("-.slice @1s").map(|entry| (entry.depth, entry.unit)), Some((0, "-.slice")));
        let trace = trace(&[(PartKind::CriticalChain, "a.target @2s\n    └─too-deep.service @1s\nnot a unit\n")]);
        assert_eq!(rows(&trace), [("a.target", 2000, 2000)]);
        assert_eq!(trace.losses.iter().map(|loss| loss.count).max(), Some(2));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, branch in "[ │├└─|`-]{0,8}", times in "[@+ 0-9a-z.]{0,20}") {
            let text = format!("a.target @1s\n{branch}b.service {times}\n{text}");
            recognizes(&text);
            trace(&[(PartKind::CriticalChain, &text)]);
        }
    }
}
