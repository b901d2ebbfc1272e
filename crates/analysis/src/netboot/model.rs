//! The latency model: what a transfer takes, and what it would take with other settings.
//!
//! A server that may have W blocks under way sends them one after the other, g apart, and waits for the acknowledgment. The
//! client's turn grows with the window: firmware handles block after block, so it takes c0 + k W. With s for the server's turn
//! and n acknowledgments for N blocks:
//!
//! T = (N - n) g + n (s + c0) + N k, with N = floor(size / B) + 1 and n = ceil(N / W).
//!
//! c0 and k come from all windows that the same program of the client was seen with in the capture. With one window they cannot
//! be told apart: then the answer is a range, from all of the turn per acknowledgment (c0) to all of it per block (k).

use onoff_netboot::transfer::{Outcome, Transfer};
use serde::Serialize;

/// Fewer blocks than this tell nothing.
const FEWEST_BLOCKS: u64 = 64;
/// Fewer turns after windows of one length tell nothing of that length.
const FEWEST_TURNS: u64 = 8;
/// Windows this many times apart tell c0 and k apart.
const APART: u32 = 2;
/// Windows that are predicted.
pub const WINDOWS: [u32; 7] = [1, 4, 8, 16, 32, 50, 64];
/// Bytes on the wire around a block: Ethernet header and checksum, preamble and gap, UDP and TFTP headers.
const AROUND_A_BLOCK: u64 = 14 + 4 + 8 + 12 + 8 + 4;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
/// What a client waits for a block where no time-out was seen, ns: EDK II's 4 s.
const TIMEOUT_NS: f64 = 4e9;

/// The client's turn: `fixed_ns` for each acknowledgment and `per_block_ns` for each block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClientTurn {
    /// c0, ns for each acknowledgment.
    pub fixed_ns: f64,
    /// k, ns for each block.
    pub per_block_ns: f64,
}

impl ClientTurn {
    /// The turn after a window of `window` blocks, ns.
    #[must_use]
    pub fn after(&self, window: f64) -> f64 {
        self.fixed_ns + self.per_block_ns * window
    }
}

/// A transfer's model, and what it was fitted to.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Whether c0 and k were told apart, by transfers with several windows.
    pub fitted: bool,
    /// The windows that c0 and k were fitted to.
    pub fitted_windows: Vec<u32>,
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

/// What the modelled transfers of a boot would take with other settings, pauses and everything else as measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    /// Client turns by window: window, turns, usual turn in ns.
    turns: Vec<(u32, u64, f64)>,
    /// Whether the firmware's own client loaded it; loaders have theirs.
    firmware: bool,
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
    if !whole || transfer.outcome != Outcome::Complete || transfer.counts.blocks < FEWEST_BLOCKS {
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
    let per_acknowledgment = ClientTurn { fixed_ns: client_ns as f64, per_block_ns: 0.0 };
    let per_block = ClientTurn { fixed_ns: 0.0, per_block_ns: client_ns as f64 / mean.max(1.0) };
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
    Some(Fitted {
        model,
        bytes: counts.bytes,
        ipv6,
        block_size: block_size(transfer),
        window: (mean.round() as u32).max(1),
        timeout_ns,
        bits_per_s,
        round_trip_at_most_ns: 0.0,
        turns: transfer
            .turns_by_window
            .iter()
            .filter(|turns| turns.turn.count >= FEWEST_TURNS)
            .filter_map(|turns| Some((turns.blocks, turns.turn.count, turns.turn.usual_ns? as f64)))
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
        let turns: Vec<(u32, u64, f64)> =
            fitted.iter().filter(|one| one.firmware == firmware).flat_map(|one| one.turns.iter().copied()).collect();
        let together = client_turn(&turns);
        for one in fitted.iter_mut().filter(|one| one.firmware == firmware) {
            one.round_trip_at_most_ns = round_trip_at_most_ns.unwrap_or(0).max(0) as f64;
            if let Some((turn, windows)) = &together {
                one.model.per_acknowledgment = *turn;
                one.model.per_block = *turn;
                one.model.fitted = true;
                one.model.fitted_windows.clone_from(windows);
            }
        }
    }
}

/// c0 and k by least squares of relative errors, each window's length counting once; `None` when the windows are too alike.
#[must_use]
fn client_turn(turns: &[(u32, u64, f64)]) -> Option<(ClientTurn, Vec<u32>)> {
    let mut windows: Vec<u32> = turns.iter().filter(|(_, _, ns)| *ns > 0.0).map(|(window, ..)| *window).collect();
    windows.sort_unstable();
    windows.dedup();
    let (least, most) = (*windows.first()?, *windows.last()?);
    if most < least.saturating_mul(APART) {
        return None;
    }
    let (mut weight, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &window in &windows {
        let of: Vec<&(u32, u64, f64)> = turns.iter().filter(|(other, ..)| *other == window).collect();
        let count: f64 = of.iter().map(|(_, count, _)| *count as f64).sum();
        let mean = of.iter().map(|(_, count, ns)| *count as f64 * ns).sum::<f64>() / count.max(1.0);
        let (w, at) = (1.0 / (mean * mean), f64::from(window));
        weight += w;
        x += w * at;
        y += w * mean;
        xx += w * at * at;
        xy += w * at * mean;
    }
    let determinant = weight * xx - x * x;
    if determinant <= 0.0 {
        return None;
    }
    let slope = (weight * xy - x * y) / determinant;
    let turn = if slope < 0.0 {
        ClientTurn { fixed_ns: y / weight, per_block_ns: 0.0 }
    } else {
        let fixed = (y - slope * x) / weight;
        if fixed < 0.0 {
            ClientTurn { fixed_ns: 0.0, per_block_ns: xy / xx }
        } else {
            ClientTurn { fixed_ns: fixed, per_block_ns: slope }
        }
    };
    Some((turn, windows))
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
pub(super) fn predict(fitted: &[Fitted]) -> Vec<Prediction> {
    let Some(first) = fitted.first() else {
        return Vec::new();
    };
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
        // One block's arrival is in each turn; blocks of a window follow as fast as the link carries them.
        let gap_ns = if model.gap_measured { own_gap } else { wire_ns(block_size, self.ipv6, self.bits_per_s) as f64 };
        let server = model.server_ns as f64;
        let losses = self.losses_ns(settings, window, blocks);
        let scale = f64::from(block_size) / f64::from(self.block_size.max(1));
        let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
        for client in [model.per_acknowledgment, model.per_block] {
            // What was, by the same turns: what it leaves of the measurement stays as it is.
            let own = steady(model.blocks, model.turns, own_gap, server, client);
            let rest = model.measured_ns as f64 - own - model.losses_ns as f64;
            // A block's handling may take as long whatever its size, or grow with it.
            for per_block_ns in [client.per_block_ns, client.per_block_ns * scale] {
                let client = ClientTurn { per_block_ns, ..client };
                let new = steady(blocks, turns, gap_ns, server, client);
                for round_trip in self.round_trip_change(settings) {
                    let took = (new + turns as f64 * round_trip + losses + rest.max(-0.5 * new)).max(0.0);
                    shortest = shortest.min(took);
                    longest = longest.max(took);
                }
            }
        }
        // Floats beyond the range of i64 become its largest.
        (shortest.round() as i64, longest.round() as i64, losses.round() as i64)
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
