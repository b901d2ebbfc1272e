//! The account of a phase: its time, divided among the subjects that made it as long as it was.

use serde::{Deserialize, Serialize};

use crate::Certainty;

/// The kind of subject that time is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountSubjectKind {
    /// A Windows service.
    Service,
    /// A systemd unit.
    Unit,
    /// A driver, with the device it worked for if that was recorded.
    Driver,
    /// One process.
    Process,
    /// A file on a disk that a part of the system waited for.
    File,
    /// A policy script.
    Script,
    /// Group Policy or one of its extensions.
    Policy,
    /// A Winlogon notification subscriber.
    Subscriber,
    /// Firmware and boot loader.
    Firmware,
    Kernel,
    /// CPU contention: too few CPUs for the threads that were ready. Among culprits only; accounts name the threads
    /// that occupied the CPUs.
    Cpu,
    /// A disk that parts of the system waited for, for many files. Among culprits only; accounts name the waiting
    /// subjects.
    Disk,
    /// User input: credentials or a choice.
    UserInput,
    /// Idle time that is required for the phase to end.
    Idle,
    /// Unattributed time; the entry gives the reason.
    Unknown,
}

impl AccountSubjectKind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Unit => "unit",
            Self::Driver => "driver",
            Self::Process => "process",
            Self::File => "file",
            Self::Script => "script",
            Self::Policy => "policy",
            Self::Subscriber => "subscriber",
            Self::Firmware => "firmware",
            Self::Kernel => "kernel",
            Self::Cpu => "cpu",
            Self::Disk => "disk",
            Self::UserInput => "user_input",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }

    /// True if the time is attributed to a subject, i.e. is neither idle nor unknown.
    #[must_use]
    pub const fn is_attributable(self) -> bool {
        !matches!(self, Self::Idle | Self::Unknown)
    }
}

/// What a subject did with the time attributed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountAction {
    Ran,
    WaitedForDisk,
    /// It waited for a timer that it had set, or until a timeout expired.
    WaitedForTimer,
    /// It waited for a device or a driver's interrupt.
    WaitedForDevice,
    /// It was ready, and waited for a CPU.
    WaitedForCpu,
    /// It occupied the CPU while other threads were ready.
    OccupiedCpu,
    /// The disk served its requests while others were queued.
    OccupiedDisk,
    /// Its interrupts and DPCs ran in another thread's time.
    Interrupted,
    /// It was processing a request; what it waited for was not recorded.
    ProcessedRequest,
    /// It waited; the reason was not recorded.
    Waited,
    /// It kept the computer from becoming idle.
    KeptBusy,
    /// The time is idle or unknown.
    Nothing,
}

impl AccountAction {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::WaitedForDisk => "waited_for_disk",
            Self::WaitedForTimer => "waited_for_timer",
            Self::WaitedForDevice => "waited_for_device",
            Self::WaitedForCpu => "waited_for_cpu",
            Self::OccupiedCpu => "occupied_cpu",
            Self::OccupiedDisk => "occupied_disk",
            Self::Interrupted => "interrupted",
            Self::ProcessedRequest => "processed_request",
            Self::Waited => "waited",
            Self::KeptBusy => "kept_busy",
            Self::Nothing => "nothing",
        }
    }
}

impl AccountAction {
    /// A phrase to precede a duration: `waited for a timer`.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::WaitedForDisk => "waited for a disk",
            Self::WaitedForTimer => "waited for a timer",
            Self::WaitedForDevice => "waited for a device",
            Self::WaitedForCpu => "waited for a CPU",
            Self::OccupiedCpu => "occupied the CPU",
            Self::OccupiedDisk => "occupied the disk",
            Self::Interrupted => "ran interrupts and DPCs",
            Self::ProcessedRequest => "worked on a request",
            Self::Waited => "waited for an unknown reason",
            Self::KeptBusy => "kept the computer busy",
            Self::Nothing => "",
        }
    }

    /// Like [`phrase`](Self::phrase), but specific to the subject: services and units start or stop rather than process
    /// a request.
    #[must_use]
    pub const fn phrase_for(self, kind: AccountSubjectKind) -> &'static str {
        match (self, kind) {
            (Self::ProcessedRequest, AccountSubjectKind::Service | AccountSubjectKind::Unit) => {
                "was starting or stopping"
            }
            _ => self.phrase(),
        }
    }
}

/// Why time could not be attributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnknownReason {
    EventsLost,
    /// Context switches were not recorded there.
    NoContextSwitches,
    /// The thread that ended the phase is unknown.
    EndingThreadUnknown,
    /// No ready-thread event was recorded for the end of a wait.
    NoReadyThread,
    InterruptNotRecorded,
    BeforeRecording,
    /// The thread's creator, or what it did, was not recorded.
    CreatorUnknown,
    /// A wait was unfinished when the recording ended.
    Unfinished,
    Contradiction,
    /// The chain of waits is too long.
    ChainTooLong,
    /// Work ran in parallel, and the recording does not show which part others waited for.
    ParallelWork,
    /// Nothing was recorded in that time.
    NothingRecorded,
}

impl UnknownReason {
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::EventsLost => "events were lost",
            Self::NoContextSwitches => "context switches were not recorded",
            Self::EndingThreadUnknown => "the thread that ended the phase is unknown",
            Self::NoReadyThread => "no ready-thread event was recorded for the end of a wait",
            Self::InterruptNotRecorded => "an interrupt ended a wait, and interrupts were not recorded",
            Self::BeforeRecording => "a wait began before the recording",
            Self::CreatorUnknown => "the creator of a thread was not recorded",
            Self::Unfinished => "a wait was unfinished when the recording ended",
            Self::Contradiction => "events contradict each other",
            Self::ChainTooLong => "the chain of waits is too long",
            Self::ParallelWork => "parallel work; its critical part is unknown without context switches",
            Self::NothingRecorded => "nothing was recorded",
        }
    }
}

/// How a phase is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountMeasure {
    /// The critical path: what the last thread did or waited for.
    CriticalPath,
    /// The idle rule's slices: which subjects used the CPUs and disks in busy slices.
    BusySlices,
    /// Recorded work only: without context switches the recording does not show which thread waited for which.
    RecordedWork,
    /// The phase could not be divided.
    #[default]
    None,
}

/// An interval of time attributed to a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountInterval {
    pub start_ns: i64,
    pub end_ns: i64,
}

/// The time that a subject spent on one action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ActionShare {
    pub action: AccountAction,
    pub ns: i64,
}

/// Requests to the devices of a driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverRequests {
    pub count: u64,
    /// Requests that the driver did not pend: nothing else could proceed until they completed.
    pub not_pended: u64,
}

/// A subject that waited for a file or a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReader {
    pub kind: AccountSubjectKind,
    pub name: String,
    /// For processes only.
    pub pid: Option<u32>,
    /// Time it waited, ns.
    pub ns: i64,
}

/// The share of a phase attributed to one subject.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountEntry {
    pub kind: AccountSubjectKind,
    /// Display name: of a service, of a driver without folder and extension, of an image; a phrase for idle and unknown
    /// time.
    pub name: String,
    /// For a driver: instance of the first device it worked for. For a file, or a part of the system that waited for
    /// many files: model of the disk. Empty if not recorded.
    pub device: String,
    /// Process id of a process or of a service's host process; `None` if there is none or it is unknown.
    pub pid: Option<u32>,
    /// For a file or disk: the subjects that waited for it, longest first.
    pub read_by: Vec<FileReader>,
    /// Why the time is unattributed; `None` for attributed time.
    pub unknown_reason: Option<UnknownReason>,
    /// Time, ns. The entries of a phase add up to its length.
    pub ns: i64,
    /// Percentage of the phase.
    pub percent: f64,
    /// Certainty of the least certain part.
    pub certainty: Certainty,
    /// What it did, longest first. Adds up to `ns`.
    pub actions: Vec<ActionShare>,
    /// For a driver: its requests that were in flight in these intervals.
    pub requests: Option<DriverRequests>,
    /// Its longest intervals, in order of time; see `interval_count`.
    pub intervals: Vec<AccountInterval>,
    /// Total number of intervals.
    pub interval_count: u64,
}

/// The length of a phase, divided among subjects.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseAccount {
    pub start_ns: i64,
    pub end_ns: i64,
    /// Length, ns: the sum of the entries.
    pub duration_ns: i64,
    /// How the phase was divided.
    pub measure: AccountMeasure,
    /// True if the recording ended before the phase did: only the recorded part is divided.
    pub is_truncated: bool,
    /// The subjects, longest first.
    pub entries: Vec<AccountEntry>,
    /// Unattributed time, ns: the sum of the unknown entries.
    pub unknown_ns: i64,
}

impl PhaseAccount {
    /// Returns the subject with the most time; skips idle and unknown time.
    #[must_use]
    pub fn largest_entry(&self) -> Option<&AccountEntry> {
        self.entries.iter().find(|entry| entry.kind.is_attributable())
    }

    /// Returns the entries of one kind and name; names are compared case-insensitively.
    pub fn entries_named<'a>(
        &'a self,
        kind: AccountSubjectKind,
        name: &'a str,
    ) -> impl Iterator<Item = &'a AccountEntry> + 'a {
        self.entries.iter().filter(move |entry| entry.kind == kind && entry.name.eq_ignore_ascii_case(name))
    }
}

/// The most expensive finding about a transition: the first thing to fix, as reported by `diagnose`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixFirst {
    /// The stable code of the rule, e.g. `boot/driver-start-not-pended`.
    pub code: &'static str,
    /// Name of the service, driver, program, unit, file or device to change.
    pub name: String,
    /// The phase it made longer; `None` if the finding is not about a single phase.
    pub phase: Option<String>,
    /// Cost, ns: what fixing it would save; `None` if unknown.
    pub cost_ns: Option<i64>,
    /// Lowest cost, ns; `None` if the cost is not predicted by a replay.
    pub cost_min_ns: Option<i64>,
    /// Highest cost, ns; `None` if the cost is not predicted by a replay.
    pub cost_max_ns: Option<i64>,
    /// True if the cost is an upper bound, because the work ran in parallel with other work.
    pub is_upper_bound: bool,
    /// Measured time of the subject, ns: on the critical path, or beside it; `None` if unknown.
    pub measured_ns: Option<i64>,
    pub certainty: Certainty,
    /// What was found, as a sentence without a full stop.
    pub title: String,
}

/// The time of a culprit in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CulpritPhase {
    pub phase: String,
    /// Time of the culprit in the phase, ns.
    pub ns: i64,
    /// Length of the phase, ns.
    pub phase_ns: i64,
}

/// A subject that made a transition slow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// The phase in which it took the most time.
    pub phase: String,
    /// Length of the phase, ns; only the recorded part if `is_truncated`.
    pub phase_ns: i64,
    /// All phases in which it took time, longest first. Adds up to the time of `entry`.
    pub phases: Vec<CulpritPhase>,
    /// True if the recording ended before the phase did.
    pub is_truncated: bool,
    /// How the phase was divided.
    pub measure: AccountMeasure,
    /// The subject, its time in all phases and what it did. The members of a relay share one entry.
    pub entry: AccountEntry,
    /// Names of the members of a relay.
    pub members: Vec<String>,
    /// True for a part of the system that is involved in every transition: its phase took longer than usual, and
    /// nothing else explains it.
    pub is_system: bool,
}

impl Culprit {
    /// True if `fix` is about this culprit.
    #[must_use]
    pub fn is_about(&self, fix: &FixFirst) -> bool {
        self.entry.name == fix.name
            && fix.phase.as_deref() == Some(self.phase.as_str())
            && fix.measured_ns.or(fix.cost_ns).is_none_or(|ns| self.entry.ns == ns)
    }
}
