//! A file as memory: the one place of the workspace with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use onoff_sources::{Bytes, Shortened};

/// A read-only memory map of a file.
///
/// A file may get shorter while it is mapped: a log is rotated, a copy is begun anew. The pages beyond its new end are
/// gone, and touching them would end this process (`SIGBUS`). On Unix they read as zeros from then on and the map knows
/// that it happened ([`Mapped::lost_pages`]); Windows does not let a mapped file be shortened.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Mmap,
    /// Where the file lies and which it is.
    path: PathBuf,
    identity: Option<(u64, u64)>,
    #[cfg(unix)]
    watched: shrinking::Watched,
}

impl Mapped {
    /// Opens and maps the file at `path`, which must be a regular one that is not empty.
    pub(crate) fn open(path: &Path) -> io::Result<Mapped> {
        Self::of(&File::open(path)?, path)
    }

    /// Maps `file`, which lies at `path` and must be a regular file that is not empty.
    pub(crate) fn of(file: &File, path: &Path) -> io::Result<Mapped> {
        let identity = identity(&file.metadata()?);
        // SAFETY: the map is private to this struct and only ever lent out as `&[u8]`. Rust requires that those bytes
        // do not change while borrowed, which no program can promise for a file that others may write. The readers of
        // mapped files uphold what keeps this sound in practice: they copy numbers out before they check them, hold no
        // `str` over mapped bytes without conversion, and index with checked lengths only, so that changing bytes yield
        // wrong values and never wrong memory accesses. Shrinking is the case above.
        let map = unsafe { Mmap::map(file)? };
        // Advice only: where it is refused, reading works all the same.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Mapped {
            #[cfg(unix)]
            watched: shrinking::Watched::of(map.as_ptr().addr()..map.as_ptr().addr() + map.len()),
            map,
            path: path.to_owned(),
            identity,
        })
    }

    /// Whether bytes were asked for that the file no longer had.
    fn lost_pages(&self) -> bool {
        #[cfg(unix)]
        return self.watched.lost_pages();
        #[cfg(not(unix))]
        return false;
    }

    /// The file's length now, if it is still the same file: one that was put in its place is not what is read.
    fn length_now(&self) -> Option<u64> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        (identity(&metadata) == self.identity).then_some(metadata.len())
    }
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None
}

impl Bytes for Mapped {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn shortened(&self) -> Option<Shortened> {
        let before = self.map.len() as u64;
        let now = self.length_now();
        let is_shorter = self.lost_pages() || now.is_some_and(|now| now < before);
        is_shorter.then(|| Shortened { before, now: now.unwrap_or(0) })
    }

    /// Lets the system take back the memory of `range`, which is read again from the file if it is touched again.
    fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // Whole pages inside the range only: a page shared with a neighbor may still be in use.
            const PAGE: usize = 4096;
            let start = range.start.div_ceil(PAGE) * PAGE;
            let end = range.end.min(self.map.len()) / PAGE * PAGE;
            if start < end {
                // SAFETY: the map is file-backed and read-only, so dropped pages come back with the file's bytes:
                // borrowed slices keep reading the same values. Pages that stand for lost ones come back as zeros.
                let _ =
                    unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
            }
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// Part of a file that has no name, so that nobody else changes it, as memory.
#[derive(Debug)]
pub(crate) struct MappedPart {
    map: Mmap,
}

impl MappedPart {
    /// Maps `length` bytes of `file` from `offset` on: written before, and never again.
    pub(crate) fn of(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        // SAFETY: as for a whole file; this one cannot be opened by others, and what is mapped of it is not written any
        // more.
        let map = unsafe { MmapOptions::new().offset(offset).len(length).map(file)? };
        Ok(Self { map })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Lets the system take back the memory, which is read again from the file if it is touched again.
    pub(crate) fn release(&self) {
        // SAFETY: the map is file-backed and read-only, so dropped pages come back with the file's bytes: borrowed
        // slices keep reading the same values. Advice only: where it is refused, the memory is kept.
        #[cfg(unix)]
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

/// Pages of a mapped file that are touched and are not there any more.
#[cfg(unix)]
mod shrinking {
    use std::ffi::{c_int, c_void};
    use std::ops::Range;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// A map as the signal handler finds it: in a list that only grows and whose entries are used again, so that it can
    /// be walked at any moment, without a lock.
    struct Entry {
        /// Address of its first byte; 0 when no map uses the entry.
        start: AtomicUsize,
        /// Address behind its last byte.
        end: AtomicUsize,
        /// Whether pages of it were missing.
        lost: AtomicBool,
        taken: AtomicBool,
        next: *const Entry,
    }

    // SAFETY: all that changes is atomic, and `next` is set before the entry is shared.
    unsafe impl Sync for Entry {}

    static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

    /// What was done about the signal before, and the bytes of a page: known before the handler can be called.
    static BEFORE: OnceLock<(libc::sigaction, usize)> = OnceLock::new();

    /// A map that is watched for as long as this lives.
    pub(super) struct Watched(&'static Entry);

    impl std::fmt::Debug for Watched {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.debug_struct("Watched").field("lost", &self.lost_pages()).finish()
        }
    }

    impl Watched {
        pub(super) fn of(addresses: Range<usize>) -> Self {
            install();
            let entry = free_entry();
            entry.lost.store(false, Ordering::Relaxed);
            entry.end.store(addresses.end, Ordering::Relaxed);
            entry.start.store(addresses.start, Ordering::Release);
            Self(entry)
        }

        pub(super) fn lost_pages(&self) -> bool {
            self.0.lost.load(Ordering::Acquire)
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.0.start.store(0, Ordering::Release);
            self.0.taken.store(false, Ordering::Release);
        }
    }

    /// An entry that no map uses: one that was let go, or a new one.
    fn free_entry() -> &'static Entry {
        for entry in entries() {
            if entry.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return entry;
            }
        }
        let entry = Box::leak(Box::new(Entry {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            taken: AtomicBool::new(true),
            next: ptr::null(),
        }));
        let mut first = ENTRIES.load(Ordering::Acquire);
        loop {
            entry.next = first;
            match ENTRIES.compare_exchange(first, entry, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry,
                Err(other) => first = other,
            }
        }
    }

    fn entries() -> impl Iterator<Item = &'static Entry> {
        let mut at: *const Entry = ENTRIES.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: entries are leaked, so what the list points to stays.
            let entry = unsafe { at.as_ref() }?;
            at = entry.next;
            Some(entry)
        })
    }

    /// Has the handler called, once.
    fn install() {
        BEFORE.get_or_init(|| {
            // SAFETY: plain questions to the system with memory of our own. All zeros are a valid `sigaction`.
            unsafe {
                let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, ptr::null(), &mut before);
                (before, page)
            }
        });
        static INSTALLED: OnceLock<()> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            // SAFETY: the handler has the form that SA_SIGINFO asks for, and what it needs is there.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_missing_page as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
            }
        });
    }

    /// Puts zeros where pages of one of our maps are missing; any other fault is left to whom it was left to before.
    ///
    /// Runs in the middle of anything: nothing here allocates, locks or prints.
    extern "C" fn on_missing_page(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
        let Some(&(before, page)) = BEFORE.get() else { return };
        // SAFETY: the system calls this with the description of the fault.
        let address = unsafe { (*info).si_addr() }.addr();
        for entry in entries() {
            let start = entry.start.load(Ordering::Acquire);
            let end = entry.end.load(Ordering::Relaxed);
            if start == 0 || !(start..end).contains(&address) {
                continue;
            }
            // All that follows is behind the file's new end too: one piece of zeros, however much it is.
            let from = address / page * page;
            // SAFETY: these addresses belong to the map, which stays mapped while it is read.
            let zeros = unsafe {
                libc::mmap(
                    ptr::with_exposed_provenance_mut(from),
                    end - from,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if zeros != libc::MAP_FAILED {
                entry.lost.store(true, Ordering::Release);
                return;
            }
        }
        // SAFETY: what was there before was valid. The fault comes again, and goes there.
        unsafe { libc::sigaction(libc::SIGBUS, &before, ptr::null_mut()) };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_file_loses_read_as_zeros_and_the_map_says_so() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[7; 100_000]).unwrap();
        let mapped = Mapped::of(&file, Path::new("none")).unwrap();
        let other = Mapped::of(&file, Path::new("none")).unwrap();
        assert_eq!(mapped.bytes()[99_999], 7);
        file.set_len(10).unwrap();
        assert!(!mapped.lost_pages(), "not noticed before it is touched");
        assert_eq!(mapped.bytes()[99_999], 0);
        assert_eq!(mapped.bytes()[5], 7);
        assert!(mapped.lost_pages());
        assert!(!other.lost_pages(), "each map knows of its own");
        drop(mapped);
        let again = Mapped::of(&file, Path::new("none")).unwrap();
        assert!(!again.lost_pages());
        // A processor of several threads: each meets the end by itself.
        let seen: u64 = std::thread::scope(|scope| {
            let sum = || other.bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(sum)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
        });
        assert_eq!(seen, 70);
        assert!(other.lost_pages());
    }
}
