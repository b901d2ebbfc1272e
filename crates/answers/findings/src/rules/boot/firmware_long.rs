//! Firmware that takes long before the loader starts.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Firmware that takes more than 10 s from power-on to the boot manager.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile, so all of it adds to the time the user waits.
    ///
    /// # Evidence needed
    /// The firmware time: provider Microsoft-Windows-Kernel-Boot, or the firmware's own table next to the recording.
    ///
    /// # What to do
    /// In the firmware setup, enable fast POST or fast boot, and disable memory tests, network boot and devices the
    /// boot does not need. `onoff firmware` shows which firmware driver takes the time.
    ///
    /// # When it is wrong
    /// The first start after a memory change or a firmware update is long because memory is retrained.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "BIOSInitialization Performance Vulnerabilities"; the threshold
    /// is onoff's.
    "boot/firmware-long", "firmware that takes more than 10 s", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let firmware = &facts.report.details.before_kernel.firmware;
    let Some(length) = firmware.duration_ns else {
        facts.require_provider("Microsoft-Windows-Kernel-Boot")?;
        return Err(missing_input("the firmware time"));
    };
    if length <= thresholds::FIRMWARE_NS {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, "firmware"),
            format!("the firmware took {} before the boot manager", time(length)),
        )
        .cost(Cost::on_path(length.saturating_sub(thresholds::FIRMWARE_NS)))
        .certainty(firmware.certainty)
        .evidence(None, format!("{}: {}", firmware.rule, time(length)))
        .advice(
            "in the firmware setup, enable fast boot and disable memory tests and devices the boot does not need; to see \
             where the time goes, run onoff firmware on the firmware tables",
        ),
    ])
}
