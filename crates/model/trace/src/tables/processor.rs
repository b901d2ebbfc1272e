//! What processors ran: switches, samples, interrupts.

use crate::codes;
use crate::stack::StackId;
use crate::string::StringId;
use crate::table::table;

table! {
    /// A processor stopped running one thread and began another.
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
        /// Why the old thread waits (`KWAIT_REASON`).
        old_wait_reason: u8,
        /// Wait mode: 0 kernel, 1 user.
        old_wait_mode: u8,
        /// State of the old thread (`KTHREAD_STATE`).
        old_state: u8,
        /// Idle state the processor left; meaningful when `old_tid` is 0.
        previous_c_state: u8,
        /// Ideal processor of the old thread.
        old_ideal_processor: u8,
        /// How long the new thread had waited, timer ticks.
        new_wait_ticks: u32,
    }
}

table! {
    /// A thread was made ready to run by another.
    ReadyThreads of ReadyThread {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor on which the readying code ran.
        cpu: u16 as Processor,
        /// Thread made ready.
        ready_tid: u32 as Thread,
        /// Thread that made it ready: the one that ran on `cpu`; `None` before the first context switch there.
        readying_tid: Option<u32> as OtherThread,
        /// Why the priority was adjusted: 0 none, 1 unwait, 2 boost.
        adjust_reason: u8,
        /// Priority increment.
        adjust_increment: i8,
        /// Flag bits: 1 done in a DPC, 2 kernel stack not resident, 4 process out of memory, 8 direct switch attempt.
        flags: u8,
        /// Context switches logged before it: its place among those of the same time, where the clock goes on in steps.
        /// `None` where none was logged before, or their order is not known.
        after_switches: Option<u32> as Place,
    }
}

table! {
    /// A profile sample: where a processor was.
    Samples of Sample {
        /// Time, ns.
        time_ns: i64 as Time,
        /// Processor.
        cpu: u16 as Processor,
        /// Thread that ran.
        tid: u32 as Thread,
        /// Instruction pointer.
        address: u64 as Address,
        /// Samples that this row counts.
        count: u16,
        /// Profile source; 0 is the timer.
        source: u16,
    }
}

table! {
    /// A call stack recorded with an event at the same time on the same thread. On Linux that of a thread that left a
    /// processor has the time of its return, when it is in the same functions still.
    Stacks of Stack {
        /// Time of the event the stack belongs to, ns.
        time_ns: i64 as Time,
        /// Process id.
        pid: u32 as Process,
        /// Thread id.
        tid: u32 as Thread,
        /// Return addresses, innermost first; kernel part before user part.
        stack: StackId,
    }
}

codes! {
    /// What interrupted a thread.
    pub enum InterruptKind {
        /// Interrupt service routine.
        Interrupt = "interrupt",
        /// Deferred procedure call.
        Dpc = "dpc",
        /// Deferred procedure call of a timer.
        TimerDpc = "timer_dpc",
        /// Deferred procedure call on a thread.
        ThreadedDpc = "threaded_dpc",
        /// Soft interrupt (Linux).
        SoftInterrupt = "soft_interrupt",
    }
}

table! {
    /// An interrupt service routine or a deferred procedure call that ran.
    Interrupts of Interrupt {
        /// Begin, ns.
        start_ns: i64 as Start,
        /// End, ns.
        end_ns: i64 as End,
        /// Processor.
        cpu: u16 as Processor,
        /// What it was.
        kind: InterruptKind,
        /// Routine's address.
        routine: u64 as Address,
        /// Interrupt vector, 0 for a deferred procedure call; on Linux the interrupt's or soft interrupt's number.
        vector: u16,
        /// Handler's name where the recording gives one in place of an address.
        name: StringId,
    }
}
