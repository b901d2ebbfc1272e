//! Finds and measures transitions: boots, shutdowns, and suspends with their resumes.
//!
//! Every transition is one struct, [`Transition`]; what only one kind on one system has is in its `details`. The rules that find
//! transitions are separate for each kind and system, with one entry each in `registry.rs`; code that needs transitions or phases iterates
//! over that list.

#![forbid(unsafe_code)]

pub mod boot;
pub mod boot_axis;
mod contents;
mod desktop;
pub mod linux;
pub mod model;
mod named_phase;
pub mod overview;
mod registry;
mod search;
pub mod shutdown;
pub mod suspend;
mod usage;

pub use model::*;
pub use named_phase::{NamedPhase, PHASE_TABLES, PhaseNotFound, named_phase};
pub use registry::{RULES, TransitionOptions, TransitionRules, all, rules_of, tables};
