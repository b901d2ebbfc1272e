//! The phases of a transition: from their own records, from the kernel's account, or from who was told in them.

use crate::Half;
use crate::{Phase, PhaseName};
use onoff_trace::{Milestone, Trace, milestone};

use super::report::PowerNotification;
use onoff_evidence::{Boundary, Certainty, Span};
use onoff_usage::asleep::cycles::Cycle;
use onoff_usage::asleep::lengths::{BEFORE_THE_KERNEL, first, image_write};

use PhaseName as Name;
use onoff_evidence::rule::Rule;

/// Phases of one transition, at most: there are a few dozen kinds, and failed attempts repeat some.
const MAX_PHASES: usize = 64;

/// A phase whose start and end `rule` set together.
pub(super) fn spanning(name: PhaseName, span: &Span) -> Phase {
    let edge = |time_ns| Boundary {
        time_ns,
        rule: span.rule.clone(),
        event: span.event.clone(),
        certainty: span.certainty,
        missing: Vec::new(),
    };
    let ends = Boundary { missing: span.missing.clone(), ..edge(span.end_ns) };
    Phase { duration_ns: span.duration_ns, ..Phase::between(name, &edge(span.start_ns), &ends).of_sleep() }
}

/// A phase of which only the kernel's account of its length tells.
fn counted(name: PhaseName, ns: i64, event: &str) -> Phase {
    Phase {
        duration_ns: Some(ns),
        certainty: Certainty::Measured,
        ends: Boundary {
            rule: Rule::KernelAccount,
            event: event.to_owned(),
            certainty: Certainty::Measured,
            ..Boundary::default()
        },
        ..Phase::unknown(name).of_sleep()
    }
}

/// The phases that have records of their own, and those that the kernel's account tells.
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
                None => Boundary { missing: vec![Rule::PhaseEnds { phase: *name }], ..Boundary::default() },
            };
            Phase::between(*name, &starts, &ends).of_sleep()
        })
        .collect();
    for (name, account) in
        [(Name::ResumeApps, milestone::RESUME_APPS_TIME), (Name::ResumeServices, milestone::RESUME_SERVICES_TIME)]
    {
        // Older versions record no end of these.
        if let Some(phase) = phases.iter_mut().find(|phase| phase.name == name)
            && phase.end_ns.is_none()
            && let Some((ns, row)) = cycle.length(trace, account)
        {
            phase.duration_ns = Some(ns);
            phase.certainty = Certainty::Inferred;
            phase.ends.certainty = Certainty::Inferred;
            phase.ends.rule = Rule::LengthByKernelAccount;
            trace.text(row.event).clone_into(&mut phase.ends.event);
            phase.ends.missing.clear();
        }
    }
    phases.extend(accounted(trace, cycle));
    phases
}

fn at(time_ns: Option<i64>, rule: Rule, event: &str) -> Boundary {
    Boundary { time_ns, rule, event: event.to_owned(), certainty: Certainty::Measured, missing: Vec::new() }
}

/// The phases of which only the kernel's account tells: the system was not there to record them.
fn accounted(trace: &Trace, cycle: &Cycle) -> Vec<Phase> {
    let length = |names: &[&str]| first(trace, cycle, names);
    let told = |name: Name, found: Option<(i64, Milestone)>| {
        let (ns, row) = found?;
        Some(counted(name, ns, trace.text(row.event)))
    };
    let hibernate = cycle.image_begins(trace);
    let mut write = told(Name::HiberWrite, image_write(trace, cycle));
    if let Some(begin) = hibernate {
        let phase = write.get_or_insert_with(|| {
            let missing = Rule::KernelAccountOfImageWrite;
            let ends = Boundary { missing: vec![missing], ..Boundary::default() };
            Phase { ends, ..Phase::unknown(Name::HiberWrite).of_sleep() }
        });
        phase.starts = at(Some(begin.time_ns), Rule::StartRecorded, trace.text(begin.event));
        phase.start_ns = Some(begin.time_ns);
    }
    let before = BEFORE_THE_KERNEL.into_iter().filter_map(|(name, length)| told(name, length(trace, cycle)));
    let critical =
        told(Name::ResumeCritical, length(&[milestone::POWER_DRIVER_WAKE_TIME, milestone::RESUME_DEVICES_TIME]));
    write.into_iter().chain(before).chain(critical).collect()
}

/// Time that a person took at the resume loader, ns, which is part of the loader's.
pub(super) fn person_at_loader(trace: &Trace, cycle: &Cycle, phases: &mut [Phase]) -> i64 {
    let Some((asked_ns, _)) = cycle.length(trace, milestone::RESUME_USER_TIME) else { return 0 };
    let Some(loader) = phases.iter_mut().find(|phase| phase.name == Name::ResumeLoader) else { return 0 };
    loader.person_ns = asked_ns.clamp(0, loader.duration_ns.unwrap_or(0).max(0));
    loader.person_ns
}

/// A phase without records of its own, from what was told in it: `times` are begins and ends.
pub(super) fn inferred(name: PhaseName, times: impl Iterator<Item = (i64, Option<i64>)>) -> Option<Phase> {
    let (start, end) = times
        .map(|(start, end)| (start, end.unwrap_or(start)))
        .reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))?;
    let edge = |time_ns, rule: Rule, lacking: Rule| Boundary {
        time_ns: Some(time_ns),
        rule,
        certainty: Certainty::Inferred,
        missing: vec![lacking],
        ..Boundary::default()
    };
    let starts = edge(start, Rule::FirstNotifiedInIt, Rule::PhaseStarts { phase: name });
    let ends = edge(end, Rule::LastNotifiedInIt, Rule::PhaseEnds { phase: name });
    Some(Phase::between(name, &starts, &ends).of_sleep())
}

/// Adds the phases of which only the notifications tell.
pub(super) fn infer_from_told(phases: &mut Vec<Phase>, told: &[PowerNotification]) {
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
                told.iter().filter(|row| row.details.phase == name).map(|row| (row.start_ns, row.end_ns)),
            ));
        }
    }
}

/// Puts the phases in order: by half, then by begin. What has no begin was before all others on the way up, and after
/// them on the way down.
pub(super) fn sort(phases: &mut [Phase]) {
    phases.sort_by_key(|phase| {
        let unknown = match phase.half {
            Some(Half::Suspend) => i64::MAX,
            _ => i64::MIN,
        };
        (phase.half, phase.start_ns.unwrap_or(unknown), phase.name)
    });
}
