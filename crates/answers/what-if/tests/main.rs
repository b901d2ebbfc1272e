//! Tests with simulated machines, whose truth is known: the same machine with and without the cause.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

mod identity;
mod limit;
mod linux_kernel_threads;
mod linux_pairs;
mod linux_units;
mod pairs;
mod plan;
mod support;
