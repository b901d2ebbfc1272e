//! The reader of hives, on made ones, on any bytes and on real ones.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod made;
mod samples;
