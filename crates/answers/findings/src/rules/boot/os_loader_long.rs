//! A slow operating system loader.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The operating system loader runs for more than 3 s before the kernel starts.
    ///
    /// # Why it costs time
    /// Nothing else runs meanwhile. The loader reads the kernel, boot-start drivers and the registry, so it depends on
    /// the disk, the firmware's disk driver and signature checks.
    ///
    /// # Evidence needed
    /// The loader time: provider Microsoft-Windows-Kernel-Boot or Kernel-PnP, or the firmware's own table.
    ///
    /// # What to do
    /// Reduce the number of boot-start drivers and embed their signatures, shrink the registry, use a faster disk, and
    /// update the firmware if its disk reads are slow.
    ///
    /// # When it is wrong
    /// Time a person spent at a disk password prompt or a boot menu is part of it, unless it was recorded; then it is
    /// subtracted.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis: "the OSLoader phase is generally less than 3 seconds long".
    "boot/os-loader-long", "an operating system loader that runs for more than 3 s", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let before_kernel = &facts.report.details.before_kernel;
    let Some(loader) = before_kernel.os_loader.duration_ns else {
        facts.require_provider("Microsoft-Windows-Kernel-Boot")?;
        facts.require_provider("Microsoft-Windows-Kernel-PnP")?;
        return Err(missing_input("the loader time"));
    };
    let net_ns = loader.saturating_sub(before_kernel.user_input.duration_ns.unwrap_or(0));
    if net_ns <= thresholds::OS_LOADER_NS {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Work, "OSLoader"),
            format!(
                "the operating system loader took {}; it normally takes less than 3 s",
                time(net_ns)
            ),
        )
        // Only the time beyond the usual can be saved, and nothing else ran meanwhile.
        .cost(Cost::on_path(net_ns.saturating_sub(thresholds::OS_LOADER_NS)))
        .certainty(before_kernel.os_loader.certainty)
        .evidence(None, format!("{}: {}", before_kernel.os_loader.rule, time(loader)))
        .advice(
            "check for boot-start drivers signed only by a catalog (1 to 3 s), a large registry, and slow disk reads by the \
             firmware",
        ),
    ])
}
