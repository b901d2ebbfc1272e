//! The course of a shutdown: where it begins, where each phase begins and ends, and what kind of shutdown it is.
//!
//! Sources of the rules: the Microsoft paper for what each phase is; for the events, the providers' manifests.

use crate::PhaseName;
use crate::Variant;
use onoff_trace::{Activity, ActivityKind, NotificationKind, Trace, milestone, shutdown_step};

use super::exits::Burst;
use crate::search::{Found, Search, first_of, milestone_at, milestones};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty};

/// `POWER_ACTION` as the kernel records it.
const HIBERNATE: i64 = 3;
const SHUTDOWN: i64 = 4;
const RESTART: i64 = 5;
const POWER_OFF: i64 = 6;

/// `SYSTEM_POWER_STATE`: hibernation.
const S4: i64 = 5;

/// The boundaries of a shutdown.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub variant: Variant,
    pub variant_rule: Rule,
    pub starts: Boundary,
    pub ends: Boundary,
    pub user: (Boundary, Boundary),
    pub system: (Boundary, Boundary),
    pub kernel: (Boundary, Boundary),
}

impl Course {
    pub(super) fn phase(&self, name: PhaseName) -> &(Boundary, Boundary) {
        match name {
            PhaseName::UserSession => &self.user,
            PhaseName::SystemSession => &self.system,
            _ => &self.kernel,
        }
    }
}

/// What was recorded about a shutdown.
pub(super) struct Facts<'a> {
    trace: &'a Trace,
    /// Ends of processes that look like one.
    pub burst: Option<Burst>,
    /// The applications of sessions are ended, by start.
    sessions: Vec<Activity>,
    /// Steps of ending sessions, by start.
    steps: Vec<Activity>,
    /// Steps of the kernel, by start.
    kernel_steps: Vec<Activity>,
    /// A memory image is made instead of a kernel's shutdown: since when.
    power: Option<Found>,
}

impl<'a> Facts<'a> {
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

    /// Whether anything recorded is of a shutdown.
    pub(super) fn hold_a_shutdown(&self) -> bool {
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

    fn found(&self, time_ns: i64, row: &Activity) -> Found {
        (time_ns, self.trace.text(row.event).to_owned())
    }

    fn begin(&self, row: Option<Activity>) -> Option<Found> {
        row.map(|row| self.found(row.start_ns, &row))
    }

    fn end(&self, row: Option<Activity>) -> Option<Found> {
        row.and_then(|row| Some(self.found(row.end_ns?, &row)))
    }

    fn system_session(&self) -> Option<Activity> {
        let mut rows = self.sessions.iter().filter(|row| row.session == Some(0));
        rows.next_back().copied()
    }

    fn pre_shutdown(&self) -> Option<Activity> {
        self.step(&self.steps, shutdown_step::PRE_SHUTDOWN_NOTIFICATION)
    }

    /// The user's sessions are over by then, as far as recorded.
    fn system_goes_down(&self) -> Option<Found> {
        [
            self.begin(self.pre_shutdown()),
            self.begin(self.system_session()),
            milestones(self.trace, milestone::KERNEL_SHUTDOWN)
                .next()
                .map(|row| (row.time_ns, self.trace.text(row.event).to_owned())),
            self.begin(self.kernel_steps.first().copied()),
            self.power.clone(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// The request that led to this shutdown: the last one before the last user's session was ended. Earlier ones were
    /// refused or are another logoff's.
    fn request(&self) -> Option<Found> {
        let goes_down = self.system_goes_down().map_or(i64::MAX, |found| found.0);
        let last_user = self
            .sessions
            .iter()
            .filter(|row| row.session != Some(0) && row.start_ns <= goes_down)
            .map(|row| row.start_ns)
            .next_back()
            .unwrap_or(goes_down);
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
                    self.begin(self.step(&self.steps, shutdown_step::INITIATE_SHUTDOWN))
                }),
                Search::inferred(Rule::RequestToLogOff, |from| {
                    milestone_at(self.trace, milestone::LOGOFF_REQUEST, from)
                }),
                Search::inferred(Rule::FirstSessionStep, |_| self.begin(self.steps.first().copied())),
                Search::inferred(Rule::FirstSessionNotified, |_| self.begin(self.sessions.first().copied())),
                Search::inferred(Rule::FirstApplicationNotified, first_application),
                Search::inferred(Rule::KernelRequested, |from| {
                    milestone_at(self.trace, milestone::KERNEL_SHUTDOWN, from)
                }),
                Search::inferred(Rule::KernelFirstStep, |_| self.begin(self.kernel_steps.first().copied())),
                Search::inferred(Rule::FirstProcessEnds, |_| Some((self.burst?.first_ns, "Process/End".to_owned()))),
            ],
            0,
        )
    }

    /// The course of the shutdown.
    pub(super) fn course(&self) -> Course {
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
                missing: Vec::new(),
            }),
            Variant::Logoff => Some(user.1.clone()),
            _ => None,
        };
        // Before a fast startup all of it is the end of the user's session, with the logoff's subscribers and scripts: so the power
        // transition that follows has it too.
        let user = match (&ends, variant) {
            (Some(ends), Variant::FastStartup) if starts.time_ns <= ends.time_ns => (starts.clone(), ends.clone()),
            _ => user,
        };
        Course { variant, variant_rule, starts, ends: ends.unwrap_or_else(|| kernel.1.clone()), user, system, kernel }
    }

    fn user(&self, from: i64) -> (Boundary, Boundary) {
        let rows: Vec<&Activity> =
            self.sessions.iter().filter(|row| row.session != Some(0) && row.start_ns >= from).collect();
        let told: Vec<_> = self
            .applications()
            .filter(|row| row.session.is_some_and(|session| session > 0) && row.start_ns >= from)
            .collect();
        // Ends of processes speak only where nothing better does.
        let exits = || {
            let silent = self.sessions.is_empty() && told.is_empty();
            self.burst.filter(|_| silent && self.steps.is_empty()).and_then(|burst| burst.users)
        };
        let starts = first_of(
            &[
                Search::measured(Rule::FirstUserSessionNotified, |_| self.begin(rows.first().map(|&&row| row))),
                Search::inferred(Rule::FirstUserApplicationNotified, |_| {
                    let first = told.iter().min_by_key(|row| row.start_ns)?;
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
                    let follows = self.system_goes_down().filter(|found| found.0 >= from)?;
                    starts.time_ns.map(|_| follows)
                }),
                Search::inferred(Rule::LastUserApplicationAnswered, |_| {
                    let last = told.iter().max_by_key(|row| row.end_ns)?;
                    let answered = rows.is_empty() && told.iter().all(|row| row.end_ns.is_some());
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
            let silent = session.is_none() && pre_shutdown.is_none() && self.steps.is_empty();
            self.burst.filter(|_| silent)?.last_host_ns
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
                Search::measured(Rule::PreShutdownNotified, |_| self.begin(pre_shutdown)),
                Search::measured(Rule::SystemSessionNotified, |_| self.begin(session)),
                Search::inferred(Rule::FirstServiceToldToStop, |from| {
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
                Search::measured(Rule::SystemSessionOver, |_| self.end(session)),
                Search::inferred(Rule::SystemProcessesWaitedFor, |from| {
                    let step = self.step(&self.steps, shutdown_step::WAIT_FOR_SYSTEM_PROCESSES);
                    self.end(step).filter(|found| found.0 >= from)
                }),
                Search::inferred(Rule::KernelRequested, |from| {
                    starts.time_ns?;
                    milestone_at(self.trace, milestone::KERNEL_SHUTDOWN, from)
                }),
                Search::inferred(Rule::KernelFirstStep, |from| {
                    starts.time_ns?;
                    self.begin(self.kernel_steps.first().copied()).filter(|found| found.0 >= from)
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
                    self.begin(self.kernel_steps.first().copied()).filter(|found| found.0 >= from)
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
        // The kernel may do more after it says that the orderly part is over: until all of that has ended the end is not known.
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

    /// Nothing but users' sessions were ended.
    fn ends_with_user_sessions(&self) -> bool {
        !self.sessions.is_empty() && self.system_goes_down().is_none()
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
                return (Variant::PowerOff, Rule::KindKernelTurnsOff { event: event.to_owned() });
            }
            Some((HIBERNATE, event)) if !kernel => {
                return (Variant::FastStartup, Rule::KindImageToBeWritten { event: event.to_owned() });
            }
            _ => {}
        }
        let users = self.sessions.iter().any(|row| row.session != Some(0));
        if let Some((_, event)) = self.power.as_ref().filter(|_| users && !kernel) {
            return (Variant::FastStartup, Rule::KindImageAfterSession { event: event.clone() });
        }
        let asked = |name| milestones(self.trace, name).next().is_some();
        if self.ends_with_user_sessions()
            && asked(milestone::LOGOFF_REQUEST)
            && !asked(milestone::SHUTDOWN_REQUEST)
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

/// Since when the system goes into a memory image, if it does.
fn power(trace: &Trace) -> Option<Found> {
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
