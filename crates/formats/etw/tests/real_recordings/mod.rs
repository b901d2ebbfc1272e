//! Real recordings, where they are present: everything decoded, and compared with what other readers say.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test that says what it skipped")]

mod baselines;
mod catalog;
mod exact_sizes;
mod files;
mod http_server;
mod kernel_structs;
mod values;
