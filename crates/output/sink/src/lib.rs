//! Output files that are either complete or untouched and never overwrite an input.
//!
//! * [`OutputFile`] writes to a temporary file and replaces its target when everything is written. Until then, and after a failure,
//!   the target is unchanged.
//! * [`OutputFolder`] does the same for a folder, and never replaces anything.
//! * [`remove_unfinished`] removes temporary files and folders when a signal ends the process.
//! * [`Inputs`] rejects a target that is an input file under any name, through symbolic or hard links, or within an input folder.

mod file;
mod folder;
mod identity;
mod inputs;
mod unfinished;

pub use file::{OutputFile, resolve};
pub use folder::OutputFolder;
pub use inputs::{Inputs, OutputError};
pub use unfinished::remove_unfinished;
