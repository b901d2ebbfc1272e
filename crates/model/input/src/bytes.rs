//! Bytes, wherever they are kept.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// The bytes of a file, wherever they are kept.
pub trait Bytes: Debug + Send + Sync {
    /// All of them.
    fn bytes(&self) -> &[u8];
    /// Says that the bytes of `range` will hardly be read again, so that their memory can serve others.
    fn release(&self, range: Range<usize>) {
        let _ = range;
    }
    /// Whether where they come from got shorter while they were read: what was read means nothing then.
    fn shortened(&self) -> Option<Shortened> {
        None
    }
}

/// How a file became shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Bytes when it was opened.
    pub before: u64,
    /// Bytes now.
    pub now: u64,
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
