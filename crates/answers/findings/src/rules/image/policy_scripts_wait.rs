//! Boots or logons wait for scripts of Group Policy.

use super::policy_scripts::scripts;
use super::prelude::*;

rule! {
    /// # What it finds
    /// Group Policy has scripts, and the logon waits for them (RunLogonScriptSync), startup scripts run one at a time
    /// (RunStartupScriptSync), or the time limit of scripts is off or longer than 600 s (MaxGPOScriptWait).
    ///
    /// # Why it costs time
    /// The desktop waits until all logon scripts have ended, and one script that hangs delays it by the whole limit.
    ///
    /// # Evidence needed
    /// The hives SOFTWARE or NTUSER.DAT.
    ///
    /// # What to do
    /// Let scripts run in parallel, and set the limit to what the slowest script needs.
    ///
    /// # When it is wrong
    /// The scripts prepare what the desktop needs. Without scripts of that kind there is nothing to wait for, and the
    /// setting is no finding.
    ///
    /// # Source
    /// Microsoft's policy reference (Scripts.admx): the default limit is 600 s, and 0 waits forever.
    "image/policy-scripts-wait", "boots or logons wait for scripts of Group Policy", Image(check)
}

/// Default time limit of scripts, s.
const DEFAULT_LIMIT_S: u64 = 600;

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::Software) && !facts.image.has_hive(HiveKind::User) {
        return Err(missing_input("policy scripts: neither SOFTWARE nor NTUSER.DAT was found"));
    }
    let path = r"Microsoft\Windows\CurrentVersion\Policies\System";
    let setting = |name: &str| {
        let machine = facts.image.setting(HiveKind::Software, path, name);
        machine.or_else(|| facts.image.setting(HiveKind::User, &format!(r"Software\{path}"), name))
    };
    let mut findings = Vec::new();
    let mut report = |setting: &Setting, title: &str, value: u64, breaks: &str, evidence: &[(String, String)]| {
        let subject = FindingSubject::new(FindingSubjectKind::Setting, setting.name.clone());
        let finding = facts
            .finding(setting, subject, title)
            .severity(FindingSeverity::Moderate)
            .advice(format!("set {} to {value}, and measure the scripts ('onoff policy')", setting.name))
            .action(
                AdvisedAction::set_number(setting, value)
                    .breaks(format!("{breaks}; a policy of the domain sets the value again")),
            );
        findings.push(evidence.iter().fold(finding, |finding, (_, evidence)| finding.evidence(None, evidence.clone())));
    };
    let logon = scripts(facts, "Logon");
    let startup = scripts(facts, "Startup");
    if let Some(setting) = setting("RunLogonScriptSync").filter(|setting| setting.number() == Some(1))
        && !logon.is_empty()
    {
        let title = format!("the desktop waits for {}", counted(logon.len(), "logon script"));
        report(&setting, &title, 0, "the desktop can appear before the scripts have ended", &logon);
    }
    // One startup script has nothing to wait for but itself.
    if let Some(setting) = setting("RunStartupScriptSync").filter(|setting| setting.number() == Some(1))
        && startup.len() > 1
    {
        let title = format!("{} startup scripts run one at a time", startup.len());
        report(&setting, &title, 0, "startup scripts run in any order, at the same time", &startup);
    }
    let all: Vec<(String, String)> = logon.into_iter().chain(startup).collect();
    if let Some((setting, seconds)) = setting("MaxGPOScriptWait")
        .and_then(|setting| setting.number().map(|seconds| (setting, seconds)))
        .filter(|&(_, seconds)| (seconds == 0 || seconds > DEFAULT_LIMIT_S) && !all.is_empty())
    {
        let title = if seconds == 0 {
            "a script of Group Policy that hangs stops the boot or the logon: there is no time limit".to_owned()
        } else {
            format!("scripts of Group Policy may take up to {seconds} s; the default limit is 600 s")
        };
        report(&setting, &title, DEFAULT_LIMIT_S, "scripts that need longer are ended", &all);
    }
    Ok(findings)
}
