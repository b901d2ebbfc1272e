//! Spills tables of large recordings to an anonymous memory-mapped file. Only part of the file is in memory at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use onoff_trace::{SpillStore, Spilled};

use crate::mapped::{MappedRange, return_freed_blocks};
use crate::unpack_cache::anonymous_file;

/// Size of tables kept in memory before spilling, in bytes. Recordings of up to about 100 MiB need less, so no file
/// is created for them.
pub(crate) const DEFAULT_IN_MEMORY_BYTES: usize = 96 << 20;
/// Minimum size of a spilled chunk, in bytes. Smaller chunks are not worth a mapping, because the system limits the
/// number of mappings.
const MIN_CHUNK_BYTES: usize = 64 << 10;
/// Alignment of chunks in the file. At least the page size on most systems, so that no two chunks share a page.
const CHUNK_ALIGNMENT: u64 = 16 << 10;
/// Disk space to leave free, in bytes.
const RESERVED_BYTES: u64 = 1 << 30;

/// A file for spilled tables.
#[derive(Debug)]
pub(crate) struct SpillFile {
    /// Size of tables kept in memory, in bytes.
    in_memory_bytes: usize,
    /// Total size of the data offered so far, in bytes, including data kept in memory.
    offered_bytes: AtomicUsize,
    file: Mutex<FileState>,
    resident: Arc<ResidentChunks>,
}

#[derive(Debug)]
enum FileState {
    NotCreated,
    Open {
        file: File,
        end: u64,
    },
    /// The file could not be created or the disk is full. All further data stays in memory.
    Failed,
}

impl SpillFile {
    /// Creates a file that is used only after `in_memory_bytes` of tables were kept in memory. At most half that much
    /// of the spilled data is in memory at a time.
    pub(crate) fn new(in_memory_bytes: usize) -> Self {
        Self {
            in_memory_bytes,
            offered_bytes: AtomicUsize::new(0),
            file: Mutex::new(FileState::NotCreated),
            resident: Arc::new(ResidentChunks { max_bytes: in_memory_bytes / 2, chunks: Mutex::default() }),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<MappedRange> {
        let mut state = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let FileState::NotCreated = *state {
            *state = anonymous_file().map_or(FileState::Failed, |file| FileState::Open { file, end: 0 });
            return_freed_blocks();
        }
        let FileState::Open { file, end } = &mut *state else { return Err(io::ErrorKind::StorageFull.into()) };
        let result = require_space(file, bytes).and_then(|()| {
            let start = end.next_multiple_of(CHUNK_ALIGNMENT);
            file.seek(SeekFrom::Start(start))?;
            file.write_all(bytes)?;
            *end = start + bytes.len() as u64;
            MappedRange::from_file(file, start, bytes.len())
        });
        if result.is_err() {
            *state = FileState::Failed;
        }
        result
    }
}

/// Fails if the disk does not have space for `bytes` and the reserve.
fn require_space(file: &File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(unix)]
    {
        let file_system = rustix::fs::fstatvfs(file)?;
        if file_system.f_bavail.saturating_mul(file_system.f_frsize)
            < (bytes.len() as u64).saturating_add(RESERVED_BYTES)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
    }
    #[cfg(not(unix))]
    let _ = (file, bytes, RESERVED_BYTES);
    Ok(())
}

impl SpillStore for SpillFile {
    fn spill(&self, bytes: &[u8]) -> Option<Arc<dyn Spilled>> {
        if bytes.len() < MIN_CHUNK_BYTES {
            return None;
        }
        let previously_offered = self.offered_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        if previously_offered.saturating_add(bytes.len()) <= self.in_memory_bytes {
            return None;
        }
        let range = self.write(bytes).ok()?;
        let chunk = Arc::new_cyclic(|weak_self| Chunk {
            range,
            is_resident: AtomicBool::new(false),
            resident: Arc::clone(&self.resident),
            weak_self: Weak::clone(weak_self),
        });
        Some(chunk)
    }
}

/// The chunks that may be in memory.
#[derive(Debug)]
struct ResidentChunks {
    max_bytes: usize,
    chunks: Mutex<ChunkQueue>,
}

/// The chunks read most recently, oldest first, and their total size.
#[derive(Debug, Default)]
struct ChunkQueue {
    queue: VecDeque<(Weak<Chunk>, usize)>,
    bytes: usize,
}

impl ResidentChunks {
    /// Registers a chunk that is about to be read, and releases the oldest chunks beyond the limit.
    fn register(&self, chunk: &Chunk) {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let ChunkQueue { queue, bytes } = &mut *chunks;
        let length = chunk.range.bytes().len();
        *bytes += length;
        while *bytes > self.max_bytes
            && let Some((oldest, length)) = queue.pop_front()
        {
            *bytes -= length;
            if let Some(oldest) = oldest.upgrade() {
                // Clear the flag before the release: a concurrent reader may bring pages back that are not counted
                // until the next access.
                oldest.is_resident.store(false, Ordering::Relaxed);
                oldest.range.release();
            }
        }
        queue.push_back((Weak::clone(&chunk.weak_self), length));
    }
}

/// A spilled chunk.
#[derive(Debug)]
struct Chunk {
    range: MappedRange,
    /// True if the chunk is counted as resident.
    is_resident: AtomicBool,
    resident: Arc<ResidentChunks>,
    weak_self: Weak<Chunk>,
}

impl Spilled for Chunk {
    #[inline]
    fn bytes(&self) -> &[u8] {
        if !self.is_resident.load(Ordering::Relaxed) && !self.is_resident.swap(true, Ordering::Relaxed) {
            self.resident.register(self);
        }
        self.range.bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn chunk(number: u8) -> Vec<u8> {
        (0..300_000_u32).map(|index| (index % 251) as u8 ^ number).collect()
    }

    #[test]
    fn spilled_chunks_read_back_within_memory_limit() {
        let spill_store = SpillFile::new(1_400_000);
        let spilled: Vec<Option<Arc<dyn Spilled>>> = (0..20).map(|number| spill_store.spill(&chunk(number))).collect();
        assert!(spilled[..4].iter().all(Option::is_none), "kept in memory");
        assert!(spilled[4..].iter().all(Option::is_some));
        for round in 0..3_usize {
            for number in 4..20_usize {
                let number = if round == 1 { 23 - number } else { number };
                let bytes = spilled[number].as_ref().unwrap().bytes();
                assert_eq!(bytes.as_ptr().addr() % onoff_trace::values::SPILL_ALIGNMENT, 0);
                assert_eq!(bytes, chunk(number as u8));
                let ChunkQueue { queue, bytes } = &*spill_store.resident.chunks.lock().unwrap();
                assert!(queue.len() <= 2 && *bytes <= 700_000, "{} chunks, {bytes} bytes", queue.len());
            }
        }
        // Borrowed bytes stay readable while other chunks are read.
        let first_bytes = spilled[4].as_ref().unwrap().bytes();
        for chunk in spilled[5..].iter().flatten() {
            assert_eq!(chunk.bytes().len(), 300_000);
        }
        assert_eq!(first_bytes, chunk(4));
    }

    #[test]
    fn dropped_chunks_free_their_budget() {
        let spill_store = SpillFile::new(0);
        for number in 0..9 {
            let spilled = spill_store.spill(&chunk(number)).unwrap();
            assert_eq!(spilled.bytes(), chunk(number));
        }
        let spilled = spill_store.spill(&chunk(9)).unwrap();
        assert_eq!(spilled.bytes(), chunk(9));
        assert_eq!(spill_store.resident.chunks.lock().unwrap().bytes, 300_000, "the remaining chunk");
        assert!(spill_store.spill(&[0; 100]).is_none(), "too small for a chunk");
    }

    #[test]
    fn several_threads_spill_and_read() {
        let spill_store = SpillFile::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let spill_store = &spill_store;
                scope.spawn(move || {
                    let spilled: Vec<_> =
                        (0..8).map(|number| spill_store.spill(&chunk(thread * 8 + number)).unwrap()).collect();
                    for (number, spilled) in (0..).zip(&spilled) {
                        assert_eq!(spilled.bytes(), chunk(thread * 8 + number));
                    }
                });
            }
        });
    }
}
