//! Determines whether a boot succeeded and, if it failed, at which stage, why, and what to do.

mod addresses;
mod codes;
mod files;

use onoff_netboot::Capture;
use onoff_netboot::dhcp::DhcpKind;
use onoff_netboot::transfer::Outcome as TransferOutcome;

use super::clients::Traffic;
use super::dhcp::{DhcpExchange, Stack};
use super::link::LinkIndex;
use super::report::Download;
pub use super::report::{BootOutcome, ErrorCode, Reason, Verdict};
use super::report::{Client, FileRole, FileTransfer, StageKind};

/// The boot attempt is over after this much silence, in ns. EDK II waits 4 s for a TFTP response before it repeats the
/// request.
const MAX_SILENCE_NS: i64 = 5_000_000_000;
/// Minimum number of loads of the boot program, without anything after it, that count as a loop.
const MIN_LOOP_LOADS: u64 = 3;

/// Input for the verdict.
pub(super) struct Evidence<'a> {
    pub(super) capture: &'a Capture,
    pub(super) link: &'a LinkIndex<'a>,
    pub(super) traffic: &'a Traffic<'a>,
    pub(super) client: &'a Client,
    pub(super) dhcp: &'a [DhcpExchange],
    pub(super) files: &'a [FileTransfer],
    pub(super) downloads: &'a [Download],
    /// Start of the operating system's own network.
    pub(super) system_ns: Option<i64>,
    /// Start of the client's next boot, or the end of the capture.
    pub(super) until_ns: i64,
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
    /// Returns the time from `ns` to the end of the capture or to the next boot, in ns.
    fn remaining_ns(&self, ns: i64) -> i64 {
        self.until_ns.saturating_sub(ns)
    }

    /// True if an activity last seen at `ns` is over: a long silence followed, or the client started again.
    fn is_over(&self, ns: i64) -> bool {
        self.remaining_ns(ns) >= MAX_SILENCE_NS || self.dialogues_after(ns).next().is_some()
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
        is_refused || self.remaining_ns(last_ns) >= MAX_SILENCE_NS || self.dialogues_after(last_ns).any(supersedes)
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

pub(super) fn outcome(evidence: &Evidence<'_>) -> BootOutcome {
    let conclusion = judge(evidence);
    let programs = evidence
        .files
        .iter()
        .filter(|file| file.role == FileRole::BootProgram && file.outcome == TransferOutcome::Complete && !file.write);
    let attempts = (programs.count() as u64).max(1);
    BootOutcome {
        verdict: conclusion.verdict,
        reason: conclusion.reason,
        stage: conclusion.stage,
        codes: codes::codes(conclusion.reason, evidence.is_bios(), conclusion.ip_version),
        description: conclusion.description,
        certain: conclusion.certain,
        advice: conclusion.advice,
        http_status: conclusion.http_status,
        tftp_code: conclusion.tftp_code,
        time_ns: conclusion.time_ns,
        attempts,
    }
}

fn judge(evidence: &Evidence<'_>) -> Conclusion {
    let loaded = files::last_loaded(evidence);
    if let (Some(system_ns), Some(loaded)) = (evidence.system_ns, &loaded)
        && system_ns >= loaded.end_ns
    {
        let description = format!("{} was loaded, and the operating system's network started", loaded.name);
        return Conclusion::new(Verdict::Loaded, Reason::SystemStarted, system_ns, description);
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
