//! Suspend and hibernation: their steps and the devices' callbacks.

use onoff_ftrace::PowerEdge;
use onoff_trace::PowerRequestKind;

use crate::linux::assembly::Assembly;
use crate::linux::power::{self, Step};

/// Callbacks that are open, and the row each has in the assembly.
#[derive(Debug, Default)]
pub(super) struct PowerTracker {
    open: Vec<Open>,
    steps: power::Steps,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    tid: u32,
    device: onoff_trace::StringId,
    row: usize,
}

/// More callbacks under way than a kernel has threads for.
const MOST_OPEN: usize = 4096;

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
        // A class of devices is a driver without a name of its own.
        let device = assembly.text(device);
        match edge {
            PowerEdge::Begin {
                parent,
                operations,
                event,
            } => {
                let row = power::Callback {
                    kind: kind(operations, event),
                    driver,
                    parent: if parent == "none" { "" } else { parent },
                    operations,
                    event,
                };
                let row = power::request(time_ns, tid, device, &row, assembly);
                if self.open.len() >= MOST_OPEN {
                    self.open.remove(0);
                }
                self.open.push(Open {
                    tid,
                    device,
                    row: assembly.power_requests.len(),
                });
                assembly.power_requests.push(row);
            }
            PowerEdge::End { error } => {
                let at = self
                    .open
                    .iter()
                    .rposition(|open| open.tid == tid && open.device == device);
                if let Some(at) = at {
                    let open = self.open.swap_remove(at);
                    if let Some(row) = assembly.power_requests.get_mut(open.row) {
                        row.end_ns = Some(time_ns);
                        row.status = Some(error.cast_unsigned());
                    }
                }
            }
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
        let step = Step {
            time_ns,
            tid,
            action,
            value,
            begin,
        };
        self.steps.on_step(&step, assembly);
    }

    pub(super) fn on_wakeup_source(&mut self, time_ns: i64, name: &str, assembly: &mut Assembly) {
        self.steps.on_wakeup_source(time_ns, name, assembly);
    }

    pub(super) fn finish(self, assembly: &mut Assembly) {
        self.steps.finish(assembly);
    }
}

/// `dpm_prepare` and `dpm_complete` call back without naming a set of callbacks.
fn kind(operations: &str, event: &str) -> PowerRequestKind {
    let down = matches!(event, "suspend" | "freeze" | "hibernate" | "quiesce");
    let stage = operations.split(' ').next().unwrap_or_default();
    match (stage, down) {
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
