//! Divides the time of a boot among client, server, network and waiting for timeouts.

use onoff_netboot::transfer::Outcome;
use onoff_trace::Duration;

use super::dhcp::DhcpExchange;
use super::http::Download;
use super::model::percent;
use super::report::{BlamePart, BootBlame, FileTransfer, Stage, StageKind};
use super::round_trip::NetworkShare;

/// The time of one dialogue, transfer or download by who spent it, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    client: i64,
    server: i64,
    network: i64,
    timeouts: i64,
}

impl Shares {
    fn sum(&self) -> i64 {
        [self.client, self.server, self.network, self.timeouts].into_iter().fold(0, i64::saturating_add)
    }

    fn add(&mut self, other: Self) {
        self.client = self.client.saturating_add(other.client);
        self.server = self.server.saturating_add(other.server);
        self.network = self.network.saturating_add(other.network);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
    }

    /// Scales the shares to a sum of `total_ns`: activities may overlap.
    fn scaled_to(self, total_ns: i64) -> Self {
        let sum = self.sum();
        if sum <= total_ns || sum <= 0 {
            return self;
        }
        let scale = |ns: i64| (ns as f64 * total_ns as f64 / sum as f64) as i64;
        Self {
            client: scale(self.client),
            server: scale(self.server),
            network: scale(self.network),
            timeouts: scale(self.timeouts),
        }
    }
}

/// Counts behind the shares.
#[derive(Clone, Copy, Debug, Default)]
struct Measures {
    client_turns: u64,
    client_turns_ns: i64,
    server_turns: u64,
    server_turns_ns: i64,
    round_trips: u64,
    timeouts: u64,
    /// Time of files beyond setup, turns, blocks and timeouts.
    remainder_ns: i64,
    repeated_blocks: u64,
}

/// Divides the stages of a boot. The activities of a stage are what started in it; the rest of it is the client's.
pub(super) fn blame(
    stages: &[Stage],
    dhcp: &[DhcpExchange],
    files: &[FileTransfer],
    downloads: &[Download],
    share: NetworkShare,
) -> BootBlame {
    let mut total = Shares::default();
    let mut measures = Measures::default();
    let mut idle_ns = 0_i64;
    for stage in stages {
        if matches!(stage.kind, StageKind::Link | StageKind::Client | StageKind::Menu) {
            idle_ns = idle_ns.saturating_add(stage.duration_ns);
            total.client = total.client.saturating_add(stage.duration_ns);
            continue;
        }
        let is_within = |start_ns: i64| (stage.start_ns..stage.end_ns).contains(&start_ns);
        let mut shares = Shares::default();
        for exchange in dhcp.iter().filter(|exchange| is_within(exchange.start_ns)) {
            shares.add(dialogue(exchange, &mut measures));
        }
        for file in files.iter().filter(|file| !file.write && is_within(file.request_ns)) {
            shares.add(transfer(file, share, &mut measures));
        }
        for item in downloads.iter().filter(|download| is_within(download.start_ns)) {
            shares.add(download(item, share, &mut measures));
        }
        let mut shares = shares.scaled_to(stage.duration_ns);
        shares.client = shares.client.saturating_add(stage.duration_ns.saturating_sub(shares.sum()));
        total.add(shares);
    }
    report(total, &measures, idle_ns, share)
}

fn dialogue(exchange: &DhcpExchange, measures: &mut Measures) -> Shares {
    if exchange.lacks_offer() {
        // Who waited for whom is not in the capture.
        return Shares { client: exchange.duration_ns, ..Shares::default() };
    }
    if !exchange.complete && exchange.offer_delay_ns.is_none() {
        measures.timeouts = measures.timeouts.saturating_add(exchange.attempts.max(exchange.request_attempts));
        return Shares { timeouts: exchange.duration_ns, ..Shares::default() };
    }
    let repeated = exchange.attempts.saturating_add(exchange.request_attempts).saturating_sub(2);
    measures.timeouts = measures.timeouts.saturating_add(if exchange.unanswered_ns > 0 { repeated.max(1) } else { 0 });
    let answers = [exchange.offer_delay_ns, exchange.answer_delay_ns.filter(|_| exchange.request_attempts < 2)];
    let mut server = 0_i64;
    for delay_ns in answers.into_iter().flatten() {
        measures.server_turns += 1;
        server = server.saturating_add(delay_ns);
    }
    measures.server_turns_ns = measures.server_turns_ns.saturating_add(server);
    let timeouts = exchange.unanswered_ns;
    let client = exchange.duration_ns.saturating_sub(server).saturating_sub(timeouts).max(0);
    Shares { client, server, network: 0, timeouts }
}

fn transfer(file: &FileTransfer, share: NetworkShare, measures: &mut Measures) -> Shares {
    let duration_ns = file.end_ns.saturating_sub(file.request_ns).max(0);
    measures.timeouts = measures.timeouts.saturating_add(file.timeout_count);
    let Some(costs) = file.costs else {
        let waited = if file.answer_ns.is_none() { duration_ns } else { file.timeout_ns.min(duration_ns) };
        let server = if file.outcome == Outcome::Refused { duration_ns.saturating_sub(waited) } else { 0 };
        let client = duration_ns.saturating_sub(waited).saturating_sub(server);
        return Shares { client, server, network: 0, timeouts: waited };
    };
    let (client_turns, server_turns) = (file.client_turn.count, file.server_turn.count);
    let of_turns = |turns: u64, round_trip_ns: i64, available_ns: i64| {
        round_trip_ns.saturating_mul(i64::try_from(turns).unwrap_or(i64::MAX)).clamp(0, available_ns.max(0))
    };
    let from_client = of_turns(client_turns, share.client_ns, costs.client_ns);
    let from_server = of_turns(server_turns, share.server_ns, costs.server_ns);
    measures.round_trips = measures.round_trips.saturating_add(client_turns.max(server_turns));
    measures.client_turns = measures.client_turns.saturating_add(client_turns);
    measures.server_turns = measures.server_turns.saturating_add(server_turns);
    let client_turns_ns = costs.client_ns.saturating_sub(from_client);
    let server_turns_ns = costs.server_ns.saturating_sub(from_server);
    measures.client_turns_ns = measures.client_turns_ns.saturating_add(client_turns_ns);
    measures.server_turns_ns = measures.server_turns_ns.saturating_add(server_turns_ns);
    measures.remainder_ns = measures.remainder_ns.saturating_add(costs.remainder_ns.max(0));
    measures.repeated_blocks = measures.repeated_blocks.saturating_add(file.counts.repeated_data);
    // Between the blocks of a window, the link carries them or the server prepares them.
    let wire = file.model.as_ref().map_or(costs.blocks_ns, |model| model.wire_ns).clamp(0, costs.blocks_ns.max(0));
    Shares {
        client: client_turns_ns.saturating_add(costs.client_pauses_ns),
        server: [server_turns_ns, costs.server_pauses_ns, costs.setup_ns, costs.blocks_ns.saturating_sub(wire)]
            .into_iter()
            .fold(0, i64::saturating_add),
        network: [from_client, from_server, wire, costs.remainder_ns.max(0)].into_iter().fold(0, i64::saturating_add),
        timeouts: costs.timeouts_ns,
    }
}

fn download(download: &Download, share: NetworkShare, measures: &mut Measures) -> Shares {
    let round_trip_ns = share.client_ns.saturating_add(share.server_ns);
    let connect = download.connect_ns.unwrap_or(0);
    let Some(first_byte) = download.first_byte_ns else {
        measures.timeouts += 1;
        return Shares {
            network: connect,
            timeouts: download.duration_ns.saturating_sub(connect),
            ..Shares::default()
        };
    };
    measures.server_turns += 1;
    measures.round_trips += 2;
    let on_network = round_trip_ns.clamp(0, first_byte.max(0));
    let server = first_byte.saturating_sub(on_network);
    measures.server_turns_ns = measures.server_turns_ns.saturating_add(server);
    let body = download.body_ns.unwrap_or(0);
    let closed = download.zero_window_ns.clamp(0, body.max(0));
    Shares {
        client: closed,
        server: server.saturating_add(download.lookup_ns.unwrap_or(0)),
        network: [connect, on_network, body.saturating_sub(closed)].into_iter().fold(0, i64::saturating_add),
        timeouts: 0,
    }
}

fn report(total: Shares, measures: &Measures, idle_ns: i64, share: NetworkShare) -> BootBlame {
    let sum = total.sum();
    let time = |ns: i64| Duration::from_ns(ns).to_string();
    let turns = |count: u64, ns: i64| {
        let count_ns = i64::try_from(count.max(1)).unwrap_or(i64::MAX);
        format!("{count} turns of {} on average", time(ns.checked_div(count_ns).unwrap_or(0)))
    };
    let part = |ns: i64, measures: Vec<String>| BlamePart {
        ns,
        share_percent: percent(ns, sum),
        measure: measures.join(", "),
    };
    let mut of_client = Vec::new();
    if measures.client_turns > 0 {
        of_client.push(turns(measures.client_turns, measures.client_turns_ns));
    }
    if idle_ns > 0 {
        of_client.push(format!("{} without requests", time(idle_ns)));
    }
    let mut of_server = Vec::new();
    if measures.server_turns > 0 {
        of_server.push(turns(measures.server_turns, measures.server_turns_ns));
    }
    let mut of_network = vec![match share.measured_ns {
        Some(round_trip_ns) if measures.round_trips > 0 => {
            let source = if share.by_two_captures { "the two captures" } else { "ARP, ICMP or TCP" };
            format!("{} round trips of {}, measured by {source}", measures.round_trips, time(round_trip_ns))
        }
        _ => "blocks on the wire; the round trip was not measured and is part of the turns".to_owned(),
    }];
    // Rounds that were repeated because of losses are neither turns nor timeouts.
    if measures.remainder_ns > total.network / 10 {
        let repeated = match measures.repeated_blocks {
            0 => "that no packet explains".to_owned(),
            1 => "with 1 block sent again".to_owned(),
            blocks => format!("with {blocks} blocks sent again"),
        };
        of_network.push(format!("{} {repeated}", time(measures.remainder_ns)));
    }
    let of_timeouts = match measures.timeouts {
        0 => Vec::new(),
        1 => vec!["1 wait without an answer".to_owned()],
        waits => vec![format!("{waits} waits without an answer")],
    };
    BootBlame {
        client: part(total.client, of_client),
        server: part(total.server, of_server),
        network: part(total.network, of_network),
        timeouts: part(total.timeouts, of_timeouts),
        round_trip_ns: share.measured_ns,
    }
}
