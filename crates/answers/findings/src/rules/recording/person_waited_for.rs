//! Time that a person took.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot in which the computer waited for a person: for credentials at the welcome screen, or at a boot menu or a disk password.
    ///
    /// # Why it costs time
    /// It does not: it is in none of the lengths that onoff gives. But the computer works on meanwhile, so the longer a person takes, the
    /// less is left to do after the logon.
    ///
    /// # Evidence needed
    /// Events of the logon process (Microsoft-Windows-Winlogon) and of Microsoft-Windows-Kernel-Boot.
    ///
    /// # What to do
    /// For measurements, have it log on automatically.
    ///
    /// # When it is wrong
    /// A request that is answered within 500 ms is taken for automatic logon.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "User Interaction Effects on Performance Measurements".
    "recording/person-waited-for", "a boot in which the computer waited for a person", SessionTrust(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let before = facts.report.details.before_kernel.user_input.duration_ns.unwrap_or(0);
    let logon = facts.report.phases.iter().fold(0_i64, |sum, phase| sum.saturating_add(phase.person_ns));
    let total = logon.saturating_add(before);
    if total < thresholds::NOISE_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Transition, "person"),
        format!("The computer waited {} for a person; no length contains that", time(total)),
    )
    .advise("for measurements, have it log on automatically: it works on while it waits");
    if logon > 0 {
        let first = facts.report.details.logon.waits_for_a_person().next();
        finding = finding
            .because(first.map(|work| work.start_ns), format!("the logon waited for credentials: {}", time(logon)));
    }
    if before > 0 {
        finding =
            finding.because(None, format!("before the kernel, at a boot menu or a disk password: {}", time(before)));
    }
    Ok(vec![finding])
}
