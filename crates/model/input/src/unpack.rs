//! Unpacks compressed files and archives within limits.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::ops::Range;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::sniff::{Content, Packing, SNIFF_LEN, is_tar, sniff};
use crate::store::{Sink, Store};

/// Limits for unpacking, against decompression bombs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum unpacked size of a file, bytes.
    pub unpacked_bytes: u64,
    /// Maximum ratio of unpacked to packed size, beyond [`Limits::free_bytes`].
    pub ratio: u64,
    /// Unpacked size allowed for any file regardless of the ratio, bytes.
    pub free_bytes: u64,
    /// Maximum nesting depth, e.g. 2 for an `.etl.xz` in a `.zip`.
    pub layers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked_bytes: 8 << 30,
            // A preallocated recording of an idle machine compresses a few hundredfold.
            ratio: 400,
            free_bytes: 256 << 20,
            layers: 3,
        }
    }
}

impl Limits {
    fn for_stored(&self, stored: u64) -> u64 {
        self.unpacked_bytes.min(self.free_bytes.max(stored.saturating_mul(self.ratio)))
    }
}

// Maximum history of the streaming decoders.
const DICTIONARY_KIB: u32 = 256 << 10;

/// The first `most` unpacked bytes; fewer if the data is damaged, which its reader reports.
pub fn unpack_beginning(packing: Packing, bytes: &[u8], most: usize) -> Vec<u8> {
    let done = Cell::new(0);
    let source = Source { rest: bytes, done: &done };
    let reader: Box<dyn Read> = match packing {
        Packing::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(source, true, DICTIONARY_KIB)),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
        Packing::Zstandard => Box::new(ZstandardFrames { rest: bytes, frame: None, done: &done, all: bytes.len() }),
        // Members are separate files.
        Packing::Zip => return Vec::new(),
    };
    let mut beginning = Vec::new();
    // On damage, use the bytes before it.
    let _ = reader.take(most as u64).read_to_end(&mut beginning);
    beginning
}

/// The content of a packed file.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// Names and bytes, in archive order.
    pub files: Vec<(String, Box<dyn Bytes>)>,
    /// Names of the skipped archive members.
    pub skipped: Vec<String>,
}

impl Unpacked {
    fn append(&mut self, inside: Self) {
        self.files.extend(inside.files);
        self.skipped.extend(inside.skipped);
    }
}

/// How to unpack a file.
#[derive(Clone, Copy)]
pub struct UnpackOptions<'a> {
    pub limits: &'a Limits,
    /// Destination.
    pub store: &'a dyn Store,
    /// Decides from its name and first bytes whether an archive member that is neither a recording nor packed is
    /// relevant.
    pub is_relevant: fn(&str, &[u8]) -> bool,
}

/// Unpacks `bytes` recursively. Archive members that are neither recordings, nor relevant, nor packed are skipped.
pub fn unpack(name: &str, packing: Packing, bytes: &[u8], how: UnpackOptions<'_>) -> Result<Unpacked, Error> {
    how.layer(name, packing, bytes, how.limits.layers)
}

impl UnpackOptions<'_> {
    fn layer(&self, name: &str, packing: Packing, bytes: &[u8], layers: usize) -> Result<Unpacked, Error> {
        if layers == 0 {
            return Err(Error::TooDeep { name: name.into(), limit: self.limits.layers });
        }
        let all = layers == self.limits.layers;
        let kept = self.store.find().filter(|_| all && packing != Packing::Zip);
        let done = Cell::new(0);
        let source = Source { rest: bytes, done: &done };
        let inside = match (kept, packing) {
            (Some(kept), _) => kept,
            (None, Packing::Xz) => {
                let reader = lzma_rust2::XzReader::new_mem_limit(source, true, DICTIONARY_KIB);
                self.stream(name, packing, reader, bytes.len(), &done, all)?
            }
            (None, Packing::Gzip) => {
                let reader = flate2::read::MultiGzDecoder::new(source);
                self.stream(name, packing, reader, bytes.len(), &done, all)?
            }
            (None, Packing::Zstandard) => {
                let reader = ZstandardFrames { rest: bytes, frame: None, done: &done, all: bytes.len() };
                self.stream(name, packing, reader, bytes.len(), &done, all)?
            }
            (None, Packing::Zip) => return self.archive(name, bytes, layers),
        };
        match sniff(inside.bytes()) {
            Content::Packed(packing) => self.layer(name, packing, inside.bytes(), layers - 1),
            _ => Ok(Unpacked { files: vec![(name.to_owned(), inside)], skipped: Vec::new() }),
        }
    }

    fn archive(&self, name: &str, bytes: &[u8], layers: usize) -> Result<Unpacked, Error> {
        let limits = self.limits;
        let failed = |source: zip::result::ZipError| Error::Unpack {
            name: name.into(),
            packing: Packing::Zip.as_str(),
            offset: 0,
            source: io::Error::other(source.to_string()),
        };
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(failed)?;
        let members = archive.len();
        let mut unpacked = Unpacked::default();
        let mut left = limits.for_stored(bytes.len() as u64);
        let mut done_bytes = 0;
        for index in 0..members {
            let mut member = archive.by_index(index).map_err(failed)?;
            if !member.is_file() {
                continue;
            }
            let member_name = match member.name() {
                Ok(member) => format!("{name}/{member}"),
                Err(_) => format!("{name}/member {index}"),
            };
            let packed_bytes = member.compressed_size();
            let mut head = Vec::new();
            let place = |offset: u64, source| Error::Unpack {
                name: member_name.clone(),
                packing: Packing::Zip.as_str(),
                offset,
                source,
            };
            (&mut member).take(SNIFF_LEN as u64).read_to_end(&mut head).map_err(|source| place(0, source))?;
            let content = sniff(&head);
            match content {
                Content::Empty => {
                    unpacked.skipped.push(member_name);
                    continue;
                }
                Content::Unknown if !is_tar(&head) && !(self.is_relevant)(&member_name, &head) => {
                    unpacked.skipped.push(member_name);
                    continue;
                }
                Content::Unknown | Content::Recording(_) | Content::Packed(_) => {}
            }
            let mut sink = self.store.sink(false);
            let mut length = head.len() as u64;
            let copied =
                sink.push(&head).and_then(|()| copy(&mut (&mut member).take(left + 1), &mut *sink, &mut length, || {}));
            copied.map_err(|source| place(length, source))?;
            if length > left {
                return Err(Error::TooLarge {
                    name: member_name,
                    stored: bytes.len() as u64,
                    limit: limits.for_stored(bytes.len() as u64),
                });
            }
            left -= length;
            let contents = sink.finish().map_err(|source| place(length, source))?;
            done_bytes += packed_bytes;
            self.store.progress(done_bytes, bytes.len() as u64);
            match content {
                Content::Packed(packing) => {
                    unpacked.append(self.layer(&member_name, packing, contents.bytes(), layers - 1)?)
                }
                _ => unpacked.files.push((member_name, contents)),
            }
        }
        if unpacked.files.is_empty() {
            return Err(Error::NoRecordingInside { name: name.into(), members });
        }
        Ok(unpacked)
    }

    fn stream(
        &self,
        name: &str,
        packing: Packing,
        reader: impl Read,
        stored: usize,
        done: &Cell<usize>,
        all: bool,
    ) -> Result<Box<dyn Bytes>, Error> {
        let stored = stored as u64;
        let limit = self.limits.for_stored(stored);
        let failed =
            |offset: u64, source| Error::Unpack { name: name.into(), packing: packing.as_str(), offset, source };
        let mut sink = self.store.sink(all);
        let mut length = 0;
        let report = || self.store.progress(done.get() as u64, stored);
        copy(&mut reader.take(limit + 1), &mut *sink, &mut length, report).map_err(|source| failed(length, source))?;
        if length > limit {
            return Err(Error::TooLarge { name: name.into(), stored, limit });
        }
        sink.finish().map_err(|source| failed(length, source))
    }
}

/// Bytes unpacked at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Copies everything, adds the number of bytes to `length`, and calls `after_each` after each block.
fn copy(reader: &mut impl Read, sink: &mut dyn Sink, length: &mut u64, after_each: impl Fn()) -> io::Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                sink.push(block.get(..count).unwrap_or_default())?;
                *length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        after_each();
    }
}

/// Packed bytes, with the number consumed so far.
struct Source<'a> {
    rest: &'a [u8],
    done: &'a Cell<usize>,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.rest.read(buffer)?;
        self.done.set(self.done.get() + count);
        Ok(count)
    }
}

/// Maximum number of archive members.
const MAX_MEMBERS: usize = 1_000_000;

/// Members of a tar archive.
pub struct TarMembers {
    /// Names and byte ranges.
    pub members: Vec<(String, Range<usize>)>,
    /// True if the archive is truncated or damaged.
    pub is_truncated: bool,
}

/// The regular files in a tar archive: names prefixed with the archive's name, and byte ranges. For a truncated or
/// damaged archive, the members before the damage; the last one may be truncated.
pub fn tar_members(name: &str, bytes: &[u8]) -> Result<TarMembers, Error> {
    let failed = |source| Error::Unpack { name: name.to_owned(), packing: "tar", offset: 0, source };
    let mut archive = tar::Archive::new(bytes);
    let (mut members, mut is_truncated) = (Vec::new(), false);
    for (entries, entry) in archive.entries().map_err(failed)?.enumerate() {
        if entries == MAX_MEMBERS {
            return Err(failed(io::Error::other(format!("more than {MAX_MEMBERS} members"))));
        }
        let entry = match entry {
            Ok(entry) => entry,
            // A truncated archive still contains the members before the damage.
            Err(_) if entries > 0 => {
                is_truncated = true;
                break;
            }
            Err(source) => return Err(failed(source)),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let from = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
        if from <= bytes.len() {
            is_truncated |= to > bytes.len();
            members.push((format!("{name}/{path}"), from..to.min(bytes.len())));
        }
    }
    Ok(TarMembers { members, is_truncated })
}

/// Reads all frames of a Zstandard file, some of which are skippable; the decoder reads only one.
struct ZstandardFrames<'a> {
    rest: &'a [u8],
    frame: Option<ZstandardFrame<'a>>,
    /// Number of bytes consumed, and total.
    done: &'a Cell<usize>,
    all: usize,
}

type ZstandardFrame<'a> = ruzstd::decoding::StreamingDecoder<Remainder<'a>, ruzstd::decoding::FrameDecoder>;

/// The bytes a frame's decoder has not read yet.
struct Remainder<'a>(&'a [u8]);

impl Read for Remainder<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

const SKIPPABLE_FRAMES: std::ops::RangeInclusive<u32> = 0x184D_2A50..=0x184D_2A5F;

impl Read for ZstandardFrames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(frame) = &mut self.frame {
                let count = frame.read(buffer)?;
                self.done.set(self.all - frame.get_ref().0.len());
                if count > 0 {
                    return Ok(count);
                }
                self.rest = frame.get_ref().0;
                self.frame = None;
            }
            let Some((magic, after)) = self.rest.split_first_chunk::<4>() else { return Ok(0) };
            if SKIPPABLE_FRAMES.contains(&u32::from_le_bytes(*magic)) {
                let Some((length, after)) = after.split_first_chunk::<4>() else { return Ok(0) };
                let length = u32::from_le_bytes(*length) as usize;
                self.rest = after.get(length..).unwrap_or_default();
                continue;
            }
            let frame = ruzstd::decoding::StreamingDecoder::new(Remainder(self.rest))
                .map_err(|error| io::Error::other(error.to_string()))?;
            self.frame = Some(frame);
        }
    }
}
