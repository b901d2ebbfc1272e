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

use onoff_event_log::Record;
use onoff_trace::{Milestone, ShutdownAccount, ShutdownRequest, UncleanEnd, milestone};

use super::account::{self, Delay, milliseconds};
use super::boots::{LoggedBoot, StartTimes, is};
use super::events::{
    DIAGNOSTICS, EVENT_LOG, KERNEL_POWER, LOG_NOT_STOPPED, LOG_STOP, NO_SHUTDOWN, SHUTDOWN_ACCOUNT, SHUTDOWN_DELAYS,
    SHUTDOWN_REQUEST, USER32,
};
use crate::texts::Texts;

/// What later boots recorded about the end of a boot.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedEnd {
    /// Windows' own account, with its start, ns since 1970.
    pub(super) account: Option<(i64, ShutdownAccount)>,
    pub(super) unclean_end: Option<UncleanEnd>,
    /// Indexes of the records of delays that Windows reports.
    pub(super) delays: Vec<usize>,
}

/// Assigns what was recorded about ends to the boots that ended; returns the number of accounts without a boot.
pub(super) fn assign(records: &[Record], starts: &StartTimes, boots: &mut [LoggedBoot]) -> u64 {
    let mut unassigned = 0;
    for (index, record) in records.iter().enumerate().filter(|(_, record)| record.provider == DIAGNOSTICS) {
        if record.id == SHUTDOWN_ACCOUNT {
            let account = shutdown_account(record);
            let boot = account.as_ref().and_then(|&(start_ns, _)| boots.get_mut(starts.running_at(start_ns)?));
            match boot {
                Some(boot) => {
                    boot.is_stopped = true;
                    boot.end.account = account;
                }
                None => unassigned += 1,
            }
        } else if SHUTDOWN_DELAYS.contains(&record.id) {
            let boot = record.time("StartTime").and_then(|start_ns| boots.get_mut(starts.running_at(start_ns)?));
            match boot {
                Some(boot) => boot.end.delays.push(index),
                None => unassigned += 1,
            }
        }
    }
    // The record of the kernel says more than that of the log service.
    for place in 1..boots.len() {
        let unclean_end = boots.get(place).and_then(|boot| {
            let own_records = || boot.records.iter().filter_map(|&index| records.get(index));
            own_records().find_map(kernel_end).or_else(|| own_records().find_map(log_service_end))
        });
        if let Some(boot) = boots.get_mut(place - 1) {
            boot.end.unclean_end = unclean_end;
        }
    }
    unassigned
}

/// Returns the name of a record in the tables.
pub(super) fn event(record: &Record) -> String {
    format!("{}/{}", record.provider, record.id)
}

/// Returns the start of the shutdown, ns since 1970, and its account.
fn shutdown_account(record: &Record) -> Option<(i64, ShutdownAccount)> {
    let ms = |name: &str| milliseconds(record, name);
    let account = ShutdownAccount {
        shutdown_ns: ms("ShutdownTime")?,
        user_session_ns: ms("ShutdownUserSessionTime")?,
        system_session_ns: ms("ShutdownSystemSessionsTime")?,
        kernel_ns: ms("ShutdownKernelTime")?,
        user_policy_ns: ms("ShutdownUserPolicyTime"),
        user_profiles_ns: ms("ShutdownUserProfilesTime"),
        pre_shutdown_ns: ms("ShutdownPreShutdownNotificationsTime"),
        services_ns: ms("ShutdownServicesTime"),
        is_degradation: record.number("ShutdownIsDegradation") == Some(1),
        event: event(record),
    };
    Some((record.time("ShutdownStartTime")?, account))
}

fn kernel_end(record: &Record) -> Option<UncleanEnd> {
    is(record, KERNEL_POWER, NO_SHUTDOWN).then(|| UncleanEnd {
        bugcheck_code: record.number("BugcheckCode"),
        is_power_button_pressed: record.number("PowerButtonTimestamp").is_some_and(|time| time > 0),
        is_sleep_in_progress: record.number("SleepInProgress").is_some_and(|state| state > 0),
        event: event(record),
    })
}

fn log_service_end(record: &Record) -> Option<UncleanEnd> {
    is(record, EVENT_LOG, LOG_NOT_STOPPED).then(|| UncleanEnd { event: event(record), ..UncleanEnd::default() })
}

/// Reads a request to shut down, recorded at `time_ns`. Before Windows 8, its data have no names.
fn request(record: &Record, time_ns: i64) -> Option<ShutdownRequest> {
    if record.id != SHUTDOWN_REQUEST || !USER32.contains(&record.provider.as_str()) {
        return None;
    }
    let text = |name: &str, index: usize| record.text(name).or_else(|| record.unnamed(index)).unwrap_or("").to_owned();
    Some(ShutdownRequest {
        time_ns,
        program: text("param1", 0),
        reason: text("param3", 2),
        reason_code: text("param4", 3),
        comment: text("param6", 5),
        user: text("param7", 6),
        event: event(record),
    })
}

/// Returns the last request to shut down; `records` are those of one boot, with their times on the axis.
pub(super) fn last_request(records: &[(i64, &Record)]) -> Option<ShutdownRequest> {
    records.iter().rev().find_map(|&(time_ns, record)| request(record, time_ns))
}

impl LoggedBoot {
    /// Returns the milestones of the end of the boot.
    pub(super) fn end_milestones(&self, records: &[(i64, &Record)], texts: &mut Texts) -> Vec<Milestone> {
        let mut rows = Vec::new();
        let mut push = |time_ns: i64, name: &str, event: &str| {
            let (name, event) = (texts.str(name), texts.str(event));
            rows.push(Milestone { time_ns, name, event, ..Milestone::UNKNOWN });
        };
        for &(time_ns, record) in records.iter().filter(|(_, record)| is(record, EVENT_LOG, LOG_STOP)) {
            push(time_ns, milestone::EVENT_LOG_STOP, &event(record));
        }
        if let Some((start_unix_ns, account)) = &self.end.account {
            let start_ns = self.axis_of_clock(*start_unix_ns);
            let system_ns = start_ns + account.user_session_ns;
            let kernel_ns = system_ns + account.system_session_ns;
            push(start_ns, milestone::ACCOUNT_SHUTDOWN_START, &account.event);
            push(system_ns, milestone::ACCOUNT_USER_SESSION_END, &account.event);
            push(kernel_ns, milestone::ACCOUNT_SYSTEM_SESSION_END, &account.event);
            // The parts are rounded to milliseconds, and so is their sum.
            push(start_ns + account.shutdown_ns, milestone::ACCOUNT_SHUTDOWN_END, &account.event);
        }
        rows
    }

    /// Returns the delays of the shutdown that Windows reports: those with the same start as its account.
    pub(super) fn shutdown_delays(&self, records: &[Record]) -> Vec<(Delay, String)> {
        let Some((start_ns, _)) = &self.end.account else { return Vec::new() };
        let delays = self.end.delays.iter().filter_map(|&index| records.get(index));
        delays
            .filter_map(|record| Some((account::reported_delay(record)?, event(record))))
            .filter(|(delay, _)| delay.start_unix_ns == *start_ns)
            .collect()
    }
}
