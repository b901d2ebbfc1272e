//! Analyzes network boots: their stages, the timing of each file, the outcome, and what better settings would gain.

#![forbid(unsafe_code)]

mod blame;
mod clients;
pub mod dhcp;
pub mod findings;
pub mod http;
mod link;
pub mod model;
pub mod outcome;
pub mod report;
mod round_trip;
pub mod stages;
mod transfers;

use std::fmt;
use std::net::IpAddr;

use onoff_netboot::connection::Connection;
use onoff_netboot::transfer::Outcome;
use onoff_netboot::{Capture, MacAddress};
use onoff_trace::utc::CivilTime;
use thiserror::Error;

use clients::{Key, Traffic};
use dhcp::{DhcpExchange, Stack};
use http::Download;
use link::LinkIndex;
use onoff_evidence::rule::Rule;
use outcome::Successor;
use report::{CaptureFileSummary, CaptureSide, CaptureSummary, FileRole, FileTransfer, NetbootReport, NetworkBoot};
use round_trip::{NetworkShare, ShortestResponses};

#[derive(Clone, Debug, PartialEq)]
pub struct NetbootOptions {
    /// Restricts the analysis to one client.
    pub client: Option<ClientFilter>,
    /// Speed of the client's link, bits per second.
    pub link_bits_per_s: u64,
    /// Settings to predict for.
    pub what_if: model::Settings,
}

impl Default for NetbootOptions {
    fn default() -> Self {
        Self { client: None, link_bits_per_s: 1_000_000_000, what_if: model::Settings::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFilter {
    Station(MacAddress),
    /// Any IP address of the client.
    Address(IpAddr),
}

impl fmt::Display for ClientFilter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Station(mac) => mac.fmt(formatter),
            Self::Address(address) => address.fmt(formatter),
        }
    }
}

/// The capture has no matching network boot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "no network boot{client} in this network capture: {frames} frames with {dhcp_messages} DHCP messages and {transfers} TFTP transfers{others}"
)]
pub struct NoNetboot {
    /// The selected client, as a phrase that continues the message; empty if none was selected.
    pub client: String,
    pub frames: u64,
    pub dhcp_messages: usize,
    pub transfers: usize,
    /// Other clients and uploads, as a phrase that continues the message.
    pub others: String,
}

/// Finds the network boots of a capture.
///
/// # Errors
/// The capture has no network boot, or none of the selected client.
pub fn analyze(capture: &Capture, options: &NetbootOptions) -> Result<NetbootReport, NoNetboot> {
    let mut boots = Vec::new();
    let mut others = Vec::new();
    let mut devices = 0_usize;
    let link = LinkIndex::new(capture);
    for (key, traffic) in clients::clients(capture) {
        if !traffic.is_network_boot() {
            continue;
        }
        if traffic.is_device_configuration() {
            devices += 1;
            continue;
        }
        let client_boots = split_boots(traffic);
        let starts: Vec<i64> = client_boots.iter().map(|(start_ns, _)| *start_ns).collect();
        for (number, (_, traffic)) in client_boots.iter().enumerate() {
            let next_boot_ns = starts.get(number + 1).copied();
            let boot = network_boot((capture, &link), key, traffic, options, next_boot_ns);
            if options.client.is_none_or(|filter| matches_client(&boot, filter)) {
                boots.push(boot);
            } else {
                others.push(boot);
            }
        }
    }
    if boots.is_empty() {
        return Err(NoNetboot {
            client: options.client.map_or_else(String::new, |filter| format!(" of {filter}")),
            frames: capture.frames,
            dhcp_messages: capture.dhcp.len(),
            transfers: capture.transfers.len(),
            others: other_clients(&others) + &uploads(capture) + &device_note(devices),
        });
    }
    boots.sort_by_key(|boot| boot.start_ns);
    Ok(NetbootReport {
        capture: summary(capture),
        path: capture.path.clone(),
        link_bits_per_s: options.link_bits_per_s,
        boots,
        losses: capture.losses.clone(),
    })
}

/// Describes uploads as a phrase that continues a sentence; empty if there are none.
fn uploads(capture: &Capture) -> String {
    match capture.transfers.iter().filter(|transfer| transfer.write).count() {
        0 => String::new(),
        1 => "; 1 of the transfers is an upload".to_owned(),
        uploads => format!("; {uploads} of the transfers are uploads"),
    }
}

/// Describes devices that only fetched a configuration as a phrase that continues a sentence; empty if there are none.
fn device_note(devices: usize) -> String {
    match devices {
        0 => String::new(),
        1 => "; 1 telephone or network device fetched its configuration".to_owned(),
        devices => format!("; {devices} telephones or network devices fetched their configuration"),
    }
}

/// Lists the clients that booted as a phrase that continues a sentence; empty if there are none.
fn other_clients(boots: &[NetworkBoot]) -> String {
    const MAX_LISTED: usize = 10;
    let mut names: Vec<String> = Vec::new();
    for boot in boots {
        let name = name(&boot.client);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let unlisted = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let more = if unlisted > 0 { format!(" and {unlisted} more") } else { String::new() };
    match names.as_slice() {
        [] => String::new(),
        [single] => format!("; the client that booted is {single}"),
        names => format!("; the clients that booted are {}{more}", names.join(", ")),
    }
}

fn name(client: &report::Client) -> String {
    match (client.mac, client.addresses.as_slice()) {
        (Some(mac), []) => mac.to_string(),
        (Some(mac), addresses) => format!("{mac} ({})", addresses.join(", ")),
        (None, [address, ..]) => address.clone(),
        (None, []) => "unknown".to_owned(),
    }
}

fn matches_client(boot: &NetworkBoot, filter: ClientFilter) -> bool {
    match filter {
        ClientFilter::Station(mac) => boot.client.mac == Some(mac),
        ClientFilter::Address(address) => boot.client.addresses.contains(&address.to_string()),
    }
}

fn summary(capture: &Capture) -> CaptureSummary {
    CaptureSummary {
        files: capture
            .files
            .iter()
            .map(|file| CaptureFileSummary {
                name: file.name.clone(),
                bytes: file.bytes,
                container: file.container,
                frames: file.frames,
            })
            .collect(),
        start_utc: capture.start_unix_ns.map(|unix_ns| CivilTime::from_unix_ns(unix_ns).to_string()),
        start_unix_ns: capture.start_unix_ns,
        duration_ns: capture.duration_ns,
        frames: capture.frames,
        wire_bytes: capture.wire_bytes,
        duplicate_frames: capture.duplicate_frames,
        snap_length: capture.snap_length,
    }
}

/// Splits the traffic of one client into boots: a new boot starts when firmware sends DHCP after an operating system
/// did, or after a boot had loaded everything and had time to start it.
fn split_boots(traffic: Traffic<'_>) -> Vec<(i64, Traffic<'_>)> {
    let loading_ns = first_load_ns(&traffic);
    let mut boot_starts: Vec<i64> = Vec::new();
    let mut has_system = false;
    for start in dhcp::dialogue_starts(&traffic.dhcp, loading_ns) {
        match start.stack {
            Stack::OperatingSystem => has_system = true,
            Stack::Firmware
                if start.is_boot_client && (has_system || has_booted(&traffic, boot_starts.last(), start.start_ns)) =>
            {
                has_system = false;
                boot_starts.push(start.start_ns);
            }
            _ => {}
        }
    }
    let mut boots: Vec<Traffic<'_>> = Vec::new();
    boots.resize_with(boot_starts.len() + 1, Traffic::default);
    let boot_index = |time_ns: i64| boot_starts.partition_point(|&start| start <= time_ns);
    for message in traffic.dhcp {
        boots[boot_index(message.time_ns)].dhcp.push(message);
    }
    for transfer in traffic.transfers {
        boots[boot_index(transfer.request_ns)].transfers.push(transfer);
    }
    for connection in traffic.connections {
        boots[boot_index(connection.first_ns)].connections.push(connection);
    }
    std::iter::once(i64::MIN).chain(boot_starts).zip(boots).collect()
}

/// True if a boot that started at `boot_ns` had loaded a kernel or ramdisk some time before `restart_ns`, so that the
/// computer was reset and did not just return to its firmware.
fn has_booted(traffic: &Traffic<'_>, boot_ns: Option<&i64>, restart_ns: i64) -> bool {
    /// Minimum time in which a started kernel resets the computer, ns.
    const MIN_KERNEL_NS: i64 = 5_000_000_000;
    /// Minimum time after any program, ns; firmware and loaders show their messages for less.
    const MIN_PROGRAM_NS: i64 = 120_000_000_000;
    let boot_ns = boot_ns.copied().unwrap_or(i64::MIN);
    let files = traffic.transfers.iter().filter(|transfer| !transfer.write && !transfer.started_before_capture);
    let loads = files.filter_map(|transfer| Some((transfer.complete_ns?, transfer.file.as_str())));
    let requests = traffic.connections.iter().flat_map(|connection| &connection.requests);
    let downloads = requests
        .filter(|request| request.complete && request.status.is_some_and(|status| status < 400))
        .filter_map(|request| Some((request.last_byte_ns?, request.target.as_str())));
    let last = loads.chain(downloads).filter(|(end_ns, _)| (boot_ns..restart_ns).contains(end_ns));
    let Some((end_ns, name)) = last.max_by_key(|(end_ns, _)| *end_ns) else { return false };
    let waited_ns = restart_ns.saturating_sub(end_ns);
    match transfers::role(name, None, false) {
        FileRole::Kernel | FileRole::Ramdisk => waited_ns >= MIN_KERNEL_NS,
        _ => waited_ns >= MIN_PROGRAM_NS,
    }
}

/// Returns the time of the client's first file request. Every download after a boot request counts as part of the boot,
/// because TLS hides the user agent and not every boot program is known by name.
fn first_load_ns(traffic: &Traffic<'_>) -> Option<i64> {
    let boot_requests = traffic.dhcp.iter().filter(|message| message.is_network_boot());
    let boot_request_ns = boot_requests.map(|message| message.time_ns).min();
    let requests = traffic.transfers.iter().map(|transfer| transfer.request_ns);
    let boot_connections = traffic.connections.iter().filter(|connection| {
        let is_after = boot_request_ns.is_some_and(|requested_ns| connection.first_ns > requested_ns);
        http::is_boot(connection) || (is_after && !connection.requests.is_empty())
    });
    requests.chain(boot_connections.map(|connection| connection.first_ns)).min()
}

fn network_boot(
    (capture, link): (&Capture, &LinkIndex<'_>),
    key: Key,
    traffic: &Traffic<'_>,
    options: &NetbootOptions,
    next_boot_ns: Option<i64>,
) -> NetworkBoot {
    let has_next_boot = next_boot_ns.is_some();
    let next_boot_ns = next_boot_ns.unwrap_or(capture.duration_ns);
    let loading_ns = first_load_ns(traffic);
    let mut dhcp = dhcp::exchanges(&traffic.dhcp, link, loading_ns);
    let starts: Vec<i64> = dhcp
        .iter()
        .map(|exchange| exchange.start_ns)
        .chain(traffic.transfers.iter().map(|transfer| transfer.request_ns))
        .chain(traffic.connections.iter().map(|connection| connection.first_ns))
        .collect();
    dhcp::extend_incomplete(&mut dhcp, &starts);
    let boot_file = dhcp
        .iter()
        .filter(|exchange| exchange.stack == Stack::Firmware)
        .rev()
        .find_map(|exchange| exchange.boot_file.as_deref());
    let bits_per_s = options.link_bits_per_s;
    let (mut files, models) = transfers::transfers(&traffic.transfers, boot_file, bits_per_s);
    let client = clients::describe(key, traffic);
    let file_server_ns = traffic
        .connections
        .iter()
        .filter(|connection| connection.storage().is_some() && connection.server_bytes > 0)
        .filter(|connection| loading_ns.is_none_or(|loading_ns| connection.first_ns > loading_ns))
        .map(|connection| connection.first_ns)
        .min();
    let system_ns = dhcp
        .iter()
        .filter(|exchange| exchange.stack == Stack::OperatingSystem)
        .map(|exchange| exchange.start_ns)
        .chain(file_server_ns)
        .min();
    let boot_connections: Vec<&Connection> = traffic
        .connections
        .iter()
        .copied()
        .filter(|connection| system_ns.is_none_or(|system| connection.first_ns < system) || http::is_boot(connection))
        .collect();
    let downloads = http::downloads(&boot_connections, link);
    let first_ns = dhcp
        .iter()
        .map(|exchange| exchange.start_ns)
        .chain(files.iter().map(|file| file.request_ns))
        .chain(downloads.iter().map(|download| download.start_ns))
        .min()
        .unwrap_or(0);
    let start_ns = first_frame(capture, &client, first_ns);
    let (end_ns, end_rule) = end(&dhcp, &files, &downloads, (file_server_ns, first_ns));
    let shortest = ShortestResponses::new((capture, link), &client, &traffic.transfers, &boot_connections);
    let round_trip_at_most_ns = shortest.round_trip_at_most_ns();
    let path = capture.path.as_ref().filter(|path| client.addresses.contains(&path.client));
    let share = path.map_or_else(|| shortest.network_share(), NetworkShare::from_path);
    let fitted = transfers::join(&mut files, models, round_trip_at_most_ns);
    let (outcome, attempts) = outcome::outcome(&outcome::Evidence {
        capture,
        link,
        messages: &traffic.dhcp,
        transfers: &traffic.transfers,
        connections: &traffic.connections,
        client: &client,
        dhcp: &dhcp,
        files: &files,
        downloads: &downloads,
        system_ns,
        until_ns: next_boot_ns,
        successor: if has_next_boot { Successor::Boot } else { Successor::None },
    });
    let stages = stages::stages(start_ns, end_ns, &dhcp, (&files, &downloads), file_server_ns);
    let mut boot = NetworkBoot {
        blame: blame::blame(&stages, &dhcp, &files, &downloads, share),
        stages,
        client,
        start_ns,
        end_ns,
        duration_ns: end_ns.saturating_sub(start_ns),
        end_rule,
        outcome,
        attempts,
        capture_side: if path.is_some() { CaptureSide::Client } else { shortest.side() },
        max_round_trip_ns: round_trip_at_most_ns,
        total: transfers::total(&files),
        predictions: model::predict(&fitted),
        what_if: what_if(&fitted, &options.what_if),
        dhcp,
        transfers: files,
        downloads,
        file_server_ns,
        findings: Vec::new(),
    };
    boot.findings = findings::findings(&boot, &fitted);
    boot
}

/// Returns the time of the client's first frame if it is shortly before the first request, as when a link comes up or a
/// stack starts.
fn first_frame(capture: &Capture, client: &report::Client, first_ns: i64) -> i64 {
    const MAX_LEAD_NS: i64 = 60_000_000_000;
    let station = client.mac.and_then(|mac| capture.stations.get(&mac));
    station
        .map(|station| station.first_ns)
        .filter(|&frame_ns| frame_ns <= first_ns && first_ns - frame_ns <= MAX_LEAD_NS)
        .unwrap_or(first_ns)
}

fn end(
    dhcp: &[DhcpExchange],
    files: &[FileTransfer],
    downloads: &[Download],
    (file_server_ns, first_ns): (Option<i64>, i64),
) -> (i64, Rule) {
    let system = dhcp
        .iter()
        .find(|exchange| exchange.stack == Stack::OperatingSystem)
        .map(|exchange| (exchange.end_ns, Rule::OperatingSystemDhcp));
    let server = file_server_ns.map(|ns| (ns, Rule::OperatingSystemFileServer));
    if let Some(end) = system.into_iter().chain(server).min_by_key(|(ns, _)| *ns) {
        return end;
    }
    let file = files.iter().filter(|file| !file.write).map(|file| {
        let rule = match file.outcome {
            Outcome::Complete => Rule::LastBlockAcknowledged,
            _ => Rule::LastTransferPacket,
        };
        (file.end_ns, rule)
    });
    let download = downloads.iter().map(|download| (download.end_ns, Rule::LastDownloadByte));
    let message = dhcp
        .iter()
        .flat_map(|exchange| exchange.messages.last())
        .map(|message| (message.time_ns, Rule::LastDhcpMessage));
    let last_activity = message.chain(file).chain(download).max_by_key(|(ns, _)| *ns);
    last_activity.unwrap_or((first_ns, Rule::NothingAfterFirstFrame))
}

/// Predicts the modeled transfers with the given settings; `None` without settings or modeled transfers.
fn what_if(fitted: &[model::FittedTransfer], settings: &model::Settings) -> Option<model::Prediction> {
    let has_settings = *settings != model::Settings::default();
    (has_settings && !fitted.is_empty()).then(|| model::predict_total(fitted, settings))
}
