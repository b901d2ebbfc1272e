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
    let before_kernel_ns = facts.report.details.before_kernel.user_input.duration_ns.unwrap_or(0);
    let logon_ns = facts.report.phases.iter().fold(0_i64, |sum, phase| sum.saturating_add(phase.user_input_ns));
    let total_ns = logon_ns.saturating_add(before_kernel_ns);
    if total_ns < thresholds::NOISE_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Transition, "person"),
        format!("the computer waited {} for a person (excluded from all durations)", time(total_ns)),
    )
    .advice("turn on automatic logon for measurements: the computer keeps working while it waits");
    if logon_ns > 0 {
        let first_request = facts.report.details.logon.user_input_requests().next();
        finding = finding.evidence(
            first_request.map(|work| work.start_ns),
            format!("waiting for credentials at logon: {}", time(logon_ns)),
        );
    }
    if before_kernel_ns > 0 {
        finding = finding.evidence(
            None,
            format!("before the kernel, at a boot menu or a disk password prompt: {}", time(before_kernel_ns)),
        );
    }
    Ok(vec![finding])
}
