//! The user session in a fast startup: it ends before the memory image is written, and a new one starts after the
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
    pub(super) fn of(trace: &Trace) -> Self {
        let named =
            |names: &[&str]| -> Vec<StringId> { names.iter().filter_map(|name| trace.strings.find(name)).collect() };
        let of_logon = named(&LOGON_MILESTONES);
        let of_end = named(&[milestone::LOGOFF_REQUEST, milestone::SHUTDOWN_REQUEST]);
        let mut logons = Vec::new();
        let mut ends = Vec::new();
        for row in trace.milestones.iter() {
            if of_logon.contains(&row.name) {
                logons.push(row.time_ns);
            } else if of_end.contains(&row.name) {
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

    /// When the user session was requested to end between two times, if no session started after that.
    pub(super) fn end_request(&self, trace: &Trace, after_ns: i64, before_ns: i64) -> Option<Boundary> {
        let logons = self.logons.partition_point(|&time| time < before_ns);
        let last_logon = logons.checked_sub(1).and_then(|at| self.logons.get(at));
        let after_ns = last_logon.map_or(after_ns, |&logon| logon.max(after_ns));
        let first = self.ends.partition_point(|&(time, ..)| time < after_ns);
        let (time_ns, rule, event) = self.ends.get(first)?.clone();
        (time_ns < before_ns).then(|| Boundary {
            time_ns: Some(time_ns),
            rule,
            event: trace.text(event).to_owned(),
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        })
    }
}

/// The phase in which the user session ends: until the first record of the power manager.
pub(super) fn user_session(start: &Boundary, phases: &[Phase], first_ns: i64) -> Phase {
    let apps = phases
        .iter()
        .find(|phase| phase.name == PhaseName::SuspendApps)
        .and_then(|phase| Some((phase.start_ns?, phase)));
    let end = match apps {
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
    Phase::between(PhaseName::UserSession, start, &end).with_half()
}

/// The phases of the new session after the resume that ended at `resumed`, up to its desktop, by the rules of a boot.
pub(super) fn new_session(trace: &Trace, resumed: &Boundary, until_ns: i64, shell: &str) -> Vec<Phase> {
    let Some(from_ns) = resumed.time_ns else { return Vec::new() };
    let within = |boundary: Boundary| boundary.time_ns.is_some_and(|time_ns| time_ns < until_ns).then_some(boundary);
    let shell_start = within(first_of(&shell_start_rules(trace, shell), from_ns));
    let reached_ns = shell_start.as_ref().and_then(|start| start.time_ns).unwrap_or(from_ns);
    let desktop = within(first_of(&desktop_ready_rules(trace), reached_ns));
    let mut phases = Vec::new();
    if let Some(shell_start) = &shell_start {
        phases.push(Phase::between(PhaseName::WinLogonInit, resumed, shell_start).with_half());
    }
    if let Some(desktop) = &desktop {
        let start = shell_start.as_ref().unwrap_or(resumed);
        phases.push(Phase::between(PhaseName::ExplorerInit, start, desktop).with_half());
    }
    phases
}
