//! Boot-start drivers signed by a catalog.

use onoff_trace::DevicePhase;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver that is not a part of Windows and is signed through a catalog instead of in its own file.
    ///
    /// # Why it costs time
    /// The loader has to find and read the catalog files to verify the signature: 1 to 3 s in total, depending on disk
    /// speed. The whole loader usually takes less than 3 s.
    ///
    /// # Evidence needed
    /// The driver files, passed with `--drivers`: a copy of `Windows\System32\drivers`, or that folder on a mounted
    /// disk image. Signatures are not in any recording.
    ///
    /// # What to do
    /// Ask the vendor to embed the signature in the driver file. `signtool verify /v driver.sys` shows how a file is
    /// signed.
    ///
    /// # When it is wrong
    /// A file without an embedded signature may be unsigned. A driver whose file name differs from its service name
    /// is not found. Drivers of Windows that Microsoft signs by catalog are no finding.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader Performance Vulnerabilities".
    "boot/catalog-signed-boot-driver", "boot-start drivers signed by a catalog", Boot(check)
}

const MAX_LISTED: usize = 8;

fn check(facts: &BootFacts<'_>) -> Outcome {
    let Some(files) = &facts.trace.driver_files else {
        return Err(missing_input(
            "boot-driver signatures are not in any recording. Pass the driver files with --drivers",
        ));
    };
    let boot_start: Vec<String> = facts
        .trace
        .device_operations
        .iter()
        .filter(|row| row.phase == DevicePhase::BootStart)
        .map(|row| file_of(facts.trace.text(row.driver)))
        .collect();
    if boot_start.is_empty() {
        return Err(missing_input("which drivers are boot-start"));
    }
    let by_catalog = || files.iter().filter(|file| !file.has_embedded_signature && boot_start.contains(&file.name));
    let of_windows = by_catalog().filter(|file| file.is_part_of_windows).count();
    let mut names: Vec<&str> =
        by_catalog().filter(|file| !file.is_part_of_windows).map(|file| file.name.as_str()).collect();
    names.dedup();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, names.join(", ")),
        format!(
            "{} without an embedded signature, so the loader reads the catalogs",
            match names.as_slice() {
                [name] => format!("the boot-start driver {name} is"),
                _ => format!("{} are", counted(names.len(), "boot-start driver")),
            }
        ),
    )
    .evidence(None, listed(&names, MAX_LISTED));
    let advice =
        "ask the vendor to embed the signature in the driver file ('signtool verify /v' shows how it is signed)";
    Ok(vec![if of_windows == 0 {
        finding.advice(advice)
    } else {
        finding.evidence(None, windows_drivers_by_catalog(of_windows)).advice(format!(
            "{advice}; this saves little here, because the loader also reads the catalogs for drivers of Windows"
        ))
    }])
}

/// Describes boot-start drivers of Windows that are signed by catalog.
pub(crate) fn windows_drivers_by_catalog(count: usize) -> String {
    format!("{} of Windows signed by catalog, by design", counted(count, "boot-start driver"))
}

/// Converts `\Driver\Storahci` or `storahci` to a lower-case file name.
fn file_of(driver: &str) -> String {
    let name = file_name(driver).to_lowercase();
    if name.ends_with(".sys") { name } else { format!("{name}.sys") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_driver_names_to_file_names() {
        assert_eq!(file_of(r"\Driver\iaStorAC"), "iastorac.sys");
        assert_eq!(file_of("Disk"), "disk.sys");
        assert_eq!(file_of(r"\SystemRoot\System32\drivers\NTFS.sys"), "ntfs.sys");
    }
}
