//! Applications that are slow to exit.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{application_finding, applications};
use crate::context::waits_for_others;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An application with windows, or of unknown kind, that responds to the shutdown after 5 % of the shutdown or more
    /// (at least 300 ms, at most 500 ms) but within its timeout.
    ///
    /// # Why it costs time
    /// Applications are notified one at a time (current versions notify those of one level in parallel), so each one's
    /// time adds to the shutdown.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr.
    ///
    /// # What to do
    /// The application should respond to WM_QUERYENDSESSION and WM_ENDSESSION at once: save while it runs, write only
    /// unsaved data at the end, and avoid explicit flushes and network access.
    ///
    /// # When it is wrong
    /// An application that asks the user whether to save waits for the user.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "UserSession Performance Analysis"; the threshold is onoff's.
    "shutdown/application-slow", "applications that are slow to exit", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Subsys-Csr")?;
    Ok(applications(facts)
        .filter(|(_, application)| {
            application.details.program != ProgramKind::Console
                && application.details.time_outs.is_empty()
                && !application.details.terminated
                && !waits_for_others(&application.name)
        })
        .filter_map(|(_, application)| {
            let length = application.duration_ns?;
            (length >= facts.report.min_cause_ns().min(thresholds::APPLICATION_EXIT_NS)).then(|| {
                let title = format!("{} took {} to exit", application.name, time(length));
                application_finding(facts, application, title).advice(
                    "have it respond at once: save while it runs, write only unsaved data at the end, and avoid explicit flushes and \
                     network access",
                )
            })
        })
        .collect())
}
