//! Long deferred procedure calls before the desktop.

use crate::rules::dpc::long_calls;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Deferred procedure calls (DPCs) of a driver that run for 10 ms or more before the desktop is ready.
    ///
    /// # Why it costs time
    /// While a DPC runs, its CPU runs no thread at all, and other DPCs queue behind it.
    ///
    /// # Evidence needed
    /// Deferred procedure calls: kernel flag DPC; loaded modules for the driver name.
    ///
    /// # What to do
    /// Look for a newer driver. The driver can move the work to a thread.
    ///
    /// # When it is wrong
    /// Under a hypervisor, a call looks long when the virtual CPU was not scheduled.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ResumeDevices Performance Vulnerabilities", which names no
    /// limit; the limit of 10 ms is onoff's.
    "boot/long-dpc", "long deferred procedure calls", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    long_calls(facts.trace, facts.main_path())
}
