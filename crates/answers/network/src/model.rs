//! The latency model of a TFTP transfer, for predictions with other settings.
//!
//! A server with a window of W blocks sends them at intervals of g and then waits for the acknowledgment. The client's
//! turn grows with the window because firmware handles blocks one at a time: it takes c0 + k W. With s for the server's
//! turn and n acknowledgments for N blocks:
//!
//! T = (N - n) g + n (s + c0) + N k, with N = floor(size / B) + 1 and n = ceil(N / W).
//!
//! c0 and k are fitted to all windows that one client program used in the capture. With a single window they cannot be
//! separated, so predictions are a range: from all of the turn per acknowledgment (c0) to all of it per block (k). With
//! several block sizes, k is split into a part per block and a part per byte; with a single size, a prediction for
//! another size is also a range. A fragmented block may cost the client as much as one block per fragment.

use onoff_netboot::transfer::{Outcome, Transfer};
use serde::Serialize;

/// Minimum number of blocks to fit the model.
const MIN_BLOCKS: u64 = 64;
/// Minimum number of turns for a window size.
const MIN_TURNS: u64 = 8;
/// Minimum ratio of window sizes to separate c0 and k.
const MIN_WINDOW_RATIO: u32 = 2;
/// Minimum difference of block sizes, percent, to separate the cost per block from the cost per byte.
const MIN_SIZE_DIFFERENCE_PERCENT: u32 = 25;
/// Minimum number of pairs of window and block size for the same purpose.
const MIN_PAIRS: usize = 4;
/// Windows of the prediction table.
pub const WINDOWS: [u32; 7] = [1, 4, 8, 16, 32, 50, 64];
/// Bytes on the wire around an IP packet: Ethernet header and checksum, preamble and interframe gap.
const FRAME_OVERHEAD: u64 = 14 + 4 + 8 + 12;
const UDP_AND_TFTP_HEADERS: u64 = 8 + 4;
/// Largest IP packet on Ethernet, bytes.
const MAX_PACKET_SIZE: u64 = 1_500;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const IPV6_FRAGMENT_HEADER: u64 = 8;
/// Client timeout if none was captured, ns: EDK II's 4 s.
const TIMEOUT_NS: f64 = 4e9;

/// The cost of the client's turn, per acknowledgment, block and byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientTurn {
    /// c0, ns per acknowledgment.
    pub fixed_ns: f64,
    /// k, ns per block; without the part per byte if that was separated.
    pub per_block_ns: f64,
    /// ns per byte of a block; zero unless several block sizes were captured.
    pub per_byte_ns: f64,
}

impl ClientTurn {
    /// Cost of a block of `bytes`, ns.
    #[must_use]
    pub fn of_block(&self, bytes: u32) -> f64 {
        self.per_block_ns + self.per_byte_ns * f64::from(bytes)
    }

    /// The cost with a combined k for blocks of one size.
    fn with_block(&self, per_block_ns: f64) -> Self {
        Self { fixed_ns: self.fixed_ns, per_block_ns, per_byte_ns: 0.0 }
    }
}

/// The model fitted to a transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyModel {
    /// N, blocks.
    pub blocks: u64,
    /// n, number of turns: ceil(N / W) without losses.
    pub turns: u64,
    /// g, median ns between blocks of a window; zero for windows of one block, where turns include it.
    pub gap_ns: i64,
    /// True if `gap_ns` was measured; otherwise predictions derive it from the link speed.
    pub gap_measured: bool,
    /// s + c, ns: the usual turns of server and client, without pauses.
    pub turn_ns: i64,
    /// s, ns: the server's usual turn.
    pub server_ns: i64,
    /// The client's turn if all of it is per acknowledgment, or the fitted turn if `fitted`.
    pub per_acknowledgment: ClientTurn,
    /// The client's turn if all of it is per block, or the fitted turn if `fitted`.
    pub per_block: ClientTurn,
    /// True if c0 and k were separated with transfers of several windows.
    pub fitted: bool,
    /// The windows c0 and k were fitted to.
    pub fitted_windows: Vec<u32>,
    /// The block sizes `per_byte_ns` was fitted to; empty if it was not.
    pub fitted_block_sizes: Vec<u32>,
    /// (N - n) g + n (s + c), ns.
    pub steady_ns: i64,
    /// `steady_ns` plus measured setup and timeouts, ns.
    pub model_ns: i64,
    /// Measured duration from request to end, ns.
    pub measured_ns: i64,
    /// Measured minus modeled duration, ns.
    pub unexplained_ns: i64,
    /// Part of the unexplained time in pauses: turns or gaps much longer than the others, ns.
    pub pauses_ns: i64,
    /// Losses: timeouts, and windows resent from a lost block.
    pub loss_events: u64,
    /// Time spent on losses, ns.
    pub losses_ns: i64,
    /// Wire time of all frames, ns.
    pub wire_ns: i64,
    /// Wire time as percent of the measured duration.
    pub wire_percent: f64,
}

/// Settings of a prediction. `None` keeps the captured value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Blocks per acknowledgment.
    pub window: Option<u32>,
    /// Bytes per block.
    pub block_size: Option<u32>,
    /// Round trip of the network, ns.
    pub round_trip_ns: Option<i64>,
    /// Fraction of lost blocks, 0 to 1.
    pub loss: Option<f64>,
}

/// Predicted duration of the modeled transfers of a boot with other settings; pauses and everything else as measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Blocks per acknowledgment; `None` if each transfer keeps its value.
    pub window: Option<u32>,
    /// Bytes per block; `None` if each transfer keeps its value.
    pub block_size: Option<u32>,
    /// Lower bound, ns.
    pub shortest_ns: i64,
    /// Upper bound, ns; equal to `shortest_ns` if c0 and k were separated.
    pub longest_ns: i64,
    /// Part spent on losses, ns; zero without losses.
    pub losses_ns: i64,
}

/// A transfer with a fitted model, and the inputs for predictions.
#[derive(Clone, Debug)]
pub(super) struct FittedTransfer {
    pub(super) model: LatencyModel,
    bytes: u64,
    ipv6: bool,
    block_size: u32,
    window: u32,
    timeout_ns: f64,
    bits_per_s: u64,
    round_trip_at_most_ns: f64,
    /// Client turns by window.
    turns: Vec<TurnSample>,
    /// True if the firmware's TFTP client loaded the file, false for a loader's.
    firmware: bool,
}

/// The client's usual turn after windows of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TurnSample {
    /// Blocks per window.
    window: u32,
    /// Bytes per block.
    block_size: u32,
    /// Number of turns.
    count: u64,
    /// Usual turn, ns.
    ns: f64,
}

/// Number of frames of a block of `bytes`: IP fragments packets of more than 1,500 bytes.
fn frames_of(bytes: u32, ipv6: bool) -> u64 {
    let payload = u64::from(bytes) + UDP_AND_TFTP_HEADERS;
    let room = MAX_PACKET_SIZE - if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    if payload <= room {
        return 1;
    }
    // Fragments carry multiples of eight bytes.
    let room = if ipv6 { room - IPV6_FRAGMENT_HEADER } else { room };
    payload.div_ceil(room / 8 * 8)
}

/// Wire time of a block of `bytes`, including all headers, ns.
#[must_use]
pub fn wire_ns(bytes: u32, ipv6: bool, bits_per_s: u64) -> i64 {
    let header = if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    let frames = frames_of(bytes, ipv6);
    let fragment = if ipv6 && frames > 1 { IPV6_FRAGMENT_HEADER } else { 0 };
    let around = frames * (FRAME_OVERHEAD + header + fragment) + UDP_AND_TFTP_HEADERS;
    on_the_wire(u64::from(bytes) + around, bits_per_s)
}

fn on_the_wire(bytes: u64, bits_per_s: u64) -> i64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bits_per_s.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// N, the number of blocks: the last one is short or empty.
fn blocks_of(bytes: u64, block_size: u32) -> u64 {
    (bytes / u64::from(block_size.max(1))).saturating_add(1)
}

/// (N - n) g + n (s + c0) + N k, ns.
fn steady(blocks: u64, turns: u64, gap_ns: f64, server_ns: f64, client: ClientTurn) -> f64 {
    let (blocks, turns) = (blocks as f64, turns as f64);
    (blocks - turns).max(0.0) * gap_ns + turns * (server_ns + client.fixed_ns) + blocks * client.per_block_ns
}

/// Fits the model to a transfer; `None` if it is incomplete or too short.
pub(super) fn fit(transfer: &Transfer, firmware: bool, bits_per_s: u64) -> Option<FittedTransfer> {
    let whole = !transfer.write && !transfer.started_before_capture && transfer.counts.missing_blocks == 0;
    if !whole || transfer.outcome != Outcome::Complete || transfer.counts.blocks < MIN_BLOCKS {
        return None;
    }
    let end_ns = transfer.complete_ns?;
    let measured_ns = end_ns.saturating_sub(transfer.request_ns);
    let ipv6 = transfer.client.is_ipv6();
    let counts = &transfer.counts;
    let (server_ns, client_ns) = (transfer.server_turnaround.usual_ns?, transfer.client_turnaround.usual_ns?);
    let measured_gap = transfer.gap.median_ns.filter(|_| transfer.gap.count >= 16);
    let gap_ns = measured_gap.unwrap_or(0);
    let turns = transfer.server_turnaround.count.max(transfer.client_turnaround.count).max(1);
    let mean = counts.blocks as f64 / turns as f64;
    let setup_ns = setup(transfer);
    let per_acknowledgment = ClientTurn { fixed_ns: client_ns as f64, ..ClientTurn::default() };
    let per_block = ClientTurn { per_block_ns: client_ns as f64 / mean.max(1.0), ..ClientTurn::default() };
    let steady_ns = steady(counts.blocks, turns, gap_ns as f64, server_ns as f64, per_acknowledgment) as i64;
    let pauses_ns = [&transfer.server_turnaround, &transfer.client_turnaround, &transfer.gap]
        .iter()
        .fold(0_i64, |sum, turns| sum.saturating_add(turns.pause_ns));
    let model_ns = [setup_ns, steady_ns, transfer.timeout_ns].into_iter().fold(0_i64, i64::saturating_add);
    // A rollback may follow a timeout, so count each loss once.
    let loss_events = counts.rollbacks.max(transfer.timeout_count);
    let again = loss_events.saturating_sub(transfer.timeout_count) as f64
        * repeat_ns(mean, gap_ns as f64, (server_ns + client_ns) as f64);
    let losses_ns = transfer.timeout_ns.saturating_add(again as i64);
    // Captured frames do not include checksum, preamble and interframe gap.
    let wire_ns = on_the_wire(counts.wire_bytes + 24 * counts.frames, bits_per_s);
    let model = LatencyModel {
        blocks: counts.blocks,
        turns,
        gap_ns,
        gap_measured: measured_gap.is_some(),
        turn_ns: server_ns.saturating_add(client_ns),
        server_ns,
        per_acknowledgment,
        per_block,
        fitted: false,
        fitted_windows: Vec::new(),
        fitted_block_sizes: Vec::new(),
        steady_ns,
        model_ns,
        measured_ns,
        unexplained_ns: measured_ns.saturating_sub(model_ns),
        pauses_ns,
        loss_events,
        losses_ns,
        wire_ns,
        wire_percent: percent(wire_ns, measured_ns),
    };
    let timeouts = i64::try_from(transfer.timeout_count).unwrap_or(i64::MAX);
    let timeout_ns = transfer.timeout_ns.checked_div(timeouts).map_or(TIMEOUT_NS, |ns| ns as f64);
    let block_size = block_size(transfer);
    Some(FittedTransfer {
        model,
        bytes: counts.bytes,
        ipv6,
        block_size,
        window: (mean.round() as u32).max(1),
        timeout_ns,
        bits_per_s,
        round_trip_at_most_ns: 0.0,
        turns: transfer
            .turnarounds_by_window
            .iter()
            .filter(|turns| turns.turn.count >= MIN_TURNS)
            .filter_map(|turns| {
                let ns = turns.turn.usual_ns? as f64;
                Some(TurnSample { window: turns.blocks, block_size, count: turns.turn.count, ns })
            })
            .collect(),
        firmware,
    })
}

/// Cost of resending the rest of a window, on average half of it, plus a turn.
fn repeat_ns(window: f64, gap_ns: f64, turn_ns: f64) -> f64 {
    (window - 1.0).max(0.0) / 2.0 * gap_ns + turn_ns
}

/// Separates c0 and k, for firmware and loaders each, if there are windows of different sizes.
pub(super) fn fit_together(fitted: &mut [FittedTransfer], round_trip_at_most_ns: Option<i64>) {
    for firmware in [true, false] {
        let turns: Vec<TurnSample> =
            fitted.iter().filter(|one| one.firmware == firmware).flat_map(|one| one.turns.iter().copied()).collect();
        let fit = client_turn(&turns);
        for one in fitted.iter_mut().filter(|one| one.firmware == firmware) {
            one.round_trip_at_most_ns = round_trip_at_most_ns.unwrap_or(0).max(0) as f64;
            if let Some(FittedTurn { turn, windows, block_sizes }) = &fit {
                one.model.per_acknowledgment = *turn;
                one.model.per_block = *turn;
                one.model.fitted = true;
                one.model.fitted_windows.clone_from(windows);
                one.model.fitted_block_sizes.clone_from(block_sizes);
            }
        }
    }
}

/// c0 and k with the windows and block sizes they were fitted to.
#[derive(Clone, Debug, PartialEq)]
struct FittedTurn {
    turn: ClientTurn,
    windows: Vec<u32>,
    /// Empty if the cost per byte was not separated.
    block_sizes: Vec<u32>,
}

/// Fits c0 and k by least squares of relative errors, counting each pair of window and block size once; `None` if the
/// windows are too similar.
#[must_use]
fn client_turn(turns: &[TurnSample]) -> Option<FittedTurn> {
    let mut seen: Vec<TurnSample> = turns.iter().copied().filter(|turn| turn.ns > 0.0).collect();
    seen.sort_by_key(|turn| (turn.window, turn.block_size));
    // Average the turns of each pair.
    let pairs: Vec<TurnSample> = seen
        .chunk_by(|one, other| (one.window, one.block_size) == (other.window, other.block_size))
        .filter_map(|same| {
            let count: u64 = same.iter().map(|turn| turn.count).sum();
            let sum: f64 = same.iter().map(|turn| turn.count as f64 * turn.ns).sum();
            Some(TurnSample { count, ns: sum / count.max(1) as f64, ..*same.first()? })
        })
        .filter(|turn| turn.ns > 0.0)
        .collect();
    let mut windows: Vec<u32> = pairs.iter().map(|turn| turn.window).collect();
    windows.dedup();
    let (min, max) = (*windows.first()?, *windows.last()?);
    if max < min.saturating_mul(MIN_WINDOW_RATIO) {
        return None;
    }
    let mut block_sizes: Vec<u32> = pairs.iter().map(|turn| turn.block_size).collect();
    block_sizes.sort();
    block_sizes.dedup();
    let (smallest, largest) = (*block_sizes.first()?, *block_sizes.last()?);
    let differs = u64::from(largest) * 100 >= u64::from(smallest) * u64::from(100 + MIN_SIZE_DIFFERENCE_PERCENT);
    let by_bytes = differs && pairs.len() >= MIN_PAIRS;
    // Choose the set of non-negative parts with the smallest residual.
    let sets: &[[bool; 3]] = if by_bytes { &PARTS } else { &PARTS[4..] };
    let mut best: Option<(f64, [f64; 3])> = None;
    for set in sets {
        let Some(parts) = least_squares(&pairs, *set) else { continue };
        let residual = pairs.iter().map(|turn| (1.0 - dot(features(turn), parts) / turn.ns).powi(2)).sum::<f64>();
        if best.is_none_or(|(smallest, _)| residual < smallest * (1.0 - 1e-9)) {
            best = Some((residual, parts));
        }
    }
    let (_, [fixed_ns, per_block_ns, per_byte_ns]) = best?;
    if !by_bytes {
        block_sizes.clear();
    }
    Some(FittedTurn { turn: ClientTurn { fixed_ns, per_block_ns, per_byte_ns }, windows, block_sizes })
}

/// Combinations of c0, part per block and part per byte; those without the last part come last.
const PARTS: [[bool; 3]; 7] = [
    [true, true, true],
    [true, false, true],
    [false, true, true],
    [false, false, true],
    [true, true, false],
    [true, false, false],
    [false, true, false],
];

fn features(turn: &TurnSample) -> [f64; 3] {
    let window = f64::from(turn.window);
    [1.0, window, window * f64::from(turn.block_size)]
}

fn dot(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Fits the parts in `set` by least squares of relative errors, the others are zero; `None` if they cannot be separated
/// or one is negative.
fn least_squares(turns: &[TurnSample], set: [bool; 3]) -> Option<[f64; 3]> {
    // Normal equations with rows scaled by the measured turn; an excluded column has only its diagonal.
    let mut equations = [[0.0_f64; 4]; 3];
    for turn in turns {
        let row = features(turn).map(|feature| feature / turn.ns);
        for (at, equation) in equations.iter_mut().enumerate().filter(|&(at, _)| set[at]) {
            for (column, cell) in equation.iter_mut().take(3).enumerate().filter(|&(column, _)| set[column]) {
                *cell += row[at] * row[column];
            }
            equation[3] += row[at];
        }
    }
    for (at, equation) in equations.iter_mut().enumerate().filter(|&(at, _)| !set[at]) {
        equation[at] = 1.0;
    }
    let scale = [0, 1, 2].map(|at| equations[at][at]);
    for at in 0..3 {
        let pivot = equations[at];
        if pivot[at] <= scale[at] * 1e-9 {
            return None;
        }
        for (_, equation) in equations.iter_mut().enumerate().filter(|&(other, _)| other != at) {
            let factor = equation[at] / pivot[at];
            for (cell, pivot) in equation.iter_mut().zip(pivot) {
                *cell -= factor * pivot;
            }
        }
    }
    let parts = [0, 1, 2].map(|at| equations[at][3] / equations[at][at]);
    parts.iter().all(|part| part.is_finite() && *part >= 0.0).then_some(parts)
}

/// From the request to the first block, without timeouts, ns.
pub(super) fn setup(transfer: &Transfer) -> i64 {
    let Some(first_ns) = transfer.first_data_ns else { return 0 };
    // The time after the option acknowledgment is a server turn and not part of the setup.
    let first_ns = transfer.first_acknowledgment_ns.map_or(first_ns, |acknowledged| acknowledged.min(first_ns));
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

/// Block sizes of the prediction table: the largest without fragments is 1468 with IPv4 and 1448 with IPv6.
fn block_sizes(ipv6: bool) -> &'static [u32] {
    if ipv6 { &[512, 1024, 1448] } else { &[512, 1024, 1456, 1468] }
}

/// Predicts the total of the fitted transfers for each window and block size.
pub(super) fn predict(fitted: &[FittedTransfer]) -> Vec<Prediction> {
    let Some(first) = fitted.first() else { return Vec::new() };
    let each = |window| block_sizes(first.ipv6).iter().map(move |&size| (window, size));
    let table = WINDOWS.into_iter().flat_map(each);
    table
        .map(|(window, size)| {
            let settings = Settings { window: Some(window), block_size: Some(size), ..Settings::default() };
            predict_total(fitted, &settings)
        })
        .collect()
}

/// Predicts the total of the fitted transfers with other settings.
pub(super) fn predict_total(fitted: &[FittedTransfer], settings: &Settings) -> Prediction {
    let mut sum = Prediction {
        window: settings.window,
        block_size: settings.block_size,
        shortest_ns: 0,
        longest_ns: 0,
        losses_ns: 0,
    };
    for one in fitted {
        let (shortest, longest, losses) = one.predicted_ns(settings);
        sum.shortest_ns = sum.shortest_ns.saturating_add(shortest);
        sum.longest_ns = sum.longest_ns.saturating_add(longest);
        sum.losses_ns = sum.losses_ns.saturating_add(losses);
    }
    sum
}

impl FittedTransfer {
    /// Predicts the duration with other settings: lower bound, upper bound, and the part spent on losses, ns.
    pub(super) fn predicted_ns(&self, settings: &Settings) -> (i64, i64, i64) {
        let model = &self.model;
        let window = settings.window.unwrap_or(self.window).max(1);
        let block_size = settings.block_size.unwrap_or(self.block_size).max(1);
        let same = window == self.window && block_size == self.block_size;
        let blocks = blocks_of(self.bytes, block_size);
        // With unchanged settings, keep the captured number of turns, because a variable window has its own.
        let turns = if same { model.turns } else { blocks.div_ceil(u64::from(window)) };
        let own_gap = model.gap_ns as f64;
        // Each turn includes one block; the others follow at the speed of the link or of the server.
        let wire = wire_ns(block_size, self.ipv6, self.bits_per_s) as f64;
        let own_wire = wire_ns(self.block_size, self.ipv6, self.bits_per_s) as f64;
        let gaps = if model.gap_measured { [own_gap, own_gap * wire / own_wire.max(1.0)] } else { [wire; 2] };
        let server = model.server_ns as f64;
        let losses = self.losses_ns(settings, window, blocks);
        let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
        for client in [model.per_acknowledgment, model.per_block] {
            let own_block = client.of_block(self.block_size);
            // The part of the measurement that the model does not explain stays unchanged.
            let own = steady(model.blocks, model.turns, own_gap, server, client.with_block(own_block));
            let rest = model.measured_ns as f64 - own - model.losses_ns as f64;
            for per_block_ns in self.block_costs(client, block_size) {
                for gap_ns in gaps {
                    let new = steady(blocks, turns, gap_ns, server, client.with_block(per_block_ns));
                    for round_trip in self.round_trip_change(settings) {
                        let took = (new + turns as f64 * round_trip + losses + rest.max(-0.5 * new)).max(0.0);
                        shortest = shortest.min(took);
                        longest = longest.max(took);
                    }
                }
            }
        }
        // Casts of floats saturate.
        (shortest.round() as i64, longest.round() as i64, losses.round() as i64)
    }

    /// Range of the client's cost for a block of another size, ns.
    fn block_costs(&self, client: ClientTurn, block_size: u32) -> [f64; 2] {
        let own = client.of_block(self.block_size);
        let (min, max) = if self.model.fitted_block_sizes.is_empty() {
            // The cost may be constant or proportional to the size.
            let grown = own * f64::from(block_size) / f64::from(self.block_size.max(1));
            (own.min(grown), own.max(grown))
        } else {
            let cost = client.of_block(block_size);
            (cost, cost)
        };
        let (frames, own_frames) = (frames_of(block_size, self.ipv6), frames_of(self.block_size, self.ipv6));
        // The client's stack handles each fragment as a packet.
        if frames > own_frames { (min, max.max(own * frames as f64 / own_frames as f64)).into() } else { [min, max] }
    }

    /// Range of the change of a turn with another round trip, ns: the captured one is between zero and its bound.
    fn round_trip_change(&self, settings: &Settings) -> [f64; 2] {
        match settings.round_trip_ns {
            None => [0.0; 2],
            Some(ns) => {
                let was = self.round_trip_at_most_ns.min(self.model.turn_ns as f64);
                [ns as f64 - was, ns as f64]
            }
        }
    }

    /// Cost of losses, ns, at the captured or given loss rate. The cost per loss is the captured one, adjusted for the
    /// window.
    fn losses_ns(&self, settings: &Settings, window: u32, blocks: u64) -> f64 {
        let model = &self.model;
        let share = model.loss_events as f64 / model.blocks.max(1) as f64;
        let lost = settings.loss.unwrap_or(share) * blocks as f64;
        if lost <= 0.0 {
            return 0.0;
        }
        let each = self.loss_ns(window);
        if model.loss_events == 0 {
            return lost * each;
        }
        // Scale the captured cost per loss.
        let was = self.loss_ns(self.window);
        lost * model.losses_ns as f64 / model.loss_events as f64 * each / was.max(1.0)
    }

    /// Cost of a lost block, ns: the rest of its window is resent; the last block of a window costs a timeout.
    fn loss_ns(&self, window: u32) -> f64 {
        let window = f64::from(window.max(1));
        let again = repeat_ns(window, self.model.gap_ns as f64, self.model.turn_ns as f64);
        let last = 1.0 / window;
        (1.0 - last) * again + last * self.timeout_ns.max(again)
    }
}

pub(super) fn percent(part: i64, whole: i64) -> f64 {
    if whole <= 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
