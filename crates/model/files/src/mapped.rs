//! Memory-mapped files, and the allocator's threshold: what reading needs `unsafe` code for (see `SECURITY.md`).

#![allow(unsafe_code)]

use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use onoff_sources::{Bytes, Truncation};

/// A read-only memory map of a file.
///
/// A file can be truncated while it is mapped, e.g. by log rotation or a restarted copy. Accessing pages beyond the new
/// end would then kill the process (`SIGBUS`). On Unix, these pages read as zeros instead, and the map records the loss
/// ([`MappedFile::lost_pages`]). Windows does not allow truncating a mapped file.
#[derive(Debug)]
pub(crate) struct MappedFile {
    map: Mmap,
    path: PathBuf,
    /// Device and inode number.
    identity: Option<(u64, u64)>,
    #[cfg(unix)]
    watched_range: truncation::WatchedRange,
}

impl MappedFile {
    /// Opens and maps the file at `path`, which must be a non-empty regular file.
    pub(crate) fn open(path: &Path) -> io::Result<MappedFile> {
        Self::from_file(&File::open(path)?, path)
    }

    /// Maps `file` at `path`, which must be a non-empty regular file.
    pub(crate) fn from_file(file: &File, path: &Path) -> io::Result<MappedFile> {
        let identity = identity(&file.metadata()?);
        // SAFETY: the map is private to this struct and only lent out as `&[u8]`. Rust requires that those bytes do not
        // change while borrowed, which no program can guarantee for a file that others may write. The readers of mapped
        // files keep this sound in practice: they copy numbers out before checking them, never keep a `str` over mapped
        // bytes without conversion, and only use checked indexing. So changing bytes yield wrong values, never invalid
        // memory accesses. Truncation is handled as described above.
        let map = unsafe { Mmap::map(file)? };
        // This is only advice, so a failure does not matter.
        #[cfg(unix)]
        let _ = map.advise(memmap2::Advice::Sequential);
        Ok(MappedFile {
            #[cfg(unix)]
            watched_range: truncation::WatchedRange::register(map.as_ptr().addr()..map.as_ptr().addr() + map.len()),
            map,
            path: path.to_owned(),
            identity,
        })
    }

    /// Returns true if a reader accessed bytes that the file no longer had.
    fn lost_pages(&self) -> bool {
        #[cfg(unix)]
        return self.watched_range.lost_pages();
        #[cfg(not(unix))]
        return false;
    }

    /// Returns the current length of the file, unless the path now refers to another file.
    fn current_length(&self) -> Option<u64> {
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

impl Bytes for MappedFile {
    fn bytes(&self) -> &[u8] {
        &self.map
    }

    fn truncation(&self) -> Option<Truncation> {
        let mapped_length = self.map.len() as u64;
        let length = self.current_length();
        let is_shorter = self.lost_pages() || length.is_some_and(|length| length < mapped_length);
        is_shorter.then(|| Truncation { original_bytes: mapped_length, current_bytes: length.unwrap_or(0) })
    }

    /// Releases the memory of `range`, which is read from the file again on the next access.
    fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        {
            // Release only whole pages inside the range: a page shared with a neighbor may still be in use.
            const PAGE_SIZE: usize = 4096;
            let start = range.start.div_ceil(PAGE_SIZE) * PAGE_SIZE;
            let end = range.end.min(self.map.len()) / PAGE_SIZE * PAGE_SIZE;
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
pub(crate) struct MappedRange {
    map: Mmap,
}

impl MappedRange {
    /// Maps `length` bytes of `file` from `offset` on. They must have been written already and must never be written
    /// again.
    pub(crate) fn from_file(file: &File, offset: u64, length: usize) -> io::Result<Self> {
        // SAFETY: as for a whole file. In addition, other processes cannot open this file, and the mapped range is
        // never written again.
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

/// Makes the allocator return freed blocks of the size of a table's column to the system. The GNU C library otherwise
/// keeps them, so that tables that were spilled would still take memory.
pub(crate) fn return_freed_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const MIN_RETURNED_BYTES: std::ffi::c_int = 256 << 10;
        // SAFETY: changes only where later blocks are allocated. On failure, freed memory is kept as before.
        let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, MIN_RETURNED_BYTES) };
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

    /// A map in the list that the signal handler reads. The list only grows and its entries are reused, so it can be
    /// walked at any time without a lock.
    struct Entry {
        /// Address of the first byte; 0 if the entry is unused.
        start: AtomicUsize,
        /// Address after the last byte.
        end: AtomicUsize,
        /// True if pages were missing.
        lost_pages: AtomicBool,
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
        pub(super) fn register(addresses: Range<usize>) -> Self {
            install_handler();
            let entry = acquire_entry();
            entry.lost_pages.store(false, Ordering::Relaxed);
            entry.end.store(addresses.end, Ordering::Relaxed);
            entry.start.store(addresses.start, Ordering::Release);
            Self(entry)
        }

        pub(super) fn lost_pages(&self) -> bool {
            self.0.lost_pages.load(Ordering::Acquire)
        }
    }

    impl Drop for WatchedRange {
        fn drop(&mut self) {
            self.0.start.store(0, Ordering::Release);
            self.0.in_use.store(false, Ordering::Release);
        }
    }

    /// Reuses a released entry if there is one, otherwise adds a new entry to the list.
    fn acquire_entry() -> &'static Entry {
        for entry in entries() {
            if entry.in_use.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return entry;
            }
        }
        let entry = Box::leak(Box::new(Entry {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            lost_pages: AtomicBool::new(false),
            in_use: AtomicBool::new(true),
            next: ptr::null(),
        }));
        let mut head = ENTRIES.load(Ordering::Acquire);
        loop {
            entry.next = head;
            match ENTRIES.compare_exchange(head, entry, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry,
                Err(new_head) => head = new_head,
            }
        }
    }

    fn entries() -> impl Iterator<Item = &'static Entry> {
        let mut next: *const Entry = ENTRIES.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: entries are leaked, so pointers in the list stay valid.
            let entry = unsafe { next.as_ref() }?;
            next = entry.next;
            Some(entry)
        })
    }

    /// Installs the signal handler once.
    fn install_handler() {
        PREVIOUS.get_or_init(|| {
            // SAFETY: plain system calls with our own memory. All zeros are a valid `sigaction`.
            unsafe {
                let page_size = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
                let mut previous: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous);
                (previous, page_size)
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

    /// Maps zeros in place of missing pages of our maps, and passes any other fault to the previous handler.
    ///
    /// Async-signal-safe: must not allocate, lock or print.
    extern "C" fn on_missing_page(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
        let Some(&(previous, page_size)) = PREVIOUS.get() else { return };
        // SAFETY: the system passes a valid fault description.
        let address = unsafe { (*info).si_addr() }.addr();
        for entry in entries() {
            let start = entry.start.load(Ordering::Acquire);
            let end = entry.end.load(Ordering::Relaxed);
            if start == 0 || !(start..end).contains(&address) {
                continue;
            }
            // Everything after this address is past the new end of the file too, so one mapping of zeros covers all of
            // it.
            let page_start = address / page_size * page_size;
            // SAFETY: these addresses belong to the map, which stays mapped while it is read.
            let zeros = unsafe {
                libc::mmap(
                    ptr::with_exposed_provenance_mut(page_start),
                    end - page_start,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if zeros != libc::MAP_FAILED {
                entry.lost_pages.store(true, Ordering::Release);
                return;
            }
        }
        // SAFETY: the previous action is valid. The fault is raised again, and the previous action handles it.
        unsafe { libc::sigaction(libc::SIGBUS, &previous, ptr::null_mut()) };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn truncated_bytes_read_as_zeros_and_are_reported() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[7; 100_000]).unwrap();
        let mapped = MappedFile::from_file(&file, Path::new("none")).unwrap();
        let second_map = MappedFile::from_file(&file, Path::new("none")).unwrap();
        assert_eq!(mapped.bytes()[99_999], 7);
        file.set_len(10).unwrap();
        assert!(!mapped.lost_pages(), "not detected before access");
        assert_eq!(mapped.bytes()[99_999], 0);
        assert_eq!(mapped.bytes()[5], 7);
        assert!(mapped.lost_pages());
        assert!(!second_map.lost_pages(), "tracked per map");
        drop(mapped);
        let remapped = MappedFile::from_file(&file, Path::new("none")).unwrap();
        assert!(!remapped.lost_pages());
        // Several threads may reach the missing pages at the same time.
        let max_sum: u64 = std::thread::scope(|scope| {
            let sum = || second_map.bytes().iter().map(|&byte| u64::from(byte)).sum::<u64>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(sum)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
        });
        assert_eq!(max_sum, 70);
        assert!(second_map.lost_pages());
    }
}
