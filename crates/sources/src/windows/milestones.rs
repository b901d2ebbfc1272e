//! Points in time with a meaning for a transition.

use onoff_etw::kernel::Mark;
use onoff_trace::milestone as name;
use onoff_trace::{Milestone, Milestones, StringId};

use super::phase_events::{
    KERNEL_BOOT, KERNEL_GENERAL, KERNEL_PNP, PERF_TRACK, PhaseEvent, Provider, READY_BOOST,
    SERVICES, SHELL_CORE, WINLOGON,
};
use super::texts::Texts;

#[derive(Debug, Default)]
pub(super) struct MilestoneTracker {
    rows: Vec<Milestone>,
    shell_command: StringId,
}

/// The quantity that an event carries.
#[derive(Clone, Copy)]
enum Value {
    Nothing,
    /// A field as it is.
    Number(&'static str),
    /// A field in milliseconds, for a milestone in nanoseconds.
    Milliseconds(&'static str),
}

use Value::{Milliseconds, Nothing, Number};

/// Event, milestone, quantity, field of the detail.
type Rule = (Provider, u16, &'static str, Value, &'static str);

const RULES: &[Rule] = &[
    (KERNEL_PNP, 200, name::BOOT_START_BEGIN, Nothing, ""),
    (KERNEL_PNP, 201, name::BOOT_START_END, Nothing, ""),
    (KERNEL_PNP, 202, name::SYSTEM_START_BEGIN, Nothing, ""),
    (KERNEL_PNP, 203, name::SYSTEM_START_END, Nothing, ""),
    // The boot environment's times: milliseconds by the readers that publish them; no manifest states the unit.
    (
        KERNEL_BOOT,
        7,
        name::BOOT_MANAGER,
        Milliseconds("BootmgrTime"),
        "",
    ),
    (
        KERNEL_BOOT,
        11,
        name::FIRMWARE,
        Milliseconds("PreBootMgrTime"),
        "",
    ),
    (
        KERNEL_BOOT,
        32,
        name::BOOT_USER_INPUT,
        Milliseconds("BitlockerUserInputTime"),
        "",
    ),
    (
        KERNEL_BOOT,
        27,
        name::BOOT_TYPE,
        Number("BootType"),
        "LoadOptions",
    ),
    (
        KERNEL_BOOT,
        30,
        name::FIRMWARE_RESET_END,
        Number("ResetEndStart"),
        "",
    ),
    (
        KERNEL_BOOT,
        30,
        name::FIRMWARE_LOADER_LOADED,
        Number("LoadOSImageStart"),
        "",
    ),
    (
        KERNEL_BOOT,
        30,
        name::FIRMWARE_LOADER_STARTED,
        Number("StartOSImageStart"),
        "",
    ),
    (
        KERNEL_BOOT,
        30,
        name::FIRMWARE_EXIT_BEGIN,
        Number("ExitBootServicesEntry"),
        "",
    ),
    (
        KERNEL_BOOT,
        30,
        name::FIRMWARE_EXIT_END,
        Number("ExitBootServicesExit"),
        "",
    ),
    (
        KERNEL_GENERAL,
        1,
        name::CLOCK_SET,
        Number("TimeDeltaInMs"),
        "ProcessName",
    ),
    (
        KERNEL_GENERAL,
        12,
        name::SYSTEM_START,
        Number("BootMode"),
        "",
    ),
    (KERNEL_GENERAL, 13, name::SYSTEM_STOP, Nothing, ""),
    (
        READY_BOOST,
        1024,
        name::READ_AHEAD_TRAINING,
        Number("RB_HistoryCount"),
        "",
    ),
    (WINLOGON, 5001, name::USER_BOOT_BEGIN, Nothing, "SessionId"),
    (WINLOGON, 5002, name::USER_BOOT_END, Nothing, ""),
    (
        WINLOGON,
        5007,
        name::SYSTEM_BOOT_END,
        Number("ReadyBootTrainingCountSinceLastServicing"),
        "SessionId",
    ),
    (
        WINLOGON,
        5007,
        name::READ_AHEAD_TRAINING,
        Number("ReadyBootTrainingCountSinceLastServicing"),
        "",
    ),
    (SERVICES, 101, name::AUTO_START_BEGIN, Nothing, ""),
    (SERVICES, 102, name::AUTO_START_END, Nothing, ""),
    (
        SHELL_CORE,
        9601,
        name::SHELL_INITIALISATION_BEGIN,
        Nothing,
        "",
    ),
    (
        SHELL_CORE,
        9602,
        name::SHELL_INITIALISATION_END,
        Nothing,
        "",
    ),
    (SHELL_CORE, 27230, name::DESKTOP_READY_BEGIN, Nothing, ""),
    (SHELL_CORE, 27231, name::DESKTOP_READY, Nothing, ""),
    // Windows 7 numbers the idle detection one hundred lower.
    (PERF_TRACK, 1000, name::IDLE_DETECTION_BEGIN, Nothing, ""),
    (PERF_TRACK, 1003, name::IDLE_DETECTION_END, Nothing, ""),
    (PERF_TRACK, 1100, name::IDLE_DETECTION_BEGIN, Nothing, ""),
    (PERF_TRACK, 1103, name::IDLE_DETECTION_END, Nothing, ""),
    (
        PERF_TRACK,
        1500,
        name::READ_AHEAD_TRAINING,
        Number("ReadyBootTrainingCountSinceLastServicing"),
        "",
    ),
];

/// Milestones that say nothing without their quantity, which older versions of their events lack.
const NEED_VALUE: [&str; 11] = [
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
    name::READ_AHEAD_TRAINING,
];

impl MilestoneTracker {
    /// A mark that somebody set while recording.
    pub(super) fn on_mark(
        &mut self,
        time_ns: i64,
        pid: Option<u32>,
        mark: &Mark<'_>,
        texts: &mut Texts,
    ) {
        self.rows.push(Milestone {
            time_ns,
            name: texts.str(name::MARK),
            detail: texts.ansi(mark.message),
            value: None,
            pid,
            event: texts.str("PerfInfo/Mark"),
        });
    }

    /// Takes a phase event; `None` when it lacks a field it needs.
    pub(super) fn on_event(
        &mut self,
        event: &PhaseEvent<'_>,
        processor_mhz: u32,
        texts: &mut Texts,
    ) -> Option<()> {
        if event.is(KERNEL_PNP, 204) {
            let value = os_loader_ns(event, processor_mhz)?;
            self.push(event, name::OS_LOADER, StringId::EMPTY, Some(value), texts);
            return Some(());
        }
        // The command list names what the launch that follows launches.
        if event.is(WINLOGON, 9) {
            self.shell_command = event.text("CommandList", texts).unwrap_or_default();
            return Some(());
        }
        if event.is(WINLOGON, 5005) {
            let command = self.shell_command;
            self.push(event, name::SHELL_LAUNCH, command, None, texts);
            return Some(());
        }
        let mut readable = Some(());
        for &(provider, id, milestone, value, detail) in RULES {
            if !event.is(provider, id) {
                continue;
            }
            let value = match value {
                Nothing => None,
                Number(field) => event.signed(field),
                Milliseconds(field) => event
                    .signed(field)
                    .and_then(|milliseconds| milliseconds.checked_mul(1_000_000)),
            };
            if value.is_none() && NEED_VALUE.contains(&milestone) {
                // Winlogon 5007 has learnt to tell the training count in its second version.
                if !event.is(WINLOGON, 5007) && !event.is(PERF_TRACK, 1500) {
                    readable = None;
                }
                continue;
            }
            let detail = event.text(detail, texts).unwrap_or_default();
            self.push(event, milestone, detail, value, texts);
        }
        readable
    }

    fn push(
        &mut self,
        event: &PhaseEvent<'_>,
        milestone: &str,
        detail: StringId,
        value: Option<i64>,
        texts: &mut Texts,
    ) {
        self.rows.push(Milestone {
            time_ns: event.time_ns(),
            name: texts.str(milestone),
            detail,
            value,
            pid: event.record.process_id(),
            event: event.label(texts),
        });
    }

    /// The table, by time.
    pub(super) fn finish(mut self) -> Milestones {
        self.rows.sort_by_key(|row| row.time_ns);
        self.rows.into_iter().collect()
    }
}

/// The loader's begin and end are readings of the processor's time-stamp counter, whose rate the newest version of the
/// event states and which otherwise is the processor's nominal speed.
fn os_loader_ns(event: &PhaseEvent<'_>, processor_mhz: u32) -> Option<i64> {
    let start = event.number("OSLoaderStart")?;
    let end = event.number("OSLoaderEnd")?;
    let ticks = u128::from(end.checked_sub(start)?);
    let per_second = match event.number("PerformanceDataFrequency") {
        Some(frequency) if frequency > 0 => u128::from(frequency),
        _ => u128::from(processor_mhz) * 1_000_000,
    };
    let ns = (ticks * 1_000_000_000).checked_div(per_second)?;
    i64::try_from(ns).ok()
}
