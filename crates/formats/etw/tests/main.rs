//! All integration tests of this crate in one program, which saves linking time.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod catalog;
mod dotnet;
mod real_recordings;
