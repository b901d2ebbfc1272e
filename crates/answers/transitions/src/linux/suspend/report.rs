//! The result of the analysis of sleeps of Linux. Its serialized names are the documented contract of
//! `suspend --format json` for a recording of Linux.

use crate::PhaseName;
use crate::{Transition, Transitions};
use onoff_evidence::call_graph::CallGraph;
use onoff_usage::device_work::DeviceWork;
use serde::Serialize;

use crate::suspend::FirmwareSleep;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, Span};

/// The sleeps of a recording of Linux.
pub type LinuxSuspendReport = Transitions<LinuxSuspend>;

/// How a sleep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SleepOutcome {
    /// The machine slept and came back.
    Slept,
    /// It was given up before the machine slept.
    GivenUp,
    /// It ended, and whether the machine slept is not recorded.
    Unknown,
    /// Its end is not in the recording.
    Unfinished,
}

/// A sleep of Linux: both halves, and the time asleep between.
pub type LinuxSleep = Transition<LinuxSuspend>;

/// What only a sleep of Linux has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxSuspend {
    /// Which of the machine's ways, as the kernel's log says: `deep`, `s2idle`; empty when not recorded.
    pub way: String,
    /// The record that set the start.
    pub event: String,
    /// How it ended.
    pub outcome: SleepOutcome,
    /// Error number with which it was given up, as recorded (negative); `None` when none was recorded.
    pub error: Option<i32>,
    /// Why it was given up, in the kernel's words.
    pub refusals: Vec<String>,
    /// Process that asked the kernel for it; empty when not recorded.
    pub asked_by: String,
    /// Its id.
    pub asked_by_pid: Option<u32>,
    /// The way down: from the decision to the machine's entry.
    pub suspend: Span,
    /// Between the halves.
    pub asleep: LinuxAsleep,
    /// The way up: from the machine's return until processes go on.
    pub resume: Span,
    /// What woke it, as recorded, each once.
    pub wake_sources: Vec<WakeSource>,
    /// How deep a suspend to idle slept; `None` for other sleeps.
    pub low_power: Option<LowPower>,
    /// What it took from batteries, where that was read.
    pub batteries: Vec<BatteryUse>,
    /// Network interfaces that came back after it.
    pub reconnections: Vec<Reconnection>,
    /// The longest stretch that no phase accounts for, the time asleep left out; `None` when there is none.
    pub longest_gap: Option<UnknownStretch>,
    /// Device callbacks, by start.
    pub callbacks: Vec<DeviceCallback>,
    /// What slow callbacks called, longest first, where the recording has the kernel's calls; at most 32.
    pub call_graphs: Vec<CallGraph>,
    /// Devices with the time of all their callbacks, longest first.
    pub devices: Vec<DeviceSleep>,
    /// Tasks in the order in which they were frozen.
    pub tasks: Vec<FrozenTask>,
    /// The memory image of a hibernation; `None` for other sleeps.
    pub image: Option<MemoryImage>,
    /// Firmware's own account of sleeping (S3 performance table).
    pub firmware: FirmwareSleep,
}

/// How deep a suspend to idle slept: the processors stop, and only if everything else lets it does the hardware reach its low-power state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LowPower {
    /// Times that the machine entered its sleep; more than one says that something woke it in between. 0 where no trace tells.
    pub entries: u64,
    /// Time in which the machine was entered, by the trace, ns; `None` without one.
    pub entered_ns: Option<i64>,
    /// Time in which the hardware was in its low-power state, by its own counters, ns; `None` when they were not recorded.
    pub hardware_ns: Option<i64>,
    /// The same as a share of the time asleep, percent.
    pub hardware_percent: Option<f64>,
    /// What the kernel said of a low-power state that was not reached.
    pub missed: Vec<String>,
}

/// What a sleep took from a battery.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatteryUse {
    /// Battery, e.g. `BAT0`.
    pub name: String,
    /// Charge before less charge after, µWh; negative where it was charged.
    pub used_uwh: i64,
    /// The same over the time asleep, mW; `None` when that is not known.
    pub mean_mw: Option<f64>,
}

/// A network interface that came back after the machine did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reconnection {
    /// Interface; empty when the log does not name it.
    pub interface: String,
    /// Associated with an access point, ns; `None` for a wired one, or when not recorded.
    pub associated_ns: Option<i64>,
    /// It carried packets, ns.
    pub ready_ns: Option<i64>,
    /// It had an address, ns.
    pub address_ns: Option<i64>,
    /// Its manager called it connected, ns.
    pub connected_ns: Option<i64>,
    /// From the machine's return until it had an address, else until the last of these that is recorded, ns.
    pub took_ns: Option<i64>,
}

/// A stretch of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownStretch {
    /// Begin, ns.
    pub start_ns: i64,
    /// Length, ns.
    pub duration_ns: i64,
    /// The phase that ends where it begins; `None` for the decision to sleep.
    pub after: Option<PhaseName>,
    /// The phase that begins where it ends; `None` for the end of the sleep.
    pub before: Option<PhaseName>,
}

/// What woke the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeSource {
    /// Device or interrupt.
    pub name: String,
    /// When it was recorded, ns: after the machine is back.
    pub time_ns: i64,
    /// The record.
    pub event: String,
    /// How certain it is that this woke the machine.
    pub certainty: Certainty,
}

/// The time asleep, and how the clocks got over it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxAsleep {
    /// From the machine's entry to its return, on the recording's axis: `CLOCK_MONOTONIC`, which stands still while the machine
    /// sleeps, but in a suspend to idle.
    pub measured: Span,
    /// How long the machine slept by a clock that went on, ns. Of a hibernation: writing the image, off, firmware, loader, the kernel
    /// that reads the image and its reading are all in here.
    pub slept_ns: Option<i64>,
    /// The rule that set it.
    pub slept_rule: Rule,
    /// How certain it is.
    pub slept_certainty: Certainty,
    /// The kernel's own count of the same, ns, to the millisecond; `None` when its log does not say.
    pub kernel_ns: Option<i64>,
}

/// A device's callback.
pub type DeviceCallback = DeviceWork<Callback>;

/// What only a callback has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Callback {
    /// The phase; `None` between phases.
    pub phase: Option<PhaseName>,
    /// Device that it hangs on; empty for none.
    pub parent: String,
    /// Whose callback and what was asked, as the kernel writes it: `bus [suspend]`; a function's name where only the log tells.
    pub callback: String,
    /// Time of it on the path of its phase, ns: what the phase waited for it. Zero off the path.
    pub on_path_ns: i64,
    /// Error number that it returned, 0 for none; `None` when it did not return.
    pub error: Option<i32>,
    /// Thread that called it.
    pub tid: Option<u32>,
}

/// A device with the time of all its callbacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSleep {
    /// Device.
    pub device: String,
    /// Driver; empty when the device has none.
    pub driver: String,
    /// Device that it hangs on; empty for none.
    pub parent: String,
    /// Its callbacks on the way down, ns.
    pub suspend_ns: i64,
    /// Its callbacks on the way up, ns.
    pub resume_ns: i64,
    /// Both, ns.
    pub total_ns: i64,
    /// Of that, on the paths of phases, ns: what the sleep waited for it.
    pub on_path_ns: i64,
    /// Callbacks.
    pub callbacks: u64,
    /// Whether any of them returned an error.
    pub failed: bool,
}

/// A task that was frozen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrozenTask {
    /// Thread.
    pub tid: u32,
    /// Process; the thread itself where its process is not known.
    pub pid: u32,
    /// Name.
    pub name: String,
    /// When it ran for the last time before the machine slept, ns: it is frozen from there on.
    pub frozen_ns: i64,
    /// How long after the start of the freezing that was, ns.
    pub after_ns: i64,
    /// When it ran again, ns; `None` when it did not in the recording.
    pub thawed_ns: Option<i64>,
}

/// The memory image of a hibernation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryImage {
    /// Pages copied into it.
    pub pages: Option<i64>,
    /// Freeing memory for it, ns.
    pub create_ns: Option<i64>,
    /// Writing it, ns; `None` when it is not recorded: the kernel that was restored does not know it.
    pub write_ns: Option<i64>,
    /// Reading it, ns; `None` when it is not recorded: another kernel reads it, and is gone.
    pub read_ns: Option<i64>,
    /// What bounds both where they are not recorded: all of the time asleep, ns.
    pub at_most_ns: Option<i64>,
    /// What that is made of; `none` when both were recorded.
    pub rule: Rule,
}
