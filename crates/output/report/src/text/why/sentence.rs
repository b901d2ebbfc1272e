//! Steps of a critical path as sentences.

use std::fmt::Write;

use onoff_blame::waits::{PathStep, PathThread, StepGroup, StepKind};
use onoff_evidence::Certainty;

use crate::text::printable::printable;

/// Names a thread with its process: `thread 44 of System (4)`.
pub(super) fn thread(thread: &PathThread) -> String {
    // Id 0 belongs to the idle threads.
    if thread.tid == 0 {
        return "an unknown thread".to_owned();
    }
    let mut text = match thread.name.as_str() {
        "" => format!("thread {}", thread.tid),
        name => format!("thread {} ({})", thread.tid, printable(name)),
    };
    let process = printable(&thread.process);
    let _ = match (process.is_empty(), thread.pid) {
        (true, None) => Ok(()),
        (true, Some(pid)) => write!(text, " of process {pid}"),
        (false, None) => write!(text, " of {process}"),
        (false, Some(pid)) if thread.services.is_empty() => write!(text, " of {process} ({pid})"),
        (false, Some(pid)) => write!(text, " of {process} ({pid}: {})", printable(&thread.services.join(", "))),
    };
    text
}

/// A thread that is ready for less than this waits only for the context switch, in ns: 50 µs.
const SHORT_READY_NS: i64 = 50_000;

/// Says what a ready thread waited for.
const fn ready_reason(ns: i64) -> &'static str {
    if ns < SHORT_READY_NS { "was being switched in" } else { "was ready, but no CPU was free" }
}

/// Describes a group of similar steps in a sentence.
pub(super) fn group(group: &StepGroup) -> String {
    let thread_name = thread(&group.thread);
    let detail = printable(&group.detail);
    let action = match (group.kind, detail.is_empty()) {
        (StepKind::Cpu, true) => "ran".to_owned(),
        (StepKind::Cpu, false) => return format!("×{} {detail}", group.count),
        (StepKind::Ready, _) => ready_reason(group.longest_ns).to_owned(),
        (StepKind::Disk, true) => "waited for disk requests (unknown file)".to_owned(),
        (StepKind::Disk, false) => format!("waited for disk requests to {detail}"),
        (StepKind::Timer, true) => "waited for a timer".to_owned(),
        (StepKind::Timer, false) => format!("waited for a timer of {detail}"),
        (StepKind::Device, true) => "waited for a device (unknown driver)".to_owned(),
        (StepKind::Device, false) => format!("waited for DPCs of {detail}"),
        (StepKind::ServiceDependency, _) => format!("waited for service {}", printable(&group.service)),
        (StepKind::Other, _) => format!("waited: {detail}"),
    };
    let mut text = format!("×{} {thread_name} {action}", group.count);
    if !group.device.is_empty() {
        let _ = write!(text, ", in requests to {}", printable(&group.device));
    }
    text
}

/// Says what the thread of a step waited for; for a running or ready thread, names its state.
fn target(step: &PathStep) -> String {
    let detail = printable(&step.detail);
    match (step.kind, detail.is_empty()) {
        (StepKind::Cpu, _) => "was running".to_owned(),
        (StepKind::ServiceDependency, _) => match &step.service {
            Some(service) => format!("the {} of service {}", service.change.as_str(), printable(&service.name)),
            None => detail.into_owned(),
        },
        (StepKind::Ready, _) => ready_reason(step.duration_ns).to_owned(),
        (StepKind::Disk, true) => "a disk request (unknown file)".to_owned(),
        (StepKind::Disk, false) => format!("a disk request to {detail}"),
        (StepKind::Timer, true) => "a timer".to_owned(),
        (StepKind::Timer, false) => format!("a timer of {detail}"),
        (StepKind::Device, true) => "a device (unknown driver)".to_owned(),
        (StepKind::Device, false) => format!("a DPC of {detail}"),
        (StepKind::Other, _) => detail.into_owned(),
    }
}

/// Describes the chain of waiting threads at a step: `thread 44 → 64 → 16 → 20 of System (4) waited for a timer`.
pub(super) fn chain(step: &PathStep) -> String {
    let waiters: Vec<String> = step.waiters.iter().rev().map(|tid| format!("{tid} → ")).collect();
    if step.thread.tid == 0 {
        return target(step);
    }
    let last_thread = thread(&step.thread);
    let last_thread = last_thread.strip_prefix("thread ").unwrap_or(&last_thread);
    let state = match step.kind {
        StepKind::Cpu | StepKind::Ready => format!(" {}", target(step)),
        StepKind::Disk | StepKind::Timer | StepKind::Device | StepKind::ServiceDependency => {
            format!(" waited for {}", target(step))
        }
        StepKind::Other => format!(": {}", target(step)),
    };
    format!("thread {}{last_thread}{state}", waiters.concat())
}

/// Describes a step in a sentence.
pub(super) fn step_sentence(step: &PathStep) -> String {
    let thread_name = thread(&step.thread);
    let mut text = match step.kind {
        StepKind::Cpu if step.detail.is_empty() => format!("{thread_name} ran"),
        StepKind::Cpu => printable(&step.detail).into_owned(),
        StepKind::Ready => format!("{thread_name} {}", ready_reason(step.duration_ns)),
        StepKind::ServiceDependency => {
            format!("{thread_name} waited for {}; {}", target(step), printable(&step.detail))
        }
        StepKind::Disk | StepKind::Timer | StepKind::Device => {
            format!("{thread_name} waited for {}", target(step))
        }
        StepKind::Other => format!("{thread_name}: {}", target(step)),
    };
    if let Some(tid) = step.readies_tid {
        let verb = if step.kind == StepKind::Cpu { " and readied" } else { ", then readied" };
        let _ = write!(text, "{verb} thread {tid}");
    }
    if !step.device.is_empty() {
        let _ = write!(text, ", in a request to {}", printable(&step.device));
    }
    if step.certainty == Certainty::Inferred {
        text.push_str(" (inferred)");
    }
    text
}
