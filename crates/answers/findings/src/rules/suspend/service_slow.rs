//! Services slow to answer that the computer suspends.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::PowerTransition;

use super::answers::slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that takes 300 ms or more to answer the question or the message that the computer suspends, or does not answer within 30 s.
    ///
    /// # Why it costs time
    /// Services that registered for power notifications are notified one after the other: each one's time is added.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// Its author answers at once, writes and talks to no network there, or does not ask for power notifications at all.
    ///
    /// # When it is wrong
    /// A service that waits for a disk or a processor that others keep busy is not to blame; `onoff why` tells.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SuspendServices Performance Analysis" (a service that delays sleep by 30 s); the limit
    /// is onoff's.
    "suspend/service-slow", "services slow to answer that the computer suspends", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    facts.needs_power()?;
    Ok(slow(
        transition,
        &[NotificationKind::ServiceQuerySuspend, NotificationKind::ServiceSuspend],
        FindingSubjectKind::Service,
        "have it answer at once and do the rest elsewhere, or not ask for power notifications at all",
    ))
}
