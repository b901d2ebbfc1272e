//! The walk from the end of a range back to its begin.
//!
//! ```text
//!             ran           the reader's switch table: back to where it was put on the processor
//! thread, t ──waited──────► who ended the wait?
//!             │               a timer, a disk, a driver: that is the step; back to where the wait began
//!             │               a thread: on with that thread, until back where the wait began; then with the waiter again
//!             └ready────────► no processor was free: that is the step
//! ```
//!
//! So at every moment the step is what the thread at the range's end did or, while it waited, what those did for whom it
//! waited. A thread that waits for work to be handed to it is left for good: what it did before has nothing to do with it.

use onoff_trace::{ReadyThread, StringId};

use super::cause::{Cause, Causes, Unknown};
use super::identities::Identities;
use super::reason::{self, Off};
use super::service_waits::{Hold, Holds};
use super::timelines::{ThreadSwitch, Timelines, Turn, was_logged_before};
use onoff_evidence::Certainty;
use onoff_usage::asleep::Asleep;

/// Threads that wait for one another, at most.
const MAX_DEPTH: usize = 128;
/// Hops from thread to thread without any time in between, at most.
const MAX_HOPS: u32 = 256;
/// A thread that leaves its processor can be made ready by another processor before the switch is recorded: so long
/// before at most, ns: 20 µs.
const LEAVING_NS: i64 = 20_000;
/// Steps, at most: a walk that needs more ends there.
const MAX_STEPS: usize = 4 << 20;
/// Threads of Linux that the kernel itself begins: the first process and the one that makes kernel threads.
const LAST_FIRST_THREAD: u32 = 2;
/// No processor.
pub(crate) const NO_PROCESSOR: u16 = u16::MAX;
/// No service.
pub(crate) const NOT_HELD: u32 = u32::MAX;
/// No frame.
pub(super) const ROOT: u32 = u32::MAX;

/// What a step's time was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The thread ran.
    Running,
    /// It could run but had no processor.
    Ready,
    /// It waited for a disk request: its row.
    Disk(u32),
    /// It waited for a timer, of this driver if any.
    Timer(StringId),
    /// It waited for an interrupt or a deferred procedure call of this driver.
    Device(StringId),
    /// The kernel ran, before the first switch that was recorded.
    Kernel,
    /// Not known.
    Unknown(Unknown),
}

/// One step of the walk; later ones come first.
#[derive(Clone, Copy, Debug)]
pub struct RawStep {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: u32,
    pub(crate) certainty: Certainty,
    /// Why Windows says it waited; 255 when it did not wait.
    pub(crate) reason: u8,
    pub(crate) work: Work,
    /// The thread that waits for this one, a position in [`Walked::waiters`]; [`ROOT`] for none.
    pub waiter: u32,
    /// The thread that this one made ready with what it did last in this step; 0 for none.
    pub(crate) readied: u32,
    /// Time of the event whose call stack says what the step was; [`NO_STACK`] for none.
    pub(crate) stack_ns: i64,
    /// The processor it ran on; [`NO_PROCESSOR`] when it did not run.
    pub(crate) cpu: u16,
    /// The service that was waited for with it: a position in [`Holds`]; [`NOT_HELD`] for none.
    pub(crate) hold: u32,
}

impl RawStep {
    /// The step where the machine was asleep in it.
    fn asleep(&self) -> Self {
        Self {
            certainty: Certainty::Measured,
            reason: NO_REASON,
            work: Work::Unknown(Unknown::Asleep),
            readied: 0,
            stack_ns: NO_STACK,
            cpu: NO_PROCESSOR,
            hold: NOT_HELD,
            ..*self
        }
    }
}

/// A thread that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub tid: u32,
    /// When its wait began, or the walk's range; the walk comes back to it then.
    pub from_ns: i64,
    /// Who waits for it in turn.
    pub waiter: u32,
}

/// A walk's steps and who waited for whom.
#[derive(Debug, Default)]
pub struct Walked {
    /// Steps without a gap from the range's end to its begin.
    pub steps: Vec<RawStep>,
    pub waiters: Vec<Waiter>,
}

/// The step's own thread and those that wait for it, innermost first.
pub(crate) fn threads_of<'w>(walked: &'w Walked, step: &RawStep) -> impl Iterator<Item = u32> + use<'w> {
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

impl Walked {
    /// Cuts the sleeps out of steps: what a thread did or waited for when the machine fell asleep, it did not do meanwhile.
    fn cut_sleeps(&mut self, asleep: &Asleep) {
        if asleep.is_never() {
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

    /// Adds the steps of a walk through service `hold`, for which `waiter` waits, or else whoever `outer` is.
    pub(crate) fn append(&mut self, within: Self, hold: u32, waiter: Option<Waiter>, outer: u32) {
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
        self.steps.extend(within.steps.iter().map(|step| RawStep { waiter: moved(step.waiter), hold, ..*step }));
    }
}

pub(super) struct Walk<'a, 't> {
    timelines: &'a Timelines<'t>,
    causes: &'a Causes<'t>,
    identities: &'a Identities<'t>,
    /// What unexplained waits of service managers were; `None` within such a wait.
    holds: Option<&'a Holds>,
    start_ns: i64,
    /// Where the walk is.
    time_ns: i64,
    tid: u32,
    /// The thread that the current one made ready at `time_ns`.
    readied: u32,
    /// Open waits, outermost first: positions in `out.waiters`.
    open: Vec<u32>,
    hops: u32,
    /// When the thread came back from the wait that is looked at.
    back_ns: i64,
    out: Walked,
}

impl<'a, 't> Walk<'a, 't> {
    /// Walks from thread `tid` at `end_ns` back to `start_ns`.
    pub(super) fn run(
        timelines: &'a Timelines<'t>,
        causes: &'a Causes<'t>,
        identities: &'a Identities<'t>,
        holds: Option<&'a Holds>,
        (start_ns, end_ns): (i64, i64),
        tid: u32,
    ) -> Walked {
        let mut walk = Self {
            timelines,
            causes,
            identities,
            holds,
            start_ns,
            time_ns: end_ns,
            tid,
            readied: 0,
            open: Vec::new(),
            hops: 0,
            back_ns: NO_STACK,
            out: Walked::default(),
        };
        while walk.time_ns > start_ns {
            if walk.time_ns <= walk.floor() {
                walk.go_back();
            } else if walk.out.steps.len() >= MAX_STEPS {
                walk.open.clear();
                walk.unknown_until(start_ns, Unknown::TooLong);
            } else {
                walk.step();
            }
        }
        walk.out.cut_sleeps(timelines.asleep());
        walk.out
    }

    /// Until when the current thread is followed.
    fn floor(&self) -> i64 {
        self.innermost().map_or(self.start_ns, |waiter| waiter.from_ns)
    }

    fn innermost(&self) -> Option<Waiter> {
        let at = *self.open.last()?;
        self.out.waiters.get(at as usize).copied()
    }

    /// The innermost wait is explained: on with the thread that waited.
    fn go_back(&mut self) {
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
            self.birth(born);
            return;
        }
        match last {
            Some(last) if last.turn == Turn::In => {
                self.push(last.row.time_ns, Work::Running, Certainty::Measured, &last);
            }
            Some(last) => match reason::off(last.row.old_state) {
                Off::Ready => {
                    self.push(last.row.time_ns, Work::Ready, Certainty::Measured, &last);
                }
                Off::Ended if self.is_gone(&last) => {
                    self.push(last.row.time_ns, Work::Unknown(Unknown::Gone), Certainty::Missing, &last);
                }
                Off::Ended => self.birth(last.row.time_ns),
                Off::Waiting => self.waited(&last),
            },
            None => self.first(born),
        }
    }

    /// Whether a thread that ended with switch `out` is still the one asked about: no other has its number yet.
    fn is_gone(&self, out: &ThreadSwitch) -> bool {
        let next = self.timelines.first_ready(self.tid, out.row.time_ns);
        self.timelines.switch(self.tid, out.place + 1).is_none() && next.is_none_or(|next| next.time_ns > self.time_ns)
    }

    /// The thread waits since switch `out`.
    fn waited(&mut self, out: &ThreadSwitch) {
        let next = self.timelines.switch(self.tid, out.place + 1);
        let next_ns = next.map_or(i64::MAX, |next| next.row.time_ns);
        self.back_ns = next.map_or(NO_STACK, |next| next.row.time_ns);
        let ready = self.timelines.ready_of_wait(self.tid, out, next.as_ref());
        if let Some(ready) = ready
            && ready.time_ns < self.time_ns
        {
            self.ready_since(&ready);
            // Made ready at the very moment at which it left the processor, it waited for nothing.
            if self.time_ns <= self.floor().max(out.row.time_ns) {
                return;
            }
        }
        if ready.is_none() && self.was_woken_while_leaving(out) {
            self.push(out.row.time_ns, Work::Ready, Certainty::Inferred, out);
            return;
        }
        if ready.is_none() && next.is_none() {
            let work = Work::Unknown(Unknown::NotOver);
            self.push_or_hold(work, Certainty::Missing, out);
            return;
        }
        let end_ns = next_ns.min(self.timelines.trace().duration_ns);
        let (cause, certainty) = self.causes.of_wait(&out.row, ready.as_ref(), end_ns);
        match cause {
            Cause::Thread(by) => {
                let is_worker = self.identities.is_worker(self.tid, self.time_ns);
                if is_worker || reason::is_for_work(out.row.old_wait_reason) {
                    self.hand_over(by);
                } else {
                    self.wait_for(by, out.row.time_ns);
                }
            }
            Cause::Disk(row) => self.disk(row, certainty, out),
            // systemd has timers while it waits for units: for messages that tell people so.
            Cause::Timer(of) if self.identities.is_linux() => {
                self.push_or_hold(Work::Timer(of), certainty, out);
            }
            Cause::Timer(of) => {
                self.push(out.row.time_ns, Work::Timer(of), certainty, out);
            }
            Cause::Device(of) => {
                self.push(out.row.time_ns, Work::Device(of), certainty, out);
            }
            Cause::Unknown(why) => self.push_or_hold(Work::Unknown(why), certainty, out),
        }
    }

    /// A wait since switch `out` that no thread explains: through the service that was waited for, if one was.
    fn push_or_hold(&mut self, work: Work, certainty: Certainty, out: &ThreadSwitch) {
        let from_ns = out.row.time_ns.max(self.floor());
        let found = self.holds.and_then(|holds| {
            let pid = self.identities.pid_of(self.tid, self.time_ns)?;
            let trace = self.timelines.trace();
            let at = holds.at(trace, self.identities, pid, (from_ns, self.time_ns))?;
            Some((at, *holds.get(at)?))
        });
        match found {
            // What follows the moment at which it was ready is the manager's own.
            Some((_, hold)) if hold.ready_ns.is_some_and(|ready| ready < self.time_ns) => {
                let ready_ns = hold.ready_ns.unwrap_or(from_ns);
                self.push(ready_ns, work, certainty, out);
            }
            Some((at, hold)) => self.through(at, &hold, from_ns.max(hold.start_ns)),
            None => self.push(out.row.time_ns, work, certainty, out),
        }
    }

    /// From here back to `from_ns` through the threads of a service that is waited for.
    fn through(&mut self, at: u32, hold: &Hold, from_ns: i64) {
        let thread = hold.thread(self.timelines, self.identities, self.time_ns).filter(|&tid| tid != self.tid);
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

    /// Whether the thread was made ready just before switch `out` was recorded, and after it had come to run.
    fn was_woken_while_leaving(&self, out: &ThreadSwitch) -> bool {
        let before = out.place.checked_sub(1).and_then(|place| self.timelines.switch(self.tid, place));
        let from_ns = out.row.time_ns.saturating_sub(LEAVING_NS);
        let from_ns = before.map_or(from_ns, |before| before.row.time_ns.max(from_ns));
        let ready = self.timelines.first_ready(self.tid, from_ns).filter(|ready| ready.time_ns < out.row.time_ns);
        ready.is_some_and(|ready| before.is_none_or(|before| !was_logged_before(&ready, &before)))
    }

    /// The thread waited for a disk request. What came before its issue is the issuing thread's.
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

    /// No switch of the thread comes before: it existed when the recording began, or is new.
    fn first(&mut self, born: Option<i64>) {
        let Some(first) = self.timelines.switch(self.tid, 0) else {
            self.unknown_until(self.floor(), Unknown::NotSeen);
            return;
        };
        if let Some(born) = born {
            self.birth(born);
        } else if first.turn == Turn::Out {
            // It ran since before the recording.
            self.push(i64::MIN, Work::Running, Certainty::Measured, &first);
        } else {
            self.woken_first(first.row.time_ns, Unknown::BeforeRecording);
        }
    }

    /// The thread is new: on with whoever made it ready for the first time, else with its creator.
    fn birth(&mut self, from_ns: i64) {
        let place = self.timelines.switches_before(self.tid, from_ns);
        let first_ns = self.timelines.switch(self.tid, place).map_or(i64::MAX, |first| first.row.time_ns);
        let ready = self.timelines.first_ready(self.tid, from_ns).filter(|ready| ready.time_ns <= first_ns);
        let by = ready.and_then(|ready| ready.readying_tid);
        match (ready, by) {
            (Some(ready), Some(by)) if by != 0 && by != self.tid => {
                self.ready_since(&ready);
                if self.time_ns > self.floor() {
                    self.hand_over(by);
                }
            }
            // The first processes of Linux are the kernel's own, and so is what ran before any switch was recorded.
            _ if self.is_kernel_alone() || (self.identities.is_linux() && self.tid <= LAST_FIRST_THREAD) => {
                self.record(self.floor(), Work::Kernel, Certainty::Inferred, NO_REASON);
            }
            _ => self.created(from_ns),
        }
    }

    /// No event says who made the new thread ready for the first time: on with the thread that recorded its start.
    fn created(&mut self, born_ns: i64) {
        let by = self.identities.creator_of(self.tid, self.time_ns);
        let Some(by) = by.filter(|&by| by != 0 && by != self.tid && self.identities.is_known(by)) else {
            self.unknown_until(self.floor(), Unknown::Creator);
            return;
        };
        if born_ns < self.time_ns {
            // Between its start and its first switch it waited for a processor, or for whoever let it go.
            self.record(born_ns, Work::Ready, Certainty::Inferred, NO_REASON);
        }
        if self.time_ns > self.floor() {
            self.hand_over(by);
        }
    }

    /// The thread waited since before the recording, until it was made ready for the first time.
    fn woken_first(&mut self, first_ns: i64, why: Unknown) {
        let ready = self.timelines.first_ready(self.tid, i64::MIN).filter(|ready| ready.time_ns <= first_ns);
        if let Some(ready) = ready {
            self.ready_since(&ready);
            let by = ready
                .readying_tid
                .filter(|&by| by != 0 && by != self.tid && ready.flags & super::timelines::IN_INTERRUPT == 0);
            if let Some(by) = by {
                if self.time_ns > self.floor() {
                    self.hand_over(by);
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

    /// Whether only the kernel can have run: it boots, and no switch was recorded yet.
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

    /// On with `by`, until back at `from_ns`, where the current thread began to wait for it.
    fn wait_for(&mut self, by: u32, from_ns: i64) {
        if self.open.len() < MAX_DEPTH {
            let waiter = Waiter {
                tid: self.tid,
                // An outer wait may have begun later: the walk then goes back to that one.
                from_ns: from_ns.max(self.floor()),
                waiter: self.waiter(),
            };
            if let Ok(at) = u32::try_from(self.out.waiters.len()) {
                self.out.waiters.push(waiter);
                self.open.push(at);
            }
        }
        self.hand_over(by);
    }

    /// On with `by` in place of the current thread.
    fn hand_over(&mut self, by: u32) {
        self.hops += 1;
        let waits = |&at: &u32| {
            self.out.waiters.get(at as usize).is_some_and(|waiter| waiter.tid == by && waiter.from_ns < self.time_ns)
        };
        if self.hops > MAX_HOPS || self.open.iter().any(waits) {
            // Whoever it is cannot have run: it waits for this.
            self.unknown_until(self.floor(), Unknown::Cycle);
            return;
        }
        self.readied = self.tid;
        self.tid = by;
    }

    fn unknown_until(&mut self, time_ns: i64, why: Unknown) {
        self.record(time_ns, Work::Unknown(why), Certainty::Missing, NO_REASON);
    }

    /// A step that ends with what `switch` began.
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

    /// A step from `start_ns`, cut at the floor, up to where the walk is.
    fn record(&mut self, start_ns: i64, work: Work, certainty: Certainty, reason: u8) {
        self.record_on(start_ns, work, certainty, reason, NO_PROCESSOR);
    }

    /// The same, on a processor.
    fn record_on(&mut self, start_ns: i64, work: Work, certainty: Certainty, reason: u8, cpu: u16) {
        let floor = self.floor();
        if self.time_ns <= floor {
            // The step before has come to the end of what is asked: nothing lies between.
            return;
        }
        let mut work = work;
        let mut start_ns = start_ns.max(floor);
        if start_ns >= self.time_ns {
            // Rows out of order: every step goes back in time, or the walk would not end.
            work = Work::Unknown(Unknown::Cycle);
            start_ns = floor.min(self.time_ns.saturating_sub(1));
        }
        let stack_ns = match work {
            Work::Running if self.readied != 0 => self.time_ns,
            Work::Running | Work::Ready | Work::Kernel => NO_STACK,
            _ => self.back_ns,
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
            hold: NOT_HELD,
        });
        self.time_ns = start_ns;
        self.readied = 0;
        self.hops = 0;
    }
}

/// No stack belongs to the step.
pub(super) const NO_STACK: i64 = i64::MIN;
/// The step is no wait.
pub(super) const NO_REASON: u8 = u8::MAX;

/// The walk that cannot begin, because no thread is known at its end.
pub(super) fn unknown(ends: (i64, i64)) -> Walked {
    single(ends, 0, Unknown::NoSwitches)
}

/// The walk through a service of which no thread is known.
pub(super) fn without_thread(ends: (i64, i64), waiting_tid: u32) -> Walked {
    single(ends, waiting_tid, Unknown::NoServiceThread)
}

fn single((start_ns, end_ns): (i64, i64), tid: u32, why: Unknown) -> Walked {
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
        hold: NOT_HELD,
    };
    Walked { steps: (end_ns > start_ns).then_some(step).into_iter().collect(), waiters: Vec::new() }
}
