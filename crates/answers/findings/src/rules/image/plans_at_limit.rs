//! The maximum number of launch plans is reached.

use super::prelude::*;

rule! {
    /// # What it finds
    /// There are as many launch plans as Windows keeps: 123 up to Windows 7, 1,024 since Windows 8.
    ///
    /// # Why it costs time
    /// Windows drops the oldest launch plan for each new program. A program without a plan starts without read-ahead.
    ///
    /// # Evidence needed
    /// The folder Windows\Prefetch.
    ///
    /// # What to do
    /// Start the important programs last, before a write filter is turned on.
    ///
    /// # When it is wrong
    /// Plans of programs that are no longer used are dropped first.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch and Processes": "up to 123 process launch
    /// plans".
    "image/plans-at-limit", "the maximum number of launch plans is reached", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(prefetch) = &facts.report.prefetch else {
        return Err(missing_input("read-ahead: the folder Windows\\Prefetch is missing"));
    };
    // Windows 7 reserves five of its 128 plans for the system.
    let max = match prefetch.max_plans {
        None => return Ok(Vec::new()),
        Some(128) => 123,
        Some(max) => max,
    };
    if prefetch.launch_plans < max {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "Windows\\Prefetch"),
            format!("all {max} launch plans are in use: each new program evicts one"),
        )
        .evidence(None, format!("{} launch plans in Windows\\Prefetch, {}", prefetch.launch_plans, prefetch.windows))
        .advice("start the important programs last; 'onoff prefetch' lists the plans by last start"),
    ])
}
