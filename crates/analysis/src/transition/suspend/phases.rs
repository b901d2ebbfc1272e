//! The phases of a transition: from their own records, from the kernel's account, or from who was told in them.

use onoff_trace::{Milestone, Trace, milestone};

use super::cycles::Cycle;
use super::names::PowerPhaseName;
use super::report::{PowerNotification, PowerPhase};
use crate::evidence::{Certainty, Span};

use PowerPhaseName as Name;

/// Phases of one transition, at most: there are a few dozen kinds, and failed attempts repeat some.
const MOST_PHASES: usize = 64;

impl PowerPhase {
    /// A phase that lies on the axis.
    pub(super) fn spanning(name: PowerPhaseName, span: Span) -> Self {
        Self {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            duration_ns: span.duration_ns,
            rule: span.rule,
            event: span.event,
            certainty: span.certainty,
            missing: span.missing,
            ..Self::empty(name)
        }
    }

    fn empty(name: PowerPhaseName) -> Self {
        Self {
            name,
            half: name.half(),
            start_ns: None,
            end_ns: None,
            duration_ns: None,
            rule: String::new(),
            event: String::new(),
            certainty: Certainty::Missing,
            missing: Vec::new(),
            children: 0,
            children_total_ns: None,
            children_covered_ns: None,
            not_in_children_ns: None,
            last: None,
            cpu: None,
            disk: None,
        }
    }

    /// Whether something that begins at `time_ns` begins in it; an open end reaches to `until_ns`.
    pub(super) fn holds(&self, time_ns: i64, until_ns: i64) -> bool {
        self.start_ns.is_some_and(|start| start <= time_ns) && time_ns <= self.end_ns.unwrap_or(until_ns)
    }
}

/// The phases that have records of their own, and those that the kernel's account tells.
pub(super) fn recorded(trace: &Trace, cycle: &Cycle) -> Vec<PowerPhase> {
    let mut phases: Vec<PowerPhase> = cycle
        .phases
        .iter()
        .take(MOST_PHASES)
        .map(|(name, row)| {
            let ended = row.end_ns.is_some();
            PowerPhase {
                start_ns: Some(row.start_ns),
                end_ns: row.end_ns,
                duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
                rule: "from its begin to its end, as recorded".to_owned(),
                event: trace.text(row.event).to_owned(),
                certainty: if ended { Certainty::Measured } else { Certainty::Missing },
                missing: if ended { Vec::new() } else { vec![format!("the end of {}", name.as_str())] },
                ..PowerPhase::empty(*name)
            }
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
            "its begin as recorded, its length by the kernel's account".clone_into(&mut phase.rule);
            phase.event = joined(&phase.event, trace.text(row.event));
        }
    }
    phases.extend(accounted(trace, cycle));
    phases
}

fn joined(first: &str, second: &str) -> String {
    if first == second { first.to_owned() } else { format!("{first}, {second}") }
}

/// The phases of which only the kernel's account tells: the system was not there to record them.
fn accounted(trace: &Trace, cycle: &Cycle) -> Vec<PowerPhase> {
    let length = |names: &[&str]| names.iter().find_map(|name| cycle.length(trace, name));
    let told = |name: Name, found: Option<(i64, Milestone)>| {
        let (ns, row) = found?;
        Some(PowerPhase {
            duration_ns: Some(ns),
            rule: "by the kernel's account, to the millisecond".to_owned(),
            event: trace.text(row.event).to_owned(),
            certainty: Certainty::Measured,
            ..PowerPhase::empty(name)
        })
    };
    let hibernate = cycle.milestone(trace, milestone::HIBERNATE);
    let mut write = told(
        Name::HiberWrite,
        length(&[
            milestone::POWER_HIBERNATE_WRITE_TIME,
            milestone::HIBERNATE_FILE_TIME,
            milestone::HYBRID_SHUTDOWN_FILE_TIME,
        ]),
    );
    if let Some(begin) = hibernate {
        let phase = write.get_or_insert_with(|| PowerPhase {
            rule: "its begin as recorded".to_owned(),
            event: trace.text(begin.event).to_owned(),
            missing: vec!["the kernel's account of writing the memory image, recorded after the resume".to_owned()],
            ..PowerPhase::empty(Name::HiberWrite)
        });
        phase.start_ns = Some(begin.time_ns);
    }
    let read = length(&[milestone::POWER_HIBERNATE_READ_TIME]).or_else(|| {
        let (kernel, row) = length(&[milestone::RESUME_KERNEL_READ_TIME])?;
        let loader = length(&[milestone::RESUME_LOADER_READ_TIME]).map_or(0, |(ns, _)| ns);
        Some((kernel.saturating_add(loader), row))
    });
    [
        write,
        told(Name::BiosInit, length(&[milestone::POWER_FIRMWARE_TIME, milestone::RESUME_FIRMWARE_TIME])),
        told(Name::BootManager, length(&[milestone::RESUME_BOOT_MANAGER_TIME])),
        told(Name::ResumeLoader, length(&[milestone::RESUME_LOADER_TIME])),
        told(Name::HiberRead, read),
        told(Name::ResumeCritical, length(&[milestone::POWER_DRIVER_WAKE_TIME, milestone::RESUME_DEVICES_TIME])),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A phase without records of its own, from what was told in it: `times` are begins and ends.
pub(super) fn inferred(name: PowerPhaseName, times: impl Iterator<Item = (i64, Option<i64>)>) -> Option<PowerPhase> {
    let (start, end) = times
        .map(|(start, end)| (start, end.unwrap_or(start)))
        .reduce(|(first, last), (start, end)| (first.min(start), last.max(end)))?;
    Some(PowerPhase {
        start_ns: Some(start),
        end_ns: Some(end),
        duration_ns: Some(end.saturating_sub(start)),
        rule: "from the first to the last that was told in it".to_owned(),
        certainty: Certainty::Inferred,
        missing: vec![format!("begin and end of {}", name.as_str())],
        ..PowerPhase::empty(name)
    })
}

/// Adds the phases of which only the notifications tell.
pub(super) fn infer_from_told(phases: &mut Vec<PowerPhase>, told: &[PowerNotification]) {
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
                told.iter().filter(|row| row.phase == name).map(|row| (row.start_ns, row.end_ns)),
            ));
        }
    }
}

/// Puts the phases in order: by half, then by begin. What has no begin was before all others on the way up, and after
/// them on the way down.
pub(super) fn sort(phases: &mut [PowerPhase]) {
    phases.sort_by_key(|phase| {
        let unknown = match phase.half {
            super::names::PowerHalf::Suspend => i64::MAX,
            _ => i64::MIN,
        };
        (phase.half, phase.start_ns.unwrap_or(unknown), phase.name)
    });
}
