//! The outcome of boots that requested no file: how their DHCP dialogues ended.

use std::net::IpAddr;

use onoff_netboot::dhcp::{DhcpKind, DhcpMessage};
use onoff_netboot::frame::RouterMessageKind;

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
    let messages = || evidence.messages.iter().filter(|message| interval_ns.contains(&message.time_ns));
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
    if best.lacks_offer() {
        let description = "the client requested the address of an offer that is not in the capture";
        let stage = Some(StageKind::Dhcp);
        let advice = "capture where the answers to the client pass: at the client, at the server, or at a mirror port of both directions";
        return Conclusion::unknown(Reason::OneDirection, stage, last_ns, description.to_owned(), advice);
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
    let router = match unanswered_solicitations(evidence) {
        Some(solicitations) if best.ip_version == 6 => {
            format!("; no router answered {} either", router_solicitations(solicitations))
        }
        _ => String::new(),
    };
    let description = format!("no {family} server answered {requests} within {}{router}", time(best.duration_ns));
    let switch_port = if last_ns.saturating_sub(best.start_ns) < MAX_SWITCH_DELAY_NS {
        "; let the switch port forward at once (portfast)"
    } else {
        ""
    };
    let advice = if router.is_empty() {
        format!(
            "start the DHCP server or the relay of the client's network{switch_port}; if only the other IP version is served, put its boot entry first"
        )
    } else {
        "have a router send advertisements with the managed flag, and start the DHCPv6 server or relay; if the network has no IPv6, remove its boot entry".to_owned()
    };
    failed(Reason::NoDhcpAnswer, StageKind::Dhcp, best, last_ns, description, &advice)
}

/// A switch port that learns forwards after 30 s; without an answer for longer than this, it is not the cause, ns.
const MAX_SWITCH_DELAY_NS: i64 = 50_000_000_000;

fn router_solicitations(count: usize) -> String {
    if count == 1 { "1 router solicitation".to_owned() } else { format!("{count} router solicitations") }
}

/// Returns the number of the client's router solicitations, if the capture has no router advertisement.
fn unanswered_solicitations(evidence: &Evidence<'_>) -> Option<usize> {
    let messages = || evidence.capture.router_messages.iter().filter(|message| message.time_ns <= evidence.until_ns);
    if messages().any(|message| message.kind == RouterMessageKind::Advertisement) {
        return None;
    }
    let station = evidence.client.mac?;
    let solicitations = messages()
        .filter(|message| message.sender == Some(station) && message.time_ns >= evidence.first_frame_ns())
        .count();
    (solicitations > 0).then_some(solicitations)
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
    Conclusion {
        ip_version: exchange.ip_version,
        after_offer: exchange.offer_delay_ns.is_some(),
        after_address: exchange.complete,
        ..Conclusion::failed(reason, stage, time_ns, description, advice)
    }
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
    let fail = |description: String, advice: &str| {
        failed(Reason::NoBootFile, StageKind::Dhcp, exchange, last_ns, description, advice)
    };
    let waited = time(exchange.duration_ns);
    let offers = || {
        let interval_ns = exchange.start_ns..=last_ns;
        evidence.messages.iter().filter(move |message| {
            let is_offer = matches!(message.kind, DhcpKind::Offer | DhcpKind::Advertise);
            is_offer && interval_ns.contains(&message.time_ns)
        })
    };
    let class = if exchange.vendor_class.starts_with("HTTPClient") { "HTTPClient" } else { "PXEClient" };
    let named = offers().find(|offer| offer.boot_file.is_some());
    if let Some((offer, file)) = named.and_then(|offer| Some((offer, offer.boot_file.as_deref()?))) {
        let server = offer.server.unwrap_or(offer.source.ip());
        let has_class = offers().any(|offer| offer.vendor_class.starts_with(class));
        let mismatch = match (class, has_class, file.contains("://")) {
            _ if offer.truncated => String::new(),
            ("HTTPClient", _, false) => ", which is not a URL, and the client boots over HTTP".to_owned(),
            (_, false, _) if !exchange.vendor_class.is_empty() => {
                format!(", without the vendor class {class} (option 60)")
            }
            _ => String::new(),
        };
        let description = format!(
            "the offer of {server} names the file {file}{mismatch}; the client accepted no offer within {waited}"
        );
        let advice = if class == "HTTPClient" {
            "offer HTTP boot clients (option 60 HTTPClient, architectures 15 to 20) the class HTTPClient and a URL as boot file"
        } else {
            "offer what the client requests: a boot file for its architecture, and the class PXEClient (option 60)"
        };
        return fail(description, advice).likely();
    }
    if is_truncated(evidence, exchange) {
        let description = format!("the client received offers but accepted none within {waited}");
        let advice = "offer what the client requests: a boot file for its architecture, and for HTTP boot the class HTTPClient and a URL";
        return fail(description, advice).likely();
    }
    let description = format!("the offers of {} name no boot file", servers(exchange));
    fail(description, NAME_A_FILE)
}

/// Names the servers that answered.
fn servers(exchange: &DhcpExchange) -> String {
    if exchange.servers.is_empty() { "the server".to_owned() } else { exchange.servers.join(", ") }
}

const NAME_A_FILE: &str = "name the boot file and its server in the DHCP configuration (options 66 and 67, next-server and filename; DHCPv6 option 59), or start the ProxyDHCP service that names them";

fn is_truncated(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> bool {
    evidence
        .messages
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
    if boot_file.is_none() && !evidence.messages.iter().any(|message| message.truncated) {
        let description = "the client has an address, but no answer names a boot file".to_owned();
        return failed(Reason::NoBootFile, StageKind::Dhcp, exchange, exchange.end_ns, description, NAME_A_FILE);
    }
    if let Some(conclusion) = file_of_other_server(evidence, exchange) {
        return conclusion;
    }
    if let (6, Some(solicitations)) = (exchange.ip_version, unanswered_solicitations(evidence)) {
        let description = format!(
            "the client has an IPv6 address, but no router answered {}: without an advertisement it has no prefix and no route to the server",
            router_solicitations(solicitations)
        );
        let advice = "have a router of the client's network send router advertisements (radvd, dnsmasq --enable-ra, or the RA setting of the switch)";
        let (reason, stage) = (Reason::NoRouterAdvertisement, StageKind::Dhcp);
        return failed(reason, stage, exchange, exchange.end_ns, description, advice);
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

/// Handles a client that took its address from a server that names no boot file, although another server's offer names
/// one.
fn file_of_other_server(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Option<Conclusion> {
    let answers = || {
        let interval_ns = exchange.start_ns..=exchange.end_ns;
        evidence.messages.iter().filter(move |message| {
            !message.kind.is_from_client() && interval_ns.contains(&message.time_ns) && message.transaction != 0
        })
    };
    let acknowledgment = answers().rfind(|message| matches!(message.kind, DhcpKind::Ack | DhcpKind::Reply))?;
    let server = acknowledgment.server.unwrap_or(acknowledgment.source.ip());
    let of_server = |message: &&&DhcpMessage| message.server.unwrap_or(message.source.ip()) == server;
    if answers().filter(of_server).any(|message| message.boot_file.is_some() || message.truncated) {
        return None;
    }
    // A ProxyDHCP server names a file for addresses of any server, so its offer is not the other server's lease.
    let other = answers().find(|message| message.boot_file.is_some() && message.address.is_some())?;
    let other_server = other.server.unwrap_or(other.source.ip());
    let file = other.boot_file.as_deref()?;
    let description = format!(
        "the client took its address from {server}, which names no boot file; the offer of {other_server} names {file}, and the client did not choose it"
    );
    let advice = "let one server answer: name the boot file in the configuration of the server that the client chooses, or have that server not answer network boot clients";
    Some(failed(Reason::NoBootFile, StageKind::Dhcp, exchange, exchange.end_ns, description, advice))
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
