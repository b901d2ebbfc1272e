//! A boot whose read-ahead is not trained.

use onoff_transitions::boot::{ReadAhead, TrainingState};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot whose read-ahead (ReadyBoot) has learned from fewer than three boots since the last servicing.
    ///
    /// # Why it costs time
    /// The read-ahead learns with every boot which files the next one needs. In Microsoft's table 4 an untrained boot takes 47.5 s, the
    /// first after it 24.9 s, the third and later ones 17 s: such a boot is not what people see every day.
    ///
    /// # Evidence needed
    /// The count of trainings, which the logon process records.
    ///
    /// # What to do
    /// Boot three times and let the computer rest for some minutes after the last, then record (`xbootmgr -prepSystem` does so).
    ///
    /// # When it is wrong
    /// With solid-state disks training matters little.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Prefetcher Effects on Boot Performance Measurements", table 4.
    "recording/read-ahead-untrained", "a boot whose read-ahead is not trained", Trust(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let read_ahead = &facts.report.details.read_ahead;
    let Some(count) = read_ahead.training_count else {
        return Err(lacks_other("how often the read-ahead was trained: provider Microsoft-Windows-Winlogon tells"));
    };
    if read_ahead.state == TrainingState::Trained {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Transition, "read-ahead"),
            format!(
                "the read-ahead has learned from {} of the {} boots it needs: the next boots will be faster",
                count.max(0),
                ReadAhead::TRAINED_BOOTS
            ),
        )
        .because(None, format!("training count {count} by {}", read_ahead.event))
        .advise("boot three times, let the computer rest, and record again before anything is changed"),
    ])
}
