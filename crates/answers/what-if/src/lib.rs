//! Predicts the effect of a change on a transition before it is made, by replaying the recorded work.
//!
//! | module | does |
//! | --- | --- |
//! | [`graph`] | the recorded work: tasks, signals, disk requests |
//! | [`build`] | turns a recording into a graph |
//! | [`model`] | adds phases, services and devices to the graph |
//! | [`replay`] | simulates the graph on processors and disks |
//! | [`settle`] | applies the idle rule to the simulated loads |
//! | [`identity`] | checks that a replay without a change reproduces the recording |
//! | [`changes`] | transforms the graph: without a subject, with pended requests, without a wait |
//! | [`bottleneck`] | the subjects that determine the duration of a replay |
//! | `linux` | predicts a Linux boot from the times of its units, if no context switches were recorded |
//! | [`prediction`] | the answer: totals, phases, and what they rest on |
//! | [`plan`] | searches for the best changes, each on top of the ones before |
//! | [`limit`] | lower bounds of the duration |
//!
//! A replay knows only what was recorded. A thread that waits for several others at once is recorded as waiting for the
//! last of them, so the waits of the service manager and of the Plug and Play manager are completed from their records.

#![forbid(unsafe_code)]

use onoff_trace::TableSet;

/// The tables that a prediction needs.
pub const TABLES: TableSet = onoff_blame::waits::TABLES.union(onoff_transitions::tables(None));

mod answer;
mod barriers;
pub mod bottleneck;
pub mod build;
pub mod changes;
mod edit;
pub mod graph;
pub mod identity;
mod idle_times;
pub mod limit;
mod linux;
pub mod model;
pub mod plan;
pub mod prediction;
pub mod replay;
pub mod settle;
