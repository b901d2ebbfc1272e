//! Read-ahead for boots or programs is off.

use super::prelude::*;

rule! {
    /// # What it finds
    /// EnablePrefetcher is not 3: 0 turns read-ahead off, 1 limits it to programs, 2 limits it to boots.
    ///
    /// # Why it costs time
    /// Without read-ahead, every part of a boot waits for its own reads. On a rotating disk, an untrained boot takes
    /// 47.5 s and a trained one 17.2 s.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Set it to 3 and train it: three restarts, then five minutes of idle time.
    ///
    /// # When it is wrong
    /// Windows turns it off on fast solid-state disks, where it gains little.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters", step 2a; Windows
    /// On/Off Transition Performance Analysis, table 4.
    "image/prefetcher-off", "read-ahead for boots or programs is off", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(setting) = facts.system(PREFETCH, "EnablePrefetcher") else { return Ok(Vec::new()) };
    let (title, severity) = match setting.number() {
        Some(3) | None => return Ok(Vec::new()),
        Some(2) => ("read-ahead for programs is off", FindingSeverity::Moderate),
        Some(_) => ("read-ahead for boots is off", FindingSeverity::High),
    };
    Ok(vec![
        facts.finding(&setting, FindingSubject::new(FindingSubjectKind::Setting, "EnablePrefetcher"), title)
            .severity(severity)
            .action(
                AdvisedAction::set_number(&setting, 3)
                    .breaks("nothing; boots get faster only after the training")
                    .editions("client editions"),
            )
            .advice("set EnablePrefetcher to 3, restart three times, and leave the computer idle for five minutes after the last restart"),
    ])
}
