//! Applications that take long to end.

use onoff_transitions::shutdown::ProgramKind;

use super::applications::{about, applications};
use crate::context::waits_for_others;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An application with windows, or one of which that is not known, that answers the shutdown after 500 ms or more but before its time-out.
    ///
    /// # Why it costs time
    /// Applications are notified one after the other (those of one level side by side in current versions): each one's time is added to the
    /// shutdown.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Subsys-Csr.
    ///
    /// # What to do
    /// The application's author answers WM_QUERYENDSESSION and WM_ENDSESSION at once: saves while it runs, writes only what is unsaved, flushes
    /// nothing explicitly and asks no network.
    ///
    /// # When it is wrong
    /// An application that asks a person whether to save waits for the person.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "UserSession Performance Analysis"; the limit is onoff's.
    "shutdown/application-slow", "applications that take long to end", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Subsys-Csr")?;
    Ok(applications(facts)
        .filter(|(_, one)| {
            one.details.program != ProgramKind::Console
                && one.details.time_outs.is_empty()
                && !one.details.terminated
                && !waits_for_others(&one.name)
        })
        .filter_map(|(_, one)| {
            let length = one.duration_ns?;
            (length >= thresholds::APPLICATION_END_NS).then(|| {
                about(facts, one, format!("{} takes {} to end", one.name, time(length))).advise(
                    "have it answer the questions at once: save while it runs, write only what is unsaved, flush nothing explicitly, \
                     ask no network",
                )
            })
        })
        .collect())
}
