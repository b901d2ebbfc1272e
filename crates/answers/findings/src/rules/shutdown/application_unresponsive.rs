//! Applications that run into their time-out.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{about, applications, certainty};
use crate::context::waits_for_others;
use crate::rules::prelude::*;
use crate::shell_argument::argument;

rule! {
    /// # What it finds
    /// An application whose windows do not answer the shutdown within their time-out (5 s, or 0.25 and 0.5 s when it is forced), or that had to
    /// be terminated.
    ///
    /// # Why it costs time
    /// The whole time-out is waited for, and then a person may be asked.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr; Microsoft-Windows-Winsrv for threads and terminations.
    ///
    /// # What to do
    /// Its author lets the thread with the window answer while work goes on elsewhere, and returns from WM_ENDSESSION when state is saved.
    ///
    /// # When it is wrong
    /// Without Winsrv's events a time-out is known from its length alone: *inferred*.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "What Happens in UserSession".
    "shutdown/application-unresponsive", "applications that run into their time-out", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Subsys-Csr")?;
    Ok(applications(facts)
        .filter(|(_, one)| {
            one.details.program != ProgramKind::Console
                && (!one.details.time_outs.is_empty() || one.details.terminated)
                && !waits_for_others(&one.name)
        })
        .map(|(_, one)| {
            about(facts, one, format!("{} does not answer that it has to end", one.name))
                .certain(certainty(one))
                .advise(format!(
                    "have the thread with the window answer while work goes on elsewhere; see what it waits for with 'onoff why FILE \
                     --process {}'",
                    argument(&one.name)
                ))
        })
        .collect())
}
