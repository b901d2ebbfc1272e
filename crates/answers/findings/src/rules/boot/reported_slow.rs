//! What Windows itself reports as slow in a boot.

use crate::rules::prelude::*;
use crate::rules::reported;

rule! {
    /// # What it finds
    /// Applications, drivers, services, devices and policy that Windows itself reports as slow in its account of the
    /// boot.
    ///
    /// # Why it costs time
    /// Windows measures what takes part in a boot and reports what exceeds a fixed allowance.
    ///
    /// # Evidence needed
    /// Event logs without a recording: events 101 to 110 of Microsoft-Windows-Diagnostics-Performance. In a recording,
    /// the critical path shows what each of them cost.
    ///
    /// # What to do
    /// Update what is named, or start it later. To see what would be saved, record the boot.
    ///
    /// # When it is wrong
    /// The cost is the time over the allowance, an upper bound: causes overlap, so the boot may not become faster by
    /// it. Windows reports only some boots, and measures the boot until the computer is idle, so a program that starts
    /// after the desktop counts.
    ///
    /// # Source
    /// Events 101 to 110 of Microsoft-Windows-Diagnostics-Performance.
    "boot/reported-slow", "what Windows reports as slow in a boot", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let details = &facts.report.details;
    // A recording shows what each cause really cost.
    Ok(if details.channels.is_empty() { Vec::new() } else { reported::findings(&details.reported_delays) })
}
