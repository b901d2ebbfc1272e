//! All integration tests of this crate in one program, to link only once.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod samples;
