//! Case-insensitive access to a mounted or extracted Windows volume.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Maximum number of entries read per folder.
const MAX_ENTRIES: usize = 200_000;
/// Maximum number of folders with cached entries.
const MAX_FOLDERS: usize = 20_000;

/// Actual names of a folder's entries, by lower-case name.
type Entries = HashMap<String, OsString>;

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    /// Size, bytes.
    pub bytes: u64,
    /// Last modification, ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// A Windows volume. File names are case-insensitive. Links are not followed, because they may lead out of the volume.
#[derive(Debug)]
pub struct Volume {
    root: PathBuf,
    folders: Mutex<HashMap<PathBuf, Entries>>,
}

impl Volume {
    /// The volume with root `root`; `None` if it has no `Windows` folder.
    #[must_use]
    pub fn open(root: &Path) -> Option<Self> {
        let volume = Self { root: root.to_owned(), folders: Mutex::default() };
        volume.find("Windows").filter(|path| path.is_dir()).map(|_| volume)
    }

    /// The volume that contains `folder`, which must be below its `Windows` folder.
    #[must_use]
    pub fn around(folder: &Path) -> Option<Self> {
        let folder = fs::canonicalize(folder).ok()?;
        let windows = folder.ancestors().find(|above| {
            above.file_name().is_some_and(|name| name.to_string_lossy().eq_ignore_ascii_case("windows"))
        })?;
        Self::open(windows.parent()?)
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The file or folder at `path` below the root; both kinds of slashes are allowed.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        let mut place = self.root.clone();
        for part in path.split(['\\', '/']).filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                return None;
            }
            place = place.join(self.entry(&place, &part.to_lowercase())?);
            if fs::symlink_metadata(&place).ok()?.is_symlink() {
                return None;
            }
        }
        Some(place)
    }

    fn entry(&self, folder: &Path, name: &str) -> Option<OsString> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = folders.get(folder) {
            return entries.get(name).cloned();
        }
        let entries: Entries = fs::read_dir(folder)
            .map(|entries| {
                let names = entries.flatten().take(MAX_ENTRIES).map(|entry| entry.file_name());
                names.map(|name| (name.to_string_lossy().to_lowercase(), name)).collect()
            })
            .unwrap_or_default();
        let found = entries.get(name).cloned();
        if folders.len() < MAX_FOLDERS {
            folders.insert(folder.to_owned(), entries);
        }
        found
    }

    /// Size and modification time of the file at `path` below the root; `None` if there is no such file.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<FileInfo> {
        let metadata = fs::symlink_metadata(self.find(path)?).ok()?;
        metadata.is_file().then(|| FileInfo { bytes: metadata.len(), modified_unix_ns: modified(&metadata) })
    }
}

/// Last modification, ns since 1970-01-01 UTC.
pub(crate) fn modified(metadata: &fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_in_any_case_without_following_links() {
        let folder = tempfile::tempdir().unwrap();
        let system = folder.path().join("WINDOWS/System32");
        fs::create_dir_all(&system).unwrap();
        fs::write(system.join("Ntdll.dll"), b"12345").unwrap();
        let volume = Volume::open(folder.path()).unwrap();
        assert_eq!(volume.file(r"\windows\SYSTEM32\NTDLL.DLL").map(|file| file.bytes), Some(5));
        assert_eq!(volume.file(r"\windows\SYSTEM32"), None);
        assert_eq!(volume.file(r"\windows\..\windows\system32\ntdll.dll"), None);
        assert_eq!(
            Volume::around(&system).map(|volume| volume.root().file_name().map(ToOwned::to_owned)),
            Some(fs::canonicalize(folder.path()).unwrap().file_name().map(ToOwned::to_owned))
        );
        assert!(Volume::open(&system).is_none());
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc", system.join("out")).unwrap();
            let volume = Volume::open(folder.path()).unwrap();
            assert_eq!(volume.find(r"\windows\system32\out"), None);
        }
    }
}
