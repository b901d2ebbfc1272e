//! A boot entry that limits processors or memory, or starts in safe mode.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The default boot entry limits the processors (numproc, onecpu) or the memory (truncatememory, removememory),
    /// starts in safe mode (safeboot), or logs every driver (bootlog).
    ///
    /// # Why it costs time
    /// Work of the boot that could run at the same time runs one after the other, or the memory is too small to keep
    /// what was read. The boot log is a file write for each driver.
    ///
    /// # Evidence needed
    /// The registry hive BCD (the boot configuration store).
    ///
    /// # What to do
    /// Delete the setting: bcdedit /deletevalue "{default}" numproc.
    ///
    /// # When it is wrong
    /// The limit is a test on purpose.
    ///
    /// # Source
    /// Microsoft's documentation of BCDEdit /set and of BcdOSLoaderElementTypes.
    "image/boot-entry-limits", "the boot entry limits processors or memory, or starts in safe mode", Image(check)
}

/// Settings with what they do.
const LIMITS: [(&str, &str, FindingSeverity); 6] = [
    ("numproc", "Windows uses only some of the processors", FindingSeverity::High),
    ("onecpu", "Windows uses only one processor", FindingSeverity::High),
    ("truncatememory", "Windows uses only a part of the memory", FindingSeverity::High),
    ("removememory", "Windows uses only a part of the memory", FindingSeverity::High),
    ("safeboot", "Windows starts in safe mode", FindingSeverity::High),
    ("bootlog", "the boot writes a log entry for each driver", FindingSeverity::Note),
];

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(menu) = &facts.report.boot_menu else {
        return Err(missing_input("boot loader settings: the hive BCD is missing"));
    };
    let mut findings = Vec::new();
    for entry in menu.entries.iter().filter(|entry| entry.is_default) {
        for setting in &entry.settings {
            let Some((name, effect, severity)) = LIMITS.iter().find(|(name, ..)| setting.name == *name) else {
                continue;
            };
            // Booleans and sizes that are 0 limit nothing; safe mode 0 is the minimal safe mode.
            if setting.number() == Some(0) && *name != "safeboot" {
                continue;
            }
            let number = setting.number().unwrap_or(0);
            let title = match *name {
                "numproc" => format!("Windows uses only {}: numproc is set", counted(number as usize, "processor")),
                _ => format!("{effect}: {name} is set"),
            };
            let value = match *name {
                "onecpu" | "bootlog" => "yes".to_owned(),
                "safeboot" => match number {
                    1 => "network".to_owned(),
                    2 => "dsrepair".to_owned(),
                    _ => "minimal".to_owned(),
                },
                _ => number.to_string(),
            };
            findings.push(
                facts
                    .finding(setting, FindingSubject::new(FindingSubjectKind::Setting, *name), &title)
                    .severity(*severity)
                    .advice(format!("run 'bcdedit /deletevalue \"{{default}}\" {name}'"))
                    .action(AdvisedAction::boot_entry(
                        format!("BCD {name} of the default entry"),
                        "",
                        format!("bcdedit /deletevalue \"{{default}}\" {name}"),
                        format!("bcdedit /set \"{{default}}\" {name} {value}"),
                        "nothing, unless the limit is a test on purpose",
                    )),
            );
        }
    }
    Ok(findings)
}
