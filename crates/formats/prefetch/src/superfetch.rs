//! Reads the headers of SuperFetch databases (`Ag*.db`, `*.7db`, `*.ebd`).

use onoff_compression::CompressionFormat;

use crate::error::Error;
use crate::field::u32_at;

/// Number of bytes to decompress, which include the header.
const PREFIX_SIZE: usize = 65_536;
/// Size of the header up to the counts, in bytes.
const HEADER_SIZE: usize = 68;

/// Compression of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperfetchCompression {
    /// Not compressed.
    None,
    /// `MEMO`: LZNT1, Windows Vista.
    Memo,
    /// `MEM0`: XPRESS Huffman in chunks, Windows 7.
    Mem0,
    /// `MAM`: Windows 8 and later.
    Mam,
}

/// Header of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperfetchHeader {
    pub compression: SuperfetchCompression,
    /// First number of the header, presumably a version.
    pub version: u32,
    /// Size of the database in bytes.
    pub bytes: u32,
    /// Size of the header in bytes.
    pub header_bytes: u32,
    pub kind: u32,
    /// Number of volumes.
    pub volumes: u32,
    /// Number of files.
    pub files: u32,
    /// Number of sources: programs that used the files.
    pub sources: u32,
}

/// Reads the header of a database. Source of the layout: the documentation of libagdb.
///
/// # Errors
/// The bytes end inside the header, are damaged before its end, or do not have the size that the header declares.
pub fn read_superfetch(bytes: &[u8]) -> Result<SuperfetchHeader, Error> {
    let truncated = Error::Truncated { offset: bytes.len() as u64 };
    let size = u32_at(bytes, 4).ok_or(truncated.clone())?;
    let (compression, format, start) = match bytes.get(..4).ok_or(truncated.clone())? {
        b"MEMO" => (SuperfetchCompression::Memo, Some(CompressionFormat::Lznt1), 8),
        b"MEM0" => (SuperfetchCompression::Mem0, Some(CompressionFormat::XpressHuffman), 12),
        [b'M', b'A', b'M', flags] => {
            let format = CompressionFormat::from_number(u16::from(flags & 0xf));
            let format = format.ok_or(Error::UnsupportedCompression { number: *flags })?;
            (SuperfetchCompression::Mam, Some(format), if flags & 0x80 != 0 { 12 } else { 8 })
        }
        _ => (SuperfetchCompression::None, None, 0),
    };
    let payload = bytes.get(start..).ok_or(truncated.clone())?;
    let plain = match format {
        None => payload.to_vec(),
        Some(format) => {
            let mut plain = vec![0; PREFIX_SIZE.min(size as usize)];
            let decompressed = format.decompress(payload, &mut plain);
            plain.truncate(decompressed);
            plain
        }
    };
    let number = |offset: usize| u32_at(&plain, offset).ok_or(Error::Damaged { offset: start as u64 });
    let header = SuperfetchHeader {
        compression,
        version: number(0)?,
        bytes: number(4)?,
        header_bytes: number(8)?,
        kind: number(12)?,
        volumes: number(52)?,
        files: number(56)?,
        sources: number(64)?,
    };
    let expected_size = if compression == SuperfetchCompression::None { bytes.len() } else { size as usize };
    if header.bytes as usize != expected_size || (header.header_bytes as usize) < HEADER_SIZE.min(expected_size) {
        return Err(Error::NotSuperfetch);
    }
    Ok(header)
}
