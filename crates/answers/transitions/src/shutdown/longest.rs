//! Finds the work that took the largest part of a shutdown, and the reason.

use onoff_trace::{Trace, shutdown_step};

use super::report::{ApplicationEnd, LongestKind, LongestWork, ProgramKind, ShutdownReport};
use onoff_evidence::Certainty;
use onoff_evidence::reason::Reason;
use onoff_usage::cpu::percent_of;
use onoff_usage::units::{ServiceNotification, TimeOutKind, Unit};

/// Returns the longest work in `report`. Skips the service control manager, which only waits for its services.
/// Unfinished work lasts until the end of its phase or of the recording.
pub(super) fn longest(trace: &Trace, report: &ShutdownReport) -> Option<LongestWork> {
    let shutdown_ns = report.total_ns.unwrap_or(report.total_at_least_ns);
    let mut candidates: Vec<LongestWork> = Vec::new();
    let mut add = |kind, name: &str, pid, start_ns: i64, duration_ns: i64, reason, certainty| {
        candidates.push(LongestWork {
            kind,
            name: name.to_owned(),
            pid,
            start_ns,
            duration_ns,
            percent: percent_of(duration_ns, shutdown_ns),
            reason,
            certainty,
        });
    };
    let length_ns = |end: Option<i64>, phase_end: Option<i64>, start: i64| {
        end.or(phase_end).unwrap_or(trace.duration_ns).saturating_sub(start).max(0)
    };
    for session in &report.details.sessions {
        for application in &session.applications {
            if session.session == Some(0) && application.name.eq_ignore_ascii_case("services.exe") {
                continue;
            }
            let name = display_name(application);
            add(
                LongestKind::Application,
                &name,
                application.pid,
                application.start_ns,
                length_ns(application.end_ns, session.end_ns, application.start_ns),
                application_reason(application),
                Certainty::Measured,
            );
        }
    }
    for service in &report.units {
        let window = match service.notification {
            ServiceNotification::Earlier => continue,
            ServiceNotification::PreShutdown => &report.details.pre_shutdown,
            _ => &report.details.service_shutdown,
        };
        add(
            LongestKind::Service,
            &service.name,
            service.pid,
            service.start_ns,
            length_ns(service.end_ns, window.end_ns, service.start_ns),
            service_reason(service),
            Certainty::Measured,
        );
    }
    for (kind, activities) in [
        (LongestKind::KernelStep, &report.details.kernel_steps),
        (LongestKind::Script, &report.details.scripts),
        (LongestKind::Subscriber, &report.details.subscribers),
    ] {
        for work in activities {
            if work.name == shutdown_step::GRACEFUL_SHUTDOWN {
                continue;
            }
            let duration_ns = length_ns(work.end_ns, None, work.start_ns);
            let reason = match work.end_ns {
                None => Reason::Unfinished,
                Some(_) => Reason::None,
            };
            add(kind, &work.name, None, work.start_ns, duration_ns, reason, Certainty::Measured);
        }
    }
    if candidates.is_empty() {
        for exit in &report.details.exits.processes {
            candidates.push(LongestWork {
                kind: LongestKind::Exit,
                name: exit.image.clone(),
                pid: Some(exit.pid),
                start_ns: exit.end_ns.saturating_sub(exit.since_previous_ns),
                duration_ns: exit.since_previous_ns,
                percent: percent_of(exit.since_previous_ns, shutdown_ns),
                reason: Reason::NoProcessExited,
                certainty: Certainty::Inferred,
            });
        }
    }
    // Among candidates of equal duration, the first to start.
    candidates
        .into_iter()
        .filter(|work| work.duration_ns > 0)
        .max_by_key(|work| (work.duration_ns, std::cmp::Reverse(work.start_ns)))
}

fn display_name(application: &ApplicationEnd) -> String {
    match (application.name.as_str(), application.pid) {
        ("", Some(pid)) => format!("process {pid}"),
        (image, _) => image.to_owned(),
    }
}

fn application_reason(application: &ApplicationEnd) -> Reason {
    let limit = application.details.time_outs.iter().find(|time_out| time_out.kind != TimeOutKind::Forced);
    if limit.is_none() && !application.details.terminated {
        return Reason::None;
    }
    Reason::Application {
        has_windows: match application.details.program {
            ProgramKind::Window => Some(true),
            ProgramKind::Console => Some(false),
            ProgramKind::Unknown => None,
        },
        terminated: application.details.terminated,
        limit_ns: limit.and_then(|limit| limit.limit_ns),
        timed_out: limit.is_some(),
    }
}

fn service_reason(service: &Unit) -> Reason {
    match (&service.time_out, service.end_ns) {
        (Some(limit), Some(_)) => Reason::ServiceStoppedLate { limit_ns: limit.limit_ns },
        (Some(limit), None) if limit.certainty == Certainty::Measured => {
            Reason::ServiceDidNotStopInTime { limit_ns: limit.limit_ns }
        }
        (_, None) => Reason::ServiceDidNotStop,
        (None, Some(_)) if service.notification == ServiceNotification::PreShutdown => Reason::PreShutdownService,
        (None, Some(_)) => Reason::None,
    }
}
