//! A write filter is on before the read-ahead was trained.

use onoff_transitions::boot::TrainingState;

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on, and Windows has learned from fewer than three boots, or has plans older than their programs.
    ///
    /// # Why it costs time
    /// Behind a filter Windows forgets with each restart what it learned. Boots stay as slow as the first one.
    ///
    /// # Evidence needed
    /// The hive SYSTEM and the folder Windows\Prefetch of the same volume.
    ///
    /// # What to do
    /// Turn the filter off, restart three times, let the computer idle for five minutes, start the programs, turn the filter on.
    ///
    /// # When it is wrong
    /// Exclusions of the filter for Windows\Prefetch and its registry key let Windows go on learning.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters", steps 1 to 5.
    "image/filter-untrained", "a write filter is on before the read-ahead was trained", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let Some(prefetch) = &facts.report.prefetch else {
        return Err(lacks_other("what Windows reads ahead: the folder Windows\\Prefetch is not there"));
    };
    let old = prefetch.plans.iter().filter(|plan| plan.is_older_than_program == Some(true)).count();
    let untrained = matches!(prefetch.training.state, TrainingState::Untrained | TrainingState::Training);
    let none = prefetch.launch_plans == 0;
    if !untrained && !none && old == 0 {
        return Ok(Vec::new());
    }
    let what = match (none, untrained) {
        (true, _) => "there is no plan of any program".to_owned(),
        (_, true) => {
            format!("Windows has learned from {}", counted(prefetch.training.boots.unwrap_or(0) as usize, "boot"))
        }
        _ => format!("{} older than the program", counted(old, "plan")),
    };
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
            format!("{} is on, and the read-ahead is not trained: {what}", filter.kind.as_str()),
        )
        .graded(FindingSeverity::High)
        .because(None, filter.evidence())
        .because(None, what)
        .advise("turn the filter off and train first: 'onoff record boot --plan windows --train' prints the procedure"),
    ])
}
