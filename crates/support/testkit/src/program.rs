//! A Windows executable with the minimum that a signature reader needs.

/// Returns a 64-bit Windows executable without sections, whose certificate table contains `certificate`.
#[must_use]
pub fn program(certificate: Option<&[u8]>) -> Vec<u8> {
    let mut bytes = vec![0; 0x200];
    bytes[..2].copy_from_slice(b"MZ");
    bytes[0x3c] = 0x40;
    bytes[0x40..0x44].copy_from_slice(b"PE\0\0");
    bytes[0x44..0x46].copy_from_slice(&0x8664_u16.to_le_bytes());
    // Size of the optional header: its 112 bytes and 16 directories of 8.
    bytes[0x54..0x56].copy_from_slice(&240_u16.to_le_bytes());
    bytes[0x56..0x58].copy_from_slice(&0x22_u16.to_le_bytes());
    let optional_header = 0x58;
    bytes[optional_header..optional_header + 2].copy_from_slice(&0x20b_u16.to_le_bytes());
    let put_u32 = |bytes: &mut Vec<u8>, offset: usize, value: u32| {
        bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    };
    put_u32(&mut bytes, optional_header + 32, 0x1000);
    put_u32(&mut bytes, optional_header + 36, 0x200);
    put_u32(&mut bytes, optional_header + 56, 0x1000);
    put_u32(&mut bytes, optional_header + 60, 0x200);
    put_u32(&mut bytes, optional_header + 108, 16);
    if let Some(certificate) = certificate {
        let length = 8 + certificate.len();
        put_u32(&mut bytes, optional_header + 112 + 4 * 8, 0x200);
        put_u32(&mut bytes, optional_header + 112 + 4 * 8 + 4, u32::try_from(length).unwrap_or(u32::MAX));
        bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend_from_slice(&0x0200_u16.to_le_bytes());
        bytes.extend_from_slice(&0x0002_u16.to_le_bytes());
        bytes.extend_from_slice(certificate);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes
}
