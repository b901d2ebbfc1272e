//! Whether a recording is good enough to answer from.

use onoff_trace::{StreamHeader, Trace};

/// Losses that are called time inversions.
const INVERSIONS: [&str; 3] = ["time_inversion", "time_contradiction", "disordered_buffers"];

/// What is known of the recording's quality.
pub struct Facts {
    events_lost: u64,
    buffers_lost: u64,
    inversions: u64,
}

impl Facts {
    /// From a trace that was read.
    pub fn of_trace(trace: &Trace) -> Self {
        let inversions = INVERSIONS.iter().map(|name| trace.losses.count(name));
        Self {
            events_lost: trace.events_lost,
            buffers_lost: trace.buffers_lost,
            inversions: inversions.fold(0, u64::saturating_add),
        }
    }

    /// Whether time ran backwards shows only when all is read; by then the rows are out, in their right order.
    pub fn of_stream(header: &StreamHeader) -> Self {
        Self { events_lost: header.events_lost, buffers_lost: header.buffers_lost, inversions: 0 }
    }

    /// Why nothing is answered, unless what is wrong is tolerated.
    pub fn refusal(&self, tolerates_losses: bool, tolerates_inversions: bool) -> Option<String> {
        let Self { events_lost, buffers_lost, inversions } = *self;
        if events_lost + buffers_lost > 0 && !tolerates_losses {
            let what = match (events_lost, buffers_lost) {
                (events, 0) => count(events, "event"),
                (0, buffers) => count(buffers, "buffer"),
                (events, buffers) => {
                    format!("{} and {}", count(events, "event"), count(buffers, "buffer"))
                }
            };
            return Some(format!(
                "the recorder lost {what}, so the answer may be wrong; -tle answers all the same, more or larger \
                 buffers lose less next time"
            ));
        }
        if inversions > 0 && !tolerates_inversions {
            return Some(format!(
                "the clock runs backwards in {}, so the answer may be wrong; -tti answers all the same, in the best \
                 order there is",
                count(inversions, "place")
            ));
        }
        None
    }
}

fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_a_clock_that_ran_backwards_are_tolerated_only_when_told() {
        let facts = |events_lost, buffers_lost, inversions| Facts { events_lost, buffers_lost, inversions };
        assert_eq!(facts(0, 0, 0).refusal(false, false), None);
        let said = facts(2, 1, 0).refusal(false, true).unwrap();
        assert!(said.starts_with("the recorder lost 2 events and 1 buffer, so"), "{said}");
        assert_eq!(facts(2, 1, 0).refusal(true, false), None);
        let said = facts(2, 0, 3).refusal(true, false).unwrap();
        assert!(said.contains("runs backwards in 3 places"), "{said}");
        assert_eq!(facts(2, 0, 3).refusal(true, true), None);
    }
}
