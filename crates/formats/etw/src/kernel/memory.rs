//! Group 0x02: page faults, address space and physical memory.

use super::{KernelPayload, events, kinds, parse_from_record};

events! {
    /// A hard fault: a page was read from disk because it was accessed. Hook 0x0220.
    0x0220 => HardFault {
        /// Start of the fault, in ticks of the log's clock. The event is logged at the end.
        start_ticks: u64,
        /// Offset in the file, in bytes.
        read_offset: u64,
        /// Accessed address.
        virtual_address: u64 as pointer,
        /// File key as in file name events.
        file_key: u64 as pointer,
        thread_id: u32,
        byte_count: u32,
    }
}

kinds! {
    /// Kind of a [`PageFault`].
    PageFaultKind {
        /// The page was in memory, in transition (0x020A).
        Transition = 0x020a,
        /// The page was accessed for the first time, and zeroed (0x020B).
        DemandZero = 0x020b,
        /// A shared page was copied because of a write (0x020C).
        CopyOnWrite = 0x020c,
        /// A guard page was accessed (0x020D).
        GuardPage = 0x020d,
        /// The page has to be read from disk (0x020E).
        Hard = 0x020e,
        /// The access was not allowed (0x020F).
        AccessViolation = 0x020f,
    }
}

events! {
    /// A page fault. Hooks 0x020A to 0x020F.
    PageFault {
        kind: PageFaultKind = hook,
        /// Accessed address.
        virtual_address: u64 as pointer,
        /// Address of the instruction.
        program_counter: u64 as pointer,
    }
}

/// Kind of a [`VirtualAllocation`] event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VirtualAllocationKind {
    /// Address space was reserved or committed (0x0262).
    Allocate,
    /// Address space was released or decommitted (0x0263).
    Free,
    /// Rundown at the start of the recording (0x0280).
    RundownStart,
    /// Rundown at the end of the recording (0x0281).
    RundownEnd,
}

/// Address space was allocated or freed, or is listed by a rundown. Hooks 0x0262, 0x0263, 0x0280, 0x0281.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualAllocation {
    pub kind: VirtualAllocationKind,
    /// Address of the region.
    pub base_address: u64,
    /// Size of the region in bytes.
    pub region_size: u64,
    pub process_id: u32,
    /// `MEM_*` flags.
    pub flags: u32,
    /// Committed bytes; `None` except in rundowns.
    pub commit_size: Option<u64>,
}

impl VirtualAllocation {
    /// Reads the payload; `None` for another hook or a payload that is too short.
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
    /// Kind of a [`TerminalSession`] event.
    TerminalSessionKind {
        /// The session was created (0x024B).
        Create = 0x024b,
        /// The session still existed when the recording ended (0x024C).
        RundownEnd = 0x024c,
        /// The session already existed when the recording started (0x024D).
        RundownStart = 0x024d,
        /// The session was deleted (0x024E).
        Delete = 0x024e,
    }
}

events! {
    /// A terminal session was created or deleted, or is listed by a rundown. Hooks 0x024B to 0x024E.
    TerminalSession {
        kind: TerminalSessionKind = hook,
        /// Address that identifies the session even if its number is reused.
        unique_session_id: u64 as pointer,
        session_id: u32,
    }
}

/// Use of physical memory, in pages. Hook 0x0270.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInformation {
    pub zero_pages: u64,
    pub free_pages: u64,
    /// Pages that must be written before they can be reused.
    pub modified_pages: u64,
    /// Modified pages that must not be written yet.
    pub modified_no_write_pages: u64,
    pub bad_pages: u64,
    /// Standby pages by priority, 0 (lowest) to 7.
    pub standby_pages: [u64; 8],
    /// Standby pages repurposed since boot, by priority.
    pub repurposed_pages: [u64; 8],
    /// Modified pages backed by the page file.
    pub modified_page_file_pages: u64,
}

impl MemoryInformation {
    pub const HOOK: u16 = 0x0270;

    /// Reads the payload; `None` for another hook or a payload that is too short.
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
    fn reads_hard_fault_with_32_bit_pointers() {
        let mut bytes = 5u64.to_le_bytes().to_vec();
        bytes.extend(4096u64.to_le_bytes());
        bytes.extend([0x1000u32, 0x2000, 44, 8192].iter().flat_map(|v| v.to_le_bytes()));
        let fault = HardFault::read(KernelPayload::new(0x0220, 2, &bytes, 4)).unwrap();
        assert_eq!((fault.start_ticks, fault.file_key, fault.thread_id), (5, 0x2000, 44));
        assert_eq!(fault.byte_count, 8192);
        assert!(HardFault::read(KernelPayload::new(0x0220, 2, &bytes, 8)).is_none());
    }

    #[test]
    fn memory_information_requires_all_counters() {
        let bytes: Vec<u8> = (1..=22u32).flat_map(u32::to_le_bytes).collect();
        let memory = MemoryInformation::read(KernelPayload::new(0x0270, 2, &bytes, 4)).unwrap();
        assert_eq!((memory.bad_pages, memory.standby_pages[7]), (5, 13));
        assert_eq!(memory.modified_page_file_pages, 22);
        assert!(MemoryInformation::read(KernelPayload::new(0x0270, 2, &bytes[..80], 4)).is_none());
    }
}
