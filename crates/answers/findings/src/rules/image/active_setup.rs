//! Active Setup commands that run at the next logon.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Active Setup has commands (StubPath) that a user has not run yet.
    ///
    /// # Why it costs time
    /// At the logon, Explorer runs them one at a time before the desktop appears, and waits for each.
    ///
    /// # Evidence needed
    /// The hives SOFTWARE and NTUSER.DAT.
    ///
    /// # What to do
    /// Log on once before the image is measured or copied; remove components that no user needs.
    ///
    /// # When it is wrong
    /// The user of the hive never logs on. Commands that the user ran in the same version do not count.
    ///
    /// # Source
    /// Autoruns lists Active Setup under "Logon"; public optimization lists for virtual desktops remove its components.
    "image/active-setup", "Active Setup commands run at the next logon", Image(check)
}

const COMPONENTS: &str = r"Microsoft\Active Setup\Installed Components";

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) || !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("Active Setup: the hives SOFTWARE and NTUSER.DAT are needed"));
    }
    let mut findings = Vec::new();
    for user in facts.image.hives_of_kind(HiveKind::User) {
        // Without the key, nobody has logged on with this hive yet.
        let Some(done) = user.hive.key(&format!(r"Software\{COMPONENTS}")) else { continue };
        let done = done.subkeys();
        let mut pending = Vec::new();
        for path in [COMPONENTS.to_owned(), format!(r"WOW6432Node\{COMPONENTS}")] {
            let Some((components, key)) = facts.image.key(HiveKind::Software, &path) else { continue };
            for component in components.subkeys() {
                let component_key = format!(r"{key}\{}", component.name());
                let Some(stub) = Setting::from_key(&component, &component_key, "StubPath") else { continue };
                let is_installed = component.value("IsInstalled").and_then(|value| value.number()) != Some(0);
                if stub.text().is_none_or(|text| text.trim().is_empty()) || !is_installed {
                    continue;
                }
                let version = component.value("Version").and_then(|value| value.string()).unwrap_or_default();
                let user_key = done.iter().find(|key| key.name().eq_ignore_ascii_case(&component.name()));
                let user_version = user_key.map(|key| key.value("Version").and_then(|value| value.string()));
                let is_done = user_version.is_some_and(|done| !is_newer(&version, &done.unwrap_or_default()));
                if !is_done {
                    pending.push((component.name(), stub.evidence()));
                }
            }
        }
        let names: Vec<&str> = pending.iter().map(|(name, _)| name.as_str()).collect();
        let Some(first) = names.first() else { continue };
        let finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, *first),
            format!("{} will run at the next logon of {}", counted(names.len(), "Active Setup command"), user.name),
        )
        .severity(FindingSeverity::Moderate)
        .certainty(Certainty::Inferred)
        .advice("log on once before measuring; remove components that no user needs");
        findings.push(pending.iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence.clone())));
    }
    Ok(findings)
}

/// Compares version numbers such as `11,789,19041,0`.
fn is_newer(version: &str, done: &str) -> bool {
    let numbers =
        |text: &str| -> Vec<u64> { text.split([',', '.']).map(|part| part.trim().parse().unwrap_or(0)).collect() };
    numbers(version) > numbers(done)
}
