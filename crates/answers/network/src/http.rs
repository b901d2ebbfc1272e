//! The timing of HTTP and HTTPS downloads.

use super::link::LinkIndex;
pub use super::report::Download;
use onoff_netboot::connection::{Connection, HttpRequest, Protocol};

/// User agents of programs that boot over HTTP.
const BOOT_AGENTS: [&str; 4] = ["UefiHttpBoot", "iPXE", "GRUB", "shim"];
/// Maximum time from a DNS lookup to the connection, ns.
const MAX_LOOKUP_LEAD_NS: i64 = 10_000_000_000;

/// True if the user agent shows that a connection is part of a boot.
pub(super) fn is_boot(connection: &Connection) -> bool {
    connection.requests.iter().any(|request| BOOT_AGENTS.iter().any(|agent| request.user_agent.contains(agent)))
}

/// Determines the purpose of a download by its name.
pub(super) fn role(download: &Download) -> super::report::FileRole {
    let path = download.url.split(['?', '#']).next().unwrap_or_default();
    super::transfers::role(path, None, false)
}

/// Returns the downloads of a client, ordered by start.
pub(super) fn downloads(connections: &[&Connection], link: &LinkIndex<'_>) -> Vec<Download> {
    let mut downloads: Vec<Download> = connections
        .iter()
        .flat_map(|connection| {
            connection.requests.iter().enumerate().map(|(number, request)| download(connection, number, request, link))
        })
        .collect();
    downloads.sort_by_key(|download| download.start_ns);
    downloads
}

fn download(connection: &Connection, number: usize, request: &HttpRequest, link: &LinkIndex<'_>) -> Download {
    let is_first = number == 0;
    let opened_ns = connection.opened_ns.unwrap_or(connection.first_ns);
    let start_ns = if is_first { opened_ns } else { request.sent_ns };
    let last_ns = if number + 1 == connection.requests.len() { connection.last_ns } else { request.sent_ns };
    let end_ns = request.last_byte_ns.unwrap_or(last_ns).max(start_ns);
    let elapsed =
        |start: Option<i64>, end: Option<i64>| start.zip(end).map(|(start, end)| end.saturating_sub(start).max(0));
    let body_ns = elapsed(request.first_byte_ns, request.last_byte_ns);
    let encrypted = connection.protocol == Protocol::Tls;
    Download {
        url: url(connection, request),
        method: request.method.clone(),
        user_agent: request.user_agent.clone(),
        server: connection.server.to_string(),
        reused: !is_first,
        start_ns,
        end_ns,
        duration_ns: end_ns.saturating_sub(start_ns),
        lookup_ns: is_first.then(|| lookup(connection, request, link)).flatten(),
        connect_ns: is_first.then(|| elapsed(connection.opened_ns, connection.accepted_ns)).flatten(),
        tls_ns: elapsed(connection.tls_start_ns, connection.tls_ready_ns).filter(|_| encrypted),
        first_byte_ns: elapsed(Some(request.sent_ns), request.first_byte_ns),
        body_ns,
        status: request.status,
        bytes: request.body_bytes,
        announced_bytes: request.announced_bytes,
        bytes_per_s: body_ns.filter(|&ns| ns > 0).map(|ns| request.body_bytes as f64 * 1e9 / ns as f64),
        complete: request.complete,
        program: request.program,
        zero_windows: connection.zero_windows,
        zero_window_ns: connection.zero_window_ns,
        repeated_segments: connection.retransmitted_segments,
        data_segments: connection.data_segments,
    }
}

fn url(connection: &Connection, request: &HttpRequest) -> String {
    let host = if request.host.is_empty() { connection.server.to_string() } else { request.host.clone() };
    if connection.protocol == Protocol::Tls {
        format!("https://{host}/...")
    } else if request.target.contains("://") {
        request.target.clone()
    } else {
        format!("http://{host}{}", request.target)
    }
}

fn lookup(connection: &Connection, request: &HttpRequest, link: &LinkIndex<'_>) -> Option<i64> {
    let host = request.host.split(':').next().unwrap_or_default();
    let first_ns = connection.first_ns;
    let lookup = link
        .lookups(connection.client.ip(), first_ns.saturating_sub(MAX_LOOKUP_LEAD_NS), first_ns)
        .find(|lookup| lookup.name.eq_ignore_ascii_case(host))?;
    Some(lookup.response_ns?.saturating_sub(lookup.query_ns).max(0))
}
