//! Result of the Linux suspend analysis. The serialized names are the documented interface of `suspend --format json`
//! for Linux recordings.

use crate::PhaseName;
use crate::{Transition, Transitions};
use onoff_evidence::call_graph::CallGraph;
use onoff_usage::device_work::DeviceWork;
use serde::Serialize;

use crate::suspend::FirmwareSleep;
use onoff_evidence::rule::Rule;
use onoff_evidence::{Certainty, DerivedInterval};

/// The suspends in a Linux recording.
pub type LinuxSuspendReport = Transitions<LinuxSuspend>;

/// The outcome of a suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SleepOutcome {
    /// The machine slept and resumed.
    Slept,
    /// Aborted before the machine slept.
    Aborted,
    /// The suspend ended, but whether the machine slept was not recorded.
    Unknown,
    /// The end of the suspend is not in the recording.
    Unfinished,
    /// The kernel crashed (oops, BUG, panic), and nothing after that ended the suspend.
    Crashed,
}

/// A Linux suspend and resume, with the time asleep.
pub type LinuxSleep = Transition<LinuxSuspend>;

/// Fields specific to a Linux suspend.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxSuspend {
    /// Sleep mode as in the kernel log: `deep`, `s2idle`; empty if not recorded.
    pub mode: String,
    /// The record that set the start.
    pub event: String,
    pub outcome: SleepOutcome,
    /// Error number of an aborted suspend, as recorded (negative); `None` if not recorded.
    pub error: Option<i32>,
    /// Why it was aborted, as reported by the kernel.
    pub refusals: Vec<String>,
    /// The device that refused, as named by the kernel; empty if the suspend was not aborted or none was recorded.
    pub refused_by: String,
    /// The kernel's message when it crashed (oops, BUG, panic) during the suspend; empty if it did not.
    pub crash: String,
    /// The process that requested the suspend; empty if not recorded.
    pub requested_by: String,
    /// Process id of the requester.
    pub requested_by_pid: Option<u32>,
    /// From the decision until the machine entered the sleep state.
    pub suspend: DerivedInterval,
    pub asleep: LinuxAsleep,
    /// From leaving the sleep state until processes were thawed.
    pub resume: DerivedInterval,
    /// What woke the machine, as recorded, without duplicates.
    pub wake_sources: Vec<WakeSource>,
    /// Depth of a suspend-to-idle; `None` for other sleeps.
    pub low_power: Option<LowPower>,
    /// Battery use, if recorded.
    pub batteries: Vec<BatteryUse>,
    /// Network interfaces that reconnected after the resume.
    pub reconnections: Vec<Reconnection>,
    /// The longest interval that no phase covers, except the time asleep; `None` if there is none.
    pub longest_gap: Option<UnknownInterval>,
    /// Device callbacks, ordered by start.
    pub callbacks: Vec<DeviceCallback>,
    /// Call graphs of slow callbacks, longest first, if kernel function calls were recorded; at most 32.
    pub call_graphs: Vec<CallGraph>,
    /// Devices with the total time of their callbacks, longest first.
    pub devices: Vec<DeviceSleep>,
    /// Frozen tasks, in the order in which they were frozen.
    pub tasks: Vec<FrozenTask>,
    /// The memory image of a hibernation; `None` for other sleeps.
    pub image: Option<MemoryImage>,
    /// Sleep times reported by the firmware (S3 performance table).
    pub firmware: FirmwareSleep,
}

/// Depth of a suspend-to-idle: CPUs idle, but the hardware only reaches its low-power state if all other devices allow
/// it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LowPower {
    /// How often the machine entered the sleep state; more than once means that it woke up in between. 0 without a
    /// trace.
    pub entries: u64,
    /// Total time in the sleep state, from the trace, ns; `None` without one.
    pub entered_ns: Option<i64>,
    /// Time in the hardware low-power state, from its own counters, ns; `None` if not recorded.
    pub hardware_ns: Option<i64>,
    /// `hardware_ns` as a percentage of the time asleep.
    pub hardware_percent: Option<f64>,
    /// Kernel messages about a low-power state that was not reached.
    pub missed: Vec<String>,
}

/// Battery use during a sleep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BatteryUse {
    /// Battery name, e.g. `BAT0`.
    pub name: String,
    /// Charge before minus charge after, µWh; negative if the battery was charged.
    pub used_uwh: i64,
    /// Average power over the time asleep, mW; `None` if the time is unknown.
    pub mean_mw: Option<f64>,
}

/// A network interface that reconnected after the resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reconnection {
    /// Interface name; empty if the log does not name it.
    pub interface: String,
    /// When it was associated with an access point, ns; `None` for a wired interface or if not recorded.
    pub associated_ns: Option<i64>,
    /// When it could carry packets, ns.
    pub ready_ns: Option<i64>,
    /// When it had an address, ns.
    pub address_ns: Option<i64>,
    /// When the network manager reported it as connected, ns.
    pub connected_ns: Option<i64>,
    /// From the end of the sleep until it had an address, otherwise until the last recorded step, ns.
    pub took_ns: Option<i64>,
}

/// An interval that no phase covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnknownInterval {
    pub start_ns: i64,
    pub duration_ns: i64,
    /// The phase that ends at its start; `None` for the decision to suspend.
    pub after: Option<PhaseName>,
    /// The phase that starts at its end; `None` for the end of the suspend.
    pub before: Option<PhaseName>,
}

/// A wake-up source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakeSource {
    /// Device or interrupt.
    pub name: String,
    /// When it was recorded, ns: after the machine woke up.
    pub time_ns: i64,
    /// The record.
    pub event: String,
    /// How certain it is that this source woke the machine.
    pub certainty: Certainty,
}

/// The time asleep, by several clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinuxAsleep {
    /// From entering to leaving the sleep state on the recording's axis, `CLOCK_MONOTONIC`, which stops during sleep
    /// except in suspend-to-idle.
    pub measured: DerivedInterval,
    /// Time asleep by a clock that kept running, ns. For a hibernation it includes writing the image, power off,
    /// firmware, loader, and the kernel that reads the image.
    pub slept_ns: Option<i64>,
    /// The rule that set `slept_ns`.
    pub slept_rule: Rule,
    pub slept_certainty: Certainty,
    /// Time asleep from the kernel log, ns, to the millisecond; `None` if not logged.
    pub kernel_ns: Option<i64>,
}

/// A device callback.
pub type DeviceCallback = DeviceWork<Callback>;

/// Fields specific to a device callback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Callback {
    pub phase: Option<PhaseName>,
    /// Parent device; empty if there is none.
    pub parent: String,
    /// Owner and kind of the callback, as written by the kernel: `bus [suspend]`; a function name if only the log has
    /// it.
    pub callback: String,
    /// Time on the critical path of its phase, ns; zero if not on the path.
    pub on_path_ns: i64,
    /// Error number it returned, 0 for success; `None` if it did not return.
    pub error: Option<i32>,
    /// The thread that called it.
    pub tid: Option<u32>,
}

/// A device with the total time of its callbacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceSleep {
    pub device: String,
    /// Empty if the device has no driver.
    pub driver: String,
    /// Parent device; empty if there is none.
    pub parent: String,
    /// Callbacks during suspend, ns.
    pub suspend_ns: i64,
    /// Callbacks during resume, ns.
    pub resume_ns: i64,
    /// Suspend plus resume, ns.
    pub total_ns: i64,
    /// Time on the critical paths of phases, ns.
    pub on_path_ns: i64,
    pub callbacks: u64,
    /// Whether a callback returned an error.
    pub failed: bool,
}

/// A frozen task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrozenTask {
    /// Thread id.
    pub tid: u32,
    /// Process id; the thread id if the process is unknown.
    pub pid: u32,
    pub name: String,
    /// When it last ran before the machine slept, ns; it was frozen from then on.
    pub frozen_ns: i64,
    /// From the start of freezing to `frozen_ns`, ns.
    pub after_ns: i64,
    /// When it ran again, ns; `None` if it did not run again in the recording.
    pub thawed_ns: Option<i64>,
}

/// The memory image of a hibernation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryImage {
    /// Number of pages copied into the image.
    pub pages: Option<i64>,
    /// Time to free memory for the image, ns.
    pub create_ns: Option<i64>,
    /// Write time, ns; `None` if not recorded, because the restored kernel does not know it.
    pub write_ns: Option<i64>,
    /// Read time, ns; `None` if not recorded, because the kernel that read it is gone.
    pub read_ns: Option<i64>,
    /// Upper bound for write and read time if they were not recorded: the whole time asleep, ns.
    pub max_ns: Option<i64>,
    /// The rule that set `max_ns`; `none` if both times were recorded.
    pub rule: Rule,
}
