//! The outcome of a network boot.

use serde::Serialize;

use super::StageKind;

/// How a boot, or an attempt of it, ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootOutcome {
    pub verdict: Verdict,
    pub reason: Reason,
    /// The stage that failed, or in which the capture ends; `None` if the boot files were loaded.
    pub stage: Option<StageKind>,
    /// The reason with its numbers, as a sentence without a period.
    pub description: String,
    /// True if the verdict is certain, false if it is only likely.
    pub certain: bool,
    /// Error codes shown on the client's screen.
    pub codes: Vec<ErrorCode>,
    /// What to do; empty if the boot files were loaded.
    pub advice: String,
    /// HTTP status, if it is the reason.
    pub http_status: Option<u16>,
    /// TFTP error code, if it is the reason.
    pub tftp_code: Option<u16>,
    /// Time of the deciding packet, ns.
    pub time_ns: i64,
    /// Number of times the boot program was loaded, at least 1.
    pub program_loads: u64,
    /// Number of attempts that failed for this reason, at least 1.
    pub repeats: u64,
}

/// An attempt to load: PXE or HTTP boot over one IP version, or a boot program that starts over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootAttempt {
    pub method: AttemptMethod,
    /// 4 or 6; `None` if no DHCP message and no file shows it.
    pub ip_version: Option<u8>,
    /// First DHCP request, or first file request, ns.
    pub start_ns: i64,
    /// Start of the next attempt, or the last packet of the last attempt, ns.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// How the attempt ended. Consecutive attempts that failed the same way are one, with their number.
    pub outcome: BootOutcome,
}

/// How a client tried to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AttemptMethod {
    /// PXE of the firmware.
    Pxe,
    /// HTTP boot of the firmware.
    Http,
    /// A network boot program such as iPXE.
    BootProgram,
    /// The vendor class is not in the capture.
    Unknown,
}

impl AttemptMethod {
    /// Returns the display name for an IP version, such as `PXEv4`; without one, such as `PXE`.
    #[must_use]
    pub fn name(self, ip_version: Option<u8>) -> String {
        let (name, before_version) = match self {
            Self::Pxe => ("PXE", "v"),
            Self::Http => ("HTTP", "v"),
            Self::BootProgram => ("boot program", " over IPv"),
            Self::Unknown => ("network boot", " over IPv"),
        };
        ip_version.map_or_else(|| name.to_owned(), |version| format!("{name}{before_version}{version}"))
    }
}

/// The verdict on whether the boot loaded its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LoadVerdict"))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Files were received completely, and nothing indicates that they did not run.
    Loaded,
    Failed,
    /// The capture starts too late, ends too early, or lacks the deciding packets.
    Unknown,
}

impl Verdict {
    /// Returns the JSON name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// The reason of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The operating system's own network started.
    SystemStarted,
    /// The last file was received completely, and nothing contradicts a success.
    FilesLoaded,
    /// The capture ends before the boot was finished.
    CaptureEnds,
    /// The boot had started before the capture.
    CaptureBegins,
    /// The client has an address, but no file request was captured.
    NoRequest,
    /// The capture holds only one direction, which does not show the end.
    OneDirection,
    /// The capture holds the requests for files, but not the ports of their transfers.
    TransfersNotCaptured,
    /// No server answered the DHCP requests.
    NoDhcpAnswer,
    /// The server refused the address (DHCPNAK).
    DhcpRefused,
    /// The client found the address in use (DHCPDECLINE).
    AddressInUse,
    /// No answer names a usable boot file.
    NoBootFile,
    /// No router advertised itself, so the client has an IPv6 address without a prefix and a route.
    NoRouterAdvertisement,
    /// The boot server did not respond on port 4011.
    BootServerSilent,
    /// The server's address was not resolved on the link (ARP).
    ServerNotOnLink,
    /// A router or host reported the server as unreachable (ICMP).
    ServerUnreachable,
    /// The server did not respond to the file request.
    RequestUnanswered,
    /// The server answered the file request from another address, which the client did not accept.
    AnsweredFromOtherAddress,
    /// The client did not respond to the server's option acknowledgment.
    OptionsUnanswered,
    /// The client refused the granted options.
    OptionsRefused,
    /// The server does not support options: it answered a size request with the file.
    OptionsIgnored,
    /// The server stopped sending in the middle of a file.
    ServerSilent,
    /// The client stopped responding in the middle of a file.
    ClientSilent,
    /// The client's port was closed in the middle of a file (ICMP).
    ClientUnreachable,
    /// Fragments of the blocks do not arrive.
    FragmentsLost,
    FileRefused,
    /// The transfer stopped where the 16-bit block number ends.
    BlockNumberLimit,
    /// The file is too large for the client.
    FileTooLarge,
    /// The client aborted the transfer.
    ClientAborted,
    /// The boot program is for another architecture or firmware.
    WrongArchitecture,
    /// The HTTP server responded with an error.
    HttpError,
    /// The HTTP server does not accept connections or does not respond.
    HttpUnanswered,
    /// An end reset the TCP connection.
    ConnectionReset,
    /// The server name could not be resolved (DNS).
    NameNotResolved,
    TlsFailed,
    /// The storage server (iSCSI, NBD, NFS, SMB) refused the started program.
    StorageRefused,
    /// The storage server did not respond to the started program.
    StorageUnanswered,
    /// The boot program returned to the firmware, or the computer was reset.
    BackToFirmware,
    /// The same boot program was loaded repeatedly.
    Loop,
}

impl Reason {
    /// True if the failure is that packets of the other end are not in the capture.
    pub(crate) fn is_missing_answer(self) -> bool {
        matches!(
            self,
            Self::NoDhcpAnswer
                | Self::NoBootFile
                | Self::BootServerSilent
                | Self::RequestUnanswered
                | Self::OptionsUnanswered
                | Self::ServerSilent
                | Self::ClientSilent
                | Self::HttpUnanswered
                | Self::NameNotResolved
                | Self::StorageUnanswered
        )
    }

    /// Returns the JSON name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SystemStarted => "system_started",
            Self::FilesLoaded => "files_loaded",
            Self::CaptureEnds => "capture_ends",
            Self::CaptureBegins => "capture_begins",
            Self::NoRequest => "no_request",
            Self::OneDirection => "one_direction",
            Self::TransfersNotCaptured => "transfers_not_captured",
            Self::NoDhcpAnswer => "no_dhcp_answer",
            Self::DhcpRefused => "dhcp_refused",
            Self::AddressInUse => "address_in_use",
            Self::NoBootFile => "no_boot_file",
            Self::NoRouterAdvertisement => "no_router_advertisement",
            Self::BootServerSilent => "boot_server_silent",
            Self::ServerNotOnLink => "server_not_on_link",
            Self::ServerUnreachable => "server_unreachable",
            Self::RequestUnanswered => "request_unanswered",
            Self::AnsweredFromOtherAddress => "answered_from_other_address",
            Self::OptionsUnanswered => "options_unanswered",
            Self::OptionsRefused => "options_refused",
            Self::OptionsIgnored => "options_ignored",
            Self::ServerSilent => "server_silent",
            Self::ClientSilent => "client_silent",
            Self::ClientUnreachable => "client_unreachable",
            Self::FragmentsLost => "fragments_lost",
            Self::FileRefused => "file_refused",
            Self::BlockNumberLimit => "block_number_limit",
            Self::FileTooLarge => "file_too_large",
            Self::ClientAborted => "client_aborted",
            Self::WrongArchitecture => "wrong_architecture",
            Self::HttpError => "http_error",
            Self::HttpUnanswered => "http_unanswered",
            Self::ConnectionReset => "connection_reset",
            Self::NameNotResolved => "name_not_resolved",
            Self::TlsFailed => "tls_failed",
            Self::StorageRefused => "storage_refused",
            Self::StorageUnanswered => "storage_unanswered",
            Self::BackToFirmware => "back_to_firmware",
            Self::Loop => "loop",
        }
    }
}

/// An error code on the client's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorCode {
    /// The code, e.g. `PXE-E18`.
    pub code: &'static str,
    /// Kind of firmware that shows it: `UEFI` (EDK II and derivatives) or `BIOS` (PXE option ROMs).
    pub shown_by: &'static str,
}
