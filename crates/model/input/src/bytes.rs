//! Access to the bytes of a file, in memory or mapped.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The bytes of a file, in memory or mapped.
pub trait Bytes: Debug + Send + Sync {
    fn bytes(&self) -> &[u8];
    /// Hints that the bytes in `range` will probably not be read again, so their memory can be reused.
    fn release(&self, range: Range<usize>) {
        let _ = range;
    }
    /// Returns the size change if the file was truncated while it was read, which invalidates the bytes that were read.
    fn truncation(&self) -> Option<Truncation> {
        None
    }
}

/// A truncation of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Size when the file was opened, in bytes.
    pub original_bytes: u64,
    /// Current size, in bytes.
    pub current_bytes: u64,
}

impl Bytes for Arc<Vec<u8>> {
    fn bytes(&self) -> &[u8] {
        self
    }
}

impl Bytes for Vec<u8> {
    fn bytes(&self) -> &[u8] {
        self
    }
}
