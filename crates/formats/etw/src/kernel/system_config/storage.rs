//! Disks and volumes.

use crate::kernel::{KernelPayload, events, parse_from_record};
use crate::text::Utf16;

events! {
    /// A disk. Hook 0x0B0B.
    0x0b0b => PhysicalDisk<'b> {
        /// Disk number used by disk events.
        disk_number: u32,
        bytes_per_sector: u32,
        sectors_per_track: u32,
        tracks_per_cylinder: u32,
        cylinders: u64,
        /// SCSI port, path, target and unit.
        scsi: [u32; 4],
        /// Manufacturer, and often the model.
        manufacturer: Utf16<'b> as utf16_array(256),
        partition_count: u32,
        /// True if the disk may cache writes.
        write_cache_enabled: bool,
        /// Drive letter of the boot volume if it is on this disk.
        boot_drive_letter: Utf16<'b> as utf16_array(3) [after 1],
    }
}

impl<'b> PhysicalDisk<'b> {
    /// Returns the size in bytes, computed from the geometry; 0 on overflow.
    #[must_use]
    pub fn size(&self) -> u64 {
        [self.tracks_per_cylinder, self.sectors_per_track, self.bytes_per_sector]
            .into_iter()
            .try_fold(self.cylinders, |size, factor| size.checked_mul(factor.into()))
            .unwrap_or(0)
    }
}

events! {
    /// A partition or volume. Hook 0x0B0C.
    0x0b0c => LogicalDisk<'b> {
        /// Offset from the start of the disk, in bytes.
        start_offset: u64,
        /// Size in bytes.
        partition_size: u64,
        disk_number: u32,
        /// 1 partition, 2 volume, 4 extended partition.
        drive_type: u32 [after 4],
        /// Such as `C:`.
        drive_letter: Utf16<'b> as utf16_array(4),
        partition_number: u32 [after 4],
        sectors_per_cluster: u32,
        bytes_per_sector: u32,
        free_clusters: i64 [after 4],
        total_clusters: i64,
        /// Such as `NTFS`.
        file_system: Utf16<'b> as utf16_array(16),
        /// Not 0 if the volume spans several partitions.
        volume_extent: u32,
    }
}

/// An optical drive and its disc. Hook 0x0B12.
#[derive(Clone, Copy, Debug)]
pub struct OpticalDisk<'b> {
    /// Disk number used by disk events.
    pub disk_number: u16,
    pub drive_letter: Utf16<'b>,
    /// File system of the disc.
    pub file_system: Utf16<'b>,
}

impl<'b> OpticalDisk<'b> {
    pub const HOOK: u16 = 0x0b12;

    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(mut payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let disk_number = payload.fields.u16()?;
        payload.fields.skip(6 + 5 * 8 + 3 * 4 + 2 * 2)?;
        Some(Self { disk_number, drive_letter: payload.fields.utf16_z(), file_system: payload.fields.utf16_z() })
    }
}
parse_from_record!(OpticalDisk<'b>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn physical_disk_is_568_bytes() {
        let mut bytes: Vec<u8> = [1u32, 512, 63, 255].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend(30401u64.to_le_bytes());
        bytes.resize(40 + 512, 0);
        bytes.extend([3, 0, 0, 0, 1, 0, b'C', 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes.len(), 568);
        let disk = PhysicalDisk::read(KernelPayload::new(0x0b0b, 2, &bytes, 8)).unwrap();
        assert_eq!((disk.disk_number, disk.partition_count), (1, 3));
        assert_eq!(disk.size(), 250_056_737_280 / 512 / 63 / 255 * 512 * 63 * 255);
        assert_eq!(disk.boot_drive_letter, "C");
        assert!(disk.write_cache_enabled);
    }

    #[test]
    fn logical_disk_is_112_bytes() {
        let mut bytes: Vec<u8> = [1_048_576u64, 500].iter().flat_map(|v| v.to_le_bytes()).collect();
        bytes.extend([2u32, 0, 1].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend([b'C', 0, b':', 0, 0, 0, 0, 0]);
        bytes.extend([0u32, 7, 8, 512, 0].iter().flat_map(|v| v.to_le_bytes()));
        bytes.extend([3i64, 9].iter().flat_map(|v| v.to_le_bytes()));
        let names = bytes.len();
        bytes.resize(names + 32, 0);
        bytes[names..names + 8].copy_from_slice(&[b'N', 0, b'T', 0, b'F', 0, b'S', 0]);
        bytes.extend([0; 8]);
        assert_eq!(bytes.len(), 112);
        let disk = LogicalDisk::read(KernelPayload::new(0x0b0c, 2, &bytes, 8)).unwrap();
        assert_eq!((disk.partition_number, disk.bytes_per_sector), (7, 512));
        assert_eq!(disk.drive_letter, "C:");
        assert_eq!(disk.file_system, "NTFS");
        assert_eq!((disk.free_clusters, disk.total_clusters), (3, 9));
    }
}
