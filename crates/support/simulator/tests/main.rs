//! All integration tests of this crate in one binary, because linking dominates the build time.
#![allow(clippy::unwrap_used)]

mod accounts;
mod boot;
mod event_logs;
mod one_account;
mod power_totals;
mod predicted_costs;
mod recording_limits;
mod sample;
mod scenarios;
mod transitions;
mod vocabulary;
mod whose_time;
