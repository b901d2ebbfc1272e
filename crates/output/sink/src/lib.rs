//! Where answers go: files that are complete or untouched, and never one that is read.
//!
//! * [`OutputFile`] writes beside its target and takes its place when everything has arrived. Until then, and whenever
//!   something fails, what was there before stays as it was.
//! * [`OutputFolder`] does the same for a folder, and never takes the place of anything.
//! * [`Inputs`] refuses a target that is one of the files that are read, under whatever name, through symbolic and hard
//!   links, and also as a part of a folder that is read.

mod file;
mod folder;
mod identity;
mod inputs;

pub use file::{OutputFile, resolved};
pub use folder::OutputFolder;
pub use inputs::{Inputs, Refusal};
