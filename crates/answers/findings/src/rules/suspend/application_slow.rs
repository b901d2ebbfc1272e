//! Applications that are slow to respond to a suspend notification.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::PowerTransition;

use super::answers::slow_responses;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An application that takes 300 ms or more to respond to a suspend query or notification, or does not respond
    /// within 2 s.
    ///
    /// # Why it costs time
    /// Applications are notified one at a time, so each one's time adds up.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// The application should respond to WM_POWERBROADCAST at once and do the rest on another thread or after the
    /// resume.
    ///
    /// # When it is wrong
    /// An application that gets no CPU time because others use it is not the cause; `onoff cpu` shows what used the
    /// CPU.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SuspendApps Performance Vulnerabilities"; the threshold is
    /// onoff's.
    "suspend/application-slow", "applications that are slow to respond to a suspend notification", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    facts.require_power_events()?;
    Ok(slow_responses(
        transition,
        &[NotificationKind::ApplicationQuerySuspend, NotificationKind::ApplicationSuspend],
        FindingSubjectKind::Process,
        "have it respond to WM_POWERBROADCAST at once and do the rest on another thread or after the resume",
    ))
}
