//! A write filter was turned on before read-ahead was trained.

use onoff_transitions::boot::TrainingState;

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on, and Windows has learned from fewer than three boots, or has launch plans older than their
    /// programs.
    ///
    /// # Why it costs time
    /// Behind a write filter, Windows loses what it learned at each restart, so every boot is as slow as the first.
    ///
    /// # Evidence needed
    /// The hive SYSTEM and the folder Windows\Prefetch of the same volume.
    ///
    /// # What to do
    /// Turn the filter off, restart three times, leave the computer idle for five minutes, start the programs, and turn
    /// the filter on again.
    ///
    /// # When it is wrong
    /// The filter excludes Windows\Prefetch and its registry key, so Windows keeps learning.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters", steps 1 to 5.
    "image/filter-untrained", "a write filter was turned on before read-ahead was trained", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let Some(prefetch) = &facts.report.prefetch else {
        return Err(missing_input("read-ahead: the folder Windows\\Prefetch is missing"));
    };
    let outdated_plans = prefetch.plans.iter().filter(|plan| plan.is_older_than_program == Some(true)).count();
    let is_untrained = matches!(prefetch.training.state, TrainingState::Untrained | TrainingState::Training);
    let has_no_plans = prefetch.launch_plans == 0;
    if !is_untrained && !has_no_plans && outdated_plans == 0 {
        return Ok(Vec::new());
    }
    let problem = match (has_no_plans, is_untrained) {
        (true, _) => "there are no launch plans".to_owned(),
        (_, true) => {
            format!("Windows has learned from {}", counted(prefetch.training.boots.unwrap_or(0) as usize, "boot"))
        }
        _ => format!("{} older than the program", counted(outdated_plans, "launch plan")),
    };
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
            format!("{} is on, but read-ahead is not trained: {problem}", filter.kind.as_str()),
        )
        .severity(FindingSeverity::High)
        .evidence(None, filter.evidence())
        .evidence(None, problem)
        .advice("turn the filter off and train read-ahead first; 'onoff record boot --plan windows --train' prints the procedure"),
    ])
}
