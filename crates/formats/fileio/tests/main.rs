//! The reader of file operations, on made and on real recordings.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod formats;
mod samples;
