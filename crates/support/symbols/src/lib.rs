//! Function names of modules: from PDB files in folders, symbol stores and symbol servers, and from ELF files in
//! folders.
//!
//! # Design constraints
//!
//! * Finds files by a symbol path in the syntax of Windows debuggers ([`SymbolPath`]): all folders and stores first,
//!   then the servers, with feature `download` and only if the caller enables it.
//! * A PDB is used only if it has the module's identity: a name from another build is worse than none. Downloads are
//!   checked before they are kept.
//! * A server gets the names and identities of PDB files and nothing else. An unreachable server is reported but is not
//!   an error.
//! * Names from a recording are never trusted as paths.
//! * Existing libraries parse PDB files (`pdb-addr2line`), ELF files (`goblin`), HTTP and cabinets.

#![forbid(unsafe_code)]

#[cfg(feature = "download")]
mod download;
mod executable;
mod finder;
mod path;
mod table;

#[cfg(feature = "download")]
pub use download::{Downloads, Limits};
pub use executable::Executable;
pub use finder::SymbolFinder;
pub use path::{SymbolPath, SymbolPlace, SymbolServer};
pub use table::{DownloadError, SymbolError, Symbols};
