//! A file as memory: the one place of the workspace with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::Mmap;
use onoff_sources::Bytes;

/// A read-only memory map of a file.
///
/// If another program shortens the file while it is mapped, touching the pages beyond its new end ends this process
/// (`SIGBUS` on Unix, an in-page exception on Windows). Recordings are not rewritten in place by their recorders once
/// closed; a file that is still being written only grows.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Mmap,
}

impl Mapped {
    /// Maps `file`, which must be a regular file that is not empty.
    pub(crate) fn of(file: &File) -> io::Result<Mapped> {
        // SAFETY: the map is private to this struct and only ever lent out as `&[u8]`. Rust requires that those bytes do
        // not change while borrowed, which no program can promise for a file that others may write. The readers of
        // mapped files uphold what keeps this sound in practice: they copy numbers out before they check them, hold no
        // `str` over mapped bytes without conversion, and index with checked lengths only, so that changing bytes yield
        // wrong values and never wrong memory accesses. Shrinking is the case above.
        let map = unsafe { Mmap::map(file)? };
        // Advice only: where it is refused, reading works all the same.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Mapped { map })
    }
}

impl Bytes for Mapped {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Lets the system take back the memory of `range`, which is read again from the file if it is touched again.
    fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // Whole pages inside the range only: a page shared with a neighbour may still be in use.
            const PAGE: usize = 4096;
            let start = range.start.div_ceil(PAGE) * PAGE;
            let end = range.end.min(self.map.len()) / PAGE * PAGE;
            if start < end {
                // SAFETY: the map is file-backed and read-only, so dropped pages come back with the file's bytes:
                // borrowed slices keep reading the same values.
                let _ =
                    unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
            }
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}
