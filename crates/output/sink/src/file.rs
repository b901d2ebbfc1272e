//! Output files that are complete or untouched.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::unfinished::Listed;

/// The suffix of temporary files.
const UNFINISHED: &str = ".unfinished";

/// A file that is being written. [`OutputFile::commit`] replaces the target; dropping it earlier changes nothing.
#[derive(Debug)]
pub struct OutputFile {
    target: PathBuf,
    destination: Destination,
}

#[derive(Debug)]
enum Destination {
    /// A temporary file in the folder of the target, to be renamed.
    SameFolder(NamedTempFile, Listed),
    /// A temporary file in the folder of the target, for a target that must not exist.
    New(NamedTempFile, Listed),
    /// A temporary file elsewhere, to be copied: the target is writable, but its folder is not.
    OtherFolder(File),
    /// A terminal, a pipe or another device, written directly.
    Device(File),
}

impl OutputFile {
    /// Starts writing to `path`. For a symbolic link, the file it points to is replaced.
    ///
    /// # Errors
    /// The folder does not exist, the target is a folder or not writable, or the link is broken.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = resolve(path)?;
        let existing = match fs::metadata(&target) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if !metadata.is_file() => {
                let device = File::options().write(true).open(&target)?;
                return Ok(Self { target, destination: Destination::Device(device) });
            }
            Ok(metadata) => {
                // A read-only file must not be replaced, even if its folder would allow it.
                File::options().append(true).open(&target)?;
                Some(metadata)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let destination = match temporary_file(&target, existing.as_ref().map(fs::Metadata::permissions)) {
            Ok(file) => {
                let listed = Listed::new(file.path());
                Destination::SameFolder(file, listed)
            }
            Err(error) if existing.is_some() && is_read_only_folder(&error) => {
                Destination::OtherFolder(tempfile::tempfile()?)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { target, destination })
    }

    /// Starts writing a new file, readable only by its owner.
    ///
    /// # Errors
    /// The file exists, or the folder does not.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let target = resolve(path)?;
        let folder = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        // `tempfile` creates files that only their owner can read.
        let file = Builder::new().prefix(".onoff-").suffix(UNFINISHED).tempfile_in(folder)?;
        let listed = Listed::new(file.path());
        Ok(Self { target, destination: Destination::New(file, listed) })
    }

    fn file(&mut self) -> &mut File {
        match &mut self.destination {
            Destination::SameFolder(file, _) | Destination::New(file, _) => file.as_file_mut(),
            Destination::OtherFolder(file) | Destination::Device(file) => file,
        }
    }

    /// Returns a second handle to the same file, for callers that need a [`File`].
    ///
    /// # Errors
    /// The handle cannot be duplicated.
    pub fn writer(&self) -> io::Result<File> {
        match &self.destination {
            Destination::SameFolder(file, _) | Destination::New(file, _) => file.as_file().try_clone(),
            Destination::OtherFolder(file) | Destination::Device(file) => file.try_clone(),
        }
    }

    /// Replaces the target with what was written.
    ///
    /// # Errors
    /// Writing failed, or the target cannot be replaced. The target is then unchanged.
    pub fn commit(mut self) -> io::Result<()> {
        self.file().flush()?;
        match self.destination {
            Destination::SameFolder(file, _listed) => match file.persist(&self.target) {
                Ok(_) => Ok(()),
                // A file that is a mount point, as in a container, can be written but not replaced.
                Err(error) if cannot_be_replaced(&error.error) => copy(error.file.as_file(), &self.target),
                Err(error) => Err(error.error),
            },
            Destination::New(file, _listed) => {
                file.persist_noclobber(&self.target).map(drop).map_err(|error| error.error)
            }
            Destination::OtherFolder(file) => copy(&file, &self.target),
            Destination::Device(_) => Ok(()),
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

/// Returns the canonical path of a file that may not exist yet. All names of a target give the same path.
///
/// # Errors
/// The folder does not exist, or a link is broken.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    // Paths such as `/dev/stdout` lead to open files, which have no name.
    if path.starts_with("/dev") || path.starts_with("/proc") {
        return Ok(path.to_owned());
    }
    if fs::symlink_metadata(path).is_ok() {
        return fs::canonicalize(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(error.kind(), "the link is broken"),
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

/// Creates a temporary file in the folder of the target, with the permissions of the target or default permissions.
fn temporary_file(target: &Path, permissions: Option<Permissions>) -> io::Result<NamedTempFile> {
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
        // Fails harmlessly on file systems without permissions.
        let _ = file.as_file().set_permissions(permissions);
    }
    Ok(file)
}

fn is_read_only_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn cannot_be_replaced(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices
    )
}

/// Copies to the target as a last resort, after everything is written.
fn copy(mut source: &File, target: &Path) -> io::Result<()> {
    source.rewind()?;
    let mut destination = File::options().write(true).truncate(true).open(target)?;
    io::copy(&mut source, &mut destination)?;
    destination.flush()
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
    fn keeps_target_until_commit() {
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
    fn new_file_never_replaces_another() {
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
    fn rejects_unwritable_targets() {
        let folder = tempfile::tempdir().unwrap();
        OutputFile::create(folder.path()).unwrap_err();
        OutputFile::create(&folder.path().join("no/such/folder")).unwrap_err();
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn keeps_links_and_permissions() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("real.txt"), "before").unwrap();
        fs::set_permissions(path("real.txt"), Permissions::from_mode(0o640)).unwrap();
        fs::hard_link(path("real.txt"), path("other name.txt")).unwrap();
        symlink("real.txt", path("link.txt")).unwrap();
        let mut output = OutputFile::create(&path("link.txt")).unwrap();
        output.write_all(b"after").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(path("link.txt")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(path("real.txt")).unwrap(), "after");
        assert_eq!(fs::metadata(path("real.txt")).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_to_string(path("other name.txt")).unwrap(), "before", "a hard link keeps the old content");
        symlink("nothing", path("broken.txt")).unwrap();
        let error = OutputFile::create(&path("broken.txt")).unwrap_err();
        assert_eq!(error.to_string(), "the link is broken");
        assert!(!path("nothing").exists());
    }

    #[cfg(unix)]
    #[test]
    fn writes_to_devices_directly() {
        let mut output = OutputFile::create(Path::new("/dev/null")).unwrap();
        output.write_all(b"gone").unwrap();
        output.commit().unwrap();
        assert_eq!(resolve(Path::new("/dev/stdout")).unwrap(), Path::new("/dev/stdout"));
    }

    #[test]
    fn resolves_different_names_to_one_path() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        let plain = resolve(&folder.path().join("answer.txt")).unwrap();
        assert_eq!(resolve(&folder.path().join("in/../answer.txt")).unwrap(), plain);
    }
}
