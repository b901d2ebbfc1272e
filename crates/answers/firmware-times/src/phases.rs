//! The firmware's phases, measured or with one end inferred from another measurement.

use onoff_trace::firmware::{FirmwareCheckpoints, FirmwareEvent, FirmwareWork};

use super::pairing::{PairedEvents, WorkInterval};
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

/// Returns the phase that a measurement describes.
pub(super) fn phase_of(event: &FirmwareEvent) -> Option<&'static str> {
    let (name, parent) = PHASES.into_iter().find(|(name, _)| *name == event.text)?;
    let measured_as = if parent.is_empty() { FirmwareWork::CrossModule } else { FirmwareWork::InModule };
    (event.work == measured_as).then_some(name)
}

/// Marks the intervals that are phases, and adds phases with one measured end.
pub(super) fn mark_phases(paired: &mut PairedEvents<'_>, times: Option<&FirmwareCheckpoints>) {
    for interval in &mut paired.intervals {
        interval.phase = phase_of(interval.event);
    }
    let has_phase =
        |paired: &PairedEvents<'_>, name| paired.intervals.iter().any(|interval| interval.phase == Some(name));
    let reset_end_ns = times.and_then(|times| times.reset_end_ns);
    // EDK II only marks the end of SEC, because no code that can measure runs at its start.
    let sec_end = paired.points.iter().copied().find(|event| event.work == FirmwareWork::Point && event.text == "SEC");
    let mut inferred = Vec::new();
    let mut add_inferred = |name, event, start_ns: Option<i64>, end_ns: Option<i64>| {
        if let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns)
            && start_ns < end_ns
        {
            inferred.push(WorkInterval { event, start_ns, end_ns, phase: Some(name), inferred: true });
        }
    };
    if !has_phase(paired, "SEC")
        && let Some(event) = sec_end
    {
        add_inferred("SEC", event, reset_end_ns, Some(event.time_ns));
    }
    // Phases are consecutive: a missing end is taken from the adjacent phase.
    let first_start = |name: &str| {
        let measured =
            paired.intervals.iter().filter(|interval| interval.phase == Some(name)).map(|interval| interval.start_ns);
        let unmatched =
            paired.unmatched_begins.iter().filter(|event| phase_of(event) == Some(name)).map(|event| event.time_ns);
        measured.chain(unmatched).min()
    };
    if !has_phase(paired, "PEI")
        && let Some(event) = paired.unmatched_ends.iter().copied().find(|event| phase_of(event) == Some("PEI"))
    {
        let start_ns = sec_end.map(|event| event.time_ns).or(reset_end_ns);
        add_inferred("PEI", event, start_ns, Some(event.time_ns));
    }
    for (name, next_phase) in [("PEI", "DXE"), ("DXE", "BDS"), ("BDS", "")] {
        if has_phase(paired, name) {
            continue;
        }
        let begin = paired.unmatched_begins.iter().copied().find(|event| phase_of(event) == Some(name));
        if let Some(event) = begin {
            let end_ns = match next_phase {
                "" => times.and_then(|times| times.loader_start_ns),
                next_phase => first_start(next_phase),
            };
            add_inferred(name, event, Some(event.time_ns), end_ns);
        }
    }
    paired.intervals.extend(inferred);
}

/// Returns the phases, computed from the intervals that are phases.
pub(super) fn phases(intervals: &[WorkInterval<'_>], shares: &[Share]) -> Vec<FirmwarePhase> {
    let described = PHASES.into_iter().filter_map(|(name, parent)| {
        let indexes: Vec<usize> = (0..intervals.len()).filter(|&index| intervals[index].phase == Some(name)).collect();
        // Nested occurrences of the same phase count once.
        let outer = indexes.iter().filter(|&&index| !is_nested_in_same_phase(index, name, intervals, shares));
        let inferred = indexes.iter().any(|&index| intervals[index].inferred);
        let start_ns = indexes.iter().map(|&index| intervals[index].start_ns).min()?;
        let end_ns = indexes.iter().map(|&index| intervals[index].end_ns).max()?;
        Some(FirmwarePhase {
            name: name.to_owned(),
            parent: parent.to_owned(),
            start_ns,
            end_ns,
            duration_ns: outer
                .map(|&index| intervals[index].end_ns - intervals[index].start_ns)
                .fold(0, i64::saturating_add),
            self_ns: indexes.iter().map(|&index| shares[index].self_ns).sum(),
            rule: phase_rule(name, inferred, indexes.first().map(|&index| &intervals[index])),
            certainty: if inferred { Certainty::Inferred } else { Certainty::Measured },
        })
    });
    described.collect()
}

fn is_nested_in_same_phase(index: usize, name: &str, intervals: &[WorkInterval<'_>], shares: &[Share]) -> bool {
    let mut ancestor = shares[index].parent;
    while let Some(parent) = ancestor {
        if intervals[parent].phase == Some(name) {
            return true;
        }
        ancestor = shares[parent].parent;
    }
    false
}

fn phase_rule(name: &str, inferred: bool, interval: Option<&WorkInterval<'_>>) -> Rule {
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
