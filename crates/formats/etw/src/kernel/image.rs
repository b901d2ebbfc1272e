//! Group 0x14 and hook 0x030A: executable images, and the records that merging adds to identify them.

use onoff_etl::{Guid, Record};

use super::{KernelPayload, kinds, parse_from_record};
use crate::reader::Reader;
use crate::text::{Ansi, Utf16};

kinds! {
    /// Kind of an [`Image`] event.
    ImageEventKind {
        /// The image was mapped (0x030A, in the group of process events).
        Load = 0x030a,
        /// The image was unmapped (0x1402).
        Unload = 0x1402,
        /// The image was already mapped when the recording started (0x1403).
        RundownStart = 0x1403,
        /// The image was still mapped when the recording ended (0x1404).
        RundownEnd = 0x1404,
    }
}

/// An executable image was mapped or unmapped, or is listed by a rundown. Hooks 0x030A, 0x1402 to 0x1404.
#[derive(Clone, Copy, Debug)]
pub struct Image<'b> {
    pub kind: ImageEventKind,
    /// Address of the mapping.
    pub image_base: u64,
    /// Size in bytes.
    pub image_size: u64,
    /// Process id; 0 or 4 for the kernel. 0 in version 0.
    pub process_id: u32,
    /// Checksum in the PE header; 0 before version 2.
    pub image_checksum: u32,
    /// Timestamp in the PE header; 0 before version 2.
    pub time_date_stamp: u32,
    /// Preferred load address; 0 before version 2.
    pub default_base: u64,
    /// NT path, such as `\Device\HarddiskVolume3\Windows\System32\ntdll.dll`.
    pub file_name: Utf16<'b>,
}

impl<'b> Image<'b> {
    /// Reads the payload; `None` for another hook or a payload that is too short.
    #[must_use]
    pub fn read(payload: KernelPayload<'b>) -> Option<Self> {
        let kind = ImageEventKind::from_hook(payload.hook)?;
        let version = payload.version;
        let mut fields = payload.fields;
        let image_base = fields.pointer()?;
        let mut image = Image {
            kind,
            image_base,
            image_size: 0,
            process_id: 0,
            image_checksum: 0,
            time_date_stamp: 0,
            default_base: 0,
            file_name: Utf16::default(),
        };
        if version == 0 {
            image.image_size = fields.u32()?.into();
        } else {
            image.image_size = fields.pointer()?;
            image.process_id = fields.u32()?;
        }
        if version >= 2 {
            image.image_checksum = fields.u32()?;
            image.time_date_stamp = fields.u32()?;
            // Four bytes: reserved in version 2, signature level and type in version 3.
            fields.skip(4)?;
            image.default_base = fields.pointer()?;
            fields.skip(16)?;
        }
        image.file_name = fields.utf16_z();
        Some(image)
    }
}
parse_from_record!(Image<'b>);

/// Identification of an image, added when a recording is merged. It has the time, process and thread of its image
/// event. FULL header, class `b3e675d7-2554-4f18-830b-2762732560de`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ImageIdentification<'b> {
    /// Size and file name as linked (type 0).
    Info(ImageInfo<'b>),
    /// PDB of native code (type 36) or precompiled managed code (type 37).
    DebugId(ImageDebugId<'b>),
    /// Version resource (type 64).
    FileVersion(ImageFileVersion<'b>),
}

/// Class of the records that identify images.
pub const IMAGE_ID_CLASS: Guid = Guid::from_u128(0xb3e675d7_2554_4f18_830b_2762732560de);

/// Size, link time and original name of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageInfo<'b> {
    /// Address of the mapping.
    pub image_base: u64,
    /// Size in bytes.
    pub image_size: u64,
    /// Process id; 0 or 4 for the kernel.
    pub process_id: u32,
    /// Timestamp in the PE header.
    pub time_date_stamp: u32,
    /// Name given to the linker.
    pub original_file_name: Utf16<'b>,
}

/// PDB of an image. GUID and age identify the symbols exactly.
#[derive(Clone, Copy, Debug)]
pub struct ImageDebugId<'b> {
    /// Address of the mapping.
    pub image_base: u64,
    /// Process id; 0 or 4 for the kernel.
    pub process_id: u32,
    /// GUID of the PDB.
    pub guid: Guid,
    /// Age of the PDB.
    pub age: u32,
    /// File name of the PDB, sometimes with the path on the build machine.
    pub pdb_file_name: Ansi<'b>,
    /// True for the PDB of the intermediate language of precompiled code (type 37).
    pub managed: bool,
}

/// Version resource of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageFileVersion<'b> {
    /// Size in bytes.
    pub image_size: u32,
    /// Timestamp in the PE header.
    pub time_date_stamp: u32,
    /// `OriginalFilename`.
    pub original_file_name: Utf16<'b>,
    /// `FileDescription`.
    pub file_description: Utf16<'b>,
    /// `FileVersion`, as text.
    pub file_version: Utf16<'b>,
    /// Version as four numbers.
    pub binary_file_version: Utf16<'b>,
    /// Language of the resource.
    pub language: Utf16<'b>,
    /// `ProductName`.
    pub product_name: Utf16<'b>,
    /// `CompanyName`.
    pub company_name: Utf16<'b>,
    /// `ProductVersion`.
    pub product_version: Utf16<'b>,
    /// File id used by application telemetry.
    pub file_id: Utf16<'b>,
    /// Program id used by application telemetry.
    pub program_id: Utf16<'b>,
}

impl<'b> ImageIdentification<'b> {
    /// Reads the event from a record; `None` for other records, for types without an identification (32 none, 38
    /// features, 40 deterministic, 41 not opened, …) and for payloads that are too short.
    #[must_use]
    pub fn parse(record: &Record<'b>) -> Option<Self> {
        if record.class_guid()? != IMAGE_ID_CLASS {
            return None;
        }
        Self::read(record.opcode(), Reader::new(record.payload(), record.pointer_size()))
    }

    /// Reads a payload of the class; the record's opcode is the type.
    #[must_use]
    pub fn read(opcode: u8, mut fields: Reader<'b>) -> Option<Self> {
        match opcode {
            0 => Some(Self::Info(ImageInfo {
                image_base: fields.pointer()?,
                image_size: fields.pointer()?,
                process_id: fields.u32()?,
                time_date_stamp: fields.u32()?,
                original_file_name: fields.utf16_z(),
            })),
            36 | 37 => Some(Self::DebugId(ImageDebugId {
                image_base: fields.pointer()?,
                process_id: fields.u32()?,
                guid: fields.guid()?,
                age: fields.u32()?,
                pdb_file_name: fields.ansi_z(),
                managed: opcode == 37,
            })),
            64 => Some(Self::FileVersion(ImageFileVersion {
                image_size: fields.u32()?,
                time_date_stamp: fields.u32()?,
                original_file_name: fields.utf16_z(),
                file_description: fields.utf16_z(),
                file_version: fields.utf16_z(),
                binary_file_version: fields.utf16_z(),
                language: fields.utf16_z(),
                product_name: fields.utf16_z(),
                company_name: fields.utf16_z(),
                product_version: fields.utf16_z(),
                file_id: fields.utf16_z(),
                program_id: fields.utf16_z(),
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_z(text: &str) -> Vec<u8> {
        text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn reads_image_load_versions() {
        let mut v0 = 0x1000u32.to_le_bytes().to_vec();
        v0.extend(0x2000u32.to_le_bytes());
        v0.extend(utf16_z("a.dll"));
        let image = Image::read(KernelPayload::new(0x030a, 0, &v0, 4)).unwrap();
        assert_eq!((image.image_base, image.image_size), (0x1000, 0x2000));
        assert_eq!(image.file_name, "a.dll");

        let mut v3 = 0x7ff0_0000_1000u64.to_le_bytes().to_vec();
        v3.extend(0x2000u64.to_le_bytes());
        v3.extend([600u32, 0xabc, 0x5f00_0000, 0].iter().flat_map(|v| v.to_le_bytes()));
        v3.extend(0x1_8000_0000u64.to_le_bytes());
        v3.extend([0; 16]);
        v3.extend(utf16_z("\\Device\\b.dll"));
        let image = Image::read(KernelPayload::new(0x1403, 3, &v3, 8)).unwrap();
        assert_eq!(image.kind, ImageEventKind::RundownStart);
        assert_eq!((image.process_id, image.image_checksum), (600, 0xabc));
        assert_eq!(image.default_base, 0x1_8000_0000);
        assert_eq!(image.file_name, "\\Device\\b.dll");
    }

    #[test]
    fn reads_debug_id() {
        let mut bytes = 0x1000u64.to_le_bytes().to_vec();
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(IMAGE_ID_CLASS.to_bytes_le());
        bytes.extend(2u32.to_le_bytes());
        bytes.extend(b"ntkrnlmp.pdb\0");
        let Some(ImageIdentification::DebugId(id)) = ImageIdentification::read(36, Reader::new(&bytes, 8)) else {
            panic!("not a debug id")
        };
        assert_eq!((id.guid, id.age, id.managed), (IMAGE_ID_CLASS, 2, false));
        assert_eq!(id.pdb_file_name, "ntkrnlmp.pdb");
        assert!(ImageIdentification::read(36, Reader::new(&bytes[..20], 8)).is_none());
    }
}
