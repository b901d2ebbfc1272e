//! Measures how long services took to stop, and which timeouts they exceeded.

use onoff_trace::{ServiceChange, ServiceTransition, Trace};

use super::report::{ServiceTimeOut, ShutdownOptions};
use super::sessions::CLOCK_RESOLUTION_NS;
use onoff_evidence::reason::Reason;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};
use onoff_usage::processes::Images;
use onoff_usage::units::{ServiceNotification, TimeOut, TimeOutKind, Unit, unit};

/// Service shutdown timeout of Windows Vista, ns (source: the Microsoft paper "Windows On/Off Transition Performance
/// Analysis").
pub const VISTA_TIME_OUT_NS: i64 = 20_000_000_000;

/// Service shutdown timeout of Windows 7, ns (same source).
pub const WINDOWS_7_TIME_OUT_NS: i64 = 12_000_000_000;

/// Default service shutdown timeout of later versions, ns.
pub const LATER_TIME_OUT_NS: i64 = 5_000_000_000;

/// First build numbers of Windows Vista, Windows 7, and later versions.
const VISTA: u32 = 6_000;
const WINDOWS_7: u32 = 7_600;
const AFTER_WINDOWS_7: u32 = 7_602;

/// Returns the service shutdown timeout of the recorded computer.
pub(super) fn time_out(trace: &Trace, options: &ShutdownOptions) -> ServiceTimeOut {
    if let Some(limit) = options.service_time_out_ns {
        return ServiceTimeOut { limit_ns: Some(limit), rule: Rule::Given, certainty: Certainty::Measured };
    }
    let build = trace.system.os_build;
    let (limit_ns, rule) = match build {
        0..VISTA => {
            return ServiceTimeOut { limit_ns: None, rule: Rule::VersionNotRecorded, certainty: Certainty::Missing };
        }
        VISTA..WINDOWS_7 => (VISTA_TIME_OUT_NS, Rule::TimeOutOfVista),
        WINDOWS_7..AFTER_WINDOWS_7 => (WINDOWS_7_TIME_OUT_NS, Rule::TimeOutOfWindows7),
        _ => (LATER_TIME_OUT_NS, Rule::TimeOutAfterWindows7),
    };
    ServiceTimeOut { limit_ns: Some(limit_ns), rule, certainty: Certainty::Inferred }
}

/// The intervals in which services were notified, as far as recorded.
pub(super) struct NotificationWindows<'a> {
    /// Pre-shutdown services.
    pub pre_shutdown: &'a DerivedInterval,
    /// All other services.
    pub shutdown: &'a DerivedInterval,
}

/// Returns the services that were asked to stop at or after `from_ns`, ordered by start.
pub(super) fn services(
    trace: &Trace,
    from_ns: i64,
    windows: &NotificationWindows<'_>,
    limit: &ServiceTimeOut,
) -> Vec<Unit> {
    let images = Images::new(trace);
    let mut services: Vec<Unit> = trace
        .service_transitions
        .iter()
        .filter(|row| row.kind == ServiceChange::Stop && row.start_ns >= from_ns)
        .map(|row| service(trace, &images, &row, windows, limit))
        .collect();
    services.sort_by(|a, b| (a.start_ns, &a.name).cmp(&(b.start_ns, &b.name)));
    services
}

fn service(
    trace: &Trace,
    images: &Images<'_>,
    row: &ServiceTransition,
    windows: &NotificationWindows<'_>,
    limit: &ServiceTimeOut,
) -> Unit {
    let notification = notification(row.start_ns, windows);
    let time_out = match notification {
        ServiceNotification::Earlier => None,
        _ => exceeded_time_out(trace, row, notification, windows, limit),
    };
    Unit { notification, time_out, ..unit(trace, images, row) }
}

fn notification(start_ns: i64, windows: &NotificationWindows<'_>) -> ServiceNotification {
    let has_started = |window: &DerivedInterval| window.start_ns.is_some_and(|start| start <= start_ns);
    let has_ended = |window: &DerivedInterval| window.end_ns.is_some_and(|end| end < start_ns);
    if has_started(windows.shutdown) {
        ServiceNotification::Shutdown
    } else if has_started(windows.pre_shutdown) {
        if has_ended(windows.pre_shutdown) { ServiceNotification::Unknown } else { ServiceNotification::PreShutdown }
    } else if windows.shutdown.start_ns.is_some() || windows.pre_shutdown.start_ns.is_some() {
        ServiceNotification::Earlier
    } else {
        ServiceNotification::Unknown
    }
}

/// Returns the timeout that a service exceeded, if any.
///
/// The individual timeouts of pre-shutdown services are not recorded, so only services that never stopped count.
fn exceeded_time_out(
    trace: &Trace,
    row: &ServiceTransition,
    notification: ServiceNotification,
    windows: &NotificationWindows<'_>,
    limit: &ServiceTimeOut,
) -> Option<TimeOut> {
    let waited_ns = |until: i64| until.saturating_sub(row.start_ns);
    let time_out = |at_ns, limit_ns, certainty, evidence: Reason| {
        Some(TimeOut { kind: TimeOutKind::Service, at_ns, limit_ns: Some(limit_ns), certainty, evidence })
    };
    let window = match notification {
        ServiceNotification::PreShutdown => windows.pre_shutdown,
        _ => windows.shutdown,
    };
    let known_limit_ns = limit.limit_ns.filter(|_| notification != ServiceNotification::PreShutdown);
    match (row.end_ns, known_limit_ns, window.end_ns) {
        (Some(end), Some(limit_ns), _) if waited_ns(end) >= limit_ns - CLOCK_RESOLUTION_NS => time_out(
            Some(row.start_ns.saturating_add(limit_ns)),
            limit_ns,
            limit.certainty,
            Reason::StoppedAfterTimeOut,
        ),
        (Some(_), ..) => None,
        (None, Some(limit_ns), Some(window_end)) if waited_ns(window_end) >= limit_ns - CLOCK_RESOLUTION_NS => {
            time_out(Some(row.start_ns.saturating_add(limit_ns)), limit_ns, Certainty::Measured, Reason::NeverStopped)
        }
        // The timeout differs from the assumed one, or Windows did not wait for this service.
        (None, _, Some(window_end)) => {
            time_out(Some(window_end), waited_ns(window_end), Certainty::Inferred, Reason::NotStoppedWhenWaitEnded)
        }
        (None, Some(limit_ns), None) if waited_ns(trace.duration_ns) >= limit_ns => time_out(
            Some(row.start_ns.saturating_add(limit_ns)),
            limit_ns,
            Certainty::Inferred,
            Reason::NotStoppedWhenRecordingEnded,
        ),
        _ => None,
    }
}
