//! The reader of prefetch plans, on any bytes and on real plans.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod ready_boot;
mod samples;
