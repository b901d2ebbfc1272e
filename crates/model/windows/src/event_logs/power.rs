//! Sleeps, hibernations and fast startups: Power-Troubleshooter 1, which the resume writes.
//!
//! Measured on 230 records: `SleepTime` is the decision, 2 to 12 s before Kernel-Power 42; `WakeTime` is the end of the
//! resume. Both are by the clock that is right after the resume. A record without any duration is not a resume for a
//! user: the sleeping computer woke in order to hibernate.

use onoff_event_log::Record;

use super::account::milliseconds;
use super::events::{POWER_TROUBLESHOOTER, RESUME, is};

/// `SYSTEM_POWER_STATE` values: the computer is off, with a memory image.
const OFF: u64 = 6;
pub(super) const HIBERNATION: u64 = 5;

/// `WakeSourceType` of a computer that woke in order to hibernate.
pub(super) const WOKE_TO_HIBERNATE: u64 = 3;

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
