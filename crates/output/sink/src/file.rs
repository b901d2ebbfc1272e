//! A file that is complete or untouched.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

/// How the name of an answer ends that is being written.
const UNFINISHED: &str = ".unfinished";

/// A file that is being written. It takes its place with [`OutputFile::commit`]; dropped before, it leaves nothing and
/// changes nothing.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A new file beside the target, to be renamed.
    Beside(NamedTempFile),
    /// The same, which must not meet another of its name.
    New(NamedTempFile),
    /// A new file elsewhere, to be copied: the target can be written, but nothing can be put beside it.
    Elsewhere(File),
    /// A terminal, a pipe or another device, which has nothing to lose.
    Device(File),
}

impl OutputFile {
    /// Begins to write what is to stand at `path`. A symbolic link is kept and what it leads to is replaced.
    ///
    /// # Errors
    /// There is no such folder, the target is a folder or may not be written, or the link leads nowhere.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = resolved(path)?;
        let before = match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let device = File::options().write(true).open(&target)?;
                return Ok(Self { target, place: Place::Device(device) });
            }
            Ok(metadata) => {
                // A file that may not be written is not to be replaced either, though its folder would allow it.
                File::options().append(true).open(&target)?;
                Some(metadata)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = match beside(&target, before.as_ref().map(fs::Metadata::permissions)) {
            Ok(file) => Place::Beside(file),
            Err(error) if before.is_some() && cannot_be_beside(&error) => Place::Elsewhere(tempfile::tempfile()?),
            Err(error) => return Err(error),
        };
        Ok(Self { target, place })
    }

    /// Begins to write a file that is not there yet, for its owner alone.
    ///
    /// # Errors
    /// Something is there already, or there is no such folder.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let target = resolved(path)?;
        let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // What the library makes is readable by its owner alone.
        let file = Builder::new().prefix(".onoff-").suffix(UNFINISHED).tempfile_in(folder)?;
        Ok(Self { target, place: Place::New(file) })
    }

    fn file(&mut self) -> &mut File {
        match &mut self.place {
            Place::Beside(file) | Place::New(file) => file.as_file_mut(),
            Place::Elsewhere(file) | Place::Device(file) => file,
        }
    }

    /// The file itself, for who needs one: what is written to it counts as written here.
    ///
    /// # Errors
    /// The system has no more handles.
    pub fn writer(&self) -> io::Result<File> {
        match &self.place {
            Place::Beside(file) | Place::New(file) => file.as_file().try_clone(),
            Place::Elsewhere(file) | Place::Device(file) => file.try_clone(),
        }
    }

    /// Puts what was written into its place.
    ///
    /// # Errors
    /// Not all of it arrived, or the target cannot be replaced; then it is as it was.
    pub fn commit(mut self) -> io::Result<()> {
        self.file().flush()?;
        match self.place {
            Place::Beside(file) => match file.persist(&self.target) {
                Ok(_) => Ok(()),
                // A file that is a mount point of its own, as in a container, can be written but not replaced.
                Err(error) if cannot_be_replaced(&error.error) => copy(error.file.as_file(), &self.target),
                Err(error) => Err(error.error),
            },
            Place::New(file) => file.persist_noclobber(&self.target).map(drop).map_err(|error| error.error),
            Place::Elsewhere(file) => copy(&file, &self.target),
            Place::Device(_) => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

/// Where a path leads, as far as something is there: two names of one target give the same.
///
/// # Errors
/// The folder is not there, or a link leads nowhere.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    // What the system makes up (`/dev/stdout`) leads to files that are known to others by number, not by name.
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return Ok(path.to_owned());
    }
    if fs::symlink_metadata(path).is_ok() {
        return fs::canonicalize(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "the link leads to nothing"),
            _ => error,
        });
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Ok(fs::canonicalize(folder)?.join(name))
}

/// A new file beside the target, which nobody else has made: with the target's permissions, or those of any new file.
fn beside(target: &Path, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
    let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(target.file_name().unwrap_or_default());
    prefix.push("-");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    if let Some(permissions) = permissions {
        // A file system without permissions refuses; the answer is not worth less.
        let _ = file.as_file().set_permissions(permissions);
    }
    Ok(file)
}

fn cannot_be_beside(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn cannot_be_replaced(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// The last resort: the bytes are all there before the target is touched.
fn copy(mut from: &File, target: &Path) -> io::Result<()> {
    from.rewind()?;
    let mut to = File::options().write(true).truncate(true).open(target)?;
    io::copy(&mut from, &mut to)?;
    to.flush()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_target_is_as_it_was_until_the_answer_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("answer.txt");
        fs::write(&target, "before").unwrap();
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"half").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "before");
        drop(output);
        assert_eq!(fs::read_to_string(&target).unwrap(), "before");
        assert_eq!(names(folder.path()), ["answer.txt"]);
        let mut output = OutputFile::create(&target).unwrap();
        output.write_all(b"all").unwrap();
        output.commit().unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "all");
        assert_eq!(names(folder.path()), ["answer.txt"]);
    }

    #[test]
    fn a_new_file_replaces_none_not_even_one_that_came_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new.tar.gz");
        let mut output = OutputFile::create_new(&target).unwrap();
        output.write_all(b"mine").unwrap();
        fs::write(&target, "somebody else's").unwrap();
        assert_eq!(output.commit().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "somebody else's");
        assert_eq!(OutputFile::create_new(&target).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(folder.path()), ["new.tar.gz"]);
        let other = folder.path().join("other.tar.gz");
        let mut output = OutputFile::create_new(&other).unwrap();
        output.write_all(b"all").unwrap();
        output.commit().unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "all");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&other).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        OutputFile::create(folder.path()).unwrap_err();
        OutputFile::create(&folder.path().join("no/such/folder")).unwrap_err();
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_kept_and_permissions_too() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real.txt"), "before").unwrap();
        fs::set_permissions(at("real.txt"), Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(at("real.txt"), at("other name.txt")).unwrap();
        symlink("real.txt", at("link.txt")).unwrap();
        let mut output = OutputFile::create(&at("link.txt")).unwrap();
        output.write_all(b"after").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(at("link.txt")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("real.txt")).unwrap(), "after");
        assert_eq!(fs::metadata(at("real.txt")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(at("other name.txt")).unwrap(), "before", "another name keeps what it had");
        symlink("nothing", at("broken.txt")).unwrap();
        let error = OutputFile::create(&at("broken.txt")).unwrap_err();
        assert_eq!(error.to_string(), "the link leads to nothing");
        assert!(!at("nothing").exists());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_written_to_as_they_are() {
        let mut output = OutputFile::create(Path::new("/dev/null")).unwrap();
        output.write_all(b"gone").unwrap();
        output.commit().unwrap();
        assert_eq!(resolved(Path::new("/dev/stdout")).unwrap(), Path::new("/dev/stdout"));
    }

    #[test]
    fn two_names_of_one_target_lead_to_the_same_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let plain = resolved(&folder.path().join("answer.txt")).unwrap();
        assert_eq!(resolved(&folder.path().join("in/../answer.txt")).unwrap(), plain);
    }
}
