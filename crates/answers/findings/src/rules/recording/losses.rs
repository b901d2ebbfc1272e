//! A recording that lost events.

use onoff_trace::{Loss, Severity, Trace};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Losses that make results incomplete or wrong: events and buffers lost by the recorder, or truncated files.
    ///
    /// # Why it costs time
    /// Losses cost no time, but lost events are missing from every sum, and a cost of zero may be due to a loss.
    ///
    /// # Evidence needed
    /// The recording itself.
    ///
    /// # What to do
    /// Depends on the loss: use more and larger buffers if events were dropped, record to another disk if whole buffers
    /// could not be written, copy the file again if it was truncated or damaged. The advice says so if no recorder
    /// setting would help.
    ///
    /// # When it is wrong
    /// Losses outside the transition do no harm; each report lists the parts they affect.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Reducing the Variance in Test Results".
    "recording/losses", "a recording that lost events", Recording(check)
}

fn check(trace: &Trace) -> Outcome {
    let losses: Vec<_> = trace.losses.iter().filter(|loss| loss.severity > Severity::Notice).collect();
    if losses.is_empty() {
        return Ok(Vec::new());
    }
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Recording, "losses"),
        format!("the recording has {} of losses, so costs may be too low", counted(losses.len(), "kind")),
    )
    .advice(advice(&losses));
    for loss in losses {
        finding = finding.evidence(None, format!("{} × {}: {}", loss.count, loss.counter, loss.help));
    }
    Ok(vec![finding])
}

/// Remedies by loss counter, in order of priority.
const REMEDIES: &[(&[&str], &str)] = &[
    (
        &["events_lost_by_recorder", "events_lost", "buffers_marked_lossy", "trace_events_lost", "trace_gaps"],
        "record again with more and larger buffers",
    ),
    (
        &["buffers_lost_by_recorder", "buffers_lost"],
        "record to a disk other than the boot disk: the recorder could not write whole buffers",
    ),
    (&["unfinished_file", "journal_truncated"], "stop the recording before copying the file: it was never closed"),
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
        "copy the file again: it was truncated or damaged",
    ),
    (&["compact_context_switches_left_out"], "record a shorter time, or full context switches"),
];

/// Joins the remedies of all losses, or says that no recorder setting would help.
fn advice(losses: &[&Loss]) -> String {
    let is_remedy = |names: &[&str]| losses.iter().any(|loss| names.contains(&loss.counter));
    let remedies: Vec<&str> =
        REMEDIES.iter().filter(|(names, _)| is_remedy(names)).map(|&(_, remedy)| remedy).collect();
    if remedies.is_empty() {
        "no recorder setting prevents these losses; 'onoff info FILE' shows the tables each one affects".to_owned()
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
            trace.losses.add(&Counter { name, severity, help: "", affects: &[] }, 1);
        }
        let findings = check(&trace).unwrap();
        findings.first().map(|finding| finding.advice.clone())
    }

    #[test]
    fn advice_matches_loss_kind() {
        let advice = advice_for(&["events_lost_by_recorder"]).unwrap();
        assert!(advice.contains("buffers") && !advice.contains("disk"), "{advice}");
        let advice = advice_for(&["buffers_lost"]).unwrap();
        assert!(advice.contains("other than the boot disk") && !advice.contains("more and larger"), "{advice}");
        let advice = advice_for(&["buffer_truncated", "events_lost"]).unwrap();
        assert!(advice.contains("larger buffers; copy the file again"), "{advice}");
        // Larger buffers would not have recorded the end of a process.
        let advice = advice_for(&["process_end_missing"]).unwrap();
        assert!(!advice.contains("buffers") && advice.contains("no recorder setting"), "{advice}");
        assert_eq!(advice_for(&["unused_space"]), None);
    }
}
