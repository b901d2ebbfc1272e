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

use onoff_trace::StringId;

use super::cause::{Cause, Causes, UnknownCause};
use super::identities::Identities;
use super::reason::{self, ThreadState};
use super::service_waits::{Blocker, Blockers};
use super::timelines::{SwitchDirection, ThreadSwitch, Timelines, WakeUp};
use onoff_evidence::Certainty;
use onoff_usage::asleep::SleepIntervals;

/// Maximum depth of nested waits.
const MAX_DEPTH: usize = 128;
/// Maximum number of hops between threads without any time passing.
const MAX_HOPS: u32 = 256;
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
    pub(crate) readied_tid: u32,
    /// Time of the event whose call stack belongs to the step; [`NO_STACK`] for none.
    pub(crate) stack_ns: i64,
    /// The processor it ran on; [`NO_PROCESSOR`] if it did not run.
    pub(crate) cpu: u16,
    /// The service that was waited for, an index into [`Blockers`]; [`NO_BLOCKER`] for none.
    pub(crate) blocker: u32,
}

impl RawStep {
    /// Returns the same step with the machine asleep.
    fn asleep(&self) -> Self {
        Self {
            certainty: Certainty::Measured,
            reason: NO_REASON,
            work: Work::Unknown(UnknownCause::Asleep),
            readied_tid: 0,
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

/// Returns the thread of the step, then the threads waiting for it, innermost first.
pub(crate) fn threads_of<'w>(walk: &'w WalkResult, step: &RawStep) -> impl Iterator<Item = u32> + use<'w> {
    let mut next_waiter = step.waiter;
    let waiters = std::iter::from_fn(move || {
        if next_waiter == ROOT {
            return None;
        }
        let waiter = walk.waiters.get(next_waiter as usize)?;
        next_waiter = waiter.waiter;
        Some(waiter.tid)
    });
    std::iter::once(step.tid).chain(waiters)
}

impl WalkResult {
    /// Splits steps at system sleeps, because no thread made progress while the machine was asleep.
    fn cut_sleeps(&mut self, asleep: &SleepIntervals) {
        if asleep.is_empty() {
            return;
        }
        let mut steps = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let mut end_ns = step.end_ns;
            let awake: Vec<(i64, i64)> = asleep.awake(step.start_ns, step.end_ns).collect();
            // Later steps come first.
            for &(awake_start, awake_end) in awake.iter().rev() {
                steps.extend((awake_end < end_ns).then(|| RawStep { start_ns: awake_end, end_ns, ..step.asleep() }));
                steps.push(RawStep { start_ns: awake_start, end_ns: awake_end, ..*step });
                end_ns = awake_start;
            }
            let start_ns = step.start_ns;
            steps.extend((start_ns < end_ns).then(|| RawStep { start_ns, end_ns, ..step.asleep() }));
        }
        self.steps = steps;
    }

    /// Appends the steps of a walk through service `blocker`, for which `waiter` waits, or `outer` without a waiter.
    pub(crate) fn append(&mut self, inner: Self, blocker: u32, waiter: Option<Waiter>, outer: u32) {
        let mut outer = outer;
        if let Some(waiter) = waiter
            && let Ok(index) = u32::try_from(self.waiters.len())
        {
            self.waiters.push(waiter);
            outer = index;
        }
        let base = u32::try_from(self.waiters.len()).unwrap_or(ROOT);
        let shifted = |index: u32| match index {
            ROOT => outer,
            index => index.saturating_add(base),
        };
        self.waiters.extend(inner.waiters.iter().map(|row| Waiter { waiter: shifted(row.waiter), ..*row }));
        self.steps.extend(inner.steps.iter().map(|step| RawStep { waiter: shifted(step.waiter), blocker, ..*step }));
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
    readied_tid: u32,
    /// Open waits, outermost first, as indexes into `result.waiters`.
    open_waits: Vec<u32>,
    hops: u32,
    /// Time at which the thread resumed from the current wait.
    resumed_ns: i64,
    result: WalkResult,
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
            readied_tid: 0,
            open_waits: Vec::new(),
            hops: 0,
            resumed_ns: NO_STACK,
            result: WalkResult::default(),
        };
        while walk.time_ns > start_ns {
            if walk.time_ns <= walk.floor() {
                walk.return_to_waiter();
            } else if walk.result.steps.len() >= MAX_STEPS {
                walk.open_waits.clear();
                walk.unknown_until(start_ns, UnknownCause::TooLong);
            } else {
                walk.step();
            }
        }
        walk.result.cut_sleeps(timelines.asleep());
        walk.result
    }

    /// Returns the time down to which the current thread is followed.
    fn floor(&self) -> i64 {
        self.innermost_waiter().map_or(self.start_ns, |waiter| waiter.from_ns)
    }

    fn innermost_waiter(&self) -> Option<Waiter> {
        let index = *self.open_waits.last()?;
        self.result.waiters.get(index as usize).copied()
    }

    /// Continues with the waiter of the innermost wait, which is fully explained.
    fn return_to_waiter(&mut self) {
        if let Some(waiter) = self.innermost_waiter() {
            self.tid = waiter.tid;
            self.readied_tid = 0;
        }
        self.open_waits.pop();
    }

    fn step(&mut self) {
        let last_switch = self.timelines.last_switch_before(self.tid, self.time_ns);
        let thread_start_ns = self.identities.start_of(self.tid, self.time_ns).filter(|&start| start <= self.time_ns);
        if let (Some(last_switch), Some(thread_start_ns)) = (&last_switch, thread_start_ns)
            && last_switch.time_ns < thread_start_ns
        {
            self.handle_new_thread(thread_start_ns);
            return;
        }
        match last_switch {
            Some(last_switch) if last_switch.direction == SwitchDirection::In => {
                self.push(last_switch.time_ns, Work::Running, Certainty::Measured, &last_switch);
            }
            Some(last_switch) => match reason::state_after_switch_out(last_switch.old_state()) {
                ThreadState::Ready => {
                    self.push(last_switch.time_ns, Work::Ready, Certainty::Measured, &last_switch);
                }
                ThreadState::Ended if self.is_gone(&last_switch) => {
                    self.push(
                        last_switch.time_ns,
                        Work::Unknown(UnknownCause::Exited),
                        Certainty::Missing,
                        &last_switch,
                    );
                }
                ThreadState::Ended => self.handle_new_thread(last_switch.time_ns),
                ThreadState::Waiting => self.handle_wait(&last_switch),
            },
            None => self.handle_no_earlier_switch(thread_start_ns),
        }
    }

    /// True if the thread that exited with switch `out` has not been replaced by another one with the same id.
    fn is_gone(&self, out: &ThreadSwitch<'_>) -> bool {
        let next = self.timelines.first_ready(self.tid, out.time_ns);
        self.timelines.switch(self.tid, out.index + 1).is_none() && next.is_none_or(|next| next.time_ns > self.time_ns)
    }

    /// Handles a thread that has been waiting since switch `out`.
    fn handle_wait(&mut self, out: &ThreadSwitch<'_>) {
        let next = self.timelines.switch(self.tid, out.index + 1);
        let next_ns = next.map_or(i64::MAX, |next| next.time_ns);
        self.resumed_ns = next.map_or(NO_STACK, |next| next.time_ns);
        let ready = self.timelines.ready_of_wait(self.tid, out, next.as_ref());
        if let Some(ready) = ready
            && ready.time_ns < self.time_ns
        {
            self.push_ready(&ready);
            // Readied at the time of the switch-out: it did not wait.
            if self.time_ns <= self.floor().max(out.time_ns) {
                return;
            }
        }
        if ready.is_none() && self.timelines.was_woken_while_leaving(self.tid, out) {
            self.push(out.time_ns, Work::Ready, Certainty::Inferred, out);
            return;
        }
        if ready.is_none() && next.is_none() {
            let work = Work::Unknown(UnknownCause::Unfinished);
            self.push_or_follow_blocker(work, Certainty::Missing, out);
            return;
        }
        let end_ns = next_ns.min(self.timelines.trace().duration_ns);
        let (cause, certainty) = self.causes.wait_cause(out, ready.as_ref(), end_ns);
        match cause {
            Cause::Thread(readying_tid) => {
                let is_worker = self.identities.is_worker(self.tid, self.time_ns);
                if is_worker || reason::is_work_item_wait(out.old_wait_reason()) {
                    self.switch_to(readying_tid);
                } else {
                    self.wait_for(readying_tid, out.time_ns);
                }
            }
            Cause::Disk(row) => self.handle_disk_wait(row, certainty, out),
            // systemd sets timers while it waits for units (for its status messages).
            Cause::Timer(driver) if self.identities.is_linux() => {
                self.push_or_follow_blocker(Work::Timer(driver), certainty, out);
            }
            Cause::Timer(driver) => {
                self.push(out.time_ns, Work::Timer(driver), certainty, out);
            }
            Cause::Device(driver) => {
                self.push(out.time_ns, Work::Device(driver), certainty, out);
            }
            Cause::Unknown(cause) => self.push_or_follow_blocker(Work::Unknown(cause), certainty, out),
        }
    }

    /// Handles a wait since switch `out` that no thread explains: follows the service that was waited for, if any.
    fn push_or_follow_blocker(&mut self, work: Work, certainty: Certainty, out: &ThreadSwitch<'_>) {
        let from_ns = out.time_ns.max(self.floor());
        let found_blocker = self.blockers.and_then(|blockers| {
            let pid = self.identities.pid_of(self.tid, self.time_ns)?;
            let trace = self.timelines.trace();
            let index = blockers.blocker_of_wait(trace, self.identities, pid, (from_ns, self.time_ns))?;
            Some((index, *blockers.get(index)?))
        });
        match found_blocker {
            // After the service was ready, the time is the manager's own.
            Some((_, blocker)) if blocker.ready_ns.is_some_and(|ready| ready < self.time_ns) => {
                let ready_ns = blocker.ready_ns.unwrap_or(from_ns);
                self.push(ready_ns, work, certainty, out);
            }
            Some((index, blocker)) => self.follow_blocker(index, &blocker, from_ns.max(blocker.start_ns)),
            None => self.push(out.time_ns, work, certainty, out),
        }
    }

    /// Walks back to `from_ns` through the threads of a service that was waited for.
    fn follow_blocker(&mut self, index: u32, blocker: &Blocker, from_ns: i64) {
        let thread = blocker.thread(self.timelines, self.identities, self.time_ns).filter(|&tid| tid != self.tid);
        let interval = (from_ns, self.time_ns);
        let (inner, waiter) = match thread {
            Some(tid) => {
                let (timelines, causes) = (self.timelines, self.causes);
                let inner = Walk::run(timelines, causes, self.identities, None, interval, tid);
                let waiter = Waiter { tid: self.tid, from_ns, waiter: self.waiter() };
                (inner, Some(waiter))
            }
            None => (walk_without_thread(interval, self.tid), None),
        };
        self.result.append(inner, index, waiter, self.waiter());
        self.time_ns = from_ns;
        self.readied_tid = 0;
        self.hops = 0;
    }

    /// Handles a wait for a disk request. The time before the request was issued belongs to the issuing thread.
    fn handle_disk_wait(&mut self, row: u32, certainty: Certainty, out: &ThreadSwitch<'_>) {
        let request = self.timelines.trace().disk_ios.get(row as usize);
        let issue_ns = request.and_then(|request| request.issue_ns);
        let issuer = request.and_then(|request| request.tid);
        match (issue_ns, issuer) {
            (Some(issue_ns), Some(issuer))
                if issuer != self.tid && issue_ns > out.time_ns && issue_ns < self.time_ns =>
            {
                self.push(issue_ns, Work::Disk(row), certainty, out);
                if self.time_ns > self.floor() {
                    self.wait_for(issuer, out.time_ns);
                }
            }
            _ => self.push(out.time_ns, Work::Disk(row), certainty, out),
        }
    }

    /// Handles a thread without earlier switches: it existed before the recording, or is new.
    fn handle_no_earlier_switch(&mut self, thread_start_ns: Option<i64>) {
        let Some(first) = self.timelines.switch(self.tid, 0) else {
            self.unknown_until(self.floor(), UnknownCause::NoEvents);
            return;
        };
        if let Some(thread_start_ns) = thread_start_ns {
            self.handle_new_thread(thread_start_ns);
        } else if first.direction == SwitchDirection::Out {
            // It was already running when the recording started.
            self.push(i64::MIN, Work::Running, Certainty::Measured, &first);
        } else {
            self.handle_initial_wait(first.time_ns, UnknownCause::BeforeRecording);
        }
    }

    /// Handles a new thread: continues with the thread that first readied it, otherwise with its creator.
    fn handle_new_thread(&mut self, from_ns: i64) {
        let index = self.timelines.switches_before(self.tid, from_ns);
        let first_ns = self.timelines.switch(self.tid, index).map_or(i64::MAX, |first| first.time_ns);
        let ready = self.timelines.first_ready(self.tid, from_ns).filter(|ready| ready.time_ns <= first_ns);
        let readying_tid = ready.and_then(|ready| ready.readying_tid);
        match (ready, readying_tid) {
            (Some(ready), Some(readying_tid)) if readying_tid != 0 && readying_tid != self.tid => {
                self.push_ready(&ready);
                if self.time_ns > self.floor() {
                    self.switch_to(readying_tid);
                }
            }
            // The kernel itself creates the first Linux processes and runs before the first recorded switch.
            _ if self.is_kernel_alone() || (self.identities.is_linux() && self.tid <= MAX_KERNEL_CREATED_TID) => {
                self.record(self.floor(), Work::Kernel, Certainty::Inferred, NO_REASON);
            }
            _ => self.handle_creation(from_ns),
        }
    }

    /// Handles a new thread without a ready-thread event: continues with the thread that logged its creation.
    fn handle_creation(&mut self, creation_ns: i64) {
        let creator_tid = self.identities.creator_of(self.tid, self.time_ns);
        let Some(creator_tid) = creator_tid.filter(|&creator_tid| {
            creator_tid != 0 && creator_tid != self.tid && self.identities.is_known(creator_tid)
        }) else {
            self.unknown_until(self.floor(), UnknownCause::UnknownCreator);
            return;
        };
        if creation_ns < self.time_ns {
            // Between creation and first switch it waited for a processor, or was created suspended.
            self.record(creation_ns, Work::Ready, Certainty::Inferred, NO_REASON);
        }
        if self.time_ns > self.floor() {
            self.switch_to(creator_tid);
        }
    }

    /// Handles a thread that had been waiting since before the recording, until it was first readied.
    fn handle_initial_wait(&mut self, first_ns: i64, cause: UnknownCause) {
        let ready = self.timelines.first_ready(self.tid, i64::MIN).filter(|ready| ready.time_ns <= first_ns);
        if let Some(ready) = ready {
            self.push_ready(&ready);
            let readying_tid = ready.readying_tid.filter(|&readying_tid| {
                readying_tid != 0 && readying_tid != self.tid && ready.flags & super::timelines::IN_INTERRUPT == 0
            });
            if let Some(readying_tid) = readying_tid {
                if self.time_ns > self.floor() {
                    self.switch_to(readying_tid);
                }
                return;
            }
        }
        if self.is_kernel_alone() {
            self.record(self.floor(), Work::Kernel, Certainty::Inferred, NO_REASON);
        } else {
            self.unknown_until(self.floor(), cause);
        }
    }

    /// True if only the kernel can have run: it is booting and no switch has been recorded yet.
    fn is_kernel_alone(&self) -> bool {
        self.identities.is_linux()
            && self.time_ns <= self.timelines.first_switch_ns()
            && self.timelines.first_switch_ns() < self.identities.user_space_ns()
    }

    fn push_ready(&mut self, ready: &WakeUp) {
        if ready.time_ns < self.time_ns {
            self.record(ready.time_ns, Work::Ready, Certainty::Measured, NO_REASON);
        }
    }

    /// Follows `followed_tid` down to `from_ns`, where the current thread started to wait for it.
    fn wait_for(&mut self, followed_tid: u32, from_ns: i64) {
        if self.open_waits.len() < MAX_DEPTH {
            let waiter = Waiter {
                tid: self.tid,
                // An outer wait may have started later; the walk then returns to that one.
                from_ns: from_ns.max(self.floor()),
                waiter: self.waiter(),
            };
            if let Ok(index) = u32::try_from(self.result.waiters.len()) {
                self.result.waiters.push(waiter);
                self.open_waits.push(index);
            }
        }
        self.switch_to(followed_tid);
    }

    /// Continues with `next_tid` instead of the current thread.
    fn switch_to(&mut self, next_tid: u32) {
        self.hops += 1;
        let is_waiting = |&index: &u32| {
            self.result
                .waiters
                .get(index as usize)
                .is_some_and(|waiter| waiter.tid == next_tid && waiter.from_ns < self.time_ns)
        };
        if self.hops > MAX_HOPS || self.open_waits.iter().any(is_waiting) {
            // `next_tid` cannot have run: it is itself waiting for the current thread.
            self.unknown_until(self.floor(), UnknownCause::Cycle);
            return;
        }
        self.readied_tid = self.tid;
        self.tid = next_tid;
    }

    fn unknown_until(&mut self, time_ns: i64, cause: UnknownCause) {
        self.record(time_ns, Work::Unknown(cause), Certainty::Missing, NO_REASON);
    }

    /// Pushes a step that began with `switch`.
    fn push(&mut self, start_ns: i64, work: Work, certainty: Certainty, switch: &ThreadSwitch<'_>) {
        let reason = match work {
            Work::Running => NO_REASON,
            _ => switch.old_wait_reason(),
        };
        self.record_on(
            start_ns,
            work,
            certainty,
            reason,
            if work == Work::Running { switch.cpu() } else { NO_PROCESSOR },
        );
    }

    fn waiter(&self) -> u32 {
        self.open_waits.last().copied().unwrap_or(ROOT)
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
            Work::Running if self.readied_tid != 0 => self.time_ns,
            Work::Running | Work::Ready | Work::Kernel => NO_STACK,
            _ => self.resumed_ns,
        };
        self.result.steps.push(RawStep {
            start_ns,
            end_ns: self.time_ns,
            tid: self.tid,
            certainty,
            reason,
            work,
            waiter: self.waiter(),
            readied_tid: self.readied_tid,
            stack_ns,
            cpu,
            blocker: NO_BLOCKER,
        });
        self.time_ns = start_ns;
        self.readied_tid = 0;
        self.hops = 0;
    }
}

pub(super) const NO_STACK: i64 = i64::MIN;
pub(super) const NO_REASON: u8 = u8::MAX;

/// Returns the result for an unknown end thread.
pub(super) fn unknown_walk(interval: (i64, i64)) -> WalkResult {
    single_step(interval, 0, UnknownCause::NoSwitches)
}

/// Returns the result for a service without a known thread.
pub(super) fn walk_without_thread(interval: (i64, i64), waiting_tid: u32) -> WalkResult {
    single_step(interval, waiting_tid, UnknownCause::NoServiceThread)
}

fn single_step((start_ns, end_ns): (i64, i64), tid: u32, cause: UnknownCause) -> WalkResult {
    let step = RawStep {
        start_ns,
        end_ns,
        tid,
        certainty: Certainty::Missing,
        reason: NO_REASON,
        work: Work::Unknown(cause),
        waiter: ROOT,
        readied_tid: 0,
        stack_ns: NO_STACK,
        cpu: NO_PROCESSOR,
        blocker: NO_BLOCKER,
    };
    WalkResult { steps: (end_ns > start_ns).then_some(step).into_iter().collect(), waiters: Vec::new() }
}
