//! Checks a recording for lost events and time inversions.

use onoff_trace::{StreamHeader, Trace};

/// Names of the losses that count as time inversions.
const INVERSIONS: [&str; 3] = ["time_inversion", "time_contradiction", "disordered_buffers"];

/// The rest of the paragraph about lost events.
const LOSS_WARNING: [&str; 6] = [
    "This is usually caused by insufficient disk bandwidth for ETW logging.",
    "Please try increasing the minimum and maximum number of buffers and/or",
    "the buffer size.  Doubling these values would be a good first attempt.",
    "Please note, though, that this action increases the amount of memory",
    "reserved for ETW buffers, increasing memory pressure on your scenario.",
    "See \"xperf -help start\" for the associated command line options.",
];

pub struct Quality {
    events_lost: u64,
    buffers_lost: u64,
    inversions: u64,
}

impl Quality {
    pub fn from_trace(trace: &Trace) -> Self {
        let inversions = INVERSIONS.iter().map(|name| trace.losses.count(name));
        Self {
            events_lost: trace.events_lost,
            buffers_lost: trace.buffers_lost,
            inversions: inversions.fold(0, u64::saturating_add),
        }
    }

    /// Leaves out time inversions, which are known only after the rows are written.
    pub fn from_stream(header: &StreamHeader) -> Self {
        Self { events_lost: header.events_lost, buffers_lost: header.buffers_lost, inversions: 0 }
    }

    /// Returns xperf's paragraph about lost events, whose first line programs look for; `None` if none were lost.
    pub fn loss_warning(&self) -> Option<String> {
        let lines = LOSS_WARNING.map(|line| format!("\t\t{line}\n")).concat();
        (self.events_lost > 0).then(|| {
            format!("\t\t{} Events were lost in this trace.  Data may be unreliable.\n{lines}", self.events_lost)
        })
    }

    /// Returns the reason to reject the recording; `None` if it is good enough.
    pub fn refusal(&self, tolerates_losses: bool, tolerates_inversions: bool) -> Option<String> {
        let Self { events_lost, buffers_lost, inversions } = *self;
        if events_lost + buffers_lost > 0 && !tolerates_losses {
            let losses = match (events_lost, buffers_lost) {
                (events, 0) => count(events, "event"),
                (0, buffers) => count(buffers, "buffer"),
                (events, buffers) => {
                    format!("{} and {}", count(events, "event"), count(buffers, "buffer"))
                }
            };
            return Some(format!(
                "the recorder lost {losses}, so results may be wrong; use -tle to process the recording anyway, and more or \
                 larger buffers when you record again"
            ));
        }
        if inversions > 0 && !tolerates_inversions {
            return Some(format!(
                "the clock ran backwards in {}, so results may be wrong; use -tti to process the recording anyway",
                count(inversions, "place")
            ));
        }
        None
    }
}

fn count(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_time_inversions_need_their_option() {
        let quality = |events_lost, buffers_lost, inversions| Quality { events_lost, buffers_lost, inversions };
        assert_eq!(quality(0, 0, 0).refusal(false, false), None);
        assert_eq!(quality(0, 1, 0).loss_warning(), None);
        let warning = quality(1, 0, 0).loss_warning().unwrap();
        assert!(warning.starts_with("\t\t1 Events were lost in this trace.  Data may be unreliable.\n"), "{warning}");
        let message = quality(2, 1, 0).refusal(false, true).unwrap();
        assert!(message.starts_with("the recorder lost 2 events and 1 buffer, so"), "{message}");
        assert_eq!(quality(2, 1, 0).refusal(true, false), None);
        let message = quality(2, 0, 3).refusal(true, false).unwrap();
        assert!(message.contains("ran backwards in 3 places"), "{message}");
        assert_eq!(quality(2, 0, 3).refusal(true, true), None);
    }
}
