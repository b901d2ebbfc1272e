//! Services that are slow to respond to a suspend notification.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::PowerTransition;

use super::answers::slow_responses;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that takes 300 ms or more to respond to a suspend query or notification, or does not respond within 30
    /// s.
    ///
    /// # Why it costs time
    /// Services registered for power notifications are notified one at a time, so each one's time adds up.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// The service should respond at once, without disk writes or network access, or not register for power
    /// notifications at all.
    ///
    /// # When it is wrong
    /// A service that waits for a disk or a CPU kept busy by others is not the cause; `onoff why` shows what it waits
    /// for.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SuspendServices Performance Analysis" (a service that delays
    /// sleep by 30 s); the threshold is onoff's.
    "suspend/service-slow", "services that are slow to respond to a suspend notification", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    facts.require_power_events()?;
    Ok(slow_responses(
        transition,
        &[NotificationKind::ServiceQuerySuspend, NotificationKind::ServiceSuspend],
        FindingSubjectKind::Service,
        "have it respond at once and do the rest elsewhere, or not register for power notifications at all",
    ))
}
