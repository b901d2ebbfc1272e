//! What an account is: the time of a phase, divided among those who made it.

use serde::{Deserialize, Serialize};

use crate::Certainty;

/// What kind of subject an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountSubjectKind {
    /// A service of Windows.
    Service,
    /// A unit of systemd.
    Unit,
    /// A driver, with the device it worked for where that was recorded.
    Driver,
    /// A program: one process.
    Process,
    /// A file on a disk, which a part of the system waited for.
    File,
    /// A script of a policy.
    Script,
    /// Policy, or one of its extensions.
    Policy,
    /// A subscriber of the logon's notifications.
    Subscriber,
    /// Firmware and the loader.
    Firmware,
    /// The kernel itself.
    Kernel,
    /// The processors: too few of them for all that wanted to run. Among culprits only; an account names who had them.
    Processors,
    /// A disk that parts of the system waited for, for many files. Among culprits only; an account names who waited.
    Disk,
    /// A person: credentials, a choice.
    Person,
    /// Idle time that the end of the phase requires.
    Idle,
    /// Not known; the entry says why.
    NotKnown,
}

impl AccountSubjectKind {
    /// The name, as in JSON.
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
            Self::Processors => "processors",
            Self::Disk => "disk",
            Self::Person => "person",
            Self::Idle => "idle",
            Self::NotKnown => "not_known",
        }
    }

    /// Whether somebody can be named who made the phase longer.
    #[must_use]
    pub const fn is_somebody(self) -> bool {
        !matches!(self, Self::Idle | Self::NotKnown)
    }
}

/// What a subject did with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It ran.
    Ran,
    /// It waited for a disk.
    WaitedForDisk,
    /// It waited for a timer, which it had set or whose time limit it reached.
    WaitedForTimer,
    /// It waited for a device, or for a driver's interrupt.
    WaitedForDevice,
    /// It could run, and a processor took a moment to do it.
    WaitedForProcessor,
    /// It had the processors while somebody else was ready.
    HeldProcessors,
    /// A disk worked on its requests while somebody else's waited.
    HeldDisk,
    /// Its interrupts and deferred procedure calls ran in another's time.
    Interrupted,
    /// It was at work on a request, and no event says what it waited for.
    HeldRequest,
    /// It waited, and no event says for what.
    Waited,
    /// It kept the computer from being idle.
    KeptBusy,
    /// Nothing: the time is idle, or not known.
    Nothing,
}

impl Did {
    /// The name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::WaitedForDisk => "waited_for_disk",
            Self::WaitedForTimer => "waited_for_timer",
            Self::WaitedForDevice => "waited_for_device",
            Self::WaitedForProcessor => "waited_for_processor",
            Self::HeldProcessors => "held_processors",
            Self::HeldDisk => "held_disk",
            Self::Interrupted => "interrupted",
            Self::HeldRequest => "held_request",
            Self::Waited => "waited",
            Self::KeptBusy => "kept_busy",
            Self::Nothing => "nothing",
        }
    }
}

impl Did {
    /// As a phrase before a length of time: `waited for a timer`.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Ran => "ran",
            Self::WaitedForDisk => "waited for a disk",
            Self::WaitedForTimer => "waited for a timer",
            Self::WaitedForDevice => "waited for a device",
            Self::WaitedForProcessor => "waited for a processor",
            Self::HeldProcessors => "had the processors",
            Self::HeldDisk => "had the disk",
            Self::Interrupted => "interrupted the others",
            Self::HeldRequest => "worked on a request",
            Self::Waited => "waited for something unrecorded",
            Self::KeptBusy => "kept it busy",
            Self::Nothing => "",
        }
    }

    /// The same of a subject of that kind: a service or a unit has no request, it starts or stops.
    #[must_use]
    pub const fn phrase_of(self, kind: AccountSubjectKind) -> &'static str {
        match (self, kind) {
            (Self::HeldRequest, AccountSubjectKind::Service | AccountSubjectKind::Unit) => "was starting or stopping",
            _ => self.phrase(),
        }
    }
}

/// Why time is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum NotKnown {
    /// Events were lost there.
    EventsLost,
    /// No context switches were recorded there.
    NoSwitches,
    /// Nobody is known to have run at the end of the phase.
    NoEnd,
    /// No ready-thread event says who ended a wait.
    NoReadyThread,
    /// An interrupt ended a wait, and interrupts were not recorded.
    InterruptNotRecorded,
    /// A wait began before the recording.
    BeforeRecording,
    /// No event says who created a thread, or what it did.
    ThreadNotSeen,
    /// A wait was not over when the recording ended.
    NotOver,
    /// Events contradict each other.
    Contradiction,
    /// The chain of waits has too many steps.
    TooLong,
    /// Several worked side by side, and nothing says for whom others waited.
    SideBySide,
    /// Nothing was recorded in that time.
    NothingRecorded,
}

impl NotKnown {
    /// As a phrase.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::EventsLost => "events were lost",
            Self::NoSwitches => "context switches were not recorded",
            Self::NoEnd => "no event says which thread ended it",
            Self::NoReadyThread => "no ready-thread event says who ended a wait",
            Self::InterruptNotRecorded => "an interrupt ended a wait, and interrupts were not recorded",
            Self::BeforeRecording => "a wait began before the recording",
            Self::ThreadNotSeen => "no event says who created a thread",
            Self::NotOver => "a wait was not over when the recording ended",
            Self::Contradiction => "events contradict each other",
            Self::TooLong => "the chain of waits has too many steps",
            Self::SideBySide => "several worked side by side, and no context switch says which one was waited for",
            Self::NothingRecorded => "nothing was recorded",
        }
    }
}

/// By what measure a phase is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AccountMeasure {
    /// The critical path: what the thread at its end did, or what it waited for.
    CriticalPath,
    /// The idle rule's slices: who used processors and disks in those that were busy.
    BusySlices,
    /// Recorded work alone: without context switches nobody knows who waited for whom.
    RecordedWork,
    /// Nothing could be divided.
    #[default]
    None,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountStretch {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
}

/// What a subject did, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DidShare {
    /// What it did.
    pub did: Did,
    /// Time, ns.
    pub ns: i64,
}

/// Requests to a driver's devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverRequests {
    /// How many.
    pub count: u64,
    /// How many of them the driver never pended: nobody else could go on until they were done.
    pub not_pended: u64,
}

/// Who waited for a file or a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReader {
    /// What it is.
    pub kind: AccountSubjectKind,
    /// Its name.
    pub name: String,
    /// Process id of a process.
    pub pid: Option<u32>,
    /// Time that it waited, ns.
    pub ns: i64,
}

/// One subject's part of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AccountEntry {
    /// What it is.
    pub kind: AccountSubjectKind,
    /// Its name as people know it: a service's, a driver's without folder and ending, an image's; a phrase where the time is
    /// idle or not known.
    pub name: String,
    /// A device that a driver worked for: the instance of the first one; of a file, and of a part of the system that waited for
    /// many, the model of the disk. Empty when none was recorded.
    pub device: String,
    /// Process id of a process, or of the process that hosts a service; `None` when there is none or it is not known.
    pub pid: Option<u32>,
    /// Of a file or a disk, who waited for it, the longest first; empty for everybody else.
    pub read_by: Vec<FileReader>,
    /// Why the time is not known; `None` where it is.
    pub not_known: Option<NotKnown>,
    /// Time, ns. The entries of a phase sum to its length.
    pub ns: i64,
    /// Percentage of the phase.
    pub percent: f64,
    /// The least certain of its parts.
    pub certainty: Certainty,
    /// What it did, what took longest first. Sums to `ns`.
    pub did: Vec<DidShare>,
    /// Requests of a driver that were under way in its stretches; `None` for everybody else.
    pub requests: Option<DriverRequests>,
    /// Its longest stretches, in order of time; see `stretch_count`.
    pub stretches: Vec<AccountStretch>,
    /// How many stretches it has in all.
    pub stretch_count: u64,
}

/// Who made a phase as long as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseAccount {
    /// Begin, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns: the sum of the entries.
    pub duration_ns: i64,
    /// How it was divided.
    pub measure: AccountMeasure,
    /// Whether the recording ended before the phase did: what was recorded of it is divided, and it is longer.
    pub is_cut: bool,
    /// The subjects, what took longest first.
    pub entries: Vec<AccountEntry>,
    /// Time that is not known, ns: the sum of such entries.
    pub not_known_ns: i64,
}

impl PhaseAccount {
    /// The subject that took longest: idle and unknown time is nobody's.
    #[must_use]
    pub fn first(&self) -> Option<&AccountEntry> {
        self.entries.iter().find(|entry| entry.kind.is_somebody())
    }

    /// The entries of one kind and name, compared without case.
    pub fn of<'a>(&'a self, kind: AccountSubjectKind, name: &'a str) -> impl Iterator<Item = &'a AccountEntry> + 'a {
        self.entries.iter().filter(move |entry| entry.kind == kind && entry.name.eq_ignore_ascii_case(name))
    }
}

/// The finding about a transition that costs most: the one change to make first, as `diagnose` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixFirst {
    /// The rule's stable code, e.g. `boot/driver-start-not-pended`.
    pub code: &'static str,
    /// Name of the service, driver, program, unit, file or device to change.
    pub name: String,
    /// The phase that it made longer; `None` where the finding is about no single phase.
    pub phase: Option<String>,
    /// What it costs, ns.
    pub cost_ns: i64,
    /// True if the cost is an upper bound, because the work ran in parallel with other work.
    pub at_most: bool,
    /// Whether it was measured or inferred.
    pub certainty: Certainty,
    /// What was found, as a sentence without its full stop.
    pub title: String,
}

/// A subject of a phase that made its transition slow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// The phase.
    pub phase: String,
    /// The phase's length, ns; what was recorded of it where `is_cut`.
    pub phase_ns: i64,
    /// Whether the recording ended before the phase did.
    pub is_cut: bool,
    /// By what measure the phase was divided.
    pub measure: AccountMeasure,
    /// Who, for how long, and what it did. Several that are one relay are named together.
    pub entry: AccountEntry,
    /// Names of the members, where it is a relay.
    pub members: Vec<String>,
    /// Whether it is a part of the system that every transition consists of: its phase took longer than usual, and nobody else
    /// explains it.
    pub of_system: bool,
}
