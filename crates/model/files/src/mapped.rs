//! Memory-mapped files. This is the only module of the workspace with `unsafe` code.

#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use onoff_sources::{Bytes, Truncation};

/// A read-only memory map of a file.
///
/// A file can be truncated while it is mapped, e.g. by log rotation or a restarted copy. Its pages beyond the new end
/// are gone, and accessing them would kill the process (`SIGBUS`). On Unix, they read as zeros instead and the map
/// records the loss ([`Mapped::lost_pages`]). Windows does not allow truncating a mapped file.
#[derive(Debug)]
pub(crate) struct Mapped {
    map: Mmap,
    /// Path and identity of the file.
    path: PathBuf,
    identity: Option<(u64, u64)>,
    #[cfg(unix)]
    watched: truncation::WatchedRange,
}

impl Mapped {
    /// Opens and maps the file at `path`, which must be a non-empty regular file.
    pub(crate) fn open(path: &Path) -> io::Result<Mapped> {
        Self::of(&File::open(path)?, path)
    }

    /// Maps `file` at `path`, which must be a non-empty regular file.
    pub(crate) fn of(file: &File, path: &Path) -> io::Result<Mapped> {
        let identity = identity(&file.metadata()?);
        // SAFETY: the map is private to this struct and only lent out as `&[u8]`. Rust requires that those bytes do not
        // change while borrowed, which no program can guarantee for a file that others may write. The readers of mapped
        // files keep this sound in practice: they copy numbers out before checking them, never keep a `str` over mapped
        // bytes without conversion, and only use checked indexing. So changing bytes yield wrong values, never invalid
        // memory accesses. Truncation is handled as described above.
        let map = unsafe { Mmap::map(file)? };
        // Advice only: a failure does not matter.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(Mapped {
            #[cfg(unix)]
            watched: truncation::WatchedRange::of(map.as_ptr().addr()..map.as_ptr().addr() + map.len()),
            map,
            path: path.to_owned(),
            identity,
        })
    }

    /// True if bytes were accessed that the file no longer had.
    fn lost_pages(&self) -> bool {
        #[cfg(unix)]
        return self.watched.lost_pages();
        #[cfg(not(unix))]
        return false;
    }

    /// The current length of the file, unless the path now refers to another file.
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

    fn truncation(&self) -> Option<Truncation> {
        let before = self.map.len() as u64;
        let now = self.length_now();
        let is_shorter = self.lost_pages() || now.is_some_and(|now| now < before);
        is_shorter.then(|| Truncation { before, now: now.unwrap_or(0) })
    }

    /// Releases the memory of `range`, which is read from the file again on the next access.
    fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // Only whole pages inside the range: a page shared with a neighbor may still be in use.
            const PAGE: usize = 4096;
            let start = range.start.div_ceil(PAGE) * PAGE;
            let end = range.end.min(self.map.len()) / PAGE * PAGE;
            if start < end {
                // SAFETY: the map is file-backed and read-only, so dropped pages are read from the file
                // again and borrowed slices keep their values. Pages replaced after a truncation come back as zeros.
                let _ =
                    unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
            }
        }
        #[cfg(not(unix))]
        let _ = range;
    }
}

/// A mapped range of an anonymous file, which no other process can change.
#[derive(Debug)]
pub(crate) struct MappedPart {
    map: Mmap,
}

impl MappedPart {
    /// Maps `length` bytes of `file` from `offset` on. They must be written before, and never again.
    pub(crate) fn of(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        // SAFETY: as for a whole file; other processes cannot open this one, and the mapped range is not written any
        // more.
        let map = unsafe { MmapOptions::new().offset(offset).len(length).map(file)? };
        Ok(Self { map })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Releases the memory, which is read from the file again on the next access.
    pub(crate) fn release(&self) {
        // SAFETY: the map is file-backed and read-only, so dropped pages are read from the file again and borrowed
        // slices keep their values. Advice only: on failure, the memory is kept.
        #[cfg(unix)]
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }
}

/// Handles accesses to pages of a mapped file that no longer exist.
#[cfg(unix)]
mod truncation {
    use std::ffi::{c_int, c_void};
    use std::ops::Range;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

    /// A map in the list read by the signal handler. The list only grows and its entries are reused, so it can be
    /// walked at any time without a lock.
    struct Entry {
        /// Address of the first byte; 0 if the entry is unused.
        start: AtomicUsize,
        /// Address after the last byte.
        end: AtomicUsize,
        /// True if pages were missing.
        lost: AtomicBool,
        in_use: AtomicBool,
        next: *const Entry,
    }

    // SAFETY: everything mutable is atomic, and `next` is set before the entry is shared.
    unsafe impl Sync for Entry {}

    static ENTRIES: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

    /// The previous signal action and the page size, set before the handler can be called.
    static PREVIOUS: OnceLock<(libc::sigaction, usize)> = OnceLock::new();

    /// A mapped address range, registered for the lifetime of this value.
    pub(super) struct WatchedRange(&'static Entry);

    impl std::fmt::Debug for WatchedRange {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.debug_struct("WatchedRange").field("lost", &self.lost_pages()).finish()
        }
    }

    impl WatchedRange {
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

    impl Drop for WatchedRange {
        fn drop(&mut self) {
            self.0.start.store(0, Ordering::Release);
            self.0.in_use.store(false, Ordering::Release);
        }
    }

    /// An unused entry: a released one, or a new one.
    fn free_entry() -> &'static Entry {
        for entry in entries() {
            if entry.in_use.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return entry;
            }
        }
        let entry = Box::leak(Box::new(Entry {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            in_use: AtomicBool::new(true),
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
            // SAFETY: entries are leaked, so pointers in the list stay valid.
            let entry = unsafe { at.as_ref() }?;
            at = entry.next;
            Some(entry)
        })
    }

    /// Installs the signal handler once.
    fn install() {
        PREVIOUS.get_or_init(|| {
            // SAFETY: plain system calls with our own memory. All zeros are a valid `sigaction`.
            unsafe {
                let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
                let mut before: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, ptr::null(), &mut before);
                (before, page)
            }
        });
        static INSTALLED: OnceLock<()> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            // SAFETY: the handler has the signature required by SA_SIGINFO, and the data it uses is initialized.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_missing_page as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
            }
        });
    }

    /// Maps zeros where pages of one of our maps are missing; any other fault goes to the previous handler.
    ///
    /// Async-signal-safe: must not allocate, lock or print.
    extern "C" fn on_missing_page(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
        let Some(&(before, page)) = PREVIOUS.get() else { return };
        // SAFETY: the system passes a valid fault description.
        let address = unsafe { (*info).si_addr() }.addr();
        for entry in entries() {
            let start = entry.start.load(Ordering::Acquire);
            let end = entry.end.load(Ordering::Relaxed);
            if start == 0 || !(start..end).contains(&address) {
                continue;
            }
            // Everything after this address is past the new end of the file too, so one zero mapping covers it.
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
        // SAFETY: the previous action is valid. The fault is raised again and handled by it.
        unsafe { libc::sigaction(libc::SIGBUS, &before, ptr::null_mut()) };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn truncated_bytes_read_as_zeros_and_are_reported() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[7; 100_000]).unwrap();
        let mapped = Mapped::of(&file, Path::new("none")).unwrap();
        let other = Mapped::of(&file, Path::new("none")).unwrap();
        assert_eq!(mapped.bytes()[99_999], 7);
        file.set_len(10).unwrap();
        assert!(!mapped.lost_pages(), "not detected before access");
        assert_eq!(mapped.bytes()[99_999], 0);
        assert_eq!(mapped.bytes()[5], 7);
        assert!(mapped.lost_pages());
        assert!(!other.lost_pages(), "tracked per map");
        drop(mapped);
        let again = Mapped::of(&file, Path::new("none")).unwrap();
        assert!(!again.lost_pages());
        // With several threads, each one reaches the end on its own.
        let seen: u64 = std::thread::scope(|scope| {
            let sum = || other.bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(sum)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
        });
        assert_eq!(seen, 70);
        assert!(other.lost_pages());
    }
}
