//! The overlay of a write filter is full before the computer is restarted.

use super::prelude::*;

rule! {
    /// # What it finds
    /// At the rate of the recording the overlay is full within a day.
    ///
    /// # Why it costs time
    /// When the overlay is full, writes fail and the computer has to be restarted.
    ///
    /// # Evidence needed
    /// A recording of the computer at work with disk writes (--trace), and the most that the overlay may have.
    ///
    /// # What to do
    /// Make the overlay larger, exclude what writes most, or plan restarts.
    ///
    /// # When it is wrong
    /// A recording of some minutes is not a day. The file system's own writes depend on the volume.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs and Improving Performance in Windows
    /// Embedded Standard 7, on the overlay.
    "image/overlay-fills", "the overlay of a write filter is full before the computer is restarted", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(growth) = facts.overlay else {
        return Err(lacks_other("how fast the overlay fills: give a recording with disk writes with '--trace FILE'"));
    };
    let (Some(full), Some(rate)) = (growth.full_in_ns, growth.bytes_per_hour) else { return Ok(Vec::new()) };
    if full >= thresholds::OVERLAY_FULL_NS {
        return Ok(Vec::new());
    }
    let first = growth.folders.first().map(|owner| owner.name.clone()).unwrap_or_default();
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "overlay"),
            format!("the overlay is full after {}", time(full)),
        )
        .graded(FindingSeverity::High)
        .certain(Certainty::Inferred)
        .because(None, format!("{:.0} MiB an hour in the last third of the recording", rate / 1_048_576.0))
        .because(None, format!("most new bytes: {first}"))
        .advise("make the overlay larger, exclude the folders that write most, or plan restarts"),
    ])
}
