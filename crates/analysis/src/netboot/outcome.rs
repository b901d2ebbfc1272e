//! Did the boot succeed, and if not: at which stage, why, and what to do.

mod addresses;
mod codes;
mod files;

use onoff_netboot::Capture;
use onoff_netboot::transfer::Outcome as TransferOutcome;
use serde::Serialize;

use super::clients::Traffic;
use super::dhcp::{DhcpExchange, Stack};
use super::http::Download;
use super::link::LinkIndex;
use super::report::{Client, FileRole, FileTransfer, StageKind};

/// After this much silence of the capture's rest, who was to speak has given up, ns: EDK II waits 4 s for an answer by TFTP and
/// asks again.
const PATIENCE_NS: i64 = 5_000_000_000;
/// Boot programs loaded this often without anything behind them are a loop.
const LOOP: u64 = 3;

/// How a network boot came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootOutcome {
    /// Loaded, failed, or not known.
    pub verdict: Verdict,
    /// Why: a stable name.
    pub reason: Reason,
    /// The stage that failed, or that the capture ends in; `None` when the boot loaded.
    pub stage: Option<StageKind>,
    /// The reason as a sentence without its full stop, with the numbers it rests on.
    pub what: String,
    /// Whether what follows from the capture is certain, or only likely.
    pub certain: bool,
    /// Error codes that people see on the client's screen for this, by whose firmware shows them.
    pub codes: Vec<ErrorCode>,
    /// What to do; empty when the boot loaded.
    pub cure: String,
    /// Status of HTTP, when that is the reason.
    pub http_status: Option<u16>,
    /// Code of the TFTP error, when that is the reason.
    pub tftp_code: Option<u16>,
    /// When the deciding packet was captured, ns.
    pub time_ns: i64,
    /// How often the client began anew, the first time included.
    pub attempts: u64,
}

/// Whether the boot loaded what it was to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LoadVerdict"))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Files came whole, and control went on to them.
    Loaded,
    /// It failed.
    Failed,
    /// The capture begins too late, ends too early, or lacks what would tell.
    Unknown,
}

impl Verdict {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// Why a boot came out as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The operating system's own network began.
    SystemStarted,
    /// The last file came whole, and nothing contradicts it.
    FilesLoaded,
    /// The capture ends while something was still to come.
    CaptureEnds,
    /// The boot was under way when the capture began.
    CaptureBegins,
    /// The client has its address, and the capture holds no request for a file.
    NoRequest,
    /// No server answered the question for an address.
    NoDhcpAnswer,
    /// The server took its offer back (DHCPNAK).
    DhcpRefused,
    /// The client found the address in use (DHCPDECLINE).
    AddressInUse,
    /// The answers lack what the client needs to boot.
    NoBootFile,
    /// The boot server did not answer on port 4011.
    BootServerSilent,
    /// Nobody answers for the server's address on the link (ARP).
    ServerNotOnLink,
    /// A router or host said that the server cannot be reached (ICMP).
    ServerUnreachable,
    /// The server did not answer the request for a file.
    RequestUnanswered,
    /// The client did not answer the server's acknowledgment of options.
    OptionsUnanswered,
    /// The client refused the options that the server granted.
    OptionsRefused,
    /// The server knows no options: it answered the question for a file's size with the file.
    OptionsIgnored,
    /// The server fell silent within a file.
    ServerSilent,
    /// The client fell silent within a file.
    ClientSilent,
    /// The server refused the file.
    FileRefused,
    /// The transfer stopped at block 65,535.
    BlockNumberLimit,
    /// The file is larger than the client takes.
    FileTooLarge,
    /// The client broke the transfer off.
    ClientAborted,
    /// The boot program is for another processor or firmware.
    WrongArchitecture,
    /// The HTTP server answered with an error.
    HttpError,
    /// The HTTP server does not accept connections, or does not answer.
    HttpUnanswered,
    /// The name of the server could not be looked up (DNS).
    NameNotResolved,
    /// The TLS handshake failed.
    TlsFailed,
    /// The boot program gave control back to the firmware, or the machine started anew.
    BackToFirmware,
    /// The same boot program was loaded again and again.
    Loop,
}

impl Reason {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SystemStarted => "system_started",
            Self::FilesLoaded => "files_loaded",
            Self::CaptureEnds => "capture_ends",
            Self::CaptureBegins => "capture_begins",
            Self::NoRequest => "no_request",
            Self::NoDhcpAnswer => "no_dhcp_answer",
            Self::DhcpRefused => "dhcp_refused",
            Self::AddressInUse => "address_in_use",
            Self::NoBootFile => "no_boot_file",
            Self::BootServerSilent => "boot_server_silent",
            Self::ServerNotOnLink => "server_not_on_link",
            Self::ServerUnreachable => "server_unreachable",
            Self::RequestUnanswered => "request_unanswered",
            Self::OptionsUnanswered => "options_unanswered",
            Self::OptionsRefused => "options_refused",
            Self::OptionsIgnored => "options_ignored",
            Self::ServerSilent => "server_silent",
            Self::ClientSilent => "client_silent",
            Self::FileRefused => "file_refused",
            Self::BlockNumberLimit => "block_number_limit",
            Self::FileTooLarge => "file_too_large",
            Self::ClientAborted => "client_aborted",
            Self::WrongArchitecture => "wrong_architecture",
            Self::HttpError => "http_error",
            Self::HttpUnanswered => "http_unanswered",
            Self::NameNotResolved => "name_not_resolved",
            Self::TlsFailed => "tls_failed",
            Self::BackToFirmware => "back_to_firmware",
            Self::Loop => "loop",
        }
    }
}

/// An error code that people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorCode {
    /// The code, e.g. `PXE-E18`.
    pub code: &'static str,
    /// Whose firmware shows it: `UEFI` (EDK II and what is made of it) or `BIOS` (PXE option ROMs).
    pub shown_by: &'static str,
}

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

    fn is_over(&self, ns: i64) -> bool {
        self.rest_ns(ns) >= PATIENCE_NS
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
