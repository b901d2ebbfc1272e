//! The latency model: what a transfer takes, and what it would take with another window and block size.
//!
//! A sender that may have W blocks under way sends them one after the other, g apart, and then waits a turn for the acknowledgment:
//! T = N g + ceil(N / W) (s + c), with N = floor(size / B) + 1 blocks of B bytes.

use onoff_netboot::transfer::{Outcome, Transfer};
use serde::Serialize;

/// Fewer blocks than this tell nothing.
const FEWEST_BLOCKS: u64 = 64;
/// Windows that are predicted.
pub const WINDOWS: [u32; 7] = [1, 4, 8, 16, 32, 50, 64];
/// Bytes on the wire around a block: Ethernet header and checksum, preamble and gap, UDP and TFTP headers.
const AROUND_A_BLOCK: u64 = 14 + 4 + 8 + 12 + 8 + 4;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;

/// A transfer's model: T = N g + ceil(N / W) (s + c), with the set-up and the time-outs that were seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyModel {
    /// N, blocks.
    pub blocks: u64,
    /// Turns taken: acknowledgments that went on; ceil(N / W) when none was lost.
    pub turns: u64,
    /// g, ns from one block of a window to the next: the median; zero with windows of one block, where turns hold it.
    pub gap_ns: i64,
    /// Whether `gap_ns` was measured; otherwise predictions take it from the link's speed.
    pub gap_measured: bool,
    /// s + c, ns: the usual turns of server and client, pauses left out.
    pub turn_ns: i64,
    /// N g + ceil(N / W) (s + c), ns.
    pub steady_ns: i64,
    /// That with set-up and time-outs as seen, ns.
    pub model_ns: i64,
    /// What was measured, from request to end, ns.
    pub measured_ns: i64,
    /// Measured less model, ns: what latency, windows and time-outs do not explain.
    pub unexplained_ns: i64,
    /// The part of it that pauses are, turns or gaps far longer than the others, ns.
    pub pauses_ns: i64,
    /// What all frames take on the wire, ns.
    pub wire_ns: i64,
    /// That in percent of what was measured.
    pub wire_percent: f64,
}

impl LatencyModel {
    /// What a file of `bytes` takes with another block size and window, without set-up, pauses and time-outs, ns.
    #[must_use]
    pub fn with(&self, bytes: u64, block_size: u32, window: u32, ipv6: bool, bits_per_s: u64) -> i64 {
        if self.gap_measured {
            return steady_ns(bytes, block_size, window, self.gap_ns, self.turn_ns);
        }
        // The turns hold one block's time each; only the blocks between them are still to be counted.
        let gap_ns = wire_ns(block_size, ipv6, bits_per_s);
        let blocks = blocks_of(bytes, block_size);
        let turns = blocks.div_ceil(u64::from(window.max(1)));
        sum(blocks - turns, turns, gap_ns, self.turn_ns)
    }
}

/// What the modelled transfers of a boot would take with a window and a block size, set-up included, pauses and time-outs left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Blocks per acknowledgment.
    pub window: u32,
    /// Bytes per block.
    pub block_size: u32,
    /// Time, ns.
    pub duration_ns: i64,
    /// What losses as frequent as those seen would add, ns; zero when none was seen.
    pub losses_ns: i64,
}

/// A transfer that the model was fitted to, and what predictions need of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fitted {
    pub(super) model: LatencyModel,
    pub(super) bytes: u64,
    pub(super) ipv6: bool,
    pub(super) setup_ns: i64,
    pub(super) loss_share: f64,
    pub(super) timeout_ns: i64,
}

/// What a block of `bytes` takes on the wire, with everything around it, ns.
#[must_use]
pub fn wire_ns(bytes: u32, ipv6: bool, bits_per_s: u64) -> i64 {
    let header = if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    on_the_wire(u64::from(bytes) + AROUND_A_BLOCK + header, bits_per_s)
}

fn on_the_wire(bytes: u64, bits_per_s: u64) -> i64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bits_per_s.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// T(W, B) without set-up, pauses and time-outs, ns.
#[must_use]
pub fn steady_ns(bytes: u64, block_size: u32, window: u32, gap_ns: i64, turn_ns: i64) -> i64 {
    let blocks = blocks_of(bytes, block_size);
    let turns = blocks.div_ceil(u64::from(window.max(1)));
    sum(blocks, turns, gap_ns, turn_ns)
}

/// N: the last block is short, or empty.
fn blocks_of(bytes: u64, block_size: u32) -> u64 {
    (bytes / u64::from(block_size.max(1))).saturating_add(1)
}

fn sum(blocks: u64, turns: u64, gap_ns: i64, turn_ns: i64) -> i64 {
    let product = |count: u64, ns: i64| i128::from(count) * i128::from(ns);
    let ns = product(blocks, gap_ns).saturating_add(product(turns, turn_ns));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Fits the model to a transfer; `None` when it is not complete, or too short to tell.
pub(super) fn fit(transfer: &Transfer, bits_per_s: u64) -> Option<Fitted> {
    if transfer.outcome != Outcome::Complete || transfer.counts.blocks < FEWEST_BLOCKS {
        return None;
    }
    let end_ns = transfer.complete_ns?;
    let measured_ns = end_ns.saturating_sub(transfer.request_ns);
    let ipv6 = transfer.client.is_ipv6();
    let counts = &transfer.counts;
    let turn_ns = transfer.server_turn.usual_ns?.saturating_add(transfer.client_turn.usual_ns?);
    let measured_gap = transfer.gap.median_ns.filter(|_| transfer.gap.count >= 16);
    let gap_ns = measured_gap.unwrap_or(0);
    let turns = transfer.server_turn.count.max(transfer.client_turn.count);
    let setup_ns = setup(transfer);
    let steady_ns = sum(counts.blocks, turns, gap_ns, turn_ns);
    let pauses_ns = [&transfer.server_turn, &transfer.client_turn, &transfer.gap]
        .iter()
        .fold(0_i64, |sum, turns| sum.saturating_add(turns.pause_ns));
    let model_ns = [setup_ns, steady_ns, transfer.timeout_ns].into_iter().fold(0_i64, i64::saturating_add);
    // Checksum, preamble and gap come on top of what is captured.
    let wire_ns = on_the_wire(counts.wire_bytes + 24 * counts.frames, bits_per_s);
    let model = LatencyModel {
        blocks: counts.blocks,
        turns,
        gap_ns,
        gap_measured: measured_gap.is_some(),
        turn_ns,
        steady_ns,
        model_ns,
        measured_ns,
        unexplained_ns: measured_ns.saturating_sub(model_ns),
        pauses_ns,
        wire_ns,
        wire_percent: percent(wire_ns, measured_ns),
    };
    let timeouts = i64::try_from(transfer.timeout_count).unwrap_or(i64::MAX);
    Some(Fitted {
        model,
        bytes: counts.bytes,
        ipv6,
        setup_ns,
        loss_share: counts.repeated_data as f64 / counts.data_packets.max(1) as f64,
        timeout_ns: transfer.timeout_ns.checked_div(timeouts).unwrap_or(0),
    })
}

/// From the request to the first block, time-outs in it left out, ns.
pub(super) fn setup(transfer: &Transfer) -> i64 {
    let Some(first_ns) = transfer.first_data_ns else {
        return 0;
    };
    let waited = transfer
        .timeouts
        .iter()
        .filter(|timeout| timeout.end_ns <= first_ns)
        .fold(0_i64, |sum, timeout| sum.saturating_add(timeout.end_ns.saturating_sub(timeout.start_ns)));
    first_ns.saturating_sub(transfer.request_ns).saturating_sub(waited).max(0)
}

pub(super) fn block_size(transfer: &Transfer) -> u32 {
    let granted = transfer.granted.as_ref();
    granted.and_then(|granted| granted.block_size).unwrap_or(512)
}

/// Block sizes that are predicted: the largest without fragments is 1468 with IPv4 and 1448 with IPv6.
fn block_sizes(ipv6: bool) -> &'static [u32] {
    if ipv6 { &[512, 1024, 1448] } else { &[512, 1024, 1456, 1468] }
}

/// What the fitted transfers together would take with each window and block size.
pub(super) fn predict(fitted: &[Fitted], bits_per_s: u64) -> Vec<Prediction> {
    let Some(first) = fitted.first() else {
        return Vec::new();
    };
    let mut predictions = Vec::new();
    for window in WINDOWS {
        for &block_size in block_sizes(first.ipv6) {
            let mut prediction = Prediction { window, block_size, duration_ns: 0, losses_ns: 0 };
            for transfer in fitted {
                prediction.duration_ns =
                    prediction.duration_ns.saturating_add(transfer.predicted_ns(window, block_size, bits_per_s));
                prediction.losses_ns = prediction.losses_ns.saturating_add(transfer.losses_ns(window, block_size));
            }
            predictions.push(prediction);
        }
    }
    predictions
}

impl Fitted {
    fn predicted_ns(&self, window: u32, block_size: u32, bits_per_s: u64) -> i64 {
        let steady = self.model.with(self.bytes, block_size, window, self.ipv6, bits_per_s);
        self.setup_ns.saturating_add(steady)
    }

    /// Each loss costs half a window again and a turn; that of a window's last block a time-out.
    fn losses_ns(&self, window: u32, block_size: u32) -> i64 {
        let blocks = blocks_of(self.bytes, block_size) as f64;
        let lost = blocks * self.loss_share;
        let window = f64::from(window.max(1));
        let again = window / 2.0 * self.model.gap_ns as f64 + self.model.turn_ns as f64;
        let last = 1.0 / window;
        // A float beyond the range of i64 becomes its largest.
        (lost * ((1.0 - last) * again + last * (self.timeout_ns as f64).max(again))) as i64
    }
}

pub(super) fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT_WIM: u64 = 201 << 20;
    const GIGABIT: u64 = 1_000_000_000;

    #[test]
    fn a_block_on_the_wire() {
        // 1456 bytes are 1526 on the wire, 12.2 µs at 1 Gb/s.
        assert_eq!(wire_ns(1456, false, GIGABIT), 12_208);
        assert_eq!(wire_ns(1448, true, GIGABIT), 12_304);
    }

    #[test]
    fn table_1_of_the_uefi_pxe_paper() {
        // 9.5382 s with windows of 50 blocks of 1456 bytes: what does a turn take?
        let gap_ns = wire_ns(1456, false, GIGABIT);
        let blocks = BOOT_WIM / 1456 + 1;
        assert_eq!(blocks, 144_756);
        let turns = blocks.div_ceil(50) as i64;
        let turn_ns = (9_538_200_000 - blocks as i64 * gap_ns) / turns;
        assert_eq!(turn_ns / 1000, 2_683);
        let seconds = |window| {
            let ns = steady_ns(BOOT_WIM, 1456, window, gap_ns, turn_ns);
            (ns as f64 / 1e8).round() / 10.0
        };
        let table: Vec<f64> = [1, 4, 8, 16, 32, 50, 64].map(seconds).to_vec();
        assert_eq!(table, [390.2, 98.9, 50.3, 26.0, 13.9, 9.5, 7.8]);
        // The default run had about 4,000 acknowledgments: 36 blocks each. The model gives half of the 23.7053 s measured.
        let default_ns = sum(blocks, 4_000, gap_ns, turn_ns);
        let unexplained = (23_705_300_000 - default_ns) as f64 / 1e9;
        assert!((11.0..11.4).contains(&unexplained), "{unexplained}");
    }

    #[test]
    fn sums_do_not_overflow() {
        assert_eq!(steady_ns(u64::MAX, 0, 0, i64::MAX, i64::MAX), i64::MAX);
    }
}
