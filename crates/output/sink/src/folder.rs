//! Output folders that are complete or absent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::file::resolve;
use crate::unfinished::Listed;

/// A folder that is being written. [`OutputFolder::commit`] moves it to its target; dropping it earlier leaves nothing
/// behind. It never replaces anything except an empty folder.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    unfinished: TempDir,
    listed: Listed,
}

impl OutputFolder {
    /// Starts writing the folder `path`.
    ///
    /// # Errors
    /// `path` exists and is not an empty folder, or its parent does not exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = resolve(path)?;
        ensure_free(&target)?;
        let parent = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = Builder::new();
        builder.prefix(".onoff-").suffix(".unfinished");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let unfinished = builder.tempdir_in(parent)?;
        let listed = Listed::new(unfinished.path());
        Ok(Self { target, unfinished, listed })
    }

    /// Returns the temporary path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Moves the folder to its target.
    ///
    /// # Errors
    /// The target was created in the meantime. It is unchanged, and the temporary folder is removed.
    pub fn commit(self) -> io::Result<()> {
        ensure_free(&self.target)?;
        // This call removes only an empty folder.
        match fs::remove_dir(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(self.unfinished.path(), &self.target)?;
        // The temporary folder was renamed, so nothing is left to remove.
        let _ = self.unfinished.keep();
        drop(self.listed);
        Ok(())
    }
}

/// Fails if the target exists and is not an empty folder.
fn ensure_free(target: &Path) -> io::Result<()> {
    match fs::read_dir(target) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => {
                Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "the folder is not empty; choose a new one"))
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn appears_only_when_complete() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("tables");
        let output = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "half").unwrap();
        assert!(!target.exists());
        drop(output);
        assert!(names(parent.path()).is_empty());
        let output = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "all").unwrap();
        output.commit().unwrap();
        assert_eq!(fs::read_to_string(target.join("a.csv")).unwrap(), "all");
        assert_eq!(names(parent.path()), ["tables"]);
    }

    #[test]
    fn replaces_only_empty_folders() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("tables");
        fs::create_dir(&target).unwrap();
        let output = OutputFolder::create(&target).unwrap();
        let late = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "first").unwrap();
        output.commit().unwrap();
        assert_eq!(late.commit().unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
        let error = OutputFolder::create(&target).unwrap_err();
        assert_eq!(error.to_string(), "the folder is not empty; choose a new one");
        assert_eq!(fs::read_to_string(target.join("a.csv")).unwrap(), "first");
        fs::write(parent.path().join("file"), "mine").unwrap();
        OutputFolder::create(&parent.path().join("file")).unwrap_err();
        OutputFolder::create(&parent.path().join("no/such/folder")).unwrap_err();
        assert_eq!(fs::read_to_string(parent.path().join("file")).unwrap(), "mine");
    }
}
