//! The outcome of boots that requested no file: how their DHCP dialogues ended.

use std::net::IpAddr;

use onoff_netboot::dhcp::DhcpKind;

use super::super::dhcp::{DhcpExchange, Stack};
use super::super::report::StageKind;
use super::{Conclusion, Evidence, Reason, time};

pub(super) fn judge(evidence: &Evidence<'_>) -> Conclusion {
    // The dialogue that came furthest. Of several, the last dialogue that has ended.
    let attempts = evidence.dhcp.iter().filter(|exchange| exchange.stack != Stack::OperatingSystem);
    let best = attempts.max_by_key(|exchange| (progress(exchange), evidence.has_ended(exchange), exchange.start_ns));
    let Some(best) = best else {
        let description = "the capture contains no DHCP request and no file".to_owned();
        return Conclusion::unknown(Reason::CaptureBegins, None, 0, description, "start the capture before the client");
    };
    let last_ns = best.messages.last().map_or(best.start_ns, |message| message.time_ns);
    let until_ns = evidence.dialogues_after(last_ns).map(|next| next.start_ns).min().unwrap_or(i64::MAX);
    let interval_ns = best.start_ns..until_ns;
    let messages = || evidence.traffic.dhcp.iter().filter(|message| interval_ns.contains(&message.time_ns));
    if let Some(message) = messages().rfind(|message| message.kind == DhcpKind::Decline) {
        let address = message.address.map_or_else(|| "the address".to_owned(), |address| address.to_string());
        return failed(
            Reason::AddressInUse,
            StageKind::Dhcp,
            best,
            message.time_ns,
            format!("the client found {address} in use by another computer and declined it (DHCPDECLINE)"),
            "find the computer that uses the address without a lease (arping), and exclude the address from the server's range",
        );
    }
    let nak = messages().rfind(|message| message.kind == DhcpKind::Nak);
    if let Some(message) = nak.filter(|_| !best.complete) {
        let server = message.server.unwrap_or(message.source.ip());
        return failed(
            Reason::DhcpRefused,
            StageKind::Dhcp,
            best,
            message.time_ns,
            format!("{server} refused the address that the client requested (DHCPNAK)"),
            "look for a second DHCP server on the link, and for a reservation or range that does not match the client's network",
        );
    }
    if best.boot_server_dialogue && !best.complete {
        return boot_server(evidence, best);
    }
    if best.complete {
        return without_request(evidence, best);
    }
    if best.offer_delay_ns.is_some() && best.request_attempts > 0 && best.ip_version == 4 {
        return unacknowledged(evidence, best, last_ns);
    }
    if best.offer_delay_ns.is_some() {
        let has_given_up = evidence.has_ended(best) || best.attempts > 1;
        return if has_given_up {
            offers_not_accepted(evidence, best, last_ns)
        } else {
            capture_ends(evidence, StageKind::Dhcp, last_ns)
        };
    }
    let family = if best.ip_version == 4 { "DHCPv4" } else { "DHCPv6" };
    if best.attempts < 2 && !evidence.has_ended(best) {
        return capture_ends(evidence, StageKind::Dhcp, last_ns);
    }
    let requests = if best.attempts == 1 { "1 request".to_owned() } else { format!("{} requests", best.attempts) };
    failed(
        Reason::NoDhcpAnswer,
        StageKind::Dhcp,
        best,
        last_ns,
        format!("no {family} server answered {requests} within {}", time(best.duration_ns)),
        "start the DHCP server or the relay of the client's network; let the switch port forward at once (portfast); if only the other IP version is served, put its boot entry first",
    )
}

/// Ranks how far a dialogue came.
fn progress(exchange: &DhcpExchange) -> u8 {
    match (exchange.boot_server_dialogue, exchange.complete, exchange.offer_delay_ns.is_some()) {
        (true, ..) => 3,
        (false, true, _) => 2,
        (false, false, true) => 1,
        (false, false, false) => 0,
    }
}

fn failed(
    reason: Reason,
    stage: StageKind,
    exchange: &DhcpExchange,
    time_ns: i64,
    description: String,
    advice: &str,
) -> Conclusion {
    Conclusion { ip_version: exchange.ip_version, ..Conclusion::failed(reason, stage, time_ns, description, advice) }
}

fn capture_ends(evidence: &Evidence<'_>, stage: StageKind, last_ns: i64) -> Conclusion {
    let description = format!(
        "the capture ends {} after the last message, before the exchange was complete",
        time(evidence.remaining_ns(last_ns))
    );
    Conclusion::unknown(
        Reason::CaptureEnds,
        Some(stage),
        last_ns,
        description,
        "capture until the client gives up or has booted",
    )
}

fn boot_server(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Conclusion {
    let last_ns = exchange.messages.last().map_or(exchange.start_ns, |message| message.time_ns);
    let requests = exchange.request_attempts.max(exchange.attempts);
    if requests < 2 && !evidence.has_ended(exchange) {
        return capture_ends(evidence, StageKind::BootServer, last_ns);
    }
    let plural = if requests == 1 { "request".to_owned() } else { format!("{requests} requests") };
    failed(
        Reason::BootServerSilent,
        StageKind::BootServer,
        exchange,
        last_ns,
        format!("the boot server did not answer the client's {plural} on port 4011"),
        "start the ProxyDHCP or boot server service (WDS, SCCM: WDSServer); if it runs on the DHCP server, set option 60 to PXEClient there; open UDP port 4011",
    )
}

/// Handles boots where the client accepted an offer, but the server did not confirm it.
fn unacknowledged(evidence: &Evidence<'_>, exchange: &DhcpExchange, last_ns: i64) -> Conclusion {
    if exchange.request_attempts < 2 && !evidence.has_ended(exchange) {
        return capture_ends(evidence, StageKind::Dhcp, last_ns);
    }
    let address = exchange.address.as_deref().unwrap_or("an address");
    let server = exchange.servers.first().map_or("the server", String::as_str);
    let requests = match exchange.request_attempts {
        1 => "request".to_owned(),
        requests => format!("{requests} requests"),
    };
    let description = format!("{server} offered {address} but did not answer the client's {requests} for it");
    failed(
        Reason::NoDhcpAnswer,
        StageKind::Dhcp,
        exchange,
        last_ns,
        description,
        "check the DHCP server's log at this time: another client may have the lease, its failover partner may be responsible, or the answer was lost",
    )
}

/// Offers came, but the client accepted none.
fn offers_not_accepted(evidence: &Evidence<'_>, exchange: &DhcpExchange, last_ns: i64) -> Conclusion {
    if exchange.boot_file.is_some() || is_truncated(evidence, exchange) {
        let description = format!("the client received offers but accepted none within {}", time(exchange.duration_ns));
        return failed(
            Reason::NoBootFile,
            StageKind::Dhcp,
            exchange,
            last_ns,
            description,
            "offer what the client requests: a boot file for its architecture, and for HTTP boot the class HTTPClient and a URL",
        )
        .likely();
    }
    let description = "the offers name no boot file".to_owned();
    failed(Reason::NoBootFile, StageKind::Dhcp, exchange, last_ns, description, NAME_A_FILE)
}

const NAME_A_FILE: &str = "name the boot file and its server in the DHCP configuration (options 66 and 67, next-server and filename; DHCPv6 option 59), or start the ProxyDHCP service that names them";

fn is_truncated(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> bool {
    evidence
        .traffic
        .dhcp
        .iter()
        .any(|message| message.truncated && (exchange.start_ns..=exchange.end_ns).contains(&message.time_ns))
}

/// Handles boots where the client has an address but requested no file.
fn without_request(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Conclusion {
    let boot_file = evidence.dhcp.iter().filter_map(|exchange| exchange.boot_file.as_deref()).next_back();
    let remaining = time(evidence.remaining_ns(exchange.end_ns));
    if let Some(unresolved) = unresolved_server(evidence, exchange) {
        let ArpTarget { target, requests, is_server } = unresolved;
        let server = if is_server { format!("the server {target}") } else { target.to_string() };
        let via = if is_server { "" } else { " (the router to its server, or another server)" };
        let description = format!("{requests} ARP requests for {server}{via} were not answered on the client's link");
        let conclusion = failed(
            Reason::ServerNotOnLink,
            StageKind::BootProgram,
            exchange,
            exchange.end_ns,
            description,
            "turn the server on, or correct its address in the DHCP configuration (next-server, option 66), the subnet mask or the router",
        );
        return if is_server { conclusion } else { conclusion.likely() };
    }
    if !evidence.has_ended(exchange) {
        let description = format!("the capture ends {remaining} after the client got its address");
        return Conclusion::unknown(
            Reason::CaptureEnds,
            Some(StageKind::Dhcp),
            exchange.end_ns,
            description,
            "capture until the client gives up or has booted",
        );
    }
    if boot_file.is_none() && !evidence.traffic.dhcp.iter().any(|message| message.truncated) {
        let description = "the client has an address, but no answer names a boot file".to_owned();
        return failed(Reason::NoBootFile, StageKind::Dhcp, exchange, exchange.end_ns, description, NAME_A_FILE);
    }
    let description =
        format!("the client has an address, but the capture contains no file request in the following {remaining}");
    Conclusion::unknown(
        Reason::NoRequest,
        Some(StageKind::BootProgram),
        exchange.end_ns,
        description,
        "capture at the client or at the file server: the requests may not pass this capture point",
    )
}

/// Maximum number of ARP targets per client, which are normally its server and a router.
const MAX_TARGETS: usize = 16;

/// An address that the client could not resolve on its link.
struct ArpTarget {
    target: IpAddr,
    requests: usize,
    /// True if a DHCP answer names it as the boot server.
    is_server: bool,
}

/// Returns the address that the client could not resolve after it got an address: the boot server, or the most
/// requested address, such as the router.
fn unresolved_server(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Option<ArpTarget> {
    let client = evidence.client.mac?;
    let client_addresses: Vec<IpAddr> =
        evidence.client.addresses.iter().filter_map(|address| address.parse().ok()).collect();
    let servers: Vec<IpAddr> =
        evidence.dhcp.iter().filter_map(|exchange| exchange.boot_server.as_deref()?.parse().ok()).collect();
    let mut targets: Vec<ArpTarget> = Vec::new();
    for target in evidence.link.requested_by(client, exchange.start_ns, evidence.until_ns) {
        // A client sends ARP requests for its new address to check that it is free.
        if client_addresses.contains(&target) || evidence.capture.addresses.contains_key(&target) {
            continue;
        }
        if let Some(existing) = targets.iter_mut().find(|existing| existing.target == target) {
            existing.requests += 1;
        } else if targets.len() < MAX_TARGETS {
            targets.push(ArpTarget { target, requests: 1, is_server: servers.contains(&target) });
        }
    }
    let repeated = targets.into_iter().filter(|target| target.requests >= 2);
    repeated.max_by_key(|target| (target.is_server, target.requests))
}
