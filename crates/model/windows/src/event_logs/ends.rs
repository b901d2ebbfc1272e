//! How boots ended: Windows' own account of the shutdown, who requested it, and ends without a shutdown.
//!
//! Event 200 of Diagnostics-Performance is written by the next boot. Measured on three shutdowns (differences of at
//! most 1 ms):
//!
//! ```text
//! Shutdown                 = UserSession + SystemSessions + Kernel
//! ShutdownEnd - ShutdownStart = Shutdown
//! SystemSessions          >= PreShutdownNotifications + Services
//! ```
//!
//! Steps of the clock during the boot are part of `Kernel` and `Shutdown` there, and the start is that much earlier.

use onoff_event_log::Record;
use onoff_trace::{ShutdownAccount, ShutdownRequest, UncleanEnd};

use super::account::milliseconds;
use super::events::{
    EVENT_LOG, KERNEL_BOOT, KERNEL_POWER, LAST_BOOT, LOG_NOT_STOPPED, NO_SHUTDOWN, SHUTDOWN_ABORTED, SHUTDOWN_FAILED,
    SHUTDOWN_REQUEST, USER32, is,
};

/// What later boots recorded about the end of a boot.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedEnd {
    pub(super) account: Option<ShutdownRecord>,
    pub(super) unclean_end: Option<UncleanEnd>,
    /// Indexes of the records of delays that Windows reports: those with the same start as the account.
    pub(super) delays: Vec<usize>,
}

/// Whether the kernel of the next boot recorded that this one was shut down.
pub(super) fn is_good_shutdown(record: &Record) -> bool {
    is(record, KERNEL_BOOT, LAST_BOOT) && record.number("LastShutdownGood") == Some(1)
}

/// Returns the name of a record in the tables.
pub(super) fn event(record: &Record) -> String {
    format!("{}/{}", record.provider, record.id)
}

/// Windows' own account of a shutdown, with its times.
#[derive(Clone, Debug)]
pub(super) struct ShutdownRecord {
    /// ns since 1970.
    pub(super) start_unix_ns: i64,
    pub(super) end_unix_ns: i64,
    pub(super) account: ShutdownAccount,
}

/// Steps of the clock up to this length are not worth correcting, ns.
const MIN_CLOCK_STEPS_NS: i64 = 1_000_000_000;

impl ShutdownRecord {
    pub(super) fn new(record: &Record) -> Option<Self> {
        let ms = |name: &str| milliseconds(record, name);
        let account = ShutdownAccount {
            shutdown_ns: ms("ShutdownTime")?,
            user_session_ns: ms("ShutdownUserSessionTime")?,
            system_session_ns: ms("ShutdownSystemSessionsTime")?,
            kernel_ns: ms("ShutdownKernelTime")?,
            clock_steps_ns: 0,
            user_policy_ns: ms("ShutdownUserPolicyTime"),
            user_profiles_ns: ms("ShutdownUserProfilesTime"),
            pre_shutdown_ns: ms("ShutdownPreShutdownNotificationsTime"),
            services_ns: ms("ShutdownServicesTime"),
            is_degradation: record.number("ShutdownIsDegradation") == Some(1),
            event: event(record),
        };
        let [start_unix_ns, end_unix_ns] = ["ShutdownStartTime", "ShutdownEndTime"].map(|name| record.time(name));
        Some(Self { start_unix_ns: start_unix_ns?, end_unix_ns: end_unix_ns?, account })
    }

    /// Windows counts the steps of the clock during the boot as time in the kernel, and places the start that much
    /// earlier.
    pub(super) fn without_clock_steps(mut self, steps_ns: i64) -> Self {
        let account = &mut self.account;
        if steps_ns >= MIN_CLOCK_STEPS_NS && account.kernel_ns >= steps_ns && account.shutdown_ns >= steps_ns {
            account.kernel_ns -= steps_ns;
            account.shutdown_ns -= steps_ns;
            account.clock_steps_ns = steps_ns;
        }
        self
    }

    /// Start by the clock of the end of the boot, ns since 1970.
    pub(super) fn corrected_start_unix_ns(&self) -> i64 {
        self.start_unix_ns.saturating_add(self.account.clock_steps_ns)
    }
}

pub(super) fn kernel_end(record: &Record) -> Option<UncleanEnd> {
    is(record, KERNEL_POWER, NO_SHUTDOWN).then(|| UncleanEnd {
        bugcheck_code: record.number("BugcheckCode"),
        is_power_button_pressed: record.number("PowerButtonTimestamp").is_some_and(|time| time > 0),
        is_sleep_in_progress: record.number("SleepInProgress").is_some_and(|state| state > 0),
        event: event(record),
    })
}

pub(super) fn log_service_end(record: &Record) -> Option<UncleanEnd> {
    is(record, EVENT_LOG, LOG_NOT_STOPPED).then(|| UncleanEnd { event: event(record), ..UncleanEnd::default() })
}

/// Reads a request to shut down, recorded at `time_ns`. Before Windows 8, its data have no names.
fn read_request(record: &Record, time_ns: i64) -> ShutdownRequest {
    let text = |name: &str, index: usize| record.text(name).or_else(|| record.unnamed(index)).unwrap_or("").to_owned();
    ShutdownRequest {
        time_ns,
        program: text("param1", 0),
        reason: text("param3", 2),
        reason_code: text("param4", 3),
        comment: text("param6", 5),
        user: text("param7", 6),
        event: event(record),
    }
}

/// Requests within this time belong together: the program that a person used asks Winlogon, which asks again, ns.
const SAME_REQUEST_NS: i64 = 120_000_000_000;

/// Returns the request that led to the shutdown: the first of the last group, without those that failed or were aborted.
/// `records` are those of one boot, with their times on the axis, in order.
pub(super) fn request(records: &[(i64, &Record)]) -> Option<ShutdownRequest> {
    let mut request: Option<ShutdownRequest> = None;
    let mut last_ns = i64::MIN;
    for &(time_ns, record) in records.iter().filter(|(_, record)| USER32.contains(&record.provider.as_str())) {
        match record.id {
            SHUTDOWN_REQUEST => {
                if request.is_none() || time_ns.saturating_sub(last_ns) > SAME_REQUEST_NS {
                    request = Some(read_request(record, time_ns));
                }
                last_ns = time_ns;
            }
            SHUTDOWN_FAILED | SHUTDOWN_ABORTED => request = None,
            _ => {}
        }
    }
    request
}
