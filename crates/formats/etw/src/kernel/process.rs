//! Group 0x03: processes.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::security_identifier::Sid;
use crate::text::{Ansi, Utf16};

kinds! {
    /// Kind of a [`Process`] event.
    ProcessEventKind {
        /// The process was created (0x0301).
        Start = 0x0301,
        /// The last thread of the process ended (0x0302).
        End = 0x0302,
        /// The process already existed when the recording started (0x0303).
        RundownStart = 0x0303,
        /// The process still existed when the recording ended (0x0304).
        RundownEnd = 0x0304,
        /// The process exited, but an open handle keeps its object (0x0327).
        Defunct = 0x0327,
    }
}

/// A process started or ended, or is listed by a rundown. Hooks 0x0301 to 0x0304 and 0x0327.
#[derive(Clone, Copy, Debug)]
pub struct Process<'b> {
    pub kind: ProcessEventKind,
    /// Address of the kernel's process object. Unlike the id, it is not reused while a handle is open. 0 before version
    /// 2.
    pub unique_process_key: u64,
    pub process_id: u32,
    pub parent_id: u32,
    /// Terminal session; 0 in version 0.
    pub session_id: u32,
    /// Exit status; valid for [`ProcessEventKind::End`] and [`ProcessEventKind::Defunct`].
    pub exit_status: i32,
    /// Physical address of the page directory; 0 in versions 0 and 2.
    pub directory_table_base: u64,
    /// Bits: 1 has application id, 2 WOW64, 4 protected, 8 packaged. 0 before version 4.
    pub flags: u32,
    /// User of the process.
    pub user_sid: Option<Sid<'b>>,
    /// File name of the executable without its directory. Old versions of the kernel truncate it to 15 characters.
    pub image_file_name: Ansi<'b>,
    /// Command line; empty before version 2.
    pub command_line: Utf16<'b>,
    /// Full name of the package; empty before version 4.
    pub package_full_name: Utf16<'b>,
    /// Application id within the package; empty before version 4.
    pub application_id: Utf16<'b>,
    /// Exit time as FILETIME; only for [`ProcessEventKind::Defunct`] since version 5.
    pub exit_time: Option<u64>,
}

impl<'b> Process<'b> {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        let kind = ProcessEventKind::from_hook(payload.hook)?;
        let version = payload.version;
        let mut fields = payload.fields;
        let mut process = Process {
            kind,
            unique_process_key: 0,
            process_id: 0,
            parent_id: 0,
            session_id: 0,
            exit_status: 0,
            directory_table_base: 0,
            flags: 0,
            user_sid: None,
            image_file_name: Ansi::default(),
            command_line: Utf16::default(),
            package_full_name: Utf16::default(),
            application_id: Utf16::default(),
            exit_time: None,
        };
        if version == 0 {
            process.process_id = u32::try_from(fields.pointer()?).ok()?;
            process.parent_id = u32::try_from(fields.pointer()?).ok()?;
        } else {
            let key_or_directory = fields.pointer()?;
            // Version 1 has the page directory here, later versions have the key.
            if version == 1 {
                process.directory_table_base = key_or_directory;
            } else {
                process.unique_process_key = key_or_directory;
            }
            process.process_id = fields.u32()?;
            process.parent_id = fields.u32()?;
            process.session_id = fields.u32()?;
            process.exit_status = fields.i32()?;
        }
        if version >= 3 {
            process.directory_table_base = fields.pointer()?;
        }
        if version >= 4 {
            process.flags = fields.u32()?;
        }
        process.user_sid = fields.token_user_sid()?;
        process.image_file_name = fields.ansi_z();
        if version >= 2 {
            process.command_line = fields.utf16_z();
        }
        if version >= 4 {
            process.package_full_name = fields.utf16_z();
            process.application_id = fields.utf16_z();
        }
        if version >= 5 && kind == ProcessEventKind::Defunct {
            process.exit_time = fields.u64();
        }
        Some(process)
    }
}
parse_from_record!(Process<'b>);

events! {
    /// A process is being terminated. The end event follows with the details. Hook 0x030B.
    0x030b => ProcessTerminate {
        process_id: u32,
    }

    /// Memory and handle counters of a process at its end (0x0320) or at rundown (0x0321). Sizes are in bytes.
    ProcessCounters {
        /// True for a rundown, false for the end of the process.
        rundown: bool = (0x0320, 0x0321),
        process_id: u32,
        /// Soft and hard page faults.
        page_fault_count: u32,
        handle_count: u32,
        /// Peak of the address space in use.
        peak_virtual_size: u64 as pointer [after 4],
        peak_working_set_size: u64 as pointer,
        peak_pagefile_usage: u64 as pointer,
        /// Peak of the paged pool charged.
        quota_peak_paged_pool_usage: u64 as pointer,
        /// Peak of the nonpaged pool charged.
        quota_peak_non_paged_pool_usage: u64 as pointer,
        virtual_size: u64 as pointer,
        working_set_size: u64 as pointer,
        pagefile_usage: u64 as pointer,
        quota_paged_pool_usage: u64 as pointer,
        /// Nonpaged pool charged.
        quota_non_paged_pool_usage: u64 as pointer,
        /// Private memory in bytes, despite the name.
        private_page_count: u64 as pointer,
    }

    /// Start of a phase of kernel initialization. Hook 0x0326.
    0x0326 => BootPhaseStart {
        phase: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_process_version_4_with_64_bit_pointers() {
        let mut bytes = 0xffff_8000_0000_1000u64.to_le_bytes().to_vec();
        bytes.extend([600u32, 4, 1, 0].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend(0x1ad000u64.to_le_bytes());
        bytes.extend(2u32.to_le_bytes());
        bytes.extend([9; 16]);
        bytes.extend([1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0]);
        bytes.extend(b"smss.exe\0");
        for text in ["\\SystemRoot\\smss", "", "App"] {
            bytes.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes));
        }
        let process = Process::read(KernelPayload::new(0x0301, 4, &bytes, 8)).unwrap();
        assert_eq!(process.kind, ProcessEventKind::Start);
        assert_eq!((process.process_id, process.parent_id, process.session_id), (600, 4, 1));
        assert_eq!(process.user_sid.unwrap().to_string(), "S-1-5-18");
        assert_eq!(process.image_file_name, "smss.exe");
        assert_eq!(process.command_line, "\\SystemRoot\\smss");
        assert_eq!(process.application_id, "App");
        assert!(Process::read(KernelPayload::new(0x0301, 4, &bytes[..50], 8)).is_none());
        assert!(Process::read(KernelPayload::new(0x0305, 4, &bytes, 8)).is_none());
    }
}
