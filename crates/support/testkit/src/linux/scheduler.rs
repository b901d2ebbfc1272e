//! Schedules threads on processors in time slices and writes the scheduler's trace events.

use std::collections::VecDeque;

use super::plan::Work;

/// Time slice while other threads are ready, µs.
const SLICE_US: i64 = 4_000;
/// Time from a timer interrupt until the woken thread can run, µs.
const TIMER_LATENCY_US: i64 = 10;
/// CPU time of exec and of exit, µs.
const EXEC_US: i64 = 300;
const EXIT_US: i64 = 200;

/// A line of the trace.
#[derive(Clone, Debug)]
pub(super) struct TraceLine {
    pub(super) time_us: i64,
    pub(super) cpu: usize,
    pub(super) task: String,
    pub(super) pid: u32,
    /// Logged in a softirq.
    pub(super) in_interrupt: bool,
    pub(super) event: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Has no work.
    Waiting,
    /// Waits for a processor.
    Ready,
    Running(usize),
    /// Until this time, µs.
    Sleeping(i64),
    /// Woken by a timer; ready at this time, µs.
    Waking(i64),
    Exited,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    name: String,
    work: VecDeque<Work>,
    state: State,
    /// Remaining time slice, µs.
    remaining_slice_us: i64,
    /// A kernel thread: its waits are uninterruptible.
    is_kernel: bool,
    exec_name: Option<String>,
}

pub(super) type ThreadId = usize;

#[derive(Debug)]
pub(super) struct Scheduler {
    now_us: i64,
    threads: Vec<Thread>,
    running: Vec<Option<ThreadId>>,
    ready: VecDeque<ThreadId>,
    pub(super) lines: Vec<TraceLine>,
}

impl Scheduler {
    pub(super) fn new(processors: u16) -> Self {
        Self {
            now_us: 0,
            threads: Vec::new(),
            running: vec![None; usize::from(processors)],
            ready: VecDeque::new(),
            lines: Vec::new(),
        }
    }

    pub(super) const fn now_us(&self) -> i64 {
        self.now_us
    }

    /// Advances time without running threads.
    pub(super) fn advance(&mut self, us: i64) {
        self.now_us += us;
    }

    /// Adds a thread without work.
    pub(super) fn thread(&mut self, pid: u32, name: &str, is_kernel: bool) -> ThreadId {
        let (name, work) = (name.to_owned(), VecDeque::new());
        self.threads.push(Thread {
            pid,
            name,
            work,
            state: State::Waiting,
            remaining_slice_us: 0,
            is_kernel,
            exec_name: None,
        });
        self.threads.len() - 1
    }

    /// Adds a process created by `parent`, which starts with `work`.
    pub(super) fn process(&mut self, pid: u32, name: &str, work: &[Work], parent: ThreadId) -> ThreadId {
        let parent_name = self.threads[parent].name.clone();
        let parent_pid = self.threads[parent].pid;
        let thread = self.thread(pid, &parent_name, false);
        let fork =
            format!("sched_process_fork: comm={parent_name} pid={parent_pid} child_comm={parent_name} child_pid={pid}");
        self.trace(parent, &fork);
        self.trace(parent, &format!("sched_wakeup_new: comm={parent_name} pid={pid} prio=120 target_cpu=000"));
        let entry = &mut self.threads[thread];
        entry.exec_name = Some(name.to_owned());
        entry.work.push_back(Work::Cpu(EXEC_US));
        entry.work.extend(work);
        entry.work.push_back(Work::Cpu(EXIT_US));
        self.make_ready(thread);
        thread
    }

    /// Adds work to `thread`; wakes it from `waker`, or from an interrupt if that is `None`.
    pub(super) fn add_work(&mut self, thread: ThreadId, work: &[Work], waker: Option<ThreadId>) {
        self.threads[thread].work.extend(work);
        if self.threads[thread].state == State::Waiting {
            let waking = self.waking_event(thread);
            match waker {
                Some(waker) => self.trace(waker, &waking),
                None => self.trace_from_interrupt(&waking),
            }
            self.make_ready(thread);
        }
    }

    /// Writes a trace event in the context of a thread.
    pub(super) fn trace(&mut self, thread: ThreadId, event: &str) {
        let entry = &self.threads[thread];
        let cpu = match entry.state {
            State::Running(cpu) => cpu,
            _ => 0,
        };
        let (task, pid, event) = (entry.name.clone(), entry.pid, event.to_owned());
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid, in_interrupt: false, event });
    }

    /// Renames a thread by exec.
    pub(super) fn rename(&mut self, thread: ThreadId, name: &str, executable: &str) {
        let pid = self.threads[thread].pid;
        name.clone_into(&mut self.threads[thread].name);
        self.trace(thread, &format!("sched_process_exec: filename={executable} pid={pid} old_pid={pid}"));
    }

    /// Ends a thread.
    pub(super) fn exit(&mut self, thread: ThreadId) {
        let (name, pid) = (self.threads[thread].name.clone(), self.threads[thread].pid);
        self.trace(thread, &format!("sched_process_exit: comm={name} pid={pid} prio=120"));
        if let State::Running(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Exited;
            self.switch_out(cpu, thread, "X");
        }
        self.threads[thread].state = State::Exited;
    }

    /// Advances time until a running thread has no more work, and returns it. Returns `None` if no thread has work, or
    /// at `until_us`.
    pub(super) fn next(&mut self, until_us: i64) -> Option<ThreadId> {
        loop {
            self.fill_idle_processors();
            if let Some(thread) = self.finished_thread() {
                return Some(thread);
            }
            let event_times = self.running.iter().flatten().map(|&thread| self.now_us + self.until_event_us(thread));
            let wake_times = self.threads.iter().filter_map(|thread| match thread.state {
                State::Sleeping(wake_us) | State::Waking(wake_us) => Some(wake_us),
                _ => None,
            });
            let next_us = event_times.chain(wake_times).min()?;
            if next_us >= until_us {
                self.run(until_us - self.now_us);
                return None;
            }
            self.run(next_us - self.now_us);
            self.wake();
            self.switch();
        }
    }

    /// Blocks a thread that has no work.
    pub(super) fn block(&mut self, thread: ThreadId) {
        if let State::Running(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Waiting;
            self.switch_out(cpu, thread, "S");
        }
    }

    /// Freezes a thread (uninterruptible) until it gets work.
    pub(super) fn freeze(&mut self, thread: ThreadId) {
        if let State::Running(cpu) = self.threads[thread].state {
            self.threads[thread].state = State::Waiting;
            self.switch_out(cpu, thread, "D");
        }
    }

    fn waking_event(&self, thread: ThreadId) -> String {
        let entry = &self.threads[thread];
        format!("sched_waking: comm={} pid={} prio=120 target_cpu=000", entry.name, entry.pid)
    }

    fn trace_from_interrupt(&mut self, event: &str) {
        // The interrupt is handled by an idle processor, if there is one, otherwise by the first processor.
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
            line(self.now_us + TIMER_LATENCY_US - 1, true, "softirq_exit: vec=1 [action=TIMER]"),
        ];
        self.lines.extend(lines);
    }

    fn make_ready(&mut self, thread: ThreadId) {
        self.threads[thread].state = State::Ready;
        self.ready.push_back(thread);
    }

    /// Assigns ready threads to idle processors.
    fn fill_idle_processors(&mut self) {
        for cpu in 0..self.running.len() {
            if self.running[cpu].is_none()
                && let Some(thread) = self.ready.pop_front()
            {
                self.switch_in(cpu, thread, &idle_task(cpu));
            }
        }
    }

    fn switch_in(&mut self, cpu: usize, thread: ThreadId, previous: &PreviousTask) {
        let entry = &mut self.threads[thread];
        entry.state = State::Running(cpu);
        entry.remaining_slice_us = SLICE_US;
        let event = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm={} next_pid={} next_prio=120",
            previous.name, previous.pid, previous.state, entry.name, entry.pid
        );
        self.running[cpu] = Some(thread);
        let task = if previous.pid == 0 { "<idle>".to_owned() } else { previous.name.clone() };
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid: previous.pid, in_interrupt: false, event });
        let entry = &mut self.threads[thread];
        if let Some(program) = entry.exec_name.take() {
            let event = format!("sched_process_exec: filename=/usr/sbin/{program} pid={0} old_pid={0}", entry.pid);
            entry.name.clone_from(&program);
            let (time_us, pid) = (self.now_us + EXEC_US / 2, entry.pid);
            self.lines.push(TraceLine { time_us, cpu, task: program, pid, in_interrupt: false, event });
        }
    }

    /// Switches from a thread to the next ready one.
    fn switch_out(&mut self, cpu: usize, thread: ThreadId, state: &'static str) {
        let entry = &self.threads[thread];
        let previous = PreviousTask { name: entry.name.clone(), pid: entry.pid, state };
        self.running[cpu] = None;
        if let Some(next) = self.ready.pop_front() {
            self.switch_in(cpu, next, &previous);
            return;
        }
        let event = format!(
            "sched_switch: prev_comm={} prev_pid={} prev_prio=120 prev_state={} ==> next_comm=swapper/{cpu} next_pid=0 next_prio=120",
            previous.name, previous.pid, previous.state
        );
        let PreviousTask { name: task, pid, .. } = previous;
        self.lines.push(TraceLine { time_us: self.now_us, cpu, task, pid, in_interrupt: false, event });
    }

    fn finished_thread(&self) -> Option<ThreadId> {
        self.running.iter().flatten().copied().find(|&thread| self.threads[thread].work.is_empty())
    }

    fn until_event_us(&self, thread: ThreadId) -> i64 {
        let entry = &self.threads[thread];
        match entry.work.front() {
            Some(&Work::Cpu(us)) if self.ready.is_empty() => us,
            Some(&Work::Cpu(us)) => us.min(entry.remaining_slice_us.max(0)),
            _ => 0,
        }
    }

    fn run(&mut self, us: i64) {
        self.now_us += us;
        for &thread in self.running.iter().flatten() {
            let entry = &mut self.threads[thread];
            entry.remaining_slice_us -= us;
            if let Some(Work::Cpu(remaining_us)) = entry.work.front_mut() {
                *remaining_us -= us;
            }
        }
    }

    fn wake(&mut self) {
        for thread in 0..self.threads.len() {
            match self.threads[thread].state {
                State::Sleeping(wake_us) if wake_us <= self.now_us => {
                    let waking = self.waking_event(thread);
                    self.trace_from_interrupt(&waking);
                    self.threads[thread].state = State::Waking(self.now_us + TIMER_LATENCY_US);
                }
                State::Waking(wake_us) if wake_us <= self.now_us => self.make_ready(thread),
                _ => {}
            }
        }
    }

    /// Advances threads that finished a part of their work, and preempts threads at the end of their slice.
    fn switch(&mut self) {
        for cpu in 0..self.running.len() {
            let Some(thread) = self.running[cpu] else { continue };
            while matches!(self.threads[thread].work.front(), Some(&Work::Cpu(remaining_us)) if remaining_us <= 0) {
                self.threads[thread].work.pop_front();
            }
            match self.threads[thread].work.front() {
                Some(&Work::Sleep(us)) => {
                    self.threads[thread].work.pop_front();
                    self.threads[thread].state = State::Sleeping(self.now_us + us);
                    let state = if self.threads[thread].is_kernel { "D" } else { "S" };
                    self.switch_out(cpu, thread, state);
                }
                Some(_) if self.threads[thread].remaining_slice_us <= 0 && !self.ready.is_empty() => {
                    self.threads[thread].state = State::Ready;
                    self.ready.push_back(thread);
                    self.switch_out(cpu, thread, "R");
                }
                _ => {}
            }
        }
    }
}

/// The task that a processor ran before a context switch, and its new state.
struct PreviousTask {
    name: String,
    pid: u32,
    state: &'static str,
}

fn idle_task(cpu: usize) -> PreviousTask {
    PreviousTask { name: format!("swapper/{cpu}"), pid: 0, state: "R" }
}
