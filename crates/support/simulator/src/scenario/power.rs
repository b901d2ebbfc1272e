//! Scenario keys of sleep, hibernation and fast startup.

use serde::Deserialize;

use super::NamedDuration;
use crate::units::TickDuration;
use crate::work::WorkStep;

/// How an application or service responds to a notification.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NotificationResponse {
    /// Response time.
    pub time: TickDuration,
    /// Work before the response, within `time`.
    pub work: Vec<WorkStep>,
    /// No response within the timeout.
    pub hangs: bool,
}

/// A device that takes part in power transitions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoweredDevice {
    pub instance: String,
    #[serde(default)]
    pub description: String,
    /// Function driver, without `\Driver\`.
    pub driver: String,
    /// Devices of a higher order receive requests first while suspending and last while resuming; devices of the same
    /// order receive them in parallel.
    #[serde(default)]
    pub order: u8,
    /// Duration of the query request.
    #[serde(default)]
    pub query: TickDuration,
    /// Duration of the suspend request.
    #[serde(default)]
    pub suspend: TickDuration,
    /// Duration of the resume request.
    #[serde(default)]
    pub resume: TickDuration,
    #[serde(default)]
    pub work: Vec<WorkStep>,
    /// Filter drivers above the function driver, and how long each one delays the request.
    #[serde(default)]
    pub filter: Vec<NamedDuration>,
    /// Duration of the device power request that the driver sends on behalf of the system power request, within the
    /// times above.
    pub own_request: Option<TickDuration>,
    /// Ids of kernel threads that the driver waits for while it suspends. Each waits for the next; the last waits for a
    /// timer.
    #[serde(default)]
    pub chain: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerKind {
    /// S3: memory stays powered.
    Sleep,
    /// S4: memory is written to disk.
    Hibernate,
    /// Memory is written to disk and also stays powered.
    HybridSleep,
    /// The system session is written to disk after the user session has ended.
    FastStartup,
}

/// Position of the kernel's record of the memory image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageRecord {
    /// Before the last record before the sleep; the image is written after both.
    #[default]
    Before,
    /// Before the last record before the sleep; the image is written between the two, while events are recorded.
    Within,
    /// After the computer resumes: the copy of the recording in the image ends before the record was written.
    After,
}

/// A transition to a sleep state and back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    pub kind: PowerKind,
    /// Earliest start; it always starts after the preceding transition.
    #[serde(default)]
    pub at: TickDuration,
    /// Recorded reason.
    #[serde(default = "application_request")]
    pub reason: u32,
    /// Recorded flags.
    #[serde(default)]
    pub flags: u32,
    /// Id of the kernel thread that performs the transition, if a document gives it.
    pub thread_id: Option<u32>,
    /// Query applications and services before notifying them, as Windows 7 does.
    #[serde(default)]
    pub asks: bool,
    #[serde(default = "application_timeout")]
    pub application_timeout: TickDuration,
    #[serde(default = "service_timeout")]
    pub service_timeout: TickDuration,
    /// Time from the last application's response to the end of the phase: the display fades out.
    #[serde(default)]
    pub fade_out: TickDuration,
    /// Duration of showing the screen.
    pub show_ui: Option<TickDuration>,
    /// Duration of hiding the screen.
    pub hide_ui: Option<TickDuration>,
    /// Duration of the prefetcher's preparation.
    pub superfetch: Option<TickDuration>,
    /// Duration of Winlogon's preparation.
    pub winlogon: Option<TickDuration>,
    pub callbacks: Option<TickDuration>,
    /// Work while volumes are flushed, before the disk's cache is flushed.
    #[serde(default)]
    pub flush_work: Vec<WorkStep>,
    /// Duration of flushing pages before the memory image is made.
    pub flush_pages: Option<TickDuration>,
    /// Duration of building the device list.
    pub notify_list: Option<TickDuration>,
    /// Duration of writing the memory image.
    #[serde(default)]
    pub write: TickDuration,
    #[serde(default)]
    pub image_record: ImageRecord,
    /// Duration of reading the memory image.
    #[serde(default)]
    pub read: TickDuration,
    /// Number of pages in the memory image.
    #[serde(default)]
    pub pages: u32,
    /// Duration of the sleep.
    #[serde(default)]
    pub asleep: TickDuration,
    /// Firmware time while resuming.
    #[serde(default)]
    pub firmware: TickDuration,
    /// Record the firmware's own suspend and resume times.
    #[serde(default)]
    pub firmware_record: bool,
    /// Boot manager time while resuming.
    #[serde(default)]
    pub boot_manager: TickDuration,
    /// Resume loader time, without reading the image.
    #[serde(default)]
    pub loader: TickDuration,
    /// The recording's clock stops while the computer is off.
    #[serde(default)]
    #[serde(rename = "clock_stands_still")]
    pub clock_stopped: bool,
    #[serde(default)]
    pub wake_source: String,
    /// The kernel's own totals, as it records them.
    #[serde(default)]
    pub account: KernelTotals,
    /// Work after the devices have resumed.
    #[serde(default)]
    pub after: Vec<WorkStep>,
    /// Time from the end of the transition until Windows detects that the system is idle.
    pub idle_after: Option<TickDuration>,
    /// The recording ends when the computer turns off.
    #[serde(default)]
    pub ends_recording: bool,
    /// The recording begins when the computer resumes.
    #[serde(default)]
    pub begins_recording: bool,
}

/// The kernel's own totals of a transition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelTotals {
    pub suspend: TickDuration,
    pub resume: TickDuration,
    /// Resuming devices.
    pub driver_wake: TickDuration,
    /// Notifying applications of the resume.
    pub resume_apps: TickDuration,
    /// Notifying services of the resume.
    pub resume_services: TickDuration,
    pub main_path: TickDuration,
}

const fn application_request() -> u32 {
    4
}

const fn application_timeout() -> TickDuration {
    TickDuration(20_000_000)
}

const fn service_timeout() -> TickDuration {
    TickDuration(300_000_000)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standby {
    /// Earliest start.
    #[serde(default)]
    pub at: TickDuration,
    pub time: TickDuration,
    /// Time in the deepest idle state.
    #[serde(default)]
    pub deepest: TickDuration,
    /// Time in the deepest idle state as counted by the hardware.
    #[serde(default)]
    pub hardware: TickDuration,
    /// Duration of leaving the state.
    #[serde(default)]
    pub exit: TickDuration,
    #[serde(default = "lid_reason")]
    pub enter_reason: u32,
    #[serde(default = "lid_reason")]
    pub exit_reason: u32,
    /// Work after the standby.
    #[serde(default)]
    pub after: Vec<WorkStep>,
}

const fn lid_reason() -> u32 {
    15
}
