//! The walk from the end of an interval back to its start.
//!
//! ```text
//!             ran           the step: back to where it was switched in
//! thread, t ──waited──────► what ended the wait?
//!             │               a timer, a disk, a driver: the step; back to the start of the wait
//!             │               a thread: follow it back to the start of the wait; then the waiter again
//!             └ready────────► no processor was free: the step
//! ```
//!
//! At every moment the step is what the end thread did or, while it waited, what the thread it waited for did. A thread
//! that waits for a work item is not returned to: what it did before is unrelated.

use onoff_trace::{ReadyThread, StringId};

use super::cause::{Cause, Causes, UnknownCause};
use super::identities::Identities;
use super::reason::{self, ThreadState};
use super::service_waits::{Blocker, Blockers};
use super::timelines::{SwitchDirection, ThreadSwitch, Timelines, was_logged_before};
use onoff_evidence::Certainty;
use onoff_usage::asleep::SleepIntervals;

/// Maximum depth of nested waits.
const MAX_DEPTH: usize = 128;
/// Maximum number of hops between threads without any time passing.
const MAX_HOPS: u32 = 256;
/// Another processor can ready a thread up to this long before its switch-out is recorded, ns: 20 µs.
const MAX_EARLY_WAKE_NS: i64 = 20_000;
/// Maximum number of steps; a longer walk is cut off.
const MAX_STEPS: usize = 4 << 20;
/// Highest thread id that the Linux kernel itself creates: init (1) and kthreadd (2).
const MAX_KERNEL_CREATED_TID: u32 = 2;
pub(crate) const NO_PROCESSOR: u16 = u16::MAX;
pub(crate) const NO_BLOCKER: u32 = u32::MAX;
/// No waiter.
pub(super) const ROOT: u32 = u32::MAX;

/// What the thread of a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Running,
    /// It was ready but had no processor.
    Ready,
    /// It waited for the disk request in this row.
    Disk(u32),
    /// It waited for a timer, of this driver if not empty.
    Timer(StringId),
    /// It waited for an interrupt or DPC of this driver.
    Device(StringId),
    /// The kernel ran, before the first recorded switch.
    Kernel,
    Unknown(UnknownCause),
}

/// One step of the walk. Later steps come first.
#[derive(Clone, Copy, Debug)]
pub struct RawStep {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: u32,
    pub(crate) certainty: Certainty,
    /// Windows wait reason; [`NO_REASON`] if it did not wait.
    pub(crate) reason: u8,
    pub(crate) work: Work,
    /// The thread waiting for this one, an index into [`WalkResult::waiters`]; [`ROOT`] for none.
    pub waiter: u32,
    /// The thread readied by this one at the end of the step; 0 for none.
    pub(crate) readied: u32,
    /// Time of the event whose call stack belongs to the step; [`NO_STACK`] for none.
    pub(crate) stack_ns: i64,
    /// The processor it ran on; [`NO_PROCESSOR`] if it did not run.
    pub(crate) cpu: u16,
    /// The service that was waited for, an index into [`Blockers`]; [`NO_BLOCKER`] for none.
    pub(crate) blocker: u32,
}

impl RawStep {
    /// The same step, with the machine asleep.
    fn asleep(&self) -> Self {
        Self {
            certainty: Certainty::Measured,
            reason: NO_REASON,
            work: Work::Unknown(UnknownCause::Asleep),
            readied: 0,
            stack_ns: NO_STACK,
            cpu: NO_PROCESSOR,
            blocker: NO_BLOCKER,
            ..*self
        }
    }
}

/// A waiting thread.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub tid: u32,
    /// Start of its wait, or of the walk's interval: the walk returns to it there.
    pub from_ns: i64,
    /// The thread waiting for this one in turn.
    pub waiter: u32,
}

/// The steps of a walk and the waits between its threads.
#[derive(Debug, Default)]
pub struct WalkResult {
    /// Contiguous steps from the end of the interval to its start.
    pub steps: Vec<RawStep>,
    pub waiters: Vec<Waiter>,
}

/// The thread of the step, then the threads waiting for it, innermost first.
pub(crate) fn threads_of<'w>(walked: &'w WalkResult, step: &RawStep) -> impl Iterator<Item = u32> + use<'w> {
    let mut next = step.waiter;
    let waiters = std::iter::from_fn(move || {
        if next == ROOT {
            return None;
        }
        let waiter = walked.waiters.get(next as usize)?;
        next = waiter.waiter;
        Some(waiter.tid)
    });
    std::iter::once(step.tid).chain(waiters)
}

impl WalkResult {
    /// Splits steps at system sleeps: whatever a thread did or waited for, it did not do while the machine was asleep.
    fn cut_sleeps(&mut self, asleep: &SleepIntervals) {
        if asleep.is_empty() {
            return;
        }
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let mut end_ns = step.end_ns;
            let awake: Vec<(i64, i64)> = asleep.awake(step.start_ns, step.end_ns).collect();
            // Later steps come first.
            for &(from, to) in awake.iter().rev() {
                steps.extend((to < end_ns).then(|| RawStep { start_ns: to, end_ns, ..step.asleep() }));
                steps.push(RawStep { start_ns: from, end_ns: to, ..*step });
                end_ns = from;
            }
            let start_ns = step.start_ns;
            steps.extend((start_ns < end_ns).then(|| RawStep { start_ns, end_ns, ..step.asleep() }));
        }
        self.steps = steps;
    }

    /// Appends the steps of a walk through service `blocker`, for which `waiter` (or else `outer`) waits.
    pub(crate) fn append(&mut self, within: Self, blocker: u32, waiter: Option<Waiter>, outer: u32) {
        let mut outer = outer;
        if let Some(waiter) = waiter
            && let Ok(at) = u32::try_from(self.waiters.len())
        {
            self.waiters.push(waiter);
            outer = at;
        }
        let base = u32::try_from(self.waiters.len()).unwrap_or(ROOT);
        let moved = |at: u32| match at {
            ROOT => outer,
            at => at.saturating_add(base),
        };
        self.waiters.extend(within.waiters.iter().map(|row| Waiter { waiter: moved(row.waiter), ..*row }));
        self.steps.extend(within.steps.iter().map(|step| RawStep { waiter: moved(step.waiter), blocker, ..*step }));
    }
}

pub(super) struct Walk<'a, 't> {
    timelines: &'a Timelines<'t>,
    causes: &'a Causes<'t>,
    identities: &'a Identities<'t>,
    /// Explains otherwise unknown waits of service managers; `None` inside such a wait.
    blockers: Option<&'a Blockers>,
    start_ns: i64,
    /// Current position.
    time_ns: i64,
    tid: u32,
    /// The thread that the current one made ready at `time_ns`.
    readied: u32,
    /// Open waits, outermost first: positions in `out.waiters`.
    open: Vec<u32>,
    hops: u32,
    /// Time at which the thread resumed from the current wait.
    resumed_ns: i64,
    out: WalkResult,
}

impl<'a, 't> Walk<'a, 't> {
    /// Walks from thread `tid` at `end_ns` back to `start_ns`.
    pub(super) fn run(
        timelines: &'a Timelines<'t>,
        causes: &'a Causes<'t>,
        identities: &'a Identities<'t>,
        blockers: Option<&'a Blockers>,
        (start_ns, end_ns): (i64, i64),
        tid: u32,
    ) -> WalkResult {
        let mut walk = Self {
            timelines,
            causes,
            identities,
            blockers,
            start_ns,
            time_ns: end_ns,
            tid,
            readied: 0,
            open: Vec::new(),
            hops: 0,
            resumed_ns: NO_STACK,
            out: WalkResult::default(),
        };
        while walk.time_ns > start_ns {
            if walk.time_ns <= walk.floor() {
                walk.return_to_waiter();
            } else if walk.out.steps.len() >= MAX_STEPS {
                walk.open.clear();
                walk.unknown_until(start_ns, UnknownCause::TooLong);
            } else {
                walk.step();
            }
        }
        walk.out.cut_sleeps(timelines.asleep());
        walk.out
    }

    /// The time down to which the current thread is followed.
    fn floor(&self) -> i64 {
        self.innermost().map_or(self.start_ns, |waiter| waiter.from_ns)
    }

    fn innermost(&self) -> Option<Waiter> {
        let at = *self.open.last()?;
        self.out.waiters.get(at as usize).copied()
    }

    /// The innermost wait is fully explained: continue with its waiter.
    fn return_to_waiter(&mut self) {
        if let Some(waiter) = self.innermost() {
            self.tid = waiter.tid;
            self.readied = 0;
        }
        self.open.pop();
    }

    fn step(&mut self) {
        let last = self.timelines.last_before(self.tid, self.time_ns);
        let born = self.identities.start_of(self.tid, self.time_ns).filter(|&start| start <= self.time_ns);
        if let (Some(last), Some(born)) = (&last, born)
            && last.row.time_ns < born
        {
            self.first_wake(born);
            return;
        }
        match last {
            Some(last) if last.direction == SwitchDirection::In => {
                self.push(last.row.time_ns, Work::Running, Certainty::Measured, &last);
            }
            Some(last) => match reason::after_switch_out(last.row.old_state) {
                ThreadState::Ready => {
                    self.push(last.row.time_ns, Work::Ready, Certainty::Measured, &last);
                }
                ThreadState::Ended if self.is_gone(&last) => {
                    self.push(last.row.time_ns, Work::Unknown(UnknownCause::Exited), Certainty::Missing, &last);
                }
                ThreadState::Ended => self.first_wake(last.row.time_ns),
                ThreadState::Waiting => self.wait(&last),
            },
            None => self.before_first_switch(born),
        }
    }

    /// True if the thread that exited with switch `out` has not been replaced by another one with the same id.
    fn is_gone(&self, out: &ThreadSwitch) -> bool {
        let next = self.timelines.first_ready(self.tid, out.row.time_ns);
        self.timelines.switch(self.tid, out.place + 1).is_none() && next.is_none_or(|next| next.time_ns > self.time_ns)
    }

    /// Handles a thread that has been waiting since switch `out`.
    fn wait(&mut self, out: &ThreadSwitch) {
        let next = self.timelines.switch(self.tid, out.place + 1);
        let next_ns = next.map_or(i64::MAX, |next| next.row.time_ns);
        self.resumed_ns = next.map_or(NO_STACK, |next| next.row.time_ns);
        let ready = self.timelines.ready_of_wait(self.tid, out, next.as_ref());
        if let Some(ready) = ready
            && ready.time_ns < self.time_ns
        {
            self.ready_since(&ready);
            // Readied at the time of the switch-out: it did not wait.
            if self.time_ns <= self.floor().max(out.row.time_ns) {
                return;
            }
        }
        if ready.is_none() && self.was_woken_while_leaving(out) {
            self.push(out.row.time_ns, Work::Ready, Certainty::Inferred, out);
            return;
        }
        if ready.is_none() && next.is_none() {
            let work = Work::Unknown(UnknownCause::Unfinished);
            self.push_or_follow_blocker(work, Certainty::Missing, out);
            return;
        }
        let end_ns = next_ns.min(self.timelines.trace().duration_ns);
        let (cause, certainty) = self.causes.wait_cause(&out.row, ready.as_ref(), end_ns);
        match cause {
            Cause::Thread(by) => {
                let is_worker = self.identities.is_worker(self.tid, self.time_ns);
                if is_worker || reason::is_work_item_wait(out.row.old_wait_reason) {
                    self.switch_to(by);
                } else {
                    self.wait_for(by, out.row.time_ns);
                }
            }
            Cause::Disk(row) => self.disk(row, certainty, out),
            // systemd sets timers while it waits for units (for its status messages).
            Cause::Timer(of) if self.identities.is_linux() => {
                self.push_or_follow_blocker(Work::Timer(of), certainty, out);
            }
            Cause::Timer(of) => {
                self.push(out.row.time_ns, Work::Timer(of), certainty, out);
            }
            Cause::Device(of) => {
                self.push(out.row.time_ns, Work::Device(of), certainty, out);
            }
            Cause::Unknown(why) => self.push_or_follow_blocker(Work::Unknown(why), certainty, out),
        }
    }

    /// Handles a wait since switch `out` that no thread explains: follows the service that was waited for, if any.
    fn push_or_follow_blocker(&mut self, work: Work, certainty: Certainty, out: &ThreadSwitch) {
        let from_ns = out.row.time_ns.max(self.floor());
        let found = self.blockers.and_then(|blockers| {
            let pid = self.identities.pid_of(self.tid, self.time_ns)?;
            let trace = self.timelines.trace();
            let at = blockers.at(trace, self.identities, pid, (from_ns, self.time_ns))?;
            Some((at, *blockers.get(at)?))
        });
        match found {
            // After the service was ready, the time is the manager's own.
            Some((_, blocker)) if blocker.ready_ns.is_some_and(|ready| ready < self.time_ns) => {
                let ready_ns = blocker.ready_ns.unwrap_or(from_ns);
                self.push(ready_ns, work, certainty, out);
            }
            Some((at, blocker)) => self.follow_blocker(at, &blocker, from_ns.max(blocker.start_ns)),
            None => self.push(out.row.time_ns, work, certainty, out),
        }
    }

    /// Walks back to `from_ns` through the threads of a service that was waited for.
    fn follow_blocker(&mut self, at: u32, blocker: &Blocker, from_ns: i64) {
        let thread = blocker.thread(self.timelines, self.identities, self.time_ns).filter(|&tid| tid != self.tid);
        let ends = (from_ns, self.time_ns);
        let (within, waiter) = match thread {
            Some(tid) => {
                let (timelines, causes) = (self.timelines, self.causes);
                let within = Walk::run(timelines, causes, self.identities, None, ends, tid);
                let waiter = Waiter { tid: self.tid, from_ns, waiter: self.waiter() };
                (within, Some(waiter))
            }
            None => (without_thread(ends, self.tid), None),
        };
        self.out.append(within, at, waiter, self.waiter());
        self.time_ns = from_ns;
        self.readied = 0;
        self.hops = 0;
    }

    /// True if the thread was readied just before switch `out` was recorded, while still running.
    fn was_woken_while_leaving(&self, out: &ThreadSwitch) -> bool {
        let before = out.place.checked_sub(1).and_then(|place| self.timelines.switch(self.tid, place));
        let from_ns = out.row.time_ns.saturating_sub(MAX_EARLY_WAKE_NS);
        let from_ns = before.map_or(from_ns, |before| before.row.time_ns.max(from_ns));
        let ready = self.timelines.first_ready(self.tid, from_ns).filter(|ready| ready.time_ns < out.row.time_ns);
        ready.is_some_and(|ready| before.is_none_or(|before| !was_logged_before(&ready, &before)))
    }

    /// Handles a wait for a disk request. The time before the request was issued belongs to the issuing thread.
    fn disk(&mut self, row: u32, certainty: Certainty, out: &ThreadSwitch) {
        let request = self.timelines.trace().disk_ios.get(row as usize);
        let issue_ns = request.and_then(|request| request.issue_ns);
        let issuer = request.and_then(|request| request.tid);
        match (issue_ns, issuer) {
            (Some(issue_ns), Some(issuer))
                if issuer != self.tid && issue_ns > out.row.time_ns && issue_ns < self.time_ns =>
            {
                self.push(issue_ns, Work::Disk(row), certainty, out);
                if self.time_ns > self.floor() {
                    self.wait_for(issuer, out.row.time_ns);
                }
            }
            _ => self.push(out.row.time_ns, Work::Disk(row), certainty, out),
        }
    }

    /// Handles a thread without earlier switches: it existed before the recording, or is new.
    fn before_first_switch(&mut self, born: Option<i64>) {
        let Some(first) = self.timelines.switch(self.tid, 0) else {
            self.unknown_until(self.floor(), UnknownCause::NoEvents);
            return;
        };
        if let Some(born) = born {
            self.first_wake(born);
        } else if first.direction == SwitchDirection::Out {
            // It was already running when the recording started.
            self.push(i64::MIN, Work::Running, Certainty::Measured, &first);
        } else {
            self.before_first_wake(first.row.time_ns, UnknownCause::BeforeRecording);
        }
    }

    /// Handles a new thread: continues with the thread that first readied it, otherwise with its creator.
    fn first_wake(&mut self, from_ns: i64) {
        let place = self.timelines.switches_before(self.tid, from_ns);
        let first_ns = self.timelines.switch(self.tid, place).map_or(i64::MAX, |first| first.row.time_ns);
        let ready = self.timelines.first_ready(self.tid, from_ns).filter(|ready| ready.time_ns <= first_ns);
        let by = ready.and_then(|ready| ready.readying_tid);
        match (ready, by) {
            (Some(ready), Some(by)) if by != 0 && by != self.tid => {
                self.ready_since(&ready);
                if self.time_ns > self.floor() {
                    self.switch_to(by);
                }
            }
            // The kernel itself creates the first Linux processes and runs before the first recorded switch.
            _ if self.is_kernel_alone() || (self.identities.is_linux() && self.tid <= MAX_KERNEL_CREATED_TID) => {
                self.record(self.floor(), Work::Kernel, Certainty::Inferred, NO_REASON);
            }
            _ => self.creation(from_ns),
        }
    }

    /// Handles a new thread without a ready-thread event: continues with the thread that logged its creation.
    fn creation(&mut self, born_ns: i64) {
        let by = self.identities.creator_of(self.tid, self.time_ns);
        let Some(by) = by.filter(|&by| by != 0 && by != self.tid && self.identities.is_known(by)) else {
            self.unknown_until(self.floor(), UnknownCause::UnknownCreator);
            return;
        };
        if born_ns < self.time_ns {
            // Between creation and first switch it waited for a processor, or was created suspended.
            self.record(born_ns, Work::Ready, Certainty::Inferred, NO_REASON);
        }
        if self.time_ns > self.floor() {
            self.switch_to(by);
        }
    }

    /// Handles a thread that had been waiting since before the recording, until it was first readied.
    fn before_first_wake(&mut self, first_ns: i64, why: UnknownCause) {
        let ready = self.timelines.first_ready(self.tid, i64::MIN).filter(|ready| ready.time_ns <= first_ns);
        if let Some(ready) = ready {
            self.ready_since(&ready);
            let by = ready
                .readying_tid
                .filter(|&by| by != 0 && by != self.tid && ready.flags & super::timelines::IN_INTERRUPT == 0);
            if let Some(by) = by {
                if self.time_ns > self.floor() {
                    self.switch_to(by);
                }
                return;
            }
        }
        if self.is_kernel_alone() {
            self.record(self.floor(), Work::Kernel, Certainty::Inferred, NO_REASON);
        } else {
            self.unknown_until(self.floor(), why);
        }
    }

    /// True if only the kernel can have run: it is booting and no switch has been recorded yet.
    fn is_kernel_alone(&self) -> bool {
        self.identities.is_linux()
            && self.time_ns <= self.timelines.first_switch_ns()
            && self.timelines.first_switch_ns() < self.identities.user_space_ns()
    }

    fn ready_since(&mut self, ready: &ReadyThread) {
        if ready.time_ns < self.time_ns {
            self.record(ready.time_ns, Work::Ready, Certainty::Measured, NO_REASON);
        }
    }

    /// Follows `by` down to `from_ns`, where the current thread started to wait for it.
    fn wait_for(&mut self, by: u32, from_ns: i64) {
        if self.open.len() < MAX_DEPTH {
            let waiter = Waiter {
                tid: self.tid,
                // An outer wait may have started later; the walk then returns to that one.
                from_ns: from_ns.max(self.floor()),
                waiter: self.waiter(),
            };
            if let Ok(at) = u32::try_from(self.out.waiters.len()) {
                self.out.waiters.push(waiter);
                self.open.push(at);
            }
        }
        self.switch_to(by);
    }

    /// Continues with `by` instead of the current thread.
    fn switch_to(&mut self, by: u32) {
        self.hops += 1;
        let waits = |&at: &u32| {
            self.out.waiters.get(at as usize).is_some_and(|waiter| waiter.tid == by && waiter.from_ns < self.time_ns)
        };
        if self.hops > MAX_HOPS || self.open.iter().any(waits) {
            // `by` cannot have run: it is itself waiting for the current thread.
            self.unknown_until(self.floor(), UnknownCause::Cycle);
            return;
        }
        self.readied = self.tid;
        self.tid = by;
    }

    fn unknown_until(&mut self, time_ns: i64, why: UnknownCause) {
        self.record(time_ns, Work::Unknown(why), Certainty::Missing, NO_REASON);
    }

    /// Pushes a step that began with `switch`.
    fn push(&mut self, start_ns: i64, work: Work, certainty: Certainty, switch: &ThreadSwitch) {
        let reason = match work {
            Work::Running => NO_REASON,
            _ => switch.row.old_wait_reason,
        };
        self.record_on(
            start_ns,
            work,
            certainty,
            reason,
            if work == Work::Running { switch.row.cpu } else { NO_PROCESSOR },
        );
    }

    fn waiter(&self) -> u32 {
        self.open.last().copied().unwrap_or(ROOT)
    }

    /// Pushes a step from `start_ns`, clipped at the floor, to the current position.
    fn record(&mut self, start_ns: i64, work: Work, certainty: Certainty, reason: u8) {
        self.record_on(start_ns, work, certainty, reason, NO_PROCESSOR);
    }

    /// Like [`Self::record`], with the processor.
    fn record_on(&mut self, start_ns: i64, work: Work, certainty: Certainty, reason: u8, cpu: u16) {
        let floor = self.floor();
        if self.time_ns <= floor {
            // The previous step already reached the floor.
            return;
        }
        let mut work = work;
        let mut start_ns = start_ns.max(floor);
        if start_ns >= self.time_ns {
            // Rows are out of order. Every step must go back in time, or the walk would not end.
            work = Work::Unknown(UnknownCause::Cycle);
            start_ns = floor.min(self.time_ns.saturating_sub(1));
        }
        let stack_ns = match work {
            Work::Running if self.readied != 0 => self.time_ns,
            Work::Running | Work::Ready | Work::Kernel => NO_STACK,
            _ => self.resumed_ns,
        };
        self.out.steps.push(RawStep {
            start_ns,
            end_ns: self.time_ns,
            tid: self.tid,
            certainty,
            reason,
            work,
            waiter: self.waiter(),
            readied: self.readied,
            stack_ns,
            cpu,
            blocker: NO_BLOCKER,
        });
        self.time_ns = start_ns;
        self.readied = 0;
        self.hops = 0;
    }
}

pub(super) const NO_STACK: i64 = i64::MIN;
pub(super) const NO_REASON: u8 = u8::MAX;

/// The result for an unknown end thread.
pub(super) fn unknown(ends: (i64, i64)) -> WalkResult {
    single(ends, 0, UnknownCause::NoSwitches)
}

/// The result for a service without a known thread.
pub(super) fn without_thread(ends: (i64, i64), waiting_tid: u32) -> WalkResult {
    single(ends, waiting_tid, UnknownCause::NoServiceThread)
}

fn single((start_ns, end_ns): (i64, i64), tid: u32, why: UnknownCause) -> WalkResult {
    let step = RawStep {
        start_ns,
        end_ns,
        tid,
        certainty: Certainty::Missing,
        reason: NO_REASON,
        work: Work::Unknown(why),
        waiter: ROOT,
        readied: 0,
        stack_ns: NO_STACK,
        cpu: NO_PROCESSOR,
        blocker: NO_BLOCKER,
    };
    WalkResult { steps: (end_ns > start_ns).then_some(step).into_iter().collect(), waiters: Vec::new() }
}
