//! Reads files of ReadyBoot, the boot read-ahead since Windows Vista: `Trace*.fx` with the reads of past boots, and
//! `rblayout.xin` with the files for the next one.
//!
//! Experimental: the only source is one public description, based on files of one computer with Windows 11. Entries
//! that deviate from the description are counted as unreadable.

use std::collections::{BTreeMap, BTreeSet};

use onoff_compression::CompressionFormat;

use crate::error::Error;
use crate::field::{size_at, text_at, u16_at, u32_at, u64_at};

const MAGIC: &[u8] = b"PfB\xe3";
/// Decompressed size of every chunk except the last, in bytes.
const CHUNK_SIZE: usize = 65_536;
/// Maximum expansion of XPRESS Huffman.
const MAX_EXPANSION: usize = 256;
/// Maximum decompressed size in bytes. Known traces have 7 to 10 MB.
const MAX_BYTES: usize = 256 << 20;
/// Size of a read record in bytes, number of records per block, and size of a block, which ends with 8 extra bytes.
const RECORD_SIZE: usize = 40;
const RECORDS_PER_BLOCK: usize = 1024;
const BLOCK_SIZE: usize = RECORD_SIZE * RECORDS_PER_BLOCK + 8;
/// Maximum number of names in a path.
const MAX_DEPTH: usize = 128;
/// Maximum size of all paths in bytes. Paths share names, so a small table could expand to huge paths.
const MAX_PATH_BYTES: usize = 64 << 20;
/// Parent of top-level names.
const NO_PARENT: u32 = u32::MAX;

/// A disk read during a boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadyBootRead {
    /// Index in [`ReadyBoot::files`]; `None` if the trace does not name the file.
    pub file: Option<u32>,
    /// Offset in bytes, in the file or, if the file is unknown, on the volume.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u32,
    /// Time since the start of the trace, in µs. The unit is inferred from sizes and speeds.
    pub time_us: u32,
}

/// Contents of a ReadyBoot file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBoot {
    /// True for a trace of a boot, false for a layout.
    pub is_trace: bool,
    /// Paths of files, and of the directories that contain them.
    pub files: Vec<String>,
    /// Reads in file order: two consecutive lists that cover the same period.
    pub reads: Vec<ReadyBootRead>,
    /// Number of unreadable names and reads.
    pub unreadable: u64,
}

/// True if the bytes start like a ReadyBoot file.
#[must_use]
pub fn is_ready_boot(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a ReadyBoot file.
///
/// # Errors
/// The bytes are not a ReadyBoot file, are of an unknown kind, or are damaged before the names.
pub fn read_ready_boot(bytes: &[u8]) -> Result<ReadyBoot, Error> {
    if !is_ready_boot(bytes) {
        return Err(Error::NotReadyBoot);
    }
    let plain = decompress(bytes)?;
    let truncated = Error::Truncated { offset: plain.len() as u64 };
    match plain.get(..4) {
        Some(b"xFcE") => parse_trace(&plain).ok_or(truncated),
        Some(b"iLdR") => parse_layout(&plain).ok_or(truncated),
        _ => Err(Error::NotReadyBoot),
    }
}

/// Decompresses the chunks, each of which is compressed separately.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let truncated = Error::Truncated { offset: bytes.len() as u64 };
    let size = size_at(bytes, 4).ok_or(truncated.clone())?;
    if size > MAX_BYTES || size > bytes.len().saturating_mul(MAX_EXPANSION) {
        return Err(Error::InvalidSize { size: size as u64 });
    }
    let mut plain = vec![0; size];
    let mut offset = 8;
    for chunk in plain.chunks_mut(CHUNK_SIZE) {
        let length = size_at(bytes, offset).ok_or(truncated.clone())?;
        let start = offset + 4;
        let packed = start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or(truncated.clone())?;
        if CompressionFormat::XpressHuffman.decompress(packed, chunk) < chunk.len() {
            return Err(Error::Damaged { offset: start as u64 });
        }
        // Four unknown bytes precede the next length.
        offset = start + length + 4;
    }
    Ok(plain)
}

fn parse_layout(plain: &[u8]) -> Option<ReadyBoot> {
    let size = size_at(plain, 8)?;
    let names = plain.get(16..16_usize.checked_add(size)?)?;
    let mut unreadable = 0;
    let (files, _) = read_paths(names, &mut unreadable);
    Some(ReadyBoot { is_trace: false, files, reads: Vec::new(), unreadable })
}

fn parse_trace(plain: &[u8]) -> Option<ReadyBoot> {
    let counts = [size_at(plain, 8)?, size_at(plain, 12)?];
    let names_offset = plain.len().checked_sub(size_at(plain, 16)?)?;
    let mut unreadable = 0;
    let (files, indexes_by_offset) = read_paths(plain.get(names_offset..)?, &mut unreadable);
    // A disk id with a length prefix precedes the records.
    let records_start = 22 + usize::from(u16_at(plain, 20)?);
    let region = plain.get(records_start..names_offset)?;
    let mut reads = Vec::new();
    let mut block = 0_usize;
    for count in counts {
        let mut remaining = count;
        while remaining > 0 {
            let records_in_block = remaining.min(RECORDS_PER_BLOCK);
            let Some(start) = block.checked_mul(BLOCK_SIZE).filter(|&start| start < region.len()) else { break };
            let entries = region.get(start..).unwrap_or_default();
            let entries = entries.get(..records_in_block * RECORD_SIZE).unwrap_or(entries).as_chunks::<RECORD_SIZE>().0;
            reads.extend(entries.iter().filter_map(|record| parse_read(record, &indexes_by_offset)));
            remaining -= entries.len();
            block += 1;
            if entries.len() < records_in_block {
                break;
            }
        }
        unreadable += remaining as u64;
    }
    Some(ReadyBoot { is_trace: true, files, reads, unreadable })
}

fn parse_read(record: &[u8], files: &BTreeMap<u32, u32>) -> Option<ReadyBootRead> {
    Some(ReadyBootRead {
        file: files.get(&u32_at(record, 16)?).copied(),
        offset: u64_at(record, 8)?,
        bytes: u32_at(record, 24)?,
        time_us: u32_at(record, 28)?,
    })
}

/// Reads the paths of a name table, and their indexes by offset. Skips `\FI_UNKNOWN`, which Windows writes for unknown
/// files.
fn read_paths(table: &[u8], unreadable: &mut u64) -> (Vec<String>, BTreeMap<u32, u32>) {
    let mut names: BTreeMap<u32, (u32, String)> = BTreeMap::new();
    let mut position = 0;
    while position < table.len() {
        let entry = u32_at(table, position).zip(u16_at(table, position + 4)).and_then(|(parent, units)| {
            let units = usize::from(units);
            Some((parent, units, text_at(table, position + 6, units)?))
        });
        let (Some((parent, units, name)), Ok(offset)) = (entry, u32::try_from(position)) else {
            *unreadable += 1;
            break;
        };
        names.insert(offset, (parent, name));
        position += 6 + units * 2;
    }
    let mut files = Vec::new();
    let mut indexes_by_offset = BTreeMap::new();
    let mut path_bytes = 0_usize;
    for &offset in names.keys() {
        match full_path(offset, &names) {
            Some(path) if path == "\\FI_UNKNOWN" => {}
            Some(path) if path_bytes + path.len() <= MAX_PATH_BYTES => {
                path_bytes += path.len();
                indexes_by_offset.insert(offset, u32::try_from(files.len()).unwrap_or(u32::MAX));
                files.push(path);
            }
            _ => *unreadable += 1,
        }
    }
    (files, indexes_by_offset)
}

fn full_path(offset: u32, names: &BTreeMap<u32, (u32, String)>) -> Option<String> {
    let mut parts = Vec::new();
    let mut visited = BTreeSet::new();
    let mut next = offset;
    while next != NO_PARENT {
        if parts.len() == MAX_DEPTH || !visited.insert(next) {
            return None;
        }
        let (parent, name) = names.get(&next)?;
        parts.push(name.as_str());
        next = *parent;
    }
    let length = parts.iter().map(|part| part.len() + 1).sum();
    let mut path = String::with_capacity(length);
    for part in parts.iter().rev() {
        path.push('\\');
        path.push_str(part);
    }
    Some(path)
}
