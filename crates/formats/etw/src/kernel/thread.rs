//! Group 0x05: threads, except for scheduling.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

kinds! {
    /// Kind of a [`Thread`] event.
    ThreadEventKind {
        /// The thread was created (0x0501).
        Start = 0x0501,
        /// The thread ended (0x0502).
        End = 0x0502,
        /// The thread already existed when the recording started (0x0503).
        RundownStart = 0x0503,
        /// The thread still existed when the recording ended (0x0504).
        RundownEnd = 0x0504,
    }
}

/// A thread started or ended, or is listed by a rundown. Hooks 0x0501 to 0x0504.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'b> {
    pub kind: ThreadEventKind,
    /// Process of the thread, not of the logging thread.
    pub process_id: u32,
    pub thread_id: u32,
    /// Highest address of the kernel stack.
    pub stack_base: u64,
    /// Lowest address of the kernel stack.
    pub stack_limit: u64,
    /// Highest address of the user stack.
    pub user_stack_base: u64,
    /// Lowest address of the user stack.
    pub user_stack_limit: u64,
    /// Start address, in versions 1 and 2; 0 otherwise.
    pub start_address: u64,
    /// Bit mask of the allowed processors, since version 3; 0 otherwise.
    pub affinity: u64,
    /// Start address given by the creator of the thread.
    pub win32_start_address: u64,
    /// Address of the thread environment block; 0 before version 2.
    pub teb_base: u64,
    /// Tag of the service that the thread works for, assigned by the service control manager; 0 means none.
    pub sub_process_tag: u32,
    /// Priorities, since version 3.
    pub priorities: Option<ThreadPriorities>,
    /// Name of the thread, since version 4 and in later version 3 events; empty means none.
    pub thread_name: Utf16<'b>,
}

/// Priorities and flags of a thread.
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
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        let kind = ThreadEventKind::from_hook(payload.hook)?;
        let version = payload.version;
        let mut fields = payload.fields;
        let (first_id, second_id) = (fields.u32()?, fields.u32()?);
        // In version 0 the thread id is first.
        let (process_id, thread_id) = if version == 0 { (second_id, first_id) } else { (first_id, second_id) };
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
        // Version 1 of the end event has only the two ids.
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
    /// A thread was named. Hook 0x0548.
    0x0548 => ThreadName<'b> {
        process_id: u32,
        thread_id: u32,
        thread_name: Utf16<'b>,
    }
}

kinds! {
    /// Kind of priority changed by a [`ThreadPriorityChange`].
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
    /// A priority of a thread was changed. Hooks 0x0530, 0x0531, 0x0533, 0x0534.
    ThreadPriorityChange {
        kind: ThreadPriorityKind = hook,
        thread_id: u32,
        old_priority: u8,
        new_priority: u8,
    }

    /// The logging thread switched to work for another service. Hook 0x0545.
    0x0545 => SubProcessTagChange {
        /// Service tag before the change.
        old_tag: u32,
        /// Service tag after the change.
        new_tag: u32,
    }

    /// A system worker thread ran a work item. Hook 0x0539.
    0x0539 => WorkerThreadItem {
        /// Worker thread.
        thread_id: u32,
        /// Start of the item, in ticks of the log's clock. The event is logged at the end.
        start_ticks: u64,
        /// Address of the work item's routine.
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
    fn version_0_has_swapped_ids() {
        let bytes = words(&[12, 4]);
        let thread = Thread::read(KernelPayload::new(0x0501, 0, &bytes, 4)).unwrap();
        assert_eq!((thread.thread_id, thread.process_id), (12, 4));
        let bytes = words(&[4, 12]);
        let thread = Thread::read(KernelPayload::new(0x0502, 1, &bytes, 4)).unwrap();
        assert_eq!((thread.thread_id, thread.process_id), (12, 4));
    }

    #[test]
    fn reads_version_3_with_32_bit_pointers_and_optional_name() {
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
    fn reads_priority_change() {
        let bytes = [7, 0, 0, 0, 8, 15, 0, 0];
        let change = ThreadPriorityChange::read(KernelPayload::new(0x0531, 3, &bytes, 8)).unwrap();
        assert_eq!(change.kind, ThreadPriorityKind::Base);
        assert_eq!((change.thread_id, change.old_priority, change.new_priority), (7, 8, 15));
    }
}
