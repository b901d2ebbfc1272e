//! Console programs that are slow to exit.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{application_finding, applications};
use crate::context::waits_for_others;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A console program whose control handler takes 5 % of the shutdown or more (at least 300 ms, at most 500 ms), or
    /// does not return within 5 s.
    ///
    /// # Why it costs time
    /// The shutdown waits for the handler, up to 5 s per program, before it terminates the process.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr, and Microsoft-Windows-Winsrv to recognize programs without windows.
    ///
    /// # What to do
    /// The handler of CTRL_LOGOFF_EVENT and CTRL_SHUTDOWN_EVENT should save its state and return; a tool that does not
    /// have to run in the session should be a service.
    ///
    /// # When it is wrong
    /// A program notified late because of others did not take longer itself: only its own time counts here.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Measuring Application Delays in the UserSession Subphase".
    "shutdown/console-program-slow", "console programs that are slow to exit", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Subsys-Csr")?;
    facts.require_provider("Microsoft-Windows-Winsrv")?;
    Ok(applications(facts)
        .filter(|(_, application)| {
            application.details.program == ProgramKind::Console && !waits_for_others(&application.name)
        })
        .filter(|(_, application)| {
            application.duration_ns
                .is_none_or(|ns| ns >= facts.report.min_cause_ns().min(thresholds::APPLICATION_EXIT_NS))
                || !application.details.time_outs.is_empty()
                || application.details.terminated
        })
        .map(|(_, application)| {
            let outcome = match application.duration_ns {
                Some(ns) if application.details.time_outs.is_empty() => format!("took {} to exit", time(ns)),
                Some(ns) => format!("did not exit; Windows terminated it after {}", time(ns)),
                None => "did not exit before the recording ended".to_owned(),
            };
            let certainty = if application.details.time_outs.is_empty() {
                Certainty::Measured
            } else {
                super::applications::certainty(application)
            };
            application_finding(facts, application, format!("console program {} {outcome}", application.name))
                .certainty(certainty)
                .advice(
                    "have its console handler save its state and return; a tool that need not run in the session should be a service",
                )
        })
        .collect())
}
