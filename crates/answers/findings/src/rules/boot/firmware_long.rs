//! Firmware that takes long before the loader.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Firmware that takes more than 10 s from power-on to the boot manager.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile: the whole of it is added to what a person waits for.
    ///
    /// # Evidence needed
    /// The firmware's time: provider Microsoft-Windows-Kernel-Boot, or the firmware's own table with the recording.
    ///
    /// # What to do
    /// Turn on fast POST or fast boot in the firmware's setup, turn off memory tests, network boot and devices that the boot does not need.
    /// `onoff firmware` shows which driver of the firmware takes the time.
    ///
    /// # When it is wrong
    /// After new memory or a firmware update, one start is long: memory is trained again.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "BIOSInitialization Performance Vulnerabilities"; the limit is onoff's.
    "boot/firmware-long", "firmware that takes more than 10 s", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let firmware = &facts.report.details.before_kernel.firmware;
    let Some(length) = firmware.duration_ns else {
        facts.needs("Microsoft-Windows-Kernel-Boot")?;
        return Err(lacks_other("how long the firmware took"));
    };
    if length <= thresholds::FIRMWARE_NS {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, "firmware"),
            format!("the firmware takes {} before the boot manager", time(length)),
        )
        .costs(Cost::on_path(length.saturating_sub(thresholds::FIRMWARE_NS)))
        .certain(firmware.certainty)
        .because(None, format!("{}: {}", firmware.rule, time(length)))
        .advise(
            "turn on fast boot in the firmware's setup, turn off memory tests and devices that the boot does not need; onoff \
             firmware on the firmware's own tables shows where it goes",
        ),
    ])
}
