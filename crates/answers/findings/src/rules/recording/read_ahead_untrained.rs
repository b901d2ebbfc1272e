//! A boot with untrained read-ahead.

use onoff_transitions::boot::{ReadAhead, TrainingState};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A boot for which ReadyBoot had learned from fewer than three boots since the last servicing.
    ///
    /// # Why it costs time
    /// With every boot, ReadyBoot learns which files the next one needs. In Microsoft's table 4, an untrained boot
    /// takes 47.5 s, the next one 24.9 s, and the third and later ones 17 s, so an early boot is not representative.
    ///
    /// # Evidence needed
    /// The training count recorded by Winlogon.
    ///
    /// # What to do
    /// Boot three times, leave the computer idle for a few minutes after the last boot, and record then (`xbootmgr
    /// -prepSystem` does this).
    ///
    /// # When it is wrong
    /// On solid-state disks, training matters little.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Prefetcher Effects on Boot Performance Measurements", table 4.
    "recording/read-ahead-untrained", "a boot with untrained read-ahead", BootCaveat(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let read_ahead = &facts.report.details.read_ahead;
    let Some(count) = read_ahead.training_count else {
        return Err(missing_input("read-ahead training (provider Microsoft-Windows-Winlogon)"));
    };
    if read_ahead.state == TrainingState::Trained {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Transition, "read-ahead"),
            format!(
                "ReadyBoot is still training ({} of {} boots), so the next boots will be faster",
                count.max(0),
                ReadAhead::TRAINED_BOOTS
            ),
        )
        .evidence(None, format!("training count {count} ({})", read_ahead.event))
        .advice("boot three times, leave the computer idle, and record again before you change anything"),
    ])
}
