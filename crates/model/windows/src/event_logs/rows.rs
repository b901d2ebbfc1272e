//! Rows of the tables for the sleeps and the end of a boot.

use onoff_event_log::Record;
use onoff_trace::firmware::FirmwareCheckpoints;
use onoff_trace::{Activity, ActivityKind, Milestone, milestone};

use super::account::{self, Delay, milliseconds};
use super::boots::LoggedBoot;
use super::ends::event;
use super::events::{
    EVENT_LOG, FIRMWARE_TIMES, KERNEL_BOOT, KERNEL_POWER, LOG_STOP, POWER_TROUBLESHOOTER, RESUME, SLEEP, is,
};
use super::power::{HIBERNATION, WOKE_TO_HIBERNATE, is_resume};
use crate::texts::Texts;

/// Reads the firmware's times of a start.
fn checkpoints(record: &Record) -> FirmwareCheckpoints {
    let names =
        ["ResetEndStart", "LoadOSImageStart", "StartOSImageStart", "ExitBootServicesEntry", "ExitBootServicesExit"];
    let ns = |name: &str| record.signed(name).and_then(|ms| ms.checked_mul(1_000_000)).filter(|&ns| ns > 0);
    FirmwareCheckpoints::from_stored(names.map(|name| ns(name).unwrap_or(0)))
}

impl LoggedBoot {
    /// Returns each transition as an activity, from the decision to the end of the resume, and the firmware's time of
    /// resumes for which Windows did not record it. `records` are those of the boot, in order of time.
    pub(super) fn power_transitions(
        &self,
        records: &[(i64, &Record)],
        texts: &mut Texts,
    ) -> (Vec<Activity>, Vec<Milestone>) {
        let (mut activities, mut milestones) = (Vec::new(), Vec::new());
        let mut firmware: Option<&Record> = None;
        let mut is_sleep_recorded = false;
        for &(time_ns, record) in records {
            if is(record, KERNEL_BOOT, FIRMWARE_TIMES) {
                firmware = Some(record);
            }
            is_sleep_recorded |= is(record, KERNEL_POWER, SLEEP);
            if !is(record, POWER_TROUBLESHOOTER, RESUME) {
                continue;
            }
            let (Some(start_ns), Some(end_ns)) = (record.time("SleepTime"), record.time("WakeTime")) else { continue };
            let event = texts.display(format_args!("{}/{}", record.provider, record.id));
            if record.number("WakeSourceType") == Some(WOKE_TO_HIBERNATE) {
                // The record has the times of the hibernation, but the sleep before it ended for this reason.
                let time_ns = self.axis_of_clock(start_ns).saturating_sub(1);
                let [name, detail] =
                    [milestone::WAKE_SOURCE, "Windows, in order to hibernate"].map(|text| texts.str(text));
                milestones.push(Milestone { time_ns, name, detail, event, ..Milestone::UNKNOWN });
            }
            if !is_resume(record) {
                continue;
            }
            if !std::mem::take(&mut is_sleep_recorded)
                && let Some(target) = record.signed("TargetState")
                && let Some(effective) = record.text("EffectiveState")
            {
                // The logs start later than the sleep.
                milestones.push(Milestone {
                    time_ns: self.axis_of_clock(start_ns),
                    name: texts.str(milestone::SLEEP),
                    value: Some(target),
                    detail: texts.str(effective),
                    event,
                    ..Milestone::UNKNOWN
                });
            }
            activities.push(Activity {
                kind: ActivityKind::PowerTransition,
                start_ns: self.axis_of_clock(start_ns),
                end_ns: Some(self.axis_of_clock(end_ns)),
                event,
                ..Activity::UNKNOWN
            });
            // The two agree within 3 ms where both were recorded (35 hibernations).
            let of_firmware = firmware.take().filter(|_| {
                milliseconds(record, "BiosInitDuration").unwrap_or(0) == 0
                    && record.number("EffectiveState") == Some(HIBERNATION)
            });
            if let Some(firmware) = of_firmware
                && let Some((firmware_ns, _)) = checkpoints(firmware).firmware_time().filter(|&(ns, _)| ns > 0)
            {
                milestones.push(Milestone {
                    time_ns,
                    name: texts.str(milestone::POWER_FIRMWARE_TIME),
                    value: Some(firmware_ns),
                    event: texts.display(format_args!("{}/{}", firmware.provider, firmware.id)),
                    ..Milestone::UNKNOWN
                });
            }
        }
        (activities, milestones)
    }

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
        if let Some(record) = &self.end.account {
            let account = &record.account;
            let start_ns = self.axis_of_clock(record.corrected_start_unix_ns());
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

    /// Returns the delays of the shutdown that Windows reports.
    pub(super) fn shutdown_delays(&self, records: &[Record]) -> Vec<(Delay, String)> {
        let delays = self.end.delays.iter().filter_map(|&index| records.get(index));
        delays.filter_map(|record| Some((account::reported_delay(record)?, event(record)))).collect()
    }
}
