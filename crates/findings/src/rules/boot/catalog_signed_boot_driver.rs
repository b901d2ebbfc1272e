//! Boot-start drivers whose signature is in a catalogue.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot-start driver that is signed by a catalogue instead of in its own file.
    ///
    /// # Why it costs time
    /// The loader must find and read the catalogue files to check it: 1 to 3 s once, by the speed of the disk, where the whole loader
    /// usually takes less than 3 s.
    ///
    /// # Evidence needed
    /// The drivers' files or an image of the disk: no event of a recording says how a driver is signed.
    ///
    /// # What to do
    /// Sign the driver's file itself ("embedded"); `signtool verify /v driver.sys` shows how it is signed.
    ///
    /// # When it is wrong
    /// It is not checked without the files, so it says nothing.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "OSLoader Performance Vulnerabilities".
    "boot/catalog-signed-boot-driver", "boot-start drivers signed by a catalogue", Boot(check)
}

fn check(_: &BootFacts<'_>) -> Outcome {
    Err(lacks_other(
        "how boot-start drivers are signed: needs their files, no event tells",
    ))
}
