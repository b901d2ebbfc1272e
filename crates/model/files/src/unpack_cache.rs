//! Cache of unpacked files.
//!
//! A recording is usually opened more than once, and unpacking xz takes longer than any analysis. The unpacked content
//! of large `.xz`, `.gz` and `.zst` files is cached for a week, up to 16 GiB in total, in a folder that only the user
//! can access. The key is derived from the path, size, modification time and identity of the packed file, so a changed
//! file is unpacked again. Content that is refused is removed at once.
//!
//! `ONOFF_CACHE` sets another folder, or disables the cache if it is `off`.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use crate::mapped::MappedFile;

/// Environment variable with the cache folder.
const FOLDER_VARIABLE: &str = "ONOFF_CACHE";
/// Maximum total size of the cache, in bytes.
const MAX_BYTES: u64 = 16 << 30;
/// Time since the last use after which a file is removed.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Location of a packed file's content in the cache.
#[derive(Clone, Debug)]
pub(crate) struct CacheEntry {
    folder: PathBuf,
    key: String,
}

impl CacheEntry {
    /// Returns the cache entry of a packed file, or `None` if it must not be cached.
    pub(crate) fn for_file(path: &Path, metadata: &fs::Metadata) -> Option<Self> {
        let folder = cache_folder()?;
        let path = fs::canonicalize(path).ok()?;
        let modified = metadata.modified().ok()?;
        // Two hashes with different seeds make collisions practically impossible.
        let hash = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, &path, metadata.len(), modified, identity(metadata)).hash(&mut hasher);
            hasher.finish()
        };
        Some(Self { folder, key: format!("{:016x}{:016x}", hash(1), hash(2)) })
    }

    /// Returns the cached content, if present.
    pub(crate) fn find(&self) -> Option<MappedFile> {
        let path = self.folder.join(&self.key);
        let file = File::options().read(true).write(true).open(&path).ok()?;
        if !is_private(&file) {
            return None;
        }
        // Keep the file for another week.
        let _ = file.set_modified(SystemTime::now());
        MappedFile::from_file(&file, &path).ok()
    }

    /// Removes the content from the cache.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_file(self.folder.join(&self.key));
    }

    pub(crate) fn writer(self) -> CacheWriter {
        CacheWriter { entry: self, file: None }
    }
}

/// A file being added to the cache. It gets its final name only when it is complete.
#[derive(Debug)]
pub(crate) struct CacheWriter {
    entry: CacheEntry,
    file: Option<UnfinishedFile>,
}

/// A file of the cache that is being written, in the list of [`remove_unfinished`].
#[derive(Debug)]
struct UnfinishedFile(NamedTempFile);

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the unfinished files in the cache. Call it only before the process ends.
///
/// Does nothing if the list is locked: the caller may be the thread that locked it, when it ran out of memory.
pub fn remove_unfinished() {
    let mut list = match UNFINISHED.try_lock() {
        Ok(list) => list,
        Err(TryLockError::Poisoned(error)) => error.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    for path in list.drain(..) {
        // A file that was finished meanwhile has another name by now.
        let _ = fs::remove_file(path);
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        unfinished().retain(|listed| *listed != self.0.path());
    }
}

impl UnfinishedFile {
    fn create(folder: &Path) -> io::Result<Self> {
        let file = Builder::new().prefix("unpacking-").tempfile_in(folder)?;
        unfinished().push(file.path().to_owned());
        Ok(Self(file))
    }

    /// Gives the complete file its final name.
    fn rename(self, path: &Path) {
        // If renaming fails, the file is unpacked again next time. Dropping the temporary file finds nothing to remove.
        let _ = fs::rename(self.0.path(), path);
    }
}

impl CacheWriter {
    /// Creates the file to write to; the file is anonymous if it cannot be cached.
    pub(crate) fn create_file(&mut self) -> io::Result<File> {
        let created = create_private_folder(&self.entry.folder).and_then(|()| {
            evict(&self.entry.folder, MAX_BYTES, MAX_AGE);
            UnfinishedFile::create(&self.entry.folder)
        });
        match created {
            Ok(file) => {
                let writer = file.0.reopen()?;
                self.file = Some(file);
                Ok(writer)
            }
            Err(_) => anonymous_file(),
        }
    }

    /// Adds the complete file to the cache.
    pub(crate) fn finish(self) {
        if let Some(file) = self.file {
            file.rename(&self.entry.folder.join(self.entry.key));
        }
    }
}

/// Creates an anonymous temporary file, which is deleted when closed. It is in the cache folder because `/tmp` is often
/// in memory.
pub(crate) fn anonymous_file() -> io::Result<File> {
    cache_folder()
        .and_then(|folder| create_private_folder(&folder).and_then(|()| tempfile::tempfile_in(folder)).ok())
        .map_or_else(tempfile::tempfile, Ok)
}

/// Returns the cache folder, in the system's cache location.
fn cache_folder() -> Option<PathBuf> {
    let folder_from = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    if let Some(value) = std::env::var_os(FOLDER_VARIABLE).filter(|value| !value.is_empty()) {
        return (value != "off").then(|| PathBuf::from(value));
    }
    let system_cache = if cfg!(windows) {
        folder_from("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder_from("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder_from("XDG_CACHE_HOME").or_else(|| folder_from("HOME").map(|home| home.join(".cache")))
    };
    Some(system_cache?.join("onoff").join("unpacked"))
}

/// Creates the folder, accessible only to the user.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes files that were not used for `max_age`, then the oldest files until at most `max_bytes` are left.
fn evict(folder: &Path, max_bytes: u64, max_age: Duration) {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    // Newest first.
    files.sort_by(|a, b| b.cmp(a));
    let mut total_bytes = 0_u64;
    for (modified, length, path) in files {
        total_bytes = total_bytes.saturating_add(length);
        let is_expired = modified.elapsed().is_ok_and(|elapsed| elapsed > max_age);
        if is_expired || total_bytes > max_bytes {
            // Open files stay readable after their removal.
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> (u64, u64) {
    (0, 0)
}

/// Returns true if no other user could have written the file. On a shared machine, another user may have created the
/// folder.
#[cfg(unix)]
fn is_private(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let uid = rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.uid() == uid && metadata.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &File) -> bool {
    true
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use onoff_sources::Bytes;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn finds_only_complete_files() {
        let folder = tempfile::tempdir().unwrap();
        let entry = CacheEntry { folder: folder.path().join("kept"), key: "key".to_owned() };
        assert!(entry.find().is_none());
        let mut writer = entry.clone().writer();
        io::Write::write_all(&mut writer.create_file().unwrap(), b"half").unwrap();
        drop(writer);
        assert!(entry.find().is_none());
        assert!(names(&entry.folder).is_empty());
        let mut writer = entry.clone().writer();
        io::Write::write_all(&mut writer.create_file().unwrap(), b"whole").unwrap();
        writer.finish();
        assert_eq!(entry.find().unwrap().bytes(), b"whole");
        let kept = entry.find().unwrap();
        entry.remove();
        assert!(entry.find().is_none() && kept.bytes() == b"whole");
        let mut writer = entry.clone().writer();
        io::Write::write_all(&mut writer.create_file().unwrap(), b"whole").unwrap();
        writer.finish();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&entry.folder).unwrap().permissions().mode() & 0o777, 0o700);
            let path = entry.folder.join("key");
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
            assert!(entry.find().is_none(), "another user may have written it");
        }
    }

    #[test]
    fn evicts_unused_files_then_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        for (name, age, length) in [("new", 0, 40), ("newer", 1, 40), ("old", 2, 40), ("forgotten", 200, 1)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(length).unwrap();
            file.set_modified(SystemTime::now() - hour * age).unwrap();
        }
        evict(folder.path(), 100, hour * 24);
        assert_eq!(names(folder.path()), ["new", "newer"]);
        evict(folder.path(), 50, hour * 24);
        assert_eq!(names(folder.path()), ["new"]);
    }

    #[test]
    fn changed_file_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl.xz");
        fs::write(&path, b"one").unwrap();
        let key = || CacheEntry::for_file(&path, &fs::metadata(&path).unwrap()).map(|entry| entry.key);
        let Some(before) = key() else { return };
        assert_eq!(key(), Some(before.clone()));
        fs::write(&path, b"another").unwrap();
        assert_ne!(key(), Some(before));
    }
}
