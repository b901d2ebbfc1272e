//! The latency model of a TFTP transfer, for predictions with other settings.
//!
//! A server with a window of W blocks sends them at intervals of g and then waits for the acknowledgment. The client's
//! turn grows with the window because firmware handles blocks one at a time: it takes c0 + k W. With s for the server's
//! turn and n acknowledgments for N blocks:
//!
//! T = (N - n) g + n (s + c0) + N k, with N = floor(size / B) + 1 and n = ceil(N / W).
//!
//! c0 and k are fitted to all windows that one client program used in the capture. With a single window they cannot be
//! separated. With several block sizes, k is split into a part per block and a part per byte.
//!
//! A prediction is a range: every turn, measured or predicted, may differ from the client's usual pace by a factor, which
//! is estimated from how the pace varied within transfers and from the residuals of the fit. All lines within that factor
//! of the measured turns are possible. A block of another size may cost the same, or grow with its bytes, unless several
//! sizes show which. A fragmented block may cost the client as much as one block per fragment.

mod band;

use std::rc::Rc;

use band::{Growth, TurnBand};
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
/// Shortest timeout of either end if none was captured, ns: servers repeat a block after 1 s.
const MIN_TIMEOUT_NS: f64 = 1e9;
/// Minimum relative difference between a turn and the usual pace. Turns of firmware vary by this much between files.
const MIN_ERROR: f64 = 0.05;
/// Variation of a client's pace within a transfer, if its turns are too few to measure it.
const UNKNOWN_VARIATION: f64 = 0.1;
/// Difference between a turn and the usual pace, in variations within transfers. Between transfers, the pace of a busy
/// machine varies by about as much as within them.
const ERRORS_PER_VARIATION: f64 = 1.25;
/// The same in largest residuals of the fit: few windows leave smaller residuals than the pace varies.
const ERRORS_PER_RESIDUAL: f64 = 1.5;
/// Turns grow with blocks or with bytes. The worse fit is ruled out if its error exceeds the error of the other by this factor.
const MAX_ERROR_RATIO: f64 = 1.5;
/// Growth of the server's turn with each doubling of the window: with atftpd, from windows of 1 to 64, turns grew 2 to 3
/// times.
const SERVER_GROWTH_PER_DOUBLING: f64 = 1.2;
/// Ranges whose ends differ by more than this factor say that the time is not known.
pub const MAX_KNOWN_FACTOR: i64 = 4;
/// Maximum growth of the client's turn with the network's round trip. Firmware polls for packets with a timer: of 10 ms
/// of delay, OVMF added 1.8 ms to its turn.
const MAX_TURN_PER_ROUND_TRIP: f64 = 0.3;

/// The cost of the client's turn, per acknowledgment, block and byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientTurn {
    /// c0, ns per acknowledgment.
    pub fixed_ns: f64,
    /// k, ns per block; without the part per byte if that part was separated.
    pub per_block_ns: f64,
    /// ns per byte of a block; zero unless several block sizes were captured.
    pub per_byte_ns: f64,
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
    /// The windows that c0 and k were fitted to.
    pub fitted_windows: Vec<u32>,
    /// Largest difference between a fitted and a measured turn, percent; `None` if not fitted.
    pub fit_error_percent: Option<f64>,
    /// The block sizes that `per_byte_ns` was fitted to; empty if it was not fitted.
    pub fitted_block_sizes: Vec<u32>,
    /// How much the client's pace varied within transfers, percent: standard deviation of the means of consecutive batches
    /// of turns; `None` for few turns.
    pub pace_variation_percent: Option<f64>,
    /// Assumed difference between a client's turn and its usual pace, percent, in either direction.
    pub turn_error_percent: f64,
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

/// Predicted duration of the modeled transfers of a boot with other settings. Pauses and everything else stay as
/// measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Blocks per acknowledgment; `None` if each transfer keeps its value.
    pub window: Option<u32>,
    /// Bytes per block; `None` if each transfer keeps its value.
    pub block_size: Option<u32>,
    /// Lower bound, ns.
    pub shortest_ns: i64,
    /// Upper bound, ns; equal to `shortest_ns` for the captured settings.
    pub longest_ns: i64,
    /// Part of the upper bound that is spent on losses, ns; zero without losses.
    pub losses_ns: i64,
}

impl Prediction {
    /// True if the ends of the range are close enough to be of use.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.longest_ns <= self.shortest_ns.saturating_mul(MAX_KNOWN_FACTOR)
    }
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
    /// The pace of all transfers of the same client program.
    pace: Rc<Pace>,
    /// True if the firmware's TFTP client loaded the file, false for a loader's client.
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
    /// Variation of the pace within the transfer, as a share.
    variation: Option<f64>,
}

/// The possible turns of one client program.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// The client's turns, for each way in which they may grow.
    client: Vec<(Growth, TurnBand)>,
    variation: Option<f64>,
}

/// Returns the number of frames of a block of `bytes`. IP fragments packets of more than 1,500 bytes.
fn frame_count(bytes: u32, ipv6: bool) -> u64 {
    let payload = u64::from(bytes) + UDP_AND_TFTP_HEADERS;
    let max_payload = MAX_PACKET_SIZE - if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    if payload <= max_payload {
        return 1;
    }
    // Fragments carry multiples of eight bytes.
    let fragment_payload = if ipv6 { max_payload - IPV6_FRAGMENT_HEADER } else { max_payload };
    payload.div_ceil(fragment_payload / 8 * 8)
}

/// Returns the wire time of a block of `bytes`, including all headers, ns.
#[must_use]
pub fn wire_ns(bytes: u32, ipv6: bool, bits_per_s: u64) -> i64 {
    let header = if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    let frames = frame_count(bytes, ipv6);
    let fragment = if ipv6 && frames > 1 { IPV6_FRAGMENT_HEADER } else { 0 };
    let overhead = frames * (FRAME_OVERHEAD + header + fragment) + UDP_AND_TFTP_HEADERS;
    transmission_ns(u64::from(bytes) + overhead, bits_per_s)
}

fn transmission_ns(bytes: u64, bits_per_s: u64) -> i64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bits_per_s.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Returns N, the number of blocks. The last block is short or empty.
fn block_count(bytes: u64, block_size: u32) -> u64 {
    (bytes / u64::from(block_size.max(1))).saturating_add(1)
}

/// Returns (N - n) g + n (s + c0) + N k, ns.
fn steady(blocks: u64, turns: u64, gap_ns: f64, server_ns: f64, client: ClientTurn) -> f64 {
    let (blocks, turns) = (blocks as f64, turns as f64);
    (blocks - turns).max(0.0) * gap_ns + turns * (server_ns + client.fixed_ns) + blocks * client.per_block_ns
}

/// Fits the model to a transfer; `None` if it is incomplete or too short.
pub(super) fn fit(transfer: &Transfer, firmware: bool, bits_per_s: u64) -> Option<FittedTransfer> {
    let is_complete_download =
        !transfer.write && !transfer.started_before_capture && transfer.counts.missing_blocks == 0;
    if !is_complete_download || transfer.outcome != Outcome::Complete || transfer.counts.blocks < MIN_BLOCKS {
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
    let repeats_ns = loss_events.saturating_sub(transfer.timeout_count) as f64
        * repeat_ns(mean, gap_ns as f64, (server_ns + client_ns) as f64);
    let losses_ns = transfer.timeout_ns.saturating_add(repeats_ns as i64);
    // Captured frames do not include checksum, preamble and interframe gap.
    let wire_ns = transmission_ns(counts.wire_bytes + 24 * counts.frames, bits_per_s);
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
        fit_error_percent: None,
        fitted_block_sizes: Vec::new(),
        pace_variation_percent: None,
        turn_error_percent: 0.0,
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
    let mut samples: Vec<TurnSample> = transfer
        .turnarounds_by_window
        .iter()
        .filter(|turns| turns.turn.count >= MIN_TURNS)
        .filter_map(|turns| {
            let ns = turns.turn.usual_ns? as f64;
            let variation = turns.variation_percent.map(|percent| percent / 100.0);
            Some(TurnSample { window: turns.blocks, block_size, count: turns.turn.count, ns, variation })
        })
        .collect();
    let window = (mean.round() as u32).max(1);
    if samples.is_empty() {
        samples.push(TurnSample { window, block_size, count: turns, ns: client_ns as f64, variation: None });
    }
    Some(FittedTransfer {
        model,
        bytes: counts.bytes,
        ipv6,
        block_size,
        window,
        timeout_ns,
        bits_per_s,
        round_trip_at_most_ns: 0.0,
        turns: samples,
        pace: Rc::default(),
        firmware,
    })
}

/// Returns the cost of resending the remainder of a window, on average half of the window, plus a turn.
fn repeat_ns(window: f64, gap_ns: f64, turn_ns: f64) -> f64 {
    (window - 1.0).max(0.0) / 2.0 * gap_ns + turn_ns
}

/// Separates c0 and k, separately for firmware and loaders, if there are windows of different sizes.
pub(super) fn fit_together(fitted: &mut [FittedTransfer], round_trip_at_most_ns: Option<i64>) {
    for firmware in [true, false] {
        let turns: Vec<TurnSample> = fitted
            .iter()
            .filter(|transfer| transfer.firmware == firmware)
            .flat_map(|transfer| transfer.turns.iter().copied())
            .collect();
        let fit = client_turn(&turns);
        let pace = Rc::new(Pace::new(&turns));
        for transfer in fitted.iter_mut().filter(|transfer| transfer.firmware == firmware) {
            transfer.round_trip_at_most_ns = round_trip_at_most_ns.unwrap_or(0).max(0) as f64;
            transfer.pace = Rc::clone(&pace);
            transfer.model.pace_variation_percent = pace.variation.map(|share| share * 100.0);
            transfer.model.turn_error_percent = pace.client.first().map_or(0.0, |(_, band)| band.error * 100.0);
            if let Some(FittedTurn { turn, windows, block_sizes, error }) = &fit {
                transfer.model.fit_error_percent = Some(error * 100.0);
                transfer.model.per_acknowledgment = *turn;
                transfer.model.per_block = *turn;
                transfer.model.fitted = true;
                transfer.model.fitted_windows.clone_from(windows);
                transfer.model.fitted_block_sizes.clone_from(block_sizes);
            }
        }
    }
}

/// c0 and k with the windows and block sizes that they were fitted to.
#[derive(Clone, Debug, PartialEq)]
struct FittedTurn {
    turn: ClientTurn,
    windows: Vec<u32>,
    /// Empty if the cost per byte was not separated.
    block_sizes: Vec<u32>,
    /// Largest relative difference between a fitted and a measured turn.
    error: f64,
}

/// Fits c0 and k by least squares of relative errors, counting each pair of window and block size once; `None` if the
/// windows are too similar.
#[must_use]
fn client_turn(turns: &[TurnSample]) -> Option<FittedTurn> {
    let pairs = averaged(turns);
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
    let sizes_differ = u64::from(largest) * 100 >= u64::from(smallest) * u64::from(100 + MIN_SIZE_DIFFERENCE_PERCENT);
    let separates_bytes = sizes_differ && pairs.len() >= MIN_PAIRS;
    // Choose the set of non-negative parts with the smallest residual.
    let sets: &[[bool; 3]] = if separates_bytes { &PARTS } else { &PARTS[4..] };
    let ([fixed_ns, per_block_ns, per_byte_ns], error) = best_fit(&pairs, sets)?;
    if !separates_bytes {
        block_sizes.clear();
    }
    Some(FittedTurn { turn: ClientTurn { fixed_ns, per_block_ns, per_byte_ns }, windows, block_sizes, error })
}

/// Averages the turns of each pair of window and block size.
fn averaged(turns: &[TurnSample]) -> Vec<TurnSample> {
    let mut samples: Vec<TurnSample> = turns.iter().copied().filter(|turn| turn.ns > 0.0).collect();
    samples.sort_by_key(|turn| (turn.window, turn.block_size));
    samples
        .chunk_by(|a, b| (a.window, a.block_size) == (b.window, b.block_size))
        .filter_map(|chunk| {
            let count: u64 = chunk.iter().map(|turn| turn.count).sum();
            let sum: f64 = chunk.iter().map(|turn| turn.count as f64 * turn.ns).sum();
            Some(TurnSample { count, ns: sum / count.max(1) as f64, ..*chunk.first()? })
        })
        .filter(|turn| turn.ns > 0.0)
        .collect()
}

/// Returns the parts of the set with the smallest residual, and their largest relative difference to a turn.
fn best_fit(pairs: &[TurnSample], sets: &[[bool; 3]]) -> Option<([f64; 3], f64)> {
    let mut best: Option<(f64, [f64; 3])> = None;
    for set in sets {
        let Some(parts) = least_squares(pairs, *set) else { continue };
        let residual = pairs.iter().map(|turn| (1.0 - dot(features(turn), parts) / turn.ns).powi(2)).sum::<f64>();
        if best.is_none_or(|(smallest, _)| residual < smallest * (1.0 - 1e-9)) {
            best = Some((residual, parts));
        }
    }
    let (_, parts) = best?;
    let difference = |turn: &TurnSample| {
        let ratio = dot(features(turn), parts) / turn.ns;
        ratio.max(ratio.recip()) - 1.0
    };
    Some((parts, pairs.iter().map(difference).fold(0.0, f64::max)))
}

impl Pace {
    fn new(turns: &[TurnSample]) -> Self {
        let variances: Vec<f64> = turns.iter().filter_map(|turn| Some(turn.variation?.powi(2))).collect();
        let variation =
            (!variances.is_empty()).then(|| (variances.iter().sum::<f64>() / variances.len() as f64).sqrt());
        let min_error = MIN_ERROR.max(ERRORS_PER_VARIATION * variation.unwrap_or(UNKNOWN_VARIATION));
        let turns = averaged(turns);
        let mut bands: Vec<(Growth, TurnBand)> = [Growth::Blocks, Growth::Bytes]
            .into_iter()
            .filter_map(|growth| Some((growth, band(&turns, growth, min_error)?)))
            .collect();
        // With several block sizes, the turns may show that they do not grow in one of the ways.
        bands.sort_by(|(_, a), (_, b)| a.error.total_cmp(&b.error));
        if let [(_, better), (_, worse)] = bands.as_slice()
            && worse.error > better.error * MAX_ERROR_RATIO
        {
            bands.truncate(1);
        }
        Self { client: bands, variation }
    }
}

/// Returns the band of turns with at least `min_error`, and more if no line comes close to all of them.
fn band(turns: &[TurnSample], growth: Growth, min_error: f64) -> Option<TurnBand> {
    let sets = match growth {
        Growth::Blocks => &[[true, true, false], [true, false, false], [false, true, false]],
        Growth::Bytes => &[[true, false, true], [true, false, false], [false, false, true]],
    };
    // A single window fits exactly.
    let residual = best_fit(turns, sets).map_or(0.0, |(_, error)| error);
    TurnBand::new(turns, growth, min_error.max(ERRORS_PER_RESIDUAL * residual))
}

/// Combinations of c0, part per block and part per byte. Combinations without the last part come last.
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

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Fits the parts in `set` by least squares of relative errors; the other parts are zero. `None` if the parts cannot be
/// separated or one is negative.
fn least_squares(turns: &[TurnSample], set: [bool; 3]) -> Option<[f64; 3]> {
    // Normal equations with rows scaled by the measured turn; an excluded column has only its diagonal.
    let mut equations = [[0.0_f64; 4]; 3];
    for turn in turns {
        let row = features(turn).map(|feature| feature / turn.ns);
        for (row_index, equation) in equations.iter_mut().enumerate().filter(|&(row_index, _)| set[row_index]) {
            for (column, cell) in equation.iter_mut().take(3).enumerate().filter(|&(column, _)| set[column]) {
                *cell += row[row_index] * row[column];
            }
            equation[3] += row[row_index];
        }
    }
    for (row_index, equation) in equations.iter_mut().enumerate().filter(|&(row_index, _)| !set[row_index]) {
        equation[row_index] = 1.0;
    }
    let scale = [0, 1, 2].map(|row_index| equations[row_index][row_index]);
    for row_index in 0..3 {
        let pivot = equations[row_index];
        if pivot[row_index] <= scale[row_index] * 1e-9 {
            return None;
        }
        for (_, equation) in equations.iter_mut().enumerate().filter(|&(other_index, _)| other_index != row_index) {
            let factor = equation[row_index] / pivot[row_index];
            for (cell, pivot) in equation.iter_mut().zip(pivot) {
                *cell -= factor * pivot;
            }
        }
    }
    let parts = [0, 1, 2].map(|row_index| equations[row_index][3] / equations[row_index][row_index]);
    parts.iter().all(|part| part.is_finite() && *part >= 0.0).then_some(parts)
}

/// Returns the time from the request to the first block, without timeouts, in ns.
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

/// Returns the block sizes of the prediction table: the largest without fragments is 1468 with IPv4 and 1448 with IPv6.
fn block_sizes(ipv6: bool) -> &'static [u32] {
    if ipv6 { &[512, 1024, 1448] } else { &[512, 1024, 1456, 1468] }
}

/// Predicts the total of the fitted transfers for each window and block size.
pub(super) fn predict(fitted: &[FittedTransfer]) -> Vec<Prediction> {
    let Some(first) = fitted.first() else { return Vec::new() };
    let size_settings = |window| block_sizes(first.ipv6).iter().map(move |&size| (window, size));
    let table = WINDOWS.into_iter().flat_map(size_settings);
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
    for transfer in fitted {
        let (shortest, longest, losses) = transfer.predicted_ns(settings);
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
        let is_unchanged = window == self.window && block_size == self.block_size;
        let blocks = block_count(self.bytes, block_size);
        // With unchanged settings, keep the captured number of turns, because a variable window does not determine it.
        let turns = if is_unchanged { model.turns } else { blocks.div_ceil(u64::from(window)) };
        let (fewest_losses_ns, losses_ns) = self.losses_ns(settings, window, blocks);
        if is_unchanged && settings.round_trip_ns.is_none() && settings.loss.is_none() {
            return (model.measured_ns, model.measured_ns, losses_ns.round() as i64);
        }
        // What the model does not explain stays as measured.
        let rest_ns = model.measured_ns as f64 - model.steady_ns as f64 - model.losses_ns as f64;
        let [shortest_gap_ns, longest_gap_ns] = self.gap_range(block_size);
        let [shortest_turn_ns, longest_turn_ns] = self.turn_range(window, block_size);
        let [less_ns, more_ns] = self.round_trip_change(settings);
        let (gaps, turns) = (blocks.saturating_sub(turns) as f64, turns as f64);
        let end_ns = |gap_ns: f64, turn_ns: f64, losses_ns: f64| {
            let new_ns = gaps * gap_ns + turns * turn_ns;
            (new_ns + losses_ns + rest_ns.max(-0.5 * new_ns)).max(0.0)
        };
        let shortest = end_ns(shortest_gap_ns, (shortest_turn_ns + less_ns).max(0.0), fewest_losses_ns);
        let longest = end_ns(longest_gap_ns, longest_turn_ns + more_ns, losses_ns);
        // Casts of floats saturate.
        (shortest.round() as i64, longest.round() as i64, losses_ns.round() as i64)
    }

    /// Returns the range of the time between blocks of another size, ns. Each turn includes one block; the others follow
    /// at the speed of the link or of the server.
    fn gap_range(&self, block_size: u32) -> [f64; 2] {
        let wire_ns = self::wire_ns(block_size, self.ipv6, self.bits_per_s) as f64;
        let captured_wire_ns = self::wire_ns(self.block_size, self.ipv6, self.bits_per_s).max(1) as f64;
        let [a, b] = if self.model.gap_measured {
            let gap_ns = self.model.gap_ns as f64;
            [gap_ns, gap_ns * wire_ns / captured_wire_ns]
        } else {
            [wire_ns; 2]
        };
        let factor = 1.0 + self.model.turn_error_percent / 100.0;
        [a.min(b) / factor, a.max(b) * factor]
    }

    /// Returns the range of a turn of server and client, ns.
    fn turn_range(&self, window: u32, block_size: u32) -> [f64; 2] {
        let (blocks, captured_blocks) = (f64::from(window), f64::from(self.window));
        let error = 1.0 + self.model.turn_error_percent / 100.0;
        let server_ns = self.model.server_ns as f64;
        let growth = SERVER_GROWTH_PER_DOUBLING.powf((blocks / captured_blocks.max(1.0)).log2());
        let server = [server_ns * growth.min(1.0) / error, server_ns * growth.max(1.0) * error];
        // The client's stack handles each fragment as a packet.
        let frames = frame_count(block_size, self.ipv6) as f64 / frame_count(self.block_size, self.ipv6) as f64;
        let client = self.pace.client.iter().flat_map(|(growth, band)| {
            let x = growth.x(blocks, block_size);
            let fragments_x = if frames > 1.0 { growth.x(blocks, self.block_size) * frames } else { x };
            [band.turn_ns(x), band.turn_ns(fragments_x)]
        });
        let client = client.reduce(|[low, high], [shortest, longest]| [low.min(shortest), high.max(longest)]);
        let client_ns = (self.model.turn_ns - self.model.server_ns) as f64;
        let [shortest, longest] = client.unwrap_or([client_ns; 2]);
        [server[0] + shortest, server[1] + longest]
    }

    /// Returns the range by which a turn changes with another round trip, in ns. The captured round trip is between
    /// zero and its bound.
    fn round_trip_change(&self, settings: &Settings) -> [f64; 2] {
        match settings.round_trip_ns {
            None => [0.0; 2],
            Some(ns) => {
                let captured_max_ns = self.round_trip_at_most_ns.min(self.model.turn_ns as f64);
                let growth_ns = MAX_TURN_PER_ROUND_TRIP * (ns as f64 - captured_max_ns).max(0.0);
                [ns as f64 - captured_max_ns, ns as f64 + growth_ns]
            }
        }
    }

    /// Returns the range of the cost of losses, in ns, at the captured or given loss rate. The captured cost per loss is
    /// adjusted for the window. At a given rate, the lost blocks may all be inside their windows, where the client
    /// requests the rest at once, or all be the last of a window, which costs a timeout each.
    fn losses_ns(&self, settings: &Settings, window: u32, blocks: u64) -> (f64, f64) {
        let model = &self.model;
        let share = model.loss_events as f64 / model.blocks.max(1) as f64;
        let lost_blocks = settings.loss.unwrap_or(share) * blocks as f64;
        if lost_blocks <= 0.0 {
            return (0.0, 0.0);
        }
        if settings.loss.is_none() {
            // Scale the captured cost per loss.
            let captured_window_cost_ns = self.loss_ns(self.window);
            let per_loss_ns = model.losses_ns as f64 / model.loss_events.max(1) as f64;
            let cost_ns = lost_blocks * per_loss_ns * self.loss_ns(window) / captured_window_cost_ns.max(1.0);
            return (cost_ns, cost_ns);
        }
        let resend_ns = repeat_ns(f64::from(window), model.gap_ns as f64, model.turn_ns as f64);
        let shortest_timeout_ns = self.timeout_ns.min(MIN_TIMEOUT_NS);
        // In windows of one block, each is the last.
        let least_ns = if window <= 1 { shortest_timeout_ns.max(resend_ns) } else { resend_ns };
        (lost_blocks * least_ns, lost_blocks * self.timeout_ns.max(resend_ns))
    }

    /// Returns the expected cost of a lost block, in ns. The rest of its window is resent; the last block of a window
    /// costs a timeout.
    fn loss_ns(&self, window: u32) -> f64 {
        let window = f64::from(window.max(1));
        let resend_ns = repeat_ns(window, self.model.gap_ns as f64, self.model.turn_ns as f64);
        let last_block_share = 1.0 / window;
        (1.0 - last_block_share) * resend_ns + last_block_share * self.timeout_ns.max(resend_ns)
    }
}

pub(super) fn percent(part: i64, total: i64) -> f64 {
    if total <= 0 { 0.0 } else { part as f64 * 100.0 / total as f64 }
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
