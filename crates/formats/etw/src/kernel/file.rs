//! Group 0x04: file names, file operations and mapped files.
//!
//! A file is identified by two addresses: the *file object* of one open handle, and the *file key*, which all handles
//! share. Disk transfers and hard faults contain the key. Name events also name the key, although their layout calls it
//! `FileObject`.

use super::{KernelPayload, events, kinds, parse_from_record};
use crate::text::Utf16;

kinds! {
    /// Reason for a [`FileName`] event.
    FileNameKind {
        /// Name of a key (0x0400).
        Name = 0x0400,
        /// The key was created (0x0420).
        Create = 0x0420,
        /// The key was deleted (0x0423).
        Delete = 0x0423,
        /// Rundown of the names in use (0x0424).
        Rundown = 0x0424,
    }
}

events! {
    /// Name of a file key. Hooks 0x0400, 0x0420, 0x0423, 0x0424.
    FileName<'b> {
        kind: FileNameKind = hook,
        file_key: u64 as pointer,
        /// NT path.
        file_name: Utf16<'b>,
    }
}

/// Start of opening or creating a file. Hook 0x0440.
#[derive(Clone, Copy, Debug)]
pub struct FileOpen<'b> {
    /// Address of the IRP, as in the matching [`FileOperationEnd`].
    pub irp: u64,
    /// File object of the new handle.
    pub file_object: u64,
    /// Thread that opened the file.
    pub thread_id: u32,
    /// Create options in the low 24 bits, disposition in the high 8.
    pub create_options: u32,
    /// `FILE_ATTRIBUTE_*`.
    pub file_attributes: u32,
    /// `FILE_SHARE_*`.
    pub share_access: u32,
    /// Requested NT path.
    pub open_path: Utf16<'b>,
}

impl<'b> FileOpen<'b> {
    pub const HOOK: u16 = 0x0440;

    /// Reads the payload; `None` for another hook or a payload that is too short.
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

/// Fields of every operation on an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperationContext {
    /// Address of the IRP, as in the matching [`FileOperationEnd`].
    pub irp: u64,
    /// File object of the handle.
    pub file_object: u64,
    pub file_key: u64,
    /// Thread that issued the operation.
    pub thread_id: u32,
}

impl FileOperationContext {
    /// Reads the common fields of any operation on an open file: hooks 0x0441 to 0x044B, 0x044D, 0x044F to 0x0451.
    #[must_use]
    pub fn from_payload(mut payload: KernelPayload<'_>) -> Option<Self> {
        let has_extra = match payload.hook {
            0x0441 | 0x0442 | 0x0448 | 0x0449 | 0x044d => false,
            // The offset is the first field.
            0x0443 | 0x0444 => {
                payload.fields.u64()?;
                false
            }
            0x0445..=0x0447 | 0x044a | 0x044b | 0x044f..=0x0451 => true,
            _ => return None,
        };
        Some(Self::read(&mut payload, has_extra)?.0)
    }

    /// Reads the common fields. Version 2 has a pointer-sized thread id before the file object. Version 3 has a 32-bit
    /// thread id after the key and the pointer that may follow it (`extra`).
    fn read(payload: &mut KernelPayload<'_>, has_extra: bool) -> Option<(Self, u64)> {
        let version = payload.version;
        let fields = &mut payload.fields;
        let irp = fields.pointer()?;
        let early_thread = if version <= 2 { fields.pointer()? as u32 } else { 0 };
        let file_object = fields.pointer()?;
        let file_key = fields.pointer()?;
        let extra = if has_extra { fields.pointer()? } else { 0 };
        let thread_id = if version <= 2 { early_thread } else { fields.u32()? };
        Some((Self { irp, file_object, file_key, thread_id }, extra))
    }
}

kinds! {
    /// Kind of a [`FileOperation`].
    FileOperationKind {
        /// The last handle was closed (0x0441).
        Cleanup = 0x0441,
        /// The file object was deleted (0x0442).
        Close = 0x0442,
        /// Cached data was written to the disk (0x0449).
        Flush = 0x0449,
    }
}

/// An operation on an open file without arguments. Hooks 0x0441, 0x0442, 0x0449.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOperation {
    pub kind: FileOperationKind,
    /// File, thread and IRP.
    pub subject: FileOperationContext,
}

impl FileOperation {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let kind = FileOperationKind::from_hook(payload.hook)?;
        Some(Self { kind, subject: FileOperationContext::read(&mut payload, false)?.0 })
    }
}
parse_from_record!(FileOperation);

/// A read or write by a program, which may be served from the cache. Hooks 0x0443, 0x0444.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTransfer {
    /// True for a write.
    pub is_write: bool,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// File, thread and IRP.
    pub subject: FileOperationContext,
    /// Requested bytes.
    pub size: u32,
    /// I/O flags (`IRP_*`).
    pub flags: u32,
}

impl FileTransfer {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'_>) -> Option<Self> {
        let is_write = match payload.hook {
            0x0443 => false,
            0x0444 => true,
            _ => return None,
        };
        let offset = payload.fields.u64()?;
        let (subject, _) = FileOperationContext::read(&mut payload, false)?;
        Some(Self { is_write, offset, subject, size: payload.fields.u32()?, flags: payload.fields.u32()? })
    }
}
parse_from_record!(FileTransfer);

/// Kind of a [`FileInformation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileInformationKind {
    /// Information was set (0x0445).
    Set,
    /// The file was marked for deletion (0x0446).
    Delete,
    /// The file was renamed (0x0447).
    Rename,
    /// Information was queried (0x044A).
    Query,
    /// A file system control code was sent (0x044B).
    FileSystemControl,
    /// Like [`Self::Delete`], with the path (0x044F).
    DeletePath,
    /// Like [`Self::Rename`], with the new path (0x0450).
    RenamePath,
    /// A hard link was created; with its path (0x0451).
    SetLinkPath,
}

/// Information about a file was queried or changed. Hooks 0x0445 to 0x0447, 0x044A, 0x044B, 0x044F to 0x0451.
#[derive(Clone, Copy, Debug)]
pub struct FileInformation<'b> {
    pub kind: FileInformationKind,
    /// File, thread and IRP.
    pub subject: FileOperationContext,
    /// Operation-specific argument.
    pub extra_info: u64,
    /// `FILE_INFORMATION_CLASS`; the control code for [`FileInformationKind::FileSystemControl`].
    pub info_class: u32,
    /// Path; empty for operations without one.
    pub path: Utf16<'b>,
}

impl<'b> FileInformation<'b> {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        let (kind, has_path) = match payload.hook {
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
        let (subject, extra_info) = FileOperationContext::read(&mut payload, true)?;
        Some(Self {
            kind,
            subject,
            extra_info,
            info_class: payload.fields.u32()?,
            path: if has_path { payload.fields.utf16_z() } else { Utf16::default() },
        })
    }
}
parse_from_record!(FileInformation<'b>);

/// A directory was listed (0x0448) or watched for changes (0x044D).
#[derive(Clone, Copy, Debug)]
pub struct DirectoryOperation<'b> {
    /// True if the caller waits for changes, false if it lists entries.
    pub notify: bool,
    /// Directory, thread and IRP.
    pub subject: FileOperationContext,
    /// Size of the caller's buffer in bytes.
    pub length: u32,
    /// `FILE_INFORMATION_CLASS` of the entries, or the filter of the changes.
    pub info_class: u32,
    /// Index of the entry at which the listing continues.
    pub file_index: u32,
    /// Name pattern.
    pub file_name: Utf16<'b>,
}

impl<'b> DirectoryOperation<'b> {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        let notify = match payload.hook {
            0x0448 => false,
            0x044d => true,
            _ => return None,
        };
        let (subject, _) = FileOperationContext::read(&mut payload, false)?;
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
    /// End of a file operation; the start has the same IRP. Hook 0x044C.
    0x044c => FileOperationEnd {
        /// Address of the I/O request packet (IRP).
        irp: u64 as pointer,
        /// Operation-specific result; for transfers, the number of bytes transferred.
        extra_info: u64 as pointer,
        /// NTSTATUS.
        status: u32,
    }
}

kinds! {
    /// Kind of a [`FileMapping`] event.
    FileMappingKind {
        /// A view was mapped (0x0425).
        Map = 0x0425,
        /// A view was unmapped (0x0426).
        Unmap = 0x0426,
        /// A view was already mapped when the recording started (0x0427).
        RundownStart = 0x0427,
        /// A view was still mapped when the recording ended (0x0428).
        RundownEnd = 0x0428,
    }
}

events! {
    /// A view of a file was mapped or unmapped. Hooks 0x0425 to 0x0428.
    FileMapping {
        kind: FileMappingKind = hook,
        /// Address of the view.
        view_base: u64 as pointer,
        file_key: u64 as pointer,
        /// Packed attributes of the section.
        misc_info: u64,
        /// Size of the view in bytes.
        view_size: u64 as pointer,
        /// Offset of the view in the file, in bytes; 0 before version 3.
        byte_offset: i64 [since 3],
        /// Process of the mapping.
        process_id: u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfer_versions_have_thread_id_at_different_offsets() {
        let mut v2 = 512u64.to_le_bytes().to_vec();
        v2.extend([10u64, 20, 30, 40].iter().flat_map(|v| v.to_le_bytes()));
        v2.extend([100u32, 7].iter().flat_map(|v| v.to_le_bytes()));
        let mut v3 = 512u64.to_le_bytes().to_vec();
        v3.extend([10u64, 30, 40].iter().flat_map(|v| v.to_le_bytes()));
        v3.extend([20u32, 100, 7].iter().flat_map(|v| v.to_le_bytes()));
        let v2 = FileTransfer::read(KernelPayload::new(0x0443, 2, &v2, 8)).unwrap();
        let v3 = FileTransfer::read(KernelPayload::new(0x0443, 3, &v3, 8)).unwrap();
        assert_eq!(v2, v3);
        let subject = FileOperationContext { irp: 10, file_object: 30, file_key: 40, thread_id: 20 };
        assert_eq!((v2.subject, v2.size, v2.flags), (subject, 100, 7));
    }

    #[test]
    fn reads_path_only_for_operations_with_path() {
        let mut bytes: Vec<u8> = [1u32, 2, 3, 4, 5, 6].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend([b'x', 0, 0, 0]);
        let renamed = FileInformation::read(KernelPayload::new(0x0450, 3, &bytes, 4)).unwrap();
        assert_eq!((renamed.extra_info, renamed.info_class), (4, 6));
        assert_eq!(renamed.path, "x");
        let set = FileInformation::read(KernelPayload::new(0x0445, 3, &bytes, 4)).unwrap();
        assert!(set.path.is_empty());
    }
}
