//! The minimum time of a cause, for culprits and for the rules of findings.

const MS: i64 = 1_000_000;

/// Variation between two runs of one computer, ns: 300 ms. Two runs in table 5 of Microsoft's *Windows On/Off
/// Transition Performance Analysis* differ by 274 ms.
pub const NOISE_NS: i64 = 300 * MS;
/// Minimum share of a transition that a cause takes: a twentieth (5 %). Chosen.
const MIN_SHARE_DIVISOR: i64 = 20;
/// Time that is noticeable to a person in any transition, however long, ns: 1 s. Chosen.
pub const NOTICEABLE_NS: i64 = 1_000 * MS;

/// Returns the minimum time of a cause, summed over all phases of a transition of this length, ns: 5 % of the
/// transition, at least the variation between two runs, and at most a second. If the length is unknown (0), a second.
#[must_use]
pub const fn min_cause_ns(transition_ns: i64) -> i64 {
    let share_ns = transition_ns / MIN_SHARE_DIVISOR;
    if transition_ns <= 0 || share_ns > NOTICEABLE_NS {
        NOTICEABLE_NS
    } else if share_ns < NOISE_NS {
        NOISE_NS
    } else {
        share_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimum_is_a_share_between_noise_and_a_second() {
        let min_ms = |transition_ms: i64| min_cause_ns(transition_ms * MS) / MS;
        assert_eq!([3_300, 6_400, 10_000, 19_000].map(min_ms), [300, 320, 500, 950]);
        // Noise is never a cause; a second always counts, as it does in a transition of unknown length.
        assert_eq!([400, 25_000, 1_000_000, 0].map(min_ms), [300, 1_000, 1_000, 1_000]);
    }
}
