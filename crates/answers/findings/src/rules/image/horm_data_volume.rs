//! Files can be lost on a volume that is not protected while HORM is on.

use super::prelude::*;

rule! {
    /// # What it finds
    /// HORM is on and a volume is not protected.
    ///
    /// # Why it costs time
    /// The list of files of that volume is in the hibernation file: each resume brings back the old one, and files written since are
    /// lost.
    ///
    /// # Evidence needed
    /// The hive SYSTEM with the settings of UWF.
    ///
    /// # What to do
    /// Attach the volume after the resume, or take it offline before the image is made.
    ///
    /// # When it is wrong
    /// A volume that nobody writes to loses nothing.
    ///
    /// # Source
    /// Windows 10 IoT Enterprise: Unified Write Filter and Boot Time Architecture Trade-Offs, "What about UWF / Hibernate Once Resume
    /// Many?": the example of the USB flash disk.
    "image/horm-data-volume", "files can be lost on a volume that is not protected while HORM is on", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter().filter(|filter| filter.is_horm_on == Some(true)) else { return Ok(Vec::new()) };
    let open: Vec<&str> = filter
        .volumes
        .iter()
        .filter(|volume| volume.is_protected == Some(false))
        .map(|volume| volume.name.as_str())
        .collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "HORM"),
            format!("HORM is on and {} not protected: files written there are lost", listed(&open, 3)),
        )
        .graded(FindingSeverity::High)
        .certain(Certainty::Inferred)
        .because(None, filter.evidence())
        .advise("take that disk offline before the image is made, and attach it after each resume"),
    ])
}
