//! All integration tests in one binary, to link only once.
#![allow(clippy::unwrap_used)]

#[cfg(feature = "arrow")]
mod arrow;
mod tables;
