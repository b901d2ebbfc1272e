//! Test-signed drivers.

use onoff_trace::{SystemKind, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Drivers that are test-signed and therefore need test signing to be on.
    ///
    /// # Why it costs time
    /// They can add up to 8 s to the boot, so measurements with them are not representative of the product.
    ///
    /// # Evidence needed
    /// The driver files, passed with `--drivers`; no event contains signatures. A test certificate is recognized by the
    /// names that the driver kit's tools and Microsoft's test roots use.
    ///
    /// # What to do
    /// Measure with release-signed drivers; `bcdedit` shows whether test signing is on.
    ///
    /// # When it is wrong
    /// A private test certificate may have any name and is not recognized. A file in the folder may not be loaded.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "recording/test-signed-drivers", "test-signed drivers", Recording(check)
}

const MAX_LISTED: usize = 8;

fn check(trace: &Trace) -> Outcome {
    // On Linux, test signing does not exist.
    if trace.system.kind == SystemKind::Linux {
        return Ok(Vec::new());
    }
    let Some(files) = &trace.driver_files else {
        return Err(missing_input(
            "test signing is not visible in any recording. Pass the driver files with --drivers",
        ));
    };
    let names: Vec<&str> = files.iter().filter(|file| file.is_test_signed).map(|file| file.name.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Recording, "test signing"),
            format!(
                "{} test-signed, which can add up to 8 s to the boot",
                match names.as_slice() {
                    [name] => format!("the driver {name} is"),
                    _ => format!("{} are", counted(names.len(), "driver")),
                }
            ),
        )
        .evidence(None, listed(&names, MAX_LISTED))
        .advice("measure with release-signed drivers; 'bcdedit' shows whether test signing is on"),
    ])
}
