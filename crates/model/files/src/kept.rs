//! Unpacked files that are kept for the next question about the same recording.
//!
//! A recording is asked more than once, and undoing xz takes longer than any answer. What a large `.xz`, `.gz` or
//! `.zst` unpacks to is kept in a folder that belongs to the user alone: for a week, and 16 GiB of it at most. It is
//! known by the packed file's place, length, time and identity, so that a file that changed is unpacked anew.
//!
//! `ONOFF_CACHE` names another folder, or is `off`.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use crate::mapped::Mapped;

/// The variable that names the folder.
const VARIABLE: &str = "ONOFF_CACHE";
/// Most bytes of all that is kept.
const MAX_BYTES: u64 = 16 << 30;
/// How long a file is kept that nobody asked for.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Where what a packed file unpacks to is kept.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    key: String,
}

impl Place {
    /// The place for a packed file; `None` where nothing is to be kept.
    pub(crate) fn of(path: &Path, metadata: &fs::Metadata) -> Option<Self> {
        let folder = folder()?;
        let path = fs::canonicalize(path).ok()?;
        let modified = metadata.modified().ok()?;
        // Two sums with different beginnings: a file is not taken for another by chance.
        let sum = |seed: u64| {
            let mut hasher = DefaultHasher::new();
            (seed, &path, metadata.len(), modified, identity(metadata)).hash(&mut hasher);
            hasher.finish()
        };
        Some(Self { folder, key: format!("{:016x}{:016x}", sum(1), sum(2)) })
    }

    /// What was kept, if it was.
    pub(crate) fn find(&self) -> Option<Mapped> {
        let path = self.folder.join(&self.key);
        let file = File::options().read(true).write(true).open(&path).ok()?;
        if !is_own(&file) {
            return None;
        }
        // Asked for again: kept for another week.
        let _ = file.set_modified(SystemTime::now());
        Mapped::of(&file, &path).ok()
    }

    /// Gets ready to keep.
    pub(crate) fn keep(self) -> Keeping {
        Keeping { place: self, file: None }
    }
}

/// A file that is being kept. It has its name only when it is complete.
#[derive(Debug)]
pub(crate) struct Keeping {
    place: Place,
    file: Option<NamedTempFile>,
}

impl Keeping {
    /// A file to write to; where none can be kept, one without a name.
    pub(crate) fn begin(&mut self) -> io::Result<File> {
        let made = make_folder(&self.place.folder).and_then(|()| {
            tidy(&self.place.folder, MAX_BYTES, MAX_AGE);
            Builder::new().prefix("unpacking-").tempfile_in(&self.place.folder)
        });
        match made {
            Ok(file) => {
                let writer = file.reopen()?;
                self.file = Some(file);
                Ok(writer)
            }
            Err(_) => nameless(),
        }
    }

    /// All of it is there.
    pub(crate) fn finish(self) {
        if let Some(file) = self.file {
            // Where it cannot get its name it is unpacked again the next time.
            let _ = file.persist(self.place.folder.join(self.place.key));
        }
    }
}

/// A file that is gone when it is closed: among the kept ones, for `/tmp` is often memory.
pub(crate) fn nameless() -> io::Result<File> {
    folder()
        .and_then(|folder| make_folder(&folder).and_then(|()| tempfile::tempfile_in(folder)).ok())
        .map_or_else(tempfile::tempfile, Ok)
}

/// The folder, below what the system has for caches.
fn folder() -> Option<PathBuf> {
    let named = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    if let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return (value != "off").then(|| PathBuf::from(value));
    }
    let caches = if cfg!(windows) {
        named("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        named("HOME").map(|home| home.join("Library/Caches"))
    } else {
        named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")))
    };
    Some(caches?.join("onoff").join("unpacked"))
}

/// Makes the folder, for its user alone.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Removes what nobody asked for in a long time, then the oldest until no more than `most` bytes are left.
fn tidy(folder: &Path, most: u64, age: Duration) {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    // The youngest first.
    files.sort_by(|one, other| other.cmp(one));
    let mut total = 0_u64;
    for (modified, length, path) in files {
        total = total.saturating_add(length);
        let old = modified.elapsed().is_ok_and(|elapsed| elapsed > age);
        if old || total > most {
            // Who reads it goes on reading it.
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

/// Whether nobody else could have written it: on a shared machine a folder may have been made by another.
#[cfg(unix)]
fn is_own(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.uid() == user && metadata.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
fn is_own(_: &File) -> bool {
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
    fn what_is_complete_is_found_again_and_what_is_not_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { folder: folder.path().join("kept"), key: "key".to_owned() };
        assert!(place.find().is_none());
        let mut keeping = place.clone().keep();
        io::Write::write_all(&mut keeping.begin().unwrap(), b"half").unwrap();
        drop(keeping);
        assert!(place.find().is_none());
        assert!(names(&place.folder).is_empty());
        let mut keeping = place.clone().keep();
        io::Write::write_all(&mut keeping.begin().unwrap(), b"whole").unwrap();
        keeping.finish();
        assert_eq!(place.find().unwrap().bytes(), b"whole");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&place.folder).unwrap().permissions().mode() & 0o777, 0o700);
            let path = place.folder.join("key");
            fs::set_permissions(path, fs::Permissions::from_mode(0o666)).unwrap();
            assert!(place.find().is_none(), "somebody else may have written it");
        }
    }

    #[test]
    fn the_oldest_go_first_and_the_forgotten_go_always() {
        let folder = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(3600);
        for (name, age, length) in [("new", 0, 40), ("newer", 1, 40), ("old", 2, 40), ("forgotten", 200, 1)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(length).unwrap();
            file.set_modified(SystemTime::now() - hour * age).unwrap();
        }
        tidy(folder.path(), 100, hour * 24);
        assert_eq!(names(folder.path()), ["new", "newer"]);
        tidy(folder.path(), 50, hour * 24);
        assert_eq!(names(folder.path()), ["new"]);
    }

    #[test]
    fn a_packed_file_that_changed_has_another_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.etl.xz");
        fs::write(&path, b"one").unwrap();
        let key = || Place::of(&path, &fs::metadata(&path).unwrap()).map(|place| place.key);
        let Some(before) = key() else { return };
        assert_eq!(key(), Some(before.clone()));
        fs::write(&path, b"another").unwrap();
        assert_ne!(key(), Some(before));
    }
}
