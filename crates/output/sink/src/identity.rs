//! The identity of a file, independent of its name.

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
            // Reading and writing the same terminal, pipe or `/dev/null` is allowed.
            metadata.is_file().then(|| Self { device: metadata.dev(), inode: metadata.ino() })
        }

        /// Identifies the regular file at a path without opening it, because opening a pipe would block.
        pub fn from_path(path: &Path) -> io::Result<Option<Self>> {
            std::fs::metadata(path).map(|metadata| Self::from_metadata(&metadata))
        }

        /// Returns the identity of an open regular file.
        pub fn from_file(file: &File) -> io::Result<Option<Self>> {
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
        /// Identifies the regular file at a path.
        pub fn from_path(path: &Path) -> io::Result<Option<Self>> {
            if !std::fs::metadata(path)?.is_file() {
                return Ok(None);
            }
            same_file::Handle::from_path(path).map(|handle| Some(Self(handle)))
        }

        /// Returns the identity of an open regular file.
        pub fn from_file(file: &File) -> io::Result<Option<Self>> {
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            same_file::Handle::from_file(file.try_clone()?).map(|handle| Some(Self(handle)))
        }
    }
}

pub use system::Identity;
