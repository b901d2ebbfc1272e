//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.

mod capture;
mod event_stream;
mod firmware;
mod linux;
mod linux_units;
mod opening;
mod samples;
mod simulated;
mod trackers;
