//! All integration tests in one binary, to link only once.
#![allow(clippy::unwrap_used)]

mod capture;
mod encapsulations;
mod event_stream;
mod firmware;
mod golden_rows;
mod linux;
mod linux_stacks;
mod linux_text;
mod linux_text_variants;
mod linux_units;
mod linux_wall_clock;
mod messages;
mod opening;
mod packet_events;
mod samples;
mod simulated;
mod tables_match_events;
mod trackers;
