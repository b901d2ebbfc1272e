//! The model of a recording: a [`Trace`] is tables, texts, stacks, a clock, the system's configuration, and losses.
//! The same tables whatever recorded them.
//!
//! # Design constraints
//!
//! * Knows no file format; readers fill it, analyses read it.
//! * Times are `i64` nanoseconds since the recording's first event; sizes are bytes; open ends are `None`.
//! * A table is columns, declared once with units and roles ([`registry`]); any is read by its name ([`Trace::table`]),
//!   and with the feature `arrow` as Arrow record batches (`Trace::arrow`), which leaves it as it is.
//! * Large tables come in consecutive pieces ([`Batches`]), so that readers can fill them in parallel.
//! * Whatever was lost on the way here is a named counter in [`Losses`].

#![forbid(unsafe_code)]

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod cell;
pub mod clock;
pub mod column;
pub mod described_event;
pub mod directory;
pub mod driver_file;
pub mod duration;
pub mod firmware;
pub mod lives;
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
mod windows_release;

pub use clock::{Clock, ClockConversion};
pub use described_event::{
    Derived, DescribedEvent, EventColumns, EventContext, EventOrigin, Field, FieldValue, StreamHeader,
};
pub use directory::Directory;
pub use driver_file::DriverFile;
pub use duration::Duration;
pub use lives::{Lives, ThreadKey, Upid, Utid};
pub use losses::{Counter, Loss, Losses, Severity};
pub use pattern::Pattern;
pub use registry::{DECLARATIONS, TableDeclaration, TableName, TableView};
pub use stack::{StackId, StackPool};
pub use string::{StringId, StringPool};
pub use system::{SystemConfiguration, SystemKind};
pub use table::{Batches, Table};
pub use table_set::Tables;
pub use tables::*;
pub use time_index::{Occupant, SwitchRange, TimeIndex};
pub use utc::CivilTime;
pub use values::{Shelf, Shelved, Values};
pub use windows_release::windows_release;

use std::sync::Arc;

use serde::Serialize;

/// One file of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordingFile {
    /// Name as the caller gave it.
    pub name: String,
    /// What of a recording it holds, e.g. `kernel log`, where recordings are made of parts; empty where they are not.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub content: &'static str,
    /// Bytes as stored.
    pub bytes: u64,
    /// Whether its event data is compressed inside the format.
    pub compressed: bool,
    /// Whether the recorder finished it; `false` after a power loss.
    pub finished: bool,
}

/// A boot that a recording's journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecordedBoot {
    /// Id as the system writes it: 32 hexadecimal digits.
    pub id: String,
    /// Id of the machine, 32 hexadecimal digits; empty when no entry names it.
    pub machine: String,
    /// Its name; empty when no entry names it.
    pub host: String,
    /// Number, counted from the last, which is 0, back: -1 is the one before.
    pub number: i64,
    /// First entry, ns since 1970-01-01 UTC.
    pub first_unix_ns: Option<i64>,
    /// Last entry, ns since 1970-01-01 UTC.
    pub last_unix_ns: Option<i64>,
    /// Entries.
    pub entries: u64,
    /// Whether the service manager says that the start was finished.
    pub started: bool,
    /// Whether the journal was stopped in order, as a shutdown does.
    pub stopped: bool,
    /// Whether the tables are those of this boot.
    pub read: bool,
}

/// How many events of one provider were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProviderCount {
    /// GUID as lower-case text with hyphens; empty when the provider has none.
    pub guid: String,
    /// Name; the GUID when it is not known.
    pub name: String,
    /// Events.
    pub events: u64,
    /// Bytes of those events, headers included.
    pub bytes: u64,
}

/// How many events of one kind were recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KindCount {
    /// Provider's name.
    pub provider: String,
    /// Kind, e.g. `CSwitch` or `Microsoft-Windows-Kernel-PnP/DeviceStart/win:Start`.
    pub name: String,
    /// Event id, or the hook (`group << 8 | type`) of a kernel event.
    pub id: u32,
    /// Version.
    pub version: u16,
    /// Events.
    pub events: u64,
    /// Bytes of those events, headers included.
    pub bytes: u64,
    /// What else is known of the kind.
    #[serde(skip)]
    pub detail: KindDetail,
}

/// Numbers of an event with a manifest besides its id, version, opcode, level and keywords.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestNumbers {
    /// Task; 0 where there is none.
    pub task: u16,
    /// Channel; 0 where there is none.
    pub channel: u8,
}

/// What is known of a kind of event besides its name and number; taken from its first record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindDetail {
    /// Provider's or class's GUID as lower-case text with hyphens; empty when there is none.
    pub guid: String,
    /// Opcode.
    pub opcode: u8,
    /// Numbers that only events with a manifest have.
    pub numbers: Option<ManifestNumbers>,
    /// Level.
    pub level: u8,
    /// Keyword bits.
    pub keyword: u64,
    /// Task's name; empty when not known.
    pub task: String,
    /// Opcode's name; empty when not known.
    pub opcode_name: String,
    /// Whether a schema is known.
    pub described: bool,
    /// Names of its fields, in their order.
    pub fields: Vec<String>,
}

/// The count of everything recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Inventory {
    /// All records, those that describe the recording itself included.
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
    /// The files it was read from.
    pub files: Vec<RecordingFile>,
    /// The axis.
    pub clock: Clock,
    /// How times of other clocks came onto the axis; empty where one clock stamped everything.
    pub clock_conversions: Vec<ClockConversion>,
    /// The boots that the recording's journals hold, in the order in which they began.
    pub boots: Vec<RecordedBoot>,
    /// Where on the axis the recording begins, ns: 0, but for a trace of a computer that had been running, whose axis
    /// begins with its kernel.
    pub start_ns: i64,
    /// Time of the last event, ns.
    pub duration_ns: i64,
    /// Events that the recorder itself says it lost.
    pub events_lost: u64,
    /// Buffers that the recorder itself says it lost.
    pub buffers_lost: u64,
    /// The machine.
    pub system: SystemConfiguration,
    /// Which tables were asked for: an empty table outside this set says nothing.
    pub wanted: Tables,
    /// Every distinct text.
    pub strings: StringPool,
    /// Every distinct call stack.
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
    /// Stacks, as recorded: each shortly after the event it belongs to, whose time it carries.
    pub stacks: Batches<Stacks>,
    /// Interrupts and deferred procedure calls, by end.
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
    /// Call graphs of slow work on devices, by the work's begin, then as a tree is read.
    pub call_graph_functions: CallGraphFunctions,
    /// Generic events, by time.
    pub events: Batches<Events>,
    /// Fields of generic events.
    pub event_fields: Batches<EventFields>,
    /// Files that came over the network, by request.
    pub network_transfers: NetworkTransfers,
    /// DHCP messages, by time.
    pub dhcp_messages: DhcpMessages,
    /// Names looked up over the network, by time.
    pub name_lookups: NameLookups,
    /// What firmware measured of itself, as it wrote it.
    pub firmware_measurements: FirmwareMeasurements,
    /// Where what is made of the tables and is too much for memory goes; `None` where all stays there.
    pub shelf: Option<Arc<dyn Shelf>>,
    /// Drivers' files of the recorded computer; `None` when they were not given beside the recording.
    pub driver_files: Option<Vec<DriverFile>>,
    /// Counts by provider and kind, when asked for.
    pub inventory: Option<Inventory>,
    /// What was lost.
    pub losses: Losses,
    /// Rows of the largest tables by time; see [`Trace::switches_between`].
    pub time_index: TimeIndex,
}

impl Trace {
    /// The text of `id`.
    #[must_use]
    pub fn text(&self, id: StringId) -> &str {
        self.strings.get(id)
    }

    /// From the recording's first moment to its last event, ns.
    #[must_use]
    pub fn length_ns(&self) -> i64 {
        self.duration_ns.saturating_sub(self.start_ns)
    }
}
