//! Decodes real recordings, if present, and compares the results with other readers.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test that reports what it skips")]

mod baselines;
mod catalog;
mod exact_sizes;
mod files;
mod http_server;
mod kernel_structs;
mod values;
