//! Reads `systemd-analyze blame`: how long each unit took to start, to the ms.
//!
//! Without unit properties, starts and ends come from journal messages, which are logged after the fact and late on a
//! busy computer. The durations in this list are measured by the service manager itself.

use hashbrown::HashMap;
use onoff_trace::{ServiceChange, ServiceTransition, StringId, counters, milestone};

use super::assembly::Assembly;
use super::parts::Part;
use onoff_linux_log::duration::duration_ns;

const MAX_UNITS: usize = 100_000;
/// Maximum number of units without start times. A computer has a few hundred.
const MAX_UNTIMED: usize = 10_000;
/// Number of lines inspected to recognize the list.
const SNIFF_LINES: usize = 8;
/// Maximum difference between the listed duration and the duration measured between messages: 1 s.
const MAX_DISTANCE_NS: u64 = 1_000_000_000;

counters! {
    UNPLACED = "blamed_units_unplaced", Notice, [ServiceTransitions],
        "Units listed by systemd-analyze blame were skipped because nothing in the recording shows when they started. Add the output of 'systemctl show'.";
    UNREADABLE = "blame_lines_unreadable", Notice, [ServiceTransitions],
        "Lines of systemd-analyze blame were skipped: not a duration and a unit, or too many lines.";
}

/// True if the first lines are a duration and a unit.
pub(super) fn recognizes(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut sniffed = lines.by_ref().take(SNIFF_LINES).peekable();
    sniffed.peek().is_some() && sniffed.all(|line| entry(line).is_some())
}

/// Returns the unit and the duration in ns of a line such as `1min 2.345s dev-vda2.device`.
pub(super) fn entry(line: &str) -> Option<(&str, i64)> {
    let (duration, unit) = unquoted(line).trim().rsplit_once(' ')?;
    let is_unit =
        unit.rsplit_once('.').is_some_and(|(name, kind)| !name.is_empty() && kind.chars().all(char::is_alphabetic));
    // A bare number is not a duration here.
    let has_unit = duration.ends_with(char::is_alphabetic);
    (is_unit && has_unit).then(|| Some((unit, duration_ns(duration)?)))?
}

/// Removes the marks of quotes in mails and forums from the start of a line.
pub(super) fn unquoted(line: &str) -> &str {
    line.trim_start_matches(['>', '`', ' ', '\t'])
}

/// Collects the durations; [`apply`] uses them once all parts are read.
pub(super) fn read(part: &Part<'_>, assembly: &mut Assembly) {
    let text = String::from_utf8_lossy(part.bytes);
    for (number, line) in (1_u64..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let Some((unit, duration_ns)) = entry(line).filter(|_| assembly.blamed.len() < MAX_UNITS) else {
            assembly.losses.add_at(&UNREADABLE, || format!("{}, line {number}", part.name));
            continue;
        };
        let unit = assembly.intern(unit);
        assembly.blamed.insert(unit, duration_ns);
    }
}

/// Corrects starts that are only known from messages. Both times of such a start are late, so the duration is corrected
/// by moving one of them earlier: the end if the start took too long, otherwise the start.
pub(super) fn apply(assembly: &mut Assembly, properties: StringId) {
    let mut blamed = std::mem::take(&mut assembly.blamed);
    let mut nearest: HashMap<StringId, (u64, usize)> = HashMap::new();
    for (index, row) in assembly.service_transitions.iter().enumerate() {
        let Some(&duration_ns) = blamed.get(&row.service) else { continue };
        if row.kind != ServiceChange::Start {
            continue;
        }
        if row.event == properties {
            blamed.remove(&row.service);
            continue;
        }
        let Some(recorded_ns) = duration(row) else { continue };
        let distance = recorded_ns.abs_diff(duration_ns);
        let (best_distance, best_index) = nearest.entry(row.service).or_insert((distance, index));
        if distance < *best_distance {
            (*best_distance, *best_index) = (distance, index);
        }
    }
    for (unit, (distance, index)) in nearest {
        let (Some(&duration_ns), Some(row)) = (blamed.get(&unit), assembly.service_transitions.get_mut(index)) else {
            continue;
        };
        if distance > MAX_DISTANCE_NS {
            continue;
        }
        blamed.remove(&unit);
        if duration(row) > Some(duration_ns) {
            row.end_ns = Some(row.start_ns.saturating_add(duration_ns));
        } else if let Some(end_ns) = row.end_ns {
            row.start_ns = end_ns.saturating_sub(duration_ns);
        }
    }
    if add_untimed(&blamed, assembly) {
        return;
    }
    assembly.losses.add(&UNPLACED, blamed.len() as u64);
    if let Some(unit) = blamed.keys().min() {
        let name = assembly.texts.get(*unit).to_owned();
        assembly.losses.set_first_place(&UNPLACED, || name);
    }
}

/// Adds the durations without start times if nothing else shows units, but the start of user space is known. Returns
/// whether it did.
fn add_untimed(blamed: &HashMap<StringId, i64>, assembly: &mut Assembly) -> bool {
    let Some(begin_ns) = assembly.last_time_of(milestone::USER_SPACE_BEGIN) else { return false };
    if !assembly.service_transitions.is_empty() || blamed.len() > MAX_UNTIMED {
        return false;
    }
    let mut units: Vec<(i64, String)> =
        blamed.iter().map(|(unit, &duration_ns)| (duration_ns, assembly.texts.get(*unit).to_owned())).collect();
    units.sort_unstable_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    for (duration_ns, unit) in units {
        let event = "systemd-analyze blame";
        assembly.add_milestone(begin_ns, milestone::UNIT_DURATION, &unit, Some(duration_ns), event);
    }
    true
}

fn duration(row: &ServiceTransition) -> Option<i64> {
    Some(row.end_ns?.saturating_sub(row.start_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_duration_and_unit() {
        for (line, expected) in [
            ("  15.591s dev-vda2.device", Some(("dev-vda2.device", 15_591_000_000))),
            ("1min 2.5s a@b.service", Some(("a@b.service", 62_500_000_000))),
            ("   43ms systemd-sysctl.service", Some(("systemd-sysctl.service", 43_000_000))),
            (">          32.875s pmlogger.service", Some(("pmlogger.service", 32_875_000_000))),
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
