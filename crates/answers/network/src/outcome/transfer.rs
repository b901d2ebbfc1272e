//! The outcome of a TFTP transfer that is not complete: refused, aborted, unreachable, or silent.

use onoff_netboot::capture::UndeliveredPacket;
use onoff_netboot::frame::UnreachableReason;
use onoff_netboot::tftp::Options;
use onoff_netboot::transfer::{Outcome, PacketKind, Transfer};

use super::super::report::FileTransfer;
use super::loads::{capture_ends, name, stage};
use super::{Conclusion, Evidence, Reason, direction, time};

/// Number of blocks whose numbers fit into 16 bits.
const NUMBERED_BLOCKS: u64 = 65_536;
/// Maximum distance of a stop from the last 16-bit block number, blocks: some servers stop one before it or after it.
const LIMIT_TOLERANCE: u64 = 2;
/// Minimum number of repetitions without anything new before the other end counts as gone. A single repetition may
/// follow a lost packet.
const MIN_REPEATS: u64 = 2;
/// TFTP error code for refused options (RFC 2347).
const OPTIONS_REFUSED: u16 = 8;

pub(super) fn failed(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> Conclusion {
    let stage = stage(evidence, file);
    let name = name(file);
    let end_ns = file.end_ns;
    let bytes = file.counts.bytes;
    let fail = |reason: Reason, description: String, advice: &str| {
        Conclusion::failed(reason, stage, end_ns, description, advice)
    };
    let has_stopped = has_stopped(evidence, file, transfer);
    let is_ended = has_stopped || matches!(file.outcome, Outcome::Refused | Outcome::Aborted);
    if is_ended && let Some(description) = block_number_limit(file, transfer) {
        let wrap = "use a server and a client that let the block number wrap, or load the file over HTTP";
        let limit = file.unfragmented_limit;
        let advice = if file.block_size < limit {
            let size = mebibytes(NUMBERED_BLOCKS * u64::from(limit));
            format!("use larger blocks (blksize {limit} allows {size} MiB); for larger files {wrap}")
        } else {
            wrap.to_owned()
        };
        return fail(Reason::BlockNumberLimit, format!("{name} {description}"), &advice);
    }
    if file.outcome == Outcome::Unfinished
        && let Some(report) = undelivered(evidence, transfer)
    {
        return Conclusion { time_ns: report.time_ns, ..not_delivered(name, file, transfer, report, fail) };
    }
    match file.outcome {
        Outcome::Refused => refused(file, name, fail),
        Outcome::Aborted => aborted(file, name, fail),
        _ if file.answer_ns.is_none() => unanswered(evidence, file, transfer, fail),
        _ if !has_stopped => {
            capture_ends(evidence, stage, end_ns, &format!("{name} was being transferred, {bytes} bytes so far"))
        }
        _ => fragments_lost(evidence, file, name, fail).unwrap_or_else(|| silent(name, file, transfer, fail)),
    }
}

/// True if an incomplete transfer is over: one side repeats itself without effect, the capture continues without it, or
/// the client does something else.
fn has_stopped(evidence: &Evidence<'_>, file: &FileTransfer, transfer: &Transfer) -> bool {
    let is_repeating = transfer.client_retransmissions.max(transfer.server_retransmissions) >= MIN_REPEATS;
    (is_repeating && evidence.is_over(transfer.last_new_ns)) || evidence.is_over(file.end_ns)
}

/// Describes a stop at the last 16-bit block number; `None` if the transfer stopped elsewhere.
fn block_number_limit(file: &FileTransfer, transfer: &Transfer) -> Option<String> {
    let acknowledged = transfer.acknowledged.unwrap_or(0);
    let highest = transfer.highest_block;
    // The first block that one side lacks is at the limit, within a window of it.
    let reaches_limit = highest >= NUMBERED_BLOCKS - 1 - LIMIT_TOLERANCE;
    let is_past_limit = acknowledged > NUMBERED_BLOCKS + LIMIT_TOLERANCE;
    if !reaches_limit || is_past_limit {
        return None;
    }
    let block_size = file.block_size;
    let limit = mebibytes(NUMBERED_BLOCKS * u64::from(block_size));
    let side = match transfer.number_after_wrap {
        Some(number) => {
            format!("the server continued with block number {number} after 65,535, which the client did not accept")
        }
        None => "one side does not let the block number wrap".to_owned(),
    };
    Some(format!("stopped at {limit} MiB = 65,536 blocks of {block_size} bytes, the last 16-bit block number: {side}"))
}

/// Formats bytes in MiB with at most one decimal.
fn mebibytes(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    let tenths = (bytes.saturating_mul(10) + MIB / 2) / MIB;
    let (whole, tenth) = (tenths / 10, tenths % 10);
    if tenth == 0 { whole.to_string() } else { format!("{whole}.{tenth}") }
}

/// Returns the ICMP report about a packet of the transfer, if nothing new followed it.
fn undelivered<'a>(evidence: &Evidence<'a>, transfer: &Transfer) -> Option<&'a UndeliveredPacket> {
    let is_too_large = |report: &UndeliveredPacket| report.packet.reason == UnreachableReason::TooLarge;
    let reports = evidence.capture.undelivered.iter();
    let mut about_transfer = reports.filter(|report| {
        let (source, destination) = (report.packet.source, report.packet.destination);
        let is_from_client = source == transfer.client && destination.ip() == transfer.server.ip();
        let is_from_server = destination == transfer.client && source.ip() == transfer.server.ip();
        let is_relevant = is_from_server || (is_from_client && !is_too_large(report));
        is_relevant && (transfer.request_ns..=evidence.until_ns).contains(&report.time_ns)
    });
    about_transfer.find(|report| report.time_ns >= transfer.last_new_ns)
}

/// Handles an ICMP report about the request, or about a packet within the transfer.
fn not_delivered(
    name: &str,
    file: &FileTransfer,
    transfer: &Transfer,
    report: &UndeliveredPacket,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Conclusion {
    let (packet, bytes) = (report.packet, file.counts.bytes);
    let reported = format!("{} reported ICMP {}", packet.reporter, packet.reason.as_str());
    let is_request = file.answer_ns.is_none();
    match packet.reason {
        UnreachableReason::TooLarge | UnreachableReason::Reassembly if !is_request => {
            let description =
                format!("blocks of {} bytes of {name} do not reach the client: {reported}", file.block_size);
            fail(Reason::FragmentsLost, description, &smaller_blocks(file))
        }
        reason if is_request || packet.source == transfer.client => {
            let description = if is_request {
                format!("{reported} for the request for {name}")
            } else {
                format!(
                    "{reported} for port {} of the server within {name}, after {bytes} bytes",
                    packet.destination.port()
                )
            };
            let advice = match reason {
                UnreachableReason::Port if is_request => {
                    "start the TFTP service on the server and have it listen on UDP port 69 of this address"
                }
                UnreachableReason::Port => {
                    "check the TFTP server's log at this time: the service was restarted or crashed, which closed the port of this transfer"
                }
                UnreachableReason::Prohibited => {
                    "open UDP port 69, and the ports the TFTP server responds from, in the firewall"
                }
                _ if is_request => "correct the server's address in the DHCP configuration, or the route to it",
                _ => "check the server and the route to it at this time",
            };
            fail(Reason::ServerUnreachable, description, advice)
        }
        _ => {
            let description = format!(
                "{reported} for the client's port {} within {name}, after {bytes} bytes: the client had ended the transfer",
                transfer.client.port()
            );
            let advice = "check the client's screen: its loader gave up, or the client restarted within the file";
            fail(Reason::ClientUnreachable, description, advice)
        }
    }
}

fn smaller_blocks(file: &FileTransfer) -> String {
    format!(
        "set the block size to at most {} (BCD ramdisktftpblocksize; the server's limit for blksize), so that a block fits into a frame of 1,500 bytes",
        file.unfragmented_limit
    )
}

/// Handles a transfer whose blocks were fragmented, with fragments missing.
fn fragments_lost(
    evidence: &Evidence<'_>,
    file: &FileTransfer,
    name: &str,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Option<Conclusion> {
    let counts = file.counts;
    let incomplete = counts.fragmented.saturating_sub(counts.reassembled);
    // A filter of the capture that names ports drops later fragments, also of transfers that complete.
    let is_filtered = evidence
        .files
        .iter()
        .any(|file| file.outcome == Outcome::Complete && file.counts.fragmented > 0 && file.counts.reassembled == 0);
    if incomplete == 0 || is_filtered {
        return None;
    }
    let description = format!(
        "{name} stopped after {} bytes: its blocks of {} bytes are sent as IP fragments, and {incomplete} of {} blocks lack fragments",
        counts.reassembled.saturating_mul(file.block_size.into()),
        file.block_size,
        counts.fragmented
    );
    let conclusion = fail(Reason::FragmentsLost, description, &smaller_blocks(file));
    Some(if counts.reassembled == 0 { conclusion } else { conclusion.likely() })
}

/// Determines which side stopped, judged by the last new packet: the other side may have repeated its packet since.
fn silent(
    name: &str,
    file: &FileTransfer,
    transfer: &Transfer,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Conclusion {
    let bytes = file.counts.bytes;
    match transfer.last_new_packet {
        PacketKind::OptionAcknowledgment => {
            let requests = match file.requests {
                0 | 1 => String::new(),
                requests => format!("; it repeated its request instead, {requests} in total"),
            };
            fail(
                Reason::OptionsUnanswered,
                format!(
                    "the client did not respond to the server's option acknowledgment (OACK) for {name}{requests}"
                ),
                "check the client and the way to it, not the server: a firewall that allows only port 69 drops the server's packets, which come from a new port above 1023; or the client does not accept the granted options: turn them off at the server to test",
            )
        }
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
        _ => {
            let repeats = match transfer.client_retransmissions {
                0 => "it did not respond to the client's last acknowledgment".to_owned(),
                repeats => format!(
                    "it did not respond to the client's last acknowledgment, which the client repeated {repeats} times in {}",
                    time(transfer.last_ns.saturating_sub(transfer.last_new_ns))
                ),
            };
            fail(
                Reason::ServerSilent,
                format!("the server stopped sending within {name}, after {bytes} bytes; {repeats}"),
                "check the server's log and load at this time, and look for a filter that drops its blocks",
            )
        }
    }
}

/// Lists the options of a request or answer, such as `blksize 8192, windowsize 16`.
fn option_list(options: &Options) -> String {
    let mut list = Vec::new();
    let mut add = |name: &str, value: Option<u64>| list.extend(value.map(|value| format!("{name} {value}")));
    add("blksize", options.block_size.map(u64::from));
    add("windowsize", options.window.map(u64::from));
    add("tsize", options.file_bytes);
    add("timeout", options.timeout_s.map(u64::from));
    add("msftwindow", options.variable_window.map(u64::from));
    list.extend(options.others.iter().cloned());
    list.join(", ")
}

/// Handles a request or transfer that the server ended with an error.
fn refused(file: &FileTransfer, name: &str, fail: impl Fn(Reason, String, &str) -> Conclusion) -> Conclusion {
    let (code, text) = file.error.as_ref().map_or((0, ""), |error| (error.code, error.text.as_str()));
    let options = option_list(&file.requested);
    let mut conclusion = if file.counts.blocks > 0 {
        let description =
            format!("the server aborted {name} after {} bytes: {text} (TFTP error {code})", file.counts.bytes);
        fail(Reason::FileRefused, description, "check the TFTP server's log at this time")
    } else if code == OPTIONS_REFUSED && !options.is_empty() {
        let description = format!(
            "the server refused the options that the client requested for {name} ({options}): {text} (TFTP error {code})"
        );
        let advice = format!(
            "have the client request options that the server accepts, such as blksize {}, or update the server: it may ignore an option, but not refuse the file (RFC 2347)",
            file.unfragmented_limit
        );
        fail(Reason::OptionsRefused, description, &advice)
    } else {
        let description = format!("the server refused the file {name}: {text} (TFTP error {code})");
        fail(Reason::FileRefused, description, refusal_advice(code))
    };
    conclusion.tftp_code = Some(code);
    conclusion
}

fn refusal_advice(code: u16) -> &'static str {
    match code {
        2 => "give the TFTP server's user read access to the file and its folders",
        OPTIONS_REFUSED => "the server refuses the client's options: update it, or turn the options off at the client",
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
    let granted = file.granted.as_ref().filter(|_| file.counts.blocks == 0);
    let is_too_large = code == 3 || memory_words.iter().any(|word| lowercase.contains(word));
    let mut conclusion = match granted {
        _ if is_too_large => {
            let description = format!("the client has no room for {name} and aborted it {message}");
            fail(Reason::FileTooLarge, description, "serve a smaller file, or give the client more memory")
        }
        Some(granted) => {
            let (requested, granted) = (option_list(&file.requested), option_list(granted));
            let requested = if requested.is_empty() { "no option".to_owned() } else { requested };
            let description = format!(
                "the client refused the options that the server granted for {name}: {text} (TFTP error {code}); it requested {requested}, and the server granted {granted}"
            );
            let advice = "let the server grant only requested options, up to the requested values (blksize, windowsize; RFC 2347): update it, or turn its options off";
            fail(Reason::OptionsRefused, description, advice)
        }
        None => {
            let description = format!("the client aborted {name} {message}");
            let advice = "check the client's screen or log, because the client ended the transfer";
            fail(Reason::ClientAborted, description, advice)
        }
    };
    conclusion.tftp_code = Some(code);
    conclusion
}

fn requests(file: &FileTransfer) -> String {
    if file.requests == 1 { "1 request".to_owned() } else { format!("{} requests", file.requests) }
}

/// Handles requests that a server with several addresses answered from another one than the client requested.
fn answered_from_other_address(
    evidence: &Evidence<'_>,
    file: &FileTransfer,
    transfer: &Transfer,
    fail: impl Fn(Reason, String, &str) -> Conclusion,
) -> Option<Conclusion> {
    let foreign = transfer.foreign_answers.filter(|_| has_stopped(evidence, file, transfer))?;
    let (server, other) = (transfer.server.ip(), foreign.address);
    let answers = if foreign.packets == 1 { "answer" } else { "answers" };
    let description = format!(
        "the client sent {} for {} to {server}, and {} {answers} came from {other}: the client did not accept them, because a TFTP server may change its port, but not its address (RFC 1350)",
        requests(file),
        name(file),
        foreign.packets,
    );
    let advice = format!(
        "have the TFTP server answer from the address that the client requests: have it listen on {server} only (tftpd-hpa --address, dnsmasq --listen-address with --bind-interfaces), name {other} as the boot server (next-server, option 66), or look for address translation in between"
    );
    let conclusion = fail(Reason::AnsweredFromOtherAddress, description, &advice);
    // Without a repetition, the client may have given up for another reason.
    Some(if file.requests > 1 { conclusion } else { conclusion.likely() })
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
    if let Some(conclusion) = answered_from_other_address(evidence, file, transfer, &fail) {
        return conclusion;
    }
    if !has_stopped(evidence, file, transfer) {
        return capture_ends(evidence, stage(evidence, file), file.end_ns, &format!("the client requested {name}"));
    }
    let requests = requests(file);
    let waited = time(evidence.remaining_ns(file.request_ns));
    if let Some(proof) = direction::without_transfer_ports(evidence) {
        let description = format!(
            "the client sent {requests} for {name} in {waited}, so no answer reached it; {proof}, so whether {server} answered is not known"
        );
        return fail(Reason::RequestUnanswered, description, direction::CAPTURE_ALL_PORTS).likely();
    }
    let description = format!("{server} did not answer {requests} for {name} in {waited}");
    fail(
        Reason::RequestUnanswered,
        description,
        "check that the TFTP service is running at this address and that no filter drops UDP port 69; the address comes from the DHCP configuration (next-server, option 66)",
    )
}
