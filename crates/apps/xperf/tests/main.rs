//! All integration tests of this crate in one program, which avoids linking each test separately.
#![allow(clippy::unwrap_used)]

mod counters;
mod drive_letters;
mod dumper;
mod event_names;
mod no_data;
mod suspend;
