//! A recording that lost events.

use onoff_trace::{Severity, Trace};

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
    /// Record again with more and larger buffers, and to a disk that is not the one that boots.
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
    .advise("record again with more and larger buffers");
    for loss in lost {
        finding = finding.because(None, format!("{} × {}: {}", loss.count, loss.counter, loss.help));
    }
    Ok(vec![finding])
}
