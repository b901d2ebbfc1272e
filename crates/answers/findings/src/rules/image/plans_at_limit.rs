//! All plans of programs are in use.

use super::prelude::*;

rule! {
    /// # What it finds
    /// There are as many plans of programs as Windows keeps: 123 up to Windows 7, 1,024 since Windows 8.
    ///
    /// # Why it costs time
    /// Windows drops the oldest plan for each new program. A program whose plan was dropped starts without read-ahead.
    ///
    /// # Evidence needed
    /// The folder Windows\Prefetch.
    ///
    /// # What to do
    /// Start the programs that matter last, before a write filter is turned on.
    ///
    /// # When it is wrong
    /// Plans of programs that nobody uses any more are dropped first.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch and Processes": "up to 123 process launch plans".
    "image/plans-at-limit", "all plans of programs are in use", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    let Some(prefetch) = &facts.report.prefetch else {
        return Err(lacks_other("what Windows reads ahead: the folder Windows\\Prefetch is not there"));
    };
    // Of the 128 plans of Windows 7, five are the system's own.
    let most = match prefetch.most_plans {
        None => return Ok(Vec::new()),
        Some(128) => 123,
        Some(most) => most,
    };
    if prefetch.launch_plans < most {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, "Windows\\Prefetch"),
            format!("all {most} plans of programs are in use: each new program pushes one out"),
        )
        .because(None, format!("{} plans in Windows\\Prefetch, {}", prefetch.launch_plans, prefetch.windows))
        .advise("start the programs that matter last; 'onoff prefetch' lists the plans by their last start"),
    ])
}
