//! Whoever took long on the path, and is named by no other rule.

use onoff_blame::account::{Culprit, has_no_path};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A program, service, driver, script or unit that was on the path of a phase for a second or more, and that no other rule names; several
    /// programs or services that each were there for 300 ms or more, one after the other, as one. A file that a part of the system waited for
    /// 2 s or more, and a disk that such parts waited for as long and a third of the phase, with who waited.
    /// Parts of the system that every transition consists of are named only where their phase took longer than it usually does.
    ///
    /// # Why it costs time
    /// Whoever is on the path is waited for: the phase cannot end before.
    ///
    /// # Evidence needed
    /// Context switches and readied threads (CSWITCH, DISPATCHER); without them the work that the providers of the transition record.
    ///
    /// # What to do
    /// See what it did there. What is not needed can be removed, what is not needed now can start later, and what holds a processor can run at
    /// a lower priority.
    ///
    /// # When it is wrong
    /// Somebody else may take its place when it is gone: the time saved may be less than its cost.
    ///
    /// # Source
    /// The account of the phase; the limits are onoff's.
    "account/time-on-path", "whoever was on the path for long and is named by no other rule", Account(check)
}

fn check(culprits: &[Culprit]) -> Outcome {
    // While a computer settles nobody waits for anybody; other rules are about that.
    Ok(culprits.iter().filter(|it| !has_no_path(&it.phase)).map(crate::by_account::general).collect())
}
