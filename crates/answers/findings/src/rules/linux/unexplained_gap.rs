//! Gaps of a boot that no unit and no driver explains.

use onoff_trace::{Activity, ActivityKind, ServiceOutcome};
use onoff_transitions::PhaseName;
use onoff_transitions::linux::boot::{LinuxBootReport, UnitPathStep};
use onoff_usage::units::{Unit, WaitKind};

use super::initrd_unpack_slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An interval of 5 % of the boot or more (at least 1 s) in which no unit on the path to the default target was
    /// starting, or in which the kernel or the initramfs logged nothing, and which no recorded initcall explains. It
    /// names the lines before and after the gap, and the driver or unit that each is from. In a trace with context
    /// switches, the critical path explains such time.
    ///
    /// # Why it costs time
    /// Nothing that was recorded explains the time, so the boot waited for something: a device that answers late,
    /// random numbers, a person, or work that is not logged.
    ///
    /// # Evidence needed
    /// The journal or the kernel log with monotonic times, up to the end of the boot.
    ///
    /// # What to do
    /// Start with the driver or unit of the line after the gap, then with the one before. For a gap of the kernel, boot
    /// with `initcall_debug ignore_loglevel`, which names the function that takes the time.
    ///
    /// # When it is wrong
    /// The line after the gap may be from something that was not waited for. A unit that is started on demand starts
    /// late although nothing waited.
    ///
    /// # Source
    /// The kernel's admin guide, `initcall_debug`; the thresholds are onoff's.
    "linux/unexplained-gap", "gaps that no unit or driver explains", LinuxBoot(check)
}

/// Maximum number of gaps to report, longest first.
const MAX_GAPS: usize = 5;

/// Minimum length of a gap beyond the resolution of the log, ns: logs of whole seconds have gaps of 1 s everywhere.
const MIN_GAP_NS: i64 = onoff_evidence::significance::NOTICEABLE_NS;

/// Maximum length of the name of a driver or device at the beginning of a line.
const MAX_OWNER_LEN: usize = 40;

/// Maximum length of a quoted line.
const MAX_QUOTE_LEN: usize = 80;

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let has_lines = facts.trace.activities.iter().any(|row| row.kind == ActivityKind::LogGap);
    if facts.report.units.is_empty() && facts.report.details.devices.is_empty() && !has_lines {
        return Err(missing_input("log lines with times"));
    }
    // Context switches show what ran and what it waited for.
    if !facts.trace.context_switches.is_empty() {
        return Ok(Vec::new());
    }
    let mut gaps = path_gaps(facts);
    gaps.extend(log_gaps(facts, &gaps));
    gaps.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    Ok(gaps.into_iter().take(MAX_GAPS).map(|(_, finding)| finding).collect())
}

fn min_gap_ns(facts: &LinuxBootFacts<'_>) -> i64 {
    facts.report.min_cause_ns().max(MIN_GAP_NS.saturating_add(facts.trace.log_resolution_ns))
}

/// Returns the gaps between the units on the critical path, with their lengths.
fn path_gaps(facts: &LinuxBootFacts<'_>) -> Vec<(i64, RuleFinding)> {
    let path = &facts.report.details.critical_path;
    let min_ns = min_gap_ns(facts);
    path.steps
        .iter()
        // The wait for a device starts with the scan for it.
        .filter(|step| step.released_by.gap_ns >= min_ns && !step.unit.ends_with(".device"))
        // Before the first unit, the service manager runs generators and loads units. It is silent only if it waits.
        .filter(|step| {
            let gap = (step.start_ns.saturating_sub(step.released_by.gap_ns), step.start_ns);
            step.released_by.kind != WaitKind::Manager || longest_gap_ns(facts, gap) >= min_ns
        })
        .filter(|step| timed_out_device(facts.report, step).is_none())
        .map(|step| {
            let gap_ns = step.released_by.gap_ns;
            let start_ns = step.start_ns.saturating_sub(gap_ns);
            let before = match step.released_by.name.as_str() {
                "" => "the service manager had loaded its units".to_owned(),
                unit => format!("{unit} had finished"),
            };
            let title = format!(
                "nothing on the path was starting for {}, after {before} and before {} started",
                time(gap_ns),
                step.unit
            );
            let finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Work, step.unit.clone()), title)
                .cost(Cost::on_path(gap_ns))
                .certainty(Certainty::Inferred)
                .evidence(start_ns, before)
                .evidence(step.start_ns, format!("{} started", step.unit));
            let finding = match longest_within(facts, (start_ns, step.start_ns)) {
                Some(row) => with_lines(facts, finding, &row),
                None => finding,
            };
            (gap_ns, finding.advice(path_advice(step)))
        })
        .collect()
}

/// Returns the device that the gap before a step waited for in vain, and the interval. The service manager logs when it
/// gives up, but not when it starts to wait for a device.
pub(super) fn timed_out_device<'r>(report: &'r LinuxBootReport, step: &UnitPathStep) -> Option<(&'r Unit, Interval)> {
    let gap_start_ns = step.start_ns.saturating_sub(step.released_by.gap_ns);
    let is_timed_out = |unit: &&Unit| {
        unit.outcome == ServiceOutcome::Failed && unit.result != "dependency" && unit.name.ends_with(".device")
    };
    let in_gap = report.units.iter().filter(is_timed_out).filter_map(|unit| {
        let end_ns = unit.end_ns?.min(step.start_ns);
        (unit.start_ns >= gap_start_ns && end_ns > gap_start_ns).then_some((unit, (gap_start_ns, end_ns)))
    });
    in_gap.max_by_key(|(_, (_, end_ns))| *end_ns)
}

fn path_advice(step: &UnitPathStep) -> String {
    format!(
        "find out what requested {} and why so late: a timer, a device, a socket, or the end of a unit that is not on the path \
         ('journalctl -b -o short-monotonic' around the gap)",
        step.unit
    )
}

/// Returns the gaps of the log that neither the path nor a driver explains, with their lengths.
fn log_gaps(facts: &LinuxBootFacts<'_>, path_gaps: &[(i64, RuleFinding)]) -> Vec<(i64, RuleFinding)> {
    let report = facts.report;
    let Some(end_ns) = end_of_gaps(facts) else { return Vec::new() };
    let mut explained: Vec<Interval> =
        report.details.critical_path.steps.iter().map(|step| (step.start_ns, step.end_ns)).collect();
    explained.extend(path_gaps.iter().filter_map(|(gap_ns, finding)| {
        let start_ns = finding.evidence.first()?.time_ns?;
        Some((start_ns, start_ns.saturating_add(*gap_ns)))
    }));
    let steps = report.details.critical_path.steps.iter();
    explained.extend(steps.filter_map(|step| timed_out_device(report, step).map(|(_, interval)| interval)));
    explained.extend(report.details.devices.iter().filter_map(|device| Some((device.start_ns, device.end_ns?))));
    explained.extend(initrd_unpack_slow::unpacking(facts).map(|(begin, end)| (begin.time_ns, end.time_ns)));
    let min_ns = min_gap_ns(facts);
    let initramfs = initramfs(facts);
    facts
        .trace
        .activities
        .iter()
        // The first lines have no time of their own on some computers.
        .filter(|row| row.kind == ActivityKind::LogGap && row.start_ns > 0)
        .filter(|row| !is_most_of(row, initramfs))
        .filter_map(|row| {
            let window = (row.start_ns, row.end_ns?.min(end_ns));
            let length_ns = window.1.saturating_sub(window.0);
            let cost_ns = length_ns.saturating_sub(covered_ns(explained.clone(), window));
            if cost_ns < min_ns {
                return None;
            }
            let (before, after) = (facts.trace.text(row.name), facts.trace.text(row.detail));
            let owner_after = owner(after).or_else(|| owner(before)).unwrap_or("the log");
            let title = format!("nothing was logged for {} before \"{}\"", time(length_ns), quote(after));
            let finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Work, owner_after), title)
                .cost(Cost::on_path(cost_ns))
                .certainty(Certainty::Inferred);
            Some((cost_ns, with_lines(facts, finding, &row).advice(log_advice(after, owner_after))))
        })
        .collect()
}

/// Returns until when a gap of the log counts, ns; `None` if no part of the boot is known to have ended.
fn end_of_gaps(facts: &LinuxBootFacts<'_>) -> Option<i64> {
    let report = facts.report;
    let end_of = |name: PhaseName| report.phase(name).and_then(|phase| phase.end_ns);
    let target_ns = report.details.default_target.as_ref().map(|target| target.reached_ns);
    target_ns
        .or_else(|| end_of(PhaseName::UserSpace))
        .or(report.details.outcome.time_ns)
        .or_else(|| end_of(PhaseName::Initrd))
        .or_else(|| end_of(PhaseName::Kernel))
}

/// Returns the longest gap of the log within an interval.
fn longest_within(facts: &LinuxBootFacts<'_>, (start_ns, end_ns): Interval) -> Option<Activity> {
    let overlap_ns =
        |row: &Activity| row.end_ns.unwrap_or(end_ns).min(end_ns).saturating_sub(row.start_ns.max(start_ns));
    let gaps = facts.trace.activities.iter().filter(|row| row.kind == ActivityKind::LogGap);
    gaps.filter(|row| overlap_ns(row) > 0).max_by_key(overlap_ns)
}

/// Returns start and end of the initramfs.
fn initramfs(facts: &LinuxBootFacts<'_>) -> Option<Interval> {
    let report = facts.report;
    let phase = report.phase(PhaseName::Initrd).and_then(|phase| Some((phase.start_ns?, phase.end_ns?)));
    phase.or_else(|| {
        let file_system = report.details.initial_file_system.as_ref()?;
        Some((file_system.start_ns?, file_system.end_ns?))
    })
}

/// True if a gap is nearly all of the initramfs, which logged nothing: the rule about the initramfs covers it.
fn is_most_of(gap: &Activity, initramfs: Option<Interval>) -> bool {
    initramfs.is_some_and(|initramfs| {
        let length_ns = initramfs.1.saturating_sub(initramfs.0);
        let gap_ns = covered_ns(vec![(gap.start_ns, gap.end_ns.unwrap_or(gap.start_ns))], initramfs);
        gap_ns.saturating_mul(5) >= length_ns.saturating_mul(4)
    })
}

/// Returns the length of the longest gap of the log within an interval, except the gaps that the rule about the
/// initramfs covers, ns.
pub(super) fn longest_gap_ns(facts: &LinuxBootFacts<'_>, interval: Interval) -> i64 {
    let gap = longest_within(facts, interval).filter(|row| !is_most_of(row, initramfs(facts)));
    let gap = gap.and_then(|row| Some((row.start_ns, row.end_ns?)));
    gap.map_or(0, |gap| covered_ns(vec![gap], interval)).max(0)
}

fn with_lines(facts: &LinuxBootFacts<'_>, finding: RuleFinding, row: &Activity) -> RuleFinding {
    let line = |text: &str, position: &str| match owner(text) {
        Some(owner) => format!("the line {position} the gap, from {owner}: \"{}\"", quote(text)),
        None => format!("the line {position} the gap: \"{}\"", quote(text)),
    };
    finding
        .evidence(row.start_ns, line(facts.trace.text(row.name), "before"))
        .evidence(row.end_ns, line(facts.trace.text(row.detail), "after"))
}

/// Returns the driver, device or program that a line is from: the text before its first colon and blank.
fn owner(line: &str) -> Option<&str> {
    let (owner, _) = line.split_once(": ")?;
    (!owner.is_empty() && owner.len() <= MAX_OWNER_LEN && !owner.contains(['"', '('])).then_some(owner)
}

fn quote(line: &str) -> String {
    match line.char_indices().nth(MAX_QUOTE_LEN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

fn log_advice(line: &str, owner: &str) -> String {
    if line.starts_with("random: ") {
        return "the boot waited for random numbers: use a kernel that trusts the processor's ('random.trust_cpu=on'), give a virtual \
                machine virtio-rng, or save a seed ('systemd-random-seed.service')"
            .to_owned();
    }
    format!(
        "find out what {owner} waited for; for a gap of the kernel, boot with 'initcall_debug ignore_loglevel', which names the \
         function that takes the time"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_of_lines() {
        for (line, name) in [
            ("usb 1-1: new high-speed USB device number 2", Some("usb 1-1")),
            ("amdgpu 0000:03:00.0: [drm] fb0", Some("amdgpu 0000:03:00.0")),
            ("NetworkManager: <info> [1]: device up", Some("NetworkManager")),
            ("Freeing unused kernel memory", None),
            ("EXT4-fs (sda1): mounted filesystem", None),
        ] {
            assert_eq!(owner(line), name, "{line}");
        }
    }
}
