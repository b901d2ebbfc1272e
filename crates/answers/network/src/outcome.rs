//! Determines whether a boot succeeded and, if it failed, at which stage, why, and what to do.

mod addresses;
mod attempts;
mod codes;
mod direction;
mod files;
mod http;
mod loads;
mod storage;
mod transfer;

use onoff_netboot::Capture;
use onoff_netboot::dhcp::DhcpKind;
use onoff_netboot::transfer::Outcome as TransferOutcome;

use std::net::SocketAddr;

use onoff_netboot::capture::UndeliveredPacket;
use onoff_netboot::connection::Connection;
use onoff_netboot::dhcp::DhcpMessage;
use onoff_netboot::transfer::Transfer;

use super::dhcp::{DhcpExchange, Stack};
use super::link::LinkIndex;
use super::report::Download;
pub use super::report::{BootAttempt, BootOutcome, ErrorCode, Reason, Verdict};
use super::report::{Client, FileRole, FileTransfer, StageKind};
pub(super) use attempts::Successor;

/// The boot attempt is over after this much silence, in ns. EDK II waits 4 s for a TFTP response before it repeats the
/// request.
const MAX_SILENCE_NS: i64 = 5_000_000_000;
/// Minimum number of loads of the boot program, without anything after it, that count as a loop.
const MIN_LOOP_LOADS: u64 = 3;

/// Input for the verdict: a boot, or one attempt of it.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) capture: &'a Capture,
    pub(super) link: &'a LinkIndex<'a>,
    pub(super) messages: &'a [&'a DhcpMessage],
    pub(super) transfers: &'a [&'a Transfer],
    pub(super) connections: &'a [&'a Connection],
    pub(super) client: &'a Client,
    pub(super) dhcp: &'a [DhcpExchange],
    pub(super) files: &'a [FileTransfer],
    pub(super) downloads: &'a [Download],
    /// Start of the operating system's own network.
    pub(super) system_ns: Option<i64>,
    /// Start of the client's next attempt or boot, or the end of the capture.
    pub(super) until_ns: i64,
    /// What follows at `until_ns`.
    pub(super) successor: Successor,
}

/// A verdict with its reason.
#[derive(Clone, Debug)]
struct Conclusion {
    verdict: Verdict,
    reason: Reason,
    stage: Option<StageKind>,
    description: String,
    certain: bool,
    advice: String,
    http_status: Option<u16>,
    tftp_code: Option<u16>,
    time_ns: i64,
    /// 4 or 6, if the code depends on it.
    ip_version: u8,
    /// True if the client had received an offer.
    after_offer: bool,
    /// True if the client had received its address.
    after_address: bool,
}

impl Conclusion {
    fn new(verdict: Verdict, reason: Reason, time_ns: i64, description: String) -> Self {
        Self {
            verdict,
            reason,
            stage: None,
            description,
            certain: true,
            advice: String::new(),
            http_status: None,
            tftp_code: None,
            time_ns,
            ip_version: 4,
            after_offer: false,
            after_address: false,
        }
    }

    fn failed(reason: Reason, stage: StageKind, time_ns: i64, description: String, advice: &str) -> Self {
        Self {
            stage: Some(stage),
            advice: advice.to_owned(),
            ..Self::new(Verdict::Failed, reason, time_ns, description)
        }
    }

    fn unknown(reason: Reason, stage: Option<StageKind>, time_ns: i64, description: String, advice: &str) -> Self {
        Self { stage, advice: advice.to_owned(), ..Self::new(Verdict::Unknown, reason, time_ns, description) }
    }

    fn likely(self) -> Self {
        Self { certain: false, ..self }
    }
}

impl Evidence<'_> {
    /// Returns the time from `ns` to the end of the capture or to the client's next attempt, in ns.
    fn remaining_ns(&self, ns: i64) -> i64 {
        self.until_ns.saturating_sub(ns)
    }

    /// True if an activity last seen at `ns` is over: a long silence followed, or the client started again.
    fn is_over(&self, ns: i64) -> bool {
        self.has_successor() || self.remaining_ns(ns) >= MAX_SILENCE_NS || self.dialogues_after(ns).next().is_some()
    }

    /// True if the client started again after this attempt.
    fn has_successor(&self) -> bool {
        self.successor != Successor::None
    }

    /// True if a DHCP dialogue has ended, with or without an address.
    fn has_ended(&self, exchange: &DhcpExchange) -> bool {
        let last = exchange.messages.last();
        let last_ns = last.map_or(exchange.start_ns, |message| message.time_ns);
        let is_refused = last.is_some_and(|message| message.kind == DhcpKind::Nak);
        // Some clients use IPv4 and IPv6 in parallel, so a request over the other version does not end this dialogue.
        let supersedes = |next: &DhcpExchange| {
            next.ip_version == exchange.ip_version || next.start_ns.saturating_sub(last_ns) >= MAX_SILENCE_NS
        };
        is_refused
            || self.has_successor()
            || self.remaining_ns(last_ns) >= MAX_SILENCE_NS
            || self.dialogues_after(last_ns).any(supersedes)
    }

    /// Returns the DHCP dialogues that the client started after `ns`. Over IPv6, the stack below PXE sends requests
    /// without a vendor class.
    fn dialogues_after(&self, ns: i64) -> impl Iterator<Item = &DhcpExchange> {
        self.dhcp.iter().filter(move |exchange| {
            let is_start = exchange.ip_version == 4
                || exchange.stack != Stack::Firmware
                || exchange.vendor_class.contains("Client");
            exchange.start_ns > ns && !exchange.boot_server_dialogue && is_start
        })
    }

    fn is_bios(&self) -> Option<bool> {
        self.client.architecture.map(|code| code == 0)
    }

    /// Returns the DHCP dialogues of the firmware.
    fn firmware_dialogues(&self) -> impl Iterator<Item = &DhcpExchange> {
        self.dhcp.iter().filter(|exchange| exchange.stack == Stack::Firmware && !exchange.boot_server_dialogue)
    }
}

/// Returns the outcome of a boot and its attempts.
pub(super) fn outcome(evidence: &Evidence<'_>) -> (BootOutcome, Vec<BootAttempt>) {
    let one_sided = direction::conclusion(evidence);
    let starts = attempts::later_starts(evidence.dhcp, evidence.files, evidence.downloads);
    let judged: Vec<(Evidence<'_>, Conclusion)> = attempts::divide(evidence, &starts)
        .into_iter()
        .map(|attempt| {
            let conclusion = judge(&attempt);
            // In a capture of one direction, an answer that is missing may have come.
            let is_unproven = conclusion.verdict == Verdict::Failed && conclusion.reason.is_missing_answer();
            let conclusion = one_sided.clone().filter(|_| is_unproven).unwrap_or(conclusion);
            (attempt, conclusion)
        })
        .collect();
    let conclusion = decide(evidence, &judged);
    let attempts = summarize(&judged);
    let repeats = attempts
        .iter()
        .map(|attempt| &attempt.outcome)
        .filter(|outcome| outcome.verdict == Verdict::Failed && outcome.reason == conclusion.reason)
        .fold(0, |sum: u64, outcome| sum.saturating_add(outcome.repeats));
    (BootOutcome { repeats: repeats.max(1), ..conclusion.into_outcome(evidence) }, attempts)
}

/// Chooses the conclusion of a boot: the last attempt if it loaded or is receiving a file; otherwise, of the attempts
/// that have ended, the one that came furthest, or the last of several.
fn decide(evidence: &Evidence<'_>, judged: &[(Evidence<'_>, Conclusion)]) -> Conclusion {
    let Some((last_attempt, last)) = judged.last() else { return judge(evidence) };
    let loops = evidence.system_ns.is_none() && matches!(last.reason, Reason::FilesLoaded | Reason::BackToFirmware);
    if loops && let Some(conclusion) = files::repeated_loads(evidence) {
        return conclusion;
    }
    let ended = judged
        .iter()
        .map(|(_, conclusion)| conclusion)
        .enumerate()
        .filter(|(_, conclusion)| conclusion.verdict == Verdict::Failed)
        .max_by_key(|(index, conclusion)| (conclusion.progress(), *index));
    let is_decided =
        last.verdict == Verdict::Loaded || (last.verdict == Verdict::Unknown && last_attempt.is_receiving());
    let Some((index, ended)) = ended.filter(|_| !is_decided) else { return last.clone() };
    let mut conclusion = ended.clone();
    if last.reason == Reason::CaptureEnds && index + 1 < judged.len() {
        let (method, ip_version) = attempts::method(last_attempt);
        conclusion.description += &format!("; {} had not ended in this capture", method.name(ip_version));
        return conclusion.likely();
    }
    conclusion
}

/// Describes the attempts; consecutive attempts that fail the same way are one row.
fn summarize(judged: &[(Evidence<'_>, Conclusion)]) -> Vec<BootAttempt> {
    let mut rows: Vec<BootAttempt> = Vec::new();
    for (attempt, conclusion) in judged {
        let (method, ip_version) = attempts::method(attempt);
        let start_ns = attempt.start_ns();
        let end_ns = if attempt.has_successor() { attempt.until_ns } else { attempt.last_ns() }.max(start_ns);
        let row = BootAttempt {
            method,
            ip_version,
            start_ns,
            end_ns,
            duration_ns: end_ns.saturating_sub(start_ns),
            outcome: conclusion.clone().into_outcome(attempt),
        };
        let same = rows.last_mut().filter(|last| {
            let key = |row: &BootAttempt| {
                (row.method, row.ip_version, row.outcome.verdict, row.outcome.reason, row.outcome.stage)
            };
            row.outcome.verdict == Verdict::Failed && key(last) == key(&row)
        });
        match same {
            Some(last) => {
                last.outcome.repeats += 1;
                last.end_ns = row.end_ns;
                last.duration_ns = row.end_ns.saturating_sub(last.start_ns);
            }
            None => rows.push(row),
        }
    }
    rows
}

impl Evidence<'_> {
    /// Returns the time of the attempt's first message, request or connection.
    fn start_ns(&self) -> i64 {
        let dialogues = self.dhcp.iter().map(|exchange| exchange.start_ns);
        let files = self.files.iter().map(|file| file.request_ns);
        let downloads = self.downloads.iter().map(|download| download.start_ns);
        dialogues.chain(files).chain(downloads).min().unwrap_or(0)
    }

    /// Returns the earliest time of a frame that belongs to the attempt. A stack solicits routers shortly before it
    /// requests an address.
    fn first_frame_ns(&self) -> i64 {
        const MAX_LEAD_NS: i64 = 10_000_000_000;
        self.start_ns().saturating_sub(MAX_LEAD_NS)
    }

    /// Returns the time of the attempt's last message, block or byte.
    fn last_ns(&self) -> i64 {
        let messages = self.dhcp.iter().filter_map(|exchange| exchange.messages.last()).map(|message| message.time_ns);
        let files = self.files.iter().map(|file| file.end_ns);
        let downloads = self.downloads.iter().map(|download| download.end_ns);
        messages.chain(files).chain(downloads).max().unwrap_or(0)
    }

    /// True if a file or download was being received when the capture ended.
    fn is_receiving(&self) -> bool {
        let is_in_transfer =
            |file: &FileTransfer| file.outcome == TransferOutcome::Unfinished && file.counts.blocks > 0;
        self.files.iter().any(is_in_transfer)
            || self.downloads.iter().any(|download| !download.complete && download.bytes > 0)
    }
}

impl Evidence<'_> {
    /// True if a DHCP answer to the firmware names this file or URL.
    fn names_boot_file(&self, url: &str) -> bool {
        self.firmware_dialogues().any(|exchange| exchange.boot_file.as_deref() == Some(url))
    }

    /// Returns the first ICMP report from `from_ns` on about a packet from `source` to `destination`.
    fn report_about(&self, source: SocketAddr, destination: SocketAddr, from_ns: i64) -> Option<&UndeliveredPacket> {
        self.capture.undelivered.iter().find(|report| {
            let is_quoted = report.packet.source == source && report.packet.destination.ip() == destination.ip();
            is_quoted && (from_ns..=self.until_ns).contains(&report.time_ns)
        })
    }
}

impl Conclusion {
    fn into_outcome(self, evidence: &Evidence<'_>) -> BootOutcome {
        let programs = evidence.files.iter().filter(|file| {
            file.role == FileRole::BootProgram && file.outcome == TransferOutcome::Complete && !file.write
        });
        BootOutcome {
            verdict: self.verdict,
            reason: self.reason,
            stage: self.stage,
            codes: codes::codes(self.reason, evidence.is_bios(), self.ip_version),
            description: self.description,
            certain: self.certain,
            advice: self.advice,
            http_status: self.http_status,
            tftp_code: self.tftp_code,
            time_ns: self.time_ns,
            program_loads: (programs.count() as u64).max(1),
            repeats: 1,
        }
    }

    /// Ranks how far a failed attempt came.
    fn progress(&self) -> u8 {
        match self.reason {
            Reason::NoDhcpAnswer => u8::from(self.after_offer),
            Reason::NoBootFile if !self.after_address => 1,
            Reason::AddressInUse
            | Reason::DhcpRefused
            | Reason::NoBootFile
            | Reason::BootServerSilent
            | Reason::NoRouterAdvertisement
            | Reason::ServerNotOnLink => 2,
            Reason::BackToFirmware | Reason::WrongArchitecture | Reason::Loop => 4,
            _ => 3,
        }
    }
}

fn judge(evidence: &Evidence<'_>) -> Conclusion {
    let loaded = loads::last_loaded(evidence);
    if let Some(conclusion) = storage::conclusion(evidence, loaded.as_ref()) {
        return conclusion;
    }
    if let Some(system_ns) = evidence.system_ns
        && direction::is_proven_by_system(evidence)
    {
        let description = "the operating system's network started after the client had acknowledged its files; the packets of the servers are not in the capture";
        let conclusion = Conclusion::new(Verdict::Loaded, Reason::SystemStarted, system_ns, description.to_owned());
        return conclusion.likely();
    }
    if let (Some(system_ns), Some(loaded)) = (evidence.system_ns, &loaded)
        && system_ns >= loaded.end_ns
    {
        let description = format!("{} was loaded, and the operating system's network started", loaded.name);
        return Conclusion::new(Verdict::Loaded, Reason::SystemStarted, system_ns, description);
    }
    if let Some(conclusion) = direction::requests_only(evidence).or_else(|| direction::conclusion(evidence)) {
        return conclusion;
    }
    if let Some(conclusion) = files::wrong_architecture(evidence, loaded.as_ref()) {
        return conclusion;
    }
    let after_ns = loaded.as_ref().map_or(i64::MIN, |loaded| loaded.end_ns);
    if let Some(conclusion) = files::failure_after(evidence, loaded.as_ref(), after_ns) {
        return conclusion;
    }
    if let Some(loaded) = &loaded {
        return files::loaded_conclusion(evidence, loaded);
    }
    if let Some(conclusion) = files::started_before_capture(evidence) {
        return conclusion;
    }
    addresses::judge(evidence)
}

fn time(ns: i64) -> String {
    super::findings::time(ns).to_string()
}
