//! Long deferred procedure calls while the computer resumes.

use onoff_transitions::suspend::PowerTransition;

use crate::rules::dpc::long_calls;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Deferred procedure calls (DPCs) of a driver of 10 ms or more while the computer resumes.
    ///
    /// # Why it costs time
    /// While one runs, its processor runs no thread at all, and other deferred calls stand behind it: devices answer later.
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
    "suspend/long-dpc", "long deferred procedure calls on the way up", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    match SuspendFacts::resume(transition) {
        Some(window) => long_calls(facts.trace, window),
        None => Ok(Vec::new()),
    }
}
