//! All integration tests of this crate in one program, which is faster to link than several.
#![allow(clippy::unwrap_used)]

mod executables;
#[cfg(feature = "download")]
mod servers;
mod stores;
