//! Programs that run before the desktop, or replace it.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Userinit starts more than userinit.exe, or Shell starts more than Explorer.
    ///
    /// # Why it costs time
    /// Winlogon starts these programs at each logon; the desktop appears after the programs in Userinit, and competes
    /// with those in Shell.
    ///
    /// # Evidence needed
    /// The registry hive SOFTWARE.
    ///
    /// # What to do
    /// Move programs that can wait to the Startup folder, or remove them.
    ///
    /// # When it is wrong
    /// A device with one program (a kiosk) replaces the shell on purpose: on device editions, and if Shell names one
    /// other program, it is no finding.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "ExplorerInit"; Autoruns lists both values under "Logon".
    "image/shell-replaced", "programs run before the desktop at each logon", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) {
        return Err(missing_input("logon programs: the hive SOFTWARE is missing"));
    }
    let mut findings = Vec::new();
    for (name, usual) in [("Userinit", "userinit.exe"), ("Shell", "explorer.exe")] {
        let path = r"Microsoft\Windows NT\CurrentVersion\Winlogon";
        let Some(setting) = facts.image.setting(HiveKind::Software, path, name) else { continue };
        let text = setting.text().unwrap_or_default();
        let programs: Vec<&str> = text.split(',').map(str::trim).filter(|program| !program.is_empty()).collect();
        let is_usual = |program: &&str| {
            let program = program.trim_matches('"').to_ascii_lowercase();
            program.rsplit(['\\', '/']).next() == Some(usual)
        };
        let extra: Vec<&str> = programs.iter().copied().filter(|program| !is_usual(program)).collect();
        let is_other_shell = name == "Shell" && programs.len() == 1;
        if extra.is_empty() || is_other_shell || (name == "Shell" && facts.report.edition.is_device) {
            continue;
        }
        let title = format!("{name} starts {} at each logon: {}", counted(extra.len(), "program"), listed(&extra, 5));
        let rest: Vec<&str> = programs.iter().copied().filter(is_usual).collect();
        // Userinit ends with a comma.
        let value = if name == "Userinit" { format!("{},", rest.join(",")) } else { rest.join(",") };
        let mut finding = facts
            .finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, name), &title)
            .severity(FindingSeverity::Moderate)
            .advice(
                "move what can wait to the Startup folder, and record a boot to see what each costs ('onoff boot')",
            );
        if !rest.is_empty() {
            finding = finding.action(AdvisedAction::set(&setting, &SettingValue::Text(value)).breaks(
                "these programs no longer start at the logon: agents of virtual desktops and of management need theirs",
            ));
        }
        findings.push(finding);
    }
    Ok(findings)
}
