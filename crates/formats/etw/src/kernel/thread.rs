//! Group 0x05: threads, apart from switching between them.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

kinds! {
    /// What a [`Thread`] event says about its thread.
    ThreadEventKind {
        /// It was created (0x0501).
        Start = 0x0501,
        /// It ended (0x0502).
        End = 0x0502,
        /// It was already there when recording began (0x0503).
        RundownStart = 0x0503,
        /// It was still there when recording ended (0x0504).
        RundownEnd = 0x0504,
    }
}

/// A thread starts, ends, or is described by a rundown. Hooks 0x0501 to 0x0504.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'b> {
    /// Which of the four events this is.
    pub kind: ThreadEventKind,
    /// Process the thread belongs to (not the one that logged the event).
    pub process_id: u32,
    /// Thread id.
    pub thread_id: u32,
    /// Highest address of the kernel stack.
    pub stack_base: u64,
    /// Lowest address of the kernel stack.
    pub stack_limit: u64,
    /// Highest address of the user stack.
    pub user_stack_base: u64,
    /// Lowest address of the user stack.
    pub user_stack_limit: u64,
    /// Where the thread begins, in versions 1 and 2; zero otherwise.
    pub start_address: u64,
    /// Processors the thread may run on, from version 3 on; zero otherwise.
    pub affinity: u64,
    /// Start address the creator gave.
    pub win32_start_address: u64,
    /// Address of the thread environment block; zero before version 2.
    pub teb_base: u64,
    /// Service the thread works for, as the service control manager numbers them; zero = none.
    pub sub_process_tag: u32,
    /// Priorities, from version 3 on.
    pub priorities: Option<ThreadPriorities>,
    /// Name given to the thread, from version 4 on and in late version 3 events; empty = none.
    pub thread_name: Utf16<'b>,
}

/// The three priorities of a thread and its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPriorities {
    /// CPU base priority, 0 to 31.
    pub base: u8,
    /// Memory priority, 0 to 7.
    pub page: u8,
    /// I/O priority, 0 very low to 4 critical.
    pub io: u8,
    /// Undocumented flags.
    pub flags: u8,
}

impl<'b> Thread<'b> {
    /// Reads the payload of one of the four hooks.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        let kind = ThreadEventKind::of(payload.hook)?;
        let version = payload.version;
        let mut fields = payload.fields;
        let (first, second) = (fields.u32()?, fields.u32()?);
        // Version 0 names the thread before its process.
        let (process_id, thread_id) = if version == 0 { (second, first) } else { (first, second) };
        let mut thread = Thread {
            kind,
            process_id,
            thread_id,
            stack_base: 0,
            stack_limit: 0,
            user_stack_base: 0,
            user_stack_limit: 0,
            start_address: 0,
            affinity: 0,
            win32_start_address: 0,
            teb_base: 0,
            sub_process_tag: 0,
            priorities: None,
            thread_name: Utf16::default(),
        };
        // Version 1 of the end event is the two ids and nothing else.
        if version == 0 || (version == 1 && kind == ThreadEventKind::End) {
            return Some(thread);
        }
        thread.stack_base = fields.pointer()?;
        thread.stack_limit = fields.pointer()?;
        thread.user_stack_base = fields.pointer()?;
        thread.user_stack_limit = fields.pointer()?;
        let start_or_affinity = fields.pointer()?;
        if version >= 3 {
            thread.affinity = start_or_affinity;
        } else {
            thread.start_address = start_or_affinity;
        }
        thread.win32_start_address = fields.pointer()?;
        if version >= 2 {
            thread.teb_base = fields.pointer()?;
            thread.sub_process_tag = fields.u32()?;
        }
        if version >= 3 {
            let [base, page, io, flags] = *fields.array()?;
            thread.priorities = Some(ThreadPriorities { base, page, io, flags });
            thread.thread_name = fields.utf16_z();
        }
        Some(thread)
    }
}
parse_from_record!(Thread<'b>);

events! {
    /// A thread is given a name. Hook 0x0548.
    0x0548 => ThreadName<'b> {
        /// Process of the thread.
        process_id: u32,
        /// The thread.
        thread_id: u32,
        /// Its name.
        thread_name: Utf16<'b>,
    }
}

kinds! {
    /// Which priority a [`ThreadPriorityChange`] is about.
    ThreadPriorityKind {
        /// Current CPU priority (0x0530).
        Current = 0x0530,
        /// Base CPU priority (0x0531).
        Base = 0x0531,
        /// Memory priority (0x0533).
        Page = 0x0533,
        /// I/O priority (0x0534).
        Io = 0x0534,
    }
}

events! {
    /// A priority of a thread changes. Hooks 0x0530, 0x0531, 0x0533, 0x0534.
    ThreadPriorityChange {
        /// Which priority.
        kind: ThreadPriorityKind = hook,
        /// The thread.
        thread_id: u32,
        /// Priority before.
        old_priority: u8,
        /// Priority from now on.
        new_priority: u8,
    }

    /// The logging thread begins to work for another service. Hook 0x0545.
    0x0545 => SubProcessTagChange {
        /// Tag before.
        old_tag: u32,
        /// Tag from now on.
        new_tag: u32,
    }

    /// A system worker thread ran an item of work. Hook 0x0539.
    0x0539 => WorkerThreadItem {
        /// The worker.
        thread_id: u32,
        /// When the item began, in ticks of the log's clock; it ended when the event was logged.
        start_ticks: u64,
        /// The routine that ran.
        thread_routine: u64 as pointer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn version_0_has_the_ids_swapped() {
        let bytes = words(&[12, 4]);
        let thread = Thread::read(KernelPayload::new(0x0501, 0, &bytes, 4)).unwrap();
        assert_eq!((thread.thread_id, thread.process_id), (12, 4));
        let bytes = words(&[4, 12]);
        let thread = Thread::read(KernelPayload::new(0x0502, 1, &bytes, 4)).unwrap();
        assert_eq!((thread.thread_id, thread.process_id), (12, 4));
    }

    #[test]
    fn version_3_with_32_bit_pointers_and_a_late_name() {
        let mut bytes = words(&[4, 12, 0x9000, 0x6000, 0, 0, 3, 0x401000, 0x7ffd_e000, 77]);
        bytes.extend([8, 5, 2, 0]);
        let payload = KernelPayload::new(0x0503, 3, &bytes, 4);
        let thread = Thread::read(payload).unwrap();
        assert_eq!((thread.affinity, thread.sub_process_tag, thread.start_address), (3, 77, 0));
        assert_eq!(thread.priorities, Some(ThreadPriorities { base: 8, page: 5, io: 2, flags: 0 }));
        assert!(thread.thread_name.is_empty());
        bytes.extend([b'n', 0, 0, 0]);
        let thread = Thread::read(KernelPayload::new(0x0503, 3, &bytes, 4)).unwrap();
        assert_eq!(thread.thread_name, "n");
    }

    #[test]
    fn priority_change() {
        let bytes = [7, 0, 0, 0, 8, 15, 0, 0];
        let change = ThreadPriorityChange::read(KernelPayload::new(0x0531, 3, &bytes, 8)).unwrap();
        assert_eq!(change.kind, ThreadPriorityKind::Base);
        assert_eq!((change.thread_id, change.old_priority, change.new_priority), (7, 8, 15));
    }
}
