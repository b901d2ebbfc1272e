//! What ended a wait: another thread, a timer, a disk's completion, a driver's deferred procedure call.

use hashbrown::HashMap;
use onoff_trace::{ContextSwitch, Interrupt, InterruptKind, Lives, ReadyThread, StringId, ThreadKey, Trace};

use super::reason;
use super::timelines::{IN_INTERRUPT, Timelines};
use onoff_evidence::Certainty;
use onoff_usage::modules::Modules;
use onoff_usage::owners::file_name;

/// A disk request's completion makes its thread ready within this time, ns: 1 ms. Completion routines of filter drivers
/// run in between.
const COMPLETION_NS: i64 = 1_000_000;
/// A routine that ended this long before a wake-up on the same processor still made it, ns: 10 µs. Wake-ups that a routine
/// causes are carried out when it is over.
const ROUTINE_ENDED_NS: i64 = 10_000;
/// A routine that covers a wake-up ends no later than this after it, ns: 100 ms.
const MAX_ROUTINE_NS: i64 = 100_000_000;
/// Routines looked at for one wake-up.
const MAX_ROUTINES: usize = 512;

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A thread, at a time: what it did until then explains the wait.
    Thread(u32),
    /// A disk request: its row.
    Disk(u32),
    /// A timer; of this driver where it has a routine of its own.
    Timer(StringId),
    /// A driver's interrupt or deferred procedure call.
    Device(StringId),
    /// Not known.
    Unknown(Unknown),
}

/// Why it is not known what a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Unknown {
    /// The wait was not over when the recording ended.
    NotOver,
    /// No event says who ended it.
    NoReady,
    /// Ended by an interrupt, of which routines were not recorded.
    Interrupt,
    /// The thread had not been seen before.
    NotSeen,
    /// The chain came back to a thread that waits for it.
    Cycle,
    /// Too many steps.
    TooLong,
    /// The wait began before the recording.
    BeforeRecording,
    /// Nobody knows who created the thread.
    Creator,
    /// The thread had ended before: what comes after is no work of its own.
    Gone,
    /// Nobody is known to have run at the end of the stretch.
    NoSwitches,
    /// No thread of the service that was waited for is known.
    NoServiceThread,
    /// The machine was asleep: nobody ran, and nobody was waited for.
    Asleep,
}

/// What wakes threads besides threads.
#[derive(Debug)]
pub(super) struct Causes<'t> {
    trace: &'t Trace,
    modules: Modules,
    /// Disk requests of each thread's life, by completion.
    disk_by_thread: HashMap<ThreadKey, Vec<u32>>,
    lives: Lives,
    /// First time of a wake-up mark, see [`Timelines::marks_interrupts`].
    marks_interrupts: bool,
    /// Ends of the pieces of the table of interrupts.
    piece_ends: Vec<i64>,
}

impl<'t> Causes<'t> {
    pub(super) fn of(timelines: &Timelines<'t>) -> Self {
        let trace = timelines.trace();
        let lives = trace.lives();
        let mut disk_by_thread: HashMap<ThreadKey, Vec<u32>> = HashMap::new();
        for (row, request) in (0_u32..).zip(trace.disk_ios.iter()) {
            if let Some(tid) = request.tid {
                // Whoever issued it, even where it completes after the thread has ended.
                let served_ns = request.complete_ns.saturating_sub(request.service_ns.max(0));
                let key = lives.key(tid, request.issue_ns.unwrap_or(served_ns).min(served_ns));
                disk_by_thread.entry(key).or_default().push(row);
            }
        }
        let mut latest = i64::MIN;
        let piece_ends = trace
            .interrupts
            .pieces()
            .iter()
            .map(|piece| {
                latest = latest.max(piece.end_ns.last().copied().unwrap_or(i64::MIN));
                latest
            })
            .collect();
        Self {
            trace,
            modules: Modules::of(trace),
            disk_by_thread,
            lives,
            marks_interrupts: timelines.marks_interrupts(),
            piece_ends,
        }
    }

    /// The modules of every process.
    pub(super) const fn modules(&self) -> &Modules {
        &self.modules
    }

    /// What ended the wait that began with switch `out` and ended when the thread was made ready; `ready` is `None` when
    /// that was not recorded, and the wait then lasted until `end_ns`.
    pub(super) fn of_wait(&self, out: &ContextSwitch, ready: Option<&ReadyThread>, end_ns: i64) -> (Cause, Certainty) {
        let tid = out.old_tid;
        if reason::is_sleep(out.old_wait_reason) {
            return (Cause::Timer(StringId::EMPTY), Certainty::Measured);
        }
        let Some(ready) = ready else {
            return match self.disk_of(tid, out.time_ns, end_ns) {
                Some(row) => (Cause::Disk(row), Certainty::Inferred),
                None => (Cause::Unknown(Unknown::NoReady), Certainty::Missing),
            };
        };
        let routine = self.routine_at(ready.cpu, ready.time_ns);
        let marked = ready.flags & IN_INTERRUPT != 0;
        // Where the clock goes on in steps a routine has no length: it cannot be known to cover what has its time, but marks tell.
        let is_told = |routine: &Interrupt| self.marks_interrupts && routine.start_ns == routine.end_ns;
        let covered = routine.is_some_and(|routine| routine.end_ns >= ready.time_ns && !is_told(&routine));
        let by_thread = ready.readying_tid.filter(|&by| by != 0 && by != tid && !marked && !covered);
        if let Some(by) = by_thread {
            // Without marks, the thread named may be the one that a completion interrupted.
            let interrupted = !self.marks_interrupts || routine.is_some_and(|routine| !is_told(&routine));
            return match self.disk_of(tid, out.time_ns, ready.time_ns) {
                Some(row) if interrupted => (Cause::Disk(row), Certainty::Inferred),
                _ if self.marks_interrupts => (Cause::Thread(by), Certainty::Measured),
                _ => (Cause::Thread(by), Certainty::Inferred),
            };
        }
        if let Some(row) = self.disk_of(tid, out.time_ns, ready.time_ns) {
            return (Cause::Disk(row), Certainty::Measured);
        }
        match routine {
            Some(routine) => self.of_routine(&routine, out.time_ns, ready.time_ns),
            // Expired timers are the interrupts' own work, for which no routine runs.
            None if !self.trace.interrupts.is_empty() => (Cause::Timer(StringId::EMPTY), Certainty::Inferred),
            None => (Cause::Unknown(Unknown::Interrupt), Certainty::Missing),
        }
    }

    fn of_routine(&self, routine: &Interrupt, out_ns: i64, ready_ns: i64) -> (Cause, Certainty) {
        let name = self.driver_of(routine);
        let text = self.trace.text(name);
        // The kernel's own soft interrupts for timers are nobody's driver.
        if matches!(text, "TIMER" | "HRTIMER") {
            return (Cause::Timer(StringId::EMPTY), Certainty::Measured);
        }
        if routine.kind == InterruptKind::TimerDpc {
            return (Cause::Timer(name), Certainty::Measured);
        }
        // A request that another thread made for this one completes in the routine.
        let begin = routine.start_ns.saturating_sub(ROUTINE_ENDED_NS);
        if let Some(row) = self.disk_between(begin.max(out_ns), ready_ns) {
            return (Cause::Disk(row), Certainty::Inferred);
        }
        if is_kernel(text) {
            return (Cause::Timer(StringId::EMPTY), Certainty::Inferred);
        }
        (Cause::Device(name), Certainty::Measured)
    }

    /// The driver of an interrupt: its module, or the handler's name where the recording gives that.
    fn driver_of(&self, routine: &Interrupt) -> StringId {
        if routine.name != StringId::EMPTY {
            return routine.name;
        }
        self.modules.at(0, routine.routine, routine.end_ns).unwrap_or(StringId::EMPTY)
    }

    /// The last request of `tid` that completed in the wait, and close to its end.
    fn disk_of(&self, tid: u32, out_ns: i64, end_ns: i64) -> Option<u32> {
        let rows = self.disk_by_thread.get(&self.lives.key(tid, out_ns))?;
        let completed = |row: u32| self.completed(row);
        let after = rows.partition_point(|&row| completed(row) <= end_ns);
        let row = *rows.get(after.checked_sub(1)?)?;
        let at = completed(row);
        (at > out_ns && end_ns.saturating_sub(at) <= COMPLETION_NS).then_some(row)
    }

    fn disk_between(&self, from_ns: i64, until_ns: i64) -> Option<u32> {
        let times = &self.trace.disk_ios.complete_ns;
        let row = times.partition_point(|&time| time <= until_ns).checked_sub(1)?;
        (*times.get(row)? >= from_ns).then_some(u32::try_from(row).ok()?)
    }

    fn completed(&self, row: u32) -> i64 {
        let times = &self.trace.disk_ios.complete_ns;
        times.get(row as usize).copied().unwrap_or(i64::MAX)
    }

    /// The routine that ran on `cpu` at `time_ns`, innermost first, or had just ended there.
    fn routine_at(&self, cpu: u16, time_ns: i64) -> Option<Interrupt> {
        let from = time_ns.saturating_sub(ROUTINE_ENDED_NS);
        let first = self.piece_ends.partition_point(|&end| end < from);
        let pieces = self.trace.interrupts.pieces().get(first..)?;
        let mut just_ended = None;
        let mut looked_at = 0;
        for piece in pieces {
            let begin = piece.end_ns.partition_point(|&end| end < from);
            for row in begin..piece.len() {
                let routine = piece.get(row)?;
                looked_at += 1;
                let over = routine.end_ns.saturating_sub(time_ns) > MAX_ROUTINE_NS;
                if looked_at > MAX_ROUTINES || over {
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

/// Whether a module is Windows' kernel itself, whose routines without a driver's name expire timers.
fn is_kernel(path: &str) -> bool {
    let name = file_name(path);
    ["ntoskrnl.exe", "ntkrnlmp.exe", "ntkrnlpa.exe", "ntkrpamp.exe"]
        .iter()
        .any(|kernel| name.eq_ignore_ascii_case(kernel))
}
