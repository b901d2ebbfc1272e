//! A boot on one axis. Its serialized names are part of the documented contract of `boot --format json`.

use serde::Serialize;

use onoff_evidence::Certainty;

/// A boot from its first known moment to its end, whoever saw which part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootAxis {
    /// What its times count from.
    pub zero: AxisZero,
    /// First moment on the axis, ns: the processor's reset where the firmware's times are placed; `None` when nothing is.
    pub start_ns: Option<i64>,
    /// End of the boot, ns: when the computer had settled; without a recording the end of the last stage. `None` when not recorded.
    pub end_ns: Option<i64>,
    /// From start to end, without the time in which a person was waited for, ns; `None` when either is unknown.
    pub total_ns: Option<i64>,
    /// The stages, one after the other.
    pub stages: Vec<AxisStage>,
    /// What put each part on the axis, or why it is not on it.
    pub joins: Vec<AxisJoin>,
}

/// What the times of an axis count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisZero {
    /// The recording's first event, or the kernel's start.
    Recording,
    /// The processor's reset.
    Reset,
    /// The capture's first frame.
    Capture,
}

/// Who saw a part of the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisSource {
    /// The firmware's own tables.
    Firmware,
    /// A network capture.
    Capture,
    /// The recording of the operating system.
    Recording,
}

/// A stage of the boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisStage {
    /// Name: a stage of the firmware's table, a phase of the recording, or `network_boot`.
    pub name: String,
    /// Who saw it.
    pub source: AxisSource,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// What others saw of it, by start: stages of the network boot, phases of the firmware.
    pub inside: Vec<AxisPart>,
    /// Time in which the network boot was under way and no file and no dialogue was, ns; `None` when the network boot was not under
    /// way, or the operating system ran.
    pub off_network_ns: Option<i64>,
}

/// A part of a stage, cut to the stage's ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisPart {
    /// Name: a stage of the network boot, or a phase of the firmware.
    pub name: String,
    /// Who saw it.
    pub source: AxisSource,
    /// A file's name or an address; empty when there is none.
    pub detail: String,
    /// Start, ns.
    pub start_ns: i64,
    /// End, ns.
    pub end_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
}

/// How one source's times came onto the axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisJoin {
    /// Whose times.
    pub source: AxisSource,
    /// Whether they are on the axis.
    pub joined: bool,
    /// How certain that is; `missing` when they are not on it.
    pub certainty: Certainty,
    /// What was added to its times, ns; `None` when not joined.
    pub shift_ns: Option<i64>,
    /// Its times may lie up to this much earlier, ns; `None` when nothing bounds it.
    pub earlier_by_at_most_ns: Option<i64>,
    /// What speaks for the join.
    pub evidence: Vec<AxisEvidence>,
    /// What speaks against it; empty for a join.
    pub against: Vec<AxisEvidence>,
    /// Boots of the capture that fit equally well, when they are more than one; else 0.
    pub equally_good: u64,
}

/// A moment that a join rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisMoment {
    /// The firmware is about to load the loader.
    LoaderLoad,
    /// The firmware is about to start the loader.
    LoaderStart,
    /// The loader calls `ExitBootServices`.
    ExitCall,
    /// `ExitBootServices` returns.
    ExitReturn,
    /// The kernel starts.
    KernelStart,
    /// The request for the network boot program.
    BootProgramRequest,
    /// The acknowledgment of the network boot program's last byte.
    BootProgramEnd,
    /// The first request after the network boot program.
    NextRequest,
    /// The acknowledgment of the last byte before the operating system's network.
    LastByte,
    /// The first frame of the operating system's own network.
    SystemNetwork,
}

/// What speaks for or against a join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisEvidence {
    /// Which kind of evidence.
    pub kind: AxisEvidenceKind,
    /// The first of two moments; `None` where the kind has none.
    pub first: Option<AxisMoment>,
    /// The second of them.
    pub second: Option<AxisMoment>,
    /// How far apart two moments, clocks or accounts are, ns; `order`: negative when they would come in the wrong order; `clocks`:
    /// capture less recording; `fills`: what address and boot program leave of the firmware's load.
    pub apart_ns: Option<i64>,
    /// `fills`: the firmware's load, ns.
    pub of_ns: Option<i64>,
    /// `station`: the client's address; `other_times`: the differences. Empty elsewhere.
    pub detail: String,
}

/// Kinds of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisEvidenceKind {
    /// Two sources saw the same moment; what lies between is not measured.
    SameMoment,
    /// The tables are part of the recording.
    InRecording,
    /// The recording holds the same five times.
    SameTimes,
    /// The recording holds other times.
    OtherTimes,
    /// The table's end of firmware and loader less the service manager's.
    Manager,
    /// The times do not start at this boot's reset: the firmware's clock ran on over earlier boots.
    OverResets,
    /// The times lack the return of `ExitBootServices`, as those of a legacy boot do.
    NoPlace,
    /// The capture's client and the station addresses that the recording tells: the same, or, against a join, none of them.
    Station,
    /// The capture's clock and the recording's, where the join puts them.
    Clocks,
    /// A moment that can only come before another did.
    Order,
    /// Dialogue and transfer of the boot program fill the firmware's load of the loader.
    Fills,
    /// The capture holds no network boot that loaded a file to its end.
    NoLoadedBoot,
    /// Nothing tells whether the sources are of the same boot.
    NothingJoins,
}

impl AxisEvidence {
    /// Evidence of a kind that needs no more.
    pub(super) fn of(kind: AxisEvidenceKind) -> Self {
        Self { kind, first: None, second: None, apart_ns: None, of_ns: None, detail: String::new() }
    }

    /// Two moments.
    pub(super) fn moments(kind: AxisEvidenceKind, first: AxisMoment, second: AxisMoment) -> Self {
        Self { first: Some(first), second: Some(second), ..Self::of(kind) }
    }
}
