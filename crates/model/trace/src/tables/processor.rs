//! Processor activity: context switches, samples, interrupts.

use crate::codes;
use crate::stack::StackId;
use crate::string::StringId;
use crate::table::table;

table! {
    /// A context switch: a processor stopped running one thread and started another.
    ContextSwitches of ContextSwitch {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor.
        cpu: u16 as Processor,
        /// Thread switched in; 0 is the processor's idle thread.
        new_tid: u32 as Thread,
        /// Thread switched out.
        old_tid: u32 as OtherThread,
        /// Priority of the thread switched in, 0–31.
        new_priority: i8,
        /// Priority of the thread switched out, 0–31.
        old_priority: i8,
        /// Wait reason of the thread switched out (`KWAIT_REASON`).
        old_wait_reason: u8,
        /// Wait mode of the thread switched out: 0 kernel, 1 user.
        old_wait_mode: u8,
        /// State of the thread switched out (`KTHREAD_STATE`).
        old_state: u8,
        /// Idle state (C-state) the processor left; valid when `old_tid` is 0.
        previous_c_state: u8,
        /// Ideal processor of the thread switched out.
        old_ideal_processor: u8,
        /// How long the thread switched in had waited, in timer ticks.
        new_wait_ticks: u32,
    }
}

table! {
    /// A thread was readied by another.
    ReadyThreads of ReadyThread {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor on which the readying code ran.
        cpu: u16 as Processor,
        /// Thread that became ready.
        ready_tid: u32 as Thread,
        /// Readying thread, which ran on `cpu`; `None` before the first context switch on this processor.
        readying_tid: Option<u32> as OtherThread,
        /// Reason for the priority adjustment: 0 none, 1 unwait, 2 boost.
        adjust_reason: u8,
        /// Priority increment.
        adjust_increment: i8,
        /// Flag bits: 1 readied in a DPC, 2 kernel stack not resident, 4 process swapped out, 8 direct switch attempt.
        flags: u8,
        /// Number of context switches logged before this event, which orders events with the same time on a coarse
        /// clock. `None` if no switch was logged before, or the order is not known.
        after_switches: Option<u32> as RowOffset,
    }
}

table! {
    /// A profile sample: what a processor was executing.
    Samples of Sample {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor.
        cpu: u16 as Processor,
        /// Running thread.
        tid: u32 as Thread,
        /// Instruction pointer.
        address: u64 as Address,
        /// Number of samples in the row.
        count: u16,
        /// Profile source; 0 is the timer.
        source: u16,
    }
}

table! {
    /// The call stack of an event at the same time on the same thread. On Linux, the stack of a thread that was
    /// switched out has the time of its return, when the thread is still in the same functions.
    Stacks of Stack {
        /// Time of the event that the stack belongs to, ns.
        time_ns: i64 as Time,
        /// Process id.
        pid: u32 as Process,
        /// Thread id.
        tid: u32 as Thread,
        /// Return addresses, innermost first, kernel frames before user frames.
        stack: StackId,
    }
}

codes! {
    /// Kind of routine that interrupted a thread.
    pub enum InterruptKind {
        /// Interrupt service routine.
        Interrupt = "interrupt",
        /// Deferred procedure call (DPC).
        Dpc = "dpc",
        /// Timer DPC.
        TimerDpc = "timer_dpc",
        /// Threaded DPC.
        ThreadedDpc = "threaded_dpc",
        /// Softirq (Linux).
        SoftInterrupt = "soft_interrupt",
    }
}

table! {
    /// An execution of an interrupt service routine or a DPC.
    Interrupts of Interrupt {
        /// Start, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
        /// Processor.
        cpu: u16 as Processor,
        /// Kind of routine.
        kind: InterruptKind,
        /// Address of the routine.
        routine: u64 as Address,
        /// Interrupt vector, 0 for a DPC; on Linux, the number of the interrupt or softirq.
        vector: u16,
        /// Name of the handler, where recorded instead of an address.
        name: StringId,
    }
}
