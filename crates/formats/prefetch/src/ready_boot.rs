//! ReadyBoot, the read-ahead of a boot since Windows Vista: `Trace*.fx`, the reads of the last boots, and `rblayout.xin`, the files
//! of the next one.
//!
//! Experimental: the layout is known from one public description, made from the files of one computer with Windows 11; no file
//! of another version was seen. What a boot's file does not say in the described way is counted, not guessed.

use std::collections::{BTreeMap, BTreeSet};

use onoff_compression::CompressionFormat;

use crate::error::Error;
use crate::field::{size_at, text_at, u16_at, u32_at, u64_at};

/// `PfB` and a byte.
const MAGIC: &[u8] = b"PfB\xe3";
/// Decompressed bytes of every piece but the last.
const PIECE: usize = 65_536;
/// Bytes that one byte of XPRESS Huffman can become.
const MAX_EXPANSION: usize = 256;
/// Decompressed bytes beyond this are refused; the traces that were described have 7 to 10 MB.
const MAX_BYTES: usize = 256 << 20;
/// Bytes of a read's record, records of a block, and bytes behind them.
const RECORD: usize = 40;
const RECORDS: usize = 1024;
const BLOCK: usize = RECORD * RECORDS + 8;
/// Names below each other beyond which a path is no path.
const MAX_DEPTH: usize = 128;
/// Bytes of all paths beyond which no more are made: names are shared, so that a small table could have huge ones.
const MAX_TEXT: usize = 64 << 20;
/// A name without a parent.
const NO_PARENT: u32 = u32::MAX;

/// A read of a boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadyBootRead {
    /// Which of the trace's files; `None` for a read whose file the trace does not name.
    pub file: Option<u32>,
    /// First byte in the file; on the volume where the file is not known.
    pub offset: u64,
    /// Bytes.
    pub bytes: u32,
    /// Time since the trace's start, µs. The unit is inferred from sizes and speeds.
    pub time_us: u32,
}

/// What a file of ReadyBoot holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadyBoot {
    /// Whether it is a boot's trace; else a layout.
    pub is_trace: bool,
    /// Paths. Folders that only lead to files are among them.
    pub files: Vec<String>,
    /// Reads in the file's order: two accounts of the same time, one after the other.
    pub reads: Vec<ReadyBootRead>,
    /// Names and reads that could not be read.
    pub unreadable: u64,
}

/// Whether the bytes are a file of ReadyBoot.
#[must_use]
pub fn is_ready_boot(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a file of ReadyBoot.
///
/// # Errors
/// Bytes that are none, are damaged before the names, or are of a kind that is not known.
pub fn read_ready_boot(bytes: &[u8]) -> Result<ReadyBoot, Error> {
    if !is_ready_boot(bytes) {
        return Err(Error::NotReadyBoot);
    }
    let plain = decompress(bytes)?;
    let cut = Error::Cut { offset: plain.len() as u64 };
    match plain.get(..4) {
        Some(b"xFcE") => trace(&plain).ok_or(cut),
        Some(b"iLdR") => layout(&plain).ok_or(cut),
        _ => Err(Error::NotReadyBoot),
    }
}

/// The pieces, each compressed by itself, behind each other.
fn decompress(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let cut = Error::Cut { offset: bytes.len() as u64 };
    let size = size_at(bytes, 4).ok_or(cut.clone())?;
    if size > MAX_BYTES || size > bytes.len().saturating_mul(MAX_EXPANSION) {
        return Err(Error::Size { size: size as u64 });
    }
    let mut plain = vec![0; size];
    let mut at = 8;
    for piece in plain.chunks_mut(PIECE) {
        let length = size_at(bytes, at).ok_or(cut.clone())?;
        let start = at + 4;
        let packed = start.checked_add(length).and_then(|end| bytes.get(start..end)).ok_or(cut.clone())?;
        if CompressionFormat::XpressHuffman.decompress(packed, piece) < piece.len() {
            return Err(Error::Damaged { offset: start as u64 });
        }
        // Four bytes that nobody knows, then the next length.
        at = start + length + 4;
    }
    Ok(plain)
}

fn layout(plain: &[u8]) -> Option<ReadyBoot> {
    let size = size_at(plain, 8)?;
    let names = plain.get(16..16_usize.checked_add(size)?)?;
    let mut unreadable = 0;
    let (files, _) = paths(names, &mut unreadable);
    Some(ReadyBoot { is_trace: false, files, reads: Vec::new(), unreadable })
}

fn trace(plain: &[u8]) -> Option<ReadyBoot> {
    let counts = [size_at(plain, 8)?, size_at(plain, 12)?];
    let names_at = plain.len().checked_sub(size_at(plain, 16)?)?;
    let mut unreadable = 0;
    let (files, by_offset) = paths(plain.get(names_at..)?, &mut unreadable);
    // The disk's identity follows, with its length before it.
    let first = 22 + usize::from(u16_at(plain, 20)?);
    let region = plain.get(first..names_at)?;
    let mut reads = Vec::new();
    let mut block = 0_usize;
    for count in counts {
        let mut left = count;
        while left > 0 {
            let taken = left.min(RECORDS);
            let Some(start) = block.checked_mul(BLOCK).filter(|&start| start < region.len()) else { break };
            let held = region.get(start..).unwrap_or_default();
            let held = held.get(..taken * RECORD).unwrap_or(held).as_chunks::<RECORD>().0;
            reads.extend(held.iter().filter_map(|record| read(record, &by_offset)));
            left -= held.len();
            block += 1;
            if held.len() < taken {
                break;
            }
        }
        unreadable += left as u64;
    }
    Some(ReadyBoot { is_trace: true, files, reads, unreadable })
}

fn read(record: &[u8], files: &BTreeMap<u32, u32>) -> Option<ReadyBootRead> {
    Some(ReadyBootRead {
        file: files.get(&u32_at(record, 16)?).copied(),
        offset: u64_at(record, 8)?,
        bytes: u32_at(record, 24)?,
        time_us: u32_at(record, 28)?,
    })
}

/// The paths of a table of names, and which stands at which offset. `\FI_UNKNOWN` is what Windows writes for a file it does not know: it
/// is no file here.
fn paths(table: &[u8], unreadable: &mut u64) -> (Vec<String>, BTreeMap<u32, u32>) {
    let mut names: BTreeMap<u32, (u32, String)> = BTreeMap::new();
    let mut at = 0;
    while at < table.len() {
        let entry = u32_at(table, at).zip(u16_at(table, at + 4)).and_then(|(parent, characters)| {
            let characters = usize::from(characters);
            Some((parent, characters, text_at(table, at + 6, characters)?))
        });
        let (Some((parent, characters, name)), Ok(offset)) = (entry, u32::try_from(at)) else {
            *unreadable += 1;
            break;
        };
        names.insert(offset, (parent, name));
        at += 6 + characters * 2;
    }
    let mut files = Vec::new();
    let mut by_offset = BTreeMap::new();
    let mut text = 0_usize;
    for &offset in names.keys() {
        match path(offset, &names) {
            Some(path) if path == "\\FI_UNKNOWN" => {}
            Some(path) if text + path.len() <= MAX_TEXT => {
                text += path.len();
                by_offset.insert(offset, u32::try_from(files.len()).unwrap_or(u32::MAX));
                files.push(path);
            }
            _ => *unreadable += 1,
        }
    }
    (files, by_offset)
}

fn path(offset: u32, names: &BTreeMap<u32, (u32, String)>) -> Option<String> {
    let mut parts = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = offset;
    while next != NO_PARENT {
        if parts.len() == MAX_DEPTH || !seen.insert(next) {
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
