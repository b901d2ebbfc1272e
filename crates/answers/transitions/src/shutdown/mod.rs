//! Analyzes a Windows shutdown.
//!
//! [`analyze`] turns a [`Trace`] into a [`ShutdownReport`]. If the recording contains no shutdown, it returns what the
//! recording contains instead.

mod account_check;
mod boundaries;
mod exits;
pub use exits::exit_waits;
mod longest;
pub mod report;
mod services;
mod sessions;
#[cfg(test)]
mod tests;

use crate::losses_affecting;
use crate::{Phase, PhaseName};
use onoff_trace::{
    ActivityKind, LoggedEnd, PowerRequestKind, PowerRequestScope, ReportedTransition, ServiceChange, SystemKind,
    TableName, TableSet, Trace, shutdown_step,
};

pub use report::*;
pub use services::{LATER_TIME_OUT_NS, VISTA_TIME_OUT_NS, WINDOWS_7_TIME_OUT_NS};
pub use sessions::{APPLICATION_TIME_OUT_NS, FORCED_END_TIME_OUT_NS, FORCED_QUERY_TIME_OUT_NS};

use crate::Variant;
use crate::reported_delays::reported_delays;
use crate::usage;
use crate::{TransitionKind, contents};
use boundaries::{Events, ShutdownBoundaries};
use onoff_evidence::activity::{NamedActivity, activities_of_kind, sort_longest_first};
use onoff_evidence::missing_evidence;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Boundary, Certainty, DerivedInterval, affecting_losses};
use services::NotificationWindows;

/// The tables that the analysis reads; if a trace was opened with fewer, results are less complete.
pub const TABLES: TableSet = TableSet::from_names(&[
    TableName::Processes,
    TableName::Threads,
    TableName::Images,
    TableName::ContextSwitches,
    TableName::Samples,
    TableName::DiskIos,
    TableName::ServiceTransitions,
    TableName::Milestones,
    TableName::Activities,
    TableName::Notifications,
    TableName::PowerRequests,
    TableName::ReportedDelays,
]);

/// The tables that boundary rules read.
const BOUNDARY_TABLES: [TableName; 4] =
    [TableName::Processes, TableName::Milestones, TableName::Activities, TableName::Notifications];

/// Analyzes the shutdown in `trace`. There is at most one, because the recording ends with it.
///
/// # Errors
/// The recording contains no shutdown; the error describes what it contains instead.
pub fn analyze(trace: &Trace, options: &ShutdownOptions) -> Result<ShutdownReport, Box<NoShutdown>> {
    let events = Events::new(trace, exits::burst(trace));
    if !events.contain_shutdown() {
        return Err(Box::new(not_a_shutdown(trace)));
    }
    let boundaries = events.boundaries();
    let phases = phases(trace, &boundaries);
    // Event logs start with the boot, and may have only the last records of its end.
    let first_phase_ns = || phases.iter().filter_map(|phase| phase.start_ns).min();
    let recorded_start_ns =
        boundaries.starts.time_ns.or_else(|| trace.logged_end.as_ref().and_then(|_| first_phase_ns()));
    let from_ns = recorded_start_ns.unwrap_or(0);
    let total_ns = boundaries.starts.time_ns.zip(boundaries.ends.time_ns).map(|(start, end)| end.saturating_sub(start));
    let total_at_least_ns = total_ns.unwrap_or_else(|| trace.duration_ns.saturating_sub(from_ns));
    let sessions = sessions::sessions(trace, from_ns);
    let service_time_out = services::time_out(trace, options);
    let (pre_shutdown, service_shutdown) = service_windows(trace, from_ns, &sessions, &boundaries);
    let windows = NotificationWindows { pre_shutdown: &pre_shutdown, shutdown: &service_shutdown };
    let units = services::services(trace, from_ns, &windows, &service_time_out);
    // After the memory image of a fast startup, work belongs to the next session. Records of other logs can be of a clock
    // that was wrong.
    let has_work_after_end = boundaries.variant == Variant::FastStartup || trace.logged_end.is_some();
    let until_ns = boundaries.ends.time_ns.filter(|_| has_work_after_end).unwrap_or(i64::MAX);
    let activities = |kind: ActivityKind| -> Vec<NamedActivity> {
        let mut activities = activities_of_kind(trace, kind);
        activities.retain(|activity| activity.start_ns >= from_ns && activity.start_ns <= until_ns);
        activities.sort_by_key(|activity| activity.start_ns);
        activities
    };
    let longest_first = |kind| {
        let mut activities = activities(kind);
        sort_longest_first(&mut activities);
        activities
    };
    let logged_end = trace.logged_end.clone().unwrap_or_default();
    let details = WindowsShutdown {
        variant_rule: boundaries.variant_rule.clone(),
        longest: None,
        intervals: intervals(trace, &boundaries),
        difference: difference(&sessions, &phases, total_ns, total_at_least_ns),
        sessions,
        losses_affecting_sessions: affecting_losses(trace, &[TableName::Notifications, TableName::Activities]),
        pre_shutdown,
        service_shutdown,
        service_time_out,
        losses_affecting_units: affecting_losses(trace, &[TableName::ServiceTransitions]),
        notifications: activities(ActivityKind::LogonNotification),
        subscribers: longest_first(ActivityKind::NotificationSubscriber),
        scripts: longest_first(ActivityKind::GroupPolicyScript),
        session_steps: activities(ActivityKind::ShutdownStep),
        kernel_steps: activities(ActivityKind::KernelShutdownStep),
        devices: devices(trace, &boundaries),
        exits: exits::exits(trace, from_ns),
        windows_account: logged_end.account,
        account_comparison: None,
        request: logged_end.request,
        reported_delays: reported_delays(trace, ReportedTransition::Shutdown),
        channels: trace.channels.clone(),
        starts: boundaries.starts.clone(),
        ends: boundaries.ends.clone(),
    };
    let mut report = ShutdownReport {
        system: SystemKind::Windows,
        kind: TransitionKind::Shutdown,
        variant: boundaries.variant,
        number: 1,
        start_ns: boundaries.starts.time_ns,
        end_ns: boundaries.ends.time_ns,
        settling: None,
        affecting_losses: losses_affecting(&phases),
        details,
        total_ns,
        total_at_least_ns,
        user_input_ns: 0,
        total_certainty: match total_ns {
            Some(_) => boundaries.starts.certainty.and(boundaries.ends.certainty),
            None => Certainty::Missing,
        },
        phases,
        units,
        missing_evidence: missing_evidence::for_shutdown(trace),
        losses: trace.losses.clone(),
        culprits: Vec::new(),
        fix_first: None,
    };
    report.details.longest = longest::longest(trace, &report);
    add_account(trace, &mut report);
    Ok(report)
}

/// Adds what event logs that accompany the trace recorded of the shutdown. Records of another one are dropped.
fn add_account(trace: &Trace, report: &mut ShutdownReport) {
    if trace.logged_shutdown.is_none() {
        return;
    }
    let comparison = account_check::compare(trace, report);
    let details = &mut report.details;
    match comparison.as_ref().and_then(|comparison| comparison.logs.end.as_ref()) {
        Some(end) => details.request = details.request.take().or_else(|| end.request.clone()),
        None => details.reported_delays.clear(),
    }
    details.account_comparison = comparison;
}

fn not_a_shutdown(trace: &Trace) -> NoShutdown {
    let contents = contents::describe_instead(trace, TransitionKind::Shutdown);
    let reason = match &trace.logged_end {
        Some(end) => logged_reason(trace, end),
        None => "no request to an application, service or the kernel to end, and no burst of process exits".to_owned(),
    };
    NoShutdown {
        reason,
        found: contents.found,
        recorder: trace.recorder.clone(),
        duration_ns: trace.duration_ns,
        processes_before: contents.processes_before,
        processes_started: contents.processes_started,
        processes_ended: contents.processes_ended,
        losses: trace.losses.clone(),
    }
}

/// Says why the event logs of a boot show no shutdown.
fn logged_reason(trace: &Trace, end: &LoggedEnd) -> String {
    if let Some(unclean_end) = &end.unclean_end {
        let cause = match unclean_end.bugcheck_code {
            Some(code) if code != 0 => format!("Windows crashed with bug check {code:#x}"),
            _ if unclean_end.is_power_button_pressed => {
                "power was lost or cut; the power button was pressed".to_owned()
            }
            _ => "power was lost, or the computer was reset".to_owned(),
        };
        let sleeping = if unclean_end.is_sleep_in_progress { " during a sleep or resume" } else { "" };
        return format!("{cause}{sleeping}, according to {} of the next boot", unclean_end.event);
    }
    let next_boot = trace.boots.iter().skip_while(|boot| !boot.read).nth(1);
    match next_boot.filter(|boot| boot.fast_startup) {
        Some(boot) => format!(
            "the computer was shut down for a fast startup; 'onoff suspend --boot {}' shows how long that took",
            boot.number
        ),
        None => "neither an account of a shutdown nor a record that the kernel stopped; the boot may not have ended, or the \
                 logs do not cover its end"
            .to_owned(),
    }
}

/// Builds the three phases, with CPU and disk usage.
fn phases(trace: &Trace, boundaries: &ShutdownBoundaries) -> Vec<Phase> {
    let affecting_losses = affecting_losses(trace, &BOUNDARY_TABLES);
    let mut phases: Vec<Phase> = PhaseName::WINDOWS_SHUTDOWN
        .into_iter()
        .map(|name| {
            let (starts, ends) = boundaries.phase(name);
            // A phase that did not end in the recording is described up to the end of the recording.
            let phase = Phase::from_boundaries(name, starts, ends).recorded_until(trace.duration_ns);
            Phase { affecting_losses: affecting_losses.clone(), ..phase }
        })
        .collect();
    usage::fill(trace, &mut phases);
    phases
}

/// Returns the intervals between the request and the phases.
fn intervals(trace: &Trace, boundaries: &ShutdownBoundaries) -> Vec<ShutdownInterval> {
    let mut activities: Vec<NamedActivity> = [
        ActivityKind::ShutdownStep,
        ActivityKind::LogonNotification,
        ActivityKind::NotificationSubscriber,
        ActivityKind::GroupPolicyScript,
        ActivityKind::UserProfile,
    ]
    .into_iter()
    .flat_map(|kind| activities_of_kind(trace, kind))
    .collect();
    activities.sort_by_key(|activity| activity.start_ns);
    let mut intervals = Vec::new();
    let (mut previous_name, mut previous_end_ns) = ("request", boundaries.starts.time_ns);
    for name in PhaseName::WINDOWS_SHUTDOWN {
        let (start, end) = boundaries.phase(name);
        if let (Some(start_ns), Some(end_ns)) = (previous_end_ns, start.time_ns)
            && end_ns > start_ns
        {
            let overlaps = |activity: &&NamedActivity| {
                activity.start_ns < end_ns && activity.end_ns.is_none_or(|activity_end| activity_end > start_ns)
            };
            intervals.push(ShutdownInterval {
                name: format!("{previous_name} to {}", name.as_str()),
                start_ns,
                end_ns,
                duration_ns: end_ns.saturating_sub(start_ns),
                work: activities.iter().filter(overlaps).cloned().collect(),
            });
        }
        if start.time_ns.is_some() {
            (previous_name, previous_end_ns) = (name.as_str(), end.time_ns);
        }
    }
    intervals
}

/// Returns the intervals in which pre-shutdown services and all other services were notified.
fn service_windows(
    trace: &Trace,
    from_ns: i64,
    sessions: &[SessionEnd],
    boundaries: &ShutdownBoundaries,
) -> (DerivedInterval, DerivedInterval) {
    let step = activities_of_kind(trace, ActivityKind::ShutdownStep)
        .into_iter()
        .find(|work| work.name == shutdown_step::PRE_SHUTDOWN_NOTIFICATION && work.start_ns >= from_ns);
    let pre_shutdown = match step {
        Some(work) => DerivedInterval {
            start_ns: Some(work.start_ns),
            end_ns: work.end_ns,
            duration_ns: work.duration_ns,
            rule: Rule::PreShutdownNotification,
            event: work.event,
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        },
        None => DerivedInterval::not_found([Rule::NotificationBeforeShutdown]),
    };
    let system = sessions.iter().rfind(|session| session.session == Some(0));
    let shutdown = match system {
        Some(session) => DerivedInterval {
            start_ns: Some(session.start_ns),
            end_ns: session.end_ns,
            duration_ns: session.duration_ns,
            rule: Rule::SystemSession,
            event: session.event.clone(),
            certainty: Certainty::Measured,
            unmatched_rules: Vec::new(),
        },
        // Without events of the system session, use the rest of the phase after the pre-shutdown services.
        None => {
            let (start, end) = &boundaries.system;
            let pre_shutdown_end = pre_shutdown.end_ns.map(|end_ns| Boundary {
                time_ns: Some(end_ns),
                rule: Rule::PreShutdownNotificationEnds,
                certainty: Certainty::Inferred,
                ..start.clone()
            });
            let has_stops =
                trace.service_transitions.iter().any(|row| row.kind == ServiceChange::Stop && row.start_ns >= from_ns);
            if has_stops {
                DerivedInterval::between(pre_shutdown_end.as_ref().unwrap_or(start), end)
            } else {
                DerivedInterval::not_found([Rule::SystemSession])
            }
        }
    };
    (pre_shutdown, shutdown)
}

/// Computes the kernel time by subtraction, as readers of xperf's output do.
fn difference(
    sessions: &[SessionEnd],
    phases: &[Phase],
    total_ns: Option<i64>,
    total_at_least_ns: i64,
) -> KernelDifference {
    let sum = |lengths: &mut dyn Iterator<Item = i64>| lengths.fold(0_i64, |sum, ns| sum.saturating_add(ns));
    let mut recorded_ns =
        phases.iter().filter(|phase| phase.name != PhaseName::KernelShutdown).map(|phase| phase.recorded_ns);
    let sessions_ns = if sessions.is_empty() {
        sum(&mut recorded_ns)
    } else {
        sum(&mut sessions.iter().filter_map(|session| session.duration_ns))
    };
    KernelDifference {
        shutdown_ns: total_at_least_ns,
        sessions_ns,
        kernel_ns: total_at_least_ns.saturating_sub(sessions_ns),
        ended: total_ns.is_some(),
    }
}

/// Returns the devices that the kernel asked to power down, longest first.
fn devices(trace: &Trace, boundaries: &ShutdownBoundaries) -> Vec<DeviceEnd> {
    let Some(from_ns) = boundaries.kernel.0.time_ns else { return Vec::new() };
    let mut devices: Vec<DeviceEnd> = trace
        .power_requests
        .iter()
        .filter(|row| {
            row.kind == PowerRequestKind::Set && row.scope == PowerRequestScope::Device && row.start_ns >= from_ns
        })
        .map(|row| DeviceEnd {
            device: trace.text(row.device).to_owned(),
            driver: trace.text(row.driver).to_owned(),
            description: trace.text(row.description).to_owned(),
            friendly_name: trace.text(row.friendly_name).to_owned(),
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            duration_ns: row.end_ns.map(|end| end.saturating_sub(row.start_ns)),
            event: trace.text(row.event).to_owned(),
            details: PowerDown {},
        })
        .collect();
    devices.sort_by_key(|device| (std::cmp::Reverse(device.duration_ns.unwrap_or(i64::MAX)), device.start_ns));
    devices
}
