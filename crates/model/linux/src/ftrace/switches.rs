//! Reads context switches and ready threads from `sched_switch`, `sched_waking` and `sched_wakeup`.

use onoff_ftrace::{Event, Kind, TaskState};
use onoff_trace::{ContextSwitch, ContextSwitches, ReadyThread, ReadyThreads, TableName};

use crate::assembly::Assembly;

/// Thread states as numbered by the model (`KTHREAD_STATE`).
mod state {
    pub(super) const READY: u8 = 1;
    pub(super) const TERMINATED: u8 = 4;
    pub(super) const WAITING: u8 = 5;
}

const UNINTERRUPTIBLE: u8 = 0;
const INTERRUPTIBLE: u8 = 1;

/// Flag of [`ReadyThread`]: the wakeup happened in an interrupt.
const IN_INTERRUPT: u8 = 1;

#[derive(Debug, Default)]
pub(super) struct SwitchTracker {
    switches: ContextSwitches,
    ready: ReadyThreads,
    /// True if `sched_waking` is recorded, which makes the following `sched_wakeup` redundant.
    has_waking: bool,
}

impl SwitchTracker {
    pub(super) fn on_switch(&mut self, time_ns: i64, cpu: u16, switch: &Kind<'_>, assembly: &mut Assembly) {
        let &Kind::Switch {
            previous_task,
            previous_pid,
            previous_priority,
            previous_state,
            next_task,
            next_pid,
            next_priority,
        } = switch
        else {
            return;
        };
        let Assembly { processes, texts, .. } = assembly;
        processes.observe_running(previous_pid, previous_task, texts);
        processes.observe_running(next_pid, next_task, texts);
        let old_state = old_state(previous_state);
        if old_state == state::TERMINATED {
            processes.end_if_open(time_ns, previous_pid);
        }
        if assembly.wants(TableName::ContextSwitches) {
            self.switches.push(ContextSwitch {
                time_ns,
                cpu,
                new_tid: next_pid,
                old_tid: previous_pid,
                new_priority: priority(next_priority),
                old_priority: priority(previous_priority),
                old_wait_mode: if previous_state.letter == b'D' { UNINTERRUPTIBLE } else { INTERRUPTIBLE },
                old_state,
                ..ContextSwitch::UNKNOWN
            });
        }
    }

    /// Adds a wakeup. `waking` is the name and id of the thread, and whether it runs for the first time.
    pub(super) fn on_waking(
        &mut self,
        time_ns: i64,
        event: &Event<'_>,
        waking: (&str, u32, bool),
        in_interrupt: bool,
        assembly: &mut Assembly,
    ) {
        let (task, pid, is_first_run) = waking;
        if is_first_run {
            let name = assembly.intern(task);
            assembly.processes.first_run(time_ns, event.pid, pid, name);
        } else {
            let is_wakeup = event.name == "sched_wakeup";
            self.has_waking |= !is_wakeup;
            if is_wakeup && self.has_waking {
                return;
            }
        }
        if assembly.wants(TableName::ReadyThreads) {
            self.ready.push(ReadyThread {
                time_ns,
                cpu: event.cpu,
                ready_tid: pid,
                readying_tid: Some(event.pid),
                adjust_reason: 0,
                adjust_increment: 0,
                flags: if in_interrupt { IN_INTERRUPT } else { 0 },
                after_switches: u32::try_from(self.switches.len()).ok().filter(|&count| count > 0),
            });
        }
    }

    pub(super) fn finish(mut self, assembly: &mut Assembly) {
        if !assembly.context_switches.is_empty() {
            // The relative order of records in several traces is unknown.
            for row in 0..self.ready.len() {
                self.ready.after_switches.set(row, None);
            }
        }
        assembly.context_switches.push(self.switches);
        assembly.ready_threads.push(self.ready);
    }
}

const fn old_state(state: TaskState) -> u8 {
    match state.letter {
        _ if state.preempted => state::READY,
        b'R' => state::READY,
        b'X' | b'Z' => state::TERMINATED,
        _ => state::WAITING,
    }
}

/// Converts a priority: kernel priorities count down (100 to 139, real time below 100), model priorities count up.
fn priority(kernel: i32) -> i8 {
    139_i32.saturating_sub(kernel).clamp(0, 127) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_count_up() {
        assert_eq!([139, 120, 100].map(priority), [0, 19, 39]);
        assert_eq!([99, 0, -1, i32::MIN].map(priority), [40, 127, 127, 127]);
    }
}
