//! Tests with synthetic and real recordings.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod formats;
mod samples;
