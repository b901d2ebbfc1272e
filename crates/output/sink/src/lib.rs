//! Output files that are either complete or untouched and never overwrite an input.
//!
//! * [`OutputFile`] writes to a temporary file and replaces its target when everything is written. Until then, and after a failure,
//!   the target is unchanged.
//! * [`OutputFolder`] does the same for a folder, and never replaces anything.
//! * [`remove_unfinished`] removes temporary files and folders when a signal ends the process.
//! * [`PrivateFile`] exists only while the program runs.
//! * [`check_stdout`] tells whether standard output was closed from the start.
//! * [`Inputs`] rejects a target that is an input file under any name, through symbolic or hard links, or within an input folder.

mod file;
mod folder;
mod identity;
mod inputs;
mod stdout;
mod unfinished;

pub use file::{OutputFile, resolve};
pub use folder::OutputFolder;
pub use inputs::{Inputs, OutputError};
pub use stdout::{check_stdout, set_stdout_closed};
pub use unfinished::{PrivateFile, remove_unfinished};
