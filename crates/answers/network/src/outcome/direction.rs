//! Captures that hold only one direction, or only the requests for files: what they prove, and what they cannot show.

use onoff_netboot::dhcp::DhcpKind;
use onoff_netboot::transfer::{Outcome, Transfer};

use super::super::dhcp::Stack;
use super::{Conclusion, Evidence, Reason};

const CAPTURE_BOTH: &str =
    "capture both directions: at the server, at the client, or at a mirror port that copies what is received and sent";

pub(super) const CAPTURE_ALL_PORTS: &str = "filter the capture by the client instead of by port (ether host and its MAC address): a transfer uses port 69 for its request only, and a new port of the server for the rest";
/// Minimum number of requests from one port after which the client has certainly received no answer.
const MIN_UNANSWERED_REQUESTS: u64 = 3;

/// Returns what shows that the capture was filtered by port, so that it holds the requests for files and no transfer.
pub(super) fn without_transfer_ports(evidence: &Evidence<'_>) -> Option<&'static str> {
    let is_request_only = |transfer: &&Transfer| transfer.answer_ns.is_none() && transfer.acknowledged.is_none();
    let is_repeated = |transfer: &&Transfer| transfer.requests >= MIN_UNANSWERED_REQUESTS;
    if !evidence.transfers.iter().all(|transfer| is_request_only(transfer) && transfer.foreign_answers.is_none()) {
        return None;
    }
    if evidence.capture.frames_beyond_boot_ports == 0 && !evidence.transfers.is_empty() {
        return Some("the capture holds the ports of DHCP and of file requests only, and transfers use other ports");
    }
    let first = evidence.transfers.first()?;
    let has_next_file = evidence.transfers.iter().any(|transfer| transfer.file != first.file);
    (has_next_file && !evidence.transfers.iter().any(is_repeated)).then_some(
        "a client repeats a request without an answer, and this one went on to the next file: the answers are not in the capture",
    )
}

/// Handles captures without transfers, unless the client repeated its last request or the capture ends with the first.
pub(super) fn requests_only(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let last = evidence.files.last().filter(|file| file.requests < MIN_UNANSWERED_REQUESTS)?;
    if evidence.files.len() == 1 && !evidence.is_over(last.end_ns) {
        return None;
    }
    let proof = without_transfer_ports(evidence)?;
    let name = super::loads::name(last);
    let requests = match evidence.files.len() {
        1 => format!("the client requested {name}"),
        requests => format!("the client sent {requests} requests for files, the last one for {name}"),
    };
    let stage = super::loads::stage(evidence, last);
    let description = format!("{requests}; {proof}");
    Some(Conclusion::unknown(Reason::TransfersNotCaptured, Some(stage), last.end_ns, description, CAPTURE_ALL_PORTS))
}

/// Returns a conclusion if the capture lacks the packets of the client or of its servers, and therefore does not show
/// how the attempt ended.
pub(super) fn conclusion(evidence: &Evidence<'_>) -> Option<Conclusion> {
    without_servers(evidence).or_else(|| without_client(evidence))
}

/// Handles captures without a packet from a server, although later packets of the client prove answers.
fn without_servers(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let has_message = evidence.messages.iter().any(|message| !message.kind.is_from_client());
    let has_packet =
        evidence.transfers.iter().any(|transfer| transfer.answer_ns.is_some() || transfer.foreign_answers.is_some());
    let has_segment =
        evidence.connections.iter().any(|connection| connection.accepted_ns.is_some() || connection.server_bytes > 0);
    if has_message || has_packet || has_segment {
        return None;
    }
    let proof = evidence
        .transfers
        .iter()
        .filter(|transfer| !transfer.write && transfer.acknowledged.is_some())
        .max_by_key(|transfer| transfer.acknowledged)
        .map(|transfer| match transfer.acknowledged {
            Some(0) | None => format!("it acknowledged the server's options for {}", transfer.file),
            Some(block) => format!("it acknowledged {block} blocks of {}", transfer.file),
        });
    let proof = proof.or_else(|| {
        let connection = evidence.connections.iter().find(|connection| !connection.requests.is_empty())?;
        Some(format!("it sent requests on a TCP connection to {}", connection.server))
    });
    let proof = proof.or_else(|| {
        let has_unseen_offer = evidence.dhcp.iter().any(|exchange| exchange.lacks_offer());
        let has_unseen_lease = !evidence.dhcp.is_empty() && !evidence.transfers.is_empty();
        (has_unseen_offer || has_unseen_lease).then(|| "it used an address that a server had offered".to_owned())
    });
    let description = format!(
        "the capture has only the packets of the client, and {}: servers answered, but their packets are not in the capture",
        proof?
    );
    Some(unknown(evidence, description))
}

/// Handles captures with packets to the client, but none from it.
fn without_client(evidence: &Evidence<'_>) -> Option<Conclusion> {
    let has_message = evidence.messages.iter().any(|message| message.kind.is_from_client());
    let has_packet = evidence.transfers.iter().any(|transfer| !transfer.server_only);
    if has_message || has_packet || !evidence.connections.is_empty() {
        return None;
    }
    let refusal = evidence.messages.iter().rfind(|message| message.kind == DhcpKind::Nak);
    if let Some(message) = refusal {
        let server = message.server.unwrap_or(message.source.ip());
        let description =
            format!("{server} refused the client's address (DHCPNAK); the client's packets are not in the capture");
        let advice = "look for a second DHCP server on the link, and for a reservation or range that does not match the client's network";
        let stage = super::StageKind::Dhcp;
        return Some(Conclusion::failed(Reason::DhcpRefused, stage, message.time_ns, description, advice).likely());
    }
    let last = evidence.transfers.last();
    let proof = match last {
        Some(transfer) if transfer.has_last_block => format!(
            "a server sent {} blocks, the last one short, which ends a file: {} bytes",
            transfer.counts.blocks, transfer.counts.bytes
        ),
        Some(transfer) => format!("a server sent {} blocks of a file", transfer.counts.blocks),
        None if !evidence.messages.is_empty() => "a server offered or assigned an address".to_owned(),
        None => return None,
    };
    let description = format!(
        "the capture has only the packets of servers, and {proof}; the client's packets are not in the capture"
    );
    Some(unknown(evidence, description))
}

fn unknown(evidence: &Evidence<'_>, description: String) -> Conclusion {
    let has_file = evidence.files.iter().any(|file| file.outcome != Outcome::Refused);
    let stage = if has_file { super::StageKind::OtherFile } else { super::StageKind::Dhcp };
    let stage = evidence.files.last().map_or(stage, |file| super::loads::stage(evidence, file));
    Conclusion::unknown(Reason::OneDirection, Some(stage), evidence.last_ns(), description, CAPTURE_BOTH)
}

/// True if only the client's half of the boot was captured, and the operating system's request followed: the files
/// arrived.
pub(super) fn is_proven_by_system(evidence: &Evidence<'_>) -> bool {
    let has_system = evidence.dhcp.iter().any(|exchange| exchange.stack == Stack::OperatingSystem);
    let acknowledged = evidence.transfers.iter().any(|transfer| transfer.acknowledged.is_some_and(|block| block > 0));
    has_system && acknowledged && without_servers(evidence).is_some()
}
