//! Sleeps, hibernations and fast startups: Power-Troubleshooter 1, which the resume writes.
//!
//! Measured on 230 records: `SleepTime` is the decision, 2 to 12 s before Kernel-Power 42; `WakeTime` is the end of the
//! resume. Both are by the clock that is right after the resume. A record without any duration is not a resume for a
//! user: the sleeping computer woke in order to hibernate.

use onoff_event_log::Record;
use onoff_trace::firmware::FirmwareCheckpoints;
use onoff_trace::{Activity, ActivityKind, Milestone, milestone};

use super::account::milliseconds;
use super::boots::{LoggedBoot, is};
use super::events::{FIRMWARE_TIMES, KERNEL_BOOT, KERNEL_POWER, POWER_TROUBLESHOOTER, RESUME, SLEEP};
use crate::texts::Texts;

/// `SYSTEM_POWER_STATE` values: the computer is off, with a memory image.
const OFF: u64 = 6;
const HIBERNATION: u64 = 5;

/// `WakeSourceType` of a computer that woke in order to hibernate.
const WOKE_TO_HIBERNATE: u64 = 3;

/// Whether a record reports a resume that a user would notice.
pub(super) fn is_resume(record: &Record) -> bool {
    let is_positive = |name: &str| record.number(name).is_some_and(|ms| ms > 0);
    is(record, POWER_TROUBLESHOOTER, RESUME) && (is_positive("SleepDuration") || is_positive("WakeDuration"))
}

/// Whether a record reports a fast startup: the computer was to be off, and a memory image was kept.
pub(super) fn is_fast_startup(record: &Record) -> bool {
    is_resume(record) && is_off_with_image(record)
}

/// Whether a record names a computer that is off and keeps a memory image.
pub(super) fn is_off_with_image(record: &Record) -> bool {
    record.number("TargetState") == Some(OFF) && record.number("EffectiveState") == Some(HIBERNATION)
}

/// The moments of a fast startup, ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FastStartup {
    /// The decision to shut down.
    pub(super) shutdown_unix_ns: i64,
    /// The kernel runs again.
    pub(super) resume_unix_ns: i64,
}

impl FastStartup {
    pub(super) fn new(record: &Record) -> Option<Self> {
        let wake_ns = milliseconds(record, "WakeDuration")?;
        is_fast_startup(record)
            .then(|| {
                Some(Self {
                    shutdown_unix_ns: record.time("SleepTime")?,
                    resume_unix_ns: record.time("WakeTime")?.checked_sub(wake_ns)?,
                })
            })
            .flatten()
    }
}

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
}
