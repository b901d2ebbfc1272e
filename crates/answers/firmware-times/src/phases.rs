//! The firmware's phases, measured or with one end inferred from another measurement.

use onoff_trace::firmware::{FirmwareCheckpoints, FirmwareEvent, FirmwareWork};

use super::pairing::{Paired, WorkInterval};
use super::report::FirmwarePhase;
use super::sweep::Share;
use onoff_evidence::Certainty;
use onoff_evidence::rule::Rule;

/// The phases in order, each with the phase that contains it.
const PHASES: [(&str, &str); 14] = [
    ("SEC", ""),
    ("PEI", ""),
    ("PreMem", "PEI"),
    ("PostMem", "PEI"),
    ("DXE", ""),
    ("BDS", ""),
    // Stages of coreboot and Slim Bootloader.
    ("bootblock", ""),
    ("romstage", ""),
    ("postcar", ""),
    ("ramstage", ""),
    ("Stage1A", ""),
    ("Stage1B", ""),
    ("Stage2", ""),
    ("payload", ""),
];

/// The phase that a measurement is about.
pub(super) fn phase_of(event: &FirmwareEvent) -> Option<&'static str> {
    let (name, inside) = PHASES.into_iter().find(|(name, _)| *name == event.text)?;
    let measured_as = if inside.is_empty() { FirmwareWork::CrossModule } else { FirmwareWork::InModule };
    (event.work == measured_as).then_some(name)
}

/// Marks the intervals that are phases, and adds phases with one measured end.
pub(super) fn mark(paired: &mut Paired<'_>, times: Option<&FirmwareCheckpoints>) {
    for interval in &mut paired.intervals {
        interval.phase = phase_of(interval.event);
    }
    let has = |paired: &Paired<'_>, name| paired.intervals.iter().any(|interval| interval.phase == Some(name));
    let reset_end_ns = times.and_then(|times| times.reset_end_ns);
    // EDK II only marks the end of SEC, because no code that can measure runs at its start.
    let sec_end = paired.points.iter().copied().find(|event| event.work == FirmwareWork::Point && event.text == "SEC");
    let mut inferred = Vec::new();
    let mut add = |name, event, start_ns: Option<i64>, end_ns: Option<i64>| {
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns)
            && start_ns < end_ns
        {
            inferred.push(WorkInterval { event, start_ns, end_ns, phase: Some(name), inferred: true });
        }
    };
    if !has(paired, "SEC")
        && let Some(event) = sec_end
    {
        add("SEC", event, reset_end_ns, Some(event.time_ns));
    }
    // Phases are consecutive: a missing end is taken from the adjacent phase.
    let first_start = |name: &str| {
        let measured =
            paired.intervals.iter().filter(|interval| interval.phase == Some(name)).map(|interval| interval.start_ns);
        let unmatched =
            paired.unmatched_begins.iter().filter(|event| phase_of(event) == Some(name)).map(|event| event.time_ns);
        measured.chain(unmatched).min()
    };
    if !has(paired, "PEI")
        && let Some(event) = paired.unmatched_ends.iter().copied().find(|event| phase_of(event) == Some("PEI"))
    {
        let start_ns = sec_end.map(|event| event.time_ns).or(reset_end_ns);
        add("PEI", event, start_ns, Some(event.time_ns));
    }
    for (name, next) in [("PEI", "DXE"), ("DXE", "BDS"), ("BDS", "")] {
        if has(paired, name) {
            continue;
        }
        let begin = paired.unmatched_begins.iter().copied().find(|event| phase_of(event) == Some(name));
        if let Some(event) = begin {
            let end_ns = match next {
                "" => times.and_then(|times| times.loader_start_ns),
                next => first_start(next),
            };
            add(name, event, Some(event.time_ns), end_ns);
        }
    }
    paired.intervals.extend(inferred);
}

/// The phases, from the intervals that are phases.
pub(super) fn phases(intervals: &[WorkInterval<'_>], shares: &[Share]) -> Vec<FirmwarePhase> {
    let described = PHASES.into_iter().filter_map(|(name, inside)| {
        let all: Vec<usize> = (0..intervals.len()).filter(|&at| intervals[at].phase == Some(name)).collect();
        // Nested occurrences of the same phase count once.
        let outer = all.iter().filter(|&&at| !inside_another(at, name, intervals, shares));
        let inferred = all.iter().any(|&at| intervals[at].inferred);
        let start_ns = all.iter().map(|&at| intervals[at].start_ns).min()?;
        let end_ns = all.iter().map(|&at| intervals[at].end_ns).max()?;
        Some(FirmwarePhase {
            name: name.to_owned(),
            parent: inside.to_owned(),
            start_ns,
            end_ns,
            duration_ns: outer.map(|&at| intervals[at].end_ns - intervals[at].start_ns).fold(0, i64::saturating_add),
            self_ns: all.iter().map(|&at| shares[at].self_ns).sum(),
            rule: rule(name, inferred, all.first().map(|&at| &intervals[at])),
            certainty: if inferred { Certainty::Inferred } else { Certainty::Measured },
        })
    });
    described.collect()
}

fn inside_another(at: usize, name: &str, intervals: &[WorkInterval<'_>], shares: &[Share]) -> bool {
    let mut above = shares[at].parent;
    while let Some(parent) = above {
        if intervals[parent].phase == Some(name) {
            return true;
        }
        above = shares[parent].parent;
    }
    false
}

fn rule(name: &str, inferred: bool, interval: Option<&WorkInterval<'_>>) -> Rule {
    if !inferred {
        return Rule::FirmwareMeasurement { name: name.to_owned() };
    }
    let start_measured = interval.is_some_and(|interval| interval.event.time_ns == interval.start_ns);
    match (name, start_measured) {
        ("SEC", _) => Rule::FromResetToSec,
        (_, true) => Rule::FirmwarePhaseStart { name: name.to_owned() },
        (_, false) => Rule::FirmwarePhaseEnd { name: name.to_owned() },
    }
}
