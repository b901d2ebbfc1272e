//! Stores unpacked files: small ones in memory, large ones in a mapped file, so that memory use is bounded.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use onoff_sources::{Bytes, Progress, Sink, Store};

use crate::mapped::MappedFile;
use crate::unpack_cache::{CacheEntry, CacheWriter, anonymous_file};

/// Maximum size of an unpacked file kept in memory, in bytes. Most recordings of one boot are smaller.
const MAX_IN_MEMORY_BYTES: usize = 64 << 20;

/// Callback for progress reports.
pub(crate) type Listener = Option<Arc<dyn Fn(Progress) + Send + Sync>>;

/// The destination of one unpacked file.
pub(crate) struct SpillingStore {
    /// Cache entry, if the file is cached.
    pub(crate) entry: Option<CacheEntry>,
    pub(crate) listener: Listener,
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
        Box::new(SpillingSink { in_memory: Vec::new(), file: None, writer: entry.map(CacheEntry::writer) })
    }

    fn progress(&self, done_bytes: u64, total_bytes: u64) {
        if let Some(listener) = &self.listener {
            listener(Progress { done_bytes, total_bytes });
        }
    }
}

/// A file being unpacked.
#[derive(Debug)]
struct SpillingSink {
    in_memory: Vec<u8>,
    file: Option<File>,
    writer: Option<CacheWriter>,
}

impl Sink for SpillingSink {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        if self.in_memory.len() + bytes.len() <= MAX_IN_MEMORY_BYTES {
            self.in_memory.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = match &mut self.writer {
            Some(writer) => writer.create_file()?,
            None => anonymous_file()?,
        };
        file.write_all(&self.in_memory)?;
        file.write_all(bytes)?;
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
            let mut sink = Box::new(SpillingSink { in_memory: Vec::new(), file: None, writer: None });
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
}
