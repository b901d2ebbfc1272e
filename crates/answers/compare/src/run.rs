//! Defines a run: one transition of one recording as a flat list of measures.

use onoff_trace::{SystemKind, Trace};
use serde::{Deserialize, Serialize};

use onoff_blame::account::{AccountSubjectKind, ActionShare};
use onoff_evidence::Certainty;
use onoff_transitions::TransitionKind;

/// Subject of a run: a transition, or a part of a boot that is recorded separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunSubject {
    /// A boot; with fast startup, its boot half.
    Boot,
    /// A shutdown or restart.
    Shutdown,
    /// Sleep, hibernation, modern standby: both halves.
    Suspend,
    /// A network boot, from a capture.
    Netboot,
    /// The firmware's part of a boot, from its tables.
    Firmware,
}

impl RunSubject {
    pub const ALL: [Self; 5] = [Self::Boot, Self::Shutdown, Self::Suspend, Self::Netboot, Self::Firmware];

    /// Parses a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }

    /// Returns the kind of transition; `None` if it is not a transition of an operating system.
    #[must_use]
    pub const fn transition(self) -> Option<TransitionKind> {
        match self {
            Self::Boot => Some(TransitionKind::Boot),
            Self::Shutdown => Some(TransitionKind::Shutdown),
            Self::Suspend => Some(TransitionKind::Suspend),
            Self::Netboot | Self::Firmware => None,
        }
    }

    /// Returns the name, as in JSON and at the start of keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Shutdown => "shutdown",
            Self::Suspend => "suspend",
            Self::Netboot => "netboot",
            Self::Firmware => "firmware",
        }
    }
}

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MeasureUnit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
}

/// Category of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The whole transition, or a large part of it.
    Total,
    /// A phase.
    Phase,
    /// Time of one subject in a phase's account.
    Account,
    /// A service start or stop.
    Service,
    /// An application that is asked to exit or to allow the system to sleep.
    Application,
    /// A step, script or subscriber.
    Step,
    /// A driver's operations, summed by kind.
    Driver,
    /// A device's operations, summed by kind.
    Device,
    /// CPU time by image name.
    Cpu,
    /// Disk time by file.
    File,
}

impl Category {
    /// All categories in report order.
    pub const ALL: [Self; 10] = [
        Self::Total,
        Self::Phase,
        Self::Account,
        Self::Service,
        Self::Application,
        Self::Step,
        Self::Driver,
        Self::Device,
        Self::Cpu,
        Self::File,
    ];

    /// Returns the name, as in JSON and in keys.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Phase => "phase",
            Self::Account => "account",
            Self::Service => "service",
            Self::Application => "application",
            Self::Step => "step",
            Self::Driver => "driver",
            Self::Device => "device",
            Self::Cpu => "cpu",
            Self::File => "file",
        }
    }

    /// Returns true if reports keep the order of the run.
    #[must_use]
    pub const fn keeps_order(self) -> bool {
        matches!(self, Self::Total | Self::Phase)
    }

    /// Returns true if a missing measure means (almost) zero. Otherwise it means that the item did not occur.
    #[must_use]
    pub const fn is_zero_when_absent(self) -> bool {
        matches!(self, Self::Account | Self::Cpu | Self::File)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Key, as in `--limit`: `boot.total`, `boot.phase.WinLogonInit`, `boot.service.Spooler`.
    pub key: String,
    /// Category.
    pub category: Category,
    /// Unit.
    pub unit: MeasureUnit,
    /// Value.
    pub value: i64,
    /// Phase of the start; `None` if not applicable or unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Start relative to the start of the phase, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_phase_ns: Option<i64>,
    /// True if lost events affect the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// The subject, only for [`Category::Account`], where `phase` is the divided phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<MeasuredSubject>,
}

/// The subject of an account measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeasuredSubject {
    /// Kind.
    pub kind: AccountSubjectKind,
    /// Name; the reason if the time is unattributed.
    pub name: String,
    /// The actions of the subject, longest first.
    pub actions: Vec<ActionShare>,
    /// Certainty of the least certain part.
    pub certainty: Certainty,
}

impl Measure {
    /// Returns the key without transition and category.
    #[must_use]
    pub fn name(&self) -> &str {
        let key_in_transition = self.key.split_once('.').map_or(self.key.as_str(), |(_, suffix)| suffix);
        match self.category {
            Category::Total => key_in_transition,
            category => key_in_transition
                .strip_prefix(category.as_str())
                .and_then(|name| name.strip_prefix('.'))
                .unwrap_or(key_in_transition),
        }
    }
}

/// Why a run is excluded from comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// ReadyBoot was not trained yet, which makes boots slower than usual.
    Untrained,
    /// Events were lost in the phases.
    Losses,
    /// Call stacks were recorded: an analysis trace, with longer times than a timing trace.
    AnalysisTracing,
    /// A different kind of transition, such as hibernation among sleeps.
    OtherKind,
    /// The recording was already included, under this or another name. It counts once.
    SameRecording,
    /// The recording cannot be read, or has no such transition.
    Unreadable,
}

impl ExclusionReason {
    /// Returns the name, as in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Untrained => "untrained",
            Self::Losses => "losses",
            Self::AnalysisTracing => "analysis_tracing",
            Self::OtherKind => "other_kind",
            Self::SameRecording => "same_recording",
            Self::Unreadable => "unreadable",
        }
    }
}

/// An exclusion of a run from comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// Reason.
    pub reason: ExclusionReason,
    /// Description with numbers.
    pub text: String,
}

/// One transition of one recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name: the file of the run.
    pub name: String,
    /// Subject.
    pub transition: RunSubject,
    /// Kind, such as `cold`, `fast_startup`, `sleep`, `restart`; empty if unknown.
    pub kind: String,
    /// Reasons to exclude the run from comparison.
    pub exclusions: Vec<Exclusion>,
    /// The computer; `None` in baselines saved by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// Identity of the recording; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingIdentity>,
    /// Time spent waiting for user input, ns; all measures exclude it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub user_input_ns: i64,
    /// Settings that affect a network boot: IP version, window and block size; otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// How a network boot ended; otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub outcome: String,
    /// Measures.
    pub measures: Vec<Measure>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

impl Run {
    /// Returns a run for a recording without a usable transition, with the reason. It is never compared.
    #[must_use]
    pub fn unreadable(name: String, transition: RunSubject, reason: String) -> Self {
        Self {
            name,
            transition,
            kind: String::new(),
            exclusions: vec![Exclusion { reason: ExclusionReason::Unreadable, text: reason }],
            machine: None,
            recording: None,
            user_input_ns: 0,
            settings: String::new(),
            outcome: String::new(),
            measures: Vec::new(),
        }
    }

    /// Returns true if both are the same transition of the same recording: equal start, duration and measures.
    #[must_use]
    pub fn is_same_recording(&self, other: &Self) -> bool {
        self.recording.is_some() && self.recording == other.recording && self.measures == other.measures
    }

    /// Returns true if names are case-sensitive.
    #[must_use]
    pub fn is_case_sensitive(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.is_linux)
    }
}

/// The computer of a run. Unknown texts are empty, unknown numbers zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// True for Linux.
    pub is_linux: bool,
    /// Computer name.
    pub computer: String,
    /// Manufacturer and model.
    pub model: String,
    /// Operating system with its build, or kernel release.
    pub system: String,
    /// Processor name.
    pub processor: String,
    /// Logical processors.
    pub processors: u32,
    /// Memory, bytes.
    pub memory_bytes: u64,
}

impl Machine {
    /// Returns the computer of `trace`.
    #[must_use]
    pub fn from_trace(trace: &Trace) -> Self {
        let system = &trace.system;
        Self {
            is_linux: system.kind == SystemKind::Linux,
            computer: system.computer.clone(),
            model: system.model.clone(),
            system: match (system.kind, system.os_build) {
                (SystemKind::Linux, _) if !system.os_build_text.is_empty() => system.os_build_text.clone(),
                (_, 0) => system.os.clone(),
                (_, build) if system.os.is_empty() => format!("build {build}"),
                (_, build) => format!("{} build {build}", system.os),
            },
            processor: system.processor_name.trim().to_owned(),
            processors: system.processors,
            memory_bytes: system.memory_bytes,
        }
    }
}

/// Identifies a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordingIdentity {
    /// Wall-clock start, ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
}

impl RecordingIdentity {
    /// Returns the identity of `trace`; `None` if its start time is unknown.
    #[must_use]
    pub fn from_trace(trace: &Trace) -> Option<Self> {
        let start_unix_ns = trace.clock.start_unix_ns?;
        Some(Self { start_unix_ns, duration_ns: trace.duration_ns })
    }
}

/// A property that distinguishes configurations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Property, such as `write filter`.
    pub name: String,
    /// Value, such as `on`.
    pub level: String,
}

/// Runs under the same conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Name.
    pub name: String,
    /// Factors that distinguish the configuration from others.
    pub factors: Vec<Factor>,
    /// Runs.
    pub runs: Vec<Run>,
}
