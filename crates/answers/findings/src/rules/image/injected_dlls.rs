//! DLLs that Windows loads into every program.

use super::prelude::*;

rule! {
    /// # What it finds
    /// AppInit_DLLs names DLLs, and LoadAppInit_DLLs is 1.
    ///
    /// # Why it costs time
    /// Each program with windows loads them at its start, so every program of the boot and the logon starts later.
    ///
    /// # Evidence needed
    /// The registry hive SOFTWARE.
    ///
    /// # What to do
    /// Set LoadAppInit_DLLs to 0, or remove the product that needs them.
    ///
    /// # When it is wrong
    /// With Secure Boot on, Windows ignores the values; the registry does not show whether it is on.
    ///
    /// # Source
    /// Microsoft's documentation of AppInit_DLLs: "do not use"; Autoruns lists them under "AppInit".
    "image/injected-dlls", "DLLs are loaded into every program", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) {
        return Err(missing_input("AppInit_DLLs: the hive SOFTWARE is missing"));
    }
    let mut findings = Vec::new();
    for prefix in ["", r"WOW6432Node\"] {
        let path = format!(r"{prefix}Microsoft\Windows NT\CurrentVersion\Windows");
        let setting = |name: &str| facts.image.setting(HiveKind::Software, &path, name);
        let (Some(dlls), Some(switch)) = (setting("AppInit_DLLs"), setting("LoadAppInit_DLLs")) else { continue };
        let text = dlls.text().unwrap_or_default();
        let names: Vec<&str> = text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
        if names.is_empty() || switch.number() != Some(1) {
            continue;
        }
        let title = format!("every program with windows loads {}", listed(&names, 5));
        findings.push(
            facts
                .finding(&dlls, FindingSubject::new(FindingSubjectKind::Setting, "AppInit_DLLs"), &title)
                .severity(FindingSeverity::Moderate)
                .certainty(Certainty::Inferred)
                .evidence(None, switch.evidence())
                .advice("set LoadAppInit_DLLs to 0, or remove the product that needs them")
                .action(AdvisedAction::set_number(&switch, 0).breaks("the product that installed these DLLs")),
        );
    }
    Ok(findings)
}
