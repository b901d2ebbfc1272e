//! Applications slow to answer that the computer suspends.

use onoff_trace::NotificationKind;
use onoff_transitions::suspend::PowerTransition;

use super::answers::slow;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// An application that takes 300 ms or more to answer the question or the message that the computer suspends, or does not answer within 2 s.
    ///
    /// # Why it costs time
    /// Applications are notified one after the other: each one's time is added.
    ///
    /// # Evidence needed
    /// Provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// Its author answers WM_POWERBROADCAST at once and does the rest on another thread or after the resume.
    ///
    /// # When it is wrong
    /// An application that gets no processor because others compute is not to blame; `onoff cpu` of that time shows them.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "SuspendApps Performance Vulnerabilities"; the limit is onoff's.
    "suspend/application-slow", "applications slow to answer that the computer suspends", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    facts.needs_power()?;
    Ok(slow(
        transition,
        &[NotificationKind::ApplicationQuerySuspend, NotificationKind::ApplicationSuspend],
        FindingSubjectKind::Process,
        "have it answer WM_POWERBROADCAST at once and do the rest on another thread or after the resume",
    ))
}
