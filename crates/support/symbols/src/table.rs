//! Function names from a PDB file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use pdb_addr2line::pdb::PDB;
use pdb_addr2line::{Context, ContextPdbData, TypeFormatterFlags};
use thiserror::Error;

use crate::SymbolPath;

/// Why a module has no function names.
#[derive(Debug, Error)]
pub enum SymbolError {
    /// Not in any folder or store.
    #[error("not in the symbol path's folders")]
    NotFound,
    /// Not in any folder or store, nor on any reachable server.
    #[error("neither in the symbol path's folders nor on its servers")]
    NotOnServer,
    /// A server did not provide the file.
    #[error("{0}: {1}")]
    Server(String, #[source] DownloadError),
    /// The files with this name are from other builds.
    #[error("{}: from another build", .0.display())]
    OtherBuild(PathBuf),
    /// A file cannot be opened.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    /// A file is not a Linux program or library, is damaged, or has no function names.
    #[error("{}: {}", .0.display(), .1)]
    NotExecutable(PathBuf, String),
    /// A file is not a PDB or is damaged.
    #[error("{}: {}", .0.display(), .1)]
    Damaged(PathBuf, #[source] pdb_addr2line::Error),
}

/// Why a server did not provide a file.
#[derive(Debug, Error)]
pub enum DownloadError {
    /// Unexpected HTTP status.
    #[error("HTTP status {0}")]
    Status(u16),
    /// The file exceeds the limit, in bytes.
    #[error("larger than the limit of {0} bytes")]
    TooLarge(u64),
    /// The response was truncated or invalid.
    #[error("invalid response: {0}")]
    InvalidResponse(String),
    /// The file is from another build.
    #[error("sent a file from another build")]
    OtherBuild,
    /// The file is not a PDB.
    #[error("sent a file that is not a PDB: {0}")]
    NotPdb(String),
    /// The server only has a pointer to the file.
    #[error("only has a pointer to the file (file.ptr), which onoff does not follow")]
    Pointer,
    /// The file cannot be written to the store.
    #[error("cannot write to {}: {}", .0.display(), .1)]
    CannotStore(PathBuf, #[source] io::Error),
}

/// The functions of one module.
pub struct Symbols {
    data: ContextPdbData<'static, 'static, File>,
    path: PathBuf,
}

impl Symbols {
    /// Opens the first PDB in `path` with this `name` and `identity` (32 hex digits of the GUID and the age in hex, as
    /// in symbol stores). The age is not compared, because tools that strip a PDB change it.
    ///
    /// # Errors
    /// The file was not found or cannot be read. The last error other than `NotFound` is returned.
    pub fn find(path: &SymbolPath, name: &str, identity: &str) -> Result<Self, SymbolError> {
        let mut last_error = SymbolError::NotFound;
        for candidate in path.candidates(name, identity) {
            match Self::open(&candidate, identity) {
                Ok(symbols) => return Ok(symbols),
                Err(SymbolError::NotFound) => {}
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    pub(crate) fn open(path: &Path, identity: &str) -> Result<Self, SymbolError> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(SymbolError::NotFound),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(SymbolError::NotFound);
            }
            Err(error) => return Err(SymbolError::Unreadable(path.to_owned(), error)),
        };
        // In a store, this path is a folder.
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(SymbolError::NotFound);
        }
        let damaged = |error| SymbolError::Damaged(path.to_owned(), error);
        let mut pdb = PDB::open(file).map_err(|error| damaged(error.into()))?;
        let information = pdb.pdb_information().map_err(|error| damaged(error.into()))?;
        let guid = information.guid.simple().to_string();
        if !identity.get(..guid.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(&guid)) {
            return Err(SymbolError::OtherBuild(path.to_owned()));
        }
        Ok(Self { data: ContextPdbData::try_from_pdb(pdb).map_err(damaged)?, path: path.to_owned() })
    }

    /// Returns the path of the PDB.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the function at each of `addresses`, relative to the module's base; `None` if there is none.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn functions(&self, addresses: impl IntoIterator<Item = u32>) -> Result<Vec<Option<String>>, SymbolError> {
        let damaged = |error| SymbolError::Damaged(self.path.clone(), error);
        let flags = TypeFormatterFlags::default() | TypeFormatterFlags::NO_ARGUMENTS;
        let context: Context<'_, '_> = self.data.make_context_with_formatter_flags(flags).map_err(damaged)?;
        Ok(addresses
            .into_iter()
            .map(|address| {
                // An inconsistent entry affects only its own address.
                let function = context.find_function(address).ok().flatten()?;
                function.name.filter(|name| !name.is_empty())
            })
            .collect())
    }
}
