//! A long operating-system loader.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A loader of the operating system that runs for more than 3 s, before the kernel starts.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile. The loader reads the kernel, boot-start drivers and the registry, so it waits for the disk, for the
    /// firmware's way to the disk, and for signature checks.
    ///
    /// # Evidence needed
    /// The loader's time: provider Microsoft-Windows-Kernel-Boot or Kernel-PnP, or the firmware's own table.
    ///
    /// # What to do
    /// Fewer and embedded-signed boot-start drivers, a smaller registry, a faster disk; newer firmware where its disk reads are slow.
    ///
    /// # When it is wrong
    /// Time that a person took at a disk password or a boot menu is part of it; where that was recorded it is left out.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis: "the OSLoader phase is generally less than 3 seconds long".
    "boot/os-loader-long", "a loader of the operating system that runs for more than 3 s", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let before = &facts.report.details.before_kernel;
    let Some(loader) = before.os_loader.duration_ns else {
        facts.needs("Microsoft-Windows-Kernel-Boot")?;
        facts.needs("Microsoft-Windows-Kernel-PnP")?;
        return Err(lacks_other("how long the loader ran"));
    };
    let own_ns = loader.saturating_sub(before.user_input.duration_ns.unwrap_or(0));
    if own_ns <= thresholds::OS_LOADER_NS {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, "OSLoader"),
            format!(
                "the operating system's loader runs for {}, usual is less than 3 s",
                time(own_ns)
            ),
        )
        // Only what is beyond the usual can be gained, and nothing else ran meanwhile.
        .costs(Cost::on_path(own_ns.saturating_sub(thresholds::OS_LOADER_NS)))
        .certain(before.os_loader.certainty)
        .because(None, format!("{}: {}", before.os_loader.rule, time(loader)))
        .advise(
            "see which boot-start drivers are signed by a catalog only (1 to 3 s), how large the registry is, and whether the \
             firmware reads the disk slowly",
        ),
    ])
}
