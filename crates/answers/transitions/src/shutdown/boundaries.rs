//! Finds the boundaries of a shutdown and of its phases, and the kind of shutdown.
//!
//! Sources: the Microsoft paper for the meaning of each phase; provider manifests for the events.

use crate::PhaseName;
use crate::Variant;
use onoff_trace::{Activity, ActivityKind, NotificationKind, Trace, milestone, shutdown_step};

use super::exits::Burst;
use crate::search::{Match, Search, first_of, milestone_at, milestones};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// `POWER_ACTION` values, as recorded by the kernel.
const HIBERNATE: i64 = 3;
const SHUTDOWN: i64 = 4;
const RESTART: i64 = 5;
const POWER_OFF: i64 = 6;

/// `SYSTEM_POWER_STATE`: hibernation.
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
    /// Start of writing a memory image, if the kernel does that instead of shutting down.
    power: Option<Match>,
}

impl<'a> Events<'a> {
    pub(super) fn of(trace: &'a Trace, burst: Option<Burst>) -> Self {
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
            power: power(trace),
        }
    }

    /// Whether any event belongs to a shutdown.
    pub(super) fn show_a_shutdown(&self) -> bool {
        !self.sessions.is_empty()
            || !self.steps.is_empty()
            || !self.kernel_steps.is_empty()
            || self.burst.is_some()
            || [milestone::KERNEL_SHUTDOWN, milestone::SHUTDOWN_REQUEST]
                .iter()
                .any(|name| milestones(self.trace, name).next().is_some())
            || self.applications().next().is_some()
    }

    fn applications(&self) -> impl Iterator<Item = onoff_trace::Notification> {
        let rows = self.trace.notifications.iter();
        rows.filter(|row| row.kind == NotificationKind::ApplicationShutdown)
    }

    fn step(&self, rows: &[Activity], name: &str) -> Option<Activity> {
        rows.iter().find(|row| self.trace.text(row.name) == name).copied()
    }

    fn matched(&self, time_ns: i64, row: &Activity) -> Match {
        (time_ns, self.trace.text(row.event).to_owned())
    }

    fn start(&self, row: Option<Activity>) -> Option<Match> {
        row.map(|row| self.matched(row.start_ns, &row))
    }

    fn end(&self, row: Option<Activity>) -> Option<Match> {
        row.and_then(|row| Some(self.matched(row.end_ns?, &row)))
    }

    fn system_session(&self) -> Option<Activity> {
        let mut rows = self.sessions.iter().filter(|row| row.session == Some(0));
        rows.next_back().copied()
    }

    fn pre_shutdown(&self) -> Option<Activity> {
        self.step(&self.steps, shutdown_step::PRE_SHUTDOWN_NOTIFICATION)
    }

    /// Start of the system shutdown: the user sessions have ended by then, as far as recorded.
    fn system_shutdown(&self) -> Option<Match> {
        [
            self.start(self.pre_shutdown()),
            self.start(self.system_session()),
            milestones(self.trace, milestone::KERNEL_SHUTDOWN)
                .next()
                .map(|row| (row.time_ns, self.trace.text(row.event).to_owned())),
            self.start(self.kernel_steps.first().copied()),
            self.power.clone(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The request that led to this shutdown: the last one before the last user session ended. Earlier requests were
    /// refused or belong to another logoff.
    fn request(&self) -> Option<Match> {
        let shutdown_ns = self.system_shutdown().map_or(i64::MAX, |found| found.0);
        let last_user = self
            .sessions
            .iter()
            .filter(|row| row.session != Some(0) && row.start_ns <= shutdown_ns)
            .map(|row| row.start_ns)
            .next_back()
            .unwrap_or(shutdown_ns);
        milestones(self.trace, milestone::SHUTDOWN_REQUEST)
            .filter(|row| row.time_ns <= last_user)
            .max_by_key(|row| row.time_ns)
            .map(|row| (row.time_ns, self.trace.text(row.event).to_owned()))
    }

    fn starts(&self) -> Boundary {
        let first_application = |_| {
            let first = self.applications().min_by_key(|row| row.start_ns)?;
            Some((first.start_ns, self.trace.text(first.event).to_owned()))
        };
        first_of(
            &[
                Search::measured(Rule::RequestForShutdown, |_| self.request()),
                Search::measured(Rule::LogonProcessRequestsShutdown, |_| {
                    self.start(self.step(&self.steps, shutdown_step::INITIATE_SHUTDOWN))
                }),
                Search::inferred(Rule::RequestToLogOff, |from| {
                    milestone_at(self.trace, milestone::LOGOFF_REQUEST, from)
                }),
                Search::inferred(Rule::FirstSessionStep, |_| self.start(self.steps.first().copied())),
                Search::inferred(Rule::FirstSessionNotified, |_| self.start(self.sessions.first().copied())),
                Search::inferred(Rule::FirstApplicationNotified, first_application),
                Search::inferred(Rule::KernelRequested, |from| {
                    milestone_at(self.trace, milestone::KERNEL_SHUTDOWN, from)
                }),
                Search::inferred(Rule::KernelFirstStep, |_| self.start(self.kernel_steps.first().copied())),
                Search::inferred(Rule::FirstProcessEnds, |_| Some((self.burst?.first_ns, "Process/End".to_owned()))),
            ],
            0,
        )
    }

    /// The boundaries of the shutdown and its phases.
    pub(super) fn boundaries(&self) -> ShutdownBoundaries {
        let starts = self.starts();
        let from = starts.time_ns.unwrap_or(0);
        let (variant, variant_rule) = self.variant(from);
        let user = self.user(from);
        let reached = user.1.time_ns.or(user.0.time_ns).unwrap_or(from);
        let system = self.system(variant, reached);
        let reached = system.1.time_ns.or(system.0.time_ns).unwrap_or(reached);
        let kernel = self.kernel(variant, &system.1, reached);
        let ends = match variant {
            Variant::FastStartup => self.power.clone().map(|(time_ns, event)| Boundary {
                time_ns: Some(time_ns),
                rule: Rule::PowerTransitionFollows,
                event,
                certainty: Certainty::Inferred,
                unmatched_rules: Vec::new(),
            }),
            Variant::Logoff => Some(user.1.clone()),
            _ => None,
        };
        // Before a fast startup, everything belongs to the end of the user session, including logoff subscribers and
        // scripts; the power transition that follows uses the same interval.
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

    fn user(&self, from: i64) -> (Boundary, Boundary) {
        let rows: Vec<&Activity> =
            self.sessions.iter().filter(|row| row.session != Some(0) && row.start_ns >= from).collect();
        let notified: Vec<_> = self
            .applications()
            .filter(|row| row.session.is_some_and(|session| session > 0) && row.start_ns >= from)
            .collect();
        // Process exits are used only if there is no better evidence.
        let exits = || {
            let unnotified = self.sessions.is_empty() && notified.is_empty();
            self.burst.filter(|_| unnotified && self.steps.is_empty()).and_then(|burst| burst.users)
        };
        let starts = first_of(
            &[
                Search::measured(Rule::FirstUserSessionNotified, |_| self.start(rows.first().map(|&&row| row))),
                Search::inferred(Rule::FirstUserApplicationNotified, |_| {
                    let first = notified.iter().min_by_key(|row| row.start_ns)?;
                    Some((first.start_ns, self.trace.text(first.event).to_owned()))
                }),
                Search::inferred(Rule::FirstUserProgramEnds, |_| Some((exits()?.0, "Process/End".to_owned()))),
            ],
            from,
        );
        let reached = starts.time_ns.unwrap_or(from);
        let all_ended = rows.iter().all(|row| row.end_ns.is_some());
        let ends = first_of(
            &[
                Search::measured(Rule::UserSessionsEnded, |_| {
                    let last = rows.iter().max_by_key(|row| row.end_ns)?;
                    self.end(Some(**last).filter(|_| all_ended))
                }),
                Search::inferred(Rule::AfterUserSessions, |from| {
                    let follows = self.system_shutdown().filter(|found| found.0 >= from)?;
                    starts.time_ns.map(|_| follows)
                }),
                Search::inferred(Rule::LastUserApplicationResponded, |_| {
                    let last = notified.iter().max_by_key(|row| row.end_ns)?;
                    let answered = rows.is_empty() && notified.iter().all(|row| row.end_ns.is_some());
                    let end = last.end_ns.filter(|_| answered)?;
                    Some((end, self.trace.text(last.event).to_owned()))
                }),
                Search::inferred(Rule::LastUserProgramEnds, |_| Some((exits()?.1, "Process/End".to_owned()))),
            ],
            reached,
        );
        (starts, ends)
    }

    fn system(&self, variant: Variant, from: i64) -> (Boundary, Boundary) {
        if matches!(variant, Variant::FastStartup | Variant::Logoff) {
            return (not_part(variant), not_part(variant));
        }
        let session = self.system_session().filter(|row| row.start_ns >= from);
        let pre_shutdown = self.pre_shutdown().filter(|row| row.start_ns >= from);
        let exits = || {
            let unnotified = session.is_none() && pre_shutdown.is_none() && self.steps.is_empty();
            self.burst.filter(|_| unnotified)?.last_host_ns
        };
        let first_stop = |from: i64| {
            let stops = self
                .trace
                .service_transitions
                .iter()
                .filter(|row| row.kind == onoff_trace::ServiceChange::Stop && row.start_ns >= from);
            let first = stops.min_by_key(|row| row.start_ns)?;
            Some((first.start_ns, self.trace.text(first.event).to_owned()))
        };
        let starts = first_of(
            &[
                Search::measured(Rule::PreShutdownNotified, |_| self.start(pre_shutdown)),
                Search::measured(Rule::SystemSessionNotified, |_| self.start(session)),
                Search::inferred(Rule::FirstServiceStopRequested, |from| {
                    first_stop(from).filter(|_| !self.ends_with_user_sessions())
                }),
                Search::inferred(Rule::LastUserProgramEnds, |from| {
                    exits().filter(|&last| last >= from)?;
                    Some((self.burst?.users?.1.max(from), "Process/End".to_owned()))
                }),
            ],
            from,
        );
        let reached = starts.time_ns.unwrap_or(from);
        let ends = first_of(
            &[
                Search::measured(Rule::SystemSessionShutdownEnds, |_| self.end(session)),
                Search::inferred(Rule::SystemProcessWaitEnds, |from| {
                    let step = self.step(&self.steps, shutdown_step::WAIT_FOR_SYSTEM_PROCESSES);
                    self.end(step).filter(|found| found.0 >= from)
                }),
                Search::inferred(Rule::KernelRequested, |from| {
                    starts.time_ns?;
                    milestone_at(self.trace, milestone::KERNEL_SHUTDOWN, from)
                }),
                Search::inferred(Rule::KernelFirstStep, |from| {
                    starts.time_ns?;
                    self.start(self.kernel_steps.first().copied()).filter(|found| found.0 >= from)
                }),
                Search::inferred(Rule::LastServiceHostEnds, |from| {
                    let last = exits().filter(|&last| last >= from)?;
                    Some((last, "Process/End".to_owned()))
                }),
            ],
            reached,
        );
        (starts, ends)
    }

    fn kernel(&self, variant: Variant, system_ends: &Boundary, from: i64) -> (Boundary, Boundary) {
        if matches!(variant, Variant::FastStartup | Variant::Logoff) {
            return (not_part(variant), not_part(variant));
        }
        let starts = first_of(
            &[
                Search::measured(Rule::KernelRequested, |from| {
                    milestone_at(self.trace, milestone::KERNEL_SHUTDOWN, from)
                }),
                Search::measured(Rule::KernelFirstStep, |from| {
                    self.start(self.kernel_steps.first().copied()).filter(|found| found.0 >= from)
                }),
                Search::inferred(Rule::KernelRecordsAction, |from| {
                    milestone_at(self.trace, milestone::SHUTDOWN_ACTION, from)
                        .or_else(|| milestone_at(self.trace, milestone::SYSTEM_STOP, from))
                }),
                Search::inferred(Rule::SystemSessionEnds, |_| Some((system_ends.time_ns?, system_ends.event.clone()))),
            ],
            from,
        );
        let reached = starts.time_ns.unwrap_or(from);
        let whole = self.step(&self.kernel_steps, shutdown_step::GRACEFUL_SHUTDOWN);
        // The kernel may continue after it reports the end of the orderly part. The end is unknown until all of that
        // has ended.
        let over_ns = whole.and_then(|whole| whole.end_ns).unwrap_or(i64::MAX);
        let is_later = |row: &&Activity| row.end_ns.map_or(row.start_ns >= over_ns, |end| end > over_ns);
        let later = || self.kernel_steps.iter().filter(is_later);
        let all_ended = later().all(|row| row.end_ns.is_some());
        let last = later().max_by_key(|row| row.end_ns).copied();
        let rule = if last.is_some() { Rule::KernelLastStepEnds } else { Rule::KernelOrderlyShutdownEnds };
        let ends = first_of(
            &[Search::measured(rule, |from| {
                self.end(last.or(whole).filter(|_| all_ended)).filter(|found| found.0 >= from)
            })],
            reached,
        );
        (starts, ends)
    }

    /// Whether only user sessions ended.
    fn ends_with_user_sessions(&self) -> bool {
        !self.sessions.is_empty() && self.system_shutdown().is_none()
    }

    fn variant(&self, from: i64) -> (Variant, Rule) {
        let action = milestones(self.trace, milestone::SHUTDOWN_ACTION)
            .filter(|row| row.time_ns >= from)
            .find_map(|row| Some((row.value?, self.trace.text(row.event))));
        let kernel =
            !self.kernel_steps.is_empty() || milestones(self.trace, milestone::KERNEL_SHUTDOWN).next().is_some();
        match action {
            Some((RESTART, event)) => {
                return (Variant::Restart, Rule::KindKernelRestarts { event: event.to_owned() });
            }
            Some((SHUTDOWN | POWER_OFF, event)) if kernel || self.power.is_none() => {
                return (Variant::PowerOff, Rule::KindKernelPowersOff { event: event.to_owned() });
            }
            Some((HIBERNATE, event)) if !kernel => {
                return (Variant::FastStartup, Rule::KindImageWriteRequested { event: event.to_owned() });
            }
            _ => {}
        }
        let users = self.sessions.iter().any(|row| row.session != Some(0));
        if let Some((_, event)) = self.power.as_ref().filter(|_| users && !kernel) {
            return (Variant::FastStartup, Rule::KindImageAfterSession { event: event.clone() });
        }
        let requested = |name| milestones(self.trace, name).next().is_some();
        if self.ends_with_user_sessions()
            && requested(milestone::LOGOFF_REQUEST)
            && !requested(milestone::SHUTDOWN_REQUEST)
            && self.burst.is_none()
        {
            return (Variant::Logoff, Rule::LogoffAndNoShutdown);
        }
        (Variant::Unknown, Rule::KernelActionUnknown)
    }
}

fn not_part(variant: Variant) -> Boundary {
    Boundary {
        rule: match variant {
            Variant::FastStartup => Rule::NotPartOfFastStartup,
            _ => Rule::NotPartOfLogoff,
        }
        .to_owned(),
        ..Boundary::default()
    }
}

/// When the system started to write a memory image, if it did.
fn power(trace: &Trace) -> Option<Match> {
    let hibernates = milestones(trace, milestone::HIBERNATE).next().is_some()
        || milestones(trace, milestone::HYBRID_SHUTDOWN_TIME).next().is_some()
        || milestones(trace, milestone::SLEEP)
            .any(|row| row.value == Some(S4) || trace.text(row.detail).parse() == Ok(S4));
    let first = trace
        .activities
        .iter()
        .filter(|row| matches!(row.kind, ActivityKind::PowerTransition | ActivityKind::PowerPhase))
        .min_by_key(|row| row.start_ns)
        .filter(|_| hibernates)?;
    Some((first.start_ns, trace.text(first.event).to_owned()))
}
