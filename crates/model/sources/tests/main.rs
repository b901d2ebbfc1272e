//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod both_ways;
mod capture;
mod encapsulations;
mod event_stream;
mod firmware;
mod golden_rows;
mod linux;
mod linux_stacks;
mod linux_text;
mod linux_units;
mod linux_wall_clock;
mod opening;
mod packet_events;
mod samples;
mod simulated;
mod trackers;
