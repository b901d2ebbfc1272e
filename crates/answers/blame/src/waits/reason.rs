//! Wait reasons and thread states, as far as they show what ends a wait. The numbers match [`wait_reason`].

use onoff_trace::{SystemKind, wait_reason};

/// `KTHREAD_STATE` values. `READY`: waiting for a processor.
const READY: u8 = 1;
const RUNNING: u8 = 2;
const STANDBY: u8 = 3;
const TERMINATED: u8 = 4;
const DEFERRED_READY: u8 = 7;

/// State of a thread after it was switched out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadState {
    /// Runnable, but without a processor.
    Ready,
    /// Terminated. A later event with this id belongs to another thread.
    Ended,
    Waiting,
}

/// Maps the recorded state of a thread that was switched out.
pub(crate) const fn state_after_switch_out(state: u8) -> ThreadState {
    match state {
        READY | RUNNING | STANDBY | DEFERRED_READY => ThreadState::Ready,
        TERMINATED => ThreadState::Ended,
        _ => ThreadState::Waiting,
    }
}

/// True if a thread that was switched out in this recorded state still wanted to run.
#[must_use]
pub const fn is_ready_after_switch_out(state: u8) -> bool {
    matches!(state_after_switch_out(state), ThreadState::Ready)
}

/// True for a sleep (`DelayExecution`, `WrDelayExecution`), which only a timer ends.
pub(crate) const fn is_sleep(reason: u8) -> bool {
    matches!(reason, 4 | 11)
}

/// True if the thread waits for a work item (`WrQueue`, `WrLpcReceive`): what it did before is unrelated to what
/// follows.
pub(crate) const fn is_work_item_wait(reason: u8) -> bool {
    matches!(reason, 15 | 16)
}

/// Returns a recorded wait reason: on Windows the reason's name; on Linux only whether a
/// signal can end the wait, which is all that is recorded.
pub(crate) fn recorded_reason(system: SystemKind, wait_mode: u8, wait_reason: u8) -> &'static str {
    match (system, wait_mode) {
        (SystemKind::Linux, 0) => "uninterruptible",
        (SystemKind::Linux, _) => "interruptible",
        _ => name(system, wait_reason),
    }
}

/// Returns the name of a wait reason; empty if the system does not record any.
pub(crate) fn name(system: SystemKind, reason: u8) -> &'static str {
    match system {
        SystemKind::Linux => "",
        SystemKind::Windows | SystemKind::Unknown => wait_reason::name(reason).unwrap_or_default(),
    }
}
