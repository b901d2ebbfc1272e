//! What ended a wait: another thread, a timer, a disk completion, or a driver's DPC.

use hashbrown::HashMap;
use onoff_trace::{Interrupt, InterruptKind, Lifetimes, StringId, ThreadKey, Trace};

use super::reason;
use super::timelines::{IN_INTERRUPT, ThreadSwitch, Timelines, WakeUp};
use onoff_evidence::Certainty;
use onoff_usage::modules::Modules;
use onoff_usage::owners::file_name;

/// Maximum time from a disk completion until its thread is readied, ns: 1 ms. Completion routines of filter drivers run
/// in between.
const MAX_COMPLETION_DELAY_NS: i64 = 1_000_000;
/// Maximum time from the end of a routine until a wake-up that it caused on the same processor, ns: 10 µs. Wake-ups
/// requested by a routine are carried out after it returns.
const MAX_WAKE_DELAY_NS: i64 = 10_000;
/// Maximum time from a wake-up until the end of a routine that covers it, ns: 100 ms.
const MAX_ROUTINE_NS: i64 = 100_000_000;
/// Maximum number of routines examined for one wake-up.
const MAX_ROUTINES: usize = 512;

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A thread: what it did until then explains the wait.
    Thread(u32),
    /// Row of a disk request.
    Disk(u32),
    /// A timer, with the driver if it has its own timer routine.
    Timer(StringId),
    /// Interrupt or DPC of a driver.
    Device(StringId),
    Unknown(UnknownCause),
}

/// Why the cause of a wait is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum UnknownCause {
    /// The wait had not ended when the recording did.
    Unfinished,
    /// No ready-thread event was recorded for the end of the wait.
    NoReadyEvent,
    /// An interrupt ended the wait, and interrupt routines were not recorded.
    Interrupt,
    /// The thread has no earlier event.
    NoEvents,
    /// The chain returned to a thread that waits for it.
    Cycle,
    TooLong,
    BeforeRecording,
    /// The thread's creator is unknown.
    UnknownCreator,
    /// The thread had already ended, so what follows is not its work.
    Exited,
    /// No thread is known to have run at the end of the interval.
    NoSwitches,
    NoServiceThread,
    /// The machine was asleep: nothing ran.
    Asleep,
}

/// Index of the wake-up sources other than threads.
#[derive(Debug)]
pub(super) struct Causes<'t> {
    trace: &'t Trace,
    modules: Modules,
    /// Disk requests of each thread, sorted by completion.
    disk_by_thread: HashMap<ThreadKey, Vec<u32>>,
    lives: Lifetimes,
    marks_interrupts: bool,
    /// Latest end in each chunk of the interrupt table and all chunks before it.
    chunk_ends: Vec<i64>,
}

impl<'t> Causes<'t> {
    pub(super) fn new(timelines: &Timelines<'t>) -> Self {
        let trace = timelines.trace();
        let lives = trace.lifetimes();
        let mut disk_by_thread: HashMap<ThreadKey, Vec<u32>> = HashMap::new();
        for (row, request) in (0_u32..).zip(trace.disk_ios.iter()) {
            if let Some(tid) = request.tid {
                // The thread that issued it, even if it completes after that thread ended.
                let served_ns = request.complete_ns.saturating_sub(request.service_ns.max(0));
                let key = lives.key(tid, request.issue_ns.unwrap_or(served_ns).min(served_ns));
                disk_by_thread.entry(key).or_default().push(row);
            }
        }
        let mut latest = i64::MIN;
        let chunk_ends = trace
            .interrupts
            .chunks()
            .iter()
            .map(|chunk| {
                latest = latest.max(chunk.end_ns.last().copied().unwrap_or(i64::MIN));
                latest
            })
            .collect();
        Self {
            trace,
            modules: Modules::from_trace(trace),
            disk_by_thread,
            lives,
            marks_interrupts: timelines.marks_interrupts(),
            chunk_ends,
        }
    }

    pub(super) const fn modules(&self) -> &Modules {
        &self.modules
    }

    /// Returns what ended the wait that began with switch `out` and ended when the thread was made ready. `ready` is
    /// `None` if that was not recorded; the wait then lasted until `end_ns`.
    pub(super) fn wait_cause(&self, out: &ThreadSwitch<'_>, ready: Option<&WakeUp>, end_ns: i64) -> (Cause, Certainty) {
        let tid = out.old_tid();
        if reason::is_sleep(out.old_wait_reason()) {
            return (Cause::Timer(StringId::EMPTY), Certainty::Measured);
        }
        let Some(ready) = ready else {
            return match self.last_request(tid, out.time_ns, end_ns) {
                Some(row) => (Cause::Disk(row), Certainty::Inferred),
                None => (Cause::Unknown(UnknownCause::NoReadyEvent), Certainty::Missing),
            };
        };
        let routine = self.routine_at(ready.cpu, ready.time_ns);
        let is_marked = ready.flags & IN_INTERRUPT != 0;
        // With a coarse clock a routine can have zero length and does not reliably cover events at its time. Interrupt
        // marks decide instead.
        let is_instantaneous = |routine: &Interrupt| self.marks_interrupts && routine.start_ns == routine.end_ns;
        let is_covered = routine.is_some_and(|routine| routine.end_ns >= ready.time_ns && !is_instantaneous(&routine));
        let readying_tid = ready
            .readying_tid
            .filter(|&readying_tid| readying_tid != 0 && readying_tid != tid && !is_marked && !is_covered);
        if let Some(readying_tid) = readying_tid {
            // Without marks, the readying thread may be the one that a completion interrupted.
            let may_be_completion =
                !self.marks_interrupts || routine.is_some_and(|routine| !is_instantaneous(&routine));
            return match self.last_request(tid, out.time_ns, ready.time_ns) {
                Some(row) if may_be_completion => (Cause::Disk(row), Certainty::Inferred),
                _ if self.marks_interrupts => (Cause::Thread(readying_tid), Certainty::Measured),
                _ => (Cause::Thread(readying_tid), Certainty::Inferred),
            };
        }
        if let Some(row) = self.last_request(tid, out.time_ns, ready.time_ns) {
            return (Cause::Disk(row), Certainty::Measured);
        }
        match routine {
            Some(routine) => self.routine_cause(&routine, out.time_ns, ready.time_ns),
            // Timers expire inside the clock interrupt, for which no routine is recorded.
            None if !self.trace.interrupts.is_empty() => (Cause::Timer(StringId::EMPTY), Certainty::Inferred),
            None => (Cause::Unknown(UnknownCause::Interrupt), Certainty::Missing),
        }
    }

    fn routine_cause(&self, routine: &Interrupt, out_ns: i64, ready_ns: i64) -> (Cause, Certainty) {
        let name = self.driver_of(routine);
        let text = self.trace.text(name);
        // The kernel's timer softirqs belong to no driver.
        if matches!(text, "TIMER" | "HRTIMER") {
            return (Cause::Timer(StringId::EMPTY), Certainty::Measured);
        }
        if routine.kind == InterruptKind::TimerDpc {
            return (Cause::Timer(name), Certainty::Measured);
        }
        // A request issued by another thread on behalf of this one completes in the routine.
        let begin = routine.start_ns.saturating_sub(MAX_WAKE_DELAY_NS);
        if let Some(row) = self.request_between(begin.max(out_ns), ready_ns) {
            return (Cause::Disk(row), Certainty::Inferred);
        }
        if is_kernel(text) {
            return (Cause::Timer(StringId::EMPTY), Certainty::Inferred);
        }
        (Cause::Device(name), Certainty::Measured)
    }

    /// Returns the driver of an interrupt: its module, or the handler name if recorded.
    fn driver_of(&self, routine: &Interrupt) -> StringId {
        if routine.name != StringId::EMPTY {
            return routine.name;
        }
        self.modules.path_at(0, routine.routine, routine.end_ns).unwrap_or(StringId::EMPTY)
    }

    /// Returns the last request of `tid` that completed during the wait and close to its end.
    fn last_request(&self, tid: u32, out_ns: i64, end_ns: i64) -> Option<u32> {
        let rows = self.disk_by_thread.get(&self.lives.key(tid, out_ns))?;
        let complete_ns = |row: u32| self.complete_ns(row);
        let end_index = rows.partition_point(|&row| complete_ns(row) <= end_ns);
        let row = *rows.get(end_index.checked_sub(1)?)?;
        let completed_ns = complete_ns(row);
        (completed_ns > out_ns && end_ns.saturating_sub(completed_ns) <= MAX_COMPLETION_DELAY_NS).then_some(row)
    }

    fn request_between(&self, from_ns: i64, until_ns: i64) -> Option<u32> {
        let times = &self.trace.disk_ios.complete_ns;
        let row = times.partition_point(|&time| time <= until_ns).checked_sub(1)?;
        (*times.get(row)? >= from_ns).then_some(u32::try_from(row).ok()?)
    }

    fn complete_ns(&self, row: u32) -> i64 {
        let times = &self.trace.disk_ios.complete_ns;
        times.get(row as usize).copied().unwrap_or(i64::MAX)
    }

    /// Returns the innermost routine running on `cpu` at `time_ns`, otherwise one that had just ended there.
    fn routine_at(&self, cpu: u16, time_ns: i64) -> Option<Interrupt> {
        let from = time_ns.saturating_sub(MAX_WAKE_DELAY_NS);
        let first = self.chunk_ends.partition_point(|&end| end < from);
        let chunks = self.trace.interrupts.chunks().get(first..)?;
        let mut just_ended = None;
        let mut examined = 0;
        for chunk in chunks {
            let begin = chunk.end_ns.partition_point(|&end| end < from);
            for row in begin..chunk.len() {
                let routine = chunk.get(row)?;
                examined += 1;
                let is_past = routine.end_ns.saturating_sub(time_ns) > MAX_ROUTINE_NS;
                if examined > MAX_ROUTINES || is_past {
                    return just_ended;
                }
                if routine.cpu != cpu || routine.start_ns > time_ns {
                    continue;
                }
                if routine.end_ns >= time_ns {
                    return Some(routine);
                }
                just_ended = Some(routine);
            }
        }
        just_ended
    }
}

/// True for the Windows kernel image, whose routines expire timers.
pub(super) fn is_kernel(path: &str) -> bool {
    let name = file_name(path);
    ["ntoskrnl.exe", "ntkrnlmp.exe", "ntkrnlpa.exe", "ntkrpamp.exe"]
        .iter()
        .any(|kernel| name.eq_ignore_ascii_case(kernel))
}
