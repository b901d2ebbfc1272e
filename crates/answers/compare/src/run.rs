//! A run: one transition of one recording as a flat list of measures.

use onoff_trace::{SystemKind, Trace};
use serde::{Deserialize, Serialize};

use onoff_blame::account::{AccountSubjectKind, DidShare};
use onoff_evidence::Certainty;
use onoff_transitions::TransitionKind;

/// What a run is of: a transition, or a part of a boot that has a recording of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunSubject {
    /// A boot; of a computer with fast startup, the half that comes back.
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
    /// Every subject.
    pub const ALL: [Self; 5] = [Self::Boot, Self::Shutdown, Self::Suspend, Self::Netboot, Self::Firmware];

    /// The subject of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|subject| subject.as_str() == name)
    }

    /// The kind of transition it is; `None` for what is no transition of an operating system.
    #[must_use]
    pub const fn transition(self) -> Option<TransitionKind> {
        match self {
            Self::Boot => Some(TransitionKind::Boot),
            Self::Shutdown => Some(TransitionKind::Shutdown),
            Self::Suspend => Some(TransitionKind::Suspend),
            Self::Netboot | Self::Firmware => None,
        }
    }

    /// The name, as in JSON and as keys begin.
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

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MeasureUnit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// A number of things.
    Count,
}

/// What a measure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// The transition as a whole, or a large part of it.
    Total,
    /// A phase.
    Phase,
    /// Who took the time of a phase: one subject of its account.
    Account,
    /// A service that starts or stops.
    Service,
    /// An application that is asked to end or to let the system sleep.
    Application,
    /// A step, script or subscriber.
    Step,
    /// A driver: its operations of one kind, added up.
    Driver,
    /// A device: its operations of one kind, added up.
    Device,
    /// Processor time by image name.
    Cpu,
    /// Time the disks worked, by file.
    File,
}

impl Category {
    /// Every category, in the order of reports.
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

    /// The name, as in JSON and in keys.
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

    /// Whether reports keep the order in which a run names them.
    #[must_use]
    pub const fn keeps_order(self) -> bool {
        matches!(self, Self::Total | Self::Phase)
    }

    /// Whether a run that does not name it had none worth naming; of the others a run without it did not have it at all.
    #[must_use]
    pub const fn is_zero_when_absent(self) -> bool {
        matches!(self, Self::Account | Self::Cpu | Self::File)
    }
}

/// One number of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Its key, as `--limit` takes it: `boot.total`, `boot.phase.WinLogonInit`, `boot.service.Spooler`.
    pub key: String,
    /// What it is about.
    pub category: Category,
    /// What the number counts.
    pub unit: MeasureUnit,
    /// The number.
    pub value: i64,
    /// The phase in which it began; `None` where that has no meaning or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Begin since the start of that phase, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_phase_ns: Option<i64>,
    /// Whether losses of the recording touch it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
    /// Whose time it is; of [`Category::Account`] only, whose `phase` is the one that was divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<MeasuredSubject>,
}

/// A subject of a phase's account, as a measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MeasuredSubject {
    /// What it is.
    pub kind: AccountSubjectKind,
    /// Its name as people know it; the reason where the time is not known.
    pub name: String,
    /// What it did, what took longest first.
    pub did: Vec<DidShare>,
    /// The least certain of its parts.
    pub certainty: Certainty,
}

impl Measure {
    /// What is left of the key after the transition and the category.
    #[must_use]
    pub fn name(&self) -> &str {
        let rest = self.key.split_once('.').map_or(self.key.as_str(), |it| it.1);
        match self.category {
            Category::Total => rest,
            category => rest.strip_prefix(category.as_str()).and_then(|name| name.strip_prefix('.')).unwrap_or(rest),
        }
    }
}

/// Why a run is not compared with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SetApartReason {
    /// The boot read-ahead had not learned this system yet: such boots are slow for no fault of the system.
    Untrained,
    /// Losses of the recording touch the phases.
    Losses,
    /// Call stacks were recorded: an analysis trace, whose times are longer than those of a timing trace.
    AnalysisTracing,
    /// Another kind of transition than the others, such as hibernation among sleeps.
    OtherKind,
    /// The recording is there already, under this or another name: it counts once.
    SameRecording,
    /// The recording cannot be read, or holds no such transition.
    Unreadable,
}

impl SetApartReason {
    /// The name, as in JSON.
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

/// A reason for which a run is set apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SetApart {
    /// Which.
    pub reason: SetApartReason,
    /// In words, with the numbers.
    pub text: String,
}

/// One transition of one recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// What it is called: its file.
    pub name: String,
    /// Which transition.
    pub transition: RunSubject,
    /// Kind of it, such as `cold`, `fast_startup`, `sleep`, `restart`; empty when not known.
    pub kind: String,
    /// What speaks against comparing it.
    pub set_apart: Vec<SetApart>,
    /// The computer; `None` of a run that was kept before it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The recording; `None` when nothing tells it from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingIdentity>,
    /// Time in which a person was waited for, ns: it is in no measure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub person_ns: i64,
    /// What was set that makes such runs differ, of a network boot: IP version, window and block; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// Its numbers.
    pub measures: Vec<Measure>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(ns: &i64) -> bool {
    *ns == 0
}

impl Run {
    /// A recording that gave no run, and why: it is never compared.
    #[must_use]
    pub fn unreadable(name: String, transition: RunSubject, reason: String) -> Self {
        Self {
            name,
            transition,
            kind: String::new(),
            set_apart: vec![SetApart { reason: SetApartReason::Unreadable, text: reason }],
            machine: None,
            recording: None,
            person_ns: 0,
            settings: String::new(),
            measures: Vec::new(),
        }
    }

    /// Whether it is of the same transition of the same recording: equal beginnings, lengths and numbers.
    #[must_use]
    pub fn is_same_recording(&self, other: &Self) -> bool {
        self.recording.is_some() && self.recording == other.recording && self.measures == other.measures
    }

    /// Whether names that differ in case only are different ones.
    #[must_use]
    pub fn keeps_case(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| machine.is_linux)
    }
}

/// What is known of the computer of a run. Unknown texts are empty, unknown numbers zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Whether it ran Linux.
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
    /// The computer that `trace` is of.
    #[must_use]
    pub fn of(trace: &Trace) -> Self {
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

/// What tells one recording from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RecordingIdentity {
    /// Real time of its begin: ns since 1970-01-01 UTC.
    pub start_unix_ns: i64,
    /// Its length, ns.
    pub duration_ns: i64,
}

impl RecordingIdentity {
    /// Of a recording that says when it began.
    #[must_use]
    pub fn of(trace: &Trace) -> Option<Self> {
        let start_unix_ns = trace.clock.start_unix_ns?;
        Some(Self { start_unix_ns, duration_ns: trace.duration_ns })
    }
}

/// A property in which configurations differ, and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// The property, such as `write filter`.
    pub name: String,
    /// Its value, such as `on`.
    pub level: String,
}

/// Runs that are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// What it is called.
    pub name: String,
    /// In what it differs from others.
    pub factors: Vec<Factor>,
    /// Its runs.
    pub runs: Vec<Run>,
}
