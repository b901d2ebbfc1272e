//! The databases of SuperFetch (`Ag*.db`, `*.7db`, `*.ebd`): their headers.

use onoff_compression::CompressionFormat;

use crate::error::Error;
use crate::field::u32_at;

/// What is undone of the compression: the header lies at the start.
const LOOKED_AT: usize = 65_536;
/// Bytes of the header up to the counts.
const HEADER: usize = 68;

/// How a database is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuperfetchPacking {
    /// As it is.
    Plain,
    /// `MEMO`: LZNT1, Windows Vista.
    Memo,
    /// `MEM0`: XPRESS Huffman in pieces, Windows 7.
    Mem0,
    /// `MAM`: Windows 8 and later.
    Mam,
}

/// What the header of a database says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuperfetchHeader {
    /// How it is packed.
    pub packing: SuperfetchPacking,
    /// First number of the header: a version.
    pub version: u32,
    /// Bytes of the database.
    pub bytes: u32,
    /// Bytes of its header.
    pub header_bytes: u32,
    /// Kind of database.
    pub kind: u32,
    /// Volumes.
    pub volumes: u32,
    /// Files.
    pub files: u32,
    /// Sources: programs that used them.
    pub sources: u32,
}

/// Reads the header of a database. The layout follows the description published with libagdb.
///
/// # Errors
/// Bytes that end before the header does, are damaged before it, or name a size that the file cannot have.
pub fn read_superfetch(bytes: &[u8]) -> Result<SuperfetchHeader, Error> {
    let cut = Error::Cut { offset: bytes.len() as u64 };
    let size = u32_at(bytes, 4).ok_or(cut.clone())?;
    let (packing, format, start) = match bytes.get(..4).ok_or(cut.clone())? {
        b"MEMO" => (SuperfetchPacking::Memo, Some(CompressionFormat::Lznt1), 8),
        b"MEM0" => (SuperfetchPacking::Mem0, Some(CompressionFormat::XpressHuffman), 12),
        [b'M', b'A', b'M', flags] => {
            let format = CompressionFormat::from_number(u16::from(flags & 0xf));
            let format = format.ok_or(Error::Compression { number: *flags })?;
            (SuperfetchPacking::Mam, Some(format), if flags & 0x80 != 0 { 12 } else { 8 })
        }
        _ => (SuperfetchPacking::Plain, None, 0),
    };
    let payload = bytes.get(start..).ok_or(cut.clone())?;
    let plain = match format {
        None => payload.to_vec(),
        Some(format) => {
            let mut plain = vec![0; LOOKED_AT.min(size as usize)];
            let good = format.decompress(payload, &mut plain);
            plain.truncate(good);
            plain
        }
    };
    let number = |at: usize| u32_at(&plain, at).ok_or(Error::Damaged { offset: start as u64 });
    let header = SuperfetchHeader {
        packing,
        version: number(0)?,
        bytes: number(4)?,
        header_bytes: number(8)?,
        kind: number(12)?,
        volumes: number(52)?,
        files: number(56)?,
        sources: number(64)?,
    };
    let whole = if packing == SuperfetchPacking::Plain { bytes.len() } else { size as usize };
    if header.bytes as usize != whole || (header.header_bytes as usize) < HEADER.min(whole) {
        return Err(Error::NotSuperfetch);
    }
    Ok(header)
}
