//! Finds the boundaries of a shutdown and its phases, and the kind of shutdown.
//!
//! Sources: the Microsoft paper for the meaning of each phase; provider manifests for the events.

use crate::PhaseName;
use crate::Variant;
use onoff_trace::{Activity, ActivityKind, NotificationKind, Trace, milestone, shutdown_step};

use super::exits::Burst;
use crate::desktop::account;
use crate::search::{Match, Search, first_milestone, first_of, milestones};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// `POWER_ACTION` values, as recorded by the kernel.
const HIBERNATE: i64 = 3;
const SHUTDOWN: i64 = 4;
const RESTART: i64 = 5;
const POWER_OFF: i64 = 6;

/// `SYSTEM_POWER_STATE` value for hibernation.
const S4: i64 = 5;

/// The boundaries of a shutdown.
#[derive(Clone, Debug)]
pub(super) struct ShutdownBoundaries {
    pub variant: Variant,
    pub variant_rule: Rule,
    pub starts: Boundary,
    pub ends: Boundary,
    pub user: (Boundary, Boundary),
    pub system: (Boundary, Boundary),
    pub kernel: (Boundary, Boundary),
}

impl ShutdownBoundaries {
    pub(super) fn phase(&self, name: PhaseName) -> &(Boundary, Boundary) {
        match name {
            PhaseName::UserSession => &self.user,
            PhaseName::SystemSession => &self.system,
            _ => &self.kernel,
        }
    }
}

/// The recorded events of a shutdown.
pub(super) struct Events<'a> {
    trace: &'a Trace,
    /// A burst of process exits that looks like a shutdown.
    pub burst: Option<Burst>,
    /// Session shutdowns, ordered by start.
    sessions: Vec<Activity>,
    /// Steps of ending sessions, ordered by start.
    steps: Vec<Activity>,
    /// Kernel steps, ordered by start.
    kernel_steps: Vec<Activity>,
    /// Start of writing a memory image, if the kernel did that instead of shutting down.
    image_write: Option<Match>,
}

impl<'a> Events<'a> {
    pub(super) fn new(trace: &'a Trace, burst: Option<Burst>) -> Self {
        let rows = |kind: ActivityKind| -> Vec<Activity> {
            let mut rows: Vec<Activity> = trace.activities.iter().filter(|row| row.kind == kind).collect();
            rows.sort_by_key(|row| row.start_ns);
            rows
        };
        Self {
            trace,
            burst,
            sessions: rows(ActivityKind::SessionShutdown),
            steps: rows(ActivityKind::ShutdownStep),
            kernel_steps: rows(ActivityKind::KernelShutdownStep),
            // Event logs assign a shutdown that writes a memory image to the fast startup after it.
            image_write: image_write(trace).filter(|_| trace.logged_end.is_none()),
        }
    }

    /// Returns whether any event belongs to a shutdown.
    pub(super) fn contain_shutdown(&self) -> bool {
        let in_logs = [
            milestone::ACCOUNT_SHUTDOWN_START,
            milestone::SHUTDOWN_ACTION,
            milestone::SYSTEM_STOP,
            milestone::EVENT_LOG_STOP,
        ];
        let is_recorded = |name: &&str| milestones(self.trace, name).next().is_some();
        self.trace.logged_end.is_some() && in_logs.iter().any(is_recorded)
            || !self.sessions.is_empty()
            || !self.steps.is_empty()
            || !self.kernel_steps.is_empty()
            || self.burst.is_some()
            || [milestone::KERNEL_SHUTDOWN, milestone::SHUTDOWN_REQUEST]
                .iter()
                .any(|name| milestones(self.trace, name).next().is_some())
            || self.application_notifications().next().is_some()
    }

    fn application_notifications(&self) -> impl Iterator<Item = onoff_trace::Notification> {
        let rows = self.trace.notifications.iter();
        rows.filter(|row| row.kind == NotificationKind::ApplicationShutdown)
    }

    fn step(&self, rows: &[Activity], name: &str) -> Option<Activity> {
        rows.iter().find(|row| self.trace.text(row.name) == name).copied()
    }

    fn match_at(&self, time_ns: i64, row: &Activity) -> Match {
        (time_ns, self.trace.text(row.event).to_owned())
    }

    fn start_of(&self, row: Option<Activity>) -> Option<Match> {
        row.map(|row| self.match_at(row.start_ns, &row))
    }

    fn end_of(&self, row: Option<Activity>) -> Option<Match> {
        row.and_then(|row| Some(self.match_at(row.end_ns?, &row)))
    }

    fn system_session(&self) -> Option<Activity> {
        let mut rows = self.sessions.iter().filter(|row| row.session == Some(0));
        rows.next_back().copied()
    }

    fn pre_shutdown(&self) -> Option<Activity> {
        self.step(&self.steps, shutdown_step::PRE_SHUTDOWN_NOTIFICATION)
    }

    /// Returns the start of the system shutdown. User sessions that were recorded have ended by then.
    fn system_shutdown(&self) -> Option<Match> {
        [
            self.start_of(self.pre_shutdown()),
            self.start_of(self.system_session()),
            milestones(self.trace, milestone::KERNEL_SHUTDOWN)
                .next()
                .map(|row| (row.time_ns, self.trace.text(row.event).to_owned())),
            self.start_of(self.kernel_steps.first().copied()),
            self.image_write.clone(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Returns the request that led to this shutdown: the last request before the last user session ended. Earlier
    /// requests were refused or belong to another logoff.
    fn request(&self) -> Option<Match> {
        let shutdown_ns = self.system_shutdown().map_or(i64::MAX, |(time_ns, _)| time_ns);
        let last_session_ns = self
            .sessions
            .iter()
            .filter(|row| row.session != Some(0) && row.start_ns <= shutdown_ns)
            .map(|row| row.start_ns)
            .next_back()
            .unwrap_or(shutdown_ns);
        milestones(self.trace, milestone::SHUTDOWN_REQUEST)
            .filter(|row| row.time_ns <= last_session_ns)
            .max_by_key(|row| row.time_ns)
            .map(|row| (row.time_ns, self.trace.text(row.event).to_owned()))
    }

    fn starts(&self) -> Boundary {
        let first_application_start = |_| {
            let first_application = self.application_notifications().min_by_key(|row| row.start_ns)?;
            Some((first_application.start_ns, self.trace.text(first_application.event).to_owned()))
        };
        first_of(
            &[
                Search::measured(Rule::RequestForShutdown, |_| self.request()),
                Search::measured(Rule::LogonProcessRequestsShutdown, |_| {
                    self.start_of(self.step(&self.steps, shutdown_step::INITIATE_SHUTDOWN))
                }),
                Search::inferred(Rule::RequestToLogOff, |from_ns| {
                    first_milestone(self.trace, milestone::LOGOFF_REQUEST, from_ns)
                }),
                Search::inferred(Rule::FirstSessionStep, |_| self.start_of(self.steps.first().copied())),
                Search::inferred(Rule::FirstSessionNotified, |_| self.start_of(self.sessions.first().copied())),
                Search::inferred(Rule::FirstApplicationNotified, first_application_start),
                Search::inferred(Rule::KernelRequested, |from_ns| {
                    first_milestone(self.trace, milestone::KERNEL_SHUTDOWN, from_ns)
                }),
                Search::inferred(Rule::KernelFirstStep, |_| self.start_of(self.kernel_steps.first().copied())),
                Search::inferred(Rule::FirstProcessEnds, |_| Some((self.burst?.first_ns, "Process/End".to_owned()))),
                account(self.trace, milestone::ACCOUNT_SHUTDOWN_START, "ShutdownStartTime"),
                // In either order.
                Search::inferred(Rule::FirstShutdownRecord, |from_ns| {
                    let first = |name| first_milestone(self.trace, name, from_ns);
                    [first(milestone::EVENT_LOG_STOP), first(milestone::SHUTDOWN_ACTION)].into_iter().flatten().min()
                }),
            ],
            0,
        )
    }

    /// Finds the boundaries of the shutdown and its phases.
    pub(super) fn boundaries(&self) -> ShutdownBoundaries {
        let starts = self.starts();
        let from_ns = starts.time_ns.unwrap_or(0);
        let (variant, variant_rule) = self.variant(from_ns);
        let user = self.user_phase(from_ns);
        let user_end_ns = latest_ns(&user).unwrap_or(from_ns);
        let system = self.system_phase(variant, user_end_ns);
        let system_end_ns = latest_ns(&system).unwrap_or(user_end_ns);
        let kernel = self.kernel_phase(variant, &system.1, system_end_ns);
        let ends = match variant {
            Variant::FastStartup => self.image_write.clone().map(|(time_ns, event)| Boundary {
                time_ns: Some(time_ns),
                rule: Rule::PowerTransitionFollows,
                event,
                certainty: Certainty::Inferred,
                unmatched_rules: Vec::new(),
            }),
            Variant::Logoff => Some(user.1.clone()),
            _ => None,
        };
        // Before a fast startup, all work belongs to the end of the user session, including logoff subscribers and
        // scripts. The power transition that follows uses the same interval.
        let user = match (&ends, variant) {
            (Some(ends), Variant::FastStartup) if starts.time_ns <= ends.time_ns => (starts.clone(), ends.clone()),
            _ => user,
        };
        ShutdownBoundaries {
            variant,
            variant_rule,
            starts,
            ends: ends.unwrap_or_else(|| kernel.1.clone()),
            user,
            system,
            kernel,
        }
    }

    fn user_phase(&self, from_ns: i64) -> (Boundary, Boundary) {
        let rows: Vec<&Activity> =
            self.sessions.iter().filter(|row| row.session != Some(0) && row.start_ns >= from_ns).collect();
        let notified: Vec<_> = self
            .application_notifications()
            .filter(|row| row.session.is_some_and(|session| session > 0) && row.start_ns >= from_ns)
            .collect();
        // Process exits are used only if there is no better evidence.
        let user_exits = || {
            let is_only_evidence = self.sessions.is_empty() && notified.is_empty() && self.steps.is_empty();
            self.burst.filter(|_| is_only_evidence).and_then(|burst| burst.users)
        };
        let starts = first_of(
            &[
                Search::measured(Rule::FirstUserSessionNotified, |_| self.start_of(rows.first().map(|&&row| row))),
                Search::inferred(Rule::FirstUserApplicationNotified, |_| {
                    let first_notified = notified.iter().min_by_key(|row| row.start_ns)?;
                    Some((first_notified.start_ns, self.trace.text(first_notified.event).to_owned()))
                }),
                Search::inferred(Rule::FirstUserProgramEnds, |_| {
                    let (first_exit_ns, _) = user_exits()?;
                    Some((first_exit_ns, "Process/End".to_owned()))
                }),
                account(self.trace, milestone::ACCOUNT_SHUTDOWN_START, "ShutdownStartTime"),
            ],
            from_ns,
        );
        let start_ns = starts.time_ns.unwrap_or(from_ns);
        let all_ended = rows.iter().all(|row| row.end_ns.is_some());
        let ends = first_of(
            &[
                Search::measured(Rule::UserSessionsEnded, |_| {
                    let last_session = rows.iter().max_by_key(|row| row.end_ns)?;
                    self.end_of(Some(**last_session).filter(|_| all_ended))
                }),
                Search::inferred(Rule::AfterUserSessions, |from_ns| {
                    let system_shutdown = self.system_shutdown().filter(|&(time_ns, _)| time_ns >= from_ns)?;
                    starts.time_ns.map(|_| system_shutdown)
                }),
                Search::inferred(Rule::LastUserApplicationResponded, |_| {
                    let last_notified = notified.iter().max_by_key(|row| row.end_ns)?;
                    let all_responded = rows.is_empty() && notified.iter().all(|row| row.end_ns.is_some());
                    let end = last_notified.end_ns.filter(|_| all_responded)?;
                    Some((end, self.trace.text(last_notified.event).to_owned()))
                }),
                Search::inferred(Rule::LastUserProgramEnds, |_| {
                    let (_, last_exit_ns) = user_exits()?;
                    Some((last_exit_ns, "Process/End".to_owned()))
                }),
                account(self.trace, milestone::ACCOUNT_USER_SESSION_END, "ShutdownUserSessionTime"),
            ],
            start_ns,
        );
        (starts, ends)
    }

    fn system_phase(&self, variant: Variant, from_ns: i64) -> (Boundary, Boundary) {
        if matches!(variant, Variant::FastStartup | Variant::Logoff) {
            return (not_applicable(variant), not_applicable(variant));
        }
        let session = self.system_session().filter(|row| row.start_ns >= from_ns);
        let pre_shutdown = self.pre_shutdown().filter(|row| row.start_ns >= from_ns);
        let last_host_exit = || {
            let is_only_evidence = session.is_none() && pre_shutdown.is_none() && self.steps.is_empty();
            self.burst.filter(|_| is_only_evidence)?.last_host_ns
        };
        let first_stop = |from_ns: i64| {
            let stops = self
                .trace
                .service_transitions
                .iter()
                .filter(|row| row.kind == onoff_trace::ServiceChange::Stop && row.start_ns >= from_ns);
            let stop = stops.min_by_key(|row| row.start_ns)?;
            Some((stop.start_ns, self.trace.text(stop.event).to_owned()))
        };
        let starts = first_of(
            &[
                Search::measured(Rule::PreShutdownNotified, |_| self.start_of(pre_shutdown)),
                Search::measured(Rule::SystemSessionNotified, |_| self.start_of(session)),
                Search::inferred(Rule::FirstServiceStopRequested, |from_ns| {
                    first_stop(from_ns).filter(|_| !self.ends_with_user_sessions())
                }),
                Search::inferred(Rule::LastUserProgramEnds, |from_ns| {
                    last_host_exit().filter(|&time_ns| time_ns >= from_ns)?;
                    let (_, last_user_exit_ns) = self.burst?.users?;
                    Some((last_user_exit_ns.max(from_ns), "Process/End".to_owned()))
                }),
                account(self.trace, milestone::ACCOUNT_USER_SESSION_END, "ShutdownUserSessionTime"),
            ],
            from_ns,
        );
        let start_ns = starts.time_ns.unwrap_or(from_ns);
        let ends = first_of(
            &[
                Search::measured(Rule::SystemSessionShutdownEnds, |_| self.end_of(session)),
                Search::inferred(Rule::SystemProcessWaitEnds, |from_ns| {
                    let step = self.step(&self.steps, shutdown_step::WAIT_FOR_SYSTEM_PROCESSES);
                    self.end_of(step).filter(|&(time_ns, _)| time_ns >= from_ns)
                }),
                Search::inferred(Rule::KernelRequested, |from_ns| {
                    starts.time_ns?;
                    first_milestone(self.trace, milestone::KERNEL_SHUTDOWN, from_ns)
                }),
                Search::inferred(Rule::KernelFirstStep, |from_ns| {
                    starts.time_ns?;
                    self.start_of(self.kernel_steps.first().copied()).filter(|&(time_ns, _)| time_ns >= from_ns)
                }),
                Search::inferred(Rule::LastServiceHostEnds, |from_ns| {
                    let last_exit_ns = last_host_exit().filter(|&time_ns| time_ns >= from_ns)?;
                    Some((last_exit_ns, "Process/End".to_owned()))
                }),
                account(self.trace, milestone::ACCOUNT_SYSTEM_SESSION_END, "ShutdownSystemSessionsTime"),
            ],
            start_ns,
        );
        (starts, ends)
    }

    fn kernel_phase(&self, variant: Variant, system_ends: &Boundary, from_ns: i64) -> (Boundary, Boundary) {
        if matches!(variant, Variant::FastStartup | Variant::Logoff) {
            return (not_applicable(variant), not_applicable(variant));
        }
        let starts = first_of(
            &[
                Search::measured(Rule::KernelRequested, |from_ns| {
                    first_milestone(self.trace, milestone::KERNEL_SHUTDOWN, from_ns)
                }),
                Search::measured(Rule::KernelFirstStep, |from_ns| {
                    self.start_of(self.kernel_steps.first().copied()).filter(|&(time_ns, _)| time_ns >= from_ns)
                }),
                account(self.trace, milestone::ACCOUNT_SYSTEM_SESSION_END, "ShutdownSystemSessionsTime"),
                Search::inferred(Rule::KernelRecordsAction, |from_ns| {
                    first_milestone(self.trace, milestone::SHUTDOWN_ACTION, from_ns)
                        .or_else(|| first_milestone(self.trace, milestone::SYSTEM_STOP, from_ns))
                }),
                Search::inferred(Rule::SystemSessionEnds, |_| Some((system_ends.time_ns?, system_ends.event.clone()))),
            ],
            from_ns,
        );
        let start_ns = starts.time_ns.unwrap_or(from_ns);
        let orderly_part = self.step(&self.kernel_steps, shutdown_step::GRACEFUL_SHUTDOWN);
        // The kernel may continue after it reports the end of the orderly part. The end is known only if all later
        // steps ended.
        let orderly_end_ns = orderly_part.and_then(|step| step.end_ns).unwrap_or(i64::MAX);
        let is_later = |row: &&Activity| row.end_ns.map_or(row.start_ns >= orderly_end_ns, |end| end > orderly_end_ns);
        let later_steps = || self.kernel_steps.iter().filter(is_later);
        let all_ended = later_steps().all(|row| row.end_ns.is_some());
        let last_step = later_steps().max_by_key(|row| row.end_ns).copied();
        let rule = if last_step.is_some() { Rule::KernelLastStepEnds } else { Rule::KernelOrderlyShutdownEnds };
        let ends = first_of(
            &[
                Search::measured(rule, |from_ns| {
                    let last_step = last_step.or(orderly_part).filter(|_| all_ended);
                    self.end_of(last_step).filter(|&(time_ns, _)| time_ns >= from_ns)
                }),
                account(self.trace, milestone::ACCOUNT_SHUTDOWN_END, "ShutdownKernelTime"),
            ],
            start_ns,
        );
        (starts, ends)
    }

    /// Returns whether only user sessions ended.
    fn ends_with_user_sessions(&self) -> bool {
        !self.sessions.is_empty() && self.system_shutdown().is_none()
    }

    fn variant(&self, from_ns: i64) -> (Variant, Rule) {
        let action = milestones(self.trace, milestone::SHUTDOWN_ACTION)
            .filter(|row| row.time_ns >= from_ns)
            .find_map(|row| Some((row.value?, self.trace.text(row.event))));
        let kernel_stops =
            !self.kernel_steps.is_empty() || milestones(self.trace, milestone::KERNEL_SHUTDOWN).next().is_some();
        match action {
            Some((RESTART, event)) => {
                return (Variant::Restart, Rule::KindKernelRestarts { event: event.to_owned() });
            }
            Some((SHUTDOWN | POWER_OFF, event)) if kernel_stops || self.image_write.is_none() => {
                return (Variant::PowerOff, Rule::KindKernelPowersOff { event: event.to_owned() });
            }
            Some((HIBERNATE, event)) if !kernel_stops => {
                return (Variant::FastStartup, Rule::KindImageWriteRequested { event: event.to_owned() });
            }
            _ => {}
        }
        let has_user_session = self.sessions.iter().any(|row| row.session != Some(0));
        if let Some((_, event)) = self.image_write.as_ref().filter(|_| has_user_session && !kernel_stops) {
            return (Variant::FastStartup, Rule::KindImageAfterSession { event: event.clone() });
        }
        let is_recorded = |name| milestones(self.trace, name).next().is_some();
        if self.ends_with_user_sessions()
            && is_recorded(milestone::LOGOFF_REQUEST)
            && !is_recorded(milestone::SHUTDOWN_REQUEST)
            && self.burst.is_none()
        {
            return (Variant::Logoff, Rule::LogoffAndNoShutdown);
        }
        (Variant::Unknown, Rule::KernelActionUnknown)
    }
}

/// Returns the latest known boundary of a phase, in ns.
fn latest_ns((start, end): &(Boundary, Boundary)) -> Option<i64> {
    end.time_ns.or(start.time_ns)
}

fn not_applicable(variant: Variant) -> Boundary {
    Boundary {
        rule: match variant {
            Variant::FastStartup => Rule::NotPartOfFastStartup,
            _ => Rule::NotPartOfLogoff,
        }
        .to_owned(),
        ..Boundary::default()
    }
}

/// Returns when the system started to write a memory image, if it did.
fn image_write(trace: &Trace) -> Option<Match> {
    let writes_image = milestones(trace, milestone::HIBERNATE).next().is_some()
        || milestones(trace, milestone::HYBRID_SHUTDOWN_TIME).next().is_some()
        || milestones(trace, milestone::SLEEP)
            .any(|row| row.value == Some(S4) || trace.text(row.detail).parse() == Ok(S4));
    let first_row = trace
        .activities
        .iter()
        .filter(|row| matches!(row.kind, ActivityKind::PowerTransition | ActivityKind::PowerPhase))
        .min_by_key(|row| row.start_ns)
        .filter(|_| writes_image)?;
    Some((first_row.start_ns, trace.text(first_row.event).to_owned()))
}
