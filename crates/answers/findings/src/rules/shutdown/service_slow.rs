//! Services that are slow to stop.

use onoff_usage::units::ServiceNotification;

use crate::rules::prelude::*;
use crate::shell_argument::quote_argument;

rule! {
    /// # What it finds
    /// A service that takes 5 % of the shutdown or more (at least 300 ms, at most 1 s) to stop, but stops within its timeout.
    ///
    /// # Why it costs time
    /// Services registered for preshutdown notification stop one at a time, so each one's time adds up. The rest stop
    /// in parallel: only the slowest counts.
    ///
    /// # Evidence needed
    /// Service stops: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// The service should do less when it stops, report STOP_PENDING at once, and register for preshutdown notification
    /// only if it must.
    ///
    /// # When it is wrong
    /// A service that waits for another one to stop is not the cause.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SystemSession Performance Vulnerabilities"; the threshold is
    /// onoff's.
    "shutdown/service-slow", "services that are slow to stop", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    Ok(facts
        .report
        .units
        .iter()
        .filter(|service| service.time_out.is_none())
        .filter_map(|service| {
            let (end, length) = service.end_ns.zip(service.duration_ns)?;
            if length < facts.report.min_cause_ns() {
                return None;
            }
            let notification = match service.notification {
                ServiceNotification::PreShutdown => "notified before all other services, which wait for it (preshutdown)",
                ServiceNotification::Shutdown => "notified at the same time as other services",
                ServiceNotification::Earlier => "stopped before services were notified, for another reason",
                ServiceNotification::Unknown => "notified to stop",
            };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, service.name.clone())
                        .with_pid(service.pid),
                    format!("service {} took {} to stop", service.name, time(length)),
                )
                .cost(facts.cost((service.start_ns, end)))
                .evidence(service.start_ns, notification)
                .advice(format!(
                    "find out what it does while stopping ('onoff why FILE --service {}'); have it do less, and register for preshutdown \
                     notification only if it must",
                    quote_argument(&service.name)
                )),
            )
        })
        .collect())
}
