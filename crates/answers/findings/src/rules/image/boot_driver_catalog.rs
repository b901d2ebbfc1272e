//! Boot-start drivers without an embedded signature.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Drivers read by the loader whose files have no embedded signature: they are signed by a catalog, or not at all.
    ///
    /// # Why it costs time
    /// The loader then searches all catalogs: 1 to 3 s in total, however many drivers there are.
    ///
    /// # Evidence needed
    /// The hive SYSTEM and the driver files.
    ///
    /// # What to do
    /// Ask the vendor to embed the signature in the driver file.
    ///
    /// # When it is wrong
    /// Whether a catalog signs the file is not checked.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader".
    "image/boot-driver-catalog", "boot-start drivers without an embedded signature", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let drivers = &facts.report.boot_drivers;
    if drivers.is_empty() {
        return Err(missing_input("boot-driver signatures: the driver files are missing"));
    }
    let unsigned: Vec<_> =
        drivers.iter().filter(|driver| driver.is_present && !driver.has_embedded_signature).collect();
    let names: Vec<&str> = unsigned.iter().map(|driver| driver.file.as_str()).collect();
    let Some(first) = unsigned.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, first.service.clone()),
        format!("{} without an embedded signature: {}", counted(names.len(), "boot-start driver"), listed(&names, 12)),
    )
    .severity(FindingSeverity::Moderate)
    .evidence(
        None,
        format!(
            "{} of {} boot-start driver files have no embedded signature",
            names.len(),
            drivers.iter().filter(|driver| driver.is_present).count()
        ),
    )
    .advice("embed the signatures in the driver files, so that the loader does not search the catalogs (1 to 3 s)");
    Ok(vec![
        unsigned
            .iter()
            .filter_map(|driver| facts.service(&driver.service))
            .fold(finding, |finding, service| finding.evidence(None, service.evidence())),
    ])
}
