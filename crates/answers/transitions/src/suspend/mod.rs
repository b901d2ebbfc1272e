//! Analyzes the power transitions of Windows: suspend, hibernation and resume.
//!
//! [`analyze`] turns a [`Trace`] into a [`SuspendReport`] with every power transition in the recording: sleep,
//! hibernation, hybrid sleep, modern standby, and both parts of a fast startup.

mod absences;
mod kernel_account;
mod kind;
mod kind_evidence;
mod notified;
mod phase_parts;
mod phases;
mod power_report;
pub mod report;
mod requests;
mod session;
mod suspend_resume;
#[cfg(test)]
mod tests;

use crate::Phase;
use crate::usage;
use crate::{PhaseName, SuspendStage};
use crate::{TransitionKind, Variant};
use onoff_trace::{Duration, Notification, PowerRequest, StringId, SystemKind, TableName, TableSet, Trace};

pub use absences::{AwakeRequester, UserAbsence, user_absences};
pub use kind_evidence::{KindEvidence, KindFact, state_name};
pub use notified::{APPLICATION_TIME_OUT_NS, SERVICE_TIME_OUT_NS};
pub use onoff_usage::asleep::MIN_CLOCK_STOP_NS;
pub use report::*;

use onoff_evidence::missing_evidence::{self, MissingEvidence};
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, affecting_losses};
use onoff_usage::asleep::cycles::{self, Cycle, is_kernel_logger};
use onoff_usage::idle::{self, Settling};
use onoff_usage::owners::Owners;
use onoff_usage::processes::Images;
use onoff_usage::user_input::UserInputTime;

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
    TableName::PowerRequests,
    TableName::PowerSessions,
    TableName::LowPowerBlockers,
    TableName::UserAbsences,
    TableName::AvailabilityRequests,
]);

/// The tables that boundary rules read.
const BOUNDARY_TABLES: [TableName; 4] =
    [TableName::Milestones, TableName::Activities, TableName::Notifications, TableName::PowerRequests];

/// Maximum time after a resume to search for idle time, in ns.
const MAX_POST_RESUME_NS: i64 = 3_600_000_000_000;

/// Analyzes the power transitions in `trace`.
///
/// # Errors
/// `trace` contains no transition, or not the requested one; the error describes what it contains instead.
pub fn analyze(trace: &Trace, options: &SuspendOptions) -> Result<SuspendReport, NoSuspend> {
    let cycles = cycles::find(trace);
    let absences = user_absences(trace);
    if cycles.is_empty() && absences.is_empty() {
        return Err(NoSuspend::None(describe_recording(trace)));
    }
    let found = u32::try_from(cycles.len()).unwrap_or(u32::MAX);
    let source = Source::new(trace);
    let mut owners = Owners::from_trace(trace);
    let mut transitions = Vec::new();
    let mut previous_ns = i64::MIN;
    for (number, cycle) in (1_u32..).zip(&cycles) {
        if options.transition.is_none_or(|requested| requested == number) {
            transitions.push(source.describe(number, cycle, previous_ns, &mut owners, options));
        }
        previous_ns = cycle.first_ns;
    }
    if transitions.is_empty() && (options.transition.is_some() || absences.is_empty()) {
        return Err(NoSuspend::NoSuch {
            number: options.transition.unwrap_or_default(),
            found: match found {
                0 => "no power transition".to_owned(),
                1 => "1 power transition".to_owned(),
                _ => format!("{found} power transitions"),
            },
        });
    }
    usage::fill(trace, transitions.iter_mut().flat_map(|transition| &mut transition.phases));
    Ok(SuspendReport { found, transitions, absences })
}

/// The fast startups in `trace`, if any: on a computer with fast startup, these are its boots.
#[must_use]
pub fn fast_startup(trace: &Trace, options: &SuspendOptions) -> Option<SuspendReport> {
    let mut report = analyze(trace, options).ok()?;
    report.transitions.retain(|transition| {
        transition.variant == Variant::FastStartup
            && (transition.details.resume.measured.end_ns.is_some() || transition.details.resume_parts.is_some())
    });
    (!report.transitions.is_empty()).then_some(report)
}

fn describe_recording(trace: &Trace) -> String {
    if !trace.channels.is_empty() {
        return format!("Windows event logs of a boot of {}; --boot selects another boot", length(trace));
    }
    if trace.is_power_report() {
        return format!("a Windows power report of {}, in which the computer did not sleep", length(trace));
    }
    let recorder = match trace.recorder.as_str() {
        "" => "an unnamed session",
        name => name,
    };
    format!(
        "{} recorded by {recorder}; to see transitions, record the provider Microsoft-Windows-Kernel-Power or the \
         power events of the NT Kernel Logger",
        length(trace)
    )
}

fn length(trace: &Trace) -> Duration {
    Duration::from_ns(trace.duration_ns)
}

/// A trace with its notifications and requests sorted by start time.
struct Source<'a> {
    trace: &'a Trace,
    images: Images<'a>,
    notifications: Vec<Notification>,
    requests: Vec<PowerRequest>,
    sessions: session::Sessions,
    power_report: power_report::PowerReport,
    missing_evidence: MissingEvidence,
}

impl<'a> Source<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut notifications: Vec<Notification> = trace.notifications.iter().collect();
        notifications.sort_by_key(|row| row.start_ns);
        let mut requests: Vec<PowerRequest> = trace.power_requests.iter().collect();
        requests.sort_by_key(|row| row.start_ns);
        Self {
            trace,
            images: Images::new(trace),
            notifications,
            requests,
            sessions: session::Sessions::from_trace(trace),
            power_report: power_report::PowerReport::from_trace(trace),
            missing_evidence: missing_evidence::for_suspend(trace),
        }
    }

    fn describe(
        &self,
        number: u32,
        cycle: &Cycle,
        previous_ns: i64,
        owners: &mut Owners,
        options: &SuspendOptions,
    ) -> PowerTransition {
        let trace = self.trace;
        let mut phases = phases::recorded_phases(trace, cycle);
        let session_end =
            self.sessions.end_request(trace, previous_ns, cycle.first_ns).filter(|_| cycle.standby.is_none());
        let decision = kind::decide(trace, cycle, &self.requests, session_end.is_some());
        let is_fast = decision.variant == Variant::FastStartup;
        let mut from_ns = cycle.first_ns;
        if let Some(start) = session_end.filter(|_| is_fast) {
            from_ns = start.time_ns.unwrap_or(from_ns);
            phases.push(session::user_session(&start, &phases, cycle.first_ns));
        }
        let window = (from_ns, cycle.until_ns);
        let mut notifications = notified::in_window(trace, &self.notifications, &self.images, window, is_fast);
        phases::infer_from_notifications(&mut phases, &notifications);
        // In modern standby, devices enter and leave low-power states independently of the transition.
        if cycle.standby.is_none() {
            requests::infer_phases(&mut phases, &self.requests, window);
        }
        let mut halves = suspend_resume::measure(trace, cycle, &phases, decision.variant);
        let asleep = &halves.asleep.measured;
        if asleep.duration_ns.is_some() {
            let name = match decision.variant {
                Variant::ModernStandby => PhaseName::Standby,
                _ => PhaseName::Asleep,
            };
            phases.push(phases::from_interval(name, asleep));
        }

        let resumed = Boundary {
            time_ns: halves.end_ns.filter(|_| cycle.standby.is_some() || halves.resume.measured.end_ns.is_some()),
            rule: Rule::ResumeEnds,
            event: String::new(),
            certainty: halves.resume.measured.certainty,
            unmatched_rules: Vec::new(),
        };
        let mut user_input_ns = match halves.resume.unrecorded_ns {
            Some(_) => phases::set_loader_input_time(trace, cycle, &mut phases),
            None => 0,
        };
        if is_fast {
            phases.extend(session::new_session(trace, &resumed, cycle.until_ns, &options.shell));
            let desktop_ns = desktop(&phases).and_then(|phase| phase.end_ns);
            // If the resume was not recorded, neither was the session.
            if halves.resume.is_recorded() {
                halves.resume.extend_to_desktop(desktop_ns);
            }
            if let Some((awake_ns, desktop_ns)) = halves.resume.measured.start_ns.zip(desktop_ns) {
                let input_time = UserInputTime::before_desktop(trace, &options.shell, (awake_ns, desktop_ns));
                let is_new_session = |phase: &&mut Phase| phase.half == Some(SuspendStage::After);
                phases.iter_mut().filter(is_new_session).for_each(|phase| phase.set_user_input(&input_time));
                user_input_ns = user_input_ns.saturating_add(input_time.total_ns());
            }
        }
        halves.resume.subtract_user_input(user_input_ns);
        // Event logs and power reports do not show when the computer was idle.
        let is_idle_recorded = trace.channels.is_empty() && !trace.is_power_report();
        let post_resume = is_idle_recorded.then(|| self.settle(&resumed, &phases, cycle, owners, options));
        if let Some(post_resume) = &post_resume {
            phases.extend(post_resume_phase(post_resume, &phases, is_fast));
        }

        let requests_until = phases
            .iter()
            .filter(|phase| phase.half == Some(SuspendStage::Resume))
            .filter_map(|phase| phase.end_ns)
            .chain(halves.end_ns)
            .max()
            .map_or(cycle.until_ns, |end| end.saturating_add(1).min(cycle.until_ns));
        let requests::Requests { mut devices, drivers } = match cycle.standby {
            None => requests::in_window(trace, &self.requests, &phases, (from_ns, requests_until)),
            Some(_) => requests::Requests::default(),
        };
        if cycle.standby.is_some() {
            notifications.clear();
        }
        phase_parts::sum_up(&mut phases, &notifications, &mut devices, cycle.until_ns);
        phases::sort(&mut phases);

        let start_ns = halves.suspend.measured.start_ns.unwrap_or(from_ns).min(from_ns);
        let value = |name: &str| cycle.value(trace, name).map(|(value, _)| value);
        let parse_number = |id: StringId| trace.text(id).parse::<u32>().ok();
        let reported = self.power_report.sleep(trace, cycle);
        if let Some((start, end)) = reported.interval {
            (halves.asleep.start_unix_ns, halves.asleep.end_unix_ns) = (Some(start), Some(end));
        }
        let power_manager_row = cycle.transition.filter(|row| !is_kernel_logger(trace, row.event));
        let (total_ns, total_at_least_ns, total_certainty) = halves.total(decision.variant);
        let mut transition = PowerTransition {
            system: SystemKind::Windows,
            kind: TransitionKind::Suspend,
            variant: decision.variant,
            number,
            start_ns: Some(start_ns),
            end_ns: halves.end_ns,
            total_ns,
            total_at_least_ns,
            total_certainty,
            user_input_ns,
            phases,
            units: Vec::new(),
            settling: post_resume,
            affecting_losses: affecting_losses(trace, &BOUNDARY_TABLES),
            missing_evidence: self.missing_evidence.clone(),
            losses: trace.losses.clone(),
            culprits: Vec::new(),
            fix_first: None,
            details: WindowsSuspend {
                variant_rule: decision.rule,
                variant_certainty: decision.certainty,
                evidence: decision.evidence,
                target_state: decision.target_state,
                effective_state: decision.effective_state,
                woke_from_state: decision.woke_from_state,
                reason: power_manager_row.and_then(|row| parse_number(row.name)),
                status: cycle.transition.and_then(|row| row.status),
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
                enter_reason: reported.enter_reason,
                exit_reason: reported.exit_reason,
                energy: reported.energy,
                blockers: reported.blockers,
                firmware: kernel_account::firmware(trace, cycle),
                kernel_account: kernel_account::account(trace, cycle),
                hibernate_file_bytes: value(onoff_trace::milestone::HIBERNATE_FILE_SIZE),
                hibernate_pages: value(onoff_trace::milestone::POWER_HIBERNATE_PAGES),
                unmatched_rules: Vec::new(),
            },
        };
        transition.details.unmatched_rules = unmatched_rules(&transition);
        transition
    }

    /// Finds when the computer became idle after the resume, or after the desktop of a new session was ready.
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
                idle::find_settling_before(self.trace, owners, start_ns, latest_ns, options.idle)
            }
            None => Settling {
                metric: options.idle,
                rule: Rule::IdleCountNeedsResume,
                unmatched_rules: vec![Rule::ResumeEnds],
                ..Settling::default()
            },
        }
    }
}

/// The phase that ends with the desktop of a new session.
fn desktop(phases: &[Phase]) -> Option<&Phase> {
    phases.iter().find(|phase| phase.name == PhaseName::ExplorerInit)
}

fn post_resume_phase(settling: &Settling, phases: &[Phase], is_fast: bool) -> Option<Phase> {
    let name = if is_fast && desktop(phases).is_some() { PhaseName::PostBoot } else { PhaseName::PostResume };
    let start_ns = settling.start_ns?;
    let start_boundary = Boundary {
        time_ns: Some(start_ns),
        rule: Rule::ResumeEndsOrDesktop,
        certainty: settling.certainty,
        ..Boundary::default()
    };
    let end_boundary = Boundary {
        time_ns: settling.end_ns,
        rule: settling.rule.clone(),
        event: String::new(),
        certainty: settling.certainty,
        unmatched_rules: settling.unmatched_rules.clone(),
    };
    Some(Phase::from_boundaries(name, &start_boundary, &end_boundary).with_half())
}

/// The rules that did not match in any part of a transition, without duplicates.
fn unmatched_rules(transition: &PowerTransition) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let halves =
        [&transition.details.suspend.measured.unmatched_rules, &transition.details.resume.measured.unmatched_rules];
    let boundaries =
        transition.phases.iter().flat_map(|phase| [&phase.starts.unmatched_rules, &phase.ends.unmatched_rules]);
    for rule in halves.into_iter().chain(boundaries).flatten() {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    if transition.details.variant_certainty == Certainty::Missing {
        rules.push(Rule::StateEntered);
    }
    rules
}
