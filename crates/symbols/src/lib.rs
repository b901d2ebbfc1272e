//! Function names of modules, from PDB files in symbol folders and stores.
//!
//! # Design constraints
//!
//! * Finds files by a symbol path as Windows' debuggers take it ([`SymbolPath`]); downloads nothing.
//! * A PDB is used only when its identity is the module's: a name from another build is worse than none.
//! * Names from a recording are never trusted as paths.
//! * Reads PDB files by a library (`pdb-addr2line`), not by a reader of its own.

#![forbid(unsafe_code)]

mod path;
mod table;

pub use path::{SymbolPath, SymbolPlace};
pub use table::{Refusal, Symbols};
