//! What a recording means: boot phases, services, devices, processes, CPU, disk.
//!
//! Every analysis is a pure function from a [`Trace`](onoff_trace::Trace) to a result that can be serialized.
//!
//! # Design constraints
//!
//! * Knows no file format and no output format; reads the tables of `onoff-trace`, whatever recorded them.
//! * Units are in the names: `_ns` is nanoseconds since the recording's first event (a time) or a number of
//!   nanoseconds (a duration); `_percent` says what it is a percentage of.
//! * An answer carries what it rests on: the rule, the event, a [`Certainty`], and what was missing for a better one.
//!   Nothing is made up: what cannot be known is `None` and [`Certainty::Missing`].
//! * An answer names the losses of the recording that touch it.

#![forbid(unsafe_code)]

pub mod account;
mod account_model;
pub mod activity;
pub mod address_names;
mod asleep;
pub mod auto_start;
pub mod before_kernel;
pub mod boot_axis;
pub mod boot_history;
pub mod call_graph;
pub mod call_stacks;
pub mod compare;
pub mod cpu;
pub mod device_work;
pub mod devices;
pub mod disk;
mod drive_paths;
pub mod evidence;
pub mod firmware;
pub mod flame;
pub mod functions;
#[cfg(test)]
mod hand_made;
pub mod idle;
pub mod image;
pub mod interrupt_modules;
mod interruptions;
pub mod interval;
pub mod io;
pub mod lacking;
pub mod lanes;
pub mod lists;
mod modules;
pub mod netboot;
pub mod notified;
mod owners;
mod person;
pub mod phase_name;
pub mod prefetch;
pub mod processes;
pub mod reason;
pub mod recording;
pub mod rule;
pub mod scope;
pub mod sleep_statistics;
pub mod storage;
pub mod summary;
pub mod transition;
pub mod transition_kind;
pub mod units;
pub mod waits;
pub mod why;

pub use evidence::{Boundary, Certainty, Span};
pub use interval::Interval;
pub use scope::Scope;
