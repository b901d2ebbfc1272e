//! Superfetch is limited.

use super::prelude::*;

rule! {
    /// # What it finds
    /// EnableSuperfetch is set and is not 3.
    ///
    /// # Why it costs time
    /// Superfetch creates the launch plans for programs and boots. Without it, most programs take about twice as long
    /// to start.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Set it to 3. On Windows 10 and later you can also delete it; its absence means the default.
    ///
    /// # When it is wrong
    /// It gains little on solid-state disks, and Windows turns it off above 8 MB/s of random reads.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters", step 2b, and
    /// "Superfetch and Processes".
    "image/superfetch-limited", "Superfetch is limited", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(PREFETCH, "EnableSuperfetch") else { return Ok(Vec::new()) };
    if setting.number() == Some(3) {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "EnableSuperfetch");
    Ok(vec![
        facts
            .finding(&setting, subject, "Superfetch is limited")
            .severity(FindingSeverity::Moderate)
            .advice("set EnableSuperfetch to 3")
            .action(
                AdvisedAction::set_number(&setting, 3)
                    .breaks("nothing; Windows uses some memory and disk time to learn")
                    .editions("client editions"),
            ),
    ])
}
