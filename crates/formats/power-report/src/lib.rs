//! Reads the reports of sleeps that `powercfg` of Windows writes: the sleep study (`/sleepstudy`), the battery report
//! (`/batteryreport`) and the system sleep diagnostics (`/systemsleepdiagnostics`).
//!
//! ```
//! let page = br#"<html><script>var SESSION_TYPE_NAMES = []; var LocalSprData = {"ScenarioInstances": [
//!     {"Type": 3, "SessionId": 1, "EntryTimestamp": "2026-03-01T20:00:00Z", "Duration": 60000000}
//! ]};</script></html>"#;
//! let report = onoff_power_report::read(page)?;
//! assert_eq!(report.sessions[0].duration_ns, 60_000_000_000);
//! # Ok::<(), onoff_power_report::Error>(())
//! ```
//!
//! # Design constraints
//!
//! * No I/O: the caller passes the bytes.
//! * Windows 11 24H2 and later write a page that contains its data as a JavaScript object; the page's own names and
//!   units apply. Earlier versions write tables only. They are read by their CSS classes and by the field names of
//!   events, which are the same in every language.
//! * The other two reports consist of tables, which are recognized by their columns and CSS classes. The battery report
//!   does not say which sleep state a suspended computer was in, nor does it call modern standby the same in every
//!   language.
//! * The XML forms of the sleep study and the battery report (`/xml`) name everything in the same words in every
//!   language. The XML form of the system sleep diagnostics is not read: nothing is known about its fields.
//! * Values that the report does not have are `None`. Sessions without a time or a duration are counted as unreadable.
//!
//! Sources: the scripts inside the pages, and the reports of real machines (`docs/reference/real-windows.md`).

#![forbid(unsafe_code)]

mod battery_page;
mod diagnostics_page;
mod fields;
mod literal;
mod page_data;
mod page_head;
mod page_tables;
mod rows;
mod tables;
mod usage;
mod xml;

use std::borrow::Cow;

use thiserror::Error;

/// Maximum size of a report in bytes. Reports of 28 days have some MB.
pub const MAX_BYTES: usize = 128 << 20;
/// Maximum number of sessions.
pub const MAX_SESSIONS: usize = 100_000;
/// Maximum number of blockers of a session; Windows writes five.
pub const MAX_BLOCKERS: usize = 64;

/// Maximum number of intervals without a user; reports have some hundred.
pub const MAX_ABSENCES: usize = 100_000;
/// Maximum number of availability requests in all intervals without a user; Windows repeats some every few minutes.
pub const MAX_REQUESTS: usize = 1_000_000;

/// Why a report cannot be read at all. The caller adds the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    #[error("not a power report: neither the data of a sleep study nor a table of power states")]
    NotAPowerReport,
    #[error(
        "the states in this battery report are not in English, so standby cannot be told from use. Run \
         'powercfg /batteryreport /xml' on that computer and open the file it writes"
    )]
    UnknownLanguage,
    /// The data of the report ends too early, or is not an object.
    #[error("byte offset {offset:#x}: the data of the report is damaged or cut off here")]
    Damaged {
        /// Position of the damage, in bytes.
        offset: usize,
    },
    #[error("the report has {bytes} bytes; reports of more than {MAX_BYTES} bytes are not read")]
    TooLarge {
        /// Size of the file.
        bytes: usize,
    },
}

/// The report that a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReportKind {
    #[default]
    SleepStudy,
    SleepDiagnostics,
    Battery,
}

/// State of the computer during a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SessionKind {
    Active,
    ScreenOff,
    /// Modern standby with the screen off and the system in its low-power phases.
    ModernStandby,
    /// Sleep in S1 to S3.
    Sleep,
    /// Sleep with the memory also saved to disk.
    HybridSleep,
    Hibernate,
    /// Sleep, hibernation or off: a battery report does not tell them apart.
    Suspended,
    /// The shutdown of a fast startup, and the time off.
    HybridShutdown,
    Shutdown,
    /// The computer stopped without a shutdown, or crashed.
    AbnormalShutdown,
    Crash,
    /// A state that this reader does not know, or that the report itself calls unknown.
    Unknown,
}

impl SessionKind {
    /// Returns the kind of a sleep with these requested and effective states (`SYSTEM_POWER_STATE`).
    pub(crate) const fn from_states(target: Option<i64>, effective: Option<i64>) -> Option<Self> {
        match (target, effective) {
            (Some(2..=4), Some(5)) => Some(Self::HybridSleep),
            (Some(2..=4), _) => Some(Self::Sleep),
            (Some(5), _) => Some(Self::Hibernate),
            (Some(6), Some(5)) => Some(Self::HybridShutdown),
            _ => None,
        }
    }
}

/// What kept the computer out of its low-power state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockerKind {
    /// A component of Windows or a program that requested the system to run.
    Activator,
    /// A device that its driver kept powered.
    Device,
    /// A phase of the transition into low power.
    Phase,
    Processor,
    /// A device that the platform checks before the processor.
    PlatformVeto,
    /// A part of the system on a chip.
    SocSubsystem,
    Other,
}

/// A blocker of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    pub name: String,
    pub kind: BlockerKind,
    /// Time active during the session, ns. Blockers are active at the same time, so these times do not add up.
    pub active_ns: i64,
}

/// A session: an interval in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub kind: SessionKind,
    /// Number in the report.
    pub number: u64,
    /// Start, ns since 1970-01-01 UTC; the report has seconds.
    pub start_unix_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
    /// Why the state was entered, in the words of Windows; empty if not recorded.
    pub enter_reason: String,
    /// Why the state was left, in the words of Windows; empty if not recorded.
    pub exit_reason: String,
    /// What woke the computer from sleep; empty if not recorded.
    pub wake_source: String,
    /// Whether the computer ran on external power at the start.
    pub on_external_power: Option<bool>,
    /// Remaining battery capacity at the start, mWh.
    pub start_capacity_mwh: Option<i64>,
    /// Remaining battery capacity at the end, mWh.
    pub end_capacity_mwh: Option<i64>,
    /// Full charge capacity at the start, mWh.
    pub full_capacity_mwh: Option<i64>,
    /// Modern standby: time in the deepest idle state according to software, ns.
    pub deepest_ns: Option<i64>,
    /// Modern standby: time in the deepest idle state according to hardware, ns.
    pub hardware_ns: Option<i64>,
    /// Modern standby: time to leave it, ns.
    pub exit_latency_ns: Option<i64>,
    /// Requested state (`SYSTEM_POWER_STATE`): 2 to 4 sleep (S1 to S3), 5 hibernation, 6 off.
    pub target_state: Option<i64>,
    /// State that devices were prepared for, with the same values.
    pub effective_state: Option<i64>,
    /// The kernel's own times of a sleep or hibernation, ms.
    pub kernel_times: KernelTimes,
    /// What kept the computer out of its low-power state, as listed by the report.
    pub blockers: Vec<Blocker>,
}

impl Session {
    /// A session without any optional value.
    #[must_use]
    pub fn new(kind: SessionKind, start_unix_ns: i64, duration_ns: i64) -> Self {
        Self {
            kind,
            number: 0,
            start_unix_ns,
            duration_ns,
            enter_reason: String::new(),
            exit_reason: String::new(),
            wake_source: String::new(),
            on_external_power: None,
            start_capacity_mwh: None,
            end_capacity_mwh: None,
            full_capacity_mwh: None,
            deepest_ns: None,
            hardware_ns: None,
            exit_latency_ns: None,
            target_state: None,
            effective_state: None,
            kernel_times: KernelTimes::default(),
            blockers: Vec::new(),
        }
    }
}

/// The kernel's own times of a sleep or hibernation, in ms, as in event 1 of Power-Troubleshooter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelTimes {
    /// `SleepDuration`: the way down.
    pub suspend_ms: Option<i64>,
    /// `WakeDuration`: the way up.
    pub resume_ms: Option<i64>,
    /// `DriverInitDuration`: part of the way up.
    pub driver_wake_ms: Option<i64>,
    /// `BiosInitDuration`.
    pub firmware_ms: Option<i64>,
    /// `HiberWriteDuration`.
    pub hibernate_write_ms: Option<i64>,
    /// `HiberReadDuration`.
    pub hibernate_read_ms: Option<i64>,
    /// `HiberPagesWritten`: number of pages.
    pub hibernate_pages: Option<i64>,
}

/// What a computer did while no user was present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AbsenceOutcome {
    StayedOn,
    /// It slept, hibernated or shut down for a part of the interval.
    Slept,
    /// The report has a state that this reader does not know.
    Unknown,
}

/// An interval in which no user was present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAbsence {
    /// Start, ns since 1970-01-01 UTC; the report has seconds.
    pub start_unix_ns: i64,
    /// Duration, ns.
    pub duration_ns: i64,
    pub outcome: AbsenceOutcome,
}

/// What an availability request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestKind {
    /// The display stays on.
    Display,
    /// The computer does not sleep for being idle.
    System,
    /// The process runs on; on a computer without modern standby, the computer does not sleep for being idle.
    Execution,
    Other,
}

/// A request of a program or driver that the computer stays available (`powercfg /requests`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailabilityRequest {
    /// Path of the program, or name of the device.
    pub requester: String,
    pub kind: RequestKind,
    /// Start, ns since 1970-01-01 UTC; the report has seconds.
    pub start_unix_ns: i64,
    /// Duration, ns. It may end after the interval.
    pub duration_ns: i64,
}

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub kind: ReportKind,
    /// When it was written, ns since 1970-01-01 UTC.
    pub created_unix_ns: Option<i64>,
    /// Difference of local time to UTC in minutes; positive east of Greenwich.
    pub utc_offset_minutes: Option<i32>,
    /// True if the difference to UTC is not recorded. All times are then those of the local clock.
    pub is_local_time: bool,
    /// Name of the computer; empty if not recorded.
    pub computer: String,
    /// Manufacturer and model; empty if not recorded.
    pub model: String,
    /// Firmware version; empty if not recorded.
    pub firmware: String,
    /// Build of Windows with revision, e.g. `26100.4061`; empty if not recorded.
    pub os_version: String,
    /// Name of the build, e.g. `26100.1.amd64fre.ge_release.240331-1435`; empty if not recorded.
    pub os_build: String,
    /// Whether the computer supports modern standby.
    pub modern_standby: Option<bool>,
    /// Sessions in the order of the report.
    pub sessions: Vec<Session>,
    /// Sessions without a time or a duration, and those beyond [`MAX_SESSIONS`].
    pub unreadable_sessions: u64,
    /// Intervals in which no user was present; only system sleep diagnostics have them.
    pub absences: Vec<UserAbsence>,
    /// Availability requests that were active in these intervals.
    pub requests: Vec<AvailabilityRequest>,
    /// Intervals and requests without a time or a duration, and those beyond [`MAX_ABSENCES`] and [`MAX_REQUESTS`].
    pub unreadable_absences: u64,
}

/// Marks of the reports, in scripts and name spaces that are the same in every language.
const MARKS: [&str; 7] = [
    "var SESSION_TYPE_NAMES",
    "var LocalSprData",
    "xmlns:slp=\"http://schemas.microsoft.com/sleepstudy/",
    BATTERY_MARK,
    DIAGNOSTICS_MARK,
    BATTERY_XML_MARK,
    SLEEP_STUDY_XML_MARK,
];
const BATTERY_MARK: &str = "xmlns:bat=\"http://schemas.microsoft.com/battery/";
const DIAGNOSTICS_MARK: &str = "xmlns:ssd=\"http://schemas.microsoft.com/systemsleepdiagnostics/";
const BATTERY_XML_MARK: &str = "<BatteryReport xmlns=\"http://schemas.microsoft.com/battery/";
const SLEEP_STUDY_XML_MARK: &str = "<SleepStudy xmlns=\"http://schemas.microsoft.com/sleepstudy/";

/// True if `bytes` start like a power report.
#[must_use]
pub fn is_power_report(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
    text.starts_with(b"<") && MARKS.iter().any(|mark| contains(text, mark.as_bytes()))
}

fn contains(text: &[u8], mark: &[u8]) -> bool {
    let Some(&first) = mark.first() else { return false };
    let mut rest = text;
    while let Some(position) = rest.iter().position(|&byte| byte == first) {
        rest = rest.get(position..).unwrap_or_default();
        if rest.starts_with(mark) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// Reads a report.
///
/// # Errors
/// Bytes that are not a power report, or whose data is damaged or too large, or a language that cannot be understood.
pub fn read(bytes: &[u8]) -> Result<Report, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(Error::TooLarge { bytes: bytes.len() });
    }
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    if let Some(start) = literal::find(&text, "LocalSprData") {
        return page_data::read(&text, start);
    }
    if text.contains(BATTERY_MARK) {
        return battery_page::read(&text);
    }
    if text.contains(DIAGNOSTICS_MARK) {
        return Ok(diagnostics_page::read(&text));
    }
    if text.contains(BATTERY_XML_MARK) {
        return xml::read_battery(&text);
    }
    if text.contains(SLEEP_STUDY_XML_MARK) {
        return xml::read_sleep_study(&text);
    }
    page_tables::read(&text).ok_or(Error::NotAPowerReport)
}
