//! Driver Verifier is on.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Driver Verifier is on: VerifyDrivers names drivers to check.
    ///
    /// # Why it costs time
    /// It checks every call of these drivers, from the first one of the boot on. A boot measured with it is not
    /// representative.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Turn it off: verifier /reset, and restart.
    ///
    /// # When it is wrong
    /// A driver is being tested. Flags alone (VerifyDriverLevel) check no driver and are no finding.
    ///
    /// # Source
    /// Microsoft's documentation of Driver Verifier: "can consume a significant amount of system resources".
    "image/driver-verifier", "Driver Verifier is on", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(MEMORY, "VerifyDrivers") else { return Ok(Vec::new()) };
    let drivers = setting.text().unwrap_or_default();
    let (drivers, verified) = match drivers.trim() {
        "" => return Ok(Vec::new()),
        "*" => ("all drivers", "/all".to_owned()),
        drivers => (drivers, format!("/driver {drivers}")),
    };
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "VerifyDrivers");
    let level = facts.system(MEMORY, "VerifyDriverLevel");
    let flags =
        level.as_ref().and_then(Setting::number).map_or("/standard".to_owned(), |flags| format!("/flags {flags:#x}"));
    let finding = facts
        .finding(&setting, subject, &format!("Driver Verifier is on for {drivers}"))
        .severity(FindingSeverity::High)
        .advice("run 'verifier /reset' and restart")
        .action(
            AdvisedAction::new(r"Driver Verifier", "off", "verifier /reset")
                .undo(format!("verifier {flags} {verified}"))
                .breaks("faults of drivers are no longer caught"),
        );
    Ok(vec![level.iter().fold(finding, |finding, level| finding.evidence(None, level.evidence()))])
}
