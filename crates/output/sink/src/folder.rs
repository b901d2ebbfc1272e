//! A folder of answers that is complete or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempDir};

use crate::file::resolved;

/// A folder that is being filled. It takes its place with [`OutputFolder::commit`]; dropped before, it leaves nothing. It never
/// replaces anything: its place must be free, or an empty folder.
#[derive(Debug)]
pub struct OutputFolder {
    target: PathBuf,
    unfinished: TempDir,
}

impl OutputFolder {
    /// Begins to fill what is to stand at `path`.
    ///
    /// # Errors
    /// Something is there that is no empty folder, or there is no folder to put it into.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = resolved(path)?;
        free(&target)?;
        let parent = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut builder = Builder::new();
        builder.prefix(".onoff-").suffix(".unfinished");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let unfinished = builder.tempdir_in(parent)?;
        Ok(Self { target, unfinished })
    }

    /// Where its files are written until it is complete.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Puts the folder into its place.
    ///
    /// # Errors
    /// Something came there meanwhile; then that is as it was, and nothing is left of this.
    pub fn commit(self) -> io::Result<()> {
        free(&self.target)?;
        // An empty folder makes room; one that is not empty cannot be removed so.
        match fs::remove_dir(&self.target) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(self.unfinished.path(), &self.target)?;
        // Its name is gone; there is nothing left to remove.
        let _ = self.unfinished.keep();
        Ok(())
    }
}

/// Refuses a place that is taken.
fn free(target: &Path) -> io::Result<()> {
    match fs::read_dir(target) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, "the folder is not empty; name a new one")),
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
    fn a_folder_is_there_when_it_is_complete_and_not_before() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("tables");
        let output = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "half").unwrap();
        assert!(!target.exists());
        drop(output);
        assert!(names(place.path()).is_empty());
        let output = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "all").unwrap();
        output.commit().unwrap();
        assert_eq!(fs::read_to_string(target.join("a.csv")).unwrap(), "all");
        assert_eq!(names(place.path()), ["tables"]);
    }

    #[test]
    fn what_is_there_is_never_replaced_but_an_empty_folder_is_filled() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("tables");
        fs::create_dir(&target).unwrap();
        let output = OutputFolder::create(&target).unwrap();
        let late = OutputFolder::create(&target).unwrap();
        fs::write(output.path().join("a.csv"), "first").unwrap();
        output.commit().unwrap();
        assert_eq!(late.commit().unwrap_err().kind(), io::ErrorKind::DirectoryNotEmpty);
        let error = OutputFolder::create(&target).unwrap_err();
        assert_eq!(error.to_string(), "the folder is not empty; name a new one");
        assert_eq!(fs::read_to_string(target.join("a.csv")).unwrap(), "first");
        fs::write(place.path().join("file"), "mine").unwrap();
        OutputFolder::create(&place.path().join("file")).unwrap_err();
        OutputFolder::create(&place.path().join("no/such/folder")).unwrap_err();
        assert_eq!(fs::read_to_string(place.path().join("file")).unwrap(), "mine");
    }
}
