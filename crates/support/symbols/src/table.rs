//! The functions of one PDB file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use pdb_addr2line::pdb::PDB;
use pdb_addr2line::{Context, ContextPdbData, TypeFormatterFlags};
use thiserror::Error;

use crate::SymbolPath;

/// Why a module has no names.
#[derive(Debug, Error)]
pub enum Refusal {
    /// No file in any place.
    #[error("not in the symbol path's folders")]
    NotFound,
    /// No file in any place, and none at the servers that answered.
    #[error("neither in the symbol path's folders nor at its servers")]
    NotServed,
    /// A server did not give it.
    #[error("{0}: {1}")]
    Server(String, #[source] Fault),
    /// Files of that name belong to other builds.
    #[error("{}: of another build", .0.display())]
    OtherBuild(PathBuf),
    /// A file cannot be opened.
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, #[source] io::Error),
    /// A file is no program or library of Linux, is damaged, or names nothing.
    #[error("{}: {}", .0.display(), .1)]
    NotExecutable(PathBuf, String),
    /// A file is no PDB, or is damaged.
    #[error("{}: {}", .0.display(), .1)]
    Damaged(PathBuf, #[source] pdb_addr2line::Error),
}

/// Why a server gave no file.
#[derive(Debug, Error)]
pub enum Fault {
    /// An answer other than the file or that there is none.
    #[error("answered {0}")]
    Status(u16),
    /// The file is larger than is taken, in bytes.
    #[error("larger than the {0} bytes that are taken")]
    TooLarge(u64),
    /// The answer broke off or was no HTTP.
    #[error("no whole answer: {0}")]
    Broken(String),
    /// The file belongs to another build.
    #[error("sent a file of another build")]
    OtherBuild,
    /// The file is no PDB.
    #[error("sent no PDB: {0}")]
    NotPdb(String),
    /// It only says where the file lies.
    #[error("only says where the file lies (file.ptr), which is not followed")]
    Pointer,
    /// The file cannot be kept.
    #[error("cannot be kept in {}: {}", .0.display(), .1)]
    Unkept(PathBuf, #[source] io::Error),
}

/// The functions of one module.
pub struct Symbols {
    data: ContextPdbData<'static, 'static, File>,
    path: PathBuf,
}

impl Symbols {
    /// Opens the PDB `name` with `identity` (GUID's 32 hex digits and the age in hex, as in symbol stores): the first of
    /// `path`'s that is of this build. The age is not compared: tools that strip a PDB change it.
    ///
    /// # Errors
    /// There is none, or it cannot be read; of several faults, the one that says most.
    pub fn find(path: &SymbolPath, name: &str, identity: &str) -> Result<Self, Refusal> {
        let mut refusal = Refusal::NotFound;
        for candidate in path.candidates(name, identity) {
            match Self::open(&candidate, identity) {
                Ok(symbols) => return Ok(symbols),
                Err(Refusal::NotFound) => {}
                Err(other) => refusal = other,
            }
        }
        Err(refusal)
    }

    pub(crate) fn open(path: &Path, identity: &str) -> Result<Self, Refusal> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Refusal::NotFound),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(Refusal::NotFound);
            }
            Err(error) => return Err(Refusal::Unreadable(path.to_owned(), error)),
        };
        // A store's folder may have the name that a plain folder's file would have.
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(Refusal::NotFound);
        }
        let damaged = |error| Refusal::Damaged(path.to_owned(), error);
        let mut pdb = PDB::open(file).map_err(|error| damaged(error.into()))?;
        let about = pdb.pdb_information().map_err(|error| damaged(error.into()))?;
        let guid = about.guid.simple().to_string();
        if !identity.get(..guid.len()).is_some_and(|given| given.eq_ignore_ascii_case(&guid)) {
            return Err(Refusal::OtherBuild(path.to_owned()));
        }
        Ok(Self { data: ContextPdbData::try_from_pdb(pdb).map_err(damaged)?, path: path.to_owned() })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The functions that hold each of `addresses`, which count from the module's begin; `None` where none does.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn functions(&self, addresses: impl IntoIterator<Item = u32>) -> Result<Vec<Option<String>>, Refusal> {
        let damaged = |error| Refusal::Damaged(self.path.clone(), error);
        let names = TypeFormatterFlags::default() | TypeFormatterFlags::NO_ARGUMENTS;
        let context: Context<'_, '_> = self.data.make_context_with_formatter_flags(names).map_err(damaged)?;
        Ok(addresses
            .into_iter()
            .map(|address| {
                // One address that the file's own tables contradict is no reason to lose the others.
                let found = context.find_function(address).ok().flatten()?;
                found.name.filter(|name| !name.is_empty())
            })
            .collect())
    }
}
