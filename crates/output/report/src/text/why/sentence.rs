//! Steps of a chain as sentences.

use std::fmt::Write;

use onoff_blame::waits::{PathStep, PathThread, StepGroup, StepKind};
use onoff_evidence::Certainty;

use crate::text::printable::printable;

/// A thread and its process, e.g. `thread 44 of System (4)`.
pub(super) fn thread(thread: &PathThread) -> String {
    // The idle threads wait for nobody.
    if thread.tid == 0 {
        return "nobody known".to_owned();
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

/// A ready thread that got a processor sooner waited for nobody, ns: 50 µs. To switch takes a few of them.
const SHORT_READY_NS: i64 = 50_000;

/// What a ready thread waited for, by how long it did.
const fn ready(ns: i64) -> &'static str {
    if ns < SHORT_READY_NS { "was switched to" } else { "was ready, but no processor was free" }
}

/// Steps that are alike, as a sentence.
pub(super) fn group(group: &StepGroup) -> String {
    let who = thread(&group.thread);
    let detail = printable(&group.detail);
    let did = match (group.kind, detail.is_empty()) {
        (StepKind::Cpu, true) => "ran".to_owned(),
        (StepKind::Cpu, false) => return format!("×{} {detail}", group.count),
        (StepKind::Ready, _) => ready(group.longest_ns).to_owned(),
        (StepKind::Disk, true) => "waited for disk requests, file not known".to_owned(),
        (StepKind::Disk, false) => format!("waited for disk requests to {detail}"),
        (StepKind::Timer, true) => "waited for a timer".to_owned(),
        (StepKind::Timer, false) => format!("waited for a timer of {detail}"),
        (StepKind::Device, true) => "waited for a device, driver not known".to_owned(),
        (StepKind::Device, false) => format!("waited for deferred procedure calls of {detail}"),
        (StepKind::ServiceDependency, _) => format!("waited for the service {}", printable(&group.service)),
        (StepKind::Other, _) => format!("waited: {detail}"),
    };
    let mut text = format!("×{} {who} {did}", group.count);
    if !group.device.is_empty() {
        let _ = write!(text, ", at requests to {}", printable(&group.device));
    }
    text
}

/// What the thread of a step waited for, or did.
fn ended_by(step: &PathStep) -> String {
    let detail = printable(&step.detail);
    match (step.kind, detail.is_empty()) {
        (StepKind::Cpu, _) => "running".to_owned(),
        (StepKind::ServiceDependency, _) => match &step.service {
            Some(service) => format!("the {} of the service {}", service.change.as_str(), printable(&service.name)),
            None => detail.into_owned(),
        },
        (StepKind::Ready, _) if step.duration_ns < SHORT_READY_NS => "switched to".to_owned(),
        (StepKind::Ready, _) => "no processor was free".to_owned(),
        (StepKind::Disk, true) => "a disk request, file not known".to_owned(),
        (StepKind::Disk, false) => format!("a disk request to {detail}"),
        (StepKind::Timer, true) => "a timer".to_owned(),
        (StepKind::Timer, false) => format!("a timer of {detail}"),
        (StepKind::Device, true) => "a device, driver not known".to_owned(),
        (StepKind::Device, false) => format!("a deferred procedure call of {detail}"),
        (StepKind::Other, _) => detail.into_owned(),
    }
}

/// Who waited for whom at a step, e.g. `thread 44 → 64 → 16 → 20 of System (4) → a timer`.
pub(super) fn chain(step: &PathStep) -> String {
    let waiters: Vec<String> = step.waiters.iter().rev().map(|tid| format!("{tid} → ")).collect();
    if step.thread.tid == 0 {
        return ended_by(step);
    }
    let last = thread(&step.thread);
    let last = last.strip_prefix("thread ").unwrap_or(&last);
    format!("thread {}{last} → {}", waiters.concat(), ended_by(step))
}

/// A step as a sentence.
pub(super) fn done(step: &PathStep) -> String {
    let who = thread(&step.thread);
    let mut text = match step.kind {
        StepKind::Cpu if step.detail.is_empty() => format!("{who} ran"),
        StepKind::Cpu => printable(&step.detail).into_owned(),
        StepKind::Ready => format!("{who} {}", ready(step.duration_ns)),
        StepKind::ServiceDependency => {
            format!("{who}: {}; {}", ended_by(step), printable(&step.detail))
        }
        StepKind::Disk | StepKind::Timer | StepKind::Device => {
            format!("{who} waited for {}", ended_by(step))
        }
        StepKind::Other => format!("{who}: {}", ended_by(step)),
    };
    if let Some(tid) = step.readies_tid {
        let verb = if step.kind == StepKind::Cpu { " and made" } else { ", then made" };
        let _ = write!(text, "{verb} {tid} ready");
    }
    if !step.device.is_empty() {
        let _ = write!(text, ", at a request to {}", printable(&step.device));
    }
    if step.certainty == Certainty::Inferred {
        text.push_str(" (inferred)");
    }
    text
}
