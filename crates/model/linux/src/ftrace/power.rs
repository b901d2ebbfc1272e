//! Tracks suspend and hibernation steps, device callbacks, and runtime power management of devices.

use onoff_ftrace::{PowerEdge, RuntimePower};
use onoff_trace::{PowerRequest, PowerRequestKind, StringId};

use crate::assembly::Assembly;
use crate::power::{self, Step};

/// Open requests to devices, with their row in the assembly.
#[derive(Debug, Default)]
pub(super) struct PowerTracker {
    open: Vec<OpenRequest>,
    steps: power::StepTracker,
}

#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    kind: PowerRequestKind,
    tid: u32,
    device: StringId,
    row: usize,
}

impl OpenRequest {
    fn belongs_to(&self, tid: u32, device: StringId) -> bool {
        self.tid == tid && self.device == device
    }
}

/// Maximum number of callbacks in flight.
const MAX_IN_FLIGHT: usize = 4096;

impl PowerTracker {
    pub(super) fn on_device(
        &mut self,
        time_ns: i64,
        tid: u32,
        driver: &str,
        device: &str,
        edge: PowerEdge<'_>,
        assembly: &mut Assembly,
    ) {
        // For a device class the driver is empty.
        let device = assembly.intern(device);
        match edge {
            PowerEdge::Begin { parent, operations, event } => {
                let callback = power::Callback {
                    kind: kind(operations, event),
                    driver,
                    parent: if parent == "none" { "" } else { parent },
                    operations,
                    event,
                };
                let row = power::request(time_ns, tid, device, &callback, assembly);
                self.begin(row, tid, assembly);
            }
            PowerEdge::End { error } => {
                let matches = |open: &OpenRequest| open.belongs_to(tid, device) && !open.kind.is_runtime();
                self.end(matches, time_ns, error, assembly);
            }
        }
    }

    /// Ignores the end of a step whose begin was not traced: event filters may have removed it.
    pub(super) fn on_runtime(&mut self, time_ns: i64, tid: u32, step: RuntimePower<'_>, assembly: &mut Assembly) {
        let (kind, device, event) = match step {
            RuntimePower::Suspend(device) => (PowerRequestKind::RuntimeSuspend, device, "ftrace/rpm_suspend"),
            RuntimePower::Resume(device) => (PowerRequestKind::RuntimeResume, device, "ftrace/rpm_resume"),
            RuntimePower::Idle(device) => (PowerRequestKind::RuntimeIdle, device, "ftrace/rpm_idle"),
            RuntimePower::Return { function, device, result } => {
                let Some(kind) = runtime_kind(function) else { return };
                let device = assembly.intern(device);
                let matches = |open: &OpenRequest| open.belongs_to(tid, device) && open.kind == kind;
                self.end(matches, time_ns, result, assembly);
                return;
            }
        };
        let device = assembly.intern(device);
        let event = assembly.intern(event);
        let row = power::runtime_request(kind, time_ns, tid, device, event);
        // A thread runs a step of a device only once at a time, so the end of the previous one was not recorded.
        self.open.retain(|open| !(open.belongs_to(tid, device) && open.kind == kind));
        self.begin(row, tid, assembly);
    }

    fn begin(&mut self, row: PowerRequest, tid: u32, assembly: &mut Assembly) {
        if self.open.len() >= MAX_IN_FLIGHT {
            self.open.remove(0);
        }
        self.open.push(OpenRequest { kind: row.kind, tid, device: row.device, row: assembly.power_requests.len() });
        assembly.power_requests.push(row);
    }

    /// Ends the latest open request that `matches`.
    fn end(&mut self, matches: impl Fn(&OpenRequest) -> bool, time_ns: i64, error: i32, assembly: &mut Assembly) {
        let Some(index) = self.open.iter().rposition(matches) else { return };
        let open = self.open.remove(index);
        if let Some(row) = assembly.power_requests.get_mut(open.row) {
            row.end_ns = Some(time_ns);
            row.status = Some(error.cast_unsigned());
        }
    }

    pub(super) fn on_step(
        &mut self,
        time_ns: i64,
        tid: u32,
        action: &str,
        value: i32,
        begin: bool,
        assembly: &mut Assembly,
    ) {
        let step = Step { time_ns, tid, action, value, begin };
        self.steps.on_step(&step, assembly);
    }

    pub(super) fn on_wakeup_source(&mut self, time_ns: i64, name: &str, assembly: &mut Assembly) {
        self.steps.on_wakeup_source(time_ns, name, assembly);
    }

    pub(super) fn finish(self, assembly: &mut Assembly) {
        self.steps.finish(assembly);
    }
}

/// Maps a kernel function to a runtime power management step.
fn runtime_kind(function: &str) -> Option<PowerRequestKind> {
    match function {
        "rpm_suspend" => Some(PowerRequestKind::RuntimeSuspend),
        "rpm_resume" => Some(PowerRequestKind::RuntimeResume),
        "rpm_idle" => Some(PowerRequestKind::RuntimeIdle),
        _ => None,
    }
}

/// Determines the kind of a callback. `dpm_prepare` and `dpm_complete` callbacks have no stage name.
fn kind(operations: &str, event: &str) -> PowerRequestKind {
    let is_suspend = matches!(event, "suspend" | "freeze" | "hibernate" | "quiesce");
    let stage = operations.split(' ').next().unwrap_or_default();
    match (stage, is_suspend) {
        ("", true) => PowerRequestKind::Prepare,
        ("", false) => PowerRequestKind::Complete,
        ("noirq", true) => PowerRequestKind::SuspendNoIrq,
        ("noirq", false) => PowerRequestKind::ResumeNoIrq,
        ("late", _) => PowerRequestKind::SuspendLate,
        ("early", _) => PowerRequestKind::ResumeEarly,
        (_, true) => PowerRequestKind::Suspend,
        (_, false) => PowerRequestKind::Resume,
    }
}
