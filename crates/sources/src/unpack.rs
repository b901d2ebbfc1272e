//! Undoing the packings that recordings are shared in, never further than allowed.

use std::io::{self, Cursor, Read};

use crate::error::Error;
use crate::linux::parts;
use crate::sniff::{Content, Packing, sniff};

/// How far packed files may expand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes that one file may unpack to; it is held in memory.
    pub unpacked_bytes: u64,
    /// Most bytes that each packed byte may stand for, beyond [`Limits::free_bytes`].
    pub ratio: u64,
    /// Bytes that any file may unpack to, however small it is.
    pub free_bytes: u64,
    /// Most packings inside each other that are undone, e.g. 2 for an `.etl.xz` in a `.zip`.
    pub layers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            unpacked_bytes: 8 << 30,
            // A recording of an idle machine that was reserved and hardly used shrinks a few hundredfold.
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

// Decoders of the streaming formats may keep this much history.
const DICTIONARY_KIB: u32 = 256 << 10;

/// What was inside a packed file.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    /// Names and bytes, in the archive's order.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Names of an archive's members that are no part of a recording.
    pub(crate) passed_over: Vec<String>,
}

impl Unpacked {
    fn append(&mut self, inside: Self) {
        self.files.extend(inside.files);
        self.passed_over.extend(inside.passed_over);
    }
}

/// Undoes all packings of `bytes`. An archive's members that are neither recordings, nor a part of one, nor packed, are passed
/// over.
pub(crate) fn unpack(name: &str, packing: Packing, bytes: &[u8], limits: &Limits) -> Result<Unpacked, Error> {
    unpack_layer(name, packing, bytes, limits, limits.layers)
}

fn unpack_layer(name: &str, packing: Packing, bytes: &[u8], limits: &Limits, layers: usize) -> Result<Unpacked, Error> {
    if layers == 0 {
        return Err(Error::TooDeep { name: name.into(), limit: limits.layers });
    }
    let (name, inside) = match packing {
        Packing::Xz => {
            let reader = lzma_rust2::XzReader::new_mem_limit(bytes, true, DICTIONARY_KIB);
            read_stream(name, packing, reader, bytes, limits)?
        }
        Packing::Gzip => {
            let reader = flate2::read::MultiGzDecoder::new(bytes);
            read_stream(name, packing, reader, bytes, limits)?
        }
        Packing::Zstandard => {
            let reader = ZstandardFrames { rest: bytes, frame: None };
            read_stream(name, packing, reader, bytes, limits)?
        }
        Packing::Zip => return unpack_archive(name, bytes, limits, layers),
    };
    match sniff(&inside) {
        Content::Packed(packing) => unpack_layer(&name, packing, &inside, limits, layers - 1),
        _ => Ok(Unpacked { files: vec![(name, inside)], passed_over: Vec::new() }),
    }
}

fn unpack_archive(name: &str, bytes: &[u8], limits: &Limits, layers: usize) -> Result<Unpacked, Error> {
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
    for index in 0..members {
        let mut member = archive.by_index(index).map_err(failed)?;
        if !member.is_file() {
            continue;
        }
        let member_name = match member.name() {
            Ok(member) => format!("{name}/{member}"),
            Err(_) => format!("{name}/member {index}"),
        };
        let mut head = Vec::new();
        let place = |offset: usize, source| Error::Unpack {
            name: member_name.clone(),
            packing: Packing::Zip.as_str(),
            offset: offset as u64,
            source,
        };
        (&mut member).take(parts::LOOKED_AT as u64).read_to_end(&mut head).map_err(|source| place(0, source))?;
        let content = sniff(&head);
        match content {
            Content::Empty => continue,
            Content::Unknown if !is_tar(&head) && parts::kind_of(&member_name, &head).is_none() => {
                unpacked.passed_over.push(member_name);
                continue;
            }
            Content::Unknown | Content::Recording(_) | Content::Packed(_) => {}
        }
        let mut contents = head;
        let read = (&mut member).take(left + 1).read_to_end(&mut contents);
        if let Err(source) = read {
            return Err(place(contents.len(), source));
        }
        if contents.len() as u64 > left {
            return Err(Error::TooLarge {
                name: member_name,
                stored: bytes.len() as u64,
                limit: limits.for_stored(bytes.len() as u64),
            });
        }
        left -= contents.len() as u64;
        match content {
            Content::Packed(packing) => {
                unpacked.append(unpack_layer(&member_name, packing, &contents, limits, layers - 1)?)
            }
            _ => unpacked.files.push((member_name, contents)),
        }
    }
    if unpacked.files.is_empty() {
        return Err(Error::NoRecordingInside { name: name.into(), members });
    }
    Ok(unpacked)
}

/// Most members of an archive that are looked at.
const MOST_MEMBERS: usize = 20_000;

/// Whether `bytes` are a tar archive.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The regular files in a tar archive: names, with the archive's before them, and bytes. Of an archive that is cut or damaged,
/// those before the damage; its last may be cut.
pub(crate) fn tar_members<'b>(name: &str, bytes: &'b [u8]) -> Result<Vec<(String, &'b [u8])>, Error> {
    let failed = |source| Error::Unpack { name: name.to_owned(), packing: "tar", offset: 0, source };
    let mut archive = tar::Archive::new(bytes);
    let mut members = Vec::new();
    for (entries, entry) in archive.entries().map_err(failed)?.take(MOST_MEMBERS).enumerate() {
        let entry = match entry {
            Ok(entry) => entry,
            // A cut archive still holds what came before.
            Err(_) if entries > 0 => break,
            Err(source) => return Err(failed(source)),
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let from = usize::try_from(entry.raw_file_position()).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(entry.size()).unwrap_or(usize::MAX));
        if let Some(member) = bytes.get(from..to.min(bytes.len())) {
            members.push((format!("{name}/{path}"), member));
        }
    }
    Ok(members)
}

fn read_stream(
    name: &str,
    packing: Packing,
    reader: impl Read,
    stored: &[u8],
    limits: &Limits,
) -> Result<(String, Vec<u8>), Error> {
    let limit = limits.for_stored(stored.len() as u64);
    let mut unpacked = Vec::new();
    if let Err(source) = reader.take(limit + 1).read_to_end(&mut unpacked) {
        return Err(Error::Unpack {
            name: name.into(),
            packing: packing.as_str(),
            offset: unpacked.len() as u64,
            source,
        });
    }
    if unpacked.len() as u64 > limit {
        return Err(Error::TooLarge { name: name.into(), stored: stored.len() as u64, limit });
    }
    Ok((name.into(), unpacked))
}

/// A Zstandard file may hold frame after frame, some of which are to be skipped; a decoder reads one.
struct ZstandardFrames<'a> {
    rest: &'a [u8],
    frame: Option<ZstandardFrame<'a>>,
}

type ZstandardFrame<'a> = ruzstd::decoding::StreamingDecoder<Remainder<'a>, ruzstd::decoding::FrameDecoder>;

/// What a frame's decoder has not read.
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
                if count > 0 {
                    return Ok(count);
                }
                self.rest = frame.get_ref().0;
                self.frame = None;
            }
            let Some((magic, after)) = self.rest.split_first_chunk::<4>() else {
                return Ok(0);
            };
            if SKIPPABLE_FRAMES.contains(&u32::from_le_bytes(*magic)) {
                let Some((length, after)) = after.split_first_chunk::<4>() else {
                    return Ok(0);
                };
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
