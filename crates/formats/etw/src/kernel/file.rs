//! Group 0x04: file names, file operations, mapped files.
//!
//! Two addresses stand for a file: the *file object* of one open handle, and the *file key*, which is the
//! same for all handles. Disk transfers and hard faults carry the key, and it is the key that name events
//! give a name to (though their layout calls it `FileObject`).

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

kinds! {
    /// Why a [`FileName`] event was logged.
    FileNameKind {
        /// The name of a key (0x0400).
        Name = 0x0400,
        /// The name came into use (0x0420).
        Create = 0x0420,
        /// The name goes out of use (0x0423).
        Delete = 0x0423,
        /// A rundown lists the names in use (0x0424).
        Rundown = 0x0424,
    }
}

events! {
    /// A file key gets, has or loses a name. Hooks 0x0400, 0x0420, 0x0423, 0x0424.
    FileName<'b> {
        /// Which of the four events this is.
        kind: FileNameKind = hook,
        /// The key.
        file_key: u64 as pointer,
        /// NT path.
        file_name: Utf16<'b>,
    }
}

/// A file is opened or created. Hook 0x0440.
#[derive(Clone, Copy, Debug)]
pub struct FileOpen<'b> {
    /// The I/O request packet; [`FileOperationEnd`] names the same.
    pub irp: u64,
    /// The file object of the new handle.
    pub file_object: u64,
    /// Thread that opens.
    pub thread_id: u32,
    /// Create options in the low 24 bits, disposition in the high 8.
    pub create_options: u32,
    /// `FILE_ATTRIBUTE_*`.
    pub file_attributes: u32,
    /// `FILE_SHARE_*`.
    pub share_access: u32,
    /// NT path asked for.
    pub open_path: Utf16<'b>,
}

impl<'b> FileOpen<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0440;

    /// Reads the payload.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let irp = fields.pointer()?;
        let (file_object, thread_id) = if payload.version <= 2 {
            let thread = fields.pointer()?;
            (fields.pointer()?, thread as u32)
        } else {
            (fields.pointer()?, fields.u32()?)
        };
        Some(Self {
            irp,
            file_object,
            thread_id,
            create_options: fields.u32()?,
            file_attributes: fields.u32()?,
            share_access: fields.u32()?,
            open_path: fields.utf16_z(),
        })
    }
}
parse_from_record!(FileOpen<'b>);

/// The packet, thread, object and key every operation on an open file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSubject {
    /// The I/O request packet; [`FileOperationEnd`] names the same.
    pub irp: u64,
    /// The file object of the handle.
    pub file_object: u64,
    /// The key of the file.
    pub file_key: u64,
    /// Thread that asks.
    pub thread_id: u32,
}

impl FileSubject {
    /// The subject of any operation on an open file: hooks 0x0441 to 0x044B, 0x044D, 0x044F to 0x0451.
    #[must_use]
    pub fn of(mut payload: KernelPayload<'_>) -> Option<Self> {
        let with_extra = match payload.hook {
            0x0441 | 0x0442 | 0x0448 | 0x0449 | 0x044d => false,
            // The offset comes first.
            0x0443 | 0x0444 => {
                payload.fields.u64()?;
                false
            }
            0x0445..=0x0447 | 0x044a | 0x044b | 0x044f..=0x0451 => true,
            _ => return None,
        };
        Some(Self::read(&mut payload, with_extra)?.0)
    }

    /// Version 2 has a pointer-sized thread id before the file object; version 3 a 32-bit one after the key
    /// and whatever pointers follow it, here `extra`.
    fn read(payload: &mut KernelPayload<'_>, with_extra: bool) -> Option<(Self, u64)> {
        let version = payload.version;
        let fields = &mut payload.fields;
        let irp = fields.pointer()?;
        let early_thread = if version <= 2 { fields.pointer()? as u32 } else { 0 };
        let file_object = fields.pointer()?;
        let file_key = fields.pointer()?;
        let extra = if with_extra { fields.pointer()? } else { 0 };
        let thread_id = if version <= 2 { early_thread } else { fields.u32()? };
        Some((Self { irp, file_object, file_key, thread_id }, extra))
    }
}

kinds! {
    /// Which operation a [`FileOperation`] is.
    FileOperationKind {
        /// The last handle was closed (0x0441).
        Cleanup = 0x0441,
        /// The file object goes away (0x0442).
        Close = 0x0442,
        /// Data are written to the medium (0x0449).
        Flush = 0x0449,
    }
}

/// An operation on an open file without further arguments. Hooks 0x0441, 0x0442, 0x0449.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperation {
    /// Which operation.
    pub kind: FileOperationKind,
    /// On which file, by whom.
    pub subject: FileSubject,
}

impl FileOperation {
    /// Reads the payload of one of the three hooks.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = FileOperationKind::of(payload.hook)?;
        Some(Self { kind, subject: FileSubject::read(&mut payload, false)?.0 })
    }
}
parse_from_record!(FileOperation);

/// A file is read or written, by a program; the disk may never see it. Hooks 0x0443, 0x0444.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTransfer {
    /// Whether data go to the file.
    pub write: bool,
    /// Offset in bytes in the file.
    pub offset: u64,
    /// Which file, by whom.
    pub subject: FileSubject,
    /// Bytes asked for.
    pub size: u32,
    /// I/O flags (`IRP_*`).
    pub flags: u32,
}

impl FileTransfer {
    /// Reads the payload of either hook.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let write = match payload.hook {
            0x0443 => false,
            0x0444 => true,
            _ => return None,
        };
        let offset = payload.fields.u64()?;
        let (subject, _) = FileSubject::read(&mut payload, false)?;
        Some(Self { write, offset, subject, size: payload.fields.u32()?, flags: payload.fields.u32()? })
    }
}
parse_from_record!(FileTransfer);

/// Which operation a [`FileInformation`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileInformationKind {
    /// Information is set (0x0445).
    Set,
    /// The file is marked for deletion (0x0446).
    Delete,
    /// The file is renamed (0x0447).
    Rename,
    /// Information is asked for (0x044A).
    Query,
    /// A file system control code is sent (0x044B).
    FileSystemControl,
    /// As [`Self::Delete`], with the path (0x044F).
    DeletePath,
    /// As [`Self::Rename`], with the new path (0x0450).
    RenamePath,
    /// A hard link is made, with its path (0x0451).
    SetLinkPath,
}

/// Information about a file is read or changed. Hooks 0x0445 to 0x0447, 0x044A, 0x044B, 0x044F to 0x0451.
#[derive(Clone, Copy, Debug)]
pub struct FileInformation<'b> {
    /// Which operation.
    pub kind: FileInformationKind,
    /// On which file, by whom.
    pub subject: FileSubject,
    /// An argument that depends on the operation.
    pub extra_info: u64,
    /// `FILE_INFORMATION_CLASS`; the control code for [`FileInformationKind::FileSystemControl`].
    pub info_class: u32,
    /// The path, for the three operations that have one.
    pub path: Utf16<'b>,
}

impl<'b> FileInformation<'b> {
    /// Reads the payload of one of the eight hooks.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        let (kind, with_path) = match payload.hook {
            0x0445 => (FileInformationKind::Set, false),
            0x0446 => (FileInformationKind::Delete, false),
            0x0447 => (FileInformationKind::Rename, false),
            0x044a => (FileInformationKind::Query, false),
            0x044b => (FileInformationKind::FileSystemControl, false),
            0x044f => (FileInformationKind::DeletePath, true),
            0x0450 => (FileInformationKind::RenamePath, true),
            0x0451 => (FileInformationKind::SetLinkPath, true),
            _ => return None,
        };
        let (subject, extra_info) = FileSubject::read(&mut payload, true)?;
        Some(Self {
            kind,
            subject,
            extra_info,
            info_class: payload.fields.u32()?,
            path: if with_path { payload.fields.utf16_z() } else { Utf16::default() },
        })
    }
}
parse_from_record!(FileInformation<'b>);

/// A folder is listed (0x0448) or watched (0x044D).
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOperation<'b> {
    /// Whether changes are waited for, rather than entries listed.
    pub notify: bool,
    /// On which folder, by whom.
    pub subject: FileSubject,
    /// Size in bytes of the caller's buffer.
    pub length: u32,
    /// `FILE_INFORMATION_CLASS` of the entries, or the filter of the changes.
    pub info_class: u32,
    /// Where to go on.
    pub file_index: u32,
    /// Pattern of the names asked for.
    pub file_name: Utf16<'b>,
}

impl<'b> DirectoryOperation<'b> {
    /// Reads the payload of either hook.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        let notify = match payload.hook {
            0x0448 => false,
            0x044d => true,
            _ => return None,
        };
        let (subject, _) = FileSubject::read(&mut payload, false)?;
        Some(Self {
            notify,
            subject,
            length: payload.fields.u32()?,
            info_class: payload.fields.u32()?,
            file_index: payload.fields.u32()?,
            file_name: payload.fields.utf16_z(),
        })
    }
}
parse_from_record!(DirectoryOperation<'b>);

events! {
    /// A file operation ends; its start named the same packet. Hook 0x044C.
    0x044c => FileOperationEnd {
        /// The I/O request packet.
        irp: u64 as pointer,
        /// What the operation returned besides its status: bytes moved, for transfers.
        extra_info: u64 as pointer,
        /// NT status.
        status: u32,
    }
}

kinds! {
    /// What a [`FileMapping`] event says.
    FileMappingKind {
        /// A view was mapped (0x0425).
        Map = 0x0425,
        /// A view was unmapped (0x0426).
        Unmap = 0x0426,
        /// A view was already mapped when recording began (0x0427).
        RundownStart = 0x0427,
        /// A view was still mapped when recording ended (0x0428).
        RundownEnd = 0x0428,
    }
}

events! {
    /// A view of a file is mapped or unmapped. Hooks 0x0425 to 0x0428.
    FileMapping {
        /// Which of the four events this is.
        kind: FileMappingKind = hook,
        /// Address of the view.
        view_base: u64 as pointer,
        /// The key of the file.
        file_key: u64 as pointer,
        /// Attributes of the section, packed.
        misc_info: u64,
        /// Size in bytes of the view.
        view_size: u64 as pointer,
        /// Offset in bytes of the view in the file; zero before version 3.
        byte_offset: i64 [since 3],
        /// Process that maps.
        process_id: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_moves_its_thread_id_between_versions() {
        let mut v2 = 512u64.to_le_bytes().to_vec();
        v2.extend([10u64, 20, 30, 40].iter().flat_map(|v| v.to_le_bytes()));
        v2.extend([100u32, 7].iter().flat_map(|v| v.to_le_bytes()));
        let mut v3 = 512u64.to_le_bytes().to_vec();
        v3.extend([10u64, 30, 40].iter().flat_map(|v| v.to_le_bytes()));
        v3.extend([20u32, 100, 7].iter().flat_map(|v| v.to_le_bytes()));
        let v2 = FileTransfer::read(KernelPayload::new(0x0443, 2, &v2, 8)).unwrap();
        let v3 = FileTransfer::read(KernelPayload::new(0x0443, 3, &v3, 8)).unwrap();
        assert_eq!(v2, v3);
        let subject = FileSubject { irp: 10, file_object: 30, file_key: 40, thread_id: 20 };
        assert_eq!((v2.subject, v2.size, v2.flags), (subject, 100, 7));
    }

    #[test]
    fn information_reads_its_path_only_where_there_is_one() {
        let mut bytes: Vec<u8> = [1u32, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend([b'x', 0, 0, 0]);
        let renamed = FileInformation::read(KernelPayload::new(0x0450, 3, &bytes, 4)).unwrap();
        assert_eq!((renamed.extra_info, renamed.info_class), (4, 6));
        assert_eq!(renamed.path, "x");
        let set = FileInformation::read(KernelPayload::new(0x0445, 3, &bytes, 4)).unwrap();
        assert!(set.path.is_empty());
    }
}
