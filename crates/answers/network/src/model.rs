//! The latency model: what a transfer takes, and what it would take with other settings.
//!
//! A server that may have W blocks under way sends them one after the other, g apart, and waits for the acknowledgment. The
//! client's turn grows with the window: firmware handles block after block, so it takes c0 + k W. With s for the server's turn
//! and n acknowledgments for N blocks:
//!
//! T = (N - n) g + n (s + c0) + N k, with N = floor(size / B) + 1 and n = ceil(N / W).
//!
//! c0 and k come from all windows that the same program of the client was seen with in the capture. With one window they cannot
//! be told apart: then the answer is a range, from all of the turn per acknowledgment (c0) to all of it per block (k). Where it
//! was seen with several block sizes as well, k is a part for each block and a part for each byte; with one size, whether
//! handling grows with the bytes is not known, and a prediction for another size is a range too. A block that IP has to cut into
//! fragments may cost the client as much as so many blocks.

use onoff_netboot::transfer::{Outcome, Transfer};
use serde::Serialize;

/// Fewer blocks than this tell nothing.
const MIN_BLOCKS: u64 = 64;
/// Fewer turns after windows of one length tell nothing of that length.
const MIN_TURNS: u64 = 8;
/// Windows this many times apart tell c0 and k apart.
const APART: u32 = 2;
/// Block sizes this many percent apart, and at least so many pairs of window and size, tell a block's bytes from the block.
const SIZES_APART_PERCENT: u32 = 25;
const MIN_PAIRS: usize = 4;
/// Windows that are predicted.
pub const WINDOWS: [u32; 7] = [1, 4, 8, 16, 32, 50, 64];
/// Bytes on the wire around an IP packet: Ethernet header and checksum, preamble and gap.
const AROUND_A_FRAME: u64 = 14 + 4 + 8 + 12;
const UDP_AND_TFTP_HEADERS: u64 = 8 + 4;
/// The largest IP packet of Ethernet, bytes.
const MAX_PACKET_SIZE: u64 = 1_500;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
const IPV6_FRAGMENT_HEADER: u64 = 8;
/// What a client waits for a block where no time-out was seen, ns: EDK II's 4 s.
const TIMEOUT_NS: f64 = 4e9;

/// The client's turn: `fixed_ns` for each acknowledgment, `per_block_ns` for each block and `per_byte_ns` for each of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientTurn {
    /// c0, ns for each acknowledgment.
    pub fixed_ns: f64,
    /// k, ns for each block; the part that does not grow with its bytes, where that was told apart.
    pub per_block_ns: f64,
    /// ns for each byte of a block; zero unless several block sizes were seen.
    pub per_byte_ns: f64,
}

impl ClientTurn {
    /// What a block of `bytes` costs, ns.
    #[must_use]
    pub fn of_block(&self, bytes: u32) -> f64 {
        self.per_block_ns + self.per_byte_ns * f64::from(bytes)
    }

    /// All of it for blocks of one size, k in one number.
    fn with_block(&self, per_block_ns: f64) -> Self {
        Self { fixed_ns: self.fixed_ns, per_block_ns, per_byte_ns: 0.0 }
    }
}

/// A transfer's model, and what it was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyModel {
    /// N, blocks.
    pub blocks: u64,
    /// n, turns taken: acknowledgments that went on; ceil(N / W) when none was lost.
    pub turns: u64,
    /// g, ns from one block of a window to the next: the median; zero with windows of one block, where turns hold it.
    pub gap_ns: i64,
    /// Whether `gap_ns` was measured; otherwise predictions take it from the link's speed.
    pub gap_measured: bool,
    /// s + c, ns: the usual turns of server and client, pauses left out.
    pub turn_ns: i64,
    /// s, ns: the server's usual turn.
    pub server_ns: i64,
    /// The client's turn, when all of it is taken for each acknowledgment; with `fitted`, the fitted one.
    pub per_acknowledgment: ClientTurn,
    /// The client's turn, when all of it is taken for each block; with `fitted`, the fitted one.
    pub per_block: ClientTurn,
    /// Whether c0 and k were separated, by transfers with several windows.
    pub fitted: bool,
    /// The windows that c0 and k were fitted to.
    pub fitted_windows: Vec<u32>,
    /// The block sizes that `per_byte_ns` was fitted to; empty when it was not.
    pub fitted_block_sizes: Vec<u32>,
    /// (N - n) g + n (s + c), ns.
    pub steady_ns: i64,
    /// That with set-up and time-outs as seen, ns.
    pub model_ns: i64,
    /// What was measured, from request to end, ns.
    pub measured_ns: i64,
    /// Measured less model, ns: what latency, windows and time-outs do not explain.
    pub unexplained_ns: i64,
    /// The part of it that pauses are, turns or gaps far longer than the others, ns.
    pub pauses_ns: i64,
    /// Losses: time-outs, and windows that the client had sent again from a lost block on.
    pub loss_events: u64,
    /// What they took, ns.
    pub losses_ns: i64,
    /// What all frames take on the wire, ns.
    pub wire_ns: i64,
    /// That in percent of what was measured.
    pub wire_percent: f64,
}

/// Settings to predict for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settings {
    /// Blocks per acknowledgment; `None` keeps what was.
    pub window: Option<u32>,
    /// Bytes per block; `None` keeps what was.
    pub block_size: Option<u32>,
    /// Round trip of the network, ns; `None` keeps what was.
    pub round_trip_ns: Option<i64>,
    /// Share of the blocks that are lost, 0 to 1; `None` keeps what was.
    pub loss: Option<f64>,
}

/// What the modeled transfers of a boot would take with other settings, pauses and everything else as measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prediction {
    /// Blocks per acknowledgment; `None` when each transfer keeps its own.
    pub window: Option<u32>,
    /// Bytes per block; `None` when each transfer keeps its own.
    pub block_size: Option<u32>,
    /// At least, ns.
    pub shortest_ns: i64,
    /// At most, ns; the same as `shortest_ns` when the capture tells c0 and k apart.
    pub longest_ns: i64,
    /// What losses are of it, ns; zero when none was seen or asked about.
    pub losses_ns: i64,
}

/// A transfer that the model was fitted to, and what predictions need of it.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    pub(super) model: LatencyModel,
    bytes: u64,
    ipv6: bool,
    block_size: u32,
    window: u32,
    timeout_ns: f64,
    bits_per_s: u64,
    round_trip_at_most_ns: f64,
    /// Client turns by window.
    turns: Vec<SeenTurn>,
    /// Whether the firmware's own client loaded it; loaders have theirs.
    firmware: bool,
}

/// The client's usual turn after windows of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SeenTurn {
    /// Blocks of the window.
    window: u32,
    /// Bytes of a block.
    block_size: u32,
    /// Turns.
    count: u64,
    /// The usual one, ns.
    ns: f64,
}

/// Frames that a block of `bytes` goes in: IP cuts what does not fit into 1,500 bytes.
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

/// What a block of `bytes` takes on the wire, with everything around it, ns.
#[must_use]
pub fn wire_ns(bytes: u32, ipv6: bool, bits_per_s: u64) -> i64 {
    let header = if ipv6 { IPV6_HEADER } else { IPV4_HEADER };
    let frames = frames_of(bytes, ipv6);
    let fragment = if ipv6 && frames > 1 { IPV6_FRAGMENT_HEADER } else { 0 };
    let around = frames * (AROUND_A_FRAME + header + fragment) + UDP_AND_TFTP_HEADERS;
    on_the_wire(u64::from(bytes) + around, bits_per_s)
}

fn on_the_wire(bytes: u64, bits_per_s: u64) -> i64 {
    let ns = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(bits_per_s.max(1));
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// N: the last block is short, or empty.
fn blocks_of(bytes: u64, block_size: u32) -> u64 {
    (bytes / u64::from(block_size.max(1))).saturating_add(1)
}

/// (N - n) g + n (s + c0) + N k, ns.
fn steady(blocks: u64, turns: u64, gap_ns: f64, server_ns: f64, client: ClientTurn) -> f64 {
    let (blocks, turns) = (blocks as f64, turns as f64);
    (blocks - turns).max(0.0) * gap_ns + turns * (server_ns + client.fixed_ns) + blocks * client.per_block_ns
}

/// Fits the model to a transfer; `None` when it is not complete, or too short to tell.
pub(super) fn fit(transfer: &Transfer, firmware: bool, bits_per_s: u64) -> Option<Fitted> {
    let whole = !transfer.write && !transfer.under_way && transfer.counts.missing_blocks == 0;
    if !whole || transfer.outcome != Outcome::Complete || transfer.counts.blocks < MIN_BLOCKS {
        return None;
    }
    let end_ns = transfer.complete_ns?;
    let measured_ns = end_ns.saturating_sub(transfer.request_ns);
    let ipv6 = transfer.client.is_ipv6();
    let counts = &transfer.counts;
    let (server_ns, client_ns) = (transfer.server_turn.usual_ns?, transfer.client_turn.usual_ns?);
    let measured_gap = transfer.gap.median_ns.filter(|_| transfer.gap.count >= 16);
    let gap_ns = measured_gap.unwrap_or(0);
    let turns = transfer.server_turn.count.max(transfer.client_turn.count).max(1);
    let mean = counts.blocks as f64 / turns as f64;
    let setup_ns = setup(transfer);
    let per_acknowledgment = ClientTurn { fixed_ns: client_ns as f64, ..ClientTurn::default() };
    let per_block = ClientTurn { per_block_ns: client_ns as f64 / mean.max(1.0), ..ClientTurn::default() };
    let steady_ns = steady(counts.blocks, turns, gap_ns as f64, server_ns as f64, per_acknowledgment) as i64;
    let pauses_ns = [&transfer.server_turn, &transfer.client_turn, &transfer.gap]
        .iter()
        .fold(0_i64, |sum, turns| sum.saturating_add(turns.pause_ns));
    let model_ns = [setup_ns, steady_ns, transfer.timeout_ns].into_iter().fold(0_i64, i64::saturating_add);
    // A rollback may follow a time-out; each loss is counted once.
    let loss_events = counts.rollbacks.max(transfer.timeout_count);
    let again = loss_events.saturating_sub(transfer.timeout_count) as f64
        * repeat_ns(mean, gap_ns as f64, (server_ns + client_ns) as f64);
    let losses_ns = transfer.timeout_ns.saturating_add(again as i64);
    // Checksum, preamble and gap come on top of what is captured.
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
    Some(Fitted {
        model,
        bytes: counts.bytes,
        ipv6,
        block_size,
        window: (mean.round() as u32).max(1),
        timeout_ns,
        bits_per_s,
        round_trip_at_most_ns: 0.0,
        turns: transfer
            .turns_by_window
            .iter()
            .filter(|turns| turns.turn.count >= MIN_TURNS)
            .filter_map(|turns| {
                let ns = turns.turn.usual_ns? as f64;
                Some(SeenTurn { window: turns.blocks, block_size, count: turns.turn.count, ns })
            })
            .collect(),
        firmware,
    })
}

/// The rest of a window again, on average half of it, and a turn.
fn repeat_ns(window: f64, gap_ns: f64, turn_ns: f64) -> f64 {
    (window - 1.0).max(0.0) / 2.0 * gap_ns + turn_ns
}

/// Tells c0 and k apart, for the firmware's transfers and the loaders' each, where windows of different lengths allow it.
pub(super) fn fit_together(fitted: &mut [Fitted], round_trip_at_most_ns: Option<i64>) {
    for firmware in [true, false] {
        let turns: Vec<SeenTurn> =
            fitted.iter().filter(|one| one.firmware == firmware).flat_map(|one| one.turns.iter().copied()).collect();
        let together = client_turn(&turns);
        for one in fitted.iter_mut().filter(|one| one.firmware == firmware) {
            one.round_trip_at_most_ns = round_trip_at_most_ns.unwrap_or(0).max(0) as f64;
            if let Some(FittedTurn { turn, windows, block_sizes }) = &together {
                one.model.per_acknowledgment = *turn;
                one.model.per_block = *turn;
                one.model.fitted = true;
                one.model.fitted_windows.clone_from(windows);
                one.model.fitted_block_sizes.clone_from(block_sizes);
            }
        }
    }
}

/// c0 and k, and what they were fitted to.
#[derive(Clone, Debug, PartialEq)]
struct FittedTurn {
    turn: ClientTurn,
    windows: Vec<u32>,
    /// Empty when a block's bytes were not told from the block.
    block_sizes: Vec<u32>,
}

/// c0 and k by least squares of relative errors, each pair of window and block size counting once; `None` when the windows are too
/// alike.
#[must_use]
fn client_turn(turns: &[SeenTurn]) -> Option<FittedTurn> {
    let mut seen: Vec<SeenTurn> = turns.iter().copied().filter(|turn| turn.ns > 0.0).collect();
    seen.sort_by_key(|turn| (turn.window, turn.block_size));
    // One of each pair, its turns averaged.
    let pairs: Vec<SeenTurn> = seen
        .chunk_by(|one, other| (one.window, one.block_size) == (other.window, other.block_size))
        .filter_map(|same| {
            let count: u64 = same.iter().map(|turn| turn.count).sum();
            let sum: f64 = same.iter().map(|turn| turn.count as f64 * turn.ns).sum();
            Some(SeenTurn { count, ns: sum / count.max(1) as f64, ..*same.first()? })
        })
        .filter(|turn| turn.ns > 0.0)
        .collect();
    let mut windows: Vec<u32> = pairs.iter().map(|turn| turn.window).collect();
    windows.dedup();
    let (least, most) = (*windows.first()?, *windows.last()?);
    if most < least.saturating_mul(APART) {
        return None;
    }
    let mut block_sizes: Vec<u32> = pairs.iter().map(|turn| turn.block_size).collect();
    block_sizes.sort();
    block_sizes.dedup();
    let (smallest, largest) = (*block_sizes.first()?, *block_sizes.last()?);
    let apart = u64::from(largest) * 100 >= u64::from(smallest) * u64::from(100 + SIZES_APART_PERCENT);
    let by_bytes = apart && pairs.len() >= MIN_PAIRS;
    // Of what does not come out below zero, what leaves least.
    let sets: &[[bool; 3]] = if by_bytes { &PARTS } else { &PARTS[4..] };
    let mut best: Option<(f64, [f64; 3])> = None;
    for set in sets {
        let Some(parts) = least_squares(&pairs, *set) else { continue };
        let left = pairs.iter().map(|turn| (1.0 - dot(features(turn), parts) / turn.ns).powi(2)).sum::<f64>();
        if best.is_none_or(|(least, _)| left < least * (1.0 - 1e-9)) {
            best = Some((left, parts));
        }
    }
    let (_, [fixed_ns, per_block_ns, per_byte_ns]) = best?;
    if !by_bytes {
        block_sizes.clear();
    }
    Some(FittedTurn { turn: ClientTurn { fixed_ns, per_block_ns, per_byte_ns }, windows, block_sizes })
}

/// Which of c0, the part for each block and the part for each byte a fit has; those without the last part come last.
const PARTS: [[bool; 3]; 7] = [
    [true, true, true],
    [true, false, true],
    [false, true, true],
    [false, false, true],
    [true, true, false],
    [true, false, false],
    [false, true, false],
];

fn features(turn: &SeenTurn) -> [f64; 3] {
    let window = f64::from(turn.window);
    [1.0, window, window * f64::from(turn.block_size)]
}

fn dot(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// The parts in `set` with the least squares of relative errors, the others zero; `None` when they cannot be told apart or one
/// is below zero.
fn least_squares(turns: &[SeenTurn], set: [bool; 3]) -> Option<[f64; 3]> {
    // The normal equations, of rows that are scaled by the measured turn; a column left out has only its diagonal.
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

/// From the request to the first block, time-outs in it left out, ns.
pub(super) fn setup(transfer: &Transfer) -> i64 {
    let Some(first_ns) = transfer.first_data_ns else { return 0 };
    // The server's turn after the acknowledgment of the granted options is one of its turns, and counts as such.
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

/// Block sizes that are predicted: the largest without fragments is 1468 with IPv4 and 1448 with IPv6.
fn block_sizes(ipv6: bool) -> &'static [u32] {
    if ipv6 { &[512, 1024, 1448] } else { &[512, 1024, 1456, 1468] }
}

/// What the fitted transfers together would take with each window and block size.
pub(super) fn predict(fitted: &[Fitted]) -> Vec<Prediction> {
    let Some(first) = fitted.first() else { return Vec::new() };
    let each = |window| block_sizes(first.ipv6).iter().map(move |&size| (window, size));
    let table = WINDOWS.into_iter().flat_map(each);
    table
        .map(|(window, size)| {
            let settings = Settings { window: Some(window), block_size: Some(size), ..Settings::default() };
            together(fitted, &settings)
        })
        .collect()
}

/// What the fitted transfers together would take with other settings.
pub(super) fn together(fitted: &[Fitted], settings: &Settings) -> Prediction {
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

impl Fitted {
    /// What it would take with other settings: at least, at most, and the losses in that, ns.
    pub(super) fn predicted_ns(&self, settings: &Settings) -> (i64, i64, i64) {
        let model = &self.model;
        let window = settings.window.unwrap_or(self.window).max(1);
        let block_size = settings.block_size.unwrap_or(self.block_size).max(1);
        let same = window == self.window && block_size == self.block_size;
        let blocks = blocks_of(self.bytes, block_size);
        // As many turns as there were, when nothing changes them: a window that varies has its own number.
        let turns = if same { model.turns } else { blocks.div_ceil(u64::from(window)) };
        let own_gap = model.gap_ns as f64;
        // One block's arrival is in each turn; blocks of a window follow as fast as the link carries them, or as the server sends.
        let wire = wire_ns(block_size, self.ipv6, self.bits_per_s) as f64;
        let own_wire = wire_ns(self.block_size, self.ipv6, self.bits_per_s) as f64;
        let gaps = if model.gap_measured { [own_gap, own_gap * wire / own_wire.max(1.0)] } else { [wire; 2] };
        let server = model.server_ns as f64;
        let losses = self.losses_ns(settings, window, blocks);
        let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
        for client in [model.per_acknowledgment, model.per_block] {
            let own_block = client.of_block(self.block_size);
            // What was, by the same turns: what it leaves of the measurement stays as it is.
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
        // Floats beyond the range of i64 become its largest.
        (shortest.round() as i64, longest.round() as i64, losses.round() as i64)
    }

    /// What a block of another size may cost the client, ns: least, and most.
    fn block_costs(&self, client: ClientTurn, block_size: u32) -> [f64; 2] {
        let own = client.of_block(self.block_size);
        let (least, most) = if self.model.fitted_block_sizes.is_empty() {
            // A block's handling may take as long whatever its size, or grow with it.
            let grown = own * f64::from(block_size) / f64::from(self.block_size.max(1));
            (own.min(grown), own.max(grown))
        } else {
            let cost = client.of_block(block_size);
            (cost, cost)
        };
        let (frames, own_frames) = (frames_of(block_size, self.ipv6), frames_of(self.block_size, self.ipv6));
        // Each fragment is a packet that the client's stack takes in.
        if frames > own_frames {
            (least, most.max(own * frames as f64 / own_frames as f64)).into()
        } else {
            [least, most]
        }
    }

    /// What a turn takes more with another round trip: the one that was is between none and its bound, ns.
    fn round_trip_change(&self, settings: &Settings) -> [f64; 2] {
        match settings.round_trip_ns {
            None => [0.0; 2],
            Some(ns) => {
                let was = self.round_trip_at_most_ns.min(self.model.turn_ns as f64);
                [ns as f64 - was, ns as f64]
            }
        }
    }

    /// What losses cost, ns: as many of each block as were, or as asked about; each with the cost that it had, as far as the
    /// window changes it.
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
        // A loss of the settings as they were costs what it did.
        let was = self.loss_ns(self.window);
        lost * model.losses_ns as f64 / model.loss_events as f64 * each / was.max(1.0)
    }

    /// A lost block has the rest of its window sent again; the last of a window, which nothing follows, costs a time-out.
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
