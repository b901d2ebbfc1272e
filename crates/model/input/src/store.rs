//! Where what is unpacked goes: into memory, or wherever who opens files puts it.

use std::fmt::Debug;
use std::io;

use crate::bytes::Bytes;

/// Takes what a packed file unpacks to.
pub trait Store: Debug + Send + Sync {
    /// What was kept of an earlier unpacking of the same file.
    fn find(&self) -> Option<Box<dyn Bytes>> {
        None
    }

    /// A place for bytes that are about to come; `all` when they are all that the file unpacks to.
    fn sink(&self, all: bool) -> Box<dyn Sink>;

    /// Called from time to time: `done` of `total` packed bytes are unpacked.
    fn progress(&self, done: u64, total: u64) {
        let _ = (done, total);
    }
}

/// Bytes on their way.
pub trait Sink {
    /// Takes more.
    ///
    /// # Errors
    /// There is no room.
    fn push(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// All of them have come.
    ///
    /// # Errors
    /// They cannot be read back.
    fn finish(self: Box<Self>) -> io::Result<Box<dyn Bytes>>;
}

/// Holds everything.
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
