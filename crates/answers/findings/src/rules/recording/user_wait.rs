//! Time spent waiting for a person.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot in which the computer waited for a person: for credentials at the welcome screen, at a boot menu, or at a
    /// disk password prompt.
    ///
    /// # Why it costs time
    /// The time is excluded from all durations. But the computer keeps working meanwhile, so the longer a person takes,
    /// the less work is left after the logon.
    ///
    /// # Evidence needed
    /// Events of Microsoft-Windows-Winlogon and Microsoft-Windows-Kernel-Boot.
    ///
    /// # What to do
    /// Turn on automatic logon for measurements.
    ///
    /// # When it is wrong
    /// A prompt answered within 500 ms is taken for automatic logon.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "User Interaction Effects on Performance Measurements".
    "recording/user-wait", "a boot in which the computer waited for a person", SessionCaveat(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let before = facts.report.details.before_kernel.user_input.duration_ns.unwrap_or(0);
    let logon = facts.report.phases.iter().fold(0_i64, |sum, phase| sum.saturating_add(phase.user_input_ns));
    let total = logon.saturating_add(before);
    if total < thresholds::NOISE_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Transition, "person"),
        format!("the computer waited {} for a person, which is excluded from all durations", time(total)),
    )
    .advice("turn on automatic logon for measurements: the computer keeps working while it waits");
    if logon > 0 {
        let first = facts.report.details.logon.user_input_requests().next();
        finding = finding
            .evidence(first.map(|work| work.start_ns), format!("waiting for credentials at logon: {}", time(logon)));
    }
    if before > 0 {
        finding = finding
            .evidence(None, format!("before the kernel, at a boot menu or a disk password prompt: {}", time(before)));
    }
    Ok(vec![finding])
}
