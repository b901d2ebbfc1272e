//! The outcome of boots that loaded over HTTP: how the download, the connection or the name lookup ended.

use onoff_netboot::connection::{Connection, Protocol, Reset};
use onoff_netboot::lookup::Lookup;

use super::super::dhcp::Stack;
use super::super::report::{Download, StageKind};
use super::loads::{Loaded, capture_ends};
use super::{Conclusion, Evidence, Reason};

pub(super) fn download(evidence: &Evidence<'_>, download: &Download) -> Option<Conclusion> {
    let url = &download.url;
    let fail = |reason: Reason, description: String, advice: &str| {
        Conclusion::failed(reason, StageKind::Http, download.end_ns, description, advice)
    };
    if let Some(status) = download.status.filter(|&status| status >= 400) {
        let advice = match status {
            401 | 403 => "allow access without authentication, and give the server's user read access to the file",
            404 | 410 => {
                "put the file where the client expects it, or correct the URL in the DHCP or loader configuration"
            }
            500.. => "check the HTTP server's log at this time",
            _ => "check the HTTP server's log: it does not accept the client's request",
        };
        let mut conclusion = fail(Reason::HttpError, format!("the server answered {status} for {url}"), advice);
        conclusion.http_status = Some(status);
        return Some(conclusion);
    }
    if download.method == "HEAD" && download.status.is_some() {
        return None;
    }
    let connection = connection_of(evidence, download);
    // Repeated requests do not show that the server is active.
    let last_activity_ns = match download.first_byte_ns {
        Some(_) => download.end_ns,
        None => connection.map_or(download.end_ns, |connection| connection.last_new_ns),
    };
    let is_reset = connection.is_some_and(|connection| connection.reset.is_some());
    if !is_reset && !evidence.is_over(last_activity_ns) {
        return Some(capture_ends(evidence, StageKind::Http, download.end_ns, &format!("{url} was being transferred")));
    }
    if let Some(reset) = connection.and_then(|connection| connection.reset)
        && (!reset.from_client || download.first_byte_ns.is_none())
    {
        return Some(self::reset(download, reset));
    }
    if download.first_byte_ns.is_none() {
        let is_encrypted = download.method.is_empty();
        let is_closed = connection.is_some_and(|connection| {
            connection.requests.len() == 1 && (connection.closed || connection.reset.is_some())
        });
        if is_encrypted && is_closed {
            // TLS 1.3 encrypts the alert for a refused certificate.
            let description = format!("the connection to {} was closed right after its TLS handshake", download.server);
            return Some(fail(Reason::TlsFailed, description, CHECK_CERTIFICATES).likely());
        }
        let description = format!("the server did not respond to the request for {url}");
        return Some(fail(Reason::HttpUnanswered, description, "check the HTTP server's log and load at this time"));
    }
    let missing = download.announced_bytes.map_or_else(String::new, |bytes| format!(" of {bytes}"));
    let description = format!("{url} stopped after {}{missing} bytes", download.bytes);
    Some(
        fail(
            Reason::ServerSilent,
            description,
            "check client and server at this time: the connection stopped within the file",
        )
        .likely(),
    )
}

/// Handles a download whose connection was reset.
fn reset(download: &Download, reset: Reset) -> Conclusion {
    let end = match (download.bytes, download.announced_bytes) {
        (0, _) => "before the first byte".to_owned(),
        (bytes, Some(announced)) => format!("after {bytes} of {announced} bytes"),
        (bytes, None) => format!("after {bytes} bytes"),
    };
    let (sender, advice) = if reset.from_client {
        ("the client", "check the client's screen: its network stack closed the connection")
    } else {
        (
            download.server.as_str(),
            "check the HTTP server's log at this time: its service was restarted or crashed, or a firewall closed the connection",
        )
    };
    let description = format!("{sender} reset the connection of {} (TCP reset) {end}", download.url);
    Conclusion::failed(Reason::ConnectionReset, StageKind::Http, reset.time_ns, description, advice)
}

/// Finds the connection of a download.
fn connection_of<'a>(evidence: &Evidence<'a>, download: &Download) -> Option<&'a Connection> {
    let start_ns = download.start_ns;
    evidence.connections.iter().copied().find(|connection| {
        let is_opening = !download.reused && connection.opened_ns.unwrap_or(connection.first_ns) == start_ns;
        is_opening || connection.requests.iter().any(|request| request.sent_ns == start_ns)
    })
}

/// Handles the last HTTP boot connection if it carried no request.
pub(super) fn connection(evidence: &Evidence<'_>, loaded: Option<&Loaded>, after_ns: i64) -> Option<Conclusion> {
    let is_http_boot =
        evidence.dhcp.iter().filter(|exchange| exchange.stack != Stack::OperatingSystem).any(|exchange| {
            exchange.vendor_class.starts_with("HTTPClient")
                || exchange.boot_file.as_ref().is_some_and(|file| file.starts_with("http"))
        });
    let until_ns = evidence.system_ns.unwrap_or(i64::MAX);
    let connection = evidence
        .connections
        .iter()
        .rfind(|connection| (after_ns..until_ns).contains(&connection.first_ns) && connection.requests.is_empty())?;
    if connection.protocol == Protocol::Tls && (is_http_boot || has_program(evidence)) {
        return tls(evidence, connection);
    }
    // A loaded program opens connections itself; a system that was started does so, too.
    let is_of_loader = loaded.is_some() && connection.storage().is_none() && evidence.system_ns.is_none();
    if !is_http_boot && !is_of_loader {
        return None;
    }
    let server = connection.server;
    let advice = "start the HTTP server and open its port in the firewall; the address comes from the URL in the DHCP configuration";
    let fail = |description: String| {
        Conclusion::failed(Reason::HttpUnanswered, StageKind::Http, connection.last_ns, description, advice)
    };
    if let (None, Some(reset)) = (connection.accepted_ns, connection.reset) {
        let conclusion = fail(format!("{server} refused the connection (TCP reset)"));
        return Some(Conclusion { time_ns: reset.time_ns, ..conclusion });
    }
    if let Some(report) = evidence.report_about(connection.client, server, connection.first_ns)
        && connection.accepted_ns.is_none()
    {
        let (reporter, reason) = (report.packet.reporter, report.packet.reason.as_str());
        return Some(fail(format!("{reporter} answered the connection attempt to {server} with ICMP {reason}")));
    }
    if connection.accepted_ns.is_none() && (connection.syns > 1 || evidence.is_over(connection.last_new_ns)) {
        return Some(fail(format!("{server} did not respond to {} connection attempts", connection.syns)));
    }
    None
}

/// True if a boot program with a separate network stack requested an address.
pub(super) fn has_program(evidence: &Evidence<'_>) -> bool {
    evidence.dhcp.iter().any(|exchange| exchange.stack == Stack::BootProgram)
}

const CHECK_CERTIFICATES: &str = "enroll the server's CA certificate in the client's firmware, and check that the server's certificate matches the host in the URL and has not expired, and that the client's clock is correct";

/// Handles a TLS handshake without a request after it.
fn tls(evidence: &Evidence<'_>, connection: &Connection) -> Option<Conclusion> {
    let server = connection.server;
    let fail = |description: String, advice: &str| {
        Conclusion::failed(Reason::TlsFailed, StageKind::Http, connection.last_ns, description, advice)
    };
    if let Some(alert) = connection.tls_alert {
        let sender = if alert.from_client { "the client" } else { "the server" };
        let name = alert.name();
        let description = format!("{sender} aborted the TLS handshake with {server}: {name} (alert {})", alert.code);
        let advice = if alert.is_about_certificate() {
            CHECK_CERTIFICATES
        } else {
            "let the server offer a TLS version and ciphers that the client supports; its log shows what it refused"
        };
        return Some(fail(description, advice));
    }
    if !connection.closed && connection.reset.is_none() && !evidence.is_over(connection.last_new_ns) {
        let description = format!("the TLS handshake with {server} was in progress");
        return Some(capture_ends(evidence, StageKind::Http, connection.last_ns, &description));
    }
    Some(fail(format!("the TLS handshake with {server} ended without a request"), CHECK_CERTIFICATES).likely())
}

/// Handles a DNS lookup of the server that failed and after which the client did nothing else.
pub(super) fn name_lookup(evidence: &Evidence<'_>, after_ns: i64) -> Option<Conclusion> {
    let until_ns = evidence.system_ns.unwrap_or(evidence.until_ns);
    let clients = evidence.client.addresses.iter().filter_map(|address| address.parse().ok());
    let lookups: Vec<&Lookup> = clients.flat_map(|client| evidence.link.lookups(client, after_ns, until_ns)).collect();
    let last = lookups.iter().max_by_key(|lookup| lookup.query_ns)?;
    let name = &last.name;
    // IPv4 and IPv6 addresses are looked up separately; one answer is enough.
    let same_name = || lookups.iter().filter(|lookup| lookup.name.eq_ignore_ascii_case(name));
    let has_connected = evidence.connections.iter().any(|connection| connection.first_ns > last.query_ns);
    let has_requested = evidence.transfers.iter().any(|transfer| transfer.request_ns > last.query_ns);
    if same_name().any(|lookup| lookup.has_record) || has_connected || has_requested {
        return None;
    }
    let urls = evidence.dhcp.iter().filter_map(|exchange| exchange.boot_file.as_deref());
    let is_boot_host = urls.filter_map(host_of).any(|host| host.eq_ignore_ascii_case(name));
    if !is_boot_host && !has_program(evidence) {
        return None;
    }
    let last_ns = last.response_ns.unwrap_or(last.query_ns);
    if !evidence.is_over(last_ns) {
        return Some(capture_ends(evidence, StageKind::Http, last_ns, &format!("the client looked up {name}")));
    }
    let code = same_name().filter_map(|lookup| lookup.code).max();
    let (description, advice) = match code {
        None => (
            format!("no DNS server answered the client's query for {name}"),
            "start the DNS server, or correct its address in the DHCP configuration (option 6; DHCPv6 option 23)",
        ),
        Some(3) => (
            format!("the DNS server does not know the host {name} (NXDOMAIN)"),
            "correct the URL in the DHCP configuration, or add the name to the client's DNS server",
        ),
        Some(0) => (
            format!("the DNS server has no address for {name}"),
            "add an address of the IP version that the client uses to boot, or put an address in the URL",
        ),
        Some(code) => (
            format!("the DNS server did not resolve {name} (response code {code})"),
            "check the DNS server's log at this time: it refused the query or could not answer it",
        ),
    };
    let conclusion = Conclusion::failed(Reason::NameNotResolved, StageKind::Http, last_ns, description, advice);
    Some(if is_boot_host { conclusion } else { conclusion.likely() })
}

/// Returns the host of a URL; `None` for a path.
fn host_of(url: &str) -> Option<&str> {
    let (_, authority) = url.split_once("://")?;
    authority.split(['/', ':', '?']).next()
}
