//! Boots that did not come to a file: how the dialogues for an address ended.

use std::net::IpAddr;

use onoff_netboot::dhcp::DhcpKind;

use super::super::dhcp::{DhcpExchange, Stack};
use super::super::report::StageKind;
use super::{Evidence, Finding, Reason, time};

pub(super) fn judge(evidence: &Evidence<'_>) -> Finding {
    // The dialogue that came furthest; of several, the last that has ended: an attempt that goes on tells nothing yet.
    let attempts = evidence.dhcp.iter().filter(|exchange| exchange.stack != Stack::OperatingSystem);
    let best = attempts.max_by_key(|exchange| (progress(exchange), evidence.has_ended(exchange), exchange.start_ns));
    let Some(best) = best else {
        let what = "the capture holds no question for an address and no file".to_owned();
        return Finding::unknown(Reason::CaptureBegins, None, 0, what, "start the capture before the client");
    };
    let last_ns = best.messages.last().map_or(best.start_ns, |message| message.time_ns);
    let until_ns = evidence.beginnings_after(last_ns).map(|next| next.start_ns).min().unwrap_or(i64::MAX);
    let span_ns = best.start_ns..until_ns;
    let messages = || evidence.traffic.dhcp.iter().filter(|message| span_ns.contains(&message.time_ns));
    if let Some(message) = messages().rfind(|message| message.kind == DhcpKind::Decline) {
        let address = message.address.map_or_else(|| "the address".to_owned(), |address| address.to_string());
        return failed(
            Reason::AddressInUse,
            StageKind::Dhcp,
            best,
            message.time_ns,
            format!("the client found {address} in use by another machine and declined it (DHCPDECLINE)"),
            "find the machine that has the address without a lease (arping), and exclude it from the server's range",
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
            "look for a second DHCP server on the link, and for a reservation or range that does not fit the client's network",
        );
    }
    if best.boot_server_dialogue && !best.complete {
        return boot_server(evidence, best);
    }
    if best.complete {
        return addressed(evidence, best);
    }
    if best.offer_delay_ns.is_some() && best.request_attempts > 0 && best.ip_version == 4 {
        return unacknowledged(evidence, best, last_ns);
    }
    if best.offer_delay_ns.is_some() {
        let gave_up = evidence.has_ended(best) || best.attempts > 1;
        return if gave_up { untaken(evidence, best, last_ns) } else { ends(evidence, StageKind::Dhcp, last_ns) };
    }
    let family = if best.ip_version == 4 { "DHCPv4" } else { "DHCPv6" };
    if best.attempts < 2 && !evidence.has_ended(best) {
        return ends(evidence, StageKind::Dhcp, last_ns);
    }
    let times = if best.attempts == 1 { "1 question".to_owned() } else { format!("{} questions", best.attempts) };
    failed(
        Reason::NoDhcpAnswer,
        StageKind::Dhcp,
        best,
        last_ns,
        format!("no {family} server answered {times} for an address in {}", time(best.duration_ns)),
        "start the DHCP server or the relay of the client's network; on the switch, let the port forward at once (portfast); if the other IP version is served, put its boot entry first",
    )
}

/// How far a dialogue came.
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
    what: String,
    cure: &str,
) -> Finding {
    Finding { ip_version: exchange.ip_version, ..Finding::failed(reason, stage, time_ns, what, cure) }
}

fn ends(evidence: &Evidence<'_>, stage: StageKind, last_ns: i64) -> Finding {
    let what = format!(
        "the capture ends {} after the last message, before the dialogue was over",
        time(evidence.rest_ns(last_ns))
    );
    Finding::unknown(Reason::CaptureEnds, Some(stage), last_ns, what, "capture until the client gives up or has booted")
}

fn boot_server(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Finding {
    let last_ns = exchange.messages.last().map_or(exchange.start_ns, |message| message.time_ns);
    let questions = exchange.request_attempts.max(exchange.attempts);
    if questions < 2 && !evidence.has_ended(exchange) {
        return ends(evidence, StageKind::BootServer, last_ns);
    }
    let plural = if questions == 1 { "request".to_owned() } else { format!("{questions} requests") };
    failed(
        Reason::BootServerSilent,
        StageKind::BootServer,
        exchange,
        last_ns,
        format!("the boot server did not answer the client's {plural} on port 4011"),
        "start the ProxyDHCP or boot server service (WDS, SCCM: WDSServer); where it shares a machine with DHCP, set option 60 to PXEClient there; open UDP port 4011",
    )
}

/// The client took an offer, and its server did not confirm it.
fn unacknowledged(evidence: &Evidence<'_>, exchange: &DhcpExchange, last_ns: i64) -> Finding {
    if exchange.request_attempts < 2 && !evidence.has_ended(exchange) {
        return ends(evidence, StageKind::Dhcp, last_ns);
    }
    let address = exchange.address.as_deref().unwrap_or("an address");
    let server = exchange.servers.first().map_or("the server", String::as_str);
    let requests = match exchange.request_attempts {
        1 => "request".to_owned(),
        requests => format!("{requests} requests"),
    };
    let what = format!("{server} offered {address} and did not answer the client's {requests} for it");
    failed(
        Reason::NoDhcpAnswer,
        StageKind::Dhcp,
        exchange,
        last_ns,
        what,
        "look at the DHCP server's log at this time: the lease may be given to another client, its failover partner may have to answer, or the answer was lost on its way",
    )
}

/// Offers came and the client took none.
fn untaken(evidence: &Evidence<'_>, exchange: &DhcpExchange, last_ns: i64) -> Finding {
    if exchange.boot_file.is_some() || cut(evidence, exchange) {
        let what = format!("offers came, and the client took none in {}", time(exchange.duration_ns));
        return failed(
            Reason::NoBootFile,
            StageKind::Dhcp,
            exchange,
            last_ns,
            what,
            "offer what this client asks for: a boot file for its architecture, and for HTTP boot the class HTTPClient and a URL",
        )
        .likely();
    }
    let what = "the offers name no boot file".to_owned();
    failed(Reason::NoBootFile, StageKind::Dhcp, exchange, last_ns, what, NAME_A_FILE)
}

const NAME_A_FILE: &str = "name the boot file and its server in the DHCP configuration (options 66 and 67, next-server and filename; DHCPv6 option 59), or start the ProxyDHCP service that names them";

fn cut(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> bool {
    evidence
        .traffic
        .dhcp
        .iter()
        .any(|message| message.cut && (exchange.start_ns..=exchange.end_ns).contains(&message.time_ns))
}

/// The client has an address, and asked for nothing.
fn addressed(evidence: &Evidence<'_>, exchange: &DhcpExchange) -> Finding {
    let named = evidence.dhcp.iter().filter_map(|exchange| exchange.boot_file.as_deref()).next_back();
    let rest = time(evidence.rest_ns(exchange.end_ns));
    if let Some(sought) = unanswered_server(evidence, exchange) {
        let Sought { target, questions, is_server } = sought;
        let server = if is_server { format!("the server {target}") } else { target.to_string() };
        let via = if is_server { "" } else { ", the router to its server or another server" };
        let what = format!("nobody answered for {server}{via} on the client's link ({questions} ARP questions)");
        let found = failed(
            Reason::ServerNotOnLink,
            StageKind::BootProgram,
            exchange,
            exchange.end_ns,
            what,
            "switch the server on, or correct its address in the DHCP configuration (next-server, option 66), the subnet mask or the router",
        );
        return if is_server { found } else { found.likely() };
    }
    if !evidence.has_ended(exchange) {
        let what = format!("the capture ends {rest} after the client had its address");
        return Finding::unknown(
            Reason::CaptureEnds,
            Some(StageKind::Dhcp),
            exchange.end_ns,
            what,
            "capture until the client gives up or has booted",
        );
    }
    if named.is_none() && !evidence.traffic.dhcp.iter().any(|message| message.cut) {
        let what = "the client has an address, but no answer names a boot file".to_owned();
        return failed(Reason::NoBootFile, StageKind::Dhcp, exchange, exchange.end_ns, what, NAME_A_FILE);
    }
    let what = format!("the client has its address, and the capture holds no request for a file in the {rest} after");
    Finding::unknown(
        Reason::NoRequest,
        Some(StageKind::BootProgram),
        exchange.end_ns,
        what,
        "capture at the client or at the file server: this place may not see the requests",
    )
}

/// Addresses whose questions are counted: a client that boots looks for its server and for a router.
const SOUGHT: usize = 16;

/// An address that the client looked for on its link, in vain.
struct Sought {
    target: IpAddr,
    questions: usize,
    /// Whether an answer of DHCP names it as the server to load from.
    is_server: bool,
}

/// What the client looked for after it had its address, in vain: a server that the answers name, or else what it asked for
/// most, the router for example.
fn unanswered_server(evidence: &Evidence<'_>, addressed: &DhcpExchange) -> Option<Sought> {
    let client = evidence.client.mac?;
    let own: Vec<IpAddr> = evidence.client.addresses.iter().filter_map(|address| address.parse().ok()).collect();
    let servers: Vec<IpAddr> =
        evidence.dhcp.iter().filter_map(|exchange| exchange.boot_server.as_deref()?.parse().ok()).collect();
    let mut sought: Vec<Sought> = Vec::new();
    for target in evidence.link.asked_by(client, addressed.start_ns, evidence.until_ns) {
        // A client asks for the address it was given to see whether it is free.
        if own.contains(&target) || evidence.capture.addresses.contains_key(&target) {
            continue;
        }
        if let Some(one) = sought.iter_mut().find(|one| one.target == target) {
            one.questions += 1;
        } else if sought.len() < SOUGHT {
            sought.push(Sought { target, questions: 1, is_server: servers.contains(&target) });
        }
    }
    let in_vain = sought.into_iter().filter(|one| one.questions >= 2);
    in_vain.max_by_key(|one| (one.is_server, one.questions))
}
