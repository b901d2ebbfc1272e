//! The boot loader waits for a person or a debugger.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The boot menu has more than one entry and waits, or the entry that starts has debugging or the emergency console on.
    ///
    /// # Why it costs time
    /// The menu waits its whole time when nobody chooses. A debugger's connection is waited for, and its output slows the kernel.
    ///
    /// # Evidence needed
    /// The registry hive BCD, the boot loader's store.
    ///
    /// # What to do
    /// bcdedit /timeout 0; bcdedit /debug off; bcdedit /ems off.
    ///
    /// # When it is wrong
    /// Where people choose between systems, the menu is wanted.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader".
    "image/boot-menu-waits", "the boot loader waits for a person or a debugger", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(menu) = &facts.report.boot_menu else {
        return Err(lacks_other("how the boot loader is set: the hive BCD is not there"));
    };
    let mut findings = Vec::new();
    if let (Some(setting), Some(seconds)) =
        (&menu.timeout, menu.timeout_s.filter(|&seconds| seconds > 0 && menu.shown() > 1))
    {
        let what = format!("the boot menu waits {seconds} s for a choice among {} entries", menu.shown());
        findings.push(
            facts
                .finding(setting, FindingSubject::new(FindingSubjectKind::Setting, "timeout"), &what)
                .graded(FindingSeverity::High)
                .advise("bcdedit /timeout 0, or remove entries that nobody uses"),
        );
    }
    for entry in menu.entries.iter().filter(|entry| entry.is_default) {
        let on = entry
            .settings
            .iter()
            .filter(|one| matches!(one.name.as_str(), "debug" | "bootdebug" | "ems") && one.number() == Some(1));
        findings.extend(on.map(|setting| {
            facts
                .finding(
                    setting,
                    FindingSubject::new(FindingSubjectKind::Setting, setting.name.clone()),
                    &format!("{} is on", setting.name),
                )
                .graded(FindingSeverity::Moderate)
                .advise(format!("bcdedit /{} off", setting.name))
        }));
    }
    Ok(findings)
}
