//! Stores unpacked files: small ones in memory, large ones in a mapped file, so that memory use is bounded.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onoff_sources::{Bytes, Progress, Sink, Store};

use crate::mapped::MappedFile;
use crate::unpack_cache::{CacheEntry, CacheWriter, anonymous_file};

/// Maximum size of an unpacked file kept in memory, in bytes. Most recordings of one boot are smaller.
const MAX_IN_MEMORY_BYTES: usize = 64 << 20;
/// Maximum size of all unpacked files of a recording kept in memory, in bytes.
const MAX_TOTAL_IN_MEMORY_BYTES: usize = 256 << 20;
/// Files up to this size, in bytes, may use the same amount of memory again, because the system limits the number of
/// mapped files.
const SMALL_BYTES: usize = 16 << 10;

/// Callback for progress reports.
pub(crate) type Listener = Option<Arc<dyn Fn(Progress) + Send + Sync>>;

/// What all unpacked files of a recording share.
#[derive(Clone, Default)]
pub(crate) struct StoreContext {
    listener: Listener,
    memory: Arc<MemoryBudget>,
}

impl StoreContext {
    pub(crate) fn new(listener: Listener) -> Self {
        Self { listener, memory: Arc::default() }
    }

    /// Returns the destination of one file; it is cached if there is an `entry`.
    pub(crate) fn store(&self, entry: Option<CacheEntry>) -> SpillingStore {
        SpillingStore { entry, context: self.clone() }
    }
}

/// Counts the unpacked bytes in memory.
#[derive(Debug, Default)]
struct MemoryBudget {
    used_bytes: AtomicUsize,
}

impl MemoryBudget {
    /// Reserves memory for `bytes` more of a file of `length` bytes so far. Returns false if the file must be spilled.
    fn reserve(&self, bytes: usize, length: usize) -> bool {
        let file_length = length.saturating_add(bytes);
        let is_small = file_length <= SMALL_BYTES;
        let max_bytes = if is_small { 2 * MAX_TOTAL_IN_MEMORY_BYTES } else { MAX_TOTAL_IN_MEMORY_BYTES };
        let used_bytes = self.used_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let fits = file_length <= MAX_IN_MEMORY_BYTES && used_bytes <= max_bytes;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    fn release(&self, bytes: usize) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// The destination of one unpacked file.
pub(crate) struct SpillingStore {
    /// Cache entry, if the file is cached.
    entry: Option<CacheEntry>,
    context: StoreContext,
}

impl std::fmt::Debug for SpillingStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SpillingStore").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl Store for SpillingStore {
    fn find(&self) -> Option<Box<dyn Bytes>> {
        self.entry.as_ref()?.find().map(|mapped| Box::new(mapped) as Box<dyn Bytes>)
    }

    fn sink(&self, is_complete: bool) -> Box<dyn Sink> {
        let entry = self.entry.clone().filter(|_| is_complete);
        let memory = Arc::clone(&self.context.memory);
        Box::new(SpillingSink { in_memory: Vec::new(), memory, file: None, writer: entry.map(CacheEntry::writer) })
    }

    fn forget(&self) {
        if let Some(entry) = &self.entry {
            entry.remove();
        }
    }

    fn progress(&self, done_bytes: u64, total_bytes: u64) {
        if let Some(listener) = &self.context.listener {
            listener(Progress { done_bytes, total_bytes });
        }
    }
}

/// A file being unpacked.
#[derive(Debug)]
struct SpillingSink {
    in_memory: Vec<u8>,
    memory: Arc<MemoryBudget>,
    file: Option<File>,
    writer: Option<CacheWriter>,
}

impl Sink for SpillingSink {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        if self.memory.reserve(bytes.len(), self.in_memory.len()) {
            self.in_memory.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = match &mut self.writer {
            Some(writer) => writer.create_file()?,
            None => anonymous_file()?,
        };
        file.write_all(&self.in_memory)?;
        file.write_all(bytes)?;
        self.memory.release(self.in_memory.len());
        self.in_memory = Vec::new();
        self.file = Some(file);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn Bytes>> {
        let Some(file) = self.file else { return Ok(Box::new(self.in_memory)) };
        // No other process writes to the file: it is anonymous, or not yet renamed to its final name.
        let mapped = MappedFile::from_file(&file, Path::new(""))?;
        if let Some(writer) = self.writer {
            writer.finish();
        }
        Ok(Box::new(mapped))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn large_content_goes_to_a_file_and_reads_back() {
        let block: Vec<u8> = (0..1_000_003_u32).map(|number| (number % 251) as u8).collect();
        for blocks in [0, 1, 67, 70] {
            let memory = Arc::default();
            let mut sink = Box::new(SpillingSink { in_memory: Vec::new(), memory, file: None, writer: None });
            for _ in 0..blocks {
                sink.push(&block).unwrap();
            }
            assert_eq!(sink.file.is_some(), blocks == 70);
            let contents = sink.finish().unwrap();
            assert_eq!(contents.bytes().len(), blocks * block.len());
            assert!(contents.bytes().chunks(block.len()).all(|chunk| chunk == block));
            assert_eq!(contents.truncation(), None);
        }
    }

    #[test]
    fn files_of_a_recording_share_the_memory() {
        let context = StoreContext::default();
        let block = vec![1; 1 << 20];
        let unpack = |blocks: usize| {
            let mut sink = context.store(None).sink(false);
            (0..blocks).for_each(|_| sink.push(&block).unwrap());
            sink.finish().unwrap()
        };
        let files: Vec<Box<dyn Bytes>> = (0..20).map(|_| unpack(60)).collect();
        assert!(files.iter().all(|file| file.bytes().len() == 60 << 20));
        let used_bytes = || context.memory.used_bytes.load(Ordering::Relaxed);
        assert!(used_bytes() <= MAX_TOTAL_IN_MEMORY_BYTES, "{}", used_bytes());
        let mut sink = context.store(None).sink(false);
        sink.push(&block[..SMALL_BYTES]).unwrap();
        assert_eq!(sink.finish().unwrap().bytes().len(), SMALL_BYTES);
    }
}
