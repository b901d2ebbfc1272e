//! Aligns the clocks of two captures by the packets that both contain.

use super::Pair;

/// Maximum drift between two clocks.
const MAX_DRIFT: f64 = 500e-6;
/// Steps of the search for the drift; each narrows the range to two thirds.
const SEARCH_STEPS: u32 = 48;
/// A drift must widen the round trip by this share to be noticeable, percent, and by [`MIN_GAIN_NS`].
const MIN_GAIN_PERCENT: f64 = 2.0;
const MIN_GAIN_NS: f64 = 5_000.0;
/// Shorter round trips mean that both captures were taken at one place: timestamps may be rounded to 1 µs.
const MIN_ROUND_TRIP_NS: f64 = 4_000.0;
/// Longer round trips mean that the captures are of different boots.
const MAX_ROUND_TRIP_NS: f64 = 30e9;

/// The clock of the server's capture relative to the clock of the client's capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockFit {
    /// Server's time minus client's time at the client's time zero, ns, if the shortest delays are equal.
    pub(super) offset_ns: i64,
    /// Server's nanoseconds per client's nanosecond, minus 1.
    pub(super) drift: f64,
    /// Sum of the shortest delays, ns.
    pub(super) round_trip_ns: i64,
}

impl ClockFit {
    /// Fits the clocks, if one capture was taken nearer to the client and the other nearer to the server. `None` if a
    /// packet would be received before it was sent.
    pub(super) fn new(to_server: &[Pair], to_client: &[Pair]) -> Option<Self> {
        // For a drift, the offset lies between the bounds of both directions; their distance is the round trip.
        let bounds = |drift: f64| {
            let shortest = |pairs: &[Pair], sign: f64| {
                pairs
                    .iter()
                    .map(|&(time_ns, ns)| sign * (ns as f64 - drift * time_ns as f64))
                    .fold(f64::INFINITY, f64::min)
            };
            (shortest(to_server, 1.0), shortest(to_client, -1.0))
        };
        let round_trip = |drift: f64| {
            let (up, down) = bounds(drift);
            up + down
        };
        // The round trip is concave in the drift.
        let (mut low, mut high) = (-MAX_DRIFT, MAX_DRIFT);
        for _ in 0..SEARCH_STEPS {
            let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if round_trip(left) < round_trip(right) { low = left } else { high = right }
        }
        let best = f64::midpoint(low, high);
        let without = round_trip(0.0);
        let gain = round_trip(best) - without;
        let is_noticeable = gain > MIN_GAIN_NS && gain > without.max(0.0) * MIN_GAIN_PERCENT / 100.0;
        let drift = if is_noticeable { best } else { 0.0 };
        let (up, down) = bounds(drift);
        let round_trip_ns = up + down;
        (MIN_ROUND_TRIP_NS..=MAX_ROUND_TRIP_NS).contains(&round_trip_ns).then_some(Self {
            offset_ns: ((up - down) / 2.0) as i64,
            drift,
            round_trip_ns: round_trip_ns as i64,
        })
    }

    /// Returns the offset at a time of the client's capture, ns.
    fn offset_at(&self, client_ns: i64) -> i64 {
        self.offset_ns.saturating_add((self.drift * client_ns as f64) as i64)
    }

    /// Converts a time of the client's capture to a time of the server's, ns.
    pub(super) fn to_server_ns(self, client_ns: i64) -> i64 {
        client_ns.saturating_add(self.offset_at(client_ns))
    }

    /// Converts a time of the server's capture to a time of the client's, ns.
    pub(super) fn to_client_ns(self, server_ns: i64) -> i64 {
        server_ns.saturating_sub(self.offset_at(server_ns.saturating_sub(self.offset_ns)))
    }

    /// Returns the delays of one direction, ns, in ascending order.
    pub(super) fn delays(&self, pairs: &[Pair], to_server: bool) -> Vec<i64> {
        let mut delays: Vec<i64> = pairs
            .iter()
            .map(|&(client_ns, ns)| {
                let delay_ns = ns.saturating_sub(self.offset_at(client_ns));
                if to_server { delay_ns } else { delay_ns.saturating_neg() }
            })
            .collect();
        delays.sort_unstable();
        delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Returns packets of both directions, 1 ms apart, for an offset, a drift and the delays of each packet.
    fn pairs(offset_ns: i64, drift: f64, delay_ns: impl Fn(i64, bool) -> i64) -> (Vec<Pair>, Vec<Pair>) {
        let clock = |time_ns: i64| offset_ns + (drift * time_ns as f64) as i64;
        let times = || (0..20_000_i64).map(|number| number * MS);
        let up = times().map(|sent_ns| (sent_ns, clock(sent_ns) + delay_ns(sent_ns, true)));
        let down = times().map(|received_ns| (received_ns, clock(received_ns) - delay_ns(received_ns, false)));
        (up.collect(), down.collect())
    }

    #[test]
    fn finds_planted_offset_drift_and_round_trip() {
        let jitter = |time_ns: i64| (time_ns / MS * 7_919) % 3 * MS;
        let (up, down) = pairs(3_600_000 * MS, 40e-6, |time_ns, _| 2 * MS + jitter(time_ns));
        let fit = ClockFit::new(&up, &down).unwrap();
        assert!((fit.drift * 1e6 - 40.0).abs() < 1.0, "{fit:?}");
        assert!((fit.round_trip_ns - 4 * MS).abs() < 40_000, "{fit:?}");
        assert!((fit.offset_ns - 3_600_000 * MS).abs() < 40_000, "{fit:?}");
        let there_and_back = fit.to_client_ns(fit.to_server_ns(9_000 * MS));
        assert!((there_and_back - 9_000 * MS).abs() < 1_000);
        assert_eq!(fit.delays(&up, true).len(), up.len());
    }

    #[test]
    fn congestion_is_no_drift() {
        // The delay to the server grows by 20 ms over 20 s.
        let (up, down) = pairs(0, 0.0, |time_ns, is_up| 5 * MS + if is_up { time_ns / 1_000 } else { 0 });
        let fit = ClockFit::new(&up, &down).unwrap();
        assert_eq!(fit.drift, 0.0);
        assert_eq!(fit.round_trip_ns, 10 * MS);
    }

    #[test]
    fn contradictions_have_no_fit() {
        // The same place, the wrong order, and two boots with a pause of different length.
        let (up, down) = pairs(5 * MS, 0.0, |_, _| 0);
        assert_eq!(ClockFit::new(&up, &down), None);
        let (up, down) = pairs(5 * MS, 0.0, |_, _| -2 * MS);
        assert_eq!(ClockFit::new(&up, &down), None);
        let step = |time_ns: i64| if time_ns > 10_000 * MS { 800 * MS } else { 0 };
        let (up, down) = pairs(0, 0.0, |time_ns, is_up| if is_up { step(time_ns) } else { -step(time_ns) });
        assert_eq!(ClockFit::new(&up, &down), None);
        let turned =
            |pairs: &[Pair]| -> Vec<Pair> { pairs.iter().map(|&(ns, difference)| (ns, -difference)).collect() };
        assert_eq!(ClockFit::new(&turned(&up), &turned(&down)), None);
    }
}
