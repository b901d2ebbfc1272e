//! Services that do not stop within the timeout.

use crate::protected::is_protected;
use crate::rules::prelude::*;
use crate::shell_argument::quote_argument;

rule! {
    /// # What it finds
    /// A service that had not stopped when the service control manager gave up waiting.
    ///
    /// # Why it costs time
    /// A single such service makes every shutdown as long as the timeout: 20 s in Vista, 12 s in Windows 7, 5 s since
    /// Windows 8, or the value of WaitToKillServiceTimeout.
    ///
    /// # Evidence needed
    /// Service stops: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// The service should report STOP_PENDING at once and SERVICE_STOPPED as soon as possible, or not register for
    /// shutdown notifications at all.
    ///
    /// # When it is wrong
    /// If the timeout was configured but not passed with `--service-timeout`, a service that stopped late may be
    /// reported as unresponsive.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SystemSession Performance Analysis".
    "shutdown/service-unresponsive", "services that do not stop within the timeout", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    Ok(facts
        .report
        .units
        .iter()
        .filter(|service| service.time_out.is_some())
        .map(|service| {
            let default_limit_ns = facts.report.details.service_time_out.limit_ns;
            let limit_ns = service.time_out.as_ref().and_then(|time_out| time_out.limit_ns).or(default_limit_ns);
            let end = service.end_ns.unwrap_or_else(|| {
                let limit_ns = limit_ns.unwrap_or(i64::MAX);
                service.start_ns.saturating_add(limit_ns).min(facts.window().1)
            });
            let waited_until_ns = facts.report.details.service_shutdown.end_ns;
            let title = match service.end_ns.zip(service.duration_ns) {
                // The service manager may have waited longer than the timeout.
                Some((end_ns, ns)) if waited_until_ns.is_none_or(|waited_ns| end_ns <= waited_ns) => {
                    format!("service {} took {} to stop, longer than its timeout", service.name, time(ns))
                }
                Some((_, ns)) => {
                    format!("service {} stopped after {}, when the shutdown no longer waited for it", service.name, time(ns))
                }
                None => format!("service {} never stopped", service.name),
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, service.name.clone()).with_pid(service.pid),
                title,
            )
            .cost(facts.cost((service.start_ns, end)))
            .certainty(service.time_out.as_ref().map_or(Certainty::Inferred, |time_out| time_out.certainty))
            .evidence(service.start_ns, "it was notified to stop")
            .advice(if is_protected(&service.name) {
                format!(
                    "find out what {} waits for ('onoff why FILE --service {}'); it is part of Windows",
                    service.name,
                    quote_argument(&service.name)
                )
            } else {
                "have it report STOP_PENDING at once and stop as soon as it can, or not register for shutdown notifications at all"
                    .to_owned()
            });
            if service.checkpoint_ns.is_none() {
                finding = finding.evidence(None, "it never reported STOP_PENDING");
            }
            if let Some(time_out) = &service.time_out {
                finding = finding.evidence(time_out.at_ns, time_out.evidence.to_string());
            }
            finding
        })
        .collect())
}
