//! Builds rows of suspend and hibernation for all readers: whole cycles, phases, sleep and wake, device callbacks.

use onoff_trace::{
    Activity, ActivityKind, PowerRequest, PowerRequestKind, PowerRequestScope, PowerStateKind, StringId, milestone,
    power_phase,
};

use super::assembly::Assembly;
use super::clocks::Clocks;

/// The start of a device callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Callback<'a> {
    pub(super) kind: PowerRequestKind,
    pub(super) driver: &'a str,
    pub(super) parent: &'a str,
    /// Set of callbacks, e.g. `noirq bus`.
    pub(super) operations: &'a str,
    /// Kind of transition, e.g. `suspend`.
    pub(super) event: &'a str,
}

/// Builds the row of a callback that begins.
pub(super) fn request(
    start_ns: i64,
    tid: u32,
    device: StringId,
    callback: &Callback<'_>,
    assembly: &mut Assembly,
) -> PowerRequest {
    let message = match (callback.operations, callback.event) {
        (operations, "") => operations.to_owned(),
        ("", event) => format!("[{event}]"),
        (operations, event) => format!("{operations} [{event}]"),
    };
    PowerRequest {
        driver: assembly.intern(callback.driver),
        parent: assembly.intern(callback.parent),
        message: assembly.intern(&message),
        event: assembly.intern("ftrace/device_pm_callback_start"),
        ..device_request(callback.kind, start_ns, tid, device)
    }
}

/// Builds the row of a runtime power management step that begins. `event` names the source record.
pub(super) fn runtime_request(
    kind: PowerRequestKind,
    start_ns: i64,
    tid: u32,
    device: StringId,
    event: StringId,
) -> PowerRequest {
    PowerRequest { event, ..device_request(kind, start_ns, tid, device) }
}

const fn device_request(kind: PowerRequestKind, start_ns: i64, tid: u32, device: StringId) -> PowerRequest {
    PowerRequest {
        kind,
        scope: PowerRequestScope::Device,
        start_ns,
        device,
        state_kind: PowerStateKind::Unknown,
        tid: Some(tid),
        ..PowerRequest::UNKNOWN
    }
}

/// Begin or end of a step, from the tracer's `suspend_resume` event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'a> {
    pub(super) time_ns: i64,
    pub(super) tid: u32,
    pub(super) action: &'a str,
    pub(super) value: i32,
    pub(super) begin: bool,
}

/// Returns the name of a sleep state, as in `/sys/power/state`, for the number in the tracer's steps
/// (`suspend_state_t`; 4, one past its last value, means hibernation).
const fn state(value: i32) -> Option<&'static str> {
    match value {
        1 => Some("freeze"),
        2 => Some("standby"),
        3 => Some("mem"),
        4 => Some("disk"),
        _ => None,
    }
}

/// Returns the kernel's `pm_verb` for `PM_EVENT_…`.
const fn event(value: i32) -> &'static str {
    match value {
        0x01 => "freeze",
        0x02 => "suspend",
        0x04 => "hibernate",
        0x08 => "quiesce",
        0x10 => "resume",
        0x20 => "thaw",
        0x40 => "restore",
        0x80 => "recover",
        _ => "",
    }
}

fn phase(action: &str) -> Option<&'static str> {
    Some(match action {
        "sync_filesystems" => power_phase::SYNC_FILE_SYSTEMS,
        "freeze_processes" => power_phase::FREEZE_PROCESSES,
        "dpm_prepare" => power_phase::DEVICES_PREPARE,
        "dpm_suspend" => power_phase::DEVICES_SUSPEND,
        "dpm_suspend_late" => power_phase::DEVICES_SUSPEND_LATE,
        "dpm_suspend_noirq" => power_phase::DEVICES_SUSPEND_NOIRQ,
        "CPU_OFF" => power_phase::PROCESSORS_OFF,
        "syscore_suspend" => power_phase::SYSTEM_CORE_OFF,
        "machine_suspend" => power_phase::MACHINE,
        "syscore_resume" => power_phase::SYSTEM_CORE_ON,
        "CPU_ON" => power_phase::PROCESSORS_ON,
        "dpm_resume_noirq" => power_phase::DEVICES_RESUME_NOIRQ,
        "dpm_resume_early" => power_phase::DEVICES_RESUME_EARLY,
        "dpm_resume" => power_phase::DEVICES_RESUME,
        "dpm_complete" => power_phase::DEVICES_COMPLETE,
        "resume_console" => power_phase::RESUME_CONSOLE,
        "thaw_processes" => power_phase::THAW_PROCESSES,
        _ => return None,
    })
}

/// A phase in progress.
#[derive(Clone, Debug)]
struct OpenPhase {
    action: String,
    start_ns: i64,
    end_ns: Option<i64>,
    tid: u32,
}

/// Tracks the tracer's steps through the cycles.
#[derive(Debug, Default)]
pub(super) struct StepTracker {
    open: Vec<OpenPhase>,
    /// CPUs go off and on one after another; together they are a single phase.
    processors: Option<OpenPhase>,
    cycle: Option<OpenCycle>,
}

#[derive(Clone, Copy, Debug)]
struct OpenCycle {
    start_ns: i64,
    last_ns: i64,
    state: Option<&'static str>,
    tid: u32,
    /// True if the machine has slept and the source of the wakeup is not yet known.
    wake_unexplained: bool,
}

const STEP: &str = "ftrace/suspend_resume";

impl StepTracker {
    pub(super) fn on_step(&mut self, step: &Step<'_>, assembly: &mut Assembly) {
        let is_cpu_step = matches!(step.action, "CPU_OFF" | "CPU_ON");
        let is_same_action = |open: &OpenPhase| open.action == step.action;
        if !self.processors.as_ref().is_none_or(is_same_action) {
            self.end_processors(assembly);
        }
        let cycle = self.cycle.get_or_insert(OpenCycle {
            start_ns: step.time_ns,
            last_ns: step.time_ns,
            state: None,
            tid: step.tid,
            wake_unexplained: false,
        });
        cycle.last_ns = step.time_ns;
        if matches!(step.action, "suspend_enter" | "machine_suspend") {
            cycle.state = state(step.value).or(cycle.state);
        }
        let detail = cycle.state.unwrap_or_default();
        if step.action == "machine_suspend" {
            let name = if step.begin { milestone::SLEEP } else { milestone::WAKE };
            cycle.wake_unexplained = !step.begin;
            assembly.add_milestone(step.time_ns, name, detail, None, STEP);
        }
        if is_cpu_step {
            let open = self.processors.get_or_insert(OpenPhase {
                action: step.action.to_owned(),
                start_ns: step.time_ns,
                end_ns: None,
                tid: step.tid,
            });
            if !step.begin {
                open.end_ns = Some(step.time_ns);
            }
        } else if step.begin {
            self.open.push(OpenPhase {
                action: step.action.to_owned(),
                start_ns: step.time_ns,
                end_ns: None,
                tid: step.tid,
            });
        } else if let Some(index) = self.open.iter().rposition(|open| open.action == step.action) {
            let open = self.open.remove(index);
            let detail = if step.action.starts_with("dpm_") { event(step.value) } else { detail };
            push_phase(&open, Some(step.time_ns), detail, assembly);
        }
        if step.action == "thaw_processes" && !step.begin {
            self.end_cycle(Some(step.time_ns), assembly);
        }
    }

    /// Records the first wakeup source that is active after a sleep as the cause of the wakeup.
    pub(super) fn on_wakeup_source(&mut self, time_ns: i64, name: &str, assembly: &mut Assembly) {
        if let Some(cycle) = self.cycle.as_mut().filter(|cycle| cycle.wake_unexplained) {
            cycle.wake_unexplained = false;
            let event = "ftrace/wakeup_source_activate";
            assembly.add_milestone(time_ns, milestone::WAKE_SOURCE, name, None, event);
        }
    }

    fn end_processors(&mut self, assembly: &mut Assembly) {
        if let Some(open) = self.processors.take() {
            push_phase(&open, open.end_ns, "", assembly);
        }
    }

    fn end_cycle(&mut self, end_ns: Option<i64>, assembly: &mut Assembly) {
        self.end_processors(assembly);
        for open in std::mem::take(&mut self.open) {
            push_phase(&open, None, "", assembly);
        }
        let Some(cycle) = self.cycle.take() else { return };
        let row = Activity {
            kind: ActivityKind::PowerTransition,
            name: assembly.intern(cycle.state.unwrap_or_default()),
            start_ns: cycle.start_ns,
            end_ns,
            pid: Some(cycle.tid),
            tid: Some(cycle.tid),
            event: assembly.intern(STEP),
            ..Activity::UNKNOWN
        };
        assembly.activities.push(row);
    }

    /// Closes the open cycle without an end.
    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        self.end_cycle(None, assembly);
    }
}

fn push_phase(open: &OpenPhase, end_ns: Option<i64>, detail: &str, assembly: &mut Assembly) {
    let Some(name) = phase(&open.action) else { return };
    let row = phase_row(name, detail, open.start_ns, end_ns, STEP, assembly);
    assembly.activities.push(Activity { pid: Some(open.tid), tid: Some(open.tid), ..row });
}

/// Builds the row of a phase.
pub(super) fn phase_row(
    name: &str,
    detail: &str,
    start_ns: i64,
    end_ns: Option<i64>,
    event: &str,
    assembly: &mut Assembly,
) -> Activity {
    Activity {
        kind: ActivityKind::PowerPhase,
        name: assembly.intern(name),
        detail: assembly.intern(detail),
        start_ns,
        end_ns,
        event: assembly.intern(event),
        ..Activity::UNKNOWN
    }
}

/// Event name of times asleep that the wall clock shows.
const WALL_CLOCK_EVENT: &str = "wall clock and monotonic clock of the journal";

/// Sets the sleep duration on the milestones of sleeps and wakes. The duration is the time that the boot clock or the
/// wall clock gained on the monotonic clock, which stops during sleep.
pub(super) fn fill_sleep_durations(clocks: &Clocks, assembly: &mut Assembly) {
    add_sleep_times(clocks, assembly);
    let (Some(sleep), Some(wake)) = (assembly.texts.find(milestone::SLEEP), assembly.texts.find(milestone::WAKE))
    else {
        return;
    };
    assembly.milestones.sort_by_key(|row| row.time_ns);
    let mut open_sleep: Option<usize> = None;
    for index in 0..assembly.milestones.len() {
        let Some(&row) = assembly.milestones.get(index) else { break };
        if row.name == sleep {
            open_sleep = Some(index);
        } else if row.name == wake {
            let Some(sleep_index) = open_sleep.take() else { continue };
            let sleep_ns = assembly.milestones.get(sleep_index).map_or(0, |row| row.time_ns);
            let slept_ns = row.value.or_else(|| clocks.slept_ns(sleep_ns, row.time_ns));
            for index in [sleep_index, index] {
                if let Some(row) = assembly.milestones.get_mut(index) {
                    row.value = row.value.or(slept_ns);
                }
            }
        }
    }
}

/// Adds the time asleep of sleeps that the log does not bound, such as a suspend-to-idle: from the last journal entry
/// before the sleep to the first entry after it.
fn add_sleep_times(clocks: &Clocks, assembly: &mut Assembly) {
    let names = [milestone::SLEEP, milestone::WAKE, milestone::POWER_SLEEP_TIME].map(|name| assembly.texts.find(name));
    let received = assembly.texts.find(power_phase::RECEIVED_EVENT);
    let is_bounded = |start_ns: i64, end_ns: i64| {
        let rows = assembly.milestones.iter().filter(|row| (start_ns..=end_ns).contains(&row.time_ns));
        rows.map(|row| Some(row.name)).any(|name| names.contains(&name))
    };
    let sleep_times: Vec<(i64, i64)> = assembly
        .activities
        .iter()
        .filter(|row| row.kind == ActivityKind::PowerTransition && Some(row.event) != received)
        .filter_map(|row| Some((row.start_ns, row.end_ns?)))
        .filter(|&(start_ns, end_ns)| !is_bounded(start_ns, end_ns))
        .filter_map(|(start_ns, end_ns)| Some((start_ns, clocks.slept_by_wall_clock_ns(start_ns, end_ns)?)))
        .collect();
    for (start_ns, slept_ns) in sleep_times {
        assembly.add_milestone(start_ns, milestone::POWER_SLEEP_TIME, "", Some(slept_ns), WALL_CLOCK_EVENT);
    }
}
