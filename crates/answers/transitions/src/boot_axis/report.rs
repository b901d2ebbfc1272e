//! A boot on one time axis. The serialized names are part of the documented interface of `boot --format json`.

use serde::Serialize;

use onoff_evidence::Certainty;

/// A boot from the earliest known moment to its end, combined from several sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootAxis {
    /// Time zero of the axis.
    pub origin: AxisOrigin,
    /// The earliest moment on the axis, ns: processor reset if firmware times are placed; `None` if the axis is empty.
    pub start_ns: Option<i64>,
    /// End of the boot, ns: when the computer was idle; without a recording, the end of the last stage. `None` if not
    /// recorded.
    pub end_ns: Option<i64>,
    /// From start to end without the time spent waiting for user input, ns; `None` if either is unknown.
    pub total_ns: Option<i64>,
    /// The stages, in order.
    pub stages: Vec<AxisStage>,
    /// How each source was aligned with the axis, or why it was not.
    pub joins: Vec<AxisJoin>,
}

/// Time zero of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisOrigin {
    /// The first event of the recording, or the kernel start.
    Recording,
    /// Processor reset.
    Reset,
    /// The first frame of the capture.
    Capture,
}

/// The source of a part of the boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisSource {
    /// Firmware tables.
    Firmware,
    /// A network capture.
    Capture,
    /// The recording of the operating system.
    Recording,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisStage {
    /// Stage of the firmware table, phase of the recording, or `network_boot`.
    pub name: String,
    pub source: AxisSource,
    pub start_ns: i64,
    pub end_ns: i64,
    pub duration_ns: i64,
    /// Parts from other sources, ordered by start: network boot stages, firmware phases.
    pub parts: Vec<AxisPart>,
    /// Time within the network boot without a file transfer or DHCP exchange, ns; `None` outside the network boot or
    /// once the operating system runs.
    pub off_network_ns: Option<i64>,
}

/// A part of a stage, clipped to the stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisPart {
    /// Network boot stage, or firmware phase.
    pub name: String,
    pub source: AxisSource,
    /// File name or address; empty if there is none.
    pub detail: String,
    pub start_ns: i64,
    pub end_ns: i64,
    pub duration_ns: i64,
}

/// The alignment of one source with the axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisJoin {
    /// The source.
    pub source: AxisSource,
    /// Whether the source is on the axis.
    pub joined: bool,
    /// Certainty of the join; `missing` if not joined.
    pub certainty: Certainty,
    /// Shift that was added to the times, ns; `None` if not joined.
    pub shift_ns: Option<i64>,
    /// How much earlier the times of the source may be, ns; `None` if unbounded.
    pub max_earlier_ns: Option<i64>,
    /// Evidence for the join.
    pub evidence: Vec<AxisEvidence>,
    /// Evidence against the join; empty if joined.
    pub opposing: Vec<AxisEvidence>,
    /// Number of boots in the capture that fit equally well, if more than one; otherwise 0.
    pub equal_matches: u64,
}

/// A moment used as evidence for a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisMoment {
    /// The processor leaves reset.
    Reset,
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
    /// The client's first request of the network boot.
    FirstRequest,
    /// The request for the network boot program.
    BootProgramRequest,
    /// The acknowledgment of the network boot program's last byte.
    BootProgramEnd,
    /// The first request after the network boot program.
    NextRequest,
    /// The acknowledgment of the last byte before the operating system's network.
    LastByte,
    /// The first frame of the operating system's own network stack.
    SystemNetwork,
}

/// Evidence for or against a join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AxisEvidence {
    pub kind: AxisEvidenceKind,
    /// The first of two moments; `None` for kinds without moments.
    pub first: Option<AxisMoment>,
    /// The second of two moments.
    pub second: Option<AxisMoment>,
    /// Difference between two moments, clocks or reported times, ns. `order`: negative if they are in the wrong order.
    /// `clocks`: capture minus recording. `fills`: the part of the firmware's load time that the DHCP exchange and the
    /// boot program do not fill.
    pub difference_ns: Option<i64>,
    /// `fills`: the firmware's load time, ns.
    pub load_ns: Option<i64>,
    /// `station`: the client's address; `other_times`: the differences; otherwise empty.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AxisEvidenceKind {
    /// Two sources contain the same moment; the time between their events is not measured.
    SameMoment,
    /// The tables are part of the recording.
    InRecording,
    /// The recording contains the same five times.
    SameTimes,
    /// The recording contains different times.
    OtherTimes,
    /// The end of firmware and loader in the table, compared with the end that the service manager reports.
    ServiceManagerTimes,
    /// The times do not start at the reset of this boot: the firmware's clock kept running over earlier boots.
    SpansResets,
    /// The times do not include the return of `ExitBootServices`, as after a legacy boot.
    NoExitTime,
    /// The capture's client has a MAC address of the recorded machine. As evidence against a join: it has none of its
    /// addresses.
    MacAddress,
    /// The recording or the capture names no MAC address, so the client may be another machine.
    StationsNotCompared,
    /// The clocks of the capture and the recording, as placed by the join.
    Clocks,
    /// The moments are in the only possible order.
    Order,
    /// The DHCP exchange and transfer of the boot program fill the firmware's load time.
    FillsLoadTime,
    /// The capture contains no network boot that loaded a file completely.
    NoLoadedBoot,
    /// No evidence shows whether the sources belong to the same boot.
    NoEvidence,
}

impl AxisEvidence {
    /// Returns evidence of a kind without further data.
    pub(super) fn new(kind: AxisEvidenceKind) -> Self {
        Self { kind, first: None, second: None, difference_ns: None, load_ns: None, detail: String::new() }
    }

    /// Returns evidence about two moments.
    pub(super) fn moments(kind: AxisEvidenceKind, first: AxisMoment, second: AxisMoment) -> Self {
        Self { first: Some(first), second: Some(second), ..Self::new(kind) }
    }
}
