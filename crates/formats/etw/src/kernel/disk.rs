//! Group 0x01: disk I/O and driver dispatch routines.

use super::{KernelPayload, events, kinds, parse_from_record};

/// Operation of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiskOperation {
    Read,
    Write,
    /// Flush of the disk's cache.
    Flush,
}

/// I/O request packet flags of a disk transfer (`IRP_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IrpFlags(pub u32);

impl IrpFlags {
    /// True for requests of memory management: page faults, the prefetcher, the cache's lazy writer.
    #[must_use]
    pub fn is_paging_io(self) -> bool {
        self.0 & 0x2 != 0
    }

    /// Returns the I/O priority: 0 not set, 1 very low, 2 low, 3 normal, 4 high, 5 critical.
    #[must_use]
    pub fn priority(self) -> u8 {
        (self.0 >> 17 & 7) as u8
    }
}

/// A completed read or write of a disk. Hooks 0x010A, 0x010B; for optical disks 0x0137, 0x0138.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskTransfer {
    /// [`DiskOperation::Read`] or [`DiskOperation::Write`].
    pub operation: DiskOperation,
    /// True for an optical disk.
    pub is_optical: bool,
    /// Disk number, as in the system configuration.
    pub disk_number: u32,
    pub irp_flags: IrpFlags,
    /// Size in bytes.
    pub transfer_size: u32,
    /// Offset from the start of the disk, in bytes.
    pub byte_offset: u64,
    /// File key as in file name events (not a file object); 0 means none.
    pub file_key: u64,
    /// Address of the I/O request packet (IRP); 0 before version 2.
    pub irp: u64,
    /// Time from the request to the event, in ticks of the log's clock. `None` in version 0.
    pub response_ticks: Option<u64>,
    /// Thread that issued the request; `None` before version 3; the thread of the record issued it.
    pub issuing_thread_id: Option<u32>,
}

impl DiskTransfer {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[inline]
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let (operation, is_optical) = match payload.hook {
            0x010a => (DiskOperation::Read, false),
            0x010b => (DiskOperation::Write, false),
            0x0137 => (DiskOperation::Read, true),
            0x0138 => (DiskOperation::Write, true),
            _ => return None,
        };
        let version = payload.version;
        let mut fields = payload.fields;
        let disk_number = fields.u32()?;
        let irp_flags = IrpFlags(fields.u32()?);
        let transfer_size = fields.u32()?;
        fields.skip(4)?;
        let byte_offset = fields.u64()?;
        let file_key = fields.pointer()?;
        let irp = if version >= 2 { fields.pointer()? } else { 0 };
        let response_ticks = if version >= 1 { Some(fields.u64()?) } else { None };
        let issuing_thread_id = if version >= 3 { Some(fields.u32()?) } else { None };
        Some(Self {
            operation,
            is_optical,
            disk_number,
            irp_flags,
            transfer_size,
            byte_offset,
            file_key,
            irp,
            response_ticks,
            issuing_thread_id,
        })
    }
}
parse_from_record!(DiskTransfer);

events! {
    /// A completed flush of a disk's cache. Hook 0x010E; for optical disks 0x0139.
    DiskFlush {
        /// True for an optical disk.
        optical: bool = (0x010e, 0x0139),
        /// Disk number, as in the system configuration.
        disk_number: u32,
        irp_flags: IrpFlags,
        /// Response time in ticks of the log's clock.
        response_ticks: u64,
        /// Address of the I/O request packet (IRP).
        irp: u64 as pointer,
        /// Thread that issued the request; `None` before version 3.
        issuing_thread_id: Option<u32> [since 3],
    }
}

/// A request issued to a disk; the completion has the same IRP. Hooks 0x010C read, 0x010D write, 0x010F flush; for
/// optical disks 0x013A to 0x013C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRequestStart {
    pub operation: DiskOperation,
    /// True for an optical disk.
    pub is_optical: bool,
    /// Address of the I/O request packet (IRP).
    pub irp: u64,
    /// Thread that issued the request; `None` before version 3.
    pub issuing_thread_id: Option<u32>,
}

impl DiskRequestStart {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[inline]
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let (operation, is_optical) = match payload.hook {
            0x010c => (DiskOperation::Read, false),
            0x010d => (DiskOperation::Write, false),
            0x010f => (DiskOperation::Flush, false),
            0x013a => (DiskOperation::Read, true),
            0x013b => (DiskOperation::Write, true),
            0x013c => (DiskOperation::Flush, true),
            _ => return None,
        };
        let mut fields = payload.fields;
        Some(Self {
            operation,
            is_optical,
            irp: fields.pointer()?,
            issuing_thread_id: if payload.version >= 3 { Some(fields.u32()?) } else { None },
        })
    }
}
parse_from_record!(DiskRequestStart);

/// Call of a driver's dispatch routine. Hook 0x0122.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverMajorFunctionCall {
    /// Major function of the IRP (`IRP_MJ_*`).
    pub major_function: u32,
    /// Minor function of the IRP.
    pub minor_function: u32,
    /// Address of the routine, which is in the driver's image.
    pub routine: u64,
    /// Address of the file object of the request.
    pub file_object: u64,
    /// Address of the I/O request packet (IRP).
    pub irp: u64,
    /// Id shared by the call and its return.
    pub match_id: u32,
}

impl DriverMajorFunctionCall {
    pub const HOOK: u16 = 0x0122;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        if payload.version < 2 {
            let match_id = fields.u32()?;
            let routine = fields.pointer()?;
            let irp = fields.pointer()?;
            return Some(Self {
                major_function: fields.u32()?,
                minor_function: fields.u32()?,
                file_object: fields.pointer()?,
                routine,
                irp,
                match_id,
            });
        }
        Some(Self {
            major_function: fields.u32()?,
            minor_function: fields.u32()?,
            routine: fields.pointer()?,
            file_object: fields.pointer()?,
            irp: fields.pointer()?,
            match_id: fields.u32()?,
        })
    }
}
parse_from_record!(DriverMajorFunctionCall);

/// Return from a driver's dispatch routine. Hook 0x0123.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverMajorFunctionReturn {
    /// Address of the I/O request packet (IRP).
    pub irp: u64,
    /// Id shared by the call and its return.
    pub match_id: u32,
}

impl DriverMajorFunctionReturn {
    pub const HOOK: u16 = 0x0123;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        if payload.version < 2 {
            let match_id = fields.u32()?;
            return Some(Self { irp: fields.pointer()?, match_id });
        }
        Some(Self { irp: fields.pointer()?, match_id: fields.u32()? })
    }
}
parse_from_record!(DriverMajorFunctionReturn);

kinds! {
    /// Event of a request's completion by a driver.
    DriverCompletionKind {
        /// Call of a completion routine (0x0125).
        Routine = 0x0125,
        /// Completion of the request by the driver (0x0134).
        Request = 0x0134,
        /// Return from the completion of the request (0x0135).
        RequestReturn = 0x0135,
    }
}

/// Completion of a request by a driver. Hooks 0x0125, 0x0134, 0x0135.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverCompletion {
    pub kind: DriverCompletionKind,
    /// Address of the routine; 0 for [`DriverCompletionKind::RequestReturn`].
    pub routine: u64,
    /// Address of the I/O request packet (IRP).
    pub irp: u64,
    /// Id shared by the call and its return.
    pub match_id: u32,
}

impl DriverCompletion {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'_>) -> Option<Self> {
        let kind = DriverCompletionKind::from_hook(payload.hook)?;
        let mut fields = payload.fields;
        let routine = if kind == DriverCompletionKind::RequestReturn { 0 } else { fields.pointer()? };
        Some(Self { kind, routine, irp: fields.pointer()?, match_id: fields.u32()? })
    }
}
parse_from_record!(DriverCompletion);

events! {
    /// Action of the boot prefetcher. Hook 0x0136.
    0x0136 => BootPrefetchInformation {
        /// Undocumented number.
        action: i32,
        /// NTSTATUS of the action.
        status: u32,
        /// Number of pages.
        pages: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_transfer_versions_2_and_3() {
        let mut bytes: Vec<u8> = [1u32, 0x0006_0043, 4096, 0].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend(0x12_3400_0000u64.to_le_bytes());
        bytes.extend(0xffff_f8a0_0000_1000u64.to_le_bytes());
        bytes.extend(0xffff_fa80_0000_2000u64.to_le_bytes());
        bytes.extend(777u64.to_le_bytes());
        let read = DiskTransfer::read(KernelPayload::new(0x010a, 2, &bytes, 8)).unwrap();
        assert_eq!((read.operation, read.disk_number), (DiskOperation::Read, 1));
        assert_eq!((read.irp_flags.priority(), read.irp_flags.is_paging_io()), (3, true));
        assert_eq!((read.response_ticks, read.issuing_thread_id), (Some(777), None));
        assert!(DiskTransfer::read(KernelPayload::new(0x010b, 3, &bytes, 8)).is_none());
        bytes.extend(88u32.to_le_bytes());
        let write = DiskTransfer::read(KernelPayload::new(0x010b, 3, &bytes, 8)).unwrap();
        assert_eq!(write.issuing_thread_id, Some(88));
    }

    #[test]
    fn dispatch_call_versions_have_different_field_order() {
        let v1: Vec<u8> = [9u32, 0x1000, 0x2000, 3, 4, 0x3000].iter().flat_map(|v| v.to_le_bytes()).collect();
        let v2: Vec<u8> = [3u32, 4, 0x1000, 0x3000, 0x2000, 9].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(
            DriverMajorFunctionCall::read(KernelPayload::new(0x0122, 1, &v1, 4)),
            DriverMajorFunctionCall::read(KernelPayload::new(0x0122, 2, &v2, 4)),
        );
    }
}
