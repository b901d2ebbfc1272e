//! Long time on the critical path that no other rule explains.

use onoff_blame::account::{Culprit, has_no_path};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A program, service, driver, script or unit that no other rule reports and that was on the critical path for 5 %
    /// of the transition or more (at least 300 ms, at most 1 s), summed over its phases; several programs or services
    /// of 300 ms or more each in sequence, reported as one; a file that a system component waited for 2 s or more; and
    /// a disk that such components waited for as long and for a third of the phase, with the components that waited.
    /// System components that are part of every transition are reported only if their phase took longer than normal.
    ///
    /// # Why it costs time
    /// A phase cannot end before everything on its critical path is done.
    ///
    /// # Evidence needed
    /// Context switches and ready threads (CSWITCH, DISPATCHER); without them, the work recorded by the transition's
    /// providers.
    ///
    /// # What to do
    /// Find out what it did. Remove what is not needed, start later what is not needed yet, and lower the priority of
    /// what holds a CPU.
    ///
    /// # When it is wrong
    /// Without it, something else may become critical, so the time saved may be less than the cost.
    ///
    /// # Source
    /// The account of the phase; the thresholds are onoff's.
    "account/critical-path-time", "long time on the critical path that no other rule explains", Account(check)
}

fn check(culprits: &[Culprit]) -> Outcome {
    // Phases in which the computer becomes idle have no critical path; other rules cover them.
    Ok(culprits
        .iter()
        .filter(|culprit| !has_no_path(&culprit.phase))
        .map(crate::attribution::critical_path_time)
        .collect())
}
