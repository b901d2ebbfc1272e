//! All integration tests of this crate in one program, which saves linking time.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod any_bytes;
mod damaged;
mod formats;
mod several_files;
mod synthetic;
