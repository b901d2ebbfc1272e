//! Finds the phases of a transition from phase events, from the kernel's own times, or from notifications.

use crate::SuspendStage;
use crate::{Phase, PhaseName};
use onoff_trace::{Milestone, Trace, milestone};

use super::report::PowerNotification;
use onoff_evidence::{Boundary, Certainty, DerivedInterval};
use onoff_usage::asleep::cycles::Cycle;
use onoff_usage::asleep::durations::{BEFORE_KERNEL, first_duration, image_write};

use PhaseName as Name;
use onoff_evidence::rule::Rule;

/// Maximum number of phases per transition; there are a few dozen kinds, and failed attempts repeat some.
const MAX_PHASES: usize = 64;

/// Builds a phase whose start and end were set by the same rule.
pub(super) fn from_interval(name: PhaseName, interval: &DerivedInterval) -> Phase {
    let boundary = |time_ns| Boundary {
        time_ns,
        rule: interval.rule.clone(),
        event: interval.event.clone(),
        certainty: interval.certainty,
        unmatched_rules: Vec::new(),
    };
    let ends = Boundary { unmatched_rules: interval.unmatched_rules.clone(), ..boundary(interval.end_ns) };
    Phase {
        duration_ns: interval.duration_ns,
        ..Phase::from_boundaries(name, &boundary(interval.start_ns), &ends).with_half()
    }
}

/// Builds a phase of known duration but unknown position, from the kernel's own times.
fn from_kernel_duration(name: PhaseName, ns: i64, event: &str) -> Phase {
    Phase {
        duration_ns: Some(ns),
        certainty: Certainty::Measured,
        ends: Boundary {
            rule: Rule::KernelAccount,
            event: event.to_owned(),
            certainty: Certainty::Measured,
            ..Boundary::default()
        },
        ..Phase::unknown(name).with_half()
    }
}

/// Returns the phases that have events, and those known only from the kernel's own times.
pub(super) fn recorded_phases(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    let mut phases: Vec<Phase> = cycle
        .phases
        .iter()
        .take(MAX_PHASES)
        .map(|(name, row)| {
            let event = trace.text(row.event);
            let starts = measured_at(Some(row.start_ns), Rule::StartRecorded, event);
            let ends = match row.end_ns {
                Some(end_ns) => measured_at(Some(end_ns), Rule::EndRecorded, event),
                None => Boundary { unmatched_rules: vec![Rule::PhaseEnds { phase: *name }], ..Boundary::default() },
            };
            Phase::from_boundaries(*name, &starts, &ends).with_half()
        })
        .collect();
    for (name, kernel_time) in
        [(Name::ResumeApps, milestone::RESUME_APPS_TIME), (Name::ResumeServices, milestone::RESUME_SERVICES_TIME)]
    {
        // Older Windows versions do not record the end of these phases.
        if let Some(phase) = phases.iter_mut().find(|phase| phase.name == name)
            && phase.end_ns.is_none()
            && let Some((ns, row)) = cycle.duration(trace, kernel_time)
        {
            phase.duration_ns = Some(ns);
            phase.certainty = Certainty::Inferred;
            phase.ends.certainty = Certainty::Inferred;
            phase.ends.rule = Rule::DurationByKernelAccount;
            trace.text(row.event).clone_into(&mut phase.ends.event);
            phase.ends.unmatched_rules.clear();
        }
    }
    phases.extend(from_kernel_times(trace, cycle));
    phases
}

fn measured_at(time_ns: Option<i64>, rule: Rule, event: &str) -> Boundary {
    Boundary { time_ns, rule, event: event.to_owned(), certainty: Certainty::Measured, unmatched_rules: Vec::new() }
}

/// Returns the phases known only from the kernel's own times, because the system was not running.
fn from_kernel_times(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    let length = |names: &[&str]| first_duration(trace, cycle, names);
    let phase = |name: Name, found: Option<(i64, Milestone)>| {
        let (ns, row) = found?;
        Some(from_kernel_duration(name, ns, trace.text(row.event)))
    };
    let image_start = cycle.image_start(trace);
    let mut write = phase(Name::HiberWrite, image_write(trace, cycle));
    if let Some(begin) = image_start {
        let phase = write.get_or_insert_with(|| {
            let missing = Rule::KernelAccountOfImageWrite;
            let ends = Boundary { unmatched_rules: vec![missing], ..Boundary::default() };
            Phase { ends, ..Phase::unknown(Name::HiberWrite).with_half() }
        });
        phase.starts = measured_at(Some(begin.time_ns), Rule::StartRecorded, trace.text(begin.event));
        phase.start_ns = Some(begin.time_ns);
    }
    let before_kernel = BEFORE_KERNEL.into_iter().filter_map(|(name, length)| phase(name, length(trace, cycle)));
    let resume_critical =
        phase(Name::ResumeCritical, length(&[milestone::POWER_DRIVER_WAKE_TIME, milestone::RESUME_DEVICES_TIME]));
    write.into_iter().chain(before_kernel).chain(resume_critical).collect()
}

/// Sets and returns the time spent waiting for user input in the loader phase, in ns.
pub(super) fn set_loader_input_time(trace: &Trace, cycle: &Cycle, phases: &mut [Phase]) -> i64 {
    let Some((user_input_ns, _)) = cycle.duration(trace, milestone::RESUME_USER_TIME) else { return 0 };
    let Some(loader) = phases.iter_mut().find(|phase| phase.name == Name::ResumeLoader) else { return 0 };
    loader.user_input_ns = user_input_ns.clamp(0, loader.duration_ns.unwrap_or(0).max(0));
    loader.user_input_ns
}

/// Derives a phase without events from the starts and ends (`times`) of the notifications in it.
pub(super) fn inferred_phase(name: PhaseName, times: impl Iterator<Item = (i64, Option<i64>)>) -> Option<Phase> {
    let (start, end) = times
        .map(|(start, end)| (start, end.unwrap_or(start)))
        .reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))?;
    let boundary = |time_ns, rule: Rule, missing: Rule| Boundary {
        time_ns: Some(time_ns),
        rule,
        certainty: Certainty::Inferred,
        unmatched_rules: vec![missing],
        ..Boundary::default()
    };
    let start_boundary = boundary(start, Rule::FirstNotification, Rule::PhaseStarts { phase: name });
    let end_boundary = boundary(end, Rule::LastNotification, Rule::PhaseEnds { phase: name });
    Some(Phase::from_boundaries(name, &start_boundary, &end_boundary).with_half())
}

/// Adds phases that can only be derived from notifications.
pub(super) fn infer_from_notifications(phases: &mut Vec<Phase>, notifications: &[PowerNotification]) {
    for name in [
        Name::QueryApps,
        Name::QueryServices,
        Name::SuspendApps,
        Name::SuspendServices,
        Name::ResumeServices,
        Name::ResumeApps,
    ] {
        if phases.iter().all(|phase| phase.name != name) {
            phases.extend(inferred_phase(
                name,
                notifications.iter().filter(|row| row.details.phase == name).map(|row| (row.start_ns, row.end_ns)),
            ));
        }
    }
}

/// Sorts the phases by half, then by start. Phases without a start come last in the suspend, and first otherwise.
pub(super) fn sort(phases: &mut [Phase]) {
    phases.sort_by_key(|phase| {
        let unknown = match phase.half {
            Some(SuspendStage::Suspend) => i64::MAX,
            _ => i64::MIN,
        };
        (phase.half, phase.start_ns.unwrap_or(unknown), phase.name)
    });
}
