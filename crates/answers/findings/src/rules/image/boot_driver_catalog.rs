//! Boot-start drivers without a signature in their files.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Drivers that the loader reads whose files hold no signature: they are signed by a catalog, or not at all.
    ///
    /// # Why it costs time
    /// The loader then looks through all catalogs: 1 to 3 s once, however many drivers there are.
    ///
    /// # Evidence needed
    /// The hive SYSTEM and the drivers' files.
    ///
    /// # What to do
    /// Ask the maker to sign the file itself (embedded signature).
    ///
    /// # When it is wrong
    /// Whether a catalog signs the file is not looked at.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader".
    "image/boot-driver-catalog", "boot-start drivers without a signature in their files", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let drivers = &facts.report.boot_drivers;
    if drivers.is_empty() {
        return Err(lacks_other("how boot-start drivers are signed: their files are not there"));
    }
    let unsigned: Vec<_> = drivers.iter().filter(|driver| driver.is_present && !driver.embedded_signature).collect();
    let names: Vec<&str> = unsigned.iter().map(|driver| driver.file.as_str()).collect();
    let Some(first) = unsigned.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, first.service.clone()),
        format!(
            "{} without a signature in the file: {}",
            counted(names.len(), "boot-start driver"),
            listed(&names, 12)
        ),
    )
    .graded(FindingSeverity::Moderate)
    .because(
        None,
        format!(
            "{} of {} files of boot-start drivers hold no signature",
            names.len(),
            drivers.iter().filter(|one| one.is_present).count()
        ),
    )
    .advise("have the files signed themselves; the loader then needs no catalog (1 to 3 s)");
    Ok(vec![
        unsigned
            .iter()
            .filter_map(|driver| facts.service(&driver.service))
            .fold(finding, |finding, service| finding.because(None, service.evidence())),
    ])
}
