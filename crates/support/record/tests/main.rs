//! All integration tests of this crate in one program, which is faster to link than several.
#![allow(clippy::unwrap_used)]

mod collection;
mod fake_machine;
mod job;
mod redaction;
mod running;
mod windows_job;
mod windows_logs;
mod wprp;
