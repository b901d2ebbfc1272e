//! Scenario keys of sleep, hibernation and fast startup.

use serde::Deserialize;

use super::Timed;
use crate::span::Span;
use crate::work::Work;

/// How somebody answers a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Answer {
    /// From the message to the answer.
    pub time: Span,
    /// What it does before it answers, within `time`.
    pub work: Vec<Work>,
    /// It does not answer within the time-out.
    pub hangs: bool,
}

/// A device and its part in a change of power.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoweredDevice {
    /// Instance path.
    pub instance: String,
    /// Description.
    #[serde(default)]
    pub description: String,
    /// Its function driver, without `\Driver\`.
    pub driver: String,
    /// Devices of a higher order are told first on the way down and last on the way up; those of
    /// one order side by side.
    #[serde(default)]
    pub order: u8,
    /// How long the question takes.
    #[serde(default)]
    pub query: Span,
    /// How long going to sleep takes.
    #[serde(default)]
    pub suspend: Span,
    /// How long waking up takes.
    #[serde(default)]
    pub resume: Span,
    /// Work within `suspend`.
    #[serde(default)]
    pub work: Vec<Work>,
    /// Drivers above the function driver that hold the request for a time before it.
    #[serde(default)]
    pub filter: Vec<Timed>,
    /// The request of the device itself, which the driver sends on behalf of the system's: how
    /// long it takes, within the time above.
    pub own_request: Option<Span>,
    /// Ids of threads of the kernel that the driver waits for, each waiting for the next, when it
    /// suspends; the last waits for a timer.
    #[serde(default)]
    pub chain: Vec<u32>,
}

/// What kind of transition it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerKind {
    /// Memory stays powered.
    Sleep,
    /// Memory is written to disk.
    Hibernate,
    /// Memory is written to disk and stays powered.
    HybridSleep,
    /// The system's session is written to disk after the user's has ended.
    FastStartup,
}

/// Where the kernel's record of the memory image stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageRecord {
    /// Before the last record of the way down; the image is written after both.
    #[default]
    Before,
    /// Before the last record of the way down, and the image is written between the two, while the recording goes on.
    Within,
    /// After the computer is back: the image's own copy of the recording ends before it was written.
    After,
}

/// A transition to a sleeping state and back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// What kind.
    pub kind: PowerKind,
    /// When it is decided, at the earliest; after what came before it in any case.
    #[serde(default)]
    pub at: Span,
    /// Reason as recorded.
    #[serde(default = "application_asked")]
    pub reason: u32,
    /// Flags as recorded.
    #[serde(default)]
    pub flags: u32,
    /// Id of the thread that leads through it, when a document gives it.
    pub thread_id: Option<u32>,
    /// Applications and services are asked before they are told, as Windows 7 does.
    #[serde(default)]
    pub asks: bool,
    /// How long an application may take.
    #[serde(default = "application_timeout")]
    pub application_timeout: Span,
    /// How long a service may take.
    #[serde(default = "service_timeout")]
    pub service_timeout: Span,
    /// From the last application's answer to the phase's end: the display fades out.
    #[serde(default)]
    pub fade_out: Span,
    /// The screen is shown: how long that takes.
    pub show_ui: Option<Span>,
    /// The screen goes: how long that takes.
    pub hide_ui: Option<Span>,
    /// The prefetcher prepares memory.
    pub superfetch: Option<Span>,
    /// The logon process prepares.
    pub winlogon: Option<Span>,
    /// Callbacks.
    pub callbacks: Option<Span>,
    /// Work while volumes are flushed; a flush of the disk's cache follows.
    #[serde(default)]
    pub flush_work: Vec<Work>,
    /// Pages are flushed before the memory image is made.
    pub flush_pages: Option<Span>,
    /// The list of devices is worked out.
    pub notify_list: Option<Span>,
    /// The memory image is written: how long that takes.
    #[serde(default)]
    pub write: Span,
    /// Where the record of the memory image stands.
    #[serde(default)]
    pub image_record: ImageRecord,
    /// The memory image is read: how long that takes.
    #[serde(default)]
    pub read: Span,
    /// Pages of the memory image.
    #[serde(default)]
    pub pages: u32,
    /// How long it sleeps.
    #[serde(default)]
    pub asleep: Span,
    /// Firmware on the way back.
    #[serde(default)]
    pub firmware: Span,
    /// Firmware's own record of the suspend and the resume is passed on.
    #[serde(default)]
    pub firmware_record: bool,
    /// Boot manager on the way back.
    #[serde(default)]
    pub boot_manager: Span,
    /// Resume loader without its reading.
    #[serde(default)]
    pub loader: Span,
    /// The clock of the recording stands still while the computer is off.
    #[serde(default)]
    pub clock_stands_still: bool,
    /// What woke it.
    #[serde(default)]
    pub wake_source: String,
    /// The kernel's own account of suspend, resume and devices, as it records them.
    #[serde(default)]
    pub account: Account,
    /// Work after the devices are back.
    #[serde(default)]
    pub after: Vec<Work>,
    /// How long after the end the system finds itself idle.
    pub idle_after: Option<Span>,
    /// The recording ends when the computer goes off.
    #[serde(default)]
    pub ends_recording: bool,
    /// The recording begins when the computer comes back.
    #[serde(default)]
    pub begins_recording: bool,
}

/// The kernel's own account of a transition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Account {
    /// Suspend.
    pub suspend: Span,
    /// Resume.
    pub resume: Span,
    /// Devices woken.
    pub driver_wake: Span,
    /// Applications told of the resume.
    pub resume_apps: Span,
    /// Services told of the resume.
    pub resume_services: Span,
    /// Main path of a fast startup.
    pub main_path: Span,
}

const fn application_asked() -> u32 {
    4
}

const fn application_timeout() -> Span {
    Span(20_000_000)
}

const fn service_timeout() -> Span {
    Span(300_000_000)
}

/// Modern standby.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standby {
    /// When it is entered, at the earliest.
    #[serde(default)]
    pub at: Span,
    /// How long it lasts.
    pub time: Span,
    /// Of that, in the deepest idle state.
    #[serde(default)]
    pub deepest: Span,
    /// Of that, in the deepest idle state as the hardware counted it.
    #[serde(default)]
    pub hardware: Span,
    /// How long leaving it takes.
    #[serde(default)]
    pub exit: Span,
    /// Why it was entered.
    #[serde(default = "lid")]
    pub enter_reason: u32,
    /// Why it was left.
    #[serde(default = "lid")]
    pub exit_reason: u32,
    /// Work after it.
    #[serde(default)]
    pub after: Vec<Work>,
}

const fn lid() -> u32 {
    15
}
