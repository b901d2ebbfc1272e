//! Group 0x02: page faults and address space.

use super::{KernelPayload, parse_from_record};

/// A page was read from disk because it was touched. Hook 0x0220.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardFault {
    /// When the fault began, in ticks of the log's clock; it ended when the event was logged.
    pub start_ticks: u64,
    /// Offset in bytes in the file.
    pub read_offset: u64,
    /// The address that was touched.
    pub virtual_address: u64,
    /// Key of the file, as file name events give it.
    pub file_key: u64,
    /// Thread that faulted.
    pub thread_id: u32,
    /// Bytes read.
    pub byte_count: u32,
}

impl HardFault {
    /// Its hook.
    pub const HOOK: u16 = 0x0220;

    /// Reads the payload.
    #[inline]
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        Some(Self {
            start_ticks: fields.u64()?,
            read_offset: fields.u64()?,
            virtual_address: fields.pointer()?,
            file_key: fields.pointer()?,
            thread_id: fields.u32()?,
            byte_count: fields.u32()?,
        })
    }
}
parse_from_record!(HardFault);

/// What kind of fault a [`PageFault`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PageFaultKind {
    /// The page was in memory, on its way in or out (0x020A).
    Transition,
    /// The page had never been there: it is given zeroed (0x020B).
    DemandZero,
    /// A shared page is copied because it is written to (0x020C).
    CopyOnWrite,
    /// A guard page was touched (0x020D).
    GuardPage,
    /// The page must be read (0x020E).
    Hard,
    /// The address must not be touched so (0x020F).
    AccessViolation,
}

/// A page fault. Hooks 0x020A to 0x020F.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFault {
    /// Which kind of fault.
    pub kind: PageFaultKind,
    /// The address that was touched.
    pub virtual_address: u64,
    /// The instruction that touched it.
    pub program_counter: u64,
}

impl PageFault {
    /// Reads the payload of one of the six hooks.
    #[inline]
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = match payload.hook {
            0x020a => PageFaultKind::Transition,
            0x020b => PageFaultKind::DemandZero,
            0x020c => PageFaultKind::CopyOnWrite,
            0x020d => PageFaultKind::GuardPage,
            0x020e => PageFaultKind::Hard,
            0x020f => PageFaultKind::AccessViolation,
            _ => return None,
        };
        Some(Self { kind, virtual_address: payload.fields.pointer()?, program_counter: payload.fields.pointer()? })
    }
}
parse_from_record!(PageFault);

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

/// What a [`TerminalSession`] event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminalSessionKind {
    /// A session was created (0x024B).
    Create,
    /// It was still there when recording ended (0x024C).
    RundownEnd,
    /// It was already there when recording began (0x024D).
    RundownStart,
    /// It was deleted (0x024E).
    Delete,
}

/// A terminal session comes or goes. Hooks 0x024B to 0x024E.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalSession {
    /// Which of the four events this is.
    pub kind: TerminalSessionKind,
    /// Address that tells sessions apart even when numbers are used again.
    pub unique_session_id: u64,
    /// Number of the session.
    pub session_id: u32,
}

impl TerminalSession {
    /// Reads the payload of one of the four hooks.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = match payload.hook {
            0x024b => TerminalSessionKind::Create,
            0x024c => TerminalSessionKind::RundownEnd,
            0x024d => TerminalSessionKind::RundownStart,
            0x024e => TerminalSessionKind::Delete,
            _ => return None,
        };
        Some(Self { kind, unique_session_id: payload.fields.pointer()?, session_id: payload.fields.u32()? })
    }
}
parse_from_record!(TerminalSession);

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
