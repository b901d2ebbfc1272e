//! Group Policy startup or logon scripts.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Group Policy has startup or logon scripts.
    ///
    /// # Why it costs time
    /// The boot or the logon waits for them, unless policy lets them run in parallel.
    ///
    /// # Evidence needed
    /// The hives SOFTWARE or NTUSER.DAT.
    ///
    /// # What to do
    /// Measure them (onoff policy), shorten them, or run them in parallel with the logon.
    ///
    /// # When it is wrong
    /// The registry does not show whether a script is slow.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, on Group Policy during a boot.
    "image/policy-scripts", "Group Policy runs startup or logon scripts", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) && !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("policy scripts: neither SOFTWARE nor NTUSER.DAT was found"));
    }
    let scripts: Vec<(String, String)> = ["Startup", "Logon"].iter().flat_map(|event| scripts(facts, event)).collect();
    let names: Vec<&str> = scripts.iter().map(|(name, _)| name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, *first),
        format!("Group Policy runs {} at startup or logon: {}", counted(names.len(), "script"), listed(&names, 5)),
    )
    .advice("measure them with a recording ('onoff policy'), and shorten the slow ones");
    Ok(vec![scripts.iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence.clone()))])
}

/// Returns the scripts of an event (`Startup`, `Logon`) with their evidence.
pub(super) fn scripts(facts: &ImageFacts<'_>, event: &str) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    for (kind, root) in [(HiveKind::Software, ""), (HiveKind::User, r"Software\")] {
        for hive in facts.image.hives_of_kind(kind) {
            let path = format!(r"{root}Microsoft\Windows\CurrentVersion\Group Policy\Scripts\{event}");
            let Some(key) = hive.hive.key(&path) else { continue };
            for policy in key.subkeys() {
                for script in policy.subkeys() {
                    let key = format!(r"{}\{path}\{}\{}", kind.as_str(), policy.name(), script.name());
                    let Some(setting) = Setting::from_key(&script, &key, "Script") else { continue };
                    let evidence = format!("{}: {}", hive.name, setting.evidence());
                    scripts.push((setting.text().unwrap_or_default(), evidence));
                }
            }
        }
    }
    scripts
}
