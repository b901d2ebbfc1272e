//! Firmware that limits the speed of processors.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use onoff_trace::milestone;

use crate::finding::FindingSeverity;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot in which the firmware limited the speed of a processor for 5 % of the time or more (at least 300 ms, at
    /// most 1 s).
    ///
    /// # Why it costs time
    /// All work on this processor takes longer. How much is not known: the record does not contain the speed.
    ///
    /// # Evidence needed
    /// Event 37 of Microsoft-Windows-Kernel-Processor-Power, in the System log or in the recording. It is recorded
    /// afterwards, with the time for which the limit had been in effect.
    ///
    /// # What to do
    /// Update the firmware and look for its limits of power and temperature. Check the power supply: a weak one, or an
    /// empty battery, makes the firmware limit the processors. Then check the fans and the heat sink.
    ///
    /// # When it is wrong
    /// The time in the record is in whole seconds. If the end of the boot is not known, its first 30 s count. The limit
    /// may be high enough not to matter.
    ///
    /// # Source
    /// The text of event 37: "The speed of processor … is being limited by system firmware".
    "boot/processor-limited", "firmware that limits the speed of processors", Boot(check)
}

/// What counts as the boot if its end is not known. Chosen: few boots are shorter.
const FIRST_PART_NS: i64 = 30_000_000_000;
/// Maximum number of processors in the evidence.
const MAX_LISTED: usize = 4;

fn check(facts: &BootFacts<'_>) -> Outcome {
    let start_ns = facts.report.details.main_path_boot.start_ns.unwrap_or(0);
    // In event logs, PostBoot starts only with a known desktop.
    let known_end_ns = facts.post_boot().map_or(facts.main_path().1, |(_, (_, end_ns))| end_ns);
    let (end_ns, part) = if known_end_ns > start_ns {
        (known_end_ns, "the boot".to_owned())
    } else {
        (start_ns.saturating_add(FIRST_PART_NS), format!("the first {}, whatever the boot took", time(FIRST_PART_NS)))
    };
    let mut intervals: BTreeMap<&str, Vec<Interval>> = BTreeMap::new();
    for row in facts.trace.milestones.iter() {
        let Some(limited_ns) = row.value.filter(|_| facts.trace.text(row.name) == milestone::PROCESSOR_LIMITED) else {
            continue;
        };
        let limited = (row.time_ns.saturating_sub(limited_ns), row.time_ns);
        intervals.entry(facts.trace.text(row.detail)).or_default().push(limited);
    }
    let min_ns = facts.report.min_cause_ns();
    let of_processor = |(processor, intervals)| (covered_ns(intervals, (start_ns, end_ns)), processor);
    let mut limits: Vec<(i64, &str)> = intervals.into_iter().map(of_processor).collect();
    limits.retain(|&(limited_ns, _)| limited_ns >= min_ns);
    limits.sort_by_key(|&(limited_ns, _)| Reverse(limited_ns));
    let Some(&(longest_ns, _)) = limits.first() else { return Ok(Vec::new()) };
    let is_large = longest_ns >= end_ns.saturating_sub(start_ns) / 2;
    let title = format!(
        "the firmware limited the speed of {} for up to {} of {part}",
        counted(limits.len(), "processor"),
        time(longest_ns)
    );
    let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Work, "firmware"), title)
        .severity(if is_large { FindingSeverity::Moderate } else { FindingSeverity::Note })
        .advice(
            "update the firmware and look for its limits of power and temperature; check the power supply, the battery \
             and the fans",
        );
    for (limited_ns, processor) in limits.into_iter().take(MAX_LISTED) {
        finding =
            finding.evidence(None, format!("processor {processor} was limited for {} of {part}", time(limited_ns)));
    }
    Ok(vec![finding.evidence(None, "the records do not contain the speed, so the cost is not known")])
}
