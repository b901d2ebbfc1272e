//! Did the boot succeed, and if not: at which stage, why, and what to do.

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

/// After this much silence of the capture's rest, who was to speak has given up, ns: EDK II waits 4 s for an answer by TFTP and
/// asks again.
const PATIENCE_NS: i64 = 5_000_000_000;
/// Boot programs loaded this often without anything behind them are a loop.
const LOOP: u64 = 3;

/// What an outcome is judged by.
pub(super) struct Evidence<'a> {
    pub(super) capture: &'a Capture,
    pub(super) link: &'a LinkIndex<'a>,
    pub(super) traffic: &'a Traffic<'a>,
    pub(super) client: &'a Client,
    pub(super) dhcp: &'a [DhcpExchange],
    pub(super) files: &'a [FileTransfer],
    pub(super) downloads: &'a [Download],
    /// When the operating system's own network began.
    pub(super) system_ns: Option<i64>,
    /// When the next boot of the same client began; the capture's end without one.
    pub(super) until_ns: i64,
}

/// A verdict in the making.
#[derive(Clone, Debug)]
struct Finding {
    verdict: Verdict,
    reason: Reason,
    stage: Option<StageKind>,
    what: String,
    certain: bool,
    cure: String,
    http_status: Option<u16>,
    tftp_code: Option<u16>,
    time_ns: i64,
    /// 4 or 6, where the code depends on it.
    ip_version: u8,
}

impl Finding {
    fn new(verdict: Verdict, reason: Reason, time_ns: i64, what: String) -> Self {
        Self {
            verdict,
            reason,
            stage: None,
            what,
            certain: true,
            cure: String::new(),
            http_status: None,
            tftp_code: None,
            time_ns,
            ip_version: 4,
        }
    }

    fn failed(reason: Reason, stage: StageKind, time_ns: i64, what: String, cure: &str) -> Self {
        Self { stage: Some(stage), cure: cure.to_owned(), ..Self::new(Verdict::Failed, reason, time_ns, what) }
    }

    fn unknown(reason: Reason, stage: Option<StageKind>, time_ns: i64, what: String, cure: &str) -> Self {
        Self { stage, cure: cure.to_owned(), ..Self::new(Verdict::Unknown, reason, time_ns, what) }
    }

    fn likely(self) -> Self {
        Self { certain: false, ..self }
    }
}

impl Evidence<'_> {
    /// How long the capture goes on after `ns`, ns.
    fn rest_ns(&self, ns: i64) -> i64 {
        self.until_ns.saturating_sub(ns)
    }

    /// Whether what was last heard of at `ns` has ended: it was silent for long, or the client began anew.
    fn is_over(&self, ns: i64) -> bool {
        self.rest_ns(ns) >= PATIENCE_NS || self.beginnings_after(ns).next().is_some()
    }

    /// Whether a dialogue for an address has ended, with or without an address.
    fn has_ended(&self, exchange: &DhcpExchange) -> bool {
        let last = exchange.messages.last();
        let last_ns = last.map_or(exchange.start_ns, |message| message.time_ns);
        let is_refused = last.is_some_and(|message| message.kind == DhcpKind::Nak);
        // Some clients ask over IPv4 and IPv6 side by side: there the other question ends nothing.
        let gave_way = |next: &DhcpExchange| {
            next.ip_version == exchange.ip_version || next.start_ns.saturating_sub(last_ns) >= PATIENCE_NS
        };
        is_refused || self.rest_ns(last_ns) >= PATIENCE_NS || self.beginnings_after(last_ns).any(gave_way)
    }

    /// Dialogues for an address that the client opened after `ns`. Over IPv6 the stack below PXE asks without a name, beside PXE.
    fn beginnings_after(&self, ns: i64) -> impl Iterator<Item = &DhcpExchange> {
        self.dhcp.iter().filter(move |exchange| {
            let begins = exchange.ip_version == 4
                || exchange.stack != Stack::Firmware
                || exchange.vendor_class.contains("Client");
            exchange.start_ns > ns && !exchange.boot_server_dialogue && begins
        })
    }

    fn is_bios(&self) -> Option<bool> {
        self.client.architecture.map(|code| code == 0)
    }

    /// Times at which firmware began to ask for an address.
    fn beginnings(&self) -> impl Iterator<Item = &DhcpExchange> {
        self.dhcp.iter().filter(|exchange| exchange.stack == Stack::Firmware && !exchange.boot_server_dialogue)
    }
}

/// How the boot came out.
pub(super) fn outcome(evidence: &Evidence<'_>) -> BootOutcome {
    let found = judge(evidence);
    let programs = evidence
        .files
        .iter()
        .filter(|file| file.role == FileRole::BootProgram && file.outcome == TransferOutcome::Complete && !file.write);
    let attempts = (programs.count() as u64).max(1);
    BootOutcome {
        verdict: found.verdict,
        reason: found.reason,
        stage: found.stage,
        codes: codes::codes(found.reason, evidence.is_bios(), found.ip_version),
        what: found.what,
        certain: found.certain,
        cure: found.cure,
        http_status: found.http_status,
        tftp_code: found.tftp_code,
        time_ns: found.time_ns,
        attempts,
    }
}

fn judge(evidence: &Evidence<'_>) -> Finding {
    let loaded = files::last_loaded(evidence);
    if let (Some(system_ns), Some(loaded)) = (evidence.system_ns, &loaded)
        && system_ns >= loaded.end_ns
    {
        let what = format!("{} came whole, and the operating system's own network began", loaded.name);
        return Finding::new(Verdict::Loaded, Reason::SystemStarted, system_ns, what);
    }
    if let Some(found) = files::wrong_architecture(evidence, loaded.as_ref()) {
        return found;
    }
    let after_ns = loaded.as_ref().map_or(i64::MIN, |loaded| loaded.end_ns);
    if let Some(found) = files::after(evidence, loaded.as_ref(), after_ns) {
        return found;
    }
    if let Some(loaded) = &loaded {
        return files::loaded(evidence, loaded);
    }
    if let Some(found) = files::under_way(evidence) {
        return found;
    }
    addresses::judge(evidence)
}

/// `12.3 s` or `45.6 ms`, as in findings.
fn time(ns: i64) -> String {
    super::findings::time(ns).to_string()
}
