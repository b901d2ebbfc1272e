//! Boot-start drivers without an embedded signature.

use super::prelude::*;
use crate::rules::boot::catalog_signed_boot_driver::windows_drivers_by_catalog;

rule! {
    /// # What it finds
    /// Drivers read by the loader that are not part of Windows and whose files have no embedded signature: they are
    /// signed by a catalog, or not at all.
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
    /// Whether a catalog signs the file is not checked. Microsoft signs many drivers of Windows by catalog on
    /// purpose: they alone are no finding.
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
    let by_catalog = || drivers.iter().filter(|driver| driver.is_present && !driver.has_embedded_signature);
    let of_windows = by_catalog().filter(|driver| driver.is_part_of_windows).count();
    let unsigned: Vec<_> = by_catalog().filter(|driver| !driver.is_part_of_windows).collect();
    let names: Vec<&str> = unsigned.iter().map(|driver| driver.file.as_str()).collect();
    let Some(first) = unsigned.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, first.service.clone()),
        format!("{} without an embedded signature: {}", counted(names.len(), "boot-start driver"), listed(&names, 12)),
    )
    .evidence(
        None,
        format!(
            "{} of {} boot-start driver files have no embedded signature",
            names.len(),
            drivers.iter().filter(|driver| driver.is_present).count()
        ),
    );
    let advice = "ask the vendor to embed the signatures in the driver files";
    let finding = if of_windows == 0 {
        finding
            .severity(FindingSeverity::Moderate)
            .advice(format!("{advice}, so that the loader does not search the catalogs (1 to 3 s)"))
    } else {
        finding.evidence(None, windows_drivers_by_catalog(of_windows)).advice(format!(
            "{advice}; this saves little here, because the loader also searches the catalogs for drivers of Windows"
        ))
    };
    Ok(vec![
        unsigned
            .iter()
            .filter_map(|driver| facts.service(&driver.service))
            .fold(finding, |finding, service| finding.evidence(None, service.evidence())),
    ])
}
