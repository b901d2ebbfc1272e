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
    /// Turn test signing off (bcdedit /set testsigning off) and use released drivers before measuring.
    ///
    /// # When it is wrong
    /// The computer is used for driver development.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "image/test-signing", "test signing is on, or a boot driver is test-signed", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has_hive(HiveKind::System) && !facts.image.has_hive(HiveKind::Bcd) {
        return Err(missing_input("test signing: neither the hive SYSTEM nor BCD was found"));
    }
    let mut evidence = Vec::new();
    let entries = facts.report.boot_menu.iter().flat_map(|menu| &menu.entries);
    let settings = entries.filter(|entry| entry.is_default || entry.is_shown).flat_map(|entry| &entry.settings);
    evidence.extend(
        settings.filter(|setting| setting.name == "testsigning" && setting.number() == Some(1)).map(Setting::evidence),
    );
    let start_options = facts.system(r"CS\Control", "SystemStartOptions");
    let has_test_signing = |setting: &Setting| {
        setting.text().is_some_and(|text| text.to_uppercase().split_whitespace().any(|word| word == "TESTSIGNING"))
    };
    evidence.extend(start_options.filter(has_test_signing).map(|setting| setting.evidence()));
    let drivers = facts.report.boot_drivers.iter().filter(|driver| driver.is_test_signed);
    evidence.extend(drivers.map(|driver| format!("{} is test-signed", driver.file)));
    if evidence.is_empty() {
        return Ok(Vec::new());
    }
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Setting, "testsigning"),
        "test signing is on, or a boot driver is test-signed",
    )
    .severity(FindingSeverity::Moderate)
    .advice("run 'bcdedit /set testsigning off', and use released drivers");
    Ok(vec![evidence.into_iter().fold(finding, |finding, text| finding.evidence(None, text))])
}
