//! What Windows itself reports as slow in a shutdown.

use crate::rules::prelude::*;
use crate::rules::reported;

rule! {
    /// # What it finds
    /// Applications, devices and services that Windows itself reports as slow in its account of the shutdown.
    ///
    /// # Why it costs time
    /// Windows measures what takes part in a shutdown and reports what exceeds a fixed allowance.
    ///
    /// # Evidence needed
    /// Event logs without a recording: events 201 to 203 of Microsoft-Windows-Diagnostics-Performance. In a recording,
    /// the shutdown's own phases and services show what each of them cost.
    ///
    /// # What to do
    /// Update what is named. To see what would be saved, record the shutdown.
    ///
    /// # When it is wrong
    /// The cost is the time over the allowance, an upper bound: causes overlap, so the shutdown may not become faster by
    /// it. Windows reports only some shutdowns.
    ///
    /// # Source
    /// Events 201 to 203 of Microsoft-Windows-Diagnostics-Performance.
    "shutdown/reported-slow", "what Windows reports as slow in a shutdown", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    let details = &facts.report.details;
    // A recording shows what each cause really cost.
    Ok(if details.channels.is_empty() { Vec::new() } else { reported::findings(&details.reported_delays) })
}
