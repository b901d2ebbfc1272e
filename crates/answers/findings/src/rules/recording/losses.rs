//! A recording that lost events.

use onoff_trace::{Loss, Severity, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Losses of the recording that leave out or bend answers: events and buffers that the recorder lost, files that end early.
    ///
    /// # Why it costs time
    /// It does not. But what was lost is in no sum, and a cost of zero may be a loss.
    ///
    /// # Evidence needed
    /// The recording itself.
    ///
    /// # What to do
    /// What fits the loss: more and larger buffers where events were dropped, another disk where whole buffers could not be written,
    /// a new copy of a file that was cut or damaged. A loss that no setting of the recorder causes is said to be that.
    ///
    /// # When it is wrong
    /// Losses outside of the transition do no harm; each report says which of its parts they touch.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Reducing the Variance in Test Results".
    "recording/losses", "a recording that lost events", Recording(check)
}

fn check(trace: &Trace) -> Outcome {
    let lost: Vec<_> = trace.losses.iter().filter(|loss| loss.severity > Severity::Notice).collect();
    if lost.is_empty() {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Recording, "losses"),
        format!("the recording has {}: costs may be too low", counted(lost.len(), "kind") + " of losses"),
    )
    .advise(advice(&lost));
    for loss in lost {
        finding = finding.because(None, format!("{} × {}: {}", loss.count, loss.counter, loss.help));
    }
    Ok(vec![finding])
}

/// What helps against a loss, by the names of its counters; what comes first is said first.
const REMEDIES: &[(&[&str], &str)] = &[
    (
        &["events_lost_by_recorder", "events_lost", "buffers_marked_lossy", "trace_events_lost", "trace_gaps"],
        "record again with more and larger buffers",
    ),
    (
        &["buffers_lost_by_recorder", "buffers_lost"],
        "record to a disk that is not the one that boots: the recorder could not write whole buffers",
    ),
    (&["unfinished_file", "journal_cut_off"], "stop the recording before the file is copied: it was never closed"),
    (
        &[
            "buffers_absent",
            "buffer_truncated",
            "buffer_size_damaged",
            "unreadable_span",
            "decompression_short",
            "decompression_refused",
            "bad_record",
            "unwritten_space",
            "trace_records_damaged",
            "journal_files_damaged",
        ],
        "copy the file again: it was cut or damaged",
    ),
    (&["compact_context_switches_left_out"], "record a shorter time, or full context switches"),
];

/// What to do about all of them: nothing, where no setting of the recorder causes them.
fn advice(lost: &[&Loss]) -> String {
    let helps = |names: &[&str]| lost.iter().any(|loss| names.contains(&loss.counter));
    let remedies: Vec<&str> = REMEDIES.iter().filter(|(names, _)| helps(names)).map(|&(_, remedy)| remedy).collect();
    if remedies.is_empty() {
        "no setting of the recorder prevents these losses; 'onoff info FILE' says which tables each one touches"
            .to_owned()
    } else {
        remedies.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::Counter;

    fn advice_for(counters: &[&'static str]) -> Option<String> {
        let mut trace = Trace::default();
        for &name in counters {
            let severity = if name == "unused_space" { Severity::Notice } else { Severity::Warning };
            trace.losses.add(&Counter { name, severity, help: "", touches: &[] }, 1);
        }
        let found = check(&trace).unwrap();
        found.first().map(|finding| finding.advice.clone())
    }

    #[test]
    fn advice_fits_the_loss() {
        let advice = advice_for(&["events_lost_by_recorder"]).unwrap();
        assert!(advice.contains("buffers") && !advice.contains("disk"), "{advice}");
        let advice = advice_for(&["buffers_lost"]).unwrap();
        assert!(advice.contains("to a disk") && !advice.contains("more and larger"), "{advice}");
        let advice = advice_for(&["buffer_truncated", "events_lost"]).unwrap();
        assert!(advice.contains("larger buffers; copy the file again"), "{advice}");
        // Larger buffers would not have recorded the end of a process.
        let advice = advice_for(&["process_end_missing"]).unwrap();
        assert!(!advice.contains("buffers") && advice.contains("no setting"), "{advice}");
        assert_eq!(advice_for(&["unused_space"]), None);
    }
}
