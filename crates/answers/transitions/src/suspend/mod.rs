//! Where the time of sleeping, hibernating and waking went.
//!
//! [`analyze`] turns a [`Trace`] into a [`SuspendReport`] with every power transition of the recording: sleep,
//! hibernation, hybrid sleep, modern standby, and both halves of a fast startup.

mod down_and_up;
#[cfg(test)]
mod hostile;
mod kernel_account;
mod kind;
mod kind_evidence;
mod notified;
mod phase_parts;
mod phases;
pub mod report;
mod requests;
mod session;
#[cfg(test)]
mod tests;

use crate::Phase;
use crate::usage;
use crate::{Half, PhaseName};
use crate::{TransitionKind, Variant};
use onoff_trace::{Duration, Notification, PowerRequest, StringId, SystemKind, TableName, Tables, Trace};

pub use kind_evidence::{KindEvidence, KindFact, state_name};
pub use notified::{APPLICATION_TIME_OUT_NS, SERVICE_TIME_OUT_NS};
pub use onoff_usage::asleep::STOOD_STILL_NS;
pub use report::*;

use onoff_evidence::missing_evidence::{self, Lacking};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, touched_by};
use onoff_usage::asleep::cycles::{self, Cycle, is_kernel_logger};
use onoff_usage::idle::{self, Settling};
use onoff_usage::owners::Owners;
use onoff_usage::person::PersonTime;
use onoff_usage::processes::Images;

/// The tables that the analysis reads. An analysis of a trace that was opened with fewer says less.
pub const TABLES: Tables = Tables::of(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
    TableName::PowerRequests,
]);

/// The tables that say when what happened.
const BOUNDARY_TABLES: [TableName; 4] =
    [TableName::Milestones, TableName::Activities, TableName::Notifications, TableName::PowerRequests];

/// How long after a resume idle time is looked for, at most, ns.
const MAX_POST_RESUME_NS: i64 = 3_600_000_000_000;

/// Analyses the power transitions that `trace` holds.
///
/// # Errors
/// It holds none, or not the requested one; the error says what it holds instead.
pub fn analyze(trace: &Trace, options: &SuspendOptions) -> Result<SuspendReport, NoSuspend> {
    let cycles = cycles::find(trace);
    if cycles.is_empty() {
        return Err(NoSuspend::None(what_it_holds(trace)));
    }
    let found = u32::try_from(cycles.len()).unwrap_or(u32::MAX);
    let source = Source::of(trace);
    let mut owners = Owners::of(trace);
    let mut transitions = Vec::new();
    let mut before_ns = i64::MIN;
    for (number, cycle) in (1_u32..).zip(&cycles) {
        if options.transition.is_none_or(|wanted| wanted == number) {
            transitions.push(source.describe(number, cycle, before_ns, &mut owners, options));
        }
        before_ns = cycle.first_ns;
    }
    if transitions.is_empty() {
        return Err(NoSuspend::NoSuch {
            number: options.transition.unwrap_or_default(),
            found: match found {
                1 => "1 power transition".to_owned(),
                _ => format!("{found} power transitions"),
            },
        });
    }
    usage::fill(trace, transitions.iter_mut().flat_map(|transition| &mut transition.phases));
    Ok(SuspendReport { found, transitions })
}

/// The start half of a fast startup, if `trace` holds one: what a boot is on a computer with fast startup.
#[must_use]
pub fn fast_startup(trace: &Trace, options: &SuspendOptions) -> Option<SuspendReport> {
    let mut report = analyze(trace, options).ok()?;
    report.transitions.retain(|transition| {
        transition.variant == Variant::FastStartup
            && (transition.details.resume.measured.end_ns.is_some() || transition.details.resume_parts.is_some())
    });
    (!report.transitions.is_empty()).then_some(report)
}

fn what_it_holds(trace: &Trace) -> String {
    let recorder = match trace.recorder.as_str() {
        "" => "an unnamed session",
        name => name,
    };
    format!(
        "it is {} long, recorded by {recorder}; a transition needs the provider \
         Microsoft-Windows-Kernel-Power or the kernel logger's power events",
        Duration::from_ns(trace.duration_ns)
    )
}

/// A trace with the rows in the order in which they are asked about.
struct Source<'a> {
    trace: &'a Trace,
    images: Images<'a>,
    notifications: Vec<Notification>,
    requests: Vec<PowerRequest>,
    sessions: session::Sessions,
    lacking: Lacking,
}

impl<'a> Source<'a> {
    fn of(trace: &'a Trace) -> Self {
        let mut notifications: Vec<Notification> = trace.notifications.iter().collect();
        notifications.sort_by_key(|row| row.start_ns);
        let mut requests: Vec<PowerRequest> = trace.power_requests.iter().collect();
        requests.sort_by_key(|row| row.start_ns);
        Self {
            trace,
            images: Images::of(trace),
            notifications,
            requests,
            sessions: session::Sessions::of(trace),
            lacking: missing_evidence::for_suspend(trace),
        }
    }

    fn describe(
        &self,
        number: u32,
        cycle: &Cycle,
        before_ns: i64,
        owners: &mut Owners,
        options: &SuspendOptions,
    ) -> PowerTransition {
        let trace = self.trace;
        let mut phases = phases::recorded(trace, cycle);
        let session_end =
            self.sessions.told_to_end(trace, before_ns, cycle.first_ns).filter(|_| cycle.standby.is_none());
        let kinship = kind::decide(trace, cycle, &self.requests, session_end.is_some());
        let is_fast = kinship.variant == Variant::FastStartup;
        let mut from_ns = cycle.first_ns;
        if let Some(begin) = session_end.filter(|_| is_fast) {
            from_ns = begin.time_ns.unwrap_or(from_ns);
            phases.push(session::ending(&begin, &phases, cycle.first_ns));
        }
        let window = (from_ns, cycle.until_ns);
        let mut notifications = notified::between(trace, &self.notifications, &self.images, window, is_fast);
        phases::infer_from_told(&mut phases, &notifications);
        // In modern standby devices sleep and wake all the time, of themselves.
        if cycle.standby.is_none() {
            requests::infer_phases(&mut phases, &self.requests, window);
        }
        let mut halves = down_and_up::of(trace, cycle, &phases, kinship.variant);
        let asleep = &halves.asleep.measured;
        if asleep.duration_ns.is_some() {
            let name = match kinship.variant {
                Variant::ModernStandby => PhaseName::Standby,
                _ => PhaseName::Asleep,
            };
            phases.push(phases::spanning(name, asleep));
        }

        let resumed = Boundary {
            time_ns: halves.end_ns.filter(|_| cycle.standby.is_some() || halves.resume.measured.end_ns.is_some()),
            rule: Rule::ResumeEnds,
            event: String::new(),
            certainty: halves.resume.measured.certainty,
            missing: Vec::new(),
        };
        let mut person_ns = match halves.resume.unrecorded_ns {
            Some(_) => phases::person_at_loader(trace, cycle, &mut phases),
            None => 0,
        };
        if is_fast {
            phases.extend(session::beginning(trace, &resumed, cycle.until_ns, &options.shell));
            let desktop_ns = desktop(&phases).and_then(|phase| phase.end_ns);
            // A way up that the recording lacks has no session either.
            if halves.resume.is_recorded() {
                halves.resume.reach(desktop_ns);
            }
            if let Some((awake_ns, desktop_ns)) = halves.resume.measured.start_ns.zip(desktop_ns) {
                let person = PersonTime::before_desktop(trace, &options.shell, (awake_ns, desktop_ns));
                let of_session = |phase: &&mut Phase| phase.half == Some(Half::After);
                phases.iter_mut().filter(of_session).for_each(|phase| phase.set_person_time(&person));
                person_ns = person_ns.saturating_add(person.ns());
            }
        }
        halves.resume.leave_out(person_ns);
        let post_resume = self.settle(&resumed, &phases, cycle, owners, options);
        phases.extend(post_resume_phase(&post_resume, &phases, is_fast));

        let requests_until = phases
            .iter()
            .filter(|phase| phase.half == Some(Half::Resume))
            .filter_map(|phase| phase.end_ns)
            .chain(halves.end_ns)
            .max()
            .map_or(cycle.until_ns, |end| end.saturating_add(1).min(cycle.until_ns));
        let requests::Requests { mut devices, drivers } = match cycle.standby {
            None => requests::between(trace, &self.requests, &phases, (from_ns, requests_until)),
            Some(_) => requests::Requests::default(),
        };
        if cycle.standby.is_some() {
            notifications.clear();
        }
        phase_parts::sum_up(&mut phases, &notifications, &mut devices, cycle.until_ns);
        phases::sort(&mut phases);

        let start_ns = halves.suspend.measured.start_ns.unwrap_or(from_ns).min(from_ns);
        let value = |name: &str| cycle.value(trace, name).map(|(value, _)| value);
        let number_of = |id: StringId| trace.text(id).parse::<u32>().ok();
        let by_power_manager = cycle.whole.filter(|row| !is_kernel_logger(trace, row.event));
        let (total_ns, total_at_least_ns, total_certainty) = halves.total(kinship.variant);
        let mut transition = PowerTransition {
            system: SystemKind::Windows,
            kind: TransitionKind::Suspend,
            variant: kinship.variant,
            number,
            start_ns: Some(start_ns),
            end_ns: halves.end_ns,
            total_ns,
            total_at_least_ns,
            total_certainty,
            person_ns,
            phases,
            units: Vec::new(),
            settling: Some(post_resume),
            touched_by: touched_by(trace, &BOUNDARY_TABLES),
            lacking: self.lacking.clone(),
            losses: trace.losses.clone(),
            culprits: Vec::new(),
            fix_first: None,
            details: WindowsSuspend {
                variant_rule: kinship.rule,
                variant_certainty: kinship.certainty,
                evidence: kinship.evidence,
                target_state: kinship.target_state,
                effective_state: kinship.effective_state,
                woke_from_state: kinship.woke_from_state,
                reason: by_power_manager.and_then(|row| number_of(row.name)),
                status: cycle.whole.and_then(|row| row.status),
                wake_source: cycle
                    .milestone(trace, onoff_trace::milestone::WAKE_SOURCE)
                    .map(|row| trace.text(row.detail).to_owned())
                    .unwrap_or_default(),
                suspend: halves.suspend,
                asleep: halves.asleep,
                resume: halves.resume,
                notifications,
                devices,
                drivers,
                resume_parts: kernel_account::resume_parts(trace, cycle),
                standby: kernel_account::standby(trace, cycle),
                firmware: kernel_account::firmware(trace, cycle),
                kernel_account: kernel_account::account(trace, cycle),
                hibernate_file_bytes: value(onoff_trace::milestone::HIBERNATE_FILE_SIZE),
                hibernate_pages: value(onoff_trace::milestone::POWER_HIBERNATE_PAGES),
                missing: Vec::new(),
            },
        };
        transition.details.missing = missing(&transition);
        transition
    }

    /// When the computer had settled, counting from the end of the resume, or from the desktop of a new session.
    fn settle(
        &self,
        resumed: &Boundary,
        phases: &[Phase],
        cycle: &Cycle,
        owners: &mut Owners,
        options: &SuspendOptions,
    ) -> Settling {
        match desktop(phases).and_then(|phase| phase.end_ns).or(resumed.time_ns) {
            Some(start_ns) => {
                let latest_ns = cycle.until_ns.min(start_ns.saturating_add(MAX_POST_RESUME_NS));
                idle::settle_before(self.trace, owners, start_ns, latest_ns, options.idle)
            }
            None => Settling {
                metric: options.idle,
                rule: Rule::IdleCountNeedsResume,
                missing: vec![Rule::ResumeEnds],
                ..Settling::default()
            },
        }
    }
}

/// The phase whose end is a new session's desktop.
fn desktop(phases: &[Phase]) -> Option<&Phase> {
    phases.iter().find(|phase| phase.name == PhaseName::ExplorerInit)
}

fn post_resume_phase(settling: &Settling, phases: &[Phase], is_fast: bool) -> Option<Phase> {
    let name = if is_fast && desktop(phases).is_some() { PhaseName::PostBoot } else { PhaseName::PostResume };
    let start_ns = settling.start_ns?;
    let starts = Boundary {
        time_ns: Some(start_ns),
        rule: Rule::ResumeEndsOrDesktop,
        certainty: settling.certainty,
        ..Boundary::default()
    };
    let ends = Boundary {
        time_ns: settling.end_ns,
        rule: settling.rule.clone(),
        event: String::new(),
        certainty: settling.certainty,
        missing: settling.missing.clone(),
    };
    Some(Phase::between(name, &starts, &ends).of_sleep())
}

/// What all parts of a transition lacked, each once.
fn missing(transition: &PowerTransition) -> Vec<Rule> {
    let mut all: Vec<Rule> = Vec::new();
    let parts = [&transition.details.suspend.measured.missing, &transition.details.resume.measured.missing];
    let of_phases = transition.phases.iter().flat_map(|phase| [&phase.starts.missing, &phase.ends.missing]);
    for name in parts.into_iter().chain(of_phases).flatten() {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    if transition.details.variant_certainty == Certainty::Missing {
        all.push(Rule::StateEntered);
    }
    all
}
