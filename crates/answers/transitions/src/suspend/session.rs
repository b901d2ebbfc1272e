//! Finds the user sessions of a fast startup: one ends before the memory image is written, another starts after the
//! resume.

use crate::{Phase, PhaseName};
use onoff_trace::{ActivityKind, StringId, Trace, milestone};

use crate::desktop::{desktop_ready_rules, shell_start_rules};
use crate::search::first_of;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// Milestones at the start of a session.
const LOGON_MILESTONES: [&str; 4] =
    [milestone::SHELL_LAUNCH, milestone::DESKTOP_READY, milestone::USER_BOOT_BEGIN, milestone::SYSTEM_BOOT_END];

/// Session starts and requests to end a session, sorted by time.
pub(super) struct Sessions {
    logons: Vec<i64>,
    ends: Vec<(i64, Rule, StringId)>,
}

impl Sessions {
    pub(super) fn from_trace(trace: &Trace) -> Self {
        let string_ids =
            |names: &[&str]| -> Vec<StringId> { names.iter().filter_map(|name| trace.strings.find(name)).collect() };
        let logon_names = string_ids(&LOGON_MILESTONES);
        let end_names = string_ids(&[milestone::LOGOFF_REQUEST, milestone::SHUTDOWN_REQUEST]);
        let mut logons = Vec::new();
        let mut ends = Vec::new();
        for row in trace.milestones.iter() {
            if logon_names.contains(&row.name) {
                logons.push(row.time_ns);
            } else if end_names.contains(&row.name) {
                ends.push((row.time_ns, Rule::RequestToEndSession, row.event));
            }
        }
        ends.extend(
            trace
                .activities
                .iter()
                .filter(|row| row.kind == ActivityKind::SessionShutdown)
                .map(|row| (row.start_ns, Rule::FirstApplicationNotifiedOfEnd, row.event)),
        );
        logons.sort();
        ends.sort_by_key(|&(time, ..)| time);
        Self { logons, ends }
    }

    /// Returns the first request to end the user session in a window, after the last logon in it.
    pub(super) fn end_request(&self, trace: &Trace, after_ns: i64, before_ns: i64) -> Option<Boundary> {
        let logon_count = self.logons.partition_point(|&time| time < before_ns);
        let last_logon = logon_count.checked_sub(1).and_then(|index| self.logons.get(index));
        let after_ns = last_logon.map_or(after_ns, |&logon| logon.max(after_ns));
        let end_index = self.ends.partition_point(|&(time, ..)| time < after_ns);
        let (time_ns, rule, event) = self.ends.get(end_index)?.clone();
        (time_ns < before_ns).then(|| Boundary {
            time_ns: Some(time_ns),
            rule,
            event: trace.text(event).to_owned(),
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        })
    }
}

/// Builds the phase in which the user session ends, up to the first record of the power manager.
pub(super) fn user_session(start: &Boundary, phases: &[Phase], first_ns: i64) -> Phase {
    let suspend_apps = phases
        .iter()
        .find(|phase| phase.name == PhaseName::SuspendApps)
        .and_then(|phase| Some((phase.start_ns?, phase)));
    let end = match suspend_apps {
        Some((time_ns, phase)) => Boundary {
            time_ns: Some(time_ns),
            rule: Rule::PhaseStarts { phase: PhaseName::SuspendApps },
            event: phase.starts.event.clone(),
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        },
        None => Boundary {
            time_ns: Some(first_ns),
            rule: Rule::PowerManagerFirstRecord,
            certainty: Certainty::Inferred,
            unmatched_rules: vec![Rule::PhaseStarts { phase: PhaseName::SuspendApps }],
            ..Boundary::default()
        },
    };
    Phase::from_boundaries(PhaseName::UserSession, start, &end).with_half()
}

/// Finds the phases of the new session, from the end of the resume (`resumed`) to the desktop, by the rules of a boot.
pub(super) fn new_session(trace: &Trace, resumed: &Boundary, until_ns: i64, shell: &str) -> Vec<Phase> {
    let Some(from_ns) = resumed.time_ns else { return Vec::new() };
    let before_end =
        |boundary: Boundary| boundary.time_ns.is_some_and(|time_ns| time_ns < until_ns).then_some(boundary);
    let shell_start = before_end(first_of(&shell_start_rules(trace, shell), from_ns));
    let shell_ns = shell_start.as_ref().and_then(|start| start.time_ns).unwrap_or(from_ns);
    let desktop = before_end(first_of(&desktop_ready_rules(trace), shell_ns));
    let mut phases = Vec::new();
    if let Some(shell_start) = &shell_start {
        phases.push(Phase::from_boundaries(PhaseName::WinLogonInit, resumed, shell_start).with_half());
    }
    if let Some(desktop) = &desktop {
        let start = shell_start.as_ref().unwrap_or(resumed);
        phases.push(Phase::from_boundaries(PhaseName::ExplorerInit, start, desktop).with_half());
    }
    phases
}
