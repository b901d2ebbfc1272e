//! Boot-start drivers whose signature is in a catalog.

use onoff_trace::DevicePhase;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver that is signed by a catalog instead of in its own file.
    ///
    /// # Why it costs time
    /// The loader must find and read the catalog files to check it: 1 to 3 s once, by the speed of the disk, where the whole loader
    /// usually takes less than 3 s.
    ///
    /// # Evidence needed
    /// The drivers' files, given with `--drivers`: a copy of `Windows\\System32\\drivers`, or that folder of a disk's image. No event of
    /// a recording says how a driver is signed.
    ///
    /// # What to do
    /// Sign the driver's file itself ("embedded"); `signtool verify /v driver.sys` shows how it is signed.
    ///
    /// # When it is wrong
    /// A file without an embedded signature may not be signed at all. A driver whose file has another name than the driver is not found.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader Performance Vulnerabilities".
    "boot/catalog-signed-boot-driver", "boot-start drivers signed by a catalog", Boot(check)
}

/// Names that are listed.
const LISTED: usize = 8;

fn check(facts: &BootFacts<'_>) -> Outcome {
    let Some(files) = &facts.trace.driver_files else {
        return Err(lacks_other("how boot-start drivers are signed: give their files with --drivers, no event tells"));
    };
    let boot_start: Vec<String> = facts
        .trace
        .device_operations
        .iter()
        .filter(|row| row.phase == DevicePhase::BootStart)
        .map(|row| file_of(facts.trace.text(row.driver)))
        .collect();
    if boot_start.is_empty() {
        return Err(lacks_other("which drivers start with the boot"));
    }
    let mut names: Vec<&str> = files
        .iter()
        .filter(|file| !file.embedded_signature && boot_start.contains(&file.name))
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
                "{} without an embedded signature: the loader reads the catalogs for it",
                match names.as_slice() {
                    [one] => format!("the boot-start driver {one} is"),
                    _ => format!("{} are", counted(names.len(), "boot-start driver")),
                }
            ),
        )
        .because(None, listed(&names, LISTED))
        .advise("sign the driver's file itself: 'signtool verify /v' shows how it is signed"),
    ])
}

/// `\Driver\Storahci` or `storahci` as the name of its file, in lower case.
fn file_of(driver: &str) -> String {
    let name = file_name(driver).to_lowercase();
    if name.ends_with(".sys") { name } else { format!("{name}.sys") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_known_by_their_files() {
        assert_eq!(file_of(r"\Driver\iaStorAC"), "iastorac.sys");
        assert_eq!(file_of("Disk"), "disk.sys");
        assert_eq!(file_of(r"\SystemRoot\System32\drivers\NTFS.sys"), "ntfs.sys");
    }
}
