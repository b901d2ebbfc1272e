//! Finds and measures transitions: boots, shutdowns, and suspends with their resumes.
//!
//! Every transition is a [`Transition`]; its `details` hold the fields that are specific to its kind and system. The
//! rules that find transitions have one entry per kind and system in `registry.rs`. Code that needs transitions or
//! phases iterates over that list.

#![forbid(unsafe_code)]

pub mod account_comparison;
pub mod boot;
pub mod boot_axis;
mod contents;
mod desktop;
pub mod linux;
pub mod model;
mod named_phase;
pub mod overview;
mod registry;
pub mod reported_delays;
mod search;
pub mod shutdown;
pub mod suspend;
mod usage;

pub use model::*;
pub use named_phase::{NamedPhase, PHASE_TABLES, PhaseNotFound, named_phase};
pub use registry::{RULES, TransitionOptions, TransitionRules, find_all, rules_for, tables};
