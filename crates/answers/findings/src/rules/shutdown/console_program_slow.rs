//! Console programs that take long to end.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{about, applications, certainty};
use crate::context::waits_for_others;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A console program whose control handler takes 500 ms or more, or does not return within its 5 s.
    ///
    /// # Why it costs time
    /// The shutdown waits for the handler, up to 5 s for each program, before it ends the process.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr, and Microsoft-Windows-Winsrv to know that the program has no windows.
    ///
    /// # What to do
    /// Its author has the handler of CTRL_LOGOFF_EVENT and CTRL_SHUTDOWN_EVENT save what must be saved and return; a tool that need not run in
    /// the session is better a service.
    ///
    /// # When it is wrong
    /// A program that is notified late because others came first took no longer for that: only its own time counts here.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Measuring Application Delays in the UserSession Subphase".
    "shutdown/console-program-slow", "console programs that take long to end", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Subsys-Csr")?;
    facts.needs("Microsoft-Windows-Winsrv")?;
    Ok(applications(facts)
        .filter(|(_, one)| one.details.program == ProgramKind::Console && !waits_for_others(&one.name))
        .filter(|(_, one)| {
            one.duration_ns
                .is_none_or(|ns| ns >= thresholds::APPLICATION_END_NS)
                || !one.details.time_outs.is_empty()
                || one.details.terminated
        })
        .map(|(_, one)| {
            let took = match one.duration_ns {
                Some(ns) if one.details.time_outs.is_empty() => format!("takes {} to end", time(ns)),
                Some(ns) => format!("does not end by itself; it is given up after {}", time(ns)),
                None => "does not end while it is recorded".to_owned(),
            };
            let sure = if one.details.time_outs.is_empty() {
                Certainty::Measured
            } else {
                certainty(one)
            };
            about(facts, one, format!("console program {} {took}", one.name))
                .certain(sure)
                .advise(
                    "have its console handler save what must be saved and return; a tool that need not run in the session is better a \
                     service",
                )
        })
        .collect())
}
