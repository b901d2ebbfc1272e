//! Test signing is on, or a boot driver is signed for tests.

use super::prelude::*;

rule! {
    /// # What it finds
    /// The boot entry or the last boot has test signing on, or the file of a boot-start driver is signed with a certificate for tests.
    ///
    /// # Why it costs time
    /// It can cost up to 8 s of the loader, so that boots measured with it are not those that people see.
    ///
    /// # Evidence needed
    /// The hive BCD or SYSTEM; for drivers their files.
    ///
    /// # What to do
    /// Turn it off and use released drivers before measuring: bcdedit /set testsigning off.
    ///
    /// # When it is wrong
    /// On a computer that is for developing drivers it is meant.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "image/test-signing", "test signing is on, or a boot driver is signed for tests", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    if !facts.image.has(HiveKind::System) && !facts.image.has(HiveKind::Bcd) {
        return Err(lacks_other("whether test signing is on: neither the hive SYSTEM nor BCD is there"));
    }
    let mut evidence = Vec::new();
    let entries = facts.report.boot_menu.iter().flat_map(|menu| &menu.entries);
    let settings = entries.filter(|entry| entry.is_default || entry.is_shown).flat_map(|entry| &entry.settings);
    evidence.extend(settings.filter(|one| one.name == "testsigning" && one.number() == Some(1)).map(Setting::evidence));
    let last = facts.system(r"CS\Control", "SystemStartOptions");
    let on = |setting: &Setting| {
        setting.text().is_some_and(|text| text.to_uppercase().split_whitespace().any(|word| word == "TESTSIGNING"))
    };
    evidence.extend(last.filter(on).map(|setting| setting.evidence()));
    let drivers = facts.report.boot_drivers.iter().filter(|driver| driver.signed_for_tests);
    evidence.extend(drivers.map(|driver| format!("{} is signed with a certificate for tests", driver.file)));
    if evidence.is_empty() {
        return Ok(Vec::new());
    }
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Setting, "testsigning"),
        "test signing is on, or a boot driver is signed for tests",
    )
    .graded(FindingSeverity::Moderate)
    .advise("bcdedit /set testsigning off, and use released drivers");
    Ok(vec![evidence.into_iter().fold(finding, |finding, text| finding.because(None, text))])
}
