//! `systemd-analyze blame`: how long the start of each unit took, to the ms, and nothing else.
//!
//! Where the units' own properties are missing, messages of the journal tell when a start began and ended; they are written after
//! that, and in a computer that is starting some later than others. The lengths here are the service manager's own.

use hashbrown::HashMap;
use onoff_trace::{ServiceChange, ServiceTransition, StringId, counters};

use super::assembly::Assembly;
use super::parts::Part;
use super::time_span::time_span_ns;

/// Units that are kept, at most.
const MAX: usize = 100_000;
/// Lines that are looked at to recognize the list.
const LOOKED_AT: usize = 8;
/// Messages of one change are not further from it than this, ns: 1 s.
const NEAR_NS: u64 = 1_000_000_000;

counters! {
    UNPLACED = "blamed_units_unplaced", Notice, [ServiceTransitions],
        "units in the list of systemd-analyze blame whose start nothing else in the recording tells were left out; keep what 'systemctl show' prints";
    UNREADABLE = "blame_lines_unreadable", Notice, [ServiceTransitions],
        "lines of the list of systemd-analyze blame that are no length and unit, or too many, were left out";
}

/// Whether a text is such a list.
pub(super) fn recognizes(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut looked_at = lines.by_ref().take(LOOKED_AT).peekable();
    looked_at.peek().is_some() && looked_at.all(|line| entry(line).is_some())
}

/// Unit and length, ns, of a line such as `1min 2.345s dev-vda2.device`.
fn entry(line: &str) -> Option<(&str, i64)> {
    let (span, unit) = line.trim().rsplit_once(' ')?;
    let is_unit =
        unit.rsplit_once('.').is_some_and(|(name, kind)| !name.is_empty() && kind.chars().all(char::is_alphabetic));
    // A number alone is no length here.
    let has_unit = span.ends_with(char::is_alphabetic);
    (is_unit && has_unit).then(|| Some((unit, time_span_ns(span)?)))?
}

/// Keeps the lengths of a list until all parts are read.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((unit, length_ns)) = entry(line).filter(|_| assembly.blamed.len() < MAX) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {number}", part.name));
            continue;
        };
        let unit = assembly.text(unit);
        assembly.blamed.insert(unit, length_ns);
    }
}

/// Corrects the starts that only messages told. Both their times are late: of the two corrections that give the length, the one
/// that makes a time earlier is right.
pub(super) fn settle(assembly: &mut Assembly, properties: StringId) {
    let mut blamed = std::mem::take(&mut assembly.blamed);
    let mut nearest: HashMap<StringId, (u64, usize)> = HashMap::new();
    for (at, row) in assembly.service_transitions.iter().enumerate() {
        let Some(&length_ns) = blamed.get(&row.service) else { continue };
        if row.kind != ServiceChange::Start {
            continue;
        }
        if row.event == properties {
            blamed.remove(&row.service);
            continue;
        }
        let Some(told_ns) = length(row) else { continue };
        let distance = told_ns.abs_diff(length_ns);
        let best = nearest.entry(row.service).or_insert((distance, at));
        if distance < best.0 {
            *best = (distance, at);
        }
    }
    for (unit, (distance, at)) in nearest {
        let (Some(&length_ns), Some(row)) = (blamed.get(&unit), assembly.service_transitions.get_mut(at)) else {
            continue;
        };
        if distance > NEAR_NS {
            continue;
        }
        blamed.remove(&unit);
        if length(row) > Some(length_ns) {
            row.end_ns = Some(row.start_ns.saturating_add(length_ns));
        } else if let Some(end_ns) = row.end_ns {
            row.start_ns = end_ns.saturating_sub(length_ns);
        }
    }
    assembly.losses.add(&UNPLACED, blamed.len() as u64);
    if let Some(unit) = blamed.keys().min() {
        let name = assembly.texts.get(*unit).to_owned();
        assembly.losses.place(&UNPLACED, || name);
    }
}

fn length(row: &ServiceTransition) -> Option<i64> {
    Some(row.end_ns?.saturating_sub(row.start_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_lengths_and_units() {
        for (line, expected) in [
            ("  15.591s dev-vda2.device", Some(("dev-vda2.device", 15_591_000_000))),
            ("1min 2.5s a@b.service", Some(("a@b.service", 62_500_000_000))),
            ("   43ms systemd-sysctl.service", Some(("systemd-sysctl.service", 43_000_000))),
            ("12 a.service", None),
            ("1s", None),
            ("1s .service", None),
            ("later a.service", None),
        ] {
            assert_eq!(entry(line), expected, "{line}");
        }
        assert!(recognizes("2.1s a.service\n\n 1ms b.mount\n"));
        assert!(!recognizes(""));
        assert!(!recognizes("2.1s a.service\nof all\n"));
    }
}
