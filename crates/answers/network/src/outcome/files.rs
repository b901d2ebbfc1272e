//! Boots that came to a file: how its transfer or download ended.

use onoff_netboot::connection::{Connection, Protocol};
use onoff_netboot::frame::UndeliveredReason;
use onoff_netboot::lookup::Lookup;
use onoff_netboot::tftp::ProgramMachine;
use onoff_netboot::transfer::{LastPacket, Outcome, Transfer};

use super::super::dhcp::Stack;
use super::super::report::Download;
use super::super::report::{FileRole, FileTransfer, StageKind};
use super::{Evidence, Finding, LOOP, Reason, Verdict, time};

/// Largest block number of 16 bits.
const LAST_NUMBER: u64 = 65_535;
/// One repetition may be of a packet that was lost; from this many on, without anything new, the other end is not there.
const IN_VAIN: u64 = 2;
const CAPTURE_LONGER: &str = "capture until the client gives up or has booted";

/// The last file that came whole.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) end_ns: i64,
    role: FileRole,
    files: u64,
    certain: bool,
}

pub(super) fn last_loaded(evidence: &Evidence<'_>) -> Option<Loaded> {
    let complete = |file: &&FileTransfer| is_load(file) && file.outcome == Outcome::Complete;
    let files = evidence.files.iter().filter(complete).map(|file| (file.end_ns, file.file.clone(), file.role, true));
    let downloads = evidence.downloads.iter().filter(|download| came(download)).map(|download| {
        // What came inside TLS cannot be counted.
        (download.end_ns, download.url.clone(), super::super::http::role(download), download.status.is_some())
    });
    let mut all: Vec<_> = files.chain(downloads).collect();
    all.sort_by_key(|(end_ns, ..)| *end_ns);
    let count = all.len() as u64;
    all.pop().map(|(end_ns, name, role, certain)| Loaded { name, end_ns, role, files: count, certain })
}

fn is_load(file: &FileTransfer) -> bool {
    !file.write && !file.under_way
}

fn came(download: &Download) -> bool {
    let encrypted = download.method.is_empty();
    let refused = download.status.is_some_and(|status| status >= 400);
    !refused && download.method != "HEAD" && download.bytes > 0 && (download.complete || encrypted)
}

/// The boot program is for another processor, and nothing came after it.
pub(super) fn wrong_architecture(evidence: &Evidence<'_>, loaded: Option<&Loaded>) -> Option<Finding> {
    let loaded = loaded.filter(|loaded| loaded.role == FileRole::BootProgram)?;
    let file = evidence.files.iter().find(|file| file.end_ns == loaded.end_ns && file.file == loaded.name)?;
    let code = evidence.client.architecture?;
    let client = evidence.client.architecture_name;
    let cure = "serve each architecture its own boot program: match option 93 (DHCPv6: 61) in the DHCP or ProxyDHCP configuration";
    let fail =
        |what: String| Finding::failed(Reason::WrongArchitecture, StageKind::BootProgram, loaded.end_ns, what, cure);
    match file.program {
        Some(machine) if code == 0 => {
            let what = format!(
                "{} is a UEFI program ({}), and the client boots as BIOS (architecture 0)",
                loaded.name,
                machine.as_str()
            );
            Some(fail(what))
        }
        Some(machine) if !fits(code, machine)? => {
            let what = format!(
                "{} is a program for {}, and the client is {client} (architecture {code})",
                loaded.name,
                machine.as_str()
            );
            Some(fail(what))
        }
        Some(_) => None,
        None => {
            // Its first block was cut off or it is no UEFI program: its name may say so.
            let name = loaded.name.to_ascii_lowercase();
            let for_bios =
                [".0", ".kpxe", ".kkpxe", ".pxe", ".n12", ".com"].iter().any(|ending| name.ends_with(ending));
            let silent = evidence.is_over(loaded.end_ns);
            (for_bios && code != 0 && silent).then(|| {
                let what = format!(
                    "{} is named as a program for BIOS, the client is {client} (architecture {code}), and nothing was requested after it",
                    loaded.name
                );
                fail(what).likely()
            })
        }
    }
}

/// Whether a program runs on an architecture (RFC 4578 and its registry); `None` when the architecture is not known.
fn fits(code: u16, machine: ProgramMachine) -> Option<bool> {
    use ProgramMachine as M;
    let own = match code {
        2 => M::Itanium,
        6 | 15 => M::X86,
        // 7 and 9 are exchanged in RFC 4578: both are found on x64.
        7 | 9 | 16 | 17 => M::X64,
        10 | 18 => M::Arm32,
        11 | 19 => M::Arm64,
        27 | 28 => M::Riscv64,
        39 | 40 => M::LoongArch64,
        _ => return None,
    };
    Some(machine == own || machine == M::ByteCode)
}

/// What failed after the last file that came whole; `None` when nothing did.
pub(super) fn after(evidence: &Evidence<'_>, loaded: Option<&Loaded>, after_ns: i64) -> Option<Finding> {
    let tried = evidence
        .files
        .iter()
        .zip(&evidence.traffic.transfers)
        .filter(|(file, _)| is_load(file) && file.request_ns >= after_ns && file.outcome != Outcome::Complete);
    // An attempt that has ended says more than a later one that goes on and has not come as far.
    let began_anew = |ns: i64, until_ns: i64| evidence.beginnings_after(ns).any(|next| next.start_ns < until_ns);
    let last = tried.clone().next_back();
    let ended = last
        .filter(|(file, transfer)| file.answer_ns.is_none() && !stopped(evidence, file, transfer))
        .and_then(|(pending, _)| tried.clone().rfind(|(file, _)| began_anew(file.end_ns, pending.request_ns)));
    let last = ended.or(last);
    let download = evidence.downloads.iter().rfind(|download| download.end_ns > after_ns && !came(download));
    let decides = |found: &Finding, is_coming: bool| {
        let is_later = last.is_some_and(|(file, _)| began_anew(file.end_ns, i64::MAX));
        found.verdict != Verdict::Unknown || is_coming || !is_later
    };
    let probe_only = last.is_some_and(|(file, _)| file.outcome == Outcome::SizeProbe);
    if let Some(download) = download
        && last.is_none_or(|(file, _)| file.request_ns < download.start_ns)
        && let Some(found) = self::download(evidence, download)
        && decides(&found, download.first_byte_ns.is_some())
    {
        return Some(found);
    }
    if let Some(found) = connection(evidence, after_ns).or_else(|| name_lookup(evidence, after_ns))
        && decides(&found, false)
    {
        return Some(found);
    }
    let (file, transfer) = if probe_only {
        // A question for the size is no attempt; what came before it may be one.
        let failed = tried.clone().rfind(|(file, _)| file.outcome != Outcome::SizeProbe);
        match failed {
            Some(failed) => failed,
            None => return size_only(evidence, last?.0),
        }
    } else {
        last?
    };
    let refused = tried.clone().filter(|(file, _)| file.outcome == Outcome::Refused).count();
    if file.outcome == Outcome::Refused
        && let Some(loaded) = loaded
    {
        return refused_after(evidence, loaded, file, refused);
    }
    Some(transfer_failed(evidence, file, transfer))
}

/// The client learned the size of a file and did not ask for the file.
fn size_only(evidence: &Evidence<'_>, file: &FileTransfer) -> Option<Finding> {
    let bytes = file.granted.as_ref().and_then(|granted| granted.file_bytes);
    let stage = stage(evidence, file);
    if !evidence.is_over(file.end_ns) {
        return Some(ends(evidence, stage, file.end_ns, &format!("the client requested the size of {}", file.file)));
    }
    // A server that knows options answers the question with an OACK; one that does not sends the file's first block.
    if file.granted.is_none() && file.counts.data_packets > 0 {
        let what = format!(
            "the client asked how large {} is; the server knows no options and sent the file's first block, and the client broke it off",
            file.file
        );
        let cure = "use a TFTP server that knows options (RFC 2347): this client asks for tsize before it loads, and gives up without an answer";
        return Some(Finding::failed(Reason::OptionsIgnored, stage, file.end_ns, what, cure).likely());
    }
    let size = bytes.map_or_else(|| "it".to_owned(), |bytes| format!("its size of {bytes} bytes"));
    let what = format!("the client asked how large {} is, and did not load it when it knew {size}", file.file);
    let cure = "look at the client's screen; a file of that size may not fit the client's memory or its limit: serve a smaller boot program that loads the rest";
    Some(Finding::failed(Reason::FileTooLarge, stage, file.end_ns, what, cure).likely())
}

fn ends(evidence: &Evidence<'_>, stage: StageKind, last_ns: i64, what: &str) -> Finding {
    let what = format!("{what}; the capture ends {} later", time(evidence.rest_ns(last_ns)));
    Finding::unknown(Reason::CaptureEnds, Some(stage), last_ns, what, CAPTURE_LONGER)
}

/// A program came, and what it then asked for was refused.
fn refused_after(evidence: &Evidence<'_>, loaded: &Loaded, file: &FileTransfer, refused: usize) -> Option<Finding> {
    if matches!(loaded.role, FileRole::Kernel | FileRole::Ramdisk | FileRole::Other) {
        // Loaders look for files that need not be there.
        return None;
    }
    let files = if refused == 1 { "1 file".to_owned() } else { format!("{refused} files") };
    let what = format!(
        "{} came whole; it then requested {files}, the last {}, and the server refused",
        loaded.name, file.file
    );
    if !evidence.is_over(file.end_ns) {
        return Some(ends(evidence, stage(evidence, file), file.end_ns, &what));
    }
    let cure =
        "put the loader's configuration where it looks (its requests are listed under files), or correct its prefix";
    let mut found = Finding::failed(Reason::FileRefused, stage(evidence, file), file.end_ns, what, cure).likely();
    found.tftp_code = file.error.as_ref().map(|error| error.code);
    Some(found)
}

fn stage(evidence: &Evidence<'_>, file: &FileTransfer) -> StageKind {
    // What firmware asks for first is the boot program, whatever its name.
    let first = evidence.files.iter().all(|other| other.request_ns >= file.request_ns || other.file == file.file);
    match file.role {
        FileRole::Other if first && evidence.beginnings().next().is_some() => StageKind::BootProgram,
        FileRole::BootProgram => StageKind::BootProgram,
        FileRole::Loader => StageKind::Loader,
        FileRole::Configuration => StageKind::Configuration,
        FileRole::Kernel => StageKind::Kernel,
        FileRole::Ramdisk => StageKind::Ramdisk,
        FileRole::Other => StageKind::OtherFile,
    }
}

fn name(file: &FileTransfer) -> &str {
    if file.file.is_empty() { "a file without a name" } else { &file.file }
}

fn transfer_failed(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> Finding {
    let stage = stage(evidence, file);
    let name = name(file);
    let end_ns = file.end_ns;
    let bytes = file.counts.bytes;
    let fail = |reason: Reason, what: String, cure: &str| Finding::failed(reason, stage, end_ns, what, cure);
    if transfer.highest_block == LAST_NUMBER && file.outcome != Outcome::Refused && stopped(evidence, file, transfer) {
        let what = format!(
            "{name} stopped at block 65,535 ({bytes} bytes in blocks of {}): one side does not start the block number again at 0",
            file.block_size
        );
        let cure = "use larger blocks (blksize 1468 carries 96 MB, 1448 over IPv6), or a server and a client that let the number roll over";
        return fail(Reason::BlockNumberLimit, what, cure);
    }
    let error = file.error.as_ref();
    match file.outcome {
        Outcome::Refused => {
            let (code, text) = error.map_or((0, ""), |error| (error.code, error.text.as_str()));
            let what = format!("the server refused {name}: {text} (TFTP error {code})");
            let mut found = fail(Reason::FileRefused, what, refusal_cure(code));
            found.tftp_code = Some(code);
            found
        }
        Outcome::Aborted => aborted(file, name, fail),
        _ if file.answer_ns.is_none() => unanswered(evidence, file, transfer, fail),
        _ if !stopped(evidence, file, transfer) => {
            ends(evidence, stage, end_ns, &format!("{name} was coming, {bytes} bytes so far"))
        }
        _ => silent(name, bytes, transfer, fail),
    }
}

/// Who did not go on, judged by the last packet that brought something new: the other end may repeat its own ever since.
fn silent(name: &str, bytes: u64, transfer: &Transfer, fail: impl Fn(Reason, String, &str) -> Finding) -> Finding {
    match transfer.last_new_packet {
        LastPacket::OptionAcknowledgment => fail(
            Reason::OptionsUnanswered,
            format!("the client did not answer the server's acknowledgment of options (OACK) for {name}"),
            "look for a filter between the two: the server answers from a new port above 1023, and a firewall that knows only port 69 drops what follows; or the client cannot take the options granted: switch them off at the server to try",
        ),
        LastPacket::Data if transfer.client_repeats > 0 => fail(
            Reason::ClientSilent,
            format!(
                "{name} stopped after {bytes} bytes: the client repeated an earlier acknowledgment and did not acknowledge the server's last block"
            ),
            "look for a link or filter between this place and the client that drops the server's blocks",
        )
        .likely(),
        LastPacket::Data => fail(
            Reason::ClientSilent,
            format!(
                "the client fell silent within {name}, after {bytes} bytes; the server's last block was not acknowledged"
            ),
            "look at the client: it hung, was switched off or lost its link; or acknowledgments are dropped on their way",
        ),
        _ if transfer.server_repeats > 0 => fail(
            Reason::ServerSilent,
            format!(
                "{name} stopped after {bytes} bytes: the server repeated an earlier block although the client had acknowledged it"
            ),
            "look for a link or filter between this place and the server that drops the client's acknowledgments",
        )
        .likely(),
        _ => fail(
            Reason::ServerSilent,
            format!(
                "the server fell silent within {name}, after {bytes} bytes; the client's last acknowledgment was not answered"
            ),
            "look at the server's log and load at this time, and for a filter that drops its blocks",
        ),
    }
}

fn refusal_cure(code: u16) -> &'static str {
    match code {
        2 => "let the TFTP server's user read the file and its folders",
        8 => {
            "the server refuses the options that the client asks for: update it, or switch the options off at the client"
        }
        1 => {
            "put the file where the client looks, or correct its name in the DHCP or loader configuration; names are case-sensitive on most servers"
        }
        _ => "look at the TFTP server's log at this time",
    }
}

fn aborted(file: &FileTransfer, name: &str, fail: impl Fn(Reason, String, &str) -> Finding) -> Finding {
    let (code, text) = file.error.as_ref().map_or((0, String::new()), |error| (error.code, error.text.clone()));
    let said = format!("after {} bytes: {text} (TFTP error {code})", file.counts.bytes);
    let lower = text.to_ascii_lowercase();
    let room = ["alloc", "full", "memory", "space", "too large", "too big", "buffer"];
    let mut found = if code == 3 || room.iter().any(|word| lower.contains(word)) {
        let what = format!("the client has no room for {name} and broke it off {said}");
        fail(Reason::FileTooLarge, what, "serve a smaller file, or give the client more memory")
    } else if file.counts.blocks == 0 && file.granted.is_some() {
        let what =
            format!("the client refused the options that the server granted for {name}: {text} (TFTP error {code})");
        let cure = "let the server grant only the options that the client requested, and no more of each (blksize, windowsize; RFC 2347): update it, or switch its options off";
        fail(Reason::OptionsRefused, what, cure)
    } else {
        let what = format!("the client broke {name} off {said}");
        fail(Reason::ClientAborted, what, "look at the client's screen or log: it ended the transfer itself")
    };
    found.tftp_code = Some(code);
    found
}

/// No packet of the server came.
fn unanswered(
    evidence: &Evidence<'_>,
    file: &FileTransfer,
    transfer: &Transfer,
    fail: impl Fn(Reason, String, &str) -> Finding,
) -> Finding {
    let name = name(file);
    let server = transfer.server.ip();
    let report = evidence.capture.undelivered.iter().find(|report| {
        report.time_ns >= file.request_ns
            && report.packet.destination.ip() == server
            && report.packet.source == transfer.client
            && report.packet.reason != UndeliveredReason::TooLarge
    });
    if let Some(report) = report {
        let packet = report.packet;
        let what = format!("{} answered the request for {name} with ICMP {}", packet.by, packet.reason.as_str());
        let cure = match packet.reason {
            UndeliveredReason::Port => {
                "start the TFTP service on the server, and let it listen on UDP port 69 of this address"
            }
            UndeliveredReason::Prohibited => "open UDP port 69, and the ports the server answers from, in the firewall",
            _ => "correct the server's address in the DHCP configuration, or the route to it",
        };
        return Finding { time_ns: report.time_ns, ..fail(Reason::ServerUnreachable, what, cure) };
    }
    if !stopped(evidence, file, transfer) {
        return ends(evidence, stage(evidence, file), file.end_ns, &format!("the client requested {name}"));
    }
    let times = if file.requests == 1 { "1 request".to_owned() } else { format!("{} requests", file.requests) };
    let what = format!("{server} did not answer {times} for {name} in {}", time(evidence.rest_ns(file.request_ns)));
    fail(
        Reason::RequestUnanswered,
        what,
        "check that the TFTP service runs on this address, and that no filter drops UDP port 69 on the way; the address comes from the DHCP configuration (next-server, option 66)",
    )
}

/// Whether a transfer that did not end has ended nevertheless: an end repeats itself in vain, the capture goes on without it, or
/// the client went on to something else.
fn stopped(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> bool {
    let is_in_vain = transfer.client_repeats.max(transfer.server_repeats) >= IN_VAIN;
    (is_in_vain && evidence.is_over(transfer.last_new_ns)) || evidence.is_over(file.end_ns)
}

fn download(evidence: &Evidence<'_>, download: &Download) -> Option<Finding> {
    let url = &download.url;
    let fail = |reason: Reason, what: String, cure: &str| {
        Finding::failed(reason, StageKind::Http, download.end_ns, what, cure)
    };
    if let Some(status) = download.status.filter(|&status| status >= 400) {
        let cure = match status {
            401 | 403 => "let the server hand the file out without a login, and its user read it",
            404 | 410 => "put the file where the client looks, or correct the URL in the DHCP or loader configuration",
            500.. => "look at the HTTP server's log at this time",
            _ => "look at the HTTP server's log: it does not take the client's request",
        };
        let mut found = fail(Reason::HttpError, format!("the server answered {status} for {url}"), cure);
        found.http_status = Some(status);
        return Some(found);
    }
    if download.method == "HEAD" && download.status.is_some() {
        return None;
    }
    let connection = connection_of(evidence, download);
    // A client whose request is not answered repeats it: that is not the other end's word.
    let heard_ns = match download.first_byte_ns {
        Some(_) => download.end_ns,
        None => connection.map_or(download.end_ns, |connection| connection.last_new_ns),
    };
    if !evidence.is_over(heard_ns) {
        return Some(ends(evidence, StageKind::Http, download.end_ns, &format!("{url} was coming")));
    }
    if download.first_byte_ns.is_none() {
        let encrypted = download.method.is_empty();
        let closed = connection
            .is_some_and(|connection| connection.requests.len() == 1 && (connection.closed || connection.reset));
        if encrypted && closed {
            // TLS 1.3 encrypts the alert that refuses a certificate.
            let what =
                format!("the connection to {} was closed as soon as its TLS handshake was over", download.server);
            return Some(fail(Reason::TlsFailed, what, OF_CERTIFICATES).likely());
        }
        let what = format!("the server did not answer the request for {url}");
        return Some(fail(Reason::HttpUnanswered, what, "look at the HTTP server's log and load at this time"));
    }
    let missing = download.announced_bytes.map_or_else(String::new, |bytes| format!(" of {bytes}"));
    let what = format!("{url} stopped after {}{missing} bytes", download.bytes);
    Some(
        fail(Reason::ServerSilent, what, "look at both ends at this time: the connection stopped within the file")
            .likely(),
    )
}

/// The connection that a download came over.
fn connection_of<'a>(evidence: &Evidence<'a>, download: &Download) -> Option<&'a Connection> {
    let start_ns = download.start_ns;
    evidence.traffic.connections.iter().copied().find(|connection| {
        let opens = !download.reused && connection.opened_ns.unwrap_or(connection.first_ns) == start_ns;
        opens || connection.requests.iter().any(|request| request.sent_ns == start_ns)
    })
}

/// The last connection for HTTP boot, when it did not come to a request.
fn connection(evidence: &Evidence<'_>, after_ns: i64) -> Option<Finding> {
    let over_http = evidence.dhcp.iter().filter(|exchange| exchange.stack != Stack::OperatingSystem).any(|exchange| {
        exchange.vendor_class.starts_with("HTTPClient")
            || exchange.boot_file.as_ref().is_some_and(|file| file.starts_with("http"))
    });
    let until_ns = evidence.system_ns.unwrap_or(i64::MAX);
    let connection =
        evidence.traffic.connections.iter().rfind(|connection| {
            (after_ns..until_ns).contains(&connection.first_ns) && connection.requests.is_empty()
        })?;
    if connection.protocol == Protocol::Tls && (over_http || has_program(evidence)) {
        return tls(evidence, connection);
    }
    if !over_http {
        return None;
    }
    let server = connection.server;
    let cure = "start the HTTP server, and open its port in the firewall; the address comes from the URL in the DHCP configuration";
    let fail = |what: String| Finding::failed(Reason::HttpUnanswered, StageKind::Http, connection.last_ns, what, cure);
    if connection.accepted_ns.is_none() && connection.reset {
        return Some(fail(format!("{server} refused the connection (TCP reset)")));
    }
    if connection.accepted_ns.is_none() && (connection.syns > 1 || evidence.is_over(connection.last_new_ns)) {
        return Some(fail(format!("{server} did not answer {} attempts to connect", connection.syns)));
    }
    None
}

/// Whether a boot program with a network stack of its own asked for an address.
fn has_program(evidence: &Evidence<'_>) -> bool {
    evidence.dhcp.iter().any(|exchange| exchange.stack == Stack::BootProgram)
}

const OF_CERTIFICATES: &str = "enroll the certificate of the server's authority in the client's firmware, check that the server's certificate names the host of the URL and is not out of date, and that the client's clock is right";

/// A TLS handshake that came to no request.
fn tls(evidence: &Evidence<'_>, connection: &Connection) -> Option<Finding> {
    let server = connection.server;
    let fail =
        |what: String, cure: &str| Finding::failed(Reason::TlsFailed, StageKind::Http, connection.last_ns, what, cure);
    if let Some(alert) = connection.tls_alert {
        let who = if alert.from_client { "the client" } else { "the server" };
        let name = alert.name();
        let what = format!("{who} broke off the TLS handshake with {server}: {name} (alert {})", alert.code);
        let cure = if alert.of_certificate() {
            OF_CERTIFICATES
        } else {
            "let the server offer a TLS version and ciphers that this client knows; its log names what it refused"
        };
        return Some(fail(what, cure));
    }
    if !connection.closed && !connection.reset && !evidence.is_over(connection.last_new_ns) {
        let what = format!("the TLS handshake with {server} was under way");
        return Some(ends(evidence, StageKind::Http, connection.last_ns, &what));
    }
    Some(fail(format!("the TLS handshake with {server} ended without a request"), OF_CERTIFICATES).likely())
}

/// The server's name, which the client looked up in vain and did not come beyond.
fn name_lookup(evidence: &Evidence<'_>, after_ns: i64) -> Option<Finding> {
    let until_ns = evidence.system_ns.unwrap_or(evidence.until_ns);
    let clients = evidence.client.addresses.iter().filter_map(|address| address.parse().ok());
    let lookups: Vec<&Lookup> = clients.flat_map(|client| evidence.link.lookups(client, after_ns, until_ns)).collect();
    let last = lookups.iter().max_by_key(|lookup| lookup.asked_ns)?;
    let name = &last.name;
    // IPv4 and IPv6 addresses are looked up apart, and one is enough.
    let same = || lookups.iter().filter(|lookup| lookup.name.eq_ignore_ascii_case(name));
    let connected = evidence.traffic.connections.iter().any(|connection| connection.first_ns > last.asked_ns);
    let requested = evidence.traffic.transfers.iter().any(|transfer| transfer.request_ns > last.asked_ns);
    if same().any(|lookup| lookup.found) || connected || requested {
        return None;
    }
    let urls = evidence.dhcp.iter().filter_map(|exchange| exchange.boot_file.as_deref());
    let named = urls.filter_map(host_of).any(|host| host.eq_ignore_ascii_case(name));
    if !named && !has_program(evidence) {
        return None;
    }
    let last_ns = last.answered_ns.unwrap_or(last.asked_ns);
    if !evidence.is_over(last_ns) {
        return Some(ends(evidence, StageKind::Http, last_ns, &format!("the client looked up {name}")));
    }
    let code = same().filter_map(|lookup| lookup.code).max();
    let (what, cure) = match code {
        None => (
            format!("no DNS server answered the client's question for {name}"),
            "start the DNS server, or correct its address in the DHCP configuration (option 6; DHCPv6 option 23)",
        ),
        Some(3) => (
            format!("the DNS server knows no host {name} (NXDOMAIN)"),
            "correct the URL in the DHCP configuration, or add the name to the DNS server that the client is given",
        ),
        Some(0) => (
            format!("the DNS server knows no address of {name}"),
            "add an address of the IP version that the client boots over, or put an address into the URL",
        ),
        Some(code) => (
            format!("the DNS server did not resolve {name} (response code {code})"),
            "look at the DNS server's log at this time: it refused the question or could not answer it",
        ),
    };
    let found = Finding::failed(Reason::NameNotResolved, StageKind::Http, last_ns, what, cure);
    Some(if named { found } else { found.likely() })
}

/// The host of a URL; `None` for a path.
fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', ':', '?']).next()
}

/// Something came whole, and no file after it failed.
pub(super) fn loaded(evidence: &Evidence<'_>, loaded: &Loaded) -> Finding {
    let programs = evidence
        .files
        .iter()
        .filter(|file| file.role == FileRole::BootProgram && is_load(file) && file.outcome == Outcome::Complete)
        .count() as u64;
    let again = evidence.beginnings().filter(|exchange| exchange.start_ns > loaded.end_ns).last();
    if programs >= LOOP {
        let what = format!("the boot program was loaded {programs} times, and no operating system's network began");
        let cure = "look at the client's screen: what is loaded ends or resets the machine each time";
        return Finding::failed(Reason::Loop, StageKind::Client, loaded.end_ns, what, cure);
    }
    if let Some(again) = again {
        let what = format!(
            "{} after {} came whole, the firmware requested an address again: the program gave control back, or the machine was reset",
            time(again.start_ns.saturating_sub(loaded.end_ns)),
            loaded.name
        );
        let cure = "look at the client's screen: the program may be for another architecture, unsigned under Secure Boot, or end by itself";
        return Finding::failed(Reason::BackToFirmware, StageKind::Client, again.start_ns, what, cure).likely();
    }
    if let Some(program) = evidence.dhcp.iter().rfind(|exchange| {
        exchange.stack == Stack::BootProgram && exchange.start_ns > loaded.end_ns && !exchange.complete
    }) {
        let last_ns = program.messages.last().map_or(program.start_ns, |message| message.time_ns);
        if program.attempts > 1 || evidence.is_over(last_ns) {
            let what = format!("{} came whole, and its own question for an address was not answered", loaded.name);
            let cure = "give the boot program's DHCP request an answer: some servers know each client only once, and a switch port that blocks after the link was reset loses the first questions (portfast)";
            return Finding {
                ip_version: program.ip_version,
                ..Finding::failed(Reason::NoDhcpAnswer, StageKind::Dhcp, last_ns, what, cure)
            };
        }
    }
    let others = match loaded.files {
        1 => "it is the only file".to_owned(),
        files => format!("it is the last of {files} files"),
    };
    let after = match evidence.rest_ns(loaded.end_ns) {
        ..1_000_000 => "the capture ends with it".to_owned(),
        rest_ns => format!("no sign of the operating system's network in the {} after", time(rest_ns)),
    };
    let what = format!("{} came whole, {others}; {after}", loaded.name);
    let found = Finding::new(Verdict::Loaded, Reason::FilesLoaded, loaded.end_ns, what);
    // That the client went on with it shows only in time without another attempt.
    if loaded.certain && evidence.is_over(loaded.end_ns) { found } else { found.likely() }
}

/// Only transfers whose request was not captured.
pub(super) fn under_way(evidence: &Evidence<'_>) -> Option<Finding> {
    let file = evidence.files.iter().rfind(|file| file.under_way)?;
    let end = if file.outcome == Outcome::Complete { "came to its end" } else { "is not finished in this capture" };
    let what = format!(
        "a file was under way when the capture began; {} bytes of it were captured, and it {end}",
        file.counts.bytes
    );
    Some(Finding::unknown(
        Reason::CaptureBegins,
        Some(StageKind::OtherFile),
        file.end_ns,
        what,
        "start the capture before the client",
    ))
}
