//! SuperFetch is limited.

use super::prelude::*;

rule! {
    /// # What it finds
    /// EnableSuperfetch is there and not 3.
    ///
    /// # Why it costs time
    /// SuperFetch makes the plans for programs and boots. Without it most programs take about twice as long to start.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Set it to 3, or remove it on Windows 10 and later, where its absence means the default.
    ///
    /// # When it is wrong
    /// On solid-state disks it gains little, and Windows turns it off by itself above 8 MB/s of random reads.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters", step 2b, and "Superfetch and
    /// Processes".
    "image/superfetch-limited", "SuperFetch is limited", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(setting) = facts.system(PREFETCH, "EnableSuperfetch") else { return Ok(Vec::new()) };
    if setting.number() == Some(3) {
        return Ok(Vec::new());
    }
    let subject = FindingSubject::new(FindingSubjectKind::Setting, "EnableSuperfetch");
    Ok(vec![
        facts
            .finding(&setting, subject, "SuperFetch is limited")
            .graded(FindingSeverity::Moderate)
            .advise("set EnableSuperfetch to 3"),
    ])
}
