//! What the recording does not say of the boot, and the part that would.

use onoff_trace::{ServiceChange, Trace};

use super::phases::Course;
use crate::cpu::CpuSource;
use crate::idle::Settling;
use crate::lacking::Lacking;
use crate::transition::MissingEvidence;
use crate::units::declared_order::Starts;

/// The record that unit properties name; messages are to some milliseconds.
const PROPERTIES: &str = "systemd unit properties";

pub(super) fn lacking(trace: &Trace, course: &Course, starts: &Starts<'_>, post_boot: &Settling) -> Lacking {
    let mut missing = Vec::new();
    let mut add = |part: &str, unknown: &str, record: &str| {
        missing.push(MissingEvidence::of_part(part, unknown, record));
    };
    if course.user_space.time_ns.is_none() || !course.finished.missing.is_empty() {
        add(
            "the service manager's account of the start",
            "when the parts of the start began and ended",
            "systemctl show > manager.txt",
        );
    }
    let started = || trace.service_transitions.iter().filter(|row| row.kind == ServiceChange::Start);
    if started().next().is_none() {
        add(
            "unit properties and the journal",
            "which units were started, and how long each took",
            "systemctl show '*' > units.txt",
        );
    } else if !started().any(|row| trace.text(row.event) == PROPERTIES) {
        // What systemd-analyze prints has the manager's own times.
        let of_the_manager = started().all(|row| trace.text(row.event).starts_with("systemd-analyze"));
        let unknown = if of_the_manager {
            "the other units, and which starts failed"
        } else {
            "the exact times of units: those of messages stand in for them"
        };
        add("unit properties", unknown, "systemctl show '*' > units.txt");
    }
    if started().next().is_some() && !starts.has_dependencies() {
        add("dependencies of units", "which unit waited for which", "systemctl show '*' > units.txt");
    }
    if course.firmware.time_ns.is_none() {
        add(
            "the loader's EFI variables",
            "how long firmware and loader took",
            "a loader that sets LoaderTimeInitUSec and LoaderTimeExecUSec (systemd-boot) and systemctl show > manager.txt",
        );
    }
    if post_boot.cpu_source == CpuSource::None {
        add(
            "a trace (sched_switch)",
            "who used the processors, and when the computer settled",
            "trace_event=sched:sched_switch,sched:sched_waking,block on the kernel's command line, then cat /sys/kernel/tracing/trace > trace.txt",
        );
    } else if !post_boot.disk_recorded {
        add(
            "disk requests (block_rq_issue, block_rq_complete)",
            "what the disks did",
            "trace_event=block on the kernel's command line",
        );
    }
    if trace.device_operations.is_empty() {
        add(
            "initialisation functions and probes",
            "what each driver took",
            "initcall_debug on the kernel's command line, then dmesg > dmesg.txt",
        );
    }
    Lacking::of(missing)
}
