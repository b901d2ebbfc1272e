//! Boot-start drivers signed by a catalog.

use onoff_trace::DevicePhase;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver that is signed through a catalog instead of in its own file.
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
    /// Embed the signature in the driver file. `signtool verify /v driver.sys` shows how a file is signed.
    ///
    /// # When it is wrong
    /// A file without an embedded signature may be unsigned. A driver whose file name differs from its service name is
    /// not found.
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
    let mut names: Vec<&str> = files
        .iter()
        .filter(|file| !file.has_embedded_signature && boot_start.contains(&file.name))
        .map(|file| file.name.as_str())
        .collect();
    names.dedup();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Driver, names.join(", ")),
            format!(
                "{} without an embedded signature, so the loader reads the catalogs",
                match names.as_slice() {
                    [name] => format!("the boot-start driver {name} is"),
                    _ => format!("{} are", counted(names.len(), "boot-start driver")),
                }
            ),
        )
        .evidence(None, listed(&names, MAX_LISTED))
        .advice("embed the signature in the driver file ('signtool verify /v' shows how it is signed)"),
    ])
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
