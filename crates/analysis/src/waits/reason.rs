//! Why Windows says a thread waits (`KWAIT_REASON`), as far as it tells what ends the wait.
//!
//! Source: `KWAIT_REASON` of the Windows Driver Kit's `wdm.h`; the second half of the numbers repeats the first for waits
//! that drivers began.

/// State of a thread that could run (`KTHREAD_STATE`), waiting for a processor.
const READY: u8 = 1;
const RUNNING: u8 = 2;
const STANDBY: u8 = 3;
const TERMINATED: u8 = 4;
const DEFERRED_READY: u8 = 7;

/// What a thread does once it is off the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// It could run but has no processor.
    Ready,
    /// It has ended; what comes next is another thread of the same id.
    Ended,
    /// It waits.
    Waiting,
}

/// From the state in which a thread left.
pub(super) const fn off(state: u8) -> Off {
    match state {
        READY | RUNNING | STANDBY | DEFERRED_READY => Off::Ready,
        TERMINATED => Off::Ended,
        _ => Off::Waiting,
    }
}

/// Whether only a timer ends the wait: the thread sleeps (`DelayExecution`, `WrDelayExecution`).
pub(super) const fn is_sleep(reason: u8) -> bool {
    matches!(reason, 4 | 11)
}

/// Whether the thread waits for work to be handed to it (`WrQueue`, `WrLpcReceive`): what it did before has nothing to do
/// with what comes.
pub(super) const fn is_for_work(reason: u8) -> bool {
    matches!(reason, 15 | 16)
}

/// The name of a wait reason, as `KWAIT_REASON` has it.
pub(super) const fn name(reason: u8) -> &'static str {
    const NAMES: [&str; 40] = [
        "Executive",
        "FreePage",
        "PageIn",
        "PoolAllocation",
        "DelayExecution",
        "Suspended",
        "UserRequest",
        "WrExecutive",
        "WrFreePage",
        "WrPageIn",
        "WrPoolAllocation",
        "WrDelayExecution",
        "WrSuspended",
        "WrUserRequest",
        "WrEventPair",
        "WrQueue",
        "WrLpcReceive",
        "WrLpcReply",
        "WrVirtualMemory",
        "WrPageOut",
        "WrRendezvous",
        "WrKeyedEvent",
        "WrTerminated",
        "WrProcessInSwap",
        "WrCpuRateControl",
        "WrCalloutStack",
        "WrKernel",
        "WrResource",
        "WrPushLock",
        "WrMutex",
        "WrQuantumEnd",
        "WrDispatchInt",
        "WrPreempted",
        "WrYieldExecution",
        "WrFastMutex",
        "WrGuardedMutex",
        "WrRundown",
        "WrAlertByThreadId",
        "WrDeferredPreempt",
        "WrPhysicalFault",
    ];
    if (reason as usize) < NAMES.len() {
        NAMES[reason as usize]
    } else {
        ""
    }
}
