//! Which file a path leads to, whatever it is called.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
mod system {
    use super::*;
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    /// A file on a device.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Identity {
        device: u64,
        inode: u64,
    }

    impl Identity {
        fn from_metadata(metadata: &Metadata) -> Option<Self> {
            // A terminal, a pipe or `/dev/null` may be read and written at once.
            metadata.is_file().then(|| Self { device: metadata.dev(), inode: metadata.ino() })
        }

        /// The regular file that a path leads to. Nothing is opened: opening a pipe would wait for its other end.
        pub fn of(path: &Path) -> io::Result<Option<Self>> {
            std::fs::metadata(path).map(|metadata| Self::from_metadata(&metadata))
        }

        /// The regular file that an open file is.
        pub fn of_file(file: &File) -> io::Result<Option<Self>> {
            file.metadata().map(|metadata| Self::from_metadata(&metadata))
        }
    }
}

#[cfg(windows)]
mod system {
    use super::*;

    /// A file on a volume.
    #[derive(Debug, PartialEq, Eq)]
    pub struct Identity(same_file::Handle);

    impl Identity {
        /// The regular file that a path leads to.
        pub fn of(path: &Path) -> io::Result<Option<Self>> {
            if !std::fs::metadata(path)?.is_file() {
                return Ok(None);
            }
            same_file::Handle::from_path(path).map(|handle| Some(Self(handle)))
        }

        /// The regular file that an open file is.
        pub fn of_file(file: &File) -> io::Result<Option<Self>> {
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            same_file::Handle::from_file(file.try_clone()?).map(|handle| Some(Self(handle)))
        }
    }
}

pub use system::Identity;
