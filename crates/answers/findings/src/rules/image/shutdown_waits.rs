//! A service shutdown timeout longer than the Windows default.

use super::prelude::*;

rule! {
    /// # What it finds
    /// WaitToKillServiceTimeout is longer than the default of the Windows version (5 s since Windows 8, 12 s in Windows 7,
    /// 20 s before and if the version is unknown), or PreshutdownOrder names third-party services.
    ///
    /// # Why it costs time
    /// A shutdown waits that long for services that do not stop.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Set it back to the default, and repair the service.
    ///
    /// # When it is wrong
    /// A database may need the time to stop without data loss.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, on the shutdown of services.
    "image/shutdown-waits", "the service shutdown timeout is longer than the Windows default", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let mut findings = Vec::new();
    let default_ms = default_stop_ms(facts.build());
    let timeout = facts.system(r"CS\Control", "WaitToKillServiceTimeout");
    if let Some((setting, ms)) =
        timeout.and_then(|setting| setting.number().map(|ms| (setting, ms))).filter(|(_, ms)| *ms > default_ms)
    {
        let ns = i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let default_ns = i64::try_from(default_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000);
        let title =
            format!("a shutdown waits up to {} for services to stop; the default is {}", time(ns), time(default_ns));
        findings.push(
            facts
                .finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, "WaitToKillServiceTimeout"), &title)
                .severity(FindingSeverity::Moderate)
                .advice(format!(
                    "set it back to {default_ms} ms, and find the service that does not stop ('onoff shutdown')"
                ))
                .action(
                    AdvisedAction::set_number(&setting, default_ms)
                        .breaks("services that need longer to stop are ended, and can lose data"),
                ),
        );
    }
    if let Some(setting) = facts.system(r"CS\Control", "PreshutdownOrder") {
        const KNOWN: [&str; 7] =
            ["wuauserv", "gpsvc", "trustedinstaller", "deviceinstall", "usosvc", "dosvc", "waasmedicsvc"];
        let texts = setting.texts().unwrap_or_default();
        let third_party: Vec<&str> =
            texts.iter().map(String::as_str).filter(|name| !KNOWN.contains(&name.to_lowercase().as_str())).collect();
        if !third_party.is_empty() {
            let title = format!(
                "{} notified before all others at shutdown: {}",
                if third_party.len() == 1 { "a third-party service is" } else { "third-party services are" },
                listed(&third_party, 5)
            );
            let subject = FindingSubject::new(FindingSubjectKind::Service, third_party[0]);
            findings.push(
                facts
                    .finding(&setting, subject, &title)
                    .advice("record a shutdown to see how long it takes ('onoff shutdown')"),
            );
        }
    }
    Ok(findings)
}

/// Returns the default of WaitToKillServiceTimeout, ms. Without the version, the longest default.
fn default_stop_ms(build: Option<u32>) -> u64 {
    match build {
        Some(build) if build >= WINDOWS_8 => 5_000,
        Some(build) if build >= WINDOWS_7 => 12_000,
        _ => thresholds::SERVICE_STOP_MS,
    }
}
