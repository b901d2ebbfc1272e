//! The outcome of boots that requested a file: how its transfer or download ended.

use onoff_netboot::connection::{Connection, Protocol};
use onoff_netboot::frame::UnreachableReason;
use onoff_netboot::lookup::Lookup;
use onoff_netboot::tftp::ProgramMachine;
use onoff_netboot::transfer::{Outcome, PacketKind, Transfer};

use super::super::dhcp::Stack;
use super::super::report::Download;
use super::super::report::{FileRole, FileTransfer, StageKind};
use super::{Conclusion, Evidence, MIN_LOOP_LOADS, Reason, Verdict, time};

/// Largest 16-bit block number.
const MAX_BLOCK_NUMBER: u64 = 65_535;
/// Minimum number of repetitions without anything new before the other end counts as gone. A single repetition may
/// follow a lost packet.
const MIN_REPEATS: u64 = 2;
const CAPTURE_LONGER: &str = "capture until the client gives up or has booted";

/// The last file that was received completely.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) end_ns: i64,
    role: FileRole,
    files: u64,
    certain: bool,
}

pub(super) fn last_loaded(evidence: &Evidence<'_>) -> Option<Loaded> {
    let is_complete = |file: &&FileTransfer| is_load(file) && file.outcome == Outcome::Complete;
    let files = evidence.files.iter().filter(is_complete).map(|file| (file.end_ns, file.file.clone(), file.role, true));
    let downloads = evidence.downloads.iter().filter(|download| is_received(download)).map(|download| {
        // The size inside TLS is unknown.
        (download.end_ns, download.url.clone(), super::super::http::role(download), download.status.is_some())
    });
    let mut loads: Vec<_> = files.chain(downloads).collect();
    loads.sort_by_key(|(end_ns, ..)| *end_ns);
    let count = loads.len() as u64;
    loads.pop().map(|(end_ns, name, role, certain)| Loaded { name, end_ns, role, files: count, certain })
}

fn is_load(file: &FileTransfer) -> bool {
    !file.write && !file.started_before_capture
}

fn is_received(download: &Download) -> bool {
    let is_encrypted = download.method.is_empty();
    let is_refused = download.status.is_some_and(|status| status >= 400);
    !is_refused && download.method != "HEAD" && download.bytes > 0 && (download.complete || is_encrypted)
}

/// Handles boots where the boot program is for another architecture, and nothing was loaded after it.
pub(super) fn wrong_architecture(evidence: &Evidence<'_>, loaded: Option<&Loaded>) -> Option<Conclusion> {
    let loaded = loaded.filter(|loaded| loaded.role == FileRole::BootProgram)?;
    let file = evidence.files.iter().find(|file| file.end_ns == loaded.end_ns && file.file == loaded.name)?;
    let code = evidence.client.architecture?;
    let client = evidence.client.architecture_name;
    let advice = "serve a separate boot program to each architecture: match option 93 (DHCPv6: 61) in the DHCP or ProxyDHCP configuration";
    let fail = |description: String| {
        Conclusion::failed(Reason::WrongArchitecture, StageKind::BootProgram, loaded.end_ns, description, advice)
    };
    match file.program {
        Some(machine) if code == 0 => {
            let description = format!(
                "{} is a UEFI program ({}), but the client boots in BIOS mode (architecture 0)",
                loaded.name,
                machine.as_str()
            );
            Some(fail(description))
        }
        Some(machine) if !fits(code, machine)? => {
            let description = format!(
                "{} is a program for {}, but the client is {client} (architecture {code})",
                loaded.name,
                machine.as_str()
            );
            Some(fail(description))
        }
        Some(_) => None,
        None => {
            // The first block was truncated, or it is not a UEFI program: judge by its name.
            let name = loaded.name.to_ascii_lowercase();
            let is_bios_name =
                [".0", ".kpxe", ".kkpxe", ".pxe", ".n12", ".com"].iter().any(|ending| name.ends_with(ending));
            let is_silent = evidence.is_over(loaded.end_ns);
            (is_bios_name && code != 0 && is_silent).then(|| {
                let description = format!(
                    "{} looks like a BIOS program by its name, the client is {client} (architecture {code}), and nothing was requested after it",
                    loaded.name
                );
                fail(description).likely()
            })
        }
    }
}

/// True if a program runs on an architecture (RFC 4578 and its registry); `None` if the architecture is unknown.
fn fits(code: u16, machine: ProgramMachine) -> Option<bool> {
    use ProgramMachine as M;
    let native = match code {
        2 => M::Itanium,
        6 | 15 => M::X86,
        // RFC 4578 swaps 7 and 9: both are used for x64.
        7 | 9 | 16 | 17 => M::X64,
        10 | 18 => M::Arm32,
        11 | 19 => M::Arm64,
        27 | 28 => M::Riscv64,
        39 | 40 => M::LoongArch64,
        _ => return None,
    };
    Some(machine == native || machine == M::ByteCode)
}

/// Returns what failed after the last complete file; `None` if nothing did.
pub(super) fn failure_after(evidence: &Evidence<'_>, loaded: Option<&Loaded>, after_ns: i64) -> Option<Conclusion> {
    let attempts = evidence
        .files
        .iter()
        .zip(&evidence.traffic.transfers)
        .filter(|(file, _)| is_load(file) && file.request_ns >= after_ns && file.outcome != Outcome::Complete);
    // An attempt that has ended is better evidence than a later, unfinished one that has not come as far.
    let is_restarted = |ns: i64, until_ns: i64| evidence.dialogues_after(ns).any(|next| next.start_ns < until_ns);
    let last_attempt = attempts.clone().next_back();
    let ended = last_attempt
        .filter(|(file, transfer)| file.answer_ns.is_none() && !has_stopped(evidence, file, transfer))
        .and_then(|(pending, _)| attempts.clone().rfind(|(file, _)| is_restarted(file.end_ns, pending.request_ns)));
    let last = ended.or(last_attempt);
    let download = evidence.downloads.iter().rfind(|download| download.end_ns > after_ns && !is_received(download));
    let is_decisive = |conclusion: &Conclusion, is_receiving: bool| {
        let is_later = last.is_some_and(|(file, _)| is_restarted(file.end_ns, i64::MAX));
        conclusion.verdict != Verdict::Unknown || is_receiving || !is_later
    };
    let is_probe_only = last.is_some_and(|(file, _)| file.outcome == Outcome::SizeProbe);
    if let Some(download) = download
        && last.is_none_or(|(file, _)| file.request_ns < download.start_ns)
        && let Some(conclusion) = self::download(evidence, download)
        && is_decisive(&conclusion, download.first_byte_ns.is_some())
    {
        return Some(conclusion);
    }
    if let Some(conclusion) = connection(evidence, after_ns).or_else(|| name_lookup(evidence, after_ns))
        && is_decisive(&conclusion, false)
    {
        return Some(conclusion);
    }
    let (file, transfer) = if is_probe_only {
        // A size request is not an attempt, but an earlier request may be one.
        let failed = attempts.clone().rfind(|(file, _)| file.outcome != Outcome::SizeProbe);
        match failed {
            Some(failed) => failed,
            None => return size_only(evidence, last?.0),
        }
    } else {
        last?
    };
    let refused = attempts.clone().filter(|(file, _)| file.outcome == Outcome::Refused).count();
    if file.outcome == Outcome::Refused
        && let Some(loaded) = loaded
    {
        return refused_after(evidence, loaded, file, refused);
    }
    Some(transfer_failed(evidence, file, transfer))
}

/// Handles boots where the client requested the size of a file but not the file.
fn size_only(evidence: &Evidence<'_>, file: &FileTransfer) -> Option<Conclusion> {
    let bytes = file.granted.as_ref().and_then(|granted| granted.file_bytes);
    let stage = stage(evidence, file);
    if !evidence.is_over(file.end_ns) {
        return Some(capture_ends(
            evidence,
            stage,
            file.end_ns,
            &format!("the client requested the size of {}", file.file),
        ));
    }
    // A server that supports options responds with an OACK, others send the first block.
    if file.granted.is_none() && file.counts.data_packets > 0 {
        let description = format!(
            "the client requested the size of {}; the server does not support options and sent the first block, so the client aborted",
            file.file
        );
        let advice = "use a TFTP server that supports options (RFC 2347): this client requests tsize before it loads a file, and gives up without it";
        return Some(Conclusion::failed(Reason::OptionsIgnored, stage, file.end_ns, description, advice).likely());
    }
    let size = bytes.map_or_else(String::new, |bytes| format!(" ({bytes} bytes)"));
    let description = format!("the client requested the size of {}{size}, but then did not load it", file.file);
    let advice = "check the client's screen; the file may exceed the client's memory or a size limit: serve a smaller boot program that loads the rest";
    Some(Conclusion::failed(Reason::FileTooLarge, stage, file.end_ns, description, advice).likely())
}

fn capture_ends(evidence: &Evidence<'_>, stage: StageKind, last_ns: i64, description: &str) -> Conclusion {
    let end = match evidence.remaining_ns(last_ns) {
        ..1_000_000 => "the capture ends there".to_owned(),
        remaining_ns => format!("the capture ends {} later", time(remaining_ns)),
    };
    let description = format!("{description}; {end}");
    Conclusion::unknown(Reason::CaptureEnds, Some(stage), last_ns, description, CAPTURE_LONGER)
}

/// Handles boots where a boot program was loaded, and the server refused the files it then requested.
fn refused_after(evidence: &Evidence<'_>, loaded: &Loaded, file: &FileTransfer, refused: usize) -> Option<Conclusion> {
    if matches!(loaded.role, FileRole::Kernel | FileRole::Ramdisk | FileRole::Other) {
        // Loaders look for optional files.
        return None;
    }
    let files = if refused == 1 { "1 file".to_owned() } else { format!("{refused} files") };
    let description = format!(
        "{} was loaded and then requested {files}, the last one {}, which the server refused",
        loaded.name, file.file
    );
    if !evidence.is_over(file.end_ns) {
        return Some(capture_ends(evidence, stage(evidence, file), file.end_ns, &description));
    }
    let advice = "put the loader's configuration where it looks for it (its requests are listed under files), or correct its prefix";
    let mut conclusion =
        Conclusion::failed(Reason::FileRefused, stage(evidence, file), file.end_ns, description, advice).likely();
    conclusion.tftp_code = file.error.as_ref().map(|error| error.code);
    Some(conclusion)
}

fn stage(evidence: &Evidence<'_>, file: &FileTransfer) -> StageKind {
    // The first file the firmware requests is the boot program, whatever its name.
    let is_first = evidence
        .files
        .iter()
        .all(|other_file| other_file.request_ns >= file.request_ns || other_file.file == file.file);
    match file.role {
        FileRole::Other if is_first && evidence.firmware_dialogues().next().is_some() => StageKind::BootProgram,
        FileRole::BootProgram => StageKind::BootProgram,
        FileRole::Loader => StageKind::Loader,
        FileRole::Configuration => StageKind::Configuration,
        FileRole::Kernel => StageKind::Kernel,
        FileRole::Ramdisk => StageKind::Ramdisk,
        FileRole::Other => StageKind::OtherFile,
    }
}

fn name(file: &FileTransfer) -> &str {
    if file.file.is_empty() { "an unnamed file" } else { &file.file }
}

fn transfer_failed(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> Conclusion {
    let stage = stage(evidence, file);
    let name = name(file);
    let end_ns = file.end_ns;
    let bytes = file.counts.bytes;
    let fail = |reason: Reason, description: String, advice: &str| {
        Conclusion::failed(reason, stage, end_ns, description, advice)
    };
    if transfer.highest_block == MAX_BLOCK_NUMBER
        && file.outcome != Outcome::Refused
        && has_stopped(evidence, file, transfer)
    {
        let description = format!(
            "{name} stopped at block 65,535 ({bytes} bytes in blocks of {}): one side does not let the block number wrap",
            file.block_size
        );
        let advice = "use larger blocks (blksize 1468 allows 96 MB; 1448 over IPv6), or a server and a client that let the block number wrap";
        return fail(Reason::BlockNumberLimit, description, advice);
    }
    let error = file.error.as_ref();
    match file.outcome {
        Outcome::Refused => {
            let (code, text) = error.map_or((0, ""), |error| (error.code, error.text.as_str()));
            let description = format!("the server refused the file {name}: {text} (TFTP error {code})");
            let mut conclusion = fail(Reason::FileRefused, description, refusal_advice(code));
            conclusion.tftp_code = Some(code);
            conclusion
        }
        Outcome::Aborted => aborted(file, name, fail),
        _ if file.answer_ns.is_none() => unanswered(evidence, file, transfer, fail),
        _ if !has_stopped(evidence, file, transfer) => {
            capture_ends(evidence, stage, end_ns, &format!("{name} was being transferred, {bytes} bytes so far"))
        }
        _ => silent(name, bytes, transfer, fail),
    }
}

/// Determines which side stopped, judged by the last new packet: the other side may have repeated its packet since.
fn silent(
    name: &str,
    bytes: u64,
    transfer: &Transfer,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Conclusion {
    match transfer.last_new_packet {
        PacketKind::OptionAcknowledgment => fail(
            Reason::OptionsUnanswered,
            format!("the client did not respond to the server's option acknowledgment (OACK) for {name}"),
            "look for a filter between client and server: the server responds from a new port above 1023, and a firewall that allows only port 69 drops its packets; or the client does not accept the granted options: turn them off at the server to test",
        ),
        PacketKind::Data if transfer.client_retransmissions > 0 => fail(
            Reason::ClientSilent,
            format!(
                "{name} stopped after {bytes} bytes: the client repeated an earlier acknowledgment and did not acknowledge the server's last block"
            ),
            "look for a link or filter between the capture point and the client that drops the server's blocks",
        )
        .likely(),
        PacketKind::Data => fail(
            Reason::ClientSilent,
            format!(
                "the client stopped responding within {name}, after {bytes} bytes; the server's last block was not acknowledged"
            ),
            "check the client: it may have hung, been turned off or lost its link, or its acknowledgments may have been lost in transit",
        ),
        _ if transfer.server_retransmissions > 0 => fail(
            Reason::ServerSilent,
            format!(
                "{name} stopped after {bytes} bytes: the server repeated an earlier block although the client had acknowledged it"
            ),
            "look for a link or filter between the capture point and the server that drops the client's acknowledgments",
        )
        .likely(),
        _ => fail(
            Reason::ServerSilent,
            format!(
                "the server stopped sending within {name}, after {bytes} bytes; it did not respond to the client's last acknowledgment"
            ),
            "check the server's log and load at this time, and look for a filter that drops its blocks",
        ),
    }
}

fn refusal_advice(code: u16) -> &'static str {
    match code {
        2 => "give the TFTP server's user read access to the file and its folders",
        8 => "the server refuses the client's options: update it, or turn the options off at the client",
        1 => {
            "put the file where the client expects it, or correct its name in the DHCP or loader configuration; names are case-sensitive on most servers"
        }
        _ => "check the TFTP server's log at this time",
    }
}

fn aborted(file: &FileTransfer, name: &str, fail: impl Fn(Reason, String, &str) -> Conclusion) -> Conclusion {
    let (code, text) = file.error.as_ref().map_or((0, String::new()), |error| (error.code, error.text.clone()));
    let message = format!("after {} bytes: {text} (TFTP error {code})", file.counts.bytes);
    let lowercase = text.to_ascii_lowercase();
    let memory_words = ["alloc", "full", "memory", "space", "too large", "too big", "buffer"];
    let mut conclusion = if code == 3 || memory_words.iter().any(|word| lowercase.contains(word)) {
        let description = format!("the client has no room for {name} and aborted it {message}");
        fail(Reason::FileTooLarge, description, "serve a smaller file, or give the client more memory")
    } else if file.counts.blocks == 0 && file.granted.is_some() {
        let description =
            format!("the client refused the options that the server granted for {name}: {text} (TFTP error {code})");
        let advice = "let the server grant only requested options, up to the requested values (blksize, windowsize; RFC 2347): update it, or turn its options off";
        fail(Reason::OptionsRefused, description, advice)
    } else {
        let description = format!("the client aborted {name} {message}");
        fail(
            Reason::ClientAborted,
            description,
            "check the client's screen or log, because the client ended the transfer",
        )
    };
    conclusion.tftp_code = Some(code);
    conclusion
}

/// Handles transfers where the server sent no packet.
fn unanswered(
    evidence: &Evidence<'_>,
    file: &FileTransfer,
    transfer: &Transfer,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Conclusion {
    let name = name(file);
    let server = transfer.server.ip();
    let report = evidence.capture.undelivered.iter().find(|report| {
        report.time_ns >= file.request_ns
            && report.packet.destination.ip() == server
            && report.packet.source == transfer.client
            && report.packet.reason != UnreachableReason::TooLarge
    });
    if let Some(report) = report {
        let packet = report.packet;
        let description =
            format!("{} answered the request for {name} with ICMP {}", packet.reporter, packet.reason.as_str());
        let advice = match packet.reason {
            UnreachableReason::Port => {
                "start the TFTP service on the server and have it listen on UDP port 69 of this address"
            }
            UnreachableReason::Prohibited => {
                "open UDP port 69, and the ports the server responds from, in the firewall"
            }
            _ => "correct the server's address in the DHCP configuration, or the route to it",
        };
        return Conclusion { time_ns: report.time_ns, ..fail(Reason::ServerUnreachable, description, advice) };
    }
    if !has_stopped(evidence, file, transfer) {
        return capture_ends(evidence, stage(evidence, file), file.end_ns, &format!("the client requested {name}"));
    }
    let requests = if file.requests == 1 { "1 request".to_owned() } else { format!("{} requests", file.requests) };
    let description =
        format!("{server} did not answer {requests} for {name} in {}", time(evidence.remaining_ns(file.request_ns)));
    fail(
        Reason::RequestUnanswered,
        description,
        "check that the TFTP service is running at this address and that no filter drops UDP port 69; the address comes from the DHCP configuration (next-server, option 66)",
    )
}

/// True if an incomplete transfer is over: one side repeats itself without effect, the capture continues without it, or
/// the client does something else.
fn has_stopped(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> bool {
    let is_repeating = transfer.client_retransmissions.max(transfer.server_retransmissions) >= MIN_REPEATS;
    (is_repeating && evidence.is_over(transfer.last_new_ns)) || evidence.is_over(file.end_ns)
}

fn download(evidence: &Evidence<'_>, download: &Download) -> Option<Conclusion> {
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
    if !evidence.is_over(last_activity_ns) {
        return Some(capture_ends(evidence, StageKind::Http, download.end_ns, &format!("{url} was being transferred")));
    }
    if download.first_byte_ns.is_none() {
        let is_encrypted = download.method.is_empty();
        let is_closed = connection
            .is_some_and(|connection| connection.requests.len() == 1 && (connection.closed || connection.reset));
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

/// Finds the connection of a download.
fn connection_of<'a>(evidence: &Evidence<'a>, download: &Download) -> Option<&'a Connection> {
    let start_ns = download.start_ns;
    evidence.traffic.connections.iter().copied().find(|connection| {
        let is_opening = !download.reused && connection.opened_ns.unwrap_or(connection.first_ns) == start_ns;
        is_opening || connection.requests.iter().any(|request| request.sent_ns == start_ns)
    })
}

/// Handles the last HTTP boot connection if it carried no request.
fn connection(evidence: &Evidence<'_>, after_ns: i64) -> Option<Conclusion> {
    let is_http_boot =
        evidence.dhcp.iter().filter(|exchange| exchange.stack != Stack::OperatingSystem).any(|exchange| {
            exchange.vendor_class.starts_with("HTTPClient")
                || exchange.boot_file.as_ref().is_some_and(|file| file.starts_with("http"))
        });
    let until_ns = evidence.system_ns.unwrap_or(i64::MAX);
    let connection =
        evidence.traffic.connections.iter().rfind(|connection| {
            (after_ns..until_ns).contains(&connection.first_ns) && connection.requests.is_empty()
        })?;
    if connection.protocol == Protocol::Tls && (is_http_boot || has_program(evidence)) {
        return tls(evidence, connection);
    }
    if !is_http_boot {
        return None;
    }
    let server = connection.server;
    let advice = "start the HTTP server and open its port in the firewall; the address comes from the URL in the DHCP configuration";
    let fail = |description: String| {
        Conclusion::failed(Reason::HttpUnanswered, StageKind::Http, connection.last_ns, description, advice)
    };
    if connection.accepted_ns.is_none() && connection.reset {
        return Some(fail(format!("{server} refused the connection (TCP reset)")));
    }
    if connection.accepted_ns.is_none() && (connection.syns > 1 || evidence.is_over(connection.last_new_ns)) {
        return Some(fail(format!("{server} did not respond to {} connection attempts", connection.syns)));
    }
    None
}

/// True if a boot program with a separate network stack requested an address.
fn has_program(evidence: &Evidence<'_>) -> bool {
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
    if !connection.closed && !connection.reset && !evidence.is_over(connection.last_new_ns) {
        let description = format!("the TLS handshake with {server} was in progress");
        return Some(capture_ends(evidence, StageKind::Http, connection.last_ns, &description));
    }
    Some(fail(format!("the TLS handshake with {server} ended without a request"), CHECK_CERTIFICATES).likely())
}

/// Handles a DNS lookup of the server that failed and after which the client did nothing else.
fn name_lookup(evidence: &Evidence<'_>, after_ns: i64) -> Option<Conclusion> {
    let until_ns = evidence.system_ns.unwrap_or(evidence.until_ns);
    let clients = evidence.client.addresses.iter().filter_map(|address| address.parse().ok());
    let lookups: Vec<&Lookup> = clients.flat_map(|client| evidence.link.lookups(client, after_ns, until_ns)).collect();
    let last = lookups.iter().max_by_key(|lookup| lookup.query_ns)?;
    let name = &last.name;
    // IPv4 and IPv6 addresses are looked up separately; one answer is enough.
    let same_name = || lookups.iter().filter(|lookup| lookup.name.eq_ignore_ascii_case(name));
    let has_connected = evidence.traffic.connections.iter().any(|connection| connection.first_ns > last.query_ns);
    let has_requested = evidence.traffic.transfers.iter().any(|transfer| transfer.request_ns > last.query_ns);
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

/// Handles boots where a file was received completely, and no later file failed.
pub(super) fn loaded_conclusion(evidence: &Evidence<'_>, loaded: &Loaded) -> Conclusion {
    let programs = evidence
        .files
        .iter()
        .filter(|file| file.role == FileRole::BootProgram && is_load(file) && file.outcome == Outcome::Complete)
        .count() as u64;
    let repeated_dialogue = evidence.firmware_dialogues().filter(|exchange| exchange.start_ns > loaded.end_ns).last();
    if programs >= MIN_LOOP_LOADS {
        let description =
            format!("the boot program was loaded {programs} times, but no operating system started its network");
        let advice = "check the client's screen: the boot program exits or resets the computer each time";
        return Conclusion::failed(Reason::Loop, StageKind::Client, loaded.end_ns, description, advice);
    }
    if let Some(again) = repeated_dialogue {
        let description = format!(
            "{} after {} was loaded, the firmware requested an address again: the program returned to the firmware, or the computer was reset",
            time(again.start_ns.saturating_sub(loaded.end_ns)),
            loaded.name
        );
        let advice = "check the client's screen: the program may be for another architecture, be unsigned under Secure Boot, or have exited";
        return Conclusion::failed(Reason::BackToFirmware, StageKind::Client, again.start_ns, description, advice)
            .likely();
    }
    if let Some(program) = evidence.dhcp.iter().rfind(|exchange| {
        exchange.stack == Stack::BootProgram && exchange.start_ns > loaded.end_ns && !exchange.complete
    }) {
        let last_ns = program.messages.last().map_or(program.start_ns, |message| message.time_ns);
        if program.attempts > 1 || evidence.is_over(last_ns) {
            let description = format!("{} was loaded, and its DHCP request was not answered", loaded.name);
            let advice = "have the DHCP server answer it: some servers answer each client only once, and a switch port that blocks after a link reset drops the first requests (portfast)";
            return Conclusion {
                ip_version: program.ip_version,
                ..Conclusion::failed(Reason::NoDhcpAnswer, StageKind::Dhcp, last_ns, description, advice)
            };
        }
    }
    let position = match loaded.files {
        1 => "the only file".to_owned(),
        files => format!("the last of {files} files"),
    };
    let silence = match evidence.remaining_ns(loaded.end_ns) {
        ..1_000_000 => "the capture ends there".to_owned(),
        remaining_ns => format!("no operating system started its network in the following {}", time(remaining_ns)),
    };
    let description = format!("{}, {position}, was loaded; {silence}", loaded.name);
    let conclusion = Conclusion::new(Verdict::Loaded, Reason::FilesLoaded, loaded.end_ns, description);
    // Only a long silence without another attempt shows that the client ran the file.
    if loaded.certain && evidence.is_over(loaded.end_ns) { conclusion } else { conclusion.likely() }
}

/// Handles captures whose only transfers started before the capture.
pub(super) fn started_before_capture(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let file = evidence.files.iter().rfind(|file| file.started_before_capture)?;
    let end = if file.outcome == Outcome::Complete { "was complete" } else { "did not finish within the capture" };
    let description =
        format!("a transfer had started before the capture; {} bytes were captured, and it {end}", file.counts.bytes);
    Some(Conclusion::unknown(
        Reason::CaptureBegins,
        Some(StageKind::OtherFile),
        file.end_ns,
        description,
        "start the capture before the client",
    ))
}
