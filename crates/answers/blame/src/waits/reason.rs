//! Why the system says a thread waits, as far as it tells what ends the wait. The numbers are those of [`wait_reason`].

use onoff_trace::{ContextSwitch, SystemKind, wait_reason};

/// State of a thread that could run (`KTHREAD_STATE`), waiting for a processor.
const READY: u8 = 1;
const RUNNING: u8 = 2;
const STANDBY: u8 = 3;
const TERMINATED: u8 = 4;
const DEFERRED_READY: u8 = 7;

/// What a thread does once it is off the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Off {
    /// It could run but has no processor.
    Ready,
    /// It has ended; what comes next is another thread of the same id.
    Ended,
    /// It waits.
    Waiting,
}

/// From the state in which a thread left.
pub(crate) const fn off(state: u8) -> Off {
    match state {
        READY | RUNNING | STANDBY | DEFERRED_READY => Off::Ready,
        TERMINATED => Off::Ended,
        _ => Off::Waiting,
    }
}

/// Whether only a timer ends the wait: the thread sleeps (`DelayExecution`, `WrDelayExecution`).
pub(crate) const fn is_sleep(reason: u8) -> bool {
    matches!(reason, 4 | 11)
}

/// Whether the thread waits for work to be handed to it (`WrQueue`, `WrLpcReceive`): what it did before has nothing to do
/// with what comes.
pub(crate) const fn is_for_work(reason: u8) -> bool {
    matches!(reason, 15 | 16)
}

/// Why the system says that a thread waits that left with `row`: on Windows the reason's name, on Linux whether a signal
/// can end the wait, which is all that is recorded there.
pub(crate) fn of_switch(system: SystemKind, row: &ContextSwitch) -> &'static str {
    match (system, row.old_wait_mode) {
        (SystemKind::Linux, 0) => "uninterruptible",
        (SystemKind::Linux, _) => "interruptible",
        _ => name(system, row.old_wait_reason),
    }
}

/// The name of a wait reason; empty where the system records none.
pub(crate) fn name(system: SystemKind, reason: u8) -> &'static str {
    match system {
        SystemKind::Linux => "",
        SystemKind::Windows | SystemKind::Unknown => wait_reason::name(reason).unwrap_or_default(),
    }
}
