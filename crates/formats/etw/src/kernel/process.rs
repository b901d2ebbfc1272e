//! Group 0x03: processes.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::security_identifier::Sid;
use crate::text::{Ansi, Utf16};

kinds! {
    /// What a [`Process`] event says about its process.
    ProcessEventKind {
        /// It was created (0x0301).
        Start = 0x0301,
        /// Its last thread ended (0x0302).
        End = 0x0302,
        /// It was already there when recording began (0x0303).
        RundownStart = 0x0303,
        /// It was still there when recording ended (0x0304).
        RundownEnd = 0x0304,
        /// It has exited, but its object lives on because somebody holds a handle (0x0327).
        Defunct = 0x0327,
    }
}

/// A process starts, ends, or is described by a rundown. Hooks 0x0301 to 0x0304 and 0x0327.
#[derive(Clone, Copy, Debug)]
pub struct Process<'b> {
    /// Which of the five events this is.
    pub kind: ProcessEventKind,
    /// Address of the kernel's process object; unlike the id it is not used again while a handle lives.
    /// Zero before version 2.
    pub unique_process_key: u64,
    /// Process id.
    pub process_id: u32,
    /// Process id of the creator.
    pub parent_id: u32,
    /// Terminal session; zero in version 0.
    pub session_id: u32,
    /// Exit status, meaningful for [`ProcessEventKind::End`] and [`ProcessEventKind::Defunct`].
    pub exit_status: i32,
    /// Physical address of the page directory; zero where the version has none.
    pub directory_table_base: u64,
    /// 1 application id present, 2 WOW64, 4 protected, 8 packaged. Zero before version 4.
    pub flags: u32,
    /// The user the process runs as.
    pub user_sid: Option<Sid<'b>>,
    /// File name of the executable, without its folder; the kernel keeps at most 15 characters in old versions.
    pub image_file_name: Ansi<'b>,
    /// Command line; empty before version 2.
    pub command_line: Utf16<'b>,
    /// Full name of the package; empty before version 4.
    pub package_full_name: Utf16<'b>,
    /// Application id within the package; empty before version 4.
    pub application_id: Utf16<'b>,
    /// When the process exited, as FILETIME: only in [`ProcessEventKind::Defunct`] from version 5 on.
    pub exit_time: Option<u64>,
}

impl<'b> Process<'b> {
    /// Reads the payload of one of the five hooks.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        let kind = ProcessEventKind::of(payload.hook)?;
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
            let first = fields.pointer()?;
            // Version 1 has the page directory where later versions have the key.
            if version == 1 {
                process.directory_table_base = first;
            } else {
                process.unique_process_key = first;
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
    /// A process is being terminated: its id, before the end event with the details. Hook 0x030B.
    0x030b => ProcessTerminate {
        /// Process id.
        process_id: u32,
    }

    /// Memory and handle counters of a process, at its end (0x0320) or at rundown (0x0321). Sizes in bytes.
    ProcessCounters {
        /// Whether a rundown wrote it, rather than the end of the process.
        rundown: bool = (0x0320, 0x0321),
        /// Process id.
        process_id: u32,
        /// Page faults, soft and hard.
        page_fault_count: u32,
        /// Open handles.
        handle_count: u32,
        /// Most address space in use at once.
        peak_virtual_size: u64 as pointer [after 4],
        /// Largest working set.
        peak_working_set_size: u64 as pointer,
        /// Most page file in use at once.
        peak_pagefile_usage: u64 as pointer,
        /// Most paged pool charged at once.
        quota_peak_paged_pool_usage: u64 as pointer,
        /// Most non-paged pool charged at once.
        quota_peak_non_paged_pool_usage: u64 as pointer,
        /// Address space in use.
        virtual_size: u64 as pointer,
        /// Working set.
        working_set_size: u64 as pointer,
        /// Page file in use.
        pagefile_usage: u64 as pointer,
        /// Paged pool charged.
        quota_paged_pool_usage: u64 as pointer,
        /// Non-paged pool charged.
        quota_non_paged_pool_usage: u64 as pointer,
        /// Private pages, in bytes.
        private_page_count: u64 as pointer,
    }

    /// The kernel enters a phase of its own initialization. Hook 0x0326.
    0x0326 => BootPhaseStart {
        /// Number of the phase.
        phase: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_version_4_with_64_bit_pointers() {
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
