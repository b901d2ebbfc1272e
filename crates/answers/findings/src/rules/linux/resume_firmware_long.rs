//! Firmware that takes long on the way up.

use onoff_transitions::Variant;
use onoff_transitions::linux::suspend::{LinuxSleep, SleepOutcome};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Firmware that takes 1 s or more from the wakeup until it hands over to the kernel, by its own account.
    ///
    /// # Why it costs time
    /// The kernel does not run before. No trace of the kernel holds that time: its clock begins to count after it.
    ///
    /// # Evidence needed
    /// The firmware's S3 performance table: a copy of `/sys/firmware/acpi/fpdt`, where the machine has one.
    ///
    /// # What to do
    /// Its maker trains memory from stored values and leaves out of a resume what only a boot needs; everybody else looks for newer firmware.
    ///
    /// # When it is wrong
    /// The table counts resumes of this boot: the figure is that of the last one, which another sleep may have been.
    ///
    /// # Source
    /// The ACPI specification, "Firmware Performance Data Table"; the limit is onoff's.
    "linux/resume-firmware-long", "firmware that takes long on the way up", LinuxSuspend(check)
}

fn check(sleep: &LinuxSleep) -> Outcome {
    if sleep.variant != Variant::Sleep || sleep.details.outcome != SleepOutcome::Slept {
        return Ok(Vec::new());
    }
    let Some(length) = sleep.details.firmware.resume_ns else {
        return Err(lacks_other(
            "how long the firmware took on the way up: copy /sys/firmware/acpi/fpdt, where the machine has it",
        ));
    };
    if length < thresholds::FIRMWARE_RESUME_NS {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Phase, "firmware"),
        format!("the firmware takes {} on the way up", time(length)),
    )
    .costs(Cost::on_path(length))
    .because(None, "by its own account (S3 performance table)")
    .advise("look for newer firmware; its maker leaves out of a resume what only a boot needs");
    if let Some(average) = sleep.details.firmware.average_resume_ns {
        finding = finding.because(None, format!("all resumes of this boot took it {} each", time(average)));
    }
    Ok(vec![finding])
}
