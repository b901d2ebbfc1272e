//! Test signing is on, or a boot driver is test-signed.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Test signing is on in the boot entry or was on in the last boot, or a boot-start driver is test-signed.
    ///
    /// # Why it costs time
    /// It can add up to 8 s to the loader, so boots measured with it are not representative.
    ///
    /// # Evidence needed
    /// The hive BCD or SYSTEM; for drivers, their files.
    ///
    /// # What to do
    /// First replace the test-signed drivers by released ones. Only then turn test signing off (bcdedit /set
    /// "{default}" testsigning off): while a test-signed boot driver is installed, Windows does not start without
    /// test signing.
    ///
    /// # When it is wrong
    /// The computer is used for driver development. Without the driver files, the test-signed drivers are not known.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "image/test-signing", "test signing is on, or a boot driver is test-signed", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::System) && !facts.image.has_hive(HiveKind::Bcd) {
        return Err(missing_input("test signing: neither the hive SYSTEM nor BCD was found"));
    }
    let is_on = |setting: &&Setting| setting.name == "testsigning" && setting.number() == Some(1);
    let enabled: Vec<(&BootEntry, &Setting)> = facts
        .report
        .boot_menu
        .iter()
        .flat_map(|menu| &menu.entries)
        .filter(|entry| entry.is_default || entry.is_shown)
        .flat_map(|entry| entry.settings.iter().filter(is_on).map(move |setting| (entry, setting)))
        .collect();
    let has_test_signing = |setting: &Setting| {
        setting.text().is_some_and(|text| text.to_uppercase().split_whitespace().any(|word| word == "TESTSIGNING"))
    };
    let start_options = facts.system(r"CS\Control", "SystemStartOptions").filter(has_test_signing);
    let drivers: Vec<_> = facts.report.boot_drivers.iter().filter(|driver| driver.is_test_signed).collect();
    let files: Vec<&str> = drivers.iter().map(|driver| driver.file.as_str()).collect();
    let is_on = !enabled.is_empty() || start_options.is_some();
    if !is_on && drivers.is_empty() {
        return Ok(Vec::new());
    }
    let named = listed(&files, 8);
    let verb = if files.len() == 1 { "is" } else { "are" };
    let title = match (is_on, files.is_empty()) {
        (true, true) => "test signing is on".to_owned(),
        (true, false) => format!("test signing is on, and boot drivers need it: {named}"),
        (false, _) => format!(
            "{named} {verb} test-signed, but test signing is not on: Windows cannot load {}",
            if files.len() == 1 { "it" } else { "them" }
        ),
    };
    let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Setting, "testsigning"), title)
        .severity(FindingSeverity::Moderate);
    for evidence in
        enabled.iter().map(|(_, setting)| setting.evidence()).chain(start_options.map(|setting| setting.evidence()))
    {
        finding = finding.evidence(None, evidence);
    }
    for driver in &drivers {
        finding = finding.evidence(None, format!("{} is test-signed", driver.file));
        if let Some(service) = facts.service(&driver.service) {
            finding = finding.evidence(None, service.evidence());
        }
    }
    // Without an entry, bcdedit changes the entry that is running now.
    let entry = match enabled.first() {
        Some((entry, _)) if !entry.is_default => entry.id.as_str(),
        _ => "{default}",
    };
    let turn_off = format!("bcdedit /set \"{entry}\" testsigning off");
    let are_files_known = facts.report.boot_drivers.iter().any(|driver| driver.is_present);
    Ok(vec![match (is_on, files.is_empty()) {
        // Turning test signing off now would stop the boot, so only the replacement is an action.
        (true, false) => finding.advice(format!(
            "first replace {named} by released drivers, signed by their vendor; only after that run '{turn_off}', because \
             Windows does not start without {named}"
        )),
        (false, _) => finding.advice(format!("replace {named} by released drivers, signed by their vendor")),
        (true, true) => {
            let first = if are_files_known {
                "no boot-start driver needs it: make sure that no other driver is test-signed"
            } else {
                "first make sure that no boot-start driver is test-signed (pass the whole volume to check their files)"
            };
            finding.advice(format!("{first}; then run '{turn_off}'")).action(AdvisedAction::boot_entry(
                format!("BCD testsigning of {}", if entry == "{default}" { "the default entry" } else { entry }),
                "off",
                turn_off,
                format!("bcdedit /set \"{entry}\" testsigning on"),
                "test-signed drivers no longer load; a test-signed boot-start driver stops the boot",
            ))
        }
    }])
}
