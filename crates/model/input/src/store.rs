//! Destinations for unpacked content: memory, or a store provided by the caller.

use std::fmt::Debug;
use std::io;

use crate::bytes::Bytes;

/// A destination for the unpacked content of a file.
pub trait Store: Debug + Send + Sync {
    /// Returns the cached content of the same file, if it was unpacked before.
    fn find(&self) -> Option<Box<dyn Bytes>> {
        None
    }

    /// Creates a sink for unpacked bytes. `is_entire_file` if they are the entire content of the file.
    fn sink(&self, is_entire_file: bool) -> Box<dyn Sink>;

    /// Removes the content from the cache, because it is not a recording.
    fn forget(&self) {}

    /// Called periodically: `done_bytes` of `total_bytes` packed bytes are unpacked.
    fn progress(&self, done_bytes: u64, total_bytes: u64) {
        let _ = (done_bytes, total_bytes);
    }
}

/// Receives unpacked bytes.
pub trait Sink {
    /// Appends bytes.
    ///
    /// # Errors
    /// There is no space left.
    fn push(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns the complete content.
    ///
    /// # Errors
    /// The content cannot be read back.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn Bytes>>;
}

/// Stores everything in memory.
#[derive(Debug)]
pub struct Memory;

impl Store for Memory {
    fn sink(&self, _: bool) -> Box<dyn Sink> {
        Box::new(Vec::new())
    }
}

impl Sink for Vec<u8> {
    fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Box<dyn Bytes>> {
        Ok(self)
    }
}
