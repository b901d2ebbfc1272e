//! Drivers that are signed for tests only.

use onoff_trace::{SystemKind, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Drivers that are signed for tests, which need test signing to be on.
    ///
    /// # Why it costs time
    /// They can make the boot up to 8 s longer: a measurement with them says nothing about the product.
    ///
    /// # Evidence needed
    /// The drivers' files, given with `--drivers`; no event that onoff reads says it. A certificate is taken as one for tests by its name:
    /// that of the driver kit's tools, or of Microsoft's roots for tests.
    ///
    /// # What to do
    /// Measure with release-signed drivers; `bcdedit` shows whether test signing is on.
    ///
    /// # When it is wrong
    /// A certificate of one's own for tests may have any name, and is not seen. A file in the folder need not be loaded.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "recording/test-signed-drivers", "drivers that are signed for tests only", Recording(check)
}

/// Names that are listed.
const LISTED: usize = 8;

fn check(trace: &Trace) -> Outcome {
    // Linux has no test signing that slows it: a module's signature is checked or it is not.
    if trace.system.kind == SystemKind::Linux {
        return Ok(Vec::new());
    }
    let Some(files) = &trace.driver_files else {
        return Err(lacks_other(
            "whether drivers are signed for tests: give their files with --drivers, no event tells",
        ));
    };
    let names: Vec<&str> = files.iter().filter(|file| file.signed_for_tests).map(|file| file.name.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Recording, "test signing"),
            format!(
                "{} signed for tests: the boot can be up to 8 s longer",
                match names.as_slice() {
                    [one] => format!("the driver {one} is"),
                    _ => format!("{} are", counted(names.len(), "driver")),
                }
            ),
        )
        .because(None, listed(&names, LISTED))
        .advise("measure with release-signed drivers; 'bcdedit' shows whether test signing is on"),
    ])
}
