//! A write filter overlay that fills up before the computer restarts.

use super::prelude::*;

rule! {
    /// # What it finds
    /// At the recorded write rate, the overlay is full within a day.
    ///
    /// # Why it costs time
    /// When the overlay is full, writes fail and the computer has to be restarted.
    ///
    /// # Evidence needed
    /// A recording of normal use with disk writes (--trace), and the maximum size of the overlay.
    ///
    /// # What to do
    /// Enlarge the overlay, exclude the heaviest writers, or schedule restarts.
    ///
    /// # When it is wrong
    /// A few minutes of recording do not represent a day. The file system's own writes depend on the volume.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs and Improving Performance
    /// in Windows Embedded Standard 7, on the overlay.
    "image/overlay-fills", "the overlay of a write filter fills up before a restart", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(growth) = facts.overlay else {
        return Err(missing_input("overlay growth: pass a recording with disk writes with '--trace FILE'"));
    };
    let (Some(full_in_ns), Some(bytes_per_hour)) = (growth.full_in_ns, growth.bytes_per_hour) else {
        return Ok(Vec::new());
    };
    if full_in_ns >= thresholds::OVERLAY_FULL_NS {
        return Ok(Vec::new());
    }
    let largest_folder = growth.folders.first().map(|owner| owner.name.clone()).unwrap_or_default();
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "overlay"),
            format!("the overlay will be full after {}", time(full_in_ns)),
        )
        .severity(FindingSeverity::High)
        .certainty(Certainty::Inferred)
        .evidence(None, format!("{:.0} MiB per hour in the last third of the recording", bytes_per_hour / 1_048_576.0))
        .evidence(None, format!("most new bytes: {largest_folder}"))
        .advice(if is_horm_on(facts) {
            "enlarge the overlay or schedule restarts (HORM forbids exclusions)"
        } else {
            "enlarge the overlay, exclude the folders with the most writes, or schedule restarts"
        }),
    ])
}
