//! Time that a person took.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot in which the computer waited for a person: for credentials at the welcome screen, or at a boot menu or a disk password.
    ///
    /// # Why it costs time
    /// It counts as boot time and is nobody's fault; between two recordings it differs by seconds.
    ///
    /// # Evidence needed
    /// Events of the logon process (Microsoft-Windows-Winlogon) and of Microsoft-Windows-Kernel-Boot.
    ///
    /// # What to do
    /// Subtract it, or log on by itself for measurements.
    ///
    /// # When it is wrong
    /// Services may have worked meanwhile: then less than the whole can be subtracted.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "User Interaction Effects on Performance Measurements".
    "recording/person-waited-for", "a boot in which the computer waited for a person", SessionTrust(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let logon = facts.report.details.logon.person_ns;
    let before = facts.report.details.before_kernel.user_input.duration_ns.unwrap_or(0);
    let total = logon.saturating_add(before);
    if total < thresholds::NOISE_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Transition, "person"),
        format!("{} of the boot is time that a person took", time(total)),
    )
    .advise("subtract it when comparing, or log on by itself for measurements");
    if logon > 0 {
        let first = facts.report.details.logon.credential_requests.first();
        finding = finding
            .because(first.map(|work| work.start_ns), format!("the logon waited for credentials: {}", time(logon)));
    }
    if before > 0 {
        finding = finding.because(None, format!("at a boot menu or a disk password: {}", time(before)));
    }
    Ok(vec![finding])
}
