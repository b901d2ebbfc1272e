//! Disks and volumes.

use crate::kernel::{KernelPayload, parse_from_record};
use crate::text::Utf16;

/// A disk. Hook 0x0B0B.
#[derive(Clone, Copy, Debug)]
pub struct PhysicalDisk<'b> {
    /// Number that disk events name it by.
    pub disk_number: u32,
    /// Size of a sector in bytes.
    pub bytes_per_sector: u32,
    /// Sectors in a track.
    pub sectors_per_track: u32,
    /// Tracks in a cylinder.
    pub tracks_per_cylinder: u32,
    /// Cylinders.
    pub cylinders: u64,
    /// SCSI port, path, target and unit.
    pub scsi: [u32; 4],
    /// Who made it, and often the model.
    pub manufacturer: Utf16<'b>,
    /// Partitions on it.
    pub partition_count: u32,
    /// Whether writes may stay in the disk's cache.
    pub write_cache_enabled: bool,
    /// Letter of the volume the system boots from, where this disk holds it.
    pub boot_drive_letter: Utf16<'b>,
}

impl<'b> PhysicalDisk<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0b0b;

    /// Size in bytes by the geometry; 0 when it is nonsense.
    #[must_use]
    pub fn size(&self) -> u64 {
        [self.tracks_per_cylinder, self.sectors_per_track, self.bytes_per_sector]
            .into_iter()
            .try_fold(self.cylinders, |size, factor| size.checked_mul(factor.into()))
            .unwrap_or(0)
    }

    /// Reads the payload.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        Some(Self {
            disk_number: fields.u32()?,
            bytes_per_sector: fields.u32()?,
            sectors_per_track: fields.u32()?,
            tracks_per_cylinder: fields.u32()?,
            cylinders: fields.u64()?,
            scsi: [fields.u32()?, fields.u32()?, fields.u32()?, fields.u32()?],
            manufacturer: fields.utf16_array(256)?,
            partition_count: fields.u32()?,
            write_cache_enabled: fields.u8()? != 0,
            boot_drive_letter: {
                fields.skip(1)?;
                fields.utf16_array(3)?
            },
        })
    }
}
parse_from_record!(PhysicalDisk<'b>);

/// A partition or volume. Hook 0x0B0C.
#[derive(Clone, Copy, Debug)]
pub struct LogicalDisk<'b> {
    /// Where it begins on its disk, in bytes.
    pub start_offset: u64,
    /// Size in bytes.
    pub partition_size: u64,
    /// Disk it lies on.
    pub disk_number: u32,
    /// 1 partition, 2 volume, 4 extended partition.
    pub drive_type: u32,
    /// Such as `C:`.
    pub drive_letter: Utf16<'b>,
    /// Number of the partition.
    pub partition_number: u32,
    /// Sectors in a cluster.
    pub sectors_per_cluster: u32,
    /// Size of a sector in bytes.
    pub bytes_per_sector: u32,
    /// Clusters free.
    pub free_clusters: i64,
    /// Clusters in all.
    pub total_clusters: i64,
    /// Such as `NTFS`.
    pub file_system: Utf16<'b>,
    /// Whether the volume extends over several partitions.
    pub volume_extent: u32,
}

impl<'b> LogicalDisk<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0b0c;

    /// Reads the payload.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        (payload.hook == Self::HOOK).then_some(())?;
        let mut fields = payload.fields;
        let start_offset = fields.u64()?;
        let partition_size = fields.u64()?;
        let disk_number = fields.u32()?;
        fields.skip(4)?;
        let drive_type = fields.u32()?;
        let drive_letter = fields.utf16_array(4)?;
        fields.skip(4)?;
        let partition_number = fields.u32()?;
        let sectors_per_cluster = fields.u32()?;
        let bytes_per_sector = fields.u32()?;
        fields.skip(4)?;
        Some(Self {
            start_offset,
            partition_size,
            disk_number,
            drive_type,
            drive_letter,
            partition_number,
            sectors_per_cluster,
            bytes_per_sector,
            free_clusters: fields.i64()?,
            total_clusters: fields.i64()?,
            file_system: fields.utf16_array(16)?,
            volume_extent: fields.u32()?,
        })
    }
}
parse_from_record!(LogicalDisk<'b>);

/// An optical disk drive and the disc in it. Hook 0x0B12.
#[derive(Clone, Copy, Debug)]
pub struct OpticalDisk<'b> {
    /// Number that disk events name it by.
    pub disk_number: u16,
    /// Letter of the drive.
    pub drive_letter: Utf16<'b>,
    /// File system of the disc.
    pub file_system: Utf16<'b>,
}

impl<'b> OpticalDisk<'b> {
    /// Its hook.
    pub const HOOK: u16 = 0x0b12;

    /// Reads the payload.
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
    fn logical_disk_places() {
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
