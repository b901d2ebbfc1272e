//! Services that take long to stop.

use onoff_usage::units::ServiceNotification;

use crate::rules::prelude::*;
use crate::shell_argument::argument;

rule! {
    /// # What it finds
    /// A service that takes 1 s or more to stop, but stops in time.
    ///
    /// # Why it costs time
    /// Services that registered to be notified before all others are stopped one after the other: each one's time is added. The rest stop side by side:
    /// the slowest one counts.
    ///
    /// # Evidence needed
    /// Stops of services: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// Its author does less at a stop, reports STOP_PENDING at once, and asks for preshutdown notification only when it must.
    ///
    /// # When it is wrong
    /// A service that waits for another one to stop is held by that.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SystemSession Performance Vulnerabilities"; the limit is onoff's.
    "shutdown/service-slow", "services that take long to stop", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Services")?;
    Ok(facts
        .report
        .units
        .iter()
        .filter(|service| service.time_out.is_none())
        .filter_map(|service| {
            let (end, length) = service.end_ns.zip(service.duration_ns)?;
            if length < thresholds::SERVICE_STOP_NS {
                return None;
            }
            let when = match service.notification {
                ServiceNotification::PreShutdown => "notified before all others, which wait for it",
                ServiceNotification::Shutdown => "notified at the same time as the others",
                ServiceNotification::Earlier => "stops for another reason, before services are notified",
                ServiceNotification::Unknown => "notified to stop",
            };
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Service, service.name.clone())
                        .with_pid(service.pid),
                    format!("service {} takes {} to stop", service.name, time(length)),
                )
                .costs(facts.cost((service.start_ns, end)))
                .because(service.start_ns, when)
                .advise(format!(
                    "see what it does meanwhile ('onoff why FILE --service {}'); have it do less at a stop, and ask for preshutdown \
                     notification only when it must",
                    argument(&service.name)
                )),
            )
        })
        .collect())
}
