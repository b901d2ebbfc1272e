//! Services for which the service manager waited until its time-out.

use onoff_trace::ServiceFailureKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that did not start or respond before the desktop, until the service manager stopped waiting for it.
    ///
    /// # Why it costs time
    /// The service manager waits for the process of one service at a time, by default for 30 s. Services that start
    /// after it, and those that depend on it, are late or missing.
    ///
    /// # Evidence needed
    /// The System log of the computer: events 7009 and 7011 of Service Control Manager, which give the time waited. In
    /// a trace, such a service is a slow start: see `boot/service-start-slow`.
    ///
    /// # What to do
    /// Repair or remove the program of the service. Raise the time-out only if the service starts when given more time.
    ///
    /// # When it is wrong
    /// The time waited is an upper bound of the cost: services that were already running go on, and so may the logon.
    ///
    /// # Source
    /// Events 7009 and 7011 of Service Control Manager; `ServicesPipeTimeout` in
    /// `HKLM\SYSTEM\CurrentControlSet\Control`.
    "boot/service-timed-out", "services that did not start or respond before a time-out", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let details = &facts.report.details;
    if details.channels.is_empty() {
        // In a trace, such a service is a slow start.
        return facts.require_provider("Microsoft-Windows-Services").map(|()| Vec::new());
    }
    let (_, main_path_end) = facts.main_path();
    let is_desktop_known = details.main_path_boot.end_ns.is_some();
    Ok(details
        .failed_services
        .iter()
        .filter_map(|failure| {
            let wait_ns = failure.wait_ns.filter(|&ns| ns >= facts.report.min_cause_ns())?;
            let interval = (failure.time_ns.saturating_sub(wait_ns), failure.time_ns);
            if is_desktop_known && interval.0 >= main_path_end {
                return None;
            }
            let name = &failure.service;
            let what = match failure.kind {
                ServiceFailureKind::ConnectTimeout => "its process did not connect",
                _ => "it did not respond",
            };
            // The desktop may be unknown, and with it the part of the boot that the wait can have delayed.
            let cost = if is_desktop_known { facts.cost(vec![interval]) } else { Cost::UNKNOWN };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, name.clone()),
                    format!("the service manager waited {} for service {name}: {what}", time(wait_ns)),
                )
                .cost(cost)
                .active_during(interval)
                .evidence(failure.time_ns, format!("{}: time-out after {}", failure.event, time(wait_ns)))
                .advice(format!(
                    "find out why {name} does not start ('sc.exe qc \"{name}\"' shows its program), and repair, update \
                     or remove that program"
                )),
            )
        })
        .collect())
}
