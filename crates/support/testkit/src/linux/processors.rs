//! Threads on processors, in time: each runs a slice, waits for its turn, or for a timer; the tracer writes it down.

use std::collections::VecDeque;

use super::plan::Work;

/// What a thread runs at most while others wait, µs.
const SLICE_US: i64 = 4_000;
/// What an interrupt of the timer takes until the thread that it wakes can run, µs.
const TIMER_US: i64 = 10;
/// What a process needs to become its program, and to end, µs.
const EXECUTE_US: i64 = 300;
const EXIT_US: i64 = 200;

/// A line of the tracer: when, on which processor, by whom, and what.
#[derive(Clone, Debug)]
pub(super) struct TraceLine {
    pub(super) time_us: i64,
    pub(super) cpu: usize,
    pub(super) task: String,
    pub(super) pid: u32,
    /// Whether a soft interrupt was under way.
    pub(super) in_interrupt: bool,
    pub(super) event: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has nothing to do.
    Waits,
    /// It waits for its turn.
    Ready,
    Runs(usize),
    /// Until then.
    Sleeps(i64),
    /// A timer has woken it: it can run from then on.
    Wakes(i64),
    Gone,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    name: String,
    work: VecDeque<Work>,
    state: State,
    /// Of its slice, µs.
    left_us: i64,
    /// The kernel's own work is not to be disturbed while it waits.
    is_kernel: bool,
    becomes: Option<String>,
}

pub(super) type ThreadId = usize;

#[derive(Debug)]
pub(super) struct Processors {
    now_us: i64,
    threads: Vec<Thread>,
    running: Vec<Option<ThreadId>>,
    ready: VecDeque<ThreadId>,
    pub(super) lines: Vec<TraceLine>,
}

impl Processors {
    pub(super) fn new(processors: u16) -> Self {
        Self {
            now_us: 0,
            threads: Vec::new(),
            running: vec![None; usize::from(processors)],
            ready: VecDeque::new(),
            lines: Vec::new(),
        }
    }

    /// µs since the kernel's start.
    pub(super) const fn now_us(&self) -> i64 {
        self.now_us
    }

    /// Time goes on with nothing to do; what is under way is not looked at.
    pub(super) fn pass(&mut self, us: i64) {
        self.now_us += us;
    }

    /// A thread that has nothing to do yet.
    pub(super) fn thread(&mut self, pid: u32, name: &str, is_kernel: bool) -> ThreadId {
        let (name, work) = (name.to_owned(), VecDeque::new());
        self.threads.push(Thread { pid, name, work, state: State::Waits, left_us: 0, is_kernel, becomes: None });
        self.threads.len() - 1
    }

    /// A process that `parent` makes and that begins with `work`.
    pub(super) fn process(&mut self, pid: u32, name: &str, work: &[Work], parent: ThreadId) -> ThreadId {
        let parent_name = self.threads[parent].name.clone();
        let parent_pid = self.threads[parent].pid;
        let thread = self.thread(pid, &parent_name, false);
        let fork =
            format!("sched_process_fork: comm={parent_name} pid={parent_pid} child_comm={parent_name} child_pid={pid}");
        self.says(parent, &fork);
        self.says(parent, &format!("sched_wakeup_new: comm={parent_name} pid={pid} prio=120 target_cpu=000"));
        let its = &mut self.threads[thread];
        its.becomes = Some(name.to_owned());
        its.work.push_back(Work::Runs(EXECUTE_US));
        its.work.extend(work);
        its.work.push_back(Work::Runs(EXIT_US));
        self.is_ready(thread);
        thread
    }

    /// `thread` gets more to do, from `by` or, without one, from an interrupt.
    pub(super) fn give(&mut self, thread: ThreadId, work: &[Work], by: Option<ThreadId>) {
        self.threads[thread].work.extend(work);
        if self.threads[thread].state == State::Waits {
            let waking = self.waking(thread);
            match by {
                Some(by) => self.says(by, &waking),
                None => self.idle_says(&waking),
            }
            self.is_ready(thread);
        }
    }

    /// A thread writes an event.
    pub(super) fn says(&mut self, thread: ThreadId, event: &str) {
        let its = &self.threads[thread];
        let cpu = match its.state {
            State::Runs(cpu) => cpu,
            _ => 0,
        };
        let (task, pid, event) = (its.name.clone(), its.pid, event.to_owned());
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid, in_interrupt: false, event });
    }

    /// It is called something else from now on.
    pub(super) fn rename(&mut self, thread: ThreadId, name: &str, executable: &str) {
        let pid = self.threads[thread].pid;
        name.clone_into(&mut self.threads[thread].name);
        self.says(thread, &format!("sched_process_exec: filename={executable} pid={pid} old_pid={pid}"));
    }

    /// It ends, and its parent hears of it.
    pub(super) fn exits(&mut self, thread: ThreadId) {
        let (name, pid) = (self.threads[thread].name.clone(), self.threads[thread].pid);
        self.says(thread, &format!("sched_process_exit: comm={name} pid={pid} prio=120"));
        if let State::Runs(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Gone;
            self.leaves(cpu, thread, "X");
        }
        self.threads[thread].state = State::Gone;
    }

    /// Time goes on until a thread has nothing to do any more: which one. `None` when that is so of all, or at
    /// `until_us`.
    pub(super) fn next(&mut self, until_us: i64) -> Option<ThreadId> {
        loop {
            self.place();
            if let Some(done) = self.done() {
                return Some(done);
            }
            let ends = self.running.iter().flatten().map(|&thread| self.now_us + self.until_event_us(thread));
            let wakes = self.threads.iter().filter_map(|thread| match thread.state {
                State::Sleeps(until) | State::Wakes(until) => Some(until),
                _ => None,
            });
            let next_us = ends.chain(wakes).min()?;
            if next_us >= until_us {
                self.run(until_us - self.now_us);
                return None;
            }
            self.run(next_us - self.now_us);
            self.wake();
            self.switch();
        }
    }

    /// The thread leaves its processor: it has nothing to do.
    pub(super) fn rests(&mut self, thread: ThreadId) {
        if let State::Runs(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Waits;
            self.leaves(cpu, thread, "S");
        }
    }

    /// The thread stops for good, not to be disturbed, until it is given work.
    pub(super) fn freezes(&mut self, thread: ThreadId) {
        if let State::Runs(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Waits;
            self.leaves(cpu, thread, "D");
        }
    }

    fn waking(&self, thread: ThreadId) -> String {
        let its = &self.threads[thread];
        format!("sched_waking: comm={} pid={} prio=120 target_cpu=000", its.name, its.pid)
    }

    fn idle_says(&mut self, event: &str) {
        // An interrupt comes on a processor that has nothing to do, else on the first.
        let cpu = self.running.iter().position(Option::is_none).unwrap_or(0);
        let (task, pid) = match self.running[cpu] {
            Some(thread) => (self.threads[thread].name.clone(), self.threads[thread].pid),
            None => ("<idle>".to_owned(), 0),
        };
        let line = |time_us, in_interrupt, event: &str| {
            let (task, event) = (task.clone(), event.to_owned());
            TraceLine { time_us, cpu, task, pid, in_interrupt, event }
        };
        let lines = [
            line(self.now_us, true, "softirq_entry: vec=1 [action=TIMER]"),
            line(self.now_us + 1, true, event),
            line(self.now_us + TIMER_US - 1, true, "softirq_exit: vec=1 [action=TIMER]"),
        ];
        self.lines.extend(lines);
    }

    fn is_ready(&mut self, thread: ThreadId) {
        self.threads[thread].state = State::Ready;
        self.ready.push_back(thread);
    }

    /// Processors without work take who waits for one.
    fn place(&mut self) {
        for cpu in 0..self.running.len() {
            if self.running[cpu].is_none()
                && let Some(thread) = self.ready.pop_front()
            {
                self.comes(cpu, thread, &idle(cpu));
            }
        }
    }

    fn comes(&mut self, cpu: usize, thread: ThreadId, before: &(String, u32, &'static str)) {
        let its = &mut self.threads[thread];
        its.state = State::Runs(cpu);
        its.left_us = SLICE_US;
        let event = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm={} next_pid={} next_prio=120",
            before.0, before.1, before.2, its.name, its.pid
        );
        self.running[cpu] = Some(thread);
        let task = if before.1 == 0 { "<idle>".to_owned() } else { before.0.clone() };
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid: before.1, in_interrupt: false, event });
        let its = &mut self.threads[thread];
        if let Some(program) = its.becomes.take() {
            let event = format!("sched_process_exec: filename=/usr/sbin/{program} pid={0} old_pid={0}", its.pid);
            its.name.clone_from(&program);
            let (time_us, pid) = (self.now_us + EXECUTE_US / 2, its.pid);
            self.lines.push(TraceLine { time_us, cpu, task: program, pid, in_interrupt: false, event });
        }
    }

    /// The thread leaves, and the next one comes.
    fn leaves(&mut self, cpu: usize, thread: ThreadId, state: &'static str) {
        let its = &self.threads[thread];
        let before = (its.name.clone(), its.pid, state);
        self.running[cpu] = None;
        if let Some(next) = self.ready.pop_front() {
            self.comes(cpu, next, &before);
            return;
        }
        let event = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm=swapper/{cpu} next_pid=0 next_prio=120",
            before.0, before.1, before.2
        );
        let (task, pid) = (before.0, before.1);
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid, in_interrupt: false, event });
    }

    fn done(&self) -> Option<ThreadId> {
        self.running.iter().flatten().copied().find(|&thread| self.threads[thread].work.is_empty())
    }

    fn until_event_us(&self, thread: ThreadId) -> i64 {
        let its = &self.threads[thread];
        match its.work.front() {
            Some(&Work::Runs(us)) if self.ready.is_empty() => us,
            Some(&Work::Runs(us)) => us.min(its.left_us.max(0)),
            _ => 0,
        }
    }

    fn run(&mut self, us: i64) {
        self.now_us += us;
        for &thread in self.running.iter().flatten() {
            let its = &mut self.threads[thread];
            its.left_us -= us;
            if let Some(Work::Runs(left)) = its.work.front_mut() {
                *left -= us;
            }
        }
    }

    fn wake(&mut self) {
        for thread in 0..self.threads.len() {
            match self.threads[thread].state {
                State::Sleeps(until) if until <= self.now_us => {
                    let waking = self.waking(thread);
                    self.idle_says(&waking);
                    self.threads[thread].state = State::Wakes(self.now_us + TIMER_US);
                }
                State::Wakes(until) if until <= self.now_us => self.is_ready(thread),
                _ => {}
            }
        }
    }

    /// Who has done a part of its work goes on to the next; who has had its slice gives way.
    fn switch(&mut self) {
        for cpu in 0..self.running.len() {
            let Some(thread) = self.running[cpu] else { continue };
            while matches!(self.threads[thread].work.front(), Some(&Work::Runs(left)) if left <= 0) {
                self.threads[thread].work.pop_front();
            }
            match self.threads[thread].work.front() {
                Some(&Work::Sleeps(us)) => {
                    self.threads[thread].work.pop_front();
                    self.threads[thread].state = State::Sleeps(self.now_us + us);
                    let state = if self.threads[thread].is_kernel { "D" } else { "S" };
                    self.leaves(cpu, thread, state);
                }
                Some(_) if self.threads[thread].left_us <= 0 && !self.ready.is_empty() => {
                    self.threads[thread].state = State::Ready;
                    self.ready.push_back(thread);
                    self.leaves(cpu, thread, "R");
                }
                _ => {}
            }
        }
    }
}

fn idle(cpu: usize) -> (String, u32, &'static str) {
    (format!("swapper/{cpu}"), 0, "R")
}
