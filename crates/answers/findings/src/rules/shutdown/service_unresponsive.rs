//! Services that do not stop in time.

use crate::protected::is_protected;
use crate::rules::prelude::*;
use crate::shell_argument::argument;

rule! {
    /// # What it finds
    /// A service that had not stopped when the service control manager gave up waiting.
    ///
    /// # Why it costs time
    /// One such service makes every shutdown as long as the wait: 20 s in Vista, 12 s in Windows 7, 5 s later, or what
    /// WaitToKillServiceTimeout says.
    ///
    /// # Evidence needed
    /// Stops of services: provider Microsoft-Windows-Services.
    ///
    /// # What to do
    /// Its author reports STOP_PENDING at once and SERVICE_STOPPED as soon as possible, or does not register for the shutdown at all.
    ///
    /// # When it is wrong
    /// When the wait is configured and not given with `--service-timeout`, a service may be taken for unresponsive that stopped late.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SystemSession Performance Analysis".
    "shutdown/service-unresponsive", "services that do not stop in time", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Services")?;
    Ok(facts
        .report
        .units
        .iter()
        .filter(|service| service.time_out.is_some())
        .map(|service| {
            let limit = facts.report.details.service_time_out.limit_ns;
            let waited = service.time_out.as_ref().and_then(|it| it.limit_ns).or(limit);
            let end = service.end_ns.unwrap_or_else(|| {
                let waited = waited.unwrap_or(i64::MAX);
                service.start_ns.saturating_add(waited).min(facts.window().1)
            });
            let title = match service.duration_ns {
                Some(ns) => format!("service {} stops after {}, later than it is waited for", service.name, time(ns)),
                None => format!("service {} never stops", service.name),
            };
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Service, service.name.clone()).with_pid(service.pid),
                title,
            )
            .costs(facts.cost((service.start_ns, end)))
            .certain(service.time_out.as_ref().map_or(Certainty::Inferred, |it| it.certainty))
            .because(service.start_ns, "it is notified to stop")
            .advise(if is_protected(&service.name) {
                format!(
                    "{} belongs to Windows: find what it waits for ('onoff why FILE --service {}')",
                    service.name,
                    argument(&service.name)
                )
            } else {
                "have it report STOP_PENDING at once and stop as soon as it can, or not register for shutdowns at all"
                    .to_owned()
            });
            if service.checkpoint_ns.is_none() {
                finding = finding.because(None, "it never reports that it is stopping");
            }
            if let Some(time_out) = &service.time_out {
                finding = finding.because(time_out.at_ns, time_out.evidence.to_string());
            }
            finding
        })
        .collect())
}
