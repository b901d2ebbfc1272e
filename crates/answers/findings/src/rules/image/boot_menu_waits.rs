//! A boot loader that waits for a user or a debugger.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The boot menu has several entries and a timeout, or the default entry has debugging or Emergency Management
    /// Services on.
    ///
    /// # Why it costs time
    /// If no entry is chosen, the menu waits for its whole timeout. The kernel waits for a debugger to connect, and
    /// debug output slows it down.
    ///
    /// # Evidence needed
    /// The registry hive BCD (the boot configuration store).
    ///
    /// # What to do
    /// Run bcdedit /timeout 0, bcdedit /debug "{default}" off, and bcdedit /ems "{default}" off.
    ///
    /// # When it is wrong
    /// The menu is needed where users choose between systems.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader".
    "image/boot-menu-waits", "the boot loader waits for a user or a debugger", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(menu) = &facts.report.boot_menu else {
        return Err(missing_input("boot loader settings: the hive BCD is missing"));
    };
    let mut findings = Vec::new();
    if let (Some(setting), Some(seconds)) =
        (&menu.timeout, menu.timeout_s.filter(|&seconds| seconds > 0 && menu.shown_count() > 1))
    {
        let title = format!("the boot menu waits {seconds} s for a choice between {} entries", menu.shown_count());
        findings.push(
            facts
                .finding(setting, FindingSubject::new(FindingSubjectKind::Setting, "timeout"), &title)
                .severity(FindingSeverity::High)
                .advice("run 'bcdedit /timeout 0', or remove unused entries")
                .action(AdvisedAction::boot_entry(
                    "BCD timeout of the boot menu",
                    "0",
                    "bcdedit /timeout 0",
                    format!("bcdedit /timeout {seconds}"),
                    "nobody can choose another entry at the start",
                )),
        );
    }
    for entry in menu.entries.iter().filter(|entry| entry.is_default) {
        let enabled = entry.settings.iter().filter(|setting| {
            matches!(setting.name.as_str(), "debug" | "bootdebug" | "ems") && setting.number() == Some(1)
        });
        findings.extend(enabled.map(|setting| {
            facts
                .finding(
                    setting,
                    FindingSubject::new(FindingSubjectKind::Setting, setting.name.clone()),
                    &format!("{} is on", setting.name),
                )
                .severity(FindingSeverity::Moderate)
                .advice(format!("run 'bcdedit /{} \"{{default}}\" off'", setting.name))
                .action(AdvisedAction::boot_entry(
                    format!("BCD {} of the default entry", setting.name),
                    "off",
                    format!("bcdedit /{} \"{{default}}\" off", setting.name),
                    format!("bcdedit /{} \"{{default}}\" on", setting.name),
                    "debuggers and emergency consoles can no longer connect",
                ))
        }));
    }
    Ok(findings)
}
