//! Tables of a large recording that are too much for memory: in a file without a name, mapped, of which little is in
//! memory at a time.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use onoff_trace::{Shelf, Shelved};

use crate::kept::nameless;
use crate::mapped::MappedPart;

/// Bytes that stay in memory before any are taken. What recordings of up to some 2 GiB hold is less: no file is made
/// for them.
pub(crate) const HELD_BYTES: usize = 1 << 30;
/// Less than this is not worth a piece: a system bounds how many it maps.
const MIN_BYTES: usize = 64 << 10;
/// Pieces begin at multiples of so many bytes, which pages are no larger than on most systems: then they have none in
/// common.
const PIECE_ALIGNMENT: u64 = 16 << 10;
/// What is left free where the file is, bytes.
const LEFT_FREE_BYTES: u64 = 1 << 30;

/// A shelf in a file.
#[derive(Debug)]
pub(crate) struct FileShelf {
    /// Bytes that stay in memory first.
    held_bytes: usize,
    /// Bytes that were to be taken, those that stayed in memory included.
    seen_bytes: AtomicUsize,
    file: Mutex<Writing>,
    resident: Arc<Resident>,
}

/// The file, as it is written.
#[derive(Debug)]
enum Writing {
    NotBegun,
    At {
        file: File,
        end: u64,
    },
    /// It could not be made, or there is no room: all else stays in memory.
    Failed,
}

impl FileShelf {
    /// One to which nothing goes before `held_bytes` are in memory. Of the file, half as many are there at a time.
    pub(crate) fn new(held_bytes: usize) -> Self {
        Self {
            held_bytes,
            seen_bytes: AtomicUsize::new(0),
            file: Mutex::new(Writing::NotBegun),
            resident: Arc::new(Resident { most_bytes: held_bytes / 2, pieces: Mutex::default() }),
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<MappedPart> {
        let mut writing = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Writing::NotBegun = *writing {
            *writing = nameless().map_or(Writing::Failed, |file| Writing::At { file, end: 0 });
        }
        let Writing::At { file, end } = &mut *writing else { return Err(io::ErrorKind::StorageFull.into()) };
        let written = room_for(file, bytes).and_then(|()| {
            let start = end.next_multiple_of(PIECE_ALIGNMENT);
            file.seek(SeekFrom::Start(start))?;
            file.write_all(bytes)?;
            *end = start + bytes.len() as u64;
            MappedPart::of(file, start, bytes.len())
        });
        if written.is_err() {
            *writing = Writing::Failed;
        }
        written
    }
}

/// Whether the disk has room for `bytes`, and for what others need.
fn room_for(file: &File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::fstatvfs(file)?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < (bytes.len() as u64).saturating_add(LEFT_FREE_BYTES) {
            return Err(io::ErrorKind::StorageFull.into());
        }
    }
    #[cfg(not(unix))]
    let _ = (file, bytes, LEFT_FREE_BYTES);
    Ok(())
}

impl Shelf for FileShelf {
    fn keep(&self, bytes: &[u8]) -> Option<Arc<dyn Shelved>> {
        if bytes.len() < MIN_BYTES {
            return None;
        }
        let before = self.seen_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        if before.saturating_add(bytes.len()) <= self.held_bytes {
            return None;
        }
        let part = self.write(bytes).ok()?;
        let piece = Arc::new_cyclic(|this| Piece {
            part,
            touched: AtomicBool::new(false),
            resident: Arc::clone(&self.resident),
            this: Weak::clone(this),
        });
        Some(piece)
    }
}

/// The pieces that may be in memory, longest first.
#[derive(Debug)]
struct Resident {
    most_bytes: usize,
    pieces: Mutex<Pieces>,
}

/// Those that were read last, and their bytes.
#[derive(Debug, Default)]
struct Pieces {
    queue: VecDeque<(Weak<Piece>, usize)>,
    bytes: usize,
}

impl Resident {
    /// Takes a piece that is about to be read, and lets go of others for it.
    fn take(&self, piece: &Piece) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let Pieces { queue, bytes } = &mut *pieces;
        let length = piece.part.bytes().len();
        *bytes += length;
        while *bytes > self.most_bytes
            && let Some((oldest, length)) = queue.pop_front()
        {
            *bytes -= length;
            if let Some(oldest) = oldest.upgrade() {
                // Before the release: who reads it in between brings pages back that are not counted, until it is asked
                // for again.
                oldest.touched.store(false, Ordering::Relaxed);
                oldest.part.release();
            }
        }
        queue.push_back((Weak::clone(&piece.this), length));
    }
}

/// A piece of the file.
#[derive(Debug)]
struct Piece {
    part: MappedPart,
    /// Whether it is among those that may be in memory.
    touched: AtomicBool,
    resident: Arc<Resident>,
    this: Weak<Piece>,
}

impl Shelved for Piece {
    #[inline]
    fn bytes(&self) -> &[u8] {
        if !self.touched.load(Ordering::Relaxed) && !self.touched.swap(true, Ordering::Relaxed) {
            self.resident.take(self);
        }
        self.part.bytes()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn piece(number: u8) -> Vec<u8> {
        (0..300_000_u32).map(|at| (at % 251) as u8 ^ number).collect()
    }

    #[test]
    fn pieces_beyond_what_is_held_read_the_same_however_few_are_in_memory() {
        let shelf = FileShelf::new(1_400_000);
        let kept: Vec<Option<Arc<dyn Shelved>>> = (0..20).map(|number| shelf.keep(&piece(number))).collect();
        assert!(kept[..4].iter().all(Option::is_none), "held in memory");
        assert!(kept[4..].iter().all(Option::is_some));
        for round in 0..3_usize {
            for number in 4..20_usize {
                let number = if round == 1 { 23 - number } else { number };
                let bytes = kept[number].as_ref().unwrap().bytes();
                assert_eq!(bytes.as_ptr().addr() % onoff_trace::values::SHELF_ALIGNMENT, 0);
                assert_eq!(bytes, piece(number as u8));
                let Pieces { queue, bytes } = &*shelf.resident.pieces.lock().unwrap();
                assert!(queue.len() <= 2 && *bytes <= 700_000, "{} pieces, {bytes} bytes", queue.len());
            }
        }
        // What is borrowed stays readable while others are read.
        let first = kept[4].as_ref().unwrap().bytes();
        for other in kept[5..].iter().flatten() {
            assert_eq!(other.bytes().len(), 300_000);
        }
        assert_eq!(first, piece(4));
    }

    #[test]
    fn pieces_that_are_gone_make_room() {
        let shelf = FileShelf::new(0);
        for number in 0..9 {
            let kept = shelf.keep(&piece(number)).unwrap();
            assert_eq!(kept.bytes(), piece(number));
        }
        let kept = shelf.keep(&piece(9)).unwrap();
        assert_eq!(kept.bytes(), piece(9));
        assert_eq!(shelf.resident.pieces.lock().unwrap().bytes, 300_000, "the one that is left");
        assert!(shelf.keep(&[0; 100]).is_none(), "too little for a piece");
    }

    #[test]
    fn several_threads_put_and_read() {
        let shelf = FileShelf::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4_u8 {
                let shelf = &shelf;
                scope.spawn(move || {
                    let kept: Vec<_> = (0..8).map(|number| shelf.keep(&piece(thread * 8 + number)).unwrap()).collect();
                    for (number, kept) in (0..).zip(&kept) {
                        assert_eq!(kept.bytes(), piece(thread * 8 + number));
                    }
                });
            }
        });
    }
}
