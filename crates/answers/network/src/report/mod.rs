//! The result of the network boot analysis. Serialized names are the documented contract of `netboot --format json`.

mod download;
mod finding;
mod outcome;

use onoff_netboot::MacAddress;
use onoff_netboot::path::CapturePath;
use onoff_netboot::tftp::{Options, ProgramMachine};
use onoff_netboot::transfer::{DuplicatedRun, ErrorPacket, Outcome, Timeout, TransferCounts, WindowTurnaround};
use onoff_netboot::turnaround::Turnaround;
use onoff_netboot::window::WindowChange;
use onoff_trace::Losses;
use serde::Serialize;

use super::dhcp::DhcpExchange;
use super::model::{LatencyModel, Prediction};
pub use download::Download;
pub use finding::Finding;
use onoff_evidence::rule::Rule;
pub use outcome::{AttemptMethod, BootAttempt, BootOutcome, ErrorCode, Reason, Verdict};

/// The network boots of a capture: clients, stages, files and findings. Times are relative to the first frame of the
/// capture.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetbootReport {
    pub capture: CaptureSummary,
    /// The path between the places of two captures of one boot; `None` with one capture.
    pub path: Option<CapturePath>,
    /// Assumed speed of the client's link, bits per second. It determines the wire time of a block.
    pub link_bits_per_s: u64,
    /// The boots, ordered by start.
    pub boots: Vec<NetworkBoot>,
    pub losses: Losses,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureSummary {
    pub files: Vec<CaptureFileSummary>,
    /// UTC time of the first frame, such as `2026-11-20T10:49:31.411279000`; `None` if there are no frames.
    pub start_utc: Option<String>,
    /// Time of the first frame, ns since 1970-01-01 UTC.
    #[serde(skip)]
    pub start_unix_ns: Option<i64>,
    /// From the first frame to the last, ns.
    pub duration_ns: i64,
    pub frames: u64,
    /// Bytes of the frames on the wire, without preamble and checksum.
    pub wire_bytes: u64,
    /// Duplicate frames, which are ignored.
    pub duplicate_frames: u64,
    /// Maximum number of captured bytes per frame; `None` if whole frames were captured.
    pub snap_length: Option<u32>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureFileSummary {
    pub name: String,
    /// Stored size, bytes.
    pub bytes: u64,
    /// `pcap` or `pcapng`.
    pub container: &'static str,
    pub frames: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkBoot {
    pub client: Client,
    /// First frame of the client in this boot, ns.
    pub start_ns: i64,
    /// End, ns; determined by `end_rule`.
    pub end_ns: i64,
    pub duration_ns: i64,
    /// The rule that determined the end.
    pub end_rule: Rule,
    /// Whether the boot loaded, and if not, why.
    pub outcome: BootOutcome,
    /// The attempts to load, in time order. A boot that loads at once has one.
    pub attempts: Vec<BootAttempt>,
    /// Where the capture was taken, judged by the shortest responses of both ends.
    pub capture_side: CaptureSide,
    /// Upper bound of the round trip between the client and its main server, ns. It is the sum of the shortest
    /// responses of both ends to each other (turns, TCP handshakes, ARP, ICMP).
    pub max_round_trip_ns: Option<i64>,
    /// Who spent the time.
    pub blame: BootBlame,
    /// The stages in order, without gaps.
    pub stages: Vec<Stage>,
    /// Dialogues with DHCP and boot servers.
    pub dhcp: Vec<DhcpExchange>,
    /// TFTP transfers, ordered by request.
    pub transfers: Vec<FileTransfer>,
    /// HTTP and HTTPS downloads before the operating system's network starts, ordered by start.
    pub downloads: Vec<Download>,
    /// First connection to a storage server (iSCSI, NBD, NFS, SMB) that the server accepted, ns.
    pub file_server_ns: Option<i64>,
    /// Totals of all TFTP transfers.
    pub total: TransferTotal,
    /// Predictions for other windows and block sizes; empty if no transfer was long enough.
    pub predictions: Vec<Prediction>,
    /// Prediction for the settings of `--window`, `--block`, `--rtt` and `--loss`.
    pub what_if: Option<Prediction>,
    /// Findings, most expensive first.
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Client {
    /// MAC address; `None` if it is in neither frames nor messages.
    pub mac: Option<MacAddress>,
    /// IP addresses in order of appearance.
    pub addresses: Vec<String>,
    /// Architecture code (RFC 4578 and its registry).
    pub architecture: Option<u16>,
    /// Meaning of the code; empty if unknown.
    pub architecture_name: &'static str,
    /// Vendor class of the firmware, e.g. `PXEClient:Arch:00007:UNDI:003016`; empty if unknown.
    pub vendor_class: String,
    /// Machine identifier (SMBIOS UUID).
    pub machine_id: Option<String>,
}

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CaptureSide {
    /// Near the server: client turnaround includes the network's round trip.
    Server,
    /// Near the client: server turnaround includes the network's round trip.
    Client,
    /// Too few responses, or both ends respond equally fast.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// From the client's first frame to its first DHCP request.
    Link,
    /// A dialogue with DHCP servers.
    Dhcp,
    /// A dialogue with a boot server (port 4011).
    BootServer,
    /// A boot menu, or the wait before its first entry starts.
    Menu,
    /// A request for the size of a file.
    SizeProbe,
    /// The network boot program.
    BootProgram,
    /// Loader files: programs, modules, fonts.
    Loader,
    /// Configuration: boot menus, BCD.
    Configuration,
    Kernel,
    /// A ramdisk or image.
    Ramdisk,
    OtherFile,
    /// A file the server refused.
    Refused,
    /// A download over HTTP or HTTPS.
    Http,
    /// The client sends nothing: it runs what it loaded, or waits.
    Client,
    /// The operating system's own network starts.
    OperatingSystem,
}

impl StageKind {
    /// Returns the display name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Dhcp => "DHCP",
            Self::BootServer => "boot server",
            Self::Menu => "boot menu",
            Self::SizeProbe => "size probe",
            Self::BootProgram => "boot program",
            Self::Loader => "loader",
            Self::Configuration => "configuration",
            Self::Kernel => "kernel",
            Self::Ramdisk => "ramdisk",
            Self::OtherFile => "other file",
            Self::Refused => "refused",
            Self::Http => "HTTP",
            Self::Client => "client busy",
            Self::OperatingSystem => "OS network",
        }
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    pub kind: StageKind,
    /// Details, such as the file name.
    pub detail: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub duration_ns: i64,
    /// Share of the boot, percent.
    pub share_percent: f64,
    /// The rule that determined start and end.
    pub rule: Rule,
}

/// The purpose of a file, judged by its name and position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The network boot program started by the firmware.
    BootProgram,
    /// A program, module or font of a loader.
    Loader,
    Configuration,
    Kernel,
    /// A ramdisk or image.
    Ramdisk,
    Other,
}

/// A TFTP transfer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileTransfer {
    /// Requested file name.
    pub file: String,
    pub role: FileRole,
    /// True for an upload.
    pub write: bool,
    /// True if the transfer started before the capture, so that name and options are unknown.
    pub started_before_capture: bool,
    /// Address and port of the client.
    pub client: String,
    /// Address and port of the server; the port is 69 if it never responded.
    pub server: String,
    pub outcome: Outcome,
    /// Target architecture of a UEFI program whose first block was captured.
    pub program: Option<ProgramMachine>,
    /// The ERROR packet, if there was one.
    pub error: Option<ErrorPacket>,
    /// First read request, ns.
    pub request_ns: i64,
    /// Number of requests, including repeated ones.
    pub requests: u64,
    /// First response of the server, ns.
    pub answer_ns: Option<i64>,
    /// First block, ns.
    pub first_data_ns: Option<i64>,
    /// Last packet, ns; for complete transfers, the acknowledgment of the last block.
    pub end_ns: i64,
    /// From the first read request to the acknowledgment of the last block, ns; `None` if the transfer is incomplete.
    pub duration_ns: Option<i64>,
    /// From the server's first response to the acknowledgment of the last block, ns.
    pub answer_to_end_ns: Option<i64>,
    /// Time between the end of the client's previous transfer and this request, ns.
    pub idle_before_ns: Option<i64>,
    /// Bytes per second, from request to end.
    pub bytes_per_s: Option<f64>,
    /// Requested options.
    pub requested: Options,
    /// Granted options; `None` if the server responded without options.
    pub granted: Option<Options>,
    /// Bytes per block.
    pub block_size: u32,
    /// Granted blocks per acknowledgment.
    pub window: u32,
    /// True if the window varies (an extension of Microsoft's server and loader).
    pub variable_window: bool,
    /// Options for which the server granted less than requested.
    pub downgraded: Vec<&'static str>,
    pub counts: TransferCounts,
    /// Retransmitted DATA packets, percent.
    pub repeated_percent: f64,
    /// Mean blocks per acknowledgment.
    pub window_mean: Option<f64>,
    /// Maximum blocks per acknowledgment.
    pub max_window: u32,
    /// Window changes over time.
    pub windows: Vec<WindowChange>,
    /// Number of window changes not in `windows`.
    pub omitted_window_changes: u64,
    /// From an acknowledgment to the first block after it.
    pub server_turn: Turnaround,
    /// From the last block before an acknowledgment to the acknowledgment.
    pub client_turn: Turnaround,
    /// Turns of the receiver, by the number of blocks since its previous acknowledgment.
    pub turns_by_window: Vec<WindowTurnaround>,
    /// Between blocks of one window.
    pub gap: Turnaround,
    /// The first 256 silences of half a second or more before a retransmission.
    pub timeouts: Vec<Timeout>,
    pub timeout_count: u64,
    /// Total duration of the timeouts, ns.
    pub timeout_ns: i64,
    /// Longest run of blocks that were each sent and acknowledged exactly twice (Sorcerer's Apprentice).
    pub duplicate_blocks: Option<DuplicatedRun>,
    /// Number of times the block number wrapped after 65,535.
    pub wraps: u32,
    /// Block number after 65,535, if reached: 0, or 1 with some servers.
    pub first_wrapped_number: Option<u16>,
    /// Largest block that fits into an Ethernet frame of 1,500 bytes: 1468 with IPv4, 1448 with IPv6.
    pub unfragmented_limit: u32,
    /// Breakdown of the duration; `None` if the transfer is incomplete.
    pub costs: Option<Costs>,
    /// The latency model; `None` if there are too few blocks to fit it.
    pub model: Option<LatencyModel>,
}

/// Breakdown of a transfer. The parts add up to its duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// From the request to the acknowledgment of the granted options (or to the first block), without timeouts, ns.
    pub setup_ns: i64,
    /// Between blocks of one window, and between fragments of a block, without pauses, ns.
    pub blocks_ns: i64,
    /// Turns of the server, without pauses, ns.
    pub server_ns: i64,
    /// Turns of the client, without pauses, ns.
    pub client_ns: i64,
    /// Pauses of the server beyond its usual turn, ns.
    pub server_pauses_ns: i64,
    /// Pauses of the client beyond its usual turn, ns.
    pub client_pauses_ns: i64,
    pub timeouts_ns: i64,
    /// The rest, ns: retransmissions without a timeout and their consequences.
    pub remainder_ns: i64,
}

/// The time of a boot, divided among client, server, network and waiting for timeouts. The parts add up to its duration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootBlame {
    /// Turns and pauses of the client, and time without requests.
    pub client: BlamePart,
    /// Turns and pauses of the servers.
    pub server: BlamePart,
    /// Round trips and blocks on the wire.
    pub network: BlamePart,
    /// Waiting for an answer that did not come.
    pub timeouts: BlamePart,
    /// Round trip of the network, ns, from two captures, or from the shortest ARP, ICMP or TCP response of the end that is
    /// far from the capture point; `None` if there is neither: the round trip is then part of that end's turns.
    pub round_trip_ns: Option<i64>,
}

/// A part of the time of a boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlamePart {
    pub ns: i64,
    /// Share of the boot, percent.
    pub share_percent: f64,
    /// What the time consists of.
    pub measure: String,
}

/// Totals of the complete TFTP transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferTotal {
    pub files: u64,
    pub bytes: u64,
    /// Sum of the durations from request to end, ns.
    pub duration_ns: i64,
    /// Sum of the modeled durations, ns; `None` if no model could be fitted.
    pub model_ns: Option<i64>,
    /// Measured minus modeled duration, ns.
    pub unexplained_ns: Option<i64>,
    /// Part of the unexplained time that is pauses, ns.
    pub pauses_ns: i64,
    pub timeout_ns: i64,
    /// Time between files, ns.
    pub idle_ns: i64,
}
