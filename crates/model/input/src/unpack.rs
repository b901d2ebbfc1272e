//! Unpacks compressed files and archives within limits.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::ops::Range;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::sniff::{Content, Packing, SNIFF_LEN, is_tar, sniff};
use crate::store::{Sink, Store};

/// Limits for unpacking, which protect against decompression bombs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum unpacked size of a file, or of all members of an archive together, bytes.
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
    /// Returns the maximum unpacked size of a file with this packed size, in bytes.
    fn max_unpacked_bytes(&self, packed_bytes: u64) -> u64 {
        self.unpacked_bytes.min(self.free_bytes.max(packed_bytes.saturating_mul(self.ratio)))
    }
}

// Maximum window size of the streaming decoders.
const DICTIONARY_KIB: u32 = 256 << 10;

/// Returns the first `max_bytes` unpacked bytes; fewer if the data is damaged. The reader of the data reports the
/// damage.
pub fn unpack_beginning(packing: Packing, bytes: &[u8], max_bytes: usize) -> Vec<u8> {
    let consumed = Cell::new(0);
    let source = Source { remaining: bytes, consumed: &consumed };
    let reader: Box<dyn Read> = match packing {
        Packing::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(source, true, DICTIONARY_KIB)),
        Packing::Gzip => Box::new(flate2::read::MultiGzDecoder::new(source)),
        Packing::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(source)),
        Packing::Zstandard => {
            Box::new(ZstandardFrames { remaining: bytes, frame: None, consumed: &consumed, total: bytes.len() })
        }
        // Members are separate files.
        Packing::Zip => return Vec::new(),
    };
    let mut beginning = Vec::new();
    // If the data is damaged, use the bytes before the damage.
    let _ = reader.take(max_bytes as u64).read_to_end(&mut beginning);
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
    fn append(&mut self, contents: Self) {
        self.files.extend(contents.files);
        self.skipped.extend(contents.skipped);
    }
}

/// Options for unpacking a file.
#[derive(Clone, Copy)]
pub struct UnpackOptions<'a> {
    pub limits: &'a Limits,
    /// Destination of the unpacked bytes.
    pub store: &'a dyn Store,
    /// Decides from the name and the first bytes whether an archive member that is neither a recording nor packed is
    /// relevant.
    pub is_relevant: fn(&str, &[u8]) -> bool,
}

/// Unpacks `bytes` recursively. Archive members that are neither recordings, nor relevant, nor packed are skipped.
///
/// The limits hold for the sum of all members, at any depth. If anything exceeds them, nothing stays in the store.
pub fn unpack(name: &str, packing: Packing, bytes: &[u8], options: UnpackOptions<'_>) -> Result<Unpacked, Error> {
    let max_bytes = options.limits.max_unpacked_bytes(bytes.len() as u64);
    let unpacker = Unpacker { options, packed_bytes: bytes.len() as u64, max_bytes, remaining: Cell::new(max_bytes) };
    unpacker.unpack_layer(name, packing, bytes, options.limits.layers)
}

/// Unpacks one file with everything in it.
struct Unpacker<'a> {
    options: UnpackOptions<'a>,
    /// Size of the outermost file.
    packed_bytes: u64,
    /// Maximum unpacked size of the outermost file.
    max_bytes: u64,
    /// Bytes that may still be unpacked. Content that is only an outer layer of other content does not count.
    remaining: Cell<u64>,
}

impl Unpacker<'_> {
    fn too_large(&self, name: &str) -> Error {
        Error::TooLarge { name: name.to_owned(), stored: self.packed_bytes, limit: self.max_bytes }
    }

    fn unpack_layer(
        &self,
        name: &str,
        packing: Packing,
        bytes: &[u8],
        remaining_layers: usize,
    ) -> Result<Unpacked, Error> {
        if remaining_layers == 0 {
            return Err(Error::TooDeep { name: name.into(), limit: self.options.limits.layers });
        }
        let is_outermost = remaining_layers == self.options.limits.layers;
        let cached = self.options.store.find().filter(|_| is_outermost && packing != Packing::Zip);
        let consumed = Cell::new(0);
        let source = Source { remaining: bytes, consumed: &consumed };
        let contents = match (cached, packing) {
            (Some(cached), _) => {
                let length = cached.bytes().len() as u64;
                self.remaining.set(self.remaining.get().saturating_sub(length));
                cached
            }
            (None, Packing::Xz) => {
                let reader = lzma_rust2::XzReader::new_mem_limit(source, true, DICTIONARY_KIB);
                self.unpack_stream(name, packing, reader, bytes.len(), &consumed, is_outermost)?
            }
            (None, Packing::Gzip) => {
                let reader = flate2::read::MultiGzDecoder::new(source);
                self.unpack_stream(name, packing, reader, bytes.len(), &consumed, is_outermost)?
            }
            (None, Packing::Bzip2) => {
                let reader = bzip2::read::MultiBzDecoder::new(source);
                self.unpack_stream(name, packing, reader, bytes.len(), &consumed, is_outermost)?
            }
            (None, Packing::Zstandard) => {
                let reader = ZstandardFrames { remaining: bytes, frame: None, consumed: &consumed, total: bytes.len() };
                self.unpack_stream(name, packing, reader, bytes.len(), &consumed, is_outermost)?
            }
            (None, Packing::Zip) => return self.unpack_zip(name, bytes, remaining_layers),
        };
        match sniff(contents.bytes()) {
            Content::Packed(packing) => {
                self.remaining.set(self.remaining.get().saturating_add(contents.bytes().len() as u64));
                self.unpack_layer(name, packing, contents.bytes(), remaining_layers - 1)
            }
            _ => Ok(Unpacked { files: vec![(name.to_owned(), contents)], skipped: Vec::new() }),
        }
    }

    fn unpack_zip(&self, name: &str, bytes: &[u8], remaining_layers: usize) -> Result<Unpacked, Error> {
        let archive_error = |source: zip::result::ZipError| Error::Unpack {
            name: name.into(),
            packing: Packing::Zip.as_str(),
            offset: 0,
            source: io::Error::other(source.to_string()),
        };
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(archive_error)?;
        let members = archive.len();
        let mut unpacked = Unpacked::default();
        let mut done_bytes = 0;
        for index in 0..members {
            let mut member = archive.by_index(index).map_err(archive_error)?;
            if !member.is_file() {
                continue;
            }
            let member_name = match member.name() {
                Ok(member) => format!("{name}/{member}"),
                Err(_) => format!("{name}/member {index}"),
            };
            let packed_bytes = member.compressed_size();
            let mut head = Vec::new();
            let member_error = |offset: u64, source| Error::Unpack {
                name: member_name.clone(),
                packing: Packing::Zip.as_str(),
                offset,
                source,
            };
            (&mut member).take(SNIFF_LEN as u64).read_to_end(&mut head).map_err(|source| member_error(0, source))?;
            let content = sniff(&head);
            match content {
                Content::Empty => {
                    unpacked.skipped.push(member_name);
                    continue;
                }
                Content::Unknown if !is_tar(&head) && !(self.options.is_relevant)(&member_name, &head) => {
                    unpacked.skipped.push(member_name);
                    continue;
                }
                Content::Unknown | Content::Recording(_) | Content::Packed(_) => {}
            }
            let mut sink = self.options.store.sink(false);
            let mut length = head.len() as u64;
            let limit = self.remaining.get();
            let result = sink
                .push(&head)
                .and_then(|()| copy(&mut (&mut member).take(limit + 1), &mut *sink, &mut length, || {}));
            result.map_err(|source| member_error(length, source))?;
            if length > limit {
                return Err(self.too_large(&member_name));
            }
            self.remaining.set(limit - length);
            let contents = sink.finish().map_err(|source| member_error(length, source))?;
            done_bytes += packed_bytes;
            self.options.store.progress(done_bytes, bytes.len() as u64);
            match content {
                Content::Packed(packing) => {
                    self.remaining.set(self.remaining.get() + length);
                    unpacked.append(self.unpack_layer(&member_name, packing, contents.bytes(), remaining_layers - 1)?)
                }
                _ => unpacked.files.push((member_name, contents)),
            }
        }
        if unpacked.files.is_empty() {
            return Err(Error::NoRecordingInside { name: name.into(), members });
        }
        Ok(unpacked)
    }

    fn unpack_stream(
        &self,
        name: &str,
        packing: Packing,
        reader: impl Read,
        packed_bytes: usize,
        consumed: &Cell<usize>,
        is_entire_file: bool,
    ) -> Result<Box<dyn Bytes>, Error> {
        let packed_bytes = packed_bytes as u64;
        let limit = self.options.limits.max_unpacked_bytes(packed_bytes).min(self.remaining.get());
        let unpack_error =
            |offset: u64, source| Error::Unpack { name: name.into(), packing: packing.as_str(), offset, source };
        let mut sink = self.options.store.sink(is_entire_file);
        let mut length = 0;
        let report_progress = || self.options.store.progress(consumed.get() as u64, packed_bytes);
        copy(&mut reader.take(limit + 1), &mut *sink, &mut length, report_progress)
            .map_err(|source| unpack_error(length, source))?;
        if length > limit {
            return Err(self.too_large(name));
        }
        self.remaining.set(self.remaining.get().saturating_sub(length));
        sink.finish().map_err(|source| unpack_error(length, source))
    }
}

/// Number of bytes to unpack at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Copies all bytes, adds their number to `length`, and calls `after_block` after each block.
fn copy(reader: &mut impl Read, sink: &mut dyn Sink, length: &mut u64, after_block: impl Fn()) -> io::Result<()> {
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
        after_block();
    }
}

/// Packed bytes, with the number of bytes consumed so far.
struct Source<'a> {
    remaining: &'a [u8],
    consumed: &'a Cell<usize>,
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.remaining.read(buffer)?;
        self.consumed.set(self.consumed.get() + count);
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

/// Finds the regular files in a tar archive: names prefixed with the archive's name, and byte ranges. In a truncated or
/// damaged archive, finds the members before the damage; the last member may be truncated.
pub fn tar_members(name: &str, bytes: &[u8]) -> Result<TarMembers, Error> {
    let archive_error = |source| Error::Unpack { name: name.to_owned(), packing: "tar", offset: 0, source };
    let mut archive = tar::Archive::new(bytes);
    let (mut members, mut is_truncated) = (Vec::new(), false);
    for (index, entry) in archive.entries().map_err(archive_error)?.enumerate() {
        if index == MAX_MEMBERS {
            return Err(archive_error(io::Error::other(format!("more than {MAX_MEMBERS} members"))));
        }
        let entry = match entry {
            Ok(entry) => entry,
            // A truncated archive still contains the members before the damage.
            Err(_) if index > 0 => {
                is_truncated = true;
                break;
            }
            Err(source) => return Err(archive_error(source)),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let start = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
        if start <= bytes.len() {
            is_truncated |= end > bytes.len();
            members.push((format!("{name}/{path}"), start..end.min(bytes.len())));
        }
    }
    Ok(TarMembers { members, is_truncated })
}

/// Reads all frames of a Zstandard file, some of which are skippable. The decoder reads only one frame.
struct ZstandardFrames<'a> {
    remaining: &'a [u8],
    frame: Option<ZstandardFrame<'a>>,
    /// Number of bytes consumed so far.
    consumed: &'a Cell<usize>,
    /// Number of bytes in the file.
    total: usize,
}

type ZstandardFrame<'a> = ruzstd::decoding::StreamingDecoder<Remainder<'a>, ruzstd::decoding::FrameDecoder>;

/// The bytes that a frame's decoder has not read yet.
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
                self.consumed.set(self.total - frame.get_ref().0.len());
                if count > 0 {
                    return Ok(count);
                }
                self.remaining = frame.get_ref().0;
                self.frame = None;
            }
            let Some((magic, after_magic)) = self.remaining.split_first_chunk::<4>() else { return Ok(0) };
            if SKIPPABLE_FRAMES.contains(&u32::from_le_bytes(*magic)) {
                let Some((length, after_length)) = after_magic.split_first_chunk::<4>() else { return Ok(0) };
                let length = u32::from_le_bytes(*length) as usize;
                self.remaining = after_length.get(length..).unwrap_or_default();
                continue;
            }
            let frame = ruzstd::decoding::StreamingDecoder::new(Remainder(self.remaining))
                .map_err(|error| io::Error::other(error.to_string()))?;
            self.frame = Some(frame);
        }
    }
}
