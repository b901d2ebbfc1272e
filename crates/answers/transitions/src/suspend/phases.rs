//! Finds the phases of a transition from their own records, from the kernel's own times, or from notifications.

use crate::SuspendStage;
use crate::{Phase, PhaseName};
use onoff_trace::{Milestone, Trace, milestone};

use super::report::PowerNotification;
use onoff_evidence::{Boundary, Certainty, DerivedInterval};
use onoff_usage::asleep::cycles::Cycle;
use onoff_usage::asleep::durations::{BEFORE_KERNEL, first, image_write};

use PhaseName as Name;
use onoff_evidence::rule::Rule;

/// Maximum number of phases per transition; there are a few dozen kinds, and failed attempts repeat some.
const MAX_PHASES: usize = 64;

/// A phase whose start and end were set by the same rule.
pub(super) fn of_interval(name: PhaseName, interval: &DerivedInterval) -> Phase {
    let boundary = |time_ns| Boundary {
        time_ns,
        rule: interval.rule.clone(),
        event: interval.event.clone(),
        certainty: interval.certainty,
        unmatched_rules: Vec::new(),
    };
    let ends = Boundary { unmatched_rules: interval.unmatched_rules.clone(), ..boundary(interval.end_ns) };
    Phase { duration_ns: interval.duration_ns, ..Phase::between(name, &boundary(interval.start_ns), &ends).with_half() }
}

/// A phase of which only the duration is known, from the kernel's own times.
fn of_kernel_time(name: PhaseName, ns: i64, event: &str) -> Phase {
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

/// The phases with records of their own, and those from the kernel's own times.
pub(super) fn recorded(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    let mut phases: Vec<Phase> = cycle
        .phases
        .iter()
        .take(MAX_PHASES)
        .map(|(name, row)| {
            let event = trace.text(row.event);
            let starts = at(Some(row.start_ns), Rule::StartRecorded, event);
            let ends = match row.end_ns {
                Some(end_ns) => at(Some(end_ns), Rule::EndRecorded, event),
                None => Boundary { unmatched_rules: vec![Rule::PhaseEnds { phase: *name }], ..Boundary::default() },
            };
            Phase::between(*name, &starts, &ends).with_half()
        })
        .collect();
    for (name, kernel_time) in
        [(Name::ResumeApps, milestone::RESUME_APPS_TIME), (Name::ResumeServices, milestone::RESUME_SERVICES_TIME)]
    {
        // Older versions do not record the end of these.
        if let Some(phase) = phases.iter_mut().find(|phase| phase.name == name)
            && phase.end_ns.is_none()
            && let Some((ns, row)) = cycle.length(trace, kernel_time)
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

fn at(time_ns: Option<i64>, rule: Rule, event: &str) -> Boundary {
    Boundary { time_ns, rule, event: event.to_owned(), certainty: Certainty::Measured, unmatched_rules: Vec::new() }
}

/// The phases that are only known from the kernel's own times, because the system was not running.
fn from_kernel_times(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    let length = |names: &[&str]| first(trace, cycle, names);
    let phase = |name: Name, found: Option<(i64, Milestone)>| {
        let (ns, row) = found?;
        Some(of_kernel_time(name, ns, trace.text(row.event)))
    };
    let hibernate = cycle.image_begins(trace);
    let mut write = phase(Name::HiberWrite, image_write(trace, cycle));
    if let Some(begin) = hibernate {
        let phase = write.get_or_insert_with(|| {
            let missing = Rule::KernelAccountOfImageWrite;
            let ends = Boundary { unmatched_rules: vec![missing], ..Boundary::default() };
            Phase { ends, ..Phase::unknown(Name::HiberWrite).with_half() }
        });
        phase.starts = at(Some(begin.time_ns), Rule::StartRecorded, trace.text(begin.event));
        phase.start_ns = Some(begin.time_ns);
    }
    let before = BEFORE_KERNEL.into_iter().filter_map(|(name, length)| phase(name, length(trace, cycle)));
    let critical =
        phase(Name::ResumeCritical, length(&[milestone::POWER_DRIVER_WAKE_TIME, milestone::RESUME_DEVICES_TIME]));
    write.into_iter().chain(before).chain(critical).collect()
}

/// Sets the time spent waiting for user input at the resume loader, ns; it is part of the loader phase.
pub(super) fn set_loader_person_time(trace: &Trace, cycle: &Cycle, phases: &mut [Phase]) -> i64 {
    let Some((user_input_ns, _)) = cycle.length(trace, milestone::RESUME_USER_TIME) else { return 0 };
    let Some(loader) = phases.iter_mut().find(|phase| phase.name == Name::ResumeLoader) else { return 0 };
    loader.user_input_ns = user_input_ns.clamp(0, loader.duration_ns.unwrap_or(0).max(0));
    loader.user_input_ns
}

/// A phase without records of its own, derived from the notifications in it; `times` are their starts and ends.
pub(super) fn inferred(name: PhaseName, times: impl Iterator<Item = (i64, Option<i64>)>) -> Option<Phase> {
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
    let starts = boundary(start, Rule::FirstNotification, Rule::PhaseStarts { phase: name });
    let ends = boundary(end, Rule::LastNotification, Rule::PhaseEnds { phase: name });
    Some(Phase::between(name, &starts, &ends).with_half())
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
            phases.extend(inferred(
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
