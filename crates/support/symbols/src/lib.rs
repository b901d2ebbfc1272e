//! Function names of modules: from PDB files in symbol folders and stores, and from symbol servers; from ELF files in folders.
//!
//! # Design constraints
//!
//! * Finds files by a symbol path as Windows' debuggers take it ([`SymbolPath`]): all folders and stores first, then, with
//!   feature `download` and only where the caller wants it, its servers.
//! * A PDB is used only when its identity is the module's: a name from another build is worse than none. What a server
//!   sends is held to the same before it is kept.
//! * A server learns the names and identities of PDB files, and nothing else. One that does not answer is a stated reason
//!   and never an error.
//! * Names from a recording are never trusted as paths.
//! * Reads PDB files by a library (`pdb-addr2line`), ELF files too (`goblin`), not by readers of its own; the same goes for HTTP and
//!   cabinets.

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
pub use table::{Fault, Refusal, Symbols};
