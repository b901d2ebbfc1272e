//! Dialogues with DHCP and boot servers.

use onoff_netboot::dhcp::{DhcpKind, DhcpMessage, PxeOptions};
use serde::Serialize;

use super::link::LinkIndex;

/// Port of PXE boot servers.
const BOOT_SERVER_PORT: u16 = 4011;

/// A dialogue, from the client's first request to the final answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DhcpExchange {
    /// IP version: 4 or 6.
    pub ip_version: u8,
    /// Software that sent the requests.
    pub stack: Stack,
    /// True for a boot server (port 4011), false for DHCP servers.
    pub boot_server_dialogue: bool,
    /// First request, ns.
    pub start_ns: i64,
    /// Final answer, ns. Without a final answer, the time when the client did something else or of the last message.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// True if the client got an address or the information that it requested.
    pub complete: bool,
    /// Number of times the first request was sent.
    pub attempts: u64,
    /// Number of times the request for an offered address was sent.
    pub request_attempts: u64,
    /// Waits before repeated messages, ns: first requests, then requests for the offered address.
    pub waits_ns: Vec<i64>,
    /// Total of the waits that ended without an answer, ns.
    pub unanswered_ns: i64,
    /// From the request to its first offer, ns; `None` without an offer. If the server checked whether the address is
    /// in use, the delay starts at the last request before the first check.
    pub offer_delay_ns: Option<i64>,
    /// From the first offer to the client's request, ns.
    pub choice_delay_ns: Option<i64>,
    /// From the client's request for the address to the final answer, ns.
    pub answer_delay_ns: Option<i64>,
    /// Address-in-use checks by others between request and offer.
    pub address_probes: u64,
    /// Assigned address.
    pub address: Option<String>,
    /// Servers that answered.
    pub servers: Vec<String>,
    /// True if a ProxyDHCP server sent an offer without an address.
    pub proxy: bool,
    /// Boot server.
    pub boot_server: Option<String>,
    /// Boot file or URL.
    pub boot_file: Option<String>,
    /// Vendor class of the client; empty if it sent none or it was truncated.
    pub vendor_class: String,
    /// PXE options from the answer that had them.
    pub pxe: PxeOptions,
    /// Messages, ordered by time.
    pub messages: Vec<DhcpStep>,
}

impl DhcpExchange {
    /// True if the server refused the requested address.
    pub(super) fn is_refused(&self) -> bool {
        self.messages.last().is_some_and(|message| message.kind == DhcpKind::Nak)
    }

    /// True if the client requested the address of an offer that is not in the capture.
    pub(super) fn lacks_offer(&self) -> bool {
        let is_first_request = |kind| matches!(kind, DhcpKind::Discover | DhcpKind::Solicit);
        self.offer_delay_ns.is_none()
            && self.request_attempts > 0
            && self.messages.first().is_some_and(|message| is_first_request(message.kind) && !message.inferred)
    }
}

/// Client software that sends DHCP messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stack {
    /// Firmware: PXE or HTTP boot, or the stack below them.
    Firmware,
    /// A network boot program such as iPXE.
    BootProgram,
    OperatingSystem,
}

impl Stack {
    /// Returns the display name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Firmware => "firmware",
            Self::BootProgram => "boot program",
            Self::OperatingSystem => "operating system",
        }
    }
}

/// A message of a dialogue.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DhcpStep {
    pub time_ns: i64,
    /// Time since the previous message, ns.
    pub delay_ns: i64,
    pub kind: DhcpKind,
    /// True if the kind was truncated and is inferred from the message order.
    pub inferred: bool,
    /// Sender.
    pub from: String,
    pub address: Option<String>,
    /// Boot file or URL.
    pub boot_file: Option<String>,
}

/// Extends incomplete dialogues to the client's next activity, from `starts`.
pub(super) fn extend_incomplete(exchanges: &mut [DhcpExchange], starts: &[i64]) {
    let mut starts = starts.to_vec();
    starts.sort();
    for exchange in exchanges.iter_mut().filter(|exchange| !exchange.complete) {
        let last_ns = exchange.messages.last().map_or(exchange.end_ns, |step| step.time_ns);
        let next = starts.get(starts.partition_point(|&start| start <= last_ns)).copied();
        if let Some(next) = next {
            exchange.end_ns = next;
            exchange.duration_ns = next.saturating_sub(exchange.start_ns);
        }
    }
}

/// The start of a dialogue.
#[derive(Clone, Copy, Debug)]
pub(super) struct DialogueStart {
    pub(super) start_ns: i64,
    pub(super) stack: Stack,
    /// True if the vendor class belongs to a network boot client.
    pub(super) is_boot_client: bool,
}

/// Returns the start of each dialogue of a client, which is enough to find its boots.
pub(super) fn dialogue_starts<'a>(
    messages: &[&'a DhcpMessage],
    loading_ns: Option<i64>,
) -> impl Iterator<Item = DialogueStart> + use<'a> {
    let history = History::new(messages, loading_ns);
    dialogues(messages).into_iter().map(move |group| DialogueStart {
        start_ns: group.first().map_or(0, |message| message.time_ns),
        stack: history.stack(&group),
        is_boot_client: vendor_class(&group).contains("Client"),
    })
}

/// Returns the dialogues of a client. `loading_ns` is the time of its first file request.
pub(super) fn exchanges(messages: &[&DhcpMessage], link: &LinkIndex<'_>, loading_ns: Option<i64>) -> Vec<DhcpExchange> {
    let history = History::new(messages, loading_ns);
    dialogues(messages).iter().map(|group| exchange(group, link, &history)).collect()
}

/// Groups messages into dialogues.
fn dialogues<'a>(messages: &[&'a DhcpMessage]) -> Vec<Vec<&'a DhcpMessage>> {
    /// Number of recent dialogues that a message may belong to. Clients have few open at a time but may start any
    /// number.
    const MAX_OPEN: usize = 16;
    let mut open: Vec<Vec<&DhcpMessage>> = Vec::new();
    for &message in messages {
        if matches!(message.kind, DhcpKind::Release | DhcpKind::Decline) {
            continue;
        }
        let dialogue = open.iter_mut().rev().take(MAX_OPEN).find(|group| belongs(message, group));
        match dialogue {
            Some(group) => group.push(message),
            // Ignore answers without a request.
            None if !message.kind.is_from_client() => {}
            None => open.push(vec![message]),
        }
    }
    open
}

/// Returns the first vendor class sent by the client; empty if there is none.
fn vendor_class<'a>(group: &[&'a DhcpMessage]) -> &'a str {
    let requests = group.iter().filter(|message| message.kind.is_from_client());
    requests.map(|message| message.vendor_class.as_str()).find(|class| !class.is_empty()).unwrap_or_default()
}

fn version(message: &DhcpMessage) -> u8 {
    if message.source.is_ipv4() { 4 } else { 6 }
}

fn involves_boot_server(message: &DhcpMessage) -> bool {
    message.source.port() == BOOT_SERVER_PORT || message.destination.port() == BOOT_SERVER_PORT
}

fn belongs(message: &DhcpMessage, group: &[&DhcpMessage]) -> bool {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return false };
    if version(message) != version(first) || involves_boot_server(message) != involves_boot_server(first) {
        return false;
    }
    // A new request after the client has its address starts another dialogue, although some clients keep the
    // transaction id across a reset.
    let is_new = matches!(message.kind, DhcpKind::Discover | DhcpKind::Solicit)
        && group.iter().any(|earlier| matches!(earlier.kind, DhcpKind::Ack | DhcpKind::Reply));
    if is_new {
        return false;
    }
    if message.transaction == last.transaction || message.transaction == first.transaction {
        return true;
    }
    // DHCPv6 uses a new transaction id for the second message.
    version(message) == 6 && message.kind == DhcpKind::Request6 && last.kind == DhcpKind::Advertise
}

/// True for an offer from a ProxyDHCP server.
fn is_proxy(message: &DhcpMessage, kind: DhcpKind) -> bool {
    kind == DhcpKind::Offer && message.address.is_none() && message.vendor_class.starts_with("PXEClient")
}

/// Returns the kinds of the messages; kinds of truncated messages are inferred from their order.
fn kinds(group: &[&DhcpMessage]) -> Vec<(DhcpKind, bool)> {
    let mut kinds: Vec<(DhcpKind, bool)> = Vec::with_capacity(group.len());
    let first_bytes = group.first().map_or(0, |message| message.bytes);
    let mut last = None;
    for message in group {
        let is_boot_server = involves_boot_server(message);
        let kind = match message.kind {
            // A REQUEST also contains server and address, so only a repeated DISCOVER is as long as the first.
            DhcpKind::UnknownRequest if !is_boot_server && (last.is_none() || message.bytes == first_bytes) => {
                DhcpKind::Discover
            }
            DhcpKind::UnknownRequest => DhcpKind::Request,
            DhcpKind::UnknownResponse if last == Some(DhcpKind::Request) => DhcpKind::Ack,
            DhcpKind::UnknownResponse if last == Some(DhcpKind::Ack) => DhcpKind::Ack,
            DhcpKind::UnknownResponse => DhcpKind::Offer,
            kind => kind,
        };
        kinds.push((kind, kind != message.kind));
        last = Some(kind);
    }
    kinds
}

fn exchange(group: &[&DhcpMessage], link: &LinkIndex<'_>, history: &History) -> DhcpExchange {
    let kinds = kinds(group);
    let messages_where = |is_wanted: fn(DhcpKind) -> bool| {
        group.iter().zip(&kinds).filter(move |(_, (kind, _))| is_wanted(*kind)).map(|(message, _)| *message)
    };
    let start_ns = group.first().map_or(0, |message| message.time_ns);
    let first_requests: Vec<i64> = messages_where(|kind| {
        matches!(
            kind,
            DhcpKind::Discover
                | DhcpKind::Solicit
                | DhcpKind::Inform
                | DhcpKind::InformationRequest
                | DhcpKind::BootRequest
        )
    })
    .map(|message| message.time_ns)
    .collect();
    // A ProxyDHCP server offers no address, so the client waits for the DHCP server.
    let offers = || messages_where(|kind| matches!(kind, DhcpKind::Offer | DhcpKind::Advertise));
    let offer = offers().find(|offer| offer.address.is_some()).or_else(|| offers().next());
    let request = messages_where(|kind| matches!(kind, DhcpKind::Request | DhcpKind::Request6)).next();
    // A lost answer is sent again, so the last answer is the one that arrived.
    let answer =
        messages_where(|kind| matches!(kind, DhcpKind::Ack | DhcpKind::Reply | DhcpKind::BootReply)).next_back();
    let last_ns = group.last().map_or(start_ns, |message| message.time_ns);
    let end_ns = answer.map_or(last_ns, |answer| answer.time_ns);
    let offered_request_ns = offer.map(|offer| {
        // While the server checks whether the address is in use, the client may repeat its request; the offer then
        // answers the last request before the first check.
        let checked_ns = offer.address.and_then(|address| link.first_probe(address, start_ns, offer.time_ns));
        let until_ns = checked_ns.unwrap_or(offer.time_ns);
        let answered_request = first_requests.iter().rev().find(|&&request_ns| request_ns <= until_ns);
        answered_request.copied().unwrap_or(start_ns)
    });
    let requests: Vec<i64> = messages_where(|kind| matches!(kind, DhcpKind::Request | DhcpKind::Request6))
        .map(|message| message.time_ns)
        .collect();
    let waits_ns: Vec<i64> =
        first_requests.windows(2).chain(requests.windows(2)).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let answers = || messages_where(|kind| !kind.is_from_client());
    // A ProxyDHCP offer does not answer a request for an address.
    let answer_times: Vec<i64> = group
        .iter()
        .zip(&kinds)
        .filter(|(message, (kind, _))| !kind.is_from_client() && !is_proxy(message, *kind))
        .map(|(message, _)| message.time_ns)
        .collect();
    let is_unanswered = |pair: &&[i64]| {
        let next = answer_times.partition_point(|&answer| answer < pair[0]);
        answer_times.get(next).is_none_or(|&answer| answer >= pair[1])
    };
    let unanswered_ns = first_requests
        .windows(2)
        .chain(requests.windows(2))
        .filter(is_unanswered)
        .fold(0_i64, |sum, pair| sum.saturating_add(pair[1].saturating_sub(pair[0])));
    let address =
        answer.or(offer).and_then(|message| message.address).or_else(|| answers().find_map(|answer| answer.address));
    let address_probes = match (offered_request_ns, offer, address) {
        (Some(request_ns), Some(offer), Some(address)) => link.probes(address, request_ns, offer.time_ns) as u64,
        _ => 0,
    };
    let mut servers: Vec<String> = Vec::new();
    for answer in answers() {
        let server = answer.server.unwrap_or(answer.source.ip()).to_string();
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let last_text = |pick: fn(&DhcpMessage) -> Option<&String>| {
        let answers = group.iter().zip(&kinds).rev().filter(|(_, (kind, _))| !kind.is_from_client());
        answers.map(|(message, _)| *message).find_map(pick).cloned()
    };
    DhcpExchange {
        ip_version: group.first().map_or(4, |message| version(message)),
        stack: history.stack(group),
        boot_server_dialogue: group.first().is_some_and(|message| involves_boot_server(message)),
        start_ns,
        end_ns,
        duration_ns: end_ns.saturating_sub(start_ns),
        complete: answer.is_some(),
        attempts: first_requests.len().max(1) as u64,
        request_attempts: requests.len() as u64,
        waits_ns,
        unanswered_ns,
        offer_delay_ns: offer
            .zip(offered_request_ns)
            .map(|(offer, request_ns)| offer.time_ns.saturating_sub(request_ns)),
        choice_delay_ns: offer.zip(request).map(|(offer, request)| request.time_ns.saturating_sub(offer.time_ns)),
        answer_delay_ns: request.zip(answer).map(|(request, answer)| answer.time_ns.saturating_sub(request.time_ns)),
        address_probes,
        address: address.map(|address| address.to_string()),
        servers,
        proxy: group.iter().zip(&kinds).any(|(message, (kind, _))| is_proxy(message, *kind)),
        boot_server: last_text(|message| message.boot_server.as_ref()),
        boot_file: last_text(|message| message.boot_file.as_ref()),
        vendor_class: vendor_class(group).to_owned(),
        pxe: answers().map(|answer| &answer.pxe).find(|pxe| pxe.present).cloned().unwrap_or_default(),
        messages: steps(group, &kinds),
    }
}

/// Maximum time between DHCP requests of one firmware's stacks, ns. A system that starts from disk after the firmware
/// gave up comes later.
const MAX_STACK_GAP_NS: i64 = 5_000_000_000;

/// The history of a client, used to identify the software behind unnamed dialogues.
struct History {
    /// First file request.
    loading_ns: Option<i64>,
    /// Named firmware requests over IPv4 and over IPv6, ordered by time.
    firmware_ns: [Vec<i64>; 2],
}

impl History {
    fn new(messages: &[&DhcpMessage], loading_ns: Option<i64>) -> Self {
        let times = |ip_version: u8| {
            let same_version = messages.iter().filter(|message| version(message) == ip_version);
            let requests = same_version.filter(|message| message.kind.is_from_client() && is_firmware(message));
            let mut times: Vec<i64> = requests.map(|message| message.time_ns).collect();
            times.sort();
            times
        };
        Self { loading_ns, firmware_ns: [times(4), times(6)] }
    }

    /// Returns the software behind a dialogue.
    fn stack(&self, group: &[&DhcpMessage]) -> Stack {
        let requests = || group.iter().filter(|message| message.kind.is_from_client());
        if requests().any(|message| message.user_class.contains("iPXE")) {
            return Stack::BootProgram;
        }
        let class = requests().map(|message| message.vendor_class.as_str()).max_by_key(|class| class.len());
        let class = class.unwrap_or_default();
        if requests().any(|message| is_firmware(message)) {
            return Stack::Firmware;
        }
        // Truncated messages have no vendor class.
        let is_other = !class.is_empty() || requests().any(|message| !message.truncated);
        if class.starts_with("MSFT") || (is_other && group.first().is_some_and(|first| self.is_later_system(first))) {
            Stack::OperatingSystem
        } else {
            Stack::Firmware
        }
    }

    /// True if an unnamed dialogue comes from an operating system: it starts after the first file request, or long
    /// enough after the last firmware request that the system started from disk.
    fn is_later_system(&self, first: &DhcpMessage) -> bool {
        let [over_ipv4, over_ipv6] = &self.firmware_ns;
        let start_ns = first.time_ns;
        let is_after_loading = self.loading_ns.is_some_and(|loading_ns| start_ns > loading_ns);
        if version(first) == 4 {
            let last_index = over_ipv4.partition_point(|&request_ns| request_ns < start_ns).checked_sub(1);
            let last_request = last_index.and_then(|index| over_ipv4.get(index));
            let gave_up =
                last_request.is_some_and(|&request_ns| start_ns.saturating_sub(request_ns) >= MAX_STACK_GAP_NS);
            return is_after_loading || gave_up;
        }
        // The stack below PXE sends IPv6 requests without a vendor class, shortly before or after PXE does.
        let since_ns = self.loading_ns.unwrap_or(start_ns).max(start_ns.saturating_sub(MAX_STACK_GAP_NS));
        let next = over_ipv6.get(over_ipv6.partition_point(|&request_ns| request_ns <= since_ns));
        let is_firmware = next.is_some_and(|&request_ns| request_ns <= start_ns.saturating_add(MAX_STACK_GAP_NS));
        is_after_loading && !is_firmware
    }
}

/// True if a message identifies network boot firmware.
fn is_firmware(message: &DhcpMessage) -> bool {
    let class = &message.vendor_class;
    class.starts_with("PXEClient") || class.starts_with("HTTPClient") || message.architecture.is_some()
}

fn steps(group: &[&DhcpMessage], kinds: &[(DhcpKind, bool)]) -> Vec<DhcpStep> {
    let mut previous_ns = group.first().map_or(0, |message| message.time_ns);
    group
        .iter()
        .zip(kinds)
        .map(|(message, &(kind, inferred))| {
            let delay_ns = message.time_ns.saturating_sub(previous_ns);
            previous_ns = message.time_ns;
            DhcpStep {
                time_ns: message.time_ns,
                delay_ns,
                kind,
                inferred,
                from: message.source.ip().to_string(),
                address: message.address.map(|address| address.to_string()),
                boot_file: message.boot_file.clone(),
            }
        })
        .collect()
}

#[cfg(test)]
#[path = "dhcp_tests.rs"]
mod tests;
