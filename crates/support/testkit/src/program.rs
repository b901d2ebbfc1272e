//! A Windows executable with headers, optional resources and an optional signature.

/// A Windows executable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Program<'a> {
    /// Content of its signature; `None` for a program without a certificate table.
    pub certificate: Option<&'a [u8]>,
    /// True for a 32-bit program (PE32), false for a 64-bit one (PE32+).
    pub is_32_bit: bool,
    /// True for a program with a section of resources, as every driver with version information has.
    pub has_resources: bool,
}

/// Returns a 64-bit Windows executable without sections, whose certificate table contains `certificate`.
#[must_use]
pub fn program(certificate: Option<&[u8]>) -> Vec<u8> {
    Program { certificate, ..Program::default() }.bytes()
}

/// Offset of the optional header.
const OPTIONAL_HEADER: usize = 0x58;
/// Size of the headers, and offset of the first section.
const HEADERS_LEN: usize = 0x200;
/// Address of the resources in memory.
const RESOURCES_ADDRESS: u32 = 0x1000;
/// Size of the resources in the file.
const RESOURCES_LEN: usize = 0x200;

impl Program<'_> {
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADERS_LEN];
        let put_u16 = |bytes: &mut Vec<u8>, offset: usize, value: u16| {
            bytes[offset..offset + 2].copy_from_slice(&value.to_le_bytes());
        };
        let put_u32 = |bytes: &mut Vec<u8>, offset: usize, value: u32| {
            bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        };
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x40;
        bytes[0x40..0x44].copy_from_slice(b"PE\0\0");
        let (machine, magic, directories) = if self.is_32_bit { (0x14c, 0x10b, 96) } else { (0x8664, 0x20b, 112) };
        put_u16(&mut bytes, 0x44, machine);
        put_u16(&mut bytes, 0x46, u16::from(self.has_resources));
        // Size of the optional header: its fields and 16 directories of 8 bytes.
        put_u16(&mut bytes, 0x54, directories + 16 * 8);
        put_u16(&mut bytes, 0x56, 0x22);
        put_u16(&mut bytes, OPTIONAL_HEADER, magic);
        put_u32(&mut bytes, OPTIONAL_HEADER + 32, 0x1000);
        put_u32(&mut bytes, OPTIONAL_HEADER + 36, 0x200);
        put_u32(&mut bytes, OPTIONAL_HEADER + 56, if self.has_resources { 0x2000 } else { 0x1000 });
        put_u32(&mut bytes, OPTIONAL_HEADER + 60, 0x200);
        let directories = OPTIONAL_HEADER + usize::from(directories);
        put_u32(&mut bytes, directories - 4, 16);
        if self.has_resources {
            put_u32(&mut bytes, directories + 2 * 8, RESOURCES_ADDRESS);
            put_u32(&mut bytes, directories + 2 * 8 + 4, 0x80);
            let section = directories + 16 * 8;
            bytes[section..section + 5].copy_from_slice(b".rsrc");
            put_u32(&mut bytes, section + 8, 0x80);
            put_u32(&mut bytes, section + 12, RESOURCES_ADDRESS);
            put_u32(&mut bytes, section + 16, RESOURCES_LEN as u32);
            put_u32(&mut bytes, section + 20, HEADERS_LEN as u32);
            put_u32(&mut bytes, section + 36, 0x4000_0040);
            bytes.extend_from_slice(&resources());
        }
        if let Some(certificate) = self.certificate {
            let start = bytes.len();
            let len = u32::try_from(8 + certificate.len()).unwrap_or(u32::MAX);
            put_u32(&mut bytes, directories + 4 * 8, u32::try_from(start).unwrap_or(u32::MAX));
            put_u32(&mut bytes, directories + 4 * 8 + 4, len);
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(&0x0200_u16.to_le_bytes());
            bytes.extend_from_slice(&0x0002_u16.to_le_bytes());
            bytes.extend_from_slice(certificate);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        bytes
    }
}

/// Returns a section with one resource: type 16 (version information), name 1, US English.
fn resources() -> Vec<u8> {
    let mut bytes = Vec::new();
    // Three directories, each with one entry; the last one leads to the data.
    for (id, offset) in [(16_u32, 0x8000_0018_u32), (1, 0x8000_0030), (1033, 0x48)] {
        bytes.extend_from_slice(&[0; 14]);
        bytes.extend_from_slice(&1_u16.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
    }
    for value in [RESOURCES_ADDRESS + 0x58, 13, 0, 0] {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    bytes.extend_from_slice(b"resource data");
    bytes.resize(RESOURCES_LEN, 0);
    bytes
}
