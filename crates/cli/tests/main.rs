//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod boot_axis;
mod compare;
mod compare_netboot;
mod conduct;
mod diagnose;
mod expected;
mod firmware;
mod formats;
mod gate;
mod io;
mod json_contract;
mod linux_boot;
mod linux_off;
mod lists;
mod netboot;
mod netboot_outcomes;
mod papers;
mod prefetch;
mod readme;
mod record;
mod running;
mod shapes;
mod shutdown;
mod storage;
mod study;
mod summary;
mod suspend;
mod this_computer;
mod why;
mod why_linux;
mod xperf_actions;
mod xperf_formats;
mod xperf_line;
mod xperf_text_excerpts;
mod xperf_usage;
