//! The model of a recording: a [`Trace`] has tables, texts, stacks, a clock, the system configuration, and losses. The
//! tables are the same for every kind of recording.
//!
//! # Design constraints
//!
//! * Independent of file formats: readers fill a trace, analyses read it.
//! * Times are `i64` nanoseconds since the recording's first event, sizes are bytes, open ends are `None`.
//! * Tables are columnar. Each table is declared once, with units and roles ([`registry`]), and can be read by name
//!   ([`Trace::table`]) or, with the feature `arrow`, as Arrow record batches (`Trace::arrow`).
//! * Large tables consist of consecutive chunks ([`Batches`]), which readers can fill in parallel.
//! * Everything that a reader had to drop is counted in [`Losses`].

#![forbid(unsafe_code)]

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod cell;
pub mod clock;
pub mod column;
pub mod described_event;
pub mod directory;
mod drive_paths;
pub mod driver_file;
pub mod duration;
pub mod firmware;
pub mod lifetimes;
pub mod losses;
pub mod milestone;
pub mod named;
pub mod pattern;
pub mod power_phase;
pub mod registry;
pub mod shutdown_step;
pub mod stack;
pub mod string;
pub mod system;
pub mod table;
pub mod table_set;
pub mod tables;
mod time_index;
pub mod utc;
pub mod values;
pub mod wait_reason;
mod windows_account;
mod windows_release;

pub use clock::{Clock, ClockConversion};
pub use described_event::{
    DerivedValues, DescribedEvent, EventContext, EventOrigin, EventSchema, Field, FieldValue, StreamHeader,
};
pub use directory::Directory;
pub use drive_paths::DrivePaths;
pub use driver_file::DriverFile;
pub use duration::Duration;
pub use lifetimes::{Lifetimes, ThreadKey, Upid, Utid};
pub use losses::{Counter, Loss, Losses, Severity};
pub use pattern::Pattern;
pub use registry::{DECLARATIONS, TableDeclaration, TableName, TableView};
pub use stack::{StackId, StackPool};
pub use string::{StringId, StringPool};
pub use system::{SystemConfiguration, SystemKind};
pub use table::{Batches, Concatenation, Table};
pub use table_set::TableSet;
pub use tables::*;
pub use time_index::{RunningThread, SwitchRange, TimeIndex};
pub use utc::CivilTime;
pub use values::{SpillStore, Spilled, Values};
pub use windows_account::{
    AccountSearch, ClockStep, LogChannel, LoggedAccount, LoggedEnd, ShutdownAccount, ShutdownRequest, UncleanEnd,
    WindowsAccount,
};
pub use windows_release::windows_release;

use std::sync::Arc;

use serde::Serialize;

/// A file of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingFile {
    /// Name as passed by the caller.
    pub name: String,
    /// Content in a multi-file recording, e.g. `kernel log`; empty otherwise.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub content: &'static str,
    /// Size on disk, bytes.
    pub bytes: u64,
    /// Whether the event data is compressed inside the file format.
    pub compressed: bool,
    /// Whether the recorder closed the file properly; `false` after a power loss.
    pub finished: bool,
}

/// A boot recorded in a journal or in event logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedBoot {
    /// Boot ID: 32 hexadecimal digits; in event logs, the start in UTC, e.g. `20241115T142834Z`.
    pub id: String,
    /// Machine ID, 32 hexadecimal digits; in event logs, the computer's latest name; empty when not recorded.
    pub machine: String,
    /// Host name; empty when not recorded.
    pub host: String,
    /// Number: 0 is the last boot, -1 the boot before it.
    pub number: i64,
    /// Time of the first entry, ns since 1970-01-01 UTC.
    pub first_unix_ns: Option<i64>,
    /// Time of the last entry, ns since 1970-01-01 UTC.
    pub last_unix_ns: Option<i64>,
    /// Number of journal entries or event records.
    pub entries: u64,
    /// Whether event logs have the start of the kernel, or of the fast startup; `None` for a boot in a journal.
    pub kernel_start: Option<bool>,
    /// Whether the start completed: the service manager reported it, or Windows got as far as running services.
    pub started: bool,
    /// Whether it is a fast startup: the kernel resumed from a memory image that the shutdown before it wrote.
    pub fast_startup: bool,
    /// Whether the end was orderly, as in a shutdown.
    pub stopped: bool,
    /// Whether the tables contain this boot.
    pub read: bool,
}

/// Number and size of the recorded events of one provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProviderCount {
    /// GUID in lower case with hyphens; empty when the provider has none.
    pub guid: String,
    /// Name; the GUID when the name is not known.
    pub name: String,
    /// Number of events.
    pub events: u64,
    /// Size of the events in bytes, including headers.
    pub bytes: u64,
}

/// Number and size of the recorded events of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindCount {
    /// Name of the provider.
    pub provider: String,
    /// Kind, e.g. `CSwitch` or `Microsoft-Windows-Kernel-PnP/DeviceStart/win:Start`.
    pub name: String,
    /// Event id, or the hook (`group << 8 | type`) of a kernel event.
    pub id: u32,
    /// Version.
    pub version: u16,
    /// Number of events.
    pub events: u64,
    /// Size of the events in bytes, including headers.
    pub bytes: u64,
    #[serde(skip)]
    pub detail: KindDetail,
}

/// Numbers that only manifest events have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestNumbers {
    /// Task; 0 for none.
    pub task: u16,
    /// Channel; 0 for none.
    pub channel: u8,
}

/// Further attributes of a kind of event, taken from its first record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindDetail {
    /// GUID of the provider or class in lower case with hyphens; empty when there is none.
    pub guid: String,
    pub opcode: u8,
    /// `None` for events without a manifest.
    pub numbers: Option<ManifestNumbers>,
    pub level: u8,
    pub keyword: u64,
    /// Task name; empty when not known.
    pub task: String,
    /// Opcode name; empty when not known.
    pub opcode_name: String,
    /// Whether the event's schema is known.
    pub described: bool,
    /// Field names, in record order.
    pub fields: Vec<String>,
}

/// Event counts of a whole recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inventory {
    /// Number of records, including records that describe the recording itself.
    pub events: u64,
    /// By provider, most events first.
    pub providers: Vec<ProviderCount>,
    /// By kind, most events first.
    pub kinds: Vec<KindCount>,
}

/// A recording as tables.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Name of the recorder or session.
    pub recorder: String,
    pub files: Vec<RecordingFile>,
    pub clock: Clock,
    /// How times of other clocks were converted; empty when one clock stamped everything.
    pub clock_conversions: Vec<ClockConversion>,
    /// The boots in the recording's journals or event logs, oldest first.
    pub boots: Vec<RecordedBoot>,
    /// Start of the recording on the axis, ns. 0, except in a trace of a computer that was already running, because the
    /// axis starts with the kernel.
    pub start_ns: i64,
    /// Time of the last event, ns.
    pub duration_ns: i64,
    /// Resolution of times in text logs, ns: 1 s if they have whole seconds only; 0 if finer or without text logs.
    pub log_resolution_ns: i64,
    /// Events lost, as reported by the recorder.
    pub events_lost: u64,
    /// Buffers lost, as reported by the recorder.
    pub buffers_lost: u64,
    /// Configuration of the recorded computer.
    pub system: SystemConfiguration,
    /// The requested tables. A table that is not in this set was not read.
    pub requested_tables: TableSet,
    /// Distinct texts.
    pub strings: StringPool,
    /// Distinct call stacks.
    pub stack_pool: StackPool,
    /// Processes, by start.
    pub processes: Processes,
    /// Threads, by start.
    pub threads: Threads,
    /// Modules, by load.
    pub images: Images,
    /// Methods of .NET programs, by load.
    pub methods: Methods,
    /// Context switches, by time.
    pub context_switches: Batches<ContextSwitches>,
    /// Threads made ready, by time.
    pub ready_threads: Batches<ReadyThreads>,
    /// Profile samples, by time.
    pub samples: Batches<Samples>,
    /// Call stacks, in recorded order: shortly after their events, and with the time of the event.
    pub stacks: Batches<Stacks>,
    /// Interrupts and DPCs, by end.
    pub interrupts: Batches<Interrupts>,
    /// Disk requests, by completion.
    pub disk_ios: DiskIos,
    /// File operations, by start.
    pub file_ios: FileIos,
    /// Hard faults, by end.
    pub hard_faults: HardFaults,
    /// Service transitions, by start.
    pub service_transitions: ServiceTransitions,
    /// Declared dependencies of services, by service.
    pub service_dependencies: ServiceDependencies,
    /// Processes of services' commands, by service.
    pub service_processes: ServiceProcesses,
    /// Device operations, by start.
    pub device_operations: DeviceOperations,
    /// Milestones, by time.
    pub milestones: Milestones,
    /// Activities, by start.
    pub activities: Activities,
    /// Notifications of a transition, by start.
    pub notifications: Notifications,
    /// Power requests to devices, by start.
    pub power_requests: PowerRequests,
    /// Call graphs of slow device work, by start of the work, then depth first.
    pub call_graph_functions: CallGraphFunctions,
    /// Delays that Windows itself reported, as recorded.
    pub reported_delays: ReportedDelays,
    /// Changes of the computer before this boot, as recorded.
    pub system_changes: SystemChanges,
    /// Failures of services, by time.
    pub service_failures: ServiceFailures,
    /// Sessions of power reports, by start.
    pub power_sessions: PowerSessions,
    /// What kept a computer out of its low-power state, by session, longest first.
    pub low_power_blockers: LowPowerBlockers,
    /// Intervals in which no user was present, by start.
    pub user_absences: UserAbsences,
    /// Requests that the computer stays available, by start.
    pub availability_requests: AvailabilityRequests,
    /// Generic events, by time.
    pub events: Batches<Events>,
    /// Fields of generic events.
    pub event_fields: Batches<EventFields>,
    /// Files requested over the network, by request.
    pub network_transfers: NetworkTransfers,
    /// DHCP messages, by time.
    pub dhcp_messages: DhcpMessages,
    /// DNS lookups, by time.
    pub name_lookups: NameLookups,
    /// Firmware measurements, in the order written by the firmware.
    pub firmware_measurements: FirmwareMeasurements,
    /// Destination for data that exceeds the memory budget; `None` to keep everything in memory.
    pub spill_store: Option<Arc<dyn SpillStore>>,
    /// Driver files of the recorded computer; `None` when they were not passed with the recording.
    pub driver_files: Option<Vec<DriverFile>>,
    /// Windows' own account of the boot, from its event log; `None` if there is none.
    pub windows_account: Option<WindowsAccount>,
    /// How the boot ended; `None` for recordings other than event logs.
    pub logged_end: Option<LoggedEnd>,
    /// What event logs that accompany a trace recorded of its boot; `None` without such logs.
    pub logged_account: Option<LoggedAccount>,
    /// What event logs that accompany a trace recorded of its shutdown; `None` without such logs.
    pub logged_shutdown: Option<LoggedAccount>,
    /// The channels of the event logs, by name; empty for other recordings.
    pub channels: Vec<LogChannel>,
    /// Event counts by provider and kind, if requested.
    pub inventory: Option<Inventory>,
    pub losses: Losses,
    /// Time index of the largest tables; see [`Trace::switches_between`].
    pub time_index: TimeIndex,
}

impl Trace {
    #[must_use]
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// True if the trace is of power reports, which have sessions and no events.
    #[must_use]
    pub fn is_power_report(&self) -> bool {
        !self.power_sessions.is_empty() || !self.user_absences.is_empty()
    }

    /// Returns the duration from the start of the recording to the last event, in ns.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.duration_ns.saturating_sub(self.start_ns)
    }
}
