//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod any_bytes;
mod damaged;
mod forms;
mod made;
mod several_files;
