//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod catalog;
mod real_recordings;
