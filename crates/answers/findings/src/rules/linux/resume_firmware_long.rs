//! Slow firmware during a resume.

use onoff_transitions::Variant;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Firmware that takes 1 s or more from the wakeup until it hands over to the kernel, according to its own table.
    ///
    /// # Why it costs time
    /// The kernel does not run before that. No kernel trace contains this time because the kernel's clock starts after
    /// it.
    ///
    /// # Evidence needed
    /// The firmware's S3 performance table: a copy of `/sys/firmware/acpi/fpdt`, if the computer has one.
    ///
    /// # What to do
    /// Look for newer firmware. Firmware vendors can restore memory training data and skip boot-only work on resume.
    ///
    /// # When it is wrong
    /// The table covers all resumes of this boot: the time is from the last resume, which may not be this one.
    ///
    /// # Source
    /// The ACPI specification, "Firmware Performance Data Table"; the threshold is onoff's.
    "linux/resume-firmware-long", "slow firmware during a resume", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.variant != Variant::Sleep || sleep.details.outcome != SleepOutcome::Slept {
        return Ok(Vec::new());
    }
    let Some(length) = sleep.details.firmware.resume_ns else {
        return Err(missing_input("firmware resume time: copy /sys/firmware/acpi/fpdt if the computer has it"));
    };
    if length < thresholds::FIRMWARE_RESUME_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Phase, "firmware"),
        format!("the firmware took {} to resume", time(length)),
    )
    .cost(Cost::on_path(length))
    .evidence(None, "source: S3 performance table of the firmware")
    .advice("look for newer firmware; vendors skip boot-only work on resume");
    if let Some(average) = sleep.details.firmware.average_resume_ns {
        finding = finding.evidence(None, format!("average over all resumes of this boot: {}", time(average)));
    }
    Ok(vec![finding])
}
