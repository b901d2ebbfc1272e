//! Applications that do not respond within their timeout.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{application_finding, applications, certainty};
use crate::context::waits_for_others;
use crate::rules::prelude::*;
use crate::shell_argument::quote_argument;

rule! {
    /// # What it finds
    /// An application whose windows do not respond to the shutdown within their timeout (5 s, or 0.25 and 0.5 s if
    /// forced), or that had to be terminated.
    ///
    /// # Why it costs time
    /// Windows waits for the full timeout, and may then ask the user.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr; Microsoft-Windows-Winsrv for threads and terminations.
    ///
    /// # What to do
    /// The application should respond on its window thread while other threads finish the work, and return from
    /// WM_ENDSESSION once its state is saved.
    ///
    /// # When it is wrong
    /// Without the Winsrv events, a timeout is recognized by its length alone: *inferred*.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "What Happens in UserSession".
    "shutdown/application-unresponsive", "applications that do not respond within their timeout", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Subsys-Csr")?;
    Ok(applications(facts)
        .filter(|(_, application)| {
            application.details.program != ProgramKind::Console
                && (!application.details.time_outs.is_empty() || application.details.terminated)
                && !waits_for_others(&application.name)
        })
        .map(|(_, application)| {
            let title = format!("{} did not respond to the end of the session", application.name);
            application_finding(facts, application, title)
                .certainty(certainty(application))
                .advice(format!(
                    "respond on the window thread while other threads finish the work; see what it waits for with 'onoff why FILE \
                     --process {}'",
                    quote_argument(&application.name)
                ))
        })
        .collect())
}
