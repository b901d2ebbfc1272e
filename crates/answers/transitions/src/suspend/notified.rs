//! Suspend and resume notifications of applications and services: durations and timeouts.

use crate::PhaseName;
use onoff_trace::{Notification, NotificationKind, Trace};

use super::report::{PowerNotification, SleepNotice};
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::owners::file_name;
use onoff_usage::processes::Images;
use onoff_usage::units::{TimeOut, TimeOutKind};

/// Timeout for an application to respond to a suspend notification, ns (source: the Microsoft paper "Windows On/Off
/// Transition Performance Analysis", 2011).
pub const APPLICATION_TIME_OUT_NS: i64 = 2_000_000_000;

/// Timeout for a service, ns (same source).
pub const SERVICE_TIME_OUT_NS: i64 = 30_000_000_000;

/// Resolution of the clock that measures timeouts: a response this much before the timeout still counts as a
/// timeout.
const CLOCK_RESOLUTION_NS: i64 = 16_000_000;

/// Returns the phase in which a notification of this kind is sent; `None` if it is not about suspend or resume.
const fn phase_of(kind: NotificationKind) -> Option<PhaseName> {
    Some(match kind {
        NotificationKind::ApplicationShutdown => PhaseName::UserSession,
        NotificationKind::ApplicationQuerySuspend => PhaseName::QueryApps,
        NotificationKind::ServiceQuerySuspend => PhaseName::QueryServices,
        NotificationKind::ApplicationSuspend => PhaseName::SuspendApps,
        NotificationKind::ServiceSuspend => PhaseName::SuspendServices,
        NotificationKind::ApplicationResume => PhaseName::ResumeApps,
        NotificationKind::ServiceResume => PhaseName::ResumeServices,
        _ => return None,
    })
}

/// Returns the notifications sent in a window of time. `with_session` includes those at the end of the user session.
pub(super) fn in_window(
    trace: &Trace,
    rows: &[Notification],
    images: &Images<'_>,
    (from_ns, until_ns): (i64, i64),
    with_session: bool,
) -> Vec<PowerNotification> {
    let start_index = rows.partition_point(|row| row.start_ns < from_ns);
    rows.iter()
        .skip(start_index)
        .take_while(|row| row.start_ns < until_ns)
        .filter_map(|row| Some((row, phase_of(row.kind)?)))
        .filter(|&(_, phase)| with_session || phase != PhaseName::UserSession)
        .map(|(row, phase)| describe(trace, row, phase, images))
        .collect()
}

fn describe(trace: &Trace, row: &Notification, phase: PhaseName, images: &Images<'_>) -> PowerNotification {
    let path = trace.text(row.name);
    let name = match row.pid {
        Some(pid) if path.is_empty() => images.image_at(pid, row.start_ns).unwrap_or_default(),
        _ => file_name(path),
    };
    let duration_ns = row.end_ns.map(|end| end.saturating_sub(row.start_ns));
    PowerNotification {
        name: name.to_owned(),
        path: path.to_owned(),
        pid: row.pid,
        start_ns: row.start_ns,
        end_ns: row.end_ns,
        duration_ns,
        status: row.status,
        event: trace.text(row.event).to_owned(),
        details: SleepNotice {
            kind: row.kind,
            phase,
            has_end: !matches!(row.kind, NotificationKind::ApplicationResume | NotificationKind::ServiceResume),
            time_out: duration_ns.and_then(|ns| time_out(row.kind, row.start_ns, ns)),
        },
    }
}

fn time_out(kind: NotificationKind, start_ns: i64, duration_ns: i64) -> Option<TimeOut> {
    let (time_out_kind, limit_ns) = match kind {
        NotificationKind::ApplicationSuspend => (TimeOutKind::Application, APPLICATION_TIME_OUT_NS),
        NotificationKind::ServiceSuspend => (TimeOutKind::Service, SERVICE_TIME_OUT_NS),
        _ => return None,
    };
    (duration_ns >= limit_ns - CLOCK_RESOLUTION_NS).then(|| TimeOut {
        kind: time_out_kind,
        at_ns: Some(start_ns.saturating_add(limit_ns)),
        limit_ns: Some(limit_ns),
        certainty: Certainty::Inferred,
        evidence: Reason::TookUnrecordedTimeOut,
    })
}
