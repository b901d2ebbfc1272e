//! Group 0x02: page faults and address space.

use super::{KernelPayload, events, kinds, parse_from_record};

events! {
    /// A page was read from disk because it was touched. Hook 0x0220.
    0x0220 => HardFault {
        /// When the fault began, in ticks of the log's clock; it ended when the event was logged.
        start_ticks: u64,
        /// Offset in bytes in the file.
        read_offset: u64,
        /// The address that was touched.
        virtual_address: u64 as pointer,
        /// Key of the file, as file name events give it.
        file_key: u64 as pointer,
        /// Thread that faulted.
        thread_id: u32,
        /// Bytes read.
        byte_count: u32,
    }
}

kinds! {
    /// What kind of fault a [`PageFault`] is.
    PageFaultKind {
        /// The page was in memory, on its way in or out (0x020A).
        Transition = 0x020a,
        /// The page had never been there: it is given zeroed (0x020B).
        DemandZero = 0x020b,
        /// A shared page is copied because it is written to (0x020C).
        CopyOnWrite = 0x020c,
        /// A guard page was touched (0x020D).
        GuardPage = 0x020d,
        /// The page must be read (0x020E).
        Hard = 0x020e,
        /// The address must not be touched so (0x020F).
        AccessViolation = 0x020f,
    }
}

events! {
    /// A page fault. Hooks 0x020A to 0x020F.
    PageFault {
        /// Which kind of fault.
        kind: PageFaultKind = hook,
        /// The address that was touched.
        virtual_address: u64 as pointer,
        /// The instruction that touched it.
        program_counter: u64 as pointer,
    }
}

/// What a [`VirtualAllocation`] event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VirtualAllocationKind {
    /// Address space is reserved or committed (0x0262).
    Allocate,
    /// Address space is released or decommitted (0x0263).
    Free,
    /// A rundown at the beginning (0x0280).
    RundownStart,
    /// A rundown at the end (0x0281).
    RundownEnd,
}

/// Address space is taken or given back. Hooks 0x0262, 0x0263, 0x0280, 0x0281.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualAllocation {
    /// Which of the four events this is.
    pub kind: VirtualAllocationKind,
    /// Address of the region.
    pub base_address: u64,
    /// Size in bytes of the region.
    pub region_size: u64,
    /// Process that owns the address space.
    pub process_id: u32,
    /// `MEM_*` flags.
    pub flags: u32,
    /// Bytes committed; only in rundowns.
    pub commit_size: Option<u64>,
}

impl VirtualAllocation {
    /// Reads the payload of one of the four hooks.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let (kind, rundown) = match payload.hook {
            0x0262 => (VirtualAllocationKind::Allocate, false),
            0x0263 => (VirtualAllocationKind::Free, false),
            0x0280 => (VirtualAllocationKind::RundownStart, true),
            0x0281 => (VirtualAllocationKind::RundownEnd, true),
            _ => return None,
        };
        let mut fields = payload.fields;
        Some(Self {
            kind,
            base_address: fields.pointer()?,
            region_size: fields.pointer()?,
            process_id: fields.u32()?,
            flags: fields.u32()?,
            commit_size: if rundown { Some(fields.pointer()?) } else { None },
        })
    }
}
parse_from_record!(VirtualAllocation);

kinds! {
    /// What a [`TerminalSession`] event says.
    TerminalSessionKind {
        /// A session was created (0x024B).
        Create = 0x024b,
        /// It was still there when recording ended (0x024C).
        RundownEnd = 0x024c,
        /// It was already there when recording began (0x024D).
        RundownStart = 0x024d,
        /// It was deleted (0x024E).
        Delete = 0x024e,
    }
}

events! {
    /// A terminal session comes or goes. Hooks 0x024B to 0x024E.
    TerminalSession {
        /// Which of the four events this is.
        kind: TerminalSessionKind = hook,
        /// Address that tells sessions apart even when numbers are used again.
        unique_session_id: u64 as pointer,
        /// Number of the session.
        session_id: u32,
    }
}

/// How physical memory is used, in pages. Hook 0x0270.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInformation {
    /// Zeroed pages.
    pub zero_pages: u64,
    /// Free pages.
    pub free_pages: u64,
    /// Pages to be written before they can be used again.
    pub modified_pages: u64,
    /// Such pages that nobody may write yet.
    pub modified_no_write_pages: u64,
    /// Pages found bad.
    pub bad_pages: u64,
    /// Standby pages by priority, 0 lowest to 7.
    pub standby_pages: [u64; 8],
    /// Standby pages taken for another use since boot, by priority.
    pub repurposed_pages: [u64; 8],
    /// Modified pages that go to the page file.
    pub modified_page_file_pages: u64,
}

impl MemoryInformation {
    /// Its hook.
    pub const HOOK: u16 = 0x0270;

    /// Reads the payload.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let mut information = Self {
            zero_pages: fields.pointer()?,
            free_pages: fields.pointer()?,
            modified_pages: fields.pointer()?,
            modified_no_write_pages: fields.pointer()?,
            bad_pages: fields.pointer()?,
            standby_pages: [0; 8],
            repurposed_pages: [0; 8],
            modified_page_file_pages: 0,
        };
        for pages in information.standby_pages.iter_mut().chain(&mut information.repurposed_pages) {
            *pages = fields.pointer()?;
        }
        information.modified_page_file_pages = fields.pointer()?;
        Some(information)
    }
}
parse_from_record!(MemoryInformation);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_fault_of_both_pointer_sizes() {
        let mut bytes = 5u64.to_le_bytes().to_vec();
        bytes.extend(4096u64.to_le_bytes());
        bytes.extend([0x1000u32, 0x2000, 44, 8192].iter().flat_map(|v| v.to_le_bytes()));
        let fault = HardFault::read(KernelPayload::new(0x0220, 2, &bytes, 4)).unwrap();
        assert_eq!((fault.start_ticks, fault.file_key, fault.thread_id), (5, 0x2000, 44));
        assert_eq!(fault.byte_count, 8192);
        assert!(HardFault::read(KernelPayload::new(0x0220, 2, &bytes, 8)).is_none());
    }

    #[test]
    fn memory_information_needs_all_its_counters() {
        let bytes: Vec<u8> = (1..=22u32).flat_map(u32::to_le_bytes).collect();
        let memory = MemoryInformation::read(KernelPayload::new(0x0270, 2, &bytes, 4)).unwrap();
        assert_eq!((memory.bad_pages, memory.standby_pages[7]), (5, 13));
        assert_eq!(memory.modified_page_file_pages, 22);
        assert!(MemoryInformation::read(KernelPayload::new(0x0270, 2, &bytes[..80], 4)).is_none());
    }
}
