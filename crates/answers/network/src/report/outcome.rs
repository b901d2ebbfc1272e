//! How a network boot came out.

use serde::Serialize;

use super::StageKind;

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
