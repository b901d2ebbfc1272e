//! Reads suspend and hibernation from the kernel log.

use onoff_trace::{Activity, ActivityKind, PowerRequest, PowerRequestKind, StringId, milestone, power_phase};

use super::text_between;
use crate::assembly::Assembly;
use crate::power::{self, Callback, phase_row};

const EVENT: &str = "kernel log/PM";

/// A phase from a message that reports its end and duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedPhase<'a> {
    pub(super) name: &'static str,
    /// `suspend`, `freeze`, `resume`, …
    event: &'a str,
    duration_ns: i64,
}

/// Parses `PM: late suspend of devices complete after 5.589 msecs`.
pub(super) fn finished_phase(text: &str) -> Option<FinishedPhase<'_>> {
    let (action, duration) = text.strip_prefix("PM: ")?.split_once(" of devices complete after ")?;
    let duration_ms: f64 = duration.strip_suffix(" msecs")?.trim().parse().ok()?;
    let (stage, event) = action.rsplit_once(' ').unwrap_or(("", action));
    let is_suspend = matches!(event, "suspend" | "freeze" | "hibernate" | "quiesce");
    let is_resume = matches!(event, "resume" | "thaw" | "restore" | "recover");
    let name = match stage {
        "" if is_suspend => power_phase::DEVICES_SUSPEND,
        "late" if is_suspend => power_phase::DEVICES_SUSPEND_LATE,
        "noirq" if is_suspend => power_phase::DEVICES_SUSPEND_NOIRQ,
        "noirq" if is_resume => power_phase::DEVICES_RESUME_NOIRQ,
        "early" if is_resume => power_phase::DEVICES_RESUME_EARLY,
        "" if is_resume => power_phase::DEVICES_RESUME,
        _ => return None,
    };
    Some(FinishedPhase { name, event, duration_ns: nanoseconds(duration_ms / 1e3)? })
}

/// Parses `PM: suspend devices took 10.400 seconds`, which kernels print that test suspends.
fn tested_phase(text: &str) -> Option<FinishedPhase<'_>> {
    let (event, duration) = text.strip_prefix("PM: ")?.split_once(" devices took ")?;
    let name = match event {
        "suspend" => power_phase::DEVICES_SUSPEND,
        "resume" => power_phase::DEVICES_RESUME,
        _ => return None,
    };
    Some(FinishedPhase { name, event, duration_ns: seconds(duration, " seconds")? })
}

fn nanoseconds(seconds: f64) -> Option<i64> {
    let ns = (seconds * 1e9).round();
    (0.0..1e18).contains(&ns).then_some(ns as i64)
}

/// True for the first step of a sleep on kernels without an entry line: syncing file systems or freezing user
/// processes.
fn is_first_step(text: &str) -> bool {
    text.starts_with("PM: Syncing filesystems")
        || text.starts_with("PM: Preparing system for ")
        || text.starts_with("Freezing user space processes")
}

/// Parses a number of seconds followed by `suffix`. Returns ns.
fn seconds(text: &str, suffix: &str) -> Option<i64> {
    let number = text.get(..text.find(suffix)?)?;
    nanoseconds(number.trim().parse().ok()?)
}

/// A suspend or hibernation cycle in progress.
#[derive(Debug)]
struct Cycle {
    start_ns: i64,
    state: &'static str,
    /// `deep`, `s2idle`, …
    detail: String,
    pub phases: Vec<Activity>,
    points: Vec<(i64, &'static str, String, Option<i64>)>,
    /// Open phases: name, begin, and the time of the last message about it.
    open: Vec<(&'static str, i64, Option<i64>)>,
    callbacks: Vec<PowerRequest>,
    open_callbacks: Vec<(String, usize)>,
    /// Error code, if the cycle was aborted.
    status: Option<u32>,
    /// True if the start and the end were inferred: kernels before 4.19 log neither, so the cycle starts with the first
    /// logged step and ends when tasks restart.
    is_inferred: bool,
    /// Lines that bound the suspend and resume of devices.
    device_bounds: DeviceBounds,
    /// Time of the previous line.
    last_ns: i64,
    /// True if lines have the time at which the log received them. Nothing reads the log while tasks are frozen, so
    /// times after the first line are only upper bounds: durations in messages are valid, differences between messages
    /// are not.
    by_receipt: bool,
    /// When the processors entered suspend-to-idle, ns.
    idle_ns: Option<i64>,
    /// Index in `points` of the kernel's crash message.
    crash: Option<usize>,
}

/// Times of the lines that bound the intervals in which devices suspend and resume. Without debug messages the kernel
/// logs nothing within them.
#[derive(Clone, Copy, Debug, Default)]
struct DeviceBounds {
    tasks_frozen_ns: Option<i64>,
    platform_suspend_ns: Option<i64>,
    platform_resume_ns: Option<i64>,
    tasks_thawed_ns: Option<i64>,
}

/// Tracks the cycles in the log. Rows from the trace stay; the log adds only what the trace does not have.
#[derive(Debug)]
pub(super) struct PowerTracker {
    cycle: Option<Cycle>,
    /// True if the trace has device callbacks.
    has_callbacks: bool,
    by_receipt: bool,
    /// Index in `activities` of the last cycle.
    last_row: Option<usize>,
}

/// Maximum number of callbacks per cycle.
const MAX_CALLBACKS: usize = 1 << 20;

impl PowerTracker {
    /// Creates a tracker. `by_receipt` is true if messages have the time of receipt instead of the kernel's time.
    pub(super) fn new(by_receipt: bool, assembly: &Assembly) -> Self {
        Self { cycle: None, has_callbacks: !assembly.power_requests.is_empty(), by_receipt, last_row: None }
    }

    pub(super) fn on_message(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> bool {
        if self.cycle.is_none() && is_first_step(text) {
            self.begin(time_ns, "", "", assembly);
            if let Some(cycle) = &mut self.cycle {
                cycle.is_inferred = true;
            }
        }
        if let Some(kind) = text_between(text, "PM: suspend entry (", ")") {
            let state = match kind {
                "s2idle" => "freeze",
                "shallow" => "standby",
                _ => "mem",
            };
            self.begin(time_ns, state, kind, assembly);
            return true;
        }
        if text.ends_with("hibernation entry") && text.starts_with("PM: ") {
            self.begin(time_ns, "disk", "", assembly);
            return true;
        }
        // Image sizes are logged while the image is written and, by another kernel, while it is read.
        if image(time_ns, text, assembly).is_some() {
            return true;
        }
        // The self-test of sleeps reports an error after the end of the sleep (`kernel/power/suspend_test.c`).
        if let Some(code) = text.strip_prefix("PM: suspend test failed, error ")
            && self.cycle.is_none()
            && let Some(row) = self.last_row.and_then(|index| assembly.activities.get_mut(index))
        {
            row.status = row.status.or_else(|| code.trim().parse::<i32>().ok().map(i32::cast_unsigned));
            let (name, detail) = (milestone::POWER_ABORTED, text.trim_start_matches("PM: "));
            assembly.add_milestone(time_ns, name, detail, None, EVENT);
            return true;
        }
        let Some(cycle) = &mut self.cycle else { return false };
        if text == "PM: suspend exit" || (text.ends_with("hibernation exit") && text.starts_with("PM: ")) {
            self.end(Some(time_ns), assembly);
            return true;
        }
        if cycle.is_inferred && (text.starts_with("Restarting tasks") || text == "done.") {
            cycle.on_message(time_ns, text, assembly);
            let is_complete = text.ends_with("done.");
            cycle.last_ns = time_ns;
            if is_complete {
                self.end(Some(time_ns), assembly);
            }
            return true;
        }
        cycle.record_device_bounds(time_ns, text, assembly);
        cycle.last_ns = time_ns;
        cycle.on_message(time_ns, text, assembly)
            || (!self.has_callbacks && cycle.on_callback(time_ns, text, assembly).is_some())
    }

    fn begin(&mut self, start_ns: i64, state: &'static str, detail: &str, assembly: &mut Assembly) {
        self.end(None, assembly);
        self.cycle = Some(Cycle {
            start_ns,
            state,
            detail: detail.to_owned(),
            phases: Vec::new(),
            points: Vec::new(),
            open: Vec::new(),
            callbacks: Vec::new(),
            open_callbacks: Vec::new(),
            status: None,
            is_inferred: false,
            device_bounds: DeviceBounds::default(),
            last_ns: start_ns,
            by_receipt: self.by_receipt,
            idle_ns: None,
            crash: None,
        });
    }

    fn end(&mut self, end_ns: Option<i64>, assembly: &mut Assembly) {
        if let Some(cycle) = self.cycle.take() {
            self.last_row = cycle.finish(end_ns, assembly);
        }
    }

    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        self.end(None, assembly);
    }
}

impl Cycle {
    fn add_phase(
        &mut self,
        name: &'static str,
        detail: &str,
        start_ns: i64,
        end_ns: Option<i64>,
        assembly: &mut Assembly,
    ) {
        let row = phase_row(name, detail, start_ns, end_ns, self.event(), assembly);
        self.phases.push(row);
    }

    fn event(&self) -> &'static str {
        if self.by_receipt { power_phase::RECEIVED_EVENT } else { EVENT }
    }

    fn open(&mut self, name: &'static str, time_ns: i64) {
        if !self.by_receipt && !self.open.iter().any(|(open_name, ..)| *open_name == name) {
            self.open.push((name, time_ns, None));
        }
    }

    fn extend(&mut self, name: &'static str, time_ns: i64) {
        if let Some((.., last_ns)) = self.open.iter_mut().find(|(open_name, ..)| *open_name == name) {
            *last_ns = Some(time_ns);
        }
    }

    fn close(&mut self, name: &'static str, end_ns: Option<i64>, assembly: &mut Assembly) {
        if let Some(index) = self.open.iter().position(|(open_name, ..)| *open_name == name) {
            let (_, start_ns, last_ns) = self.open.remove(index);
            self.add_phase(name, "", start_ns, end_ns.or(last_ns), assembly);
        }
    }

    /// Records the lines that bound the device phases and the sleep of the machine.
    fn record_device_bounds(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) {
        // "ACPI: PM: Preparing …" since 5.4, "ACPI: Preparing …" before.
        let step = text.strip_prefix("ACPI: ").map(|step| step.strip_prefix("PM: ").unwrap_or(step));
        if let Some(state) = step.and_then(|step| step.strip_prefix("Preparing to enter system sleep state ")) {
            self.device_bounds.platform_suspend_ns.get_or_insert(time_ns);
            if self.state.is_empty() {
                (self.state, self.detail) = match state.trim() {
                    "S1" => ("standby", "shallow".to_owned()),
                    "S3" => ("mem", "deep".to_owned()),
                    "S4" => ("disk", String::new()),
                    _ => ("", String::new()),
                };
            }
        } else if text.starts_with("Disabling non-boot CPUs") {
            self.device_bounds.platform_suspend_ns.get_or_insert(time_ns);
        } else if step == Some("Low-level resume complete") {
            // This is the first message after the wakeup; everything before it was logged before the machine slept.
            if self.by_receipt {
                for name in [milestone::SLEEP, milestone::WAKE] {
                    self.points.push((time_ns, name, self.state.to_owned(), None));
                }
            } else {
                let last_ns = self.last_ns;
                self.add_phase(power_phase::MACHINE, "", last_ns, Some(time_ns), assembly);
            }
        } else if step.is_some_and(|step| step.starts_with("Waking up from system sleep state"))
            || (text.starts_with("CPU") && text.ends_with(" is up"))
        {
            self.device_bounds.platform_resume_ns = Some(time_ns);
        } else if text.starts_with("OOM killer enabled") || text.starts_with("Restarting tasks") {
            self.device_bounds.tasks_thawed_ns.get_or_insert(time_ns);
        } else if self.state.is_empty()
            && (text.ends_with("Preallocating image memory") || text.contains("Preallocating image memory..."))
        {
            self.state = "disk";
        }
    }

    /// Adds device phases from the bounding lines if no line reports them directly. Hibernations are excluded because
    /// they have several phases of each kind.
    fn infer_device_phases(&mut self, assembly: &mut Assembly) {
        if self.state == "disk" || self.by_receipt {
            return;
        }
        let has_any = |names: &[&str], phases: &[Activity]| {
            let names: Vec<StringId> = names.iter().filter_map(|name| assembly.texts.find(name)).collect();
            phases.iter().any(|row| names.contains(&row.name))
        };
        let suspend_phases =
            [power_phase::DEVICES_SUSPEND, power_phase::DEVICES_SUSPEND_LATE, power_phase::DEVICES_SUSPEND_NOIRQ];
        let resume_phases =
            [power_phase::DEVICES_RESUME_NOIRQ, power_phase::DEVICES_RESUME_EARLY, power_phase::DEVICES_RESUME];
        let has_suspend = has_any(&suspend_phases, &self.phases);
        let has_resume = has_any(&resume_phases, &self.phases);
        let bounds = self.device_bounds;
        for (is_known, name, start_ns, end_ns) in [
            (has_suspend, power_phase::DEVICES_SUSPEND, bounds.tasks_frozen_ns, bounds.platform_suspend_ns),
            (has_resume, power_phase::DEVICES_RESUME, bounds.platform_resume_ns, bounds.tasks_thawed_ns),
        ] {
            if let (false, Some(start_ns), Some(end_ns)) = (is_known, start_ns, end_ns)
                && start_ns < end_ns
            {
                self.add_phase(name, power_phase::ALL_STAGES, start_ns, Some(end_ns), assembly);
            }
        }
    }

    fn on_message(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> bool {
        if let Some(phase) = finished_phase(text) {
            let start_ns = time_ns.saturating_sub(phase.duration_ns);
            self.add_phase(phase.name, phase.event, start_ns, Some(time_ns), assembly);
        } else if let Some(phase) = tested_phase(text) {
            let name = assembly.intern(phase.name);
            // Kernels with more messages report the stages themselves.
            if !self.phases.iter().any(|row| row.name == name) {
                let start_ns = time_ns.saturating_sub(phase.duration_ns);
                self.add_phase(phase.name, phase.event, start_ns, Some(time_ns), assembly);
            }
        } else if let Some(duration) = text.strip_prefix("Filesystems sync: ") {
            let duration_ns = seconds(duration, " seconds").unwrap_or(0);
            let start_ns = time_ns.saturating_sub(duration_ns);
            let name = power_phase::SYNC_FILE_SYSTEMS;
            self.add_phase(name, "", start_ns, Some(time_ns), assembly);
        } else if text.starts_with("Freezing ") && !is_abort(text) {
            self.open(power_phase::FREEZE_PROCESSES, time_ns);
            let elapsed_ns = text.split_once("(elapsed ").and_then(|(_, elapsed)| seconds(elapsed, " seconds"));
            if let Some(elapsed_ns) = elapsed_ns {
                // Older kernels log begin and end in one line, with the time of the begin.
                let end_ns = if text.contains(" completed ") { time_ns } else { time_ns.saturating_add(elapsed_ns) };
                self.extend(power_phase::FREEZE_PROCESSES, end_ns);
                self.device_bounds.tasks_frozen_ns = Some(end_ns);
                if text.starts_with("Freezing remaining") {
                    self.close(power_phase::FREEZE_PROCESSES, None, assembly);
                }
            }
        } else if text.starts_with("Disabling non-boot CPUs") {
            self.open(power_phase::PROCESSORS_OFF, time_ns);
        } else if text.ends_with(" is now offline") {
            self.extend(power_phase::PROCESSORS_OFF, time_ns);
        } else if text.starts_with("Enabling non-boot CPUs") {
            self.close(power_phase::PROCESSORS_OFF, None, assembly);
            self.open(power_phase::PROCESSORS_ON, time_ns);
        } else if text.starts_with("CPU") && text.ends_with(" is up") {
            self.extend(power_phase::PROCESSORS_ON, time_ns);
        } else if text.starts_with("OOM killer enabled") {
            self.open(power_phase::THAW_PROCESSES, time_ns);
        } else if text.starts_with("Restarting tasks") || text == "done." {
            self.open(power_phase::THAW_PROCESSES, time_ns);
            if text.ends_with("done.") || text.contains("Done") {
                self.close(power_phase::THAW_PROCESSES, Some(time_ns), assembly);
            }
        } else if text.ends_with("Preallocating image memory") || text.contains("Preallocating image memory...") {
            // User processes are frozen before this step, kernel threads after it.
            self.close(power_phase::FREEZE_PROCESSES, None, assembly);
            self.open(power_phase::CREATE_IMAGE, time_ns);
        } else if text.contains("Allocated") && text.contains(" kbytes in ") {
            self.close(power_phase::CREATE_IMAGE, Some(time_ns), assembly);
        } else if let Some(duration) = text.strip_prefix("Timekeeping suspended for ") {
            let slept_ns = seconds(duration, " seconds");
            let state = self.state.to_owned();
            for name in [milestone::SLEEP, milestone::WAKE] {
                self.points.push((time_ns, name, state.clone(), slept_ns));
            }
            let name = milestone::POWER_SLEEP_TIME;
            self.points.push((time_ns, name, String::new(), slept_ns));
        } else if is_crash(text) {
            if self.crash.is_none() {
                self.crash = Some(self.points.len());
                self.points.push((time_ns, milestone::KERNEL_OOPS, text.to_owned(), None));
            }
        } else if let Some(function) = crash_function(text) {
            if let Some((_, _, detail, _)) = self.crash.and_then(|index| self.points.get_mut(index))
                && !detail.contains(" in ")
            {
                detail.push_str(" in ");
                detail.push_str(function);
            }
        } else if text == "PM: suspend-to-idle" {
            self.idle_ns.get_or_insert(time_ns);
        } else if text == "PM: resume from suspend-to-idle" {
            if let (Some(start_ns), false) = (self.idle_ns.take(), self.by_receipt) {
                self.add_phase(power_phase::MACHINE, "", start_ns, Some(time_ns), assembly);
            }
        } else if self.idle_ns.is_some()
            && (text.contains("Wakeup pending, ") || text.contains("active wakeup source: "))
        {
            // What ends a suspend-to-idle is a wakeup, which the kernel reports with the same words.
        } else if is_abort(text) {
            let text = text.strip_prefix("PM: ").unwrap_or(text);
            self.status = self.status.or_else(|| error_code(text));
            let name = milestone::POWER_ABORTED;
            self.points.push((time_ns, name, text.to_owned(), None));
        } else if let Some(irq) = text.strip_prefix("PM: Triggering wakeup from IRQ ") {
            let detail = format!("IRQ {}", irq.trim());
            self.points.push((time_ns, milestone::WAKE_SOURCE, detail, None));
        } else {
            return false;
        }
        true
    }

    /// Parses `e1000e 0000:00:10.0: PM: calling pci_pm_resume+0x0/0xe0 @ 290, parent: pci0000:00` and `e1000e
    /// 0000:00:10.0: PM: pci_pm_resume+0x0/0xe0 returned 0 after 90422 usecs`.
    fn on_callback(&mut self, time_ns: i64, text: &str, assembly: &mut Assembly) -> Option<()> {
        let (subject, action) = text.split_once(": PM: ")?;
        if let Some(call) = action.strip_prefix("calling ") {
            let (function, caller) = call.split_once(" @ ")?;
            let (tid, parent) = caller.split_once(", parent: ")?;
            let tid: u32 = tid.trim().parse().ok()?;
            let (driver, device) = subject.rsplit_once(' ').unwrap_or(("", subject));
            let (function, _) = super::function_and_module(function);
            let device = assembly.intern(device);
            let callback = Callback {
                kind: kind(function),
                driver,
                parent: if parent == "none" { "" } else { parent },
                operations: function,
                event: "",
            };
            let mut row = power::request(time_ns, tid, device, &callback, assembly);
            row.event = assembly.intern(self.event());
            if self.callbacks.len() < MAX_CALLBACKS {
                self.open_callbacks.push((format!("{subject} {function}"), self.callbacks.len()));
                self.callbacks.push(row);
            }
            return Some(());
        }
        let (function, outcome) = action.split_once(" returned ")?;
        let (result, duration) = outcome.split_once(" after ")?;
        let duration_us: i64 = duration.strip_suffix(" usecs")?.trim().parse().ok()?;
        let (function, _) = super::function_and_module(function);
        let key = format!("{subject} {function}");
        let open_index = self.open_callbacks.iter().rposition(|(open_key, _)| *open_key == key)?;
        let (_, row_index) = self.open_callbacks.remove(open_index);
        let row = self.callbacks.get_mut(row_index)?;
        row.end_ns = Some(row.start_ns.saturating_add(duration_us.checked_mul(1000)?));
        row.status = result.trim().parse::<i32>().ok().map(i32::cast_unsigned);
        Some(())
    }

    /// Adds the rows. Returns the index of the activity that spans the cycle.
    fn finish(mut self, end_ns: Option<i64>, assembly: &mut Assembly) -> Option<usize> {
        let event = self.event();
        while let Some(&(name, ..)) = self.open.first() {
            self.close(name, None, assembly);
        }
        self.infer_device_phases(assembly);
        let last_ns = end_ns.unwrap_or(i64::MAX);
        let traced = assembly.activities.iter().position(|row| {
            row.kind == ActivityKind::PowerTransition
                && row.start_ns <= last_ns
                && row.end_ns.unwrap_or(i64::MAX) >= self.start_ns
        });
        let state = assembly.texts.intern(self.state);
        let detail = assembly.texts.intern(&self.detail);
        let index = traced.unwrap_or(assembly.activities.len());
        let (begin_ns, is_traced) = match assembly.activities.get_mut(index) {
            Some(row) => {
                row.start_ns = row.start_ns.min(self.start_ns);
                // The trace ends when processes are thawed, and the log slightly later. If the log has no end, the end
                // from the trace stays.
                row.end_ns = row.end_ns.max(end_ns);
                if row.name.is_empty() {
                    row.name = state;
                }
                row.detail = detail;
                row.status = row.status.or(self.status);
                (row.start_ns, true)
            }
            None => {
                let row = Activity {
                    kind: ActivityKind::PowerTransition,
                    name: state,
                    detail,
                    start_ns: self.start_ns,
                    end_ns,
                    status: self.status,
                    event: assembly.intern(self.event()),
                    ..Activity::UNKNOWN
                };
                assembly.activities.push(row);
                (self.start_ns, false)
            }
        };
        let traced_phases: Vec<StringId> = assembly
            .activities
            .iter()
            .filter(|row| is_traced && row.kind == ActivityKind::PowerPhase)
            .filter(|row| row.start_ns >= begin_ns && row.start_ns <= last_ns)
            .map(|row| row.name)
            .collect();
        let phases = self.phases.into_iter();
        assembly.activities.extend(phases.filter(|row| !traced_phases.contains(&row.name)));
        let sleep_name = assembly.texts.find(milestone::SLEEP);
        let has_sleep = assembly
            .milestones
            .iter()
            .any(|row| Some(row.name) == sleep_name && row.time_ns >= begin_ns && row.time_ns <= last_ns);
        for (time_ns, name, detail, value) in self.points {
            let is_sleep_or_wake = name == milestone::SLEEP || name == milestone::WAKE;
            if !is_sleep_or_wake || !has_sleep {
                assembly.add_milestone(time_ns, name, &detail, value, event);
            }
        }
        assembly.power_requests.extend(self.callbacks);
        Some(index)
    }
}

/// True for the first line of a kernel crash (oops, BUG, panic). Warnings and lockups do not count.
fn is_crash(text: &str) -> bool {
    const STARTS: [&str; 9] = [
        "BUG: kernel NULL pointer",
        "BUG: unable to handle",
        "Unable to handle kernel ",
        "kernel BUG at ",
        "Kernel panic - not syncing",
        "Internal error: ",
        "Oops",
        "general protection fault",
        "Kernel BUG ",
    ];
    let text = text.strip_prefix("---[ end ").unwrap_or(text);
    STARTS.iter().any(|start| text.starts_with(start))
}

/// Returns the function in `RIP: 0010:xen_suspend+0x1/0x2`, `pc : f+0x1/0x2` or `PC is at f+0x1/0x2`.
fn crash_function(text: &str) -> Option<&str> {
    let place = ["RIP: 0010:", "RIP: e030:", "pc : ", "PC is at ", "epc : "]
        .iter()
        .find_map(|start| text.strip_prefix(start))?;
    let (function, _) = place.split_once("+0x")?;
    (!function.is_empty() && !function.contains(' ')).then_some(function)
}

/// True for messages that report why a sleep was aborted (`kernel/power/`, `drivers/base/power/`). A device that fails
/// to resume (`Device 1-1 failed to resume async: error -13`) does not abort the sleep, which is already over.
fn is_abort(text: &str) -> bool {
    let message = text.strip_prefix("PM: ").unwrap_or(text);
    let message = message.strip_prefix("hibernation: ").unwrap_or(message);
    let failed_step = message.split_once(" failed to ").map_or("", |(_, step)| step);
    if RESUME_STEPS.iter().any(|step| failed_step.starts_with(step)) {
        return false;
    }
    message.starts_with("Some devices failed to ")
        || message.starts_with("Wakeup pending, aborting")
        || message.starts_with("Freezing of tasks ")
        // Since 6.2: `Freezing user space processes failed after 20.008 seconds (1 tasks refusing to freeze, …)`.
        || message.starts_with("Freezing ") && message.contains(" tasks refusing to freeze")
        || message.ends_with(" suspend of devices failed")
        || message.starts_with("suspend test failed")
        || message.contains("active wakeup source: ")
        || message.starts_with("Image saving failed")
        // Of a hibernation whose image cannot be created or written (`kernel/power/swap.c`, `hibernate.c`).
        || message.starts_with("Cannot find swap device")
        || message.starts_with("Cannot get swap writer")
        || message.starts_with("Not enough free swap")
        || message.starts_with("Not enough free memory")
        || message.starts_with("Error ") && message.ends_with(" creating image")
        || message.contains(" of devices aborted after ")
        || (message.starts_with("Device ") && message.contains(" failed to "))
        || text.contains(": PM: failed to ")
        || text.contains(": PM: not prepared for power transition: ")
}

#[cfg(test)]
mod abort_tests {
    use super::is_abort;

    #[test]
    fn recognizes_aborts() {
        for text in [
            "PM: Some devices failed to suspend, or early wake event detected",
            "amdgpu 0000:04:00.0: PM: failed to suspend async: error -19",
            "PM: Cannot find swap device, try swapon -a",
            "PM: hibernation: Error -12 creating image",
            "PM: hibernation: Not enough free memory",
            "PM: Not enough free swap",
            "PM: noirq suspend of devices failed",
            "PM: late suspend of devices failed",
            "PM: last active wakeup source: eventpoll",
            "Freezing user space processes failed after 20.008 seconds (1 tasks refusing to freeze, wq_busy=0):",
            "Freezing of tasks failed after 20.003 seconds (1 tasks refusing to freeze, wq_busy=0):",
            "Freezing of tasks aborted after 0.001 seconds",
        ] {
            assert!(is_abort(text), "{text}");
        }
        for text in [
            "Device 1-1 failed to resume async: error -13",
            "PM: hibernation: Creating image:",
            "PM: hibernation: Basic memory bitmaps created",
            "Error -12 loading firmware",
            "Freezing user space processes completed (elapsed 0.003 seconds)",
        ] {
            assert!(!is_abort(text), "{text}");
        }
    }
}

/// Resume steps as the kernel names them in error messages (`pm_verb`).
const RESUME_STEPS: [&str; 4] = ["resume", "restore", "thaw", "recover"];

/// Parses the code in `…: error -16`.
fn error_code(text: &str) -> Option<u32> {
    let (_, number) = text.rsplit_once("error ").or_else(|| text.rsplit_once(": code "))?;
    number.trim().parse::<i32>().ok().map(i32::cast_unsigned)
}

/// Derives the kind from the function's name, which contains the callback's name: `pci_pm_suspend_noirq`.
fn kind(function: &str) -> PowerRequestKind {
    let is_resume = ["resume", "restore", "thaw", "recover"].iter().any(|word| function.contains(word));
    match (function.contains("noirq"), is_resume) {
        (true, true) => PowerRequestKind::ResumeNoIrq,
        (true, false) => PowerRequestKind::SuspendNoIrq,
        _ if function.contains("_late") => PowerRequestKind::SuspendLate,
        _ if function.contains("_early") => PowerRequestKind::ResumeEarly,
        _ if function.contains("_prepare") => PowerRequestKind::Prepare,
        _ if function.contains("_complete") => PowerRequestKind::Complete,
        (_, true) => PowerRequestKind::Resume,
        (_, false) => PowerRequestKind::Suspend,
    }
}

/// Parses `PM: hibernation: Need to copy 94948 pages`, `PM: hibernation: Wrote 392908 kbytes in 0.81 seconds (485.07
/// MB/s)`, and the same with `Read`.
fn image(time_ns: i64, text: &str, assembly: &mut Assembly) -> Option<()> {
    let text = text.strip_prefix("PM: ")?;
    let text = text.strip_prefix("hibernation: ").unwrap_or(text);
    if let Some(pages) = text_between(text, "Need to copy ", " pages") {
        let pages = pages.parse().ok()?;
        let name = milestone::POWER_HIBERNATE_PAGES;
        assembly.add_milestone(time_ns, name, "", Some(pages), EVENT);
        return Some(());
    }
    let (name, transfer) = [("Wrote ", power_phase::WRITE_IMAGE), ("Read ", power_phase::READ_IMAGE)]
        .into_iter()
        .find_map(|(word, name)| Some((name, text.strip_prefix(word)?)))?;
    let (_, duration) = transfer.split_once(" kbytes in ")?;
    let duration_ns = seconds(duration, " seconds")?;
    let start_ns = time_ns.saturating_sub(duration_ns);
    let row = phase_row(name, "", start_ns, Some(time_ns), EVENT, assembly);
    assembly.activities.push(row);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_trace::TableSet;

    /// Phase, detail, start and end, ms.
    type PhaseRow = (String, String, i64, Option<i64>);

    /// Reads log lines. Returns the phases, and the state and end of each sleep.
    fn read(lines: &[(i64, &str)]) -> (Vec<PhaseRow>, Vec<(String, Option<i64>)>) {
        let mut assembly = Assembly::new(TableSet::all());
        let mut tracker = PowerTracker::new(false, &assembly);
        for (ms, text) in lines {
            tracker.on_message(ms * 1_000_000, text, &mut assembly);
        }
        tracker.finish(&mut assembly);
        let trace = crate::unit_reconciliation::reconciled_trace(assembly);
        let ms = |ns: i64| ns / 1_000_000;
        let rows = |kind| trace.activities.iter().filter(move |row| row.kind == kind);
        let mut phases: Vec<_> = rows(ActivityKind::PowerPhase)
            .map(|row| {
                let text = |id| trace.text(id).to_owned();
                (text(row.name), text(row.detail), ms(row.start_ns), row.end_ns.map(ms))
            })
            .collect();
        phases.sort_by_key(|&(.., start, _)| start);
        let sleeps = rows(ActivityKind::PowerTransition)
            .map(|row| (trace.text(row.name).to_owned(), row.end_ns.map(ms)))
            .collect();
        (phases, sleeps)
    }

    const PLAIN: [(i64, &str); 10] = [
        (1000, "PM: suspend entry (deep)"),
        (1060, "Freezing remaining freezable tasks"),
        (1065, "Freezing remaining freezable tasks completed (elapsed 0.001 seconds)"),
        (2000, "ACPI: PM: Preparing to enter system sleep state S3"),
        (2010, "Disabling non-boot CPUs ..."),
        (2020, "ACPI: PM: Low-level resume complete"),
        (2030, "Enabling non-boot CPUs ..."),
        (2040, "ACPI: PM: Waking up from system sleep state S3"),
        (4000, "OOM killer enabled."),
        (4010, "PM: suspend exit"),
    ];

    #[test]
    fn infers_device_phases_from_bounding_lines() {
        let (phases, sleeps) = read(&PLAIN);
        assert_eq!(sleeps, [("mem".to_owned(), Some(4010))]);
        let devices: Vec<_> = phases.iter().filter(|(_, detail, ..)| detail == power_phase::ALL_STAGES).collect();
        let all = power_phase::ALL_STAGES.to_owned();
        assert_eq!(
            devices,
            [
                &("devices_suspend".to_owned(), all.clone(), 1065, Some(2000)),
                &("devices_resume".to_owned(), all, 2040, Some(4000))
            ]
        );
        assert!(phases.contains(&("machine".to_owned(), String::new(), 2010, Some(2020))));
    }

    #[test]
    fn infers_nothing_if_device_phases_are_logged() {
        let mut lines = PLAIN.to_vec();
        lines.insert(3, (1900, "PM: suspend of devices complete after 800.000 msecs"));
        lines.insert(9, (3900, "PM: resume of devices complete after 1700.000 msecs"));
        let (phases, _) = read(&lines);
        assert!(phases.iter().all(|(_, detail, ..)| detail != power_phase::ALL_STAGES), "{phases:?}");
        // Suspend-to-idle has no line for the machine's sleep, so suspend and resume cannot be separated.
        let idle = [PLAIN[0], PLAIN[1], PLAIN[2], PLAIN[8], PLAIN[9]];
        let (phases, _) = read(&idle);
        assert!(phases.iter().all(|(name, ..)| !name.starts_with("devices")), "{phases:?}");
    }

    #[test]
    fn reads_sleeps_without_entry_and_exit_lines() {
        let (phases, sleeps) = read(&[
            (1000, "PM: Syncing filesystems ... done."),
            (1060, "Freezing user space processes ... (elapsed 0.003 seconds) done."),
            (1063, "Freezing remaining freezable tasks ... (elapsed 0.001 seconds) done."),
            (2300, "PM: suspend of devices complete after 1200.000 msecs"),
            (2500, "ACPI: Preparing to enter system sleep state S3"),
            (2620, "ACPI: Low-level resume complete"),
            (2640, "ACPI: Waking up from system sleep state S3"),
            (4800, "PM: resume of devices complete after 1990.000 msecs"),
            (4900, "Restarting tasks ... done."),
            (9000, "Freezing user space processes ... (elapsed 0.003 seconds) done."),
            (9100, "Restarting tasks ... done."),
        ]);
        assert_eq!(sleeps, [("mem".to_owned(), Some(4900)), (String::new(), Some(9100))]);
        let names: Vec<&str> = phases.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names[..4], ["freeze_processes", "devices_suspend", "machine", "devices_resume"]);
    }
}
