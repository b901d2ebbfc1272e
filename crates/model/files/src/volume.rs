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

/// The actual names of a folder's entries, by lower-case name.
type Entries = HashMap<String, OsString>;

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileInfo {
    pub bytes: u64,
    /// Last modification, in ns since 1970-01-01 UTC.
    pub modified_unix_ns: Option<i64>,
}

/// A Windows volume. File names are case-insensitive. Links are not followed because they may lead out of the volume.
#[derive(Debug)]
pub struct Volume {
    root: PathBuf,
    folders: Mutex<HashMap<PathBuf, Entries>>,
}

impl Volume {
    /// Opens the volume at `root`. Returns `None` if it has no `Windows` folder.
    #[must_use]
    pub fn open(root: &Path) -> Option<Self> {
        let volume = Self { root: root.to_owned(), folders: Mutex::default() };
        volume.find("Windows").filter(|path| path.is_dir()).map(|_| volume)
    }

    /// Opens the volume that contains `folder`, which must be below the `Windows` folder of the volume.
    #[must_use]
    pub fn containing(folder: &Path) -> Option<Self> {
        let folder = fs::canonicalize(folder).ok()?;
        let windows = folder.ancestors().find(|ancestor| {
            ancestor.file_name().is_some_and(|name| name.to_string_lossy().eq_ignore_ascii_case("windows"))
        })?;
        Self::open(windows.parent()?)
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Finds the file or folder at `path` below the root. The path may contain both kinds of slashes.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        let mut found_path = self.root.clone();
        for component in path.split(['\\', '/']).filter(|component| !component.is_empty() && *component != ".") {
            if component == ".." {
                return None;
            }
            found_path = found_path.join(self.entry_name(&found_path, &component.to_lowercase())?);
            if fs::symlink_metadata(&found_path).ok()?.is_symlink() {
                return None;
            }
        }
        Some(found_path)
    }

    fn entry_name(&self, folder: &Path, name: &str) -> Option<OsString> {
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
        let actual_name = entries.get(name).cloned();
        if folders.len() < MAX_FOLDERS {
            folders.insert(folder.to_owned(), entries);
        }
        actual_name
    }

    /// Returns the size and modification time of the file at `path` below the root, or `None` if there is no such file.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<FileInfo> {
        let metadata = fs::symlink_metadata(self.find(path)?).ok()?;
        metadata.is_file().then(|| FileInfo { bytes: metadata.len(), modified_unix_ns: modified_unix_ns(&metadata) })
    }
}

/// Returns the last modification, in ns since 1970-01-01 UTC.
pub(crate) fn modified_unix_ns(metadata: &fs::Metadata) -> Option<i64> {
    let since_epoch = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since_epoch.as_nanos()).ok()
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
            Volume::containing(&system).map(|volume| volume.root().file_name().map(ToOwned::to_owned)),
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
