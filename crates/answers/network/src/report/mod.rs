//! The result of the network boot analysis. Its serialized names are the documented contract of `netboot --format json`.

mod download;
mod finding;
mod outcome;

use onoff_netboot::MacAddress;
use onoff_netboot::tftp::{Options, ProgramMachine};
use onoff_netboot::transfer::{Counts, DoubledRun, ErrorPacket, Outcome, Timeout, WindowTurn};
use onoff_netboot::turnaround::Turnaround;
use onoff_netboot::window::WindowChange;
use onoff_trace::Losses;
use serde::Serialize;

use super::dhcp::DhcpExchange;
use super::model::{LatencyModel, Prediction};
pub use download::Download;
pub use finding::Finding;
use onoff_evidence::rule::Rule;
pub use outcome::{BootOutcome, ErrorCode, Reason, Verdict};

/// Network boots in a capture: who booted, in which stages, which files came how, and what to change. Times count from the
/// capture's first frame.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetbootReport {
    /// The capture.
    pub capture: CaptureSummary,
    /// Speed of the client's link as assumed, bits per second: what a block takes on the wire follows from it.
    pub link_bits_per_s: u64,
    /// The boots, by start.
    pub boots: Vec<NetworkBoot>,
    /// What was lost.
    pub losses: Losses,
}

/// A capture as a whole.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureSummary {
    /// Its files.
    pub files: Vec<CaptureFileSummary>,
    /// Time of the first frame, UTC, as `2026-11-20T10:49:31.411279000`; `None` when there is no frame.
    pub start_utc: Option<String>,
    /// The same, ns since 1970-01-01 UTC.
    #[serde(skip)]
    pub start_unix_ns: Option<i64>,
    /// From the first frame to the last, ns.
    pub duration_ns: i64,
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames on the wire, without preamble and checksum.
    pub wire_bytes: u64,
    /// Frames that the capture holds a second time, left out.
    pub duplicate_frames: u64,
    /// Bytes that frames were cut to; `None` when whole frames were captured.
    pub snap_length: Option<u32>,
}

/// A file of a capture.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureFileSummary {
    /// Name.
    pub name: String,
    /// Bytes as stored.
    pub bytes: u64,
    /// Container: `pcap` or `pcapng`.
    pub container: &'static str,
    /// Frames.
    pub frames: u64,
}

/// One network boot of one client.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkBoot {
    /// Who booted.
    pub client: Client,
    /// First frame of the client in this boot, ns.
    pub start_ns: i64,
    /// End, ns; `end_rule` says what set it.
    pub end_ns: i64,
    /// From begin to end, ns.
    pub duration_ns: i64,
    /// What set the end.
    pub end_rule: Rule,
    /// Whether it loaded, and if not, why.
    pub outcome: BootOutcome,
    /// Where the capture was taken, as far as the shortest answers of both ends tell.
    pub capture_side: CaptureSide,
    /// Round trip between the client and the server that it loaded most from is at most this, ns: the shortest answers of both
    /// ends together, each to the other (turns, handshakes of TCP, ARP, ICMP).
    pub round_trip_at_most_ns: Option<i64>,
    /// The stages, in order; they follow each other without gaps.
    pub stages: Vec<Stage>,
    /// Dialogues with DHCP and boot servers.
    pub dhcp: Vec<DhcpExchange>,
    /// Transfers by TFTP, by time of the request.
    pub transfers: Vec<FileTransfer>,
    /// Downloads over HTTP and HTTPS until the operating system's network begins, by start.
    pub downloads: Vec<Download>,
    /// First connection to a file server (SMB, port 445), ns: an operating system's.
    pub file_server_ns: Option<i64>,
    /// All transfers by TFTP together.
    pub total: TransferTotal,
    /// What the transfers would take with other windows and block sizes; empty when none was long enough to tell.
    pub predictions: Vec<Prediction>,
    /// What the modeled transfers would take with the settings of `--window`, `--block`, `--rtt` and `--loss`.
    pub what_if: Option<Prediction>,
    /// What to change, what costs most first.
    pub findings: Vec<Finding>,
}

/// A client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Client {
    /// Its station address; `None` where neither link nor message tells.
    pub mac: Option<MacAddress>,
    /// Its addresses, in order of appearance.
    pub addresses: Vec<String>,
    /// Architecture code (RFC 4578 and its registry).
    pub architecture: Option<u16>,
    /// What the code means; empty when not known.
    pub architecture_name: &'static str,
    /// Vendor class of its firmware, e.g. `PXEClient:Arch:00007:UNDI:003016`; empty when not known.
    pub vendor_class: String,
    /// Machine identifier (SMBIOS UUID); `None` when not known.
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
    /// Too few answers, or ends that answer equally fast.
    Unknown,
}

/// What a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// From the client's first frame to its first request for an address.
    Link,
    /// A dialogue with DHCP servers for an address.
    Dhcp,
    /// A dialogue with a boot server (port 4011).
    BootServer,
    /// A boot menu, or the wait before its first entry starts.
    Menu,
    /// A question for a file's size.
    SizeProbe,
    /// The network boot program.
    BootProgram,
    /// Loader files: programs, modules, fonts.
    Loader,
    /// Configuration: boot menus, BCD.
    Configuration,
    /// A kernel.
    Kernel,
    /// A ramdisk or image.
    Ramdisk,
    /// A file of another kind.
    OtherFile,
    /// A file that the server refused.
    Refused,
    /// A download over HTTP or HTTPS.
    Http,
    /// The client is silent: it runs what it loaded, or waits.
    Client,
    /// The operating system's own network begins.
    OperatingSystem,
}

impl StageKind {
    /// The name for people.
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

/// A stage of a boot.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// What it is.
    pub kind: StageKind,
    /// What happened in it, e.g. the file's name.
    pub detail: String,
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// Share of the boot, percent.
    pub share_percent: f64,
    /// What set begin and end.
    pub rule: Rule,
}

/// What a file is for, judged by its name and its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// The network boot program, which the firmware starts.
    BootProgram,
    /// A loader's program, module or font.
    Loader,
    /// Configuration.
    Configuration,
    /// A kernel.
    Kernel,
    /// A ramdisk or image.
    Ramdisk,
    /// Something else.
    Other,
}

/// A file transferred by TFTP.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileTransfer {
    /// Name, as asked for.
    pub file: String,
    /// What it is for.
    pub role: FileRole,
    /// Whether the client sends it: an upload.
    pub write: bool,
    /// Whether it was under way when the capture began: name and options are unknown.
    pub under_way: bool,
    /// Address and port of the client.
    pub client: String,
    /// Address and port of the server; the port is 69 when it never answered.
    pub server: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Which processor it is for, when it is a UEFI program whose first block was captured.
    pub program: Option<ProgramMachine>,
    /// The ERROR packet, if there was one.
    pub error: Option<ErrorPacket>,
    /// Time of the first read request, ns.
    pub request_ns: i64,
    /// Requests, repeated ones included.
    pub requests: u64,
    /// Time of the server's first answer, ns.
    pub answer_ns: Option<i64>,
    /// Time of the first block, ns.
    pub first_data_ns: Option<i64>,
    /// Time of the last packet that belongs to it; for complete ones, the acknowledgment of the last block, ns.
    pub end_ns: i64,
    /// From the first read request to the acknowledgment of the last block, ns; `None` when it did not come that far.
    pub duration_ns: Option<i64>,
    /// From the server's first answer to the acknowledgment of the last block, ns.
    pub answer_to_end_ns: Option<i64>,
    /// Silence between the end of the transfer before, of the same client, and this request, ns.
    pub idle_before_ns: Option<i64>,
    /// Bytes per second, request to end.
    pub bytes_per_s: Option<f64>,
    /// Options asked for.
    pub asked: Options,
    /// Options granted; `None` when the server answered without any.
    pub granted: Option<Options>,
    /// Bytes per block.
    pub block_size: u32,
    /// Blocks per acknowledgment, as granted.
    pub window: u32,
    /// Whether the window varies, as Microsoft's server and loader agree to.
    pub variable_window: bool,
    /// Options of which less was granted than asked for.
    pub downgraded: Vec<&'static str>,
    /// Packets and bytes.
    pub counts: Counts,
    /// Repeated DATA packets, percent of all.
    pub repeated_percent: f64,
    /// Blocks per acknowledgment, on average.
    pub window_mean: Option<f64>,
    /// Most blocks of one acknowledgment.
    pub window_largest: u32,
    /// Changes of the window over time.
    pub windows: Vec<WindowChange>,
    /// Changes of the window that were not kept.
    pub windows_left_out: u64,
    /// From an acknowledgment to the first block after it.
    pub server_turn: Turnaround,
    /// From the last block before an acknowledgment to it.
    pub client_turn: Turnaround,
    /// The receiver's turns, by the blocks that came since its acknowledgment before.
    pub turns_by_window: Vec<WindowTurn>,
    /// Between blocks of one window.
    pub gap: Turnaround,
    /// Silences of half a second or more that a retransmission ended; the first 256.
    pub timeouts: Vec<Timeout>,
    /// How many there were.
    pub timeout_count: u64,
    /// What they took, ns.
    pub timeout_ns: i64,
    /// The longest run of blocks that were each sent and acknowledged exactly twice (Sorcerer's Apprentice).
    pub doubled: Option<DoubledRun>,
    /// How often the block number began anew after 65,535.
    pub wraps: u32,
    /// The block number after 65,535, once that was reached: 0, or with some servers 1.
    pub after_last_number: Option<u16>,
    /// Largest block that goes into one Ethernet frame of 1,500 bytes: 1468 with IPv4, 1448 with IPv6.
    pub unfragmented_limit: u32,
    /// Where its time went; `None` when it is not complete.
    pub costs: Option<Costs>,
    /// The latency model; `None` when too few blocks came to fit it.
    pub model: Option<LatencyModel>,
}

/// Where a transfer's time went. The parts add up to its duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Costs {
    /// From the request to the acknowledgment of the granted options, or without one to the first block, time-outs left out, ns.
    pub setup_ns: i64,
    /// Between blocks of one window, and between the fragments of a block, pauses left out, ns.
    pub blocks_ns: i64,
    /// The server's turns, pauses left out, ns.
    pub server_ns: i64,
    /// The client's turns, pauses left out, ns.
    pub client_ns: i64,
    /// The server's pauses, beyond the usual turn, ns.
    pub server_pauses_ns: i64,
    /// The client's pauses, beyond the usual turn, ns.
    pub client_pauses_ns: i64,
    /// Time-outs, ns.
    pub timeouts_ns: i64,
    /// What remains: retransmissions without a time-out, and what follows them, ns.
    pub remainder_ns: i64,
}

/// Transfers by TFTP together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferTotal {
    /// Complete files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What they took, each from request to end, ns.
    pub duration_ns: i64,
    /// What the latency model says they take, ns; `None` when none could be fitted.
    pub model_ns: Option<i64>,
    /// What the model cannot explain, ns: measured less model.
    pub unexplained_ns: Option<i64>,
    /// The part of it that pauses are, ns.
    pub pauses_ns: i64,
    /// Time-outs, ns.
    pub timeout_ns: i64,
    /// Silence between files, ns.
    pub idle_ns: i64,
}
