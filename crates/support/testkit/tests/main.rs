//! All integration tests of this crate in one binary, because linking dominates the build time.
#![allow(clippy::unwrap_used)]

mod compression;
mod round_trip;
