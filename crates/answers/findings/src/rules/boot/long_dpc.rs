//! Long deferred procedure calls before the desktop.

use crate::rules::dpc::long_calls;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Deferred procedure calls (DPCs) of a driver of 10 ms or more before the desktop is ready.
    ///
    /// # Why it costs time
    /// While one runs, its processor runs no thread at all, whatever waits, and other deferred calls stand behind it.
    ///
    /// # Evidence needed
    /// Deferred procedure calls: the kernel's flag DPC; loaded modules for the driver's name.
    ///
    /// # What to do
    /// Look for a newer driver. Its author can move the work to a thread.
    ///
    /// # When it is wrong
    /// Under a hypervisor a call looks long when the virtual processor itself was not run.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ResumeDevices Performance Vulnerabilities", which names no limit; 10 ms is onoff's.
    "boot/long-dpc", "long deferred procedure calls", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    long_calls(facts.trace, facts.main_path())
}
