//! Destinations for unpacked content: memory, or a store provided by the caller.

use std::fmt::Debug;
use std::io;

use crate::bytes::Bytes;

/// A destination for the unpacked content of a file.
pub trait Store: Debug + Send + Sync {
    /// The cached content of the same file, if it was unpacked before.
    fn find(&self) -> Option<Box<dyn Bytes>> {
        None
    }

    /// A sink for unpacked bytes; `all` if they are the entire content of the file.
    fn sink(&self, all: bool) -> Box<dyn Sink>;

    /// Called periodically: `done` of `total` packed bytes are unpacked.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
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
