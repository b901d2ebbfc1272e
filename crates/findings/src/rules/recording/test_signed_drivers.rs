//! Drivers that are signed for tests only.

use onoff_trace::Trace;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Drivers that are signed for tests, which need test signing to be on.
    ///
    /// # Why it costs time
    /// They can make the boot up to 8 s longer: a measurement with them says nothing about the product.
    ///
    /// # Evidence needed
    /// The drivers' files or the boot configuration: no event that onoff reads says it.
    ///
    /// # What to do
    /// Measure with release-signed drivers; `bcdedit` shows whether test signing is on.
    ///
    /// # When it is wrong
    /// It is not checked without the files, so it says nothing.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Other Test Notes".
    "recording/test-signed-drivers", "drivers that are signed for tests only", Recording(check)
}

fn check(_: &Trace) -> Outcome {
    Err(lacks_other(
        "whether drivers are signed for tests: needs their files or the boot configuration, no event tells",
    ))
}
