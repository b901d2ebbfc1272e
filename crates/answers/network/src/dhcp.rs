//! Dialogues with DHCP and boot servers: which messages, who waited for whom.

use onoff_netboot::dhcp::{DhcpKind, DhcpMessage, PxeOptions};
use serde::Serialize;

use super::link::LinkIndex;

/// Port of PXE boot servers.
const BOOT_SERVER_PORT: u16 = 4011;

/// A dialogue: from a client's first question to the answer it was satisfied with.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DhcpExchange {
    /// 4 or 6, of the Internet Protocol.
    pub ip_version: u8,
    /// Who speaks.
    pub stack: Stack,
    /// Whether it goes to a boot server (port 4011) rather than to DHCP servers.
    pub boot_server_dialogue: bool,
    /// First question, ns.
    pub start_ns: i64,
    /// The answer that settled it; without one, when the client went on to something else; or else the last message, ns.
    pub end_ns: i64,
    /// From first question to the end, ns.
    pub duration_ns: i64,
    /// Whether it came to an address, or to what was asked for.
    pub complete: bool,
    /// How often the first question was asked.
    pub attempts: u64,
    /// How often the request for an offered address was sent.
    pub request_attempts: u64,
    /// Waits before a question was asked again, ns each: first questions, then requests.
    pub waits_ns: Vec<i64>,
    /// Waits for an answer that did not come before the question was asked again, ns.
    pub unanswered_ns: i64,
    /// From the question to the first offer for it, ns; `None` when none came. Where the server looked whether the address is
    /// in use, the question is the one before its first look.
    pub offer_delay_ns: Option<i64>,
    /// From the first offer to the client's request, ns.
    pub choice_delay_ns: Option<i64>,
    /// From the first request to the answer that settled it, ns.
    pub answer_delay_ns: Option<i64>,
    /// Questions of others whether the offered address is in use, between question and offer.
    pub address_probes: u64,
    /// Address given.
    pub address: Option<String>,
    /// Servers that answered.
    pub servers: Vec<String>,
    /// Whether an offer without an address came from a proxy for boot servers.
    pub proxy: bool,
    /// Server to load from.
    pub boot_server: Option<String>,
    /// File or URL to load.
    pub boot_file: Option<String>,
    /// Vendor class that the client names; empty when it names none or it was cut off.
    pub vendor_class: String,
    /// Options of PXE servers, of the answer that had them.
    pub pxe: PxeOptions,
    /// Its messages, by time.
    pub messages: Vec<DhcpStep>,
}

/// Which software of the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stack {
    /// Firmware: PXE or HTTP boot, or the stack below them.
    Firmware,
    /// A network boot program such as iPXE.
    BootProgram,
    /// An operating system.
    OperatingSystem,
}

impl Stack {
    /// The name for people.
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
    /// Time, ns.
    pub time_ns: i64,
    /// Time since the message before, ns.
    pub delay_ns: i64,
    /// Kind.
    pub kind: DhcpKind,
    /// Whether the kind lies past the captured part, and follows from the order of messages.
    pub inferred: bool,
    /// Who sent it.
    pub from: String,
    /// Address in it.
    pub address: Option<String>,
    /// File or URL in it.
    pub boot_file: Option<String>,
}

/// Dialogues that came to nothing last until the client goes on to something else, at one of `starts`.
pub(super) fn lengthen(exchanges: &mut [DhcpExchange], starts: &[i64]) {
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

/// Who asked in a dialogue, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speaker {
    /// First question, ns.
    pub(super) start_ns: i64,
    /// Who speaks.
    pub(super) stack: Stack,
    /// Whether it names itself a client of network boots.
    pub(super) boots: bool,
}

/// Who speaks in each dialogue of one client: all that finding its boots takes.
pub(super) fn speakers<'a>(
    messages: &[&'a DhcpMessage],
    loading_ns: Option<i64>,
) -> impl Iterator<Item = Speaker> + use<'a> {
    let history = History::of(messages, loading_ns);
    dialogues(messages).into_iter().map(move |group| Speaker {
        start_ns: group.first().map_or(0, |message| message.time_ns),
        stack: history.stack(&group),
        boots: vendor_class(&group).contains("Client"),
    })
}

/// The dialogues in the messages of one client. `loading_ns` is when the client asked for its first file.
pub(super) fn exchanges(messages: &[&DhcpMessage], link: &LinkIndex<'_>, loading_ns: Option<i64>) -> Vec<DhcpExchange> {
    let history = History::of(messages, loading_ns);
    dialogues(messages).iter().map(|group| exchange(group, link, &history)).collect()
}

/// The messages of each dialogue.
fn dialogues<'a>(messages: &[&'a DhcpMessage]) -> Vec<Vec<&'a DhcpMessage>> {
    /// Dialogues that a message may still belong to: clients have few at a time, and start anew without end.
    const LATEST: usize = 16;
    let mut open: Vec<Vec<&DhcpMessage>> = Vec::new();
    for &message in messages {
        if matches!(message.kind, DhcpKind::Release | DhcpKind::Decline) {
            continue;
        }
        let found = open.iter_mut().rev().take(LATEST).find(|group| belongs(message, group));
        match found {
            Some(group) => group.push(message),
            // An answer alone tells nothing of a client's time: it is the echo of something given back.
            None if !message.kind.is_from_client() => {}
            None => open.push(vec![message]),
        }
    }
    open
}

/// The first vendor class that the client names; empty when it names none.
fn vendor_class<'a>(group: &[&'a DhcpMessage]) -> &'a str {
    let questions = group.iter().filter(|message| message.kind.is_from_client());
    questions.map(|message| message.vendor_class.as_str()).find(|class| !class.is_empty()).unwrap_or_default()
}

fn version(message: &DhcpMessage) -> u8 {
    if message.source.is_ipv4() { 4 } else { 6 }
}

fn to_boot_server(message: &DhcpMessage) -> bool {
    message.source.port() == BOOT_SERVER_PORT || message.destination.port() == BOOT_SERVER_PORT
}

fn belongs(message: &DhcpMessage, group: &[&DhcpMessage]) -> bool {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return false };
    if version(message) != version(first) || to_boot_server(message) != to_boot_server(first) {
        return false;
    }
    // A client that asks anew after it has its address starts another dialogue, though some keep the number over a reset.
    let starts_anew = matches!(message.kind, DhcpKind::Discover | DhcpKind::Solicit)
        && group.iter().any(|earlier| matches!(earlier.kind, DhcpKind::Ack | DhcpKind::Reply));
    if starts_anew {
        return false;
    }
    if message.transaction == last.transaction || message.transaction == first.transaction {
        return true;
    }
    // DHCPv6 takes a new number for the second question.
    version(message) == 6 && message.kind == DhcpKind::Request6 && last.kind == DhcpKind::Advertise
}

/// Whether an offer is that of a proxy for boot servers.
fn is_proxy(message: &DhcpMessage, kind: DhcpKind) -> bool {
    kind == DhcpKind::Offer && message.address.is_none() && message.vendor_class.starts_with("PXEClient")
}

/// Kinds of a dialogue's messages, with those that were cut off inferred from the order.
fn kinds(group: &[&DhcpMessage]) -> Vec<(DhcpKind, bool)> {
    let mut kinds: Vec<(DhcpKind, bool)> = Vec::with_capacity(group.len());
    let first_bytes = group.first().map_or(0, |message| message.bytes);
    let mut last = None;
    for message in group {
        let boot_server = to_boot_server(message);
        let kind = match message.kind {
            // A request names server and address besides: only a repeated DISCOVER is as long as the first.
            DhcpKind::SomeRequest if !boot_server && (last.is_none() || message.bytes == first_bytes) => {
                DhcpKind::Discover
            }
            DhcpKind::SomeRequest => DhcpKind::Request,
            DhcpKind::SomeAnswer if last == Some(DhcpKind::Request) => DhcpKind::Ack,
            DhcpKind::SomeAnswer if last == Some(DhcpKind::Ack) => DhcpKind::Ack,
            DhcpKind::SomeAnswer => DhcpKind::Offer,
            kind => kind,
        };
        kinds.push((kind, kind != message.kind));
        last = Some(kind);
    }
    kinds
}

fn exchange(group: &[&DhcpMessage], link: &LinkIndex<'_>, history: &History) -> DhcpExchange {
    let kinds = kinds(group);
    let of = |wanted: fn(DhcpKind) -> bool| {
        group.iter().zip(&kinds).filter(move |(_, (kind, _))| wanted(*kind)).map(|(message, _)| *message)
    };
    let start_ns = group.first().map_or(0, |message| message.time_ns);
    let questions: Vec<i64> = of(|kind| {
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
    // A ProxyDHCP offers no address; a client without one waits for the address server.
    let offers = || of(|kind| matches!(kind, DhcpKind::Offer | DhcpKind::Advertise));
    let offer = offers().find(|offer| offer.address.is_some()).or_else(|| offers().next());
    let request = of(|kind| matches!(kind, DhcpKind::Request | DhcpKind::Request6)).next();
    // An answer that was lost on its way is given again: the last one is the one that arrived.
    let answer = of(|kind| matches!(kind, DhcpKind::Ack | DhcpKind::Reply | DhcpKind::BootReply)).next_back();
    let last_ns = group.last().map_or(start_ns, |message| message.time_ns);
    let end_ns = answer.map_or(last_ns, |answer| answer.time_ns);
    let asked_ns = offer.map(|offer| {
        // A server that looks whether the address is in use may be asked again meanwhile, and then answers the earlier
        // question: the one before its first look.
        let looked_ns = offer.address.and_then(|address| link.first_probe(address, start_ns, offer.time_ns));
        let until_ns = looked_ns.unwrap_or(offer.time_ns);
        let before = questions.iter().rev().find(|&&asked| asked <= until_ns);
        before.copied().unwrap_or(start_ns)
    });
    let requests: Vec<i64> =
        of(|kind| matches!(kind, DhcpKind::Request | DhcpKind::Request6)).map(|message| message.time_ns).collect();
    let waits_ns: Vec<i64> =
        questions.windows(2).chain(requests.windows(2)).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let answers = || of(|kind| !kind.is_from_client());
    // What a proxy says answers no question for an address.
    let answer_times: Vec<i64> = group
        .iter()
        .zip(&kinds)
        .filter(|(message, (kind, _))| !kind.is_from_client() && !is_proxy(message, *kind))
        .map(|(message, _)| message.time_ns)
        .collect();
    let unanswered = |pair: &&[i64]| {
        let next = answer_times.partition_point(|&answer| answer < pair[0]);
        answer_times.get(next).is_none_or(|&answer| answer >= pair[1])
    };
    let unanswered_ns = questions
        .windows(2)
        .chain(requests.windows(2))
        .filter(unanswered)
        .fold(0_i64, |sum, pair| sum.saturating_add(pair[1].saturating_sub(pair[0])));
    let address =
        answer.or(offer).and_then(|message| message.address).or_else(|| answers().find_map(|answer| answer.address));
    let address_probes = match (asked_ns, offer, address) {
        (Some(asked), Some(offer), Some(address)) => link.probes(address, asked, offer.time_ns) as u64,
        _ => 0,
    };
    let mut servers: Vec<String> = Vec::new();
    for answer in answers() {
        let server = answer.server.unwrap_or(answer.source.ip()).to_string();
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let text = |pick: fn(&DhcpMessage) -> Option<&String>| {
        let answers = group.iter().zip(&kinds).rev().filter(|(_, (kind, _))| !kind.is_from_client());
        answers.map(|(message, _)| *message).find_map(pick).cloned()
    };
    DhcpExchange {
        ip_version: group.first().map_or(4, |message| version(message)),
        stack: history.stack(group),
        boot_server_dialogue: group.first().is_some_and(|message| to_boot_server(message)),
        start_ns,
        end_ns,
        duration_ns: end_ns.saturating_sub(start_ns),
        complete: answer.is_some(),
        attempts: questions.len().max(1) as u64,
        request_attempts: requests.len() as u64,
        waits_ns,
        unanswered_ns,
        offer_delay_ns: offer.zip(asked_ns).map(|(offer, asked)| offer.time_ns.saturating_sub(asked)),
        choice_delay_ns: offer.zip(request).map(|(offer, request)| request.time_ns.saturating_sub(offer.time_ns)),
        answer_delay_ns: request.zip(answer).map(|(request, answer)| answer.time_ns.saturating_sub(request.time_ns)),
        address_probes,
        address: address.map(|address| address.to_string()),
        servers,
        proxy: group.iter().zip(&kinds).any(|(message, (kind, _))| is_proxy(message, *kind)),
        boot_server: text(|message| message.boot_server.as_ref()),
        boot_file: text(|message| message.boot_file.as_ref()),
        vendor_class: vendor_class(group).to_owned(),
        pxe: answers().map(|answer| &answer.pxe).find(|pxe| pxe.present).cloned().unwrap_or_default(),
        messages: steps(group, &kinds),
    }
}

/// Firmware that gives up, and the system that starts from a disk instead, are farther apart than this, ns; the stacks of one
/// firmware are not.
const APART_NS: i64 = 5_000_000_000;

/// What a client did over time, by which a dialogue that does not say who speaks is told.
struct History {
    /// When it asked for its first file.
    loading_ns: Option<i64>,
    /// When its firmware asked under its name, over IPv4 and over IPv6, by time.
    firmware_ns: [Vec<i64>; 2],
}

impl History {
    fn of(messages: &[&DhcpMessage], loading_ns: Option<i64>) -> Self {
        let times = |ip_version: u8| {
            let of_version = messages.iter().filter(|message| version(message) == ip_version);
            let named = of_version.filter(|message| message.kind.is_from_client() && is_firmware(message));
            let mut times: Vec<i64> = named.map(|message| message.time_ns).collect();
            times.sort();
            times
        };
        Self { loading_ns, firmware_ns: [times(4), times(6)] }
    }

    /// Which software of the client speaks in a dialogue.
    fn stack(&self, group: &[&DhcpMessage]) -> Stack {
        let questions = || group.iter().filter(|message| message.kind.is_from_client());
        if questions().any(|message| message.user_class.contains("iPXE")) {
            return Stack::BootProgram;
        }
        let class = questions().map(|message| message.vendor_class.as_str()).max_by_key(|class| class.len());
        let class = class.unwrap_or_default();
        if questions().any(|message| is_firmware(message)) {
            return Stack::Firmware;
        }
        // What was cut off has no name.
        let is_other = !class.is_empty() || questions().any(|message| !message.cut);
        if class.starts_with("MSFT") || (is_other && group.first().is_some_and(|first| self.is_later_system(first))) {
            Stack::OperatingSystem
        } else {
            Stack::Firmware
        }
    }

    /// Whether firmware no longer speaks where a dialogue begins under another name or none: it asks before it loads, and a
    /// system that asks afterwards was loaded, or started from a disk when firmware had given up.
    fn is_later_system(&self, first: &DhcpMessage) -> bool {
        let [over_ipv4, over_ipv6] = &self.firmware_ns;
        let start_ns = first.time_ns;
        let is_after_loading = self.loading_ns.is_some_and(|loading_ns| start_ns > loading_ns);
        if version(first) == 4 {
            let before = over_ipv4.partition_point(|&asked| asked < start_ns).checked_sub(1);
            let gave_up = before.and_then(|before| over_ipv4.get(before));
            let gave_up = gave_up.is_some_and(|&asked| start_ns.saturating_sub(asked) >= APART_NS);
            return is_after_loading || gave_up;
        }
        // The stack below PXE asks over IPv6 without a name, shortly before or after PXE does.
        let since_ns = self.loading_ns.unwrap_or(start_ns).max(start_ns.saturating_sub(APART_NS));
        let next = over_ipv6.get(over_ipv6.partition_point(|&asked| asked <= since_ns));
        let is_firmware = next.is_some_and(|&asked| asked <= start_ns.saturating_add(APART_NS));
        is_after_loading && !is_firmware
    }
}

/// Whether a client's message names firmware that boots from the network.
fn is_firmware(message: &DhcpMessage) -> bool {
    let class = &message.vendor_class;
    class.starts_with("PXEClient") || class.starts_with("HTTPClient") || message.architecture.is_some()
}

fn steps(group: &[&DhcpMessage], kinds: &[(DhcpKind, bool)]) -> Vec<DhcpStep> {
    let mut before = group.first().map_or(0, |message| message.time_ns);
    group
        .iter()
        .zip(kinds)
        .map(|(message, &(kind, inferred))| {
            let delay_ns = message.time_ns.saturating_sub(before);
            before = message.time_ns;
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
