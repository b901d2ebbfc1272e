//! All integration tests of this crate in one binary, to link only once.
#![allow(clippy::unwrap_used)]

mod attempts;
mod blame;
mod confusable;
mod one_side;
mod outcomes;
mod ports;
mod storage;
mod support;
mod two_places;
