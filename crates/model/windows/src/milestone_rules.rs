//! Rules that map events to milestones and their values.

use onoff_trace::milestone as name;

use super::phase_events::{
    Event, KERNEL_BOOT, KERNEL_GENERAL, KERNEL_PNP, KERNEL_POWER, KERNEL_PROCESSOR_POWER, PERF_TRACK,
    POWER_TROUBLESHOOTER, PhaseEvent, Provider, READY_BOOST, SERVICES, SHELL_CORE, WININIT, WINLOGON,
};

/// Source of a milestone's value.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Nothing,
    /// A field, unconverted.
    Number(&'static str),
    /// A field in seconds, for a milestone in nanoseconds.
    Seconds(&'static str),
    /// A field in milliseconds, for a milestone in nanoseconds.
    Milliseconds(&'static str),
    /// A field in milliseconds, for a milestone in nanoseconds; ignored if greater than another nonzero field.
    MillisecondsUpTo(&'static str, &'static str),
    /// A field in milliseconds, for a milestone in nanoseconds; 0 means that the time was not recorded.
    NonzeroMilliseconds(&'static str),
    /// A field in microseconds, for a milestone in nanoseconds.
    Microseconds(&'static str),
    /// A field in kibibytes, for a milestone in bytes.
    Kibibytes(&'static str),
    /// A `FILETIME`, for a milestone in nanoseconds since 1970-01-01 UTC.
    FileTime(&'static str),
    /// Change of the wall clock, ms: a separate field since Windows 11 22H2; in older versions, the new time minus the
    /// old time.
    ClockStep,
}

/// Source of a milestone's detail.
#[derive(Clone, Copy)]
pub(super) enum Detail {
    None,
    /// The text of a field.
    Field(&'static str),
    Literal(&'static str),
}

use Detail::{Field, Literal};
use Value::{
    ClockStep, FileTime, Kibibytes, Microseconds, Milliseconds, MillisecondsUpTo, NonzeroMilliseconds, Nothing, Number,
    Seconds,
};

/// Event, milestone, quantity, detail.
pub(super) type Rule = (Provider, u16, &'static str, Value, Detail);

pub(super) const RULES: &[Rule] = &[
    (KERNEL_PNP, 200, name::BOOT_START_BEGIN, Nothing, Detail::None),
    (KERNEL_PNP, 201, name::BOOT_START_END, Nothing, Detail::None),
    (KERNEL_PNP, 202, name::SYSTEM_START_BEGIN, Nothing, Detail::None),
    (KERNEL_PNP, 203, name::SYSTEM_START_END, Nothing, Detail::None),
    // Times from the boot environment. No manifest states their unit, and no available log of a real machine contains
    // them. They are assumed to be milliseconds, like the times of event 30, and analyses mark them as inferred.
    (KERNEL_BOOT, 7, name::BOOT_MANAGER, Milliseconds("BootmgrTime"), Detail::None),
    (KERNEL_BOOT, 11, name::FIRMWARE, Milliseconds("PreBootMgrTime"), Detail::None),
    (KERNEL_BOOT, 32, name::BOOT_USER_INPUT, Milliseconds("BitlockerUserInputTime"), Detail::None),
    (KERNEL_BOOT, 27, name::BOOT_TYPE, Number("BootType"), Field("LoadOptions")),
    // The firmware's performance record, passed on by the kernel in milliseconds. Some firmware stores a counter in a
    // different unit as the end of reset, which is ignored.
    (KERNEL_BOOT, 30, name::FIRMWARE_RESET_END, MillisecondsUpTo("ResetEndStart", "LoadOSImageStart"), Detail::None),
    (KERNEL_BOOT, 30, name::FIRMWARE_LOADER_LOADED, Milliseconds("LoadOSImageStart"), Detail::None),
    (KERNEL_BOOT, 30, name::FIRMWARE_LOADER_STARTED, Milliseconds("StartOSImageStart"), Detail::None),
    (KERNEL_BOOT, 30, name::FIRMWARE_EXIT_BEGIN, Milliseconds("ExitBootServicesEntry"), Detail::None),
    (KERNEL_BOOT, 30, name::FIRMWARE_EXIT_END, Milliseconds("ExitBootServicesExit"), Detail::None),
    (KERNEL_GENERAL, 1, name::CLOCK_SET, ClockStep, Field("ProcessName")),
    (KERNEL_GENERAL, 1, name::CLOCK_SET_REASON, Number("Reason"), Detail::None),
    (KERNEL_GENERAL, 12, name::SYSTEM_START, Number("BootMode"), Detail::None),
    (KERNEL_GENERAL, 13, name::SYSTEM_STOP, Nothing, Detail::None),
    (READY_BOOST, 1024, name::READ_AHEAD_TRAINING, Number("RB_HistoryCount"), Detail::None),
    (WINLOGON, 5001, name::USER_BOOT_BEGIN, Nothing, Field("SessionId")),
    (WINLOGON, 5002, name::USER_BOOT_END, Nothing, Detail::None),
    (WINLOGON, 5007, name::SYSTEM_BOOT_END, Number("ReadyBootTrainingCountSinceLastServicing"), Field("SessionId")),
    (WINLOGON, 5007, name::READ_AHEAD_TRAINING, Number("ReadyBootTrainingCountSinceLastServicing"), Detail::None),
    (SERVICES, 101, name::AUTO_START_BEGIN, Nothing, Detail::None),
    (SERVICES, 102, name::AUTO_START_END, Nothing, Detail::None),
    (SHELL_CORE, 9601, name::SHELL_INITIALIZATION_BEGIN, Nothing, Detail::None),
    (SHELL_CORE, 9602, name::SHELL_INITIALIZATION_END, Nothing, Detail::None),
    (SHELL_CORE, 27230, name::DESKTOP_READY_BEGIN, Nothing, Detail::None),
    (SHELL_CORE, 27231, name::DESKTOP_READY, Nothing, Detail::None),
    // On Windows 7, the ids of idle detection are 100 lower.
    (PERF_TRACK, 1000, name::IDLE_DETECTION_BEGIN, Nothing, Literal("boot")),
    (PERF_TRACK, 1003, name::IDLE_DETECTION_END, Nothing, Detail::None),
    (PERF_TRACK, 1100, name::IDLE_DETECTION_BEGIN, Nothing, Literal("boot")),
    (PERF_TRACK, 1103, name::IDLE_DETECTION_END, Nothing, Detail::None),
    (PERF_TRACK, 1500, name::READ_AHEAD_TRAINING, Number("ReadyBootTrainingCountSinceLastServicing"), Detail::None),
    (PERF_TRACK, 1001, name::IDLE_DETECTION_BEGIN, Nothing, Literal("sleep")),
    (PERF_TRACK, 1002, name::IDLE_DETECTION_BEGIN, Nothing, Literal("hibernate")),
    (PERF_TRACK, 1101, name::IDLE_DETECTION_BEGIN, Nothing, Literal("sleep")),
    (PERF_TRACK, 1102, name::IDLE_DETECTION_BEGIN, Nothing, Literal("hibernate")),
    (PERF_TRACK, 1111, name::IDLE_DETECTION_BEGIN, Nothing, Literal("fast_startup")),
    (PERF_TRACK, 1112, name::IDLE_DETECTION_BEGIN, Nothing, Literal("modern_standby")),
    (PERF_TRACK, 1500, name::HYBRID_BOOT_MAIN_PATH, Milliseconds("MainPathHybridbootTimeMs"), Detail::None),
    (PERF_TRACK, 1500, name::HYBRID_BOOT_FIRMWARE, Milliseconds("PostTimeMs"), Detail::None),
    (PERF_TRACK, 1500, name::HYBRID_BOOT_RESUME, Milliseconds("ResumeTimeMs"), Detail::None),
    (WINLOGON, 301, name::LOGOFF_REQUEST, Number("Flags"), Detail::None),
    (WININIT, 51, name::KERNEL_SHUTDOWN, Nothing, Detail::None),
    (WININIT, 53, name::LOGOFF_REQUEST, Number("Flags"), Field("SessionId")),
    (WININIT, 55, name::SHUTDOWN_REQUEST, Number("Flags"), Field("SessionId")),
    (KERNEL_POWER, 1, name::POWER_BEGIN_UTC, FileTime("Time"), Detail::None),
    (KERNEL_POWER, 2, name::POWER_END_UTC, FileTime("Time"), Detail::None),
    (KERNEL_POWER, 2, name::WAKE_SOURCE, Nothing, Field("WakeSource")),
    (KERNEL_POWER, 34, name::HIBERNATE, Nothing, Detail::None),
    // The kernel's totals are in milliseconds.
    (KERNEL_POWER, 39, name::POWER_SUSPEND_TIME, Milliseconds("SleepTime"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_RESUME_TIME, Milliseconds("ResumeTime"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_DRIVER_WAKE_TIME, Milliseconds("DriverWakeTime"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_HIBERNATE_WRITE_TIME, Milliseconds("HiberWriteTime"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_HIBERNATE_READ_TIME, Milliseconds("HiberReadTime"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_HIBERNATE_PAGES, Number("HiberPagesWritten"), Detail::None),
    (KERNEL_POWER, 39, name::POWER_FIRMWARE_TIME, Milliseconds("BiosInitTime"), Detail::None),
    (KERNEL_POWER, 42, name::SLEEP, Number("TargetState"), Field("EffectiveState")),
    (KERNEL_POWER, 107, name::WAKE, Number("WakeFromState"), Field("TargetState")),
    (KERNEL_POWER, 108, name::HIBERNATE_FILE_TIME, Milliseconds("ElapsedTime"), Detail::None),
    (KERNEL_POWER, 108, name::HIBERNATE_INIT_TIME, Milliseconds("InitTime"), Detail::None),
    (KERNEL_POWER, 109, name::SHUTDOWN_ACTION, Number("ShutdownActionType"), Field("ShutdownReason")),
    (KERNEL_POWER, 117, name::RESUME_TIME, Milliseconds("TotalResumeTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_FIRMWARE_TIME, Milliseconds("POSTTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_BOOT_MANAGER_TIME, Milliseconds("ResumeBootMgrTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_LOADER_TIME, Milliseconds("ResumeAppTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_LOADER_READ_TIME, Milliseconds("ResumeHiberFileTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_USER_TIME, Milliseconds("ResumeUserInOutTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_KERNEL_READ_TIME, Milliseconds("KernelResumeHiberFileTime"), Detail::None),
    (KERNEL_POWER, 117, name::RESUME_DEVICES_TIME, Milliseconds("DeviceResumeTime"), Detail::None),
    (KERNEL_POWER, 117, name::HIBERNATE_TIME, Milliseconds("TotalHibernateTime"), Detail::None),
    (KERNEL_POWER, 117, name::HIBERNATE_FILE_TIME, Milliseconds("HiberHiberFileTime"), Detail::None),
    (KERNEL_POWER, 120, name::HIBERNATE_FILE_SIZE, Kibibytes("HiberfileSizeKB"), Detail::None),
    (KERNEL_POWER, 120, name::HIBERNATE_TIME, Milliseconds("TotalHibernateTime"), Detail::None),
    (KERNEL_POWER, 120, name::HIBERNATE_FILE_TIME, Milliseconds("HiberHiberFileTime"), Detail::None),
    (KERNEL_POWER, 121, name::RESUME_TIME, Milliseconds("TotalResumeTime"), Detail::None),
    (KERNEL_POWER, 121, name::POWER_DRIVER_WAKE_TIME, Milliseconds("DriverWakeTime"), Detail::None),
    (KERNEL_POWER, 121, name::POWER_FIRMWARE_TIME, Milliseconds("BiosInitTime"), Detail::None),
    (KERNEL_POWER, 121, name::RESUME_APPS_TIME, Milliseconds("ResumeAppsTime"), Detail::None),
    (KERNEL_POWER, 121, name::RESUME_SERVICES_TIME, Milliseconds("ResumeServicesTime"), Detail::None),
    (KERNEL_POWER, 123, name::HYBRID_SHUTDOWN_TIME, Milliseconds("TotalHybridShutdownTime"), Detail::None),
    (KERNEL_POWER, 123, name::HYBRID_SHUTDOWN_FILE_TIME, Milliseconds("HiberfileCreateTime"), Detail::None),
    (KERNEL_PROCESSOR_POWER, 37, name::PROCESSOR_LIMITED, Seconds("CapDurationInSeconds"), Field("Number")),
    // Firmware records, passed on by the kernel in milliseconds.
    (KERNEL_POWER, 130, name::FIRMWARE_SUSPEND_BEGIN, Milliseconds("SuspendStart"), Detail::None),
    (KERNEL_POWER, 130, name::FIRMWARE_SUSPEND_END, Milliseconds("SuspendEnd"), Detail::None),
    (KERNEL_POWER, 131, name::FIRMWARE_RESUME_TIME, Milliseconds("FullResume"), Detail::None),
    (KERNEL_POWER, 131, name::FIRMWARE_RESUME_AVERAGE, Milliseconds("AverageResume"), Detail::None),
    // The resume's own account, in the System log.
    (POWER_TROUBLESHOOTER, 1, name::POWER_BEGIN_UTC, FileTime("SleepTime"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_END_UTC, FileTime("WakeTime"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_SUSPEND_TIME, Milliseconds("SleepDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_RESUME_TIME, Milliseconds("WakeDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_DRIVER_WAKE_TIME, Milliseconds("DriverInitDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_FIRMWARE_TIME, NonzeroMilliseconds("BiosInitDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_HIBERNATE_WRITE_TIME, Milliseconds("HiberWriteDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_HIBERNATE_READ_TIME, Milliseconds("HiberReadDuration"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::POWER_HIBERNATE_PAGES, Number("HiberPagesWritten"), Detail::None),
    (POWER_TROUBLESHOOTER, 1, name::WAKE_SOURCE, Nothing, Field("WakeSourceText")),
    (KERNEL_POWER, 506, name::STANDBY_ENTER, Number("Reason"), Detail::None),
    (KERNEL_POWER, 507, name::STANDBY_EXIT, Number("Reason"), Detail::None),
    (KERNEL_POWER, 507, name::STANDBY_TIME, Microseconds("DurationInUs"), Detail::None),
    (KERNEL_POWER, 507, name::STANDBY_DEEPEST_TIME, Microseconds("DripsResidencyInUs"), Detail::None),
    (KERNEL_POWER, 507, name::STANDBY_HARDWARE_TIME, Microseconds("HwDripsResidencyInUs"), Detail::None),
    (KERNEL_POWER, 507, name::STANDBY_EXIT_TIME, Microseconds("ExitLatencyInUs"), Detail::None),
];

/// Milestones that are meaningless without a value. Older versions of their events have none.
pub(super) const VALUE_REQUIRED: &[&str] = &[
    name::BOOT_TYPE,
    name::FIRMWARE,
    name::BOOT_MANAGER,
    name::BOOT_USER_INPUT,
    name::FIRMWARE_RESET_END,
    name::FIRMWARE_LOADER_LOADED,
    name::FIRMWARE_LOADER_STARTED,
    name::FIRMWARE_EXIT_BEGIN,
    name::FIRMWARE_EXIT_END,
    name::CLOCK_SET,
    name::CLOCK_SET_REASON,
    name::READ_AHEAD_TRAINING,
    name::FIRMWARE_RESUME_AVERAGE,
    name::FIRMWARE_RESUME_TIME,
    name::FIRMWARE_SUSPEND_BEGIN,
    name::FIRMWARE_SUSPEND_END,
    name::HIBERNATE_FILE_SIZE,
    name::HIBERNATE_FILE_TIME,
    name::HIBERNATE_INIT_TIME,
    name::HIBERNATE_TIME,
    name::HYBRID_BOOT_FIRMWARE,
    name::HYBRID_BOOT_MAIN_PATH,
    name::HYBRID_BOOT_RESUME,
    name::HYBRID_SHUTDOWN_FILE_TIME,
    name::HYBRID_SHUTDOWN_TIME,
    name::POWER_BEGIN_UTC,
    name::POWER_DRIVER_WAKE_TIME,
    name::POWER_END_UTC,
    name::POWER_FIRMWARE_TIME,
    name::POWER_HIBERNATE_PAGES,
    name::POWER_HIBERNATE_READ_TIME,
    name::POWER_HIBERNATE_WRITE_TIME,
    name::POWER_RESUME_TIME,
    name::POWER_SUSPEND_TIME,
    name::PROCESSOR_LIMITED,
    name::RESUME_APPS_TIME,
    name::RESUME_BOOT_MANAGER_TIME,
    name::RESUME_DEVICES_TIME,
    name::RESUME_FIRMWARE_TIME,
    name::RESUME_KERNEL_READ_TIME,
    name::RESUME_LOADER_READ_TIME,
    name::RESUME_LOADER_TIME,
    name::RESUME_SERVICES_TIME,
    name::RESUME_TIME,
    name::RESUME_USER_TIME,
    name::STANDBY_DEEPEST_TIME,
    name::STANDBY_EXIT_TIME,
    name::STANDBY_HARDWARE_TIME,
    name::STANDBY_TIME,
];

/// Events whose older versions have only some of these values, or for which some firmware omits a value.
pub(super) const VALUE_OPTIONAL: [Event; 8] = [
    (WINLOGON, 5007),
    (PERF_TRACK, 1500),
    (KERNEL_BOOT, 30),
    (KERNEL_GENERAL, 1),
    (KERNEL_POWER, 1),
    (KERNEL_POWER, 121),
    (KERNEL_POWER, 507),
    (POWER_TROUBLESHOOTER, 1),
];

/// Reads a value in the unit of its milestone.
pub(super) fn value(value: Value, event: &PhaseEvent<'_>) -> Option<i64> {
    let scaled = |field, factor| event.signed(field).and_then(|number| number.checked_mul(factor));
    match value {
        Nothing => None,
        Number(field) => event.signed(field),
        Seconds(field) => scaled(field, 1_000_000_000),
        Milliseconds(field) => scaled(field, 1_000_000),
        MillisecondsUpTo(field, limit) => {
            let limit = event.number(limit).filter(|&limit| limit > 0).unwrap_or(u64::MAX);
            event.number(field).filter(|&number| number <= limit).and_then(|_| scaled(field, 1_000_000))
        }
        NonzeroMilliseconds(field) => scaled(field, 1_000_000).filter(|&ns| ns != 0),
        Microseconds(field) => scaled(field, 1_000),
        Kibibytes(field) => scaled(field, 1_024),
        FileTime(field) => event.number(field).and_then(unix_ns),
        ClockStep => event.signed("TimeDeltaInMs").or_else(|| {
            let [new, old] = ["NewTime", "OldTime"].map(|field| event.number(field));
            let ticks = i128::from(new?) - i128::from(old?);
            i64::try_from(ticks / FILE_TIME_PER_MS).ok()
        }),
    }
}

/// `FILETIME` ticks (100 ns) per millisecond.
const FILE_TIME_PER_MS: i128 = 10_000;

/// Converts a `FILETIME` (100 ns since 1601-01-01 UTC) to nanoseconds since 1970-01-01 UTC; `None` for zero.
fn unix_ns(file_time: u64) -> Option<i64> {
    const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
    i64::try_from(file_time).ok().filter(|&ticks| ticks > 0)?.checked_sub(UNIX_EPOCH)?.checked_mul(100)
}
