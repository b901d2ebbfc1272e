//! Programs get longer than the Windows default to end at a shutdown.

use super::prelude::*;

rule! {
    /// # What it finds
    /// WaitToKillAppTimeout is longer than 20 s, or HungAppTimeout longer than 5 s, for a user.
    ///
    /// # Why it costs time
    /// A shutdown or sign-out waits that long for a program that does not end.
    ///
    /// # Evidence needed
    /// A user hive (NTUSER.DAT).
    ///
    /// # What to do
    /// Delete the value, so that the default applies, and repair the program.
    ///
    /// # When it is wrong
    /// A program needs the time to save. AutoEndTasks is not reported: it shortens a shutdown, but ends programs with
    /// unsaved work.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, on the shutdown of applications.
    "image/application-waits", "programs may delay a shutdown longer than the Windows default", Image(check)
}

/// Values with their defaults, ms.
const DEFAULTS: [(&str, u64); 2] = [("WaitToKillAppTimeout", 20_000), ("HungAppTimeout", 5_000)];

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("shutdown of programs: no NTUSER.DAT"));
    }
    let mut findings = Vec::new();
    for hive in facts.image.hives_of_kind(HiveKind::User) {
        let path = r"Control Panel\Desktop";
        let Some(key) = hive.hive.key(path) else { continue };
        for (name, default_ms) in DEFAULTS {
            let Some(setting) = Setting::from_key(&key, &format!(r"NTUSER\{path}"), name) else { continue };
            let Some(ms) = setting.number().filter(|&ms| ms > default_ms) else { continue };
            let ns = |ms: u64| time(i64::try_from(ms).unwrap_or(i64::MAX).saturating_mul(1_000_000));
            let title =
                format!("a shutdown waits up to {} for programs to end; the default is {}", ns(ms), ns(default_ms));
            findings.push(
                RuleFinding::new(FindingSubject::new(FindingSubjectKind::Setting, name), title)
                    .severity(FindingSeverity::Moderate)
                    .evidence(None, format!("{}: {}", hive.name, setting.evidence()))
                    .advice("delete the value as this user, and find the program that does not end ('onoff shutdown')")
                    .action(
                        AdvisedAction::delete(&setting)
                            .breaks("programs that need longer to save their work are ended"),
                    ),
            );
        }
    }
    Ok(findings)
}
