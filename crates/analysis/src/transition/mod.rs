//! Transitions of a computer between on and off.

pub mod boot;
mod contents;
#[cfg(test)]
pub(crate) mod hostile;
pub mod linux;
pub mod model;
pub mod overview;
mod registry;
mod rules;
pub mod shutdown;
pub mod suspend;
mod usage;

pub use model::*;
pub use registry::{PhaseSpan, RULES, TransitionOptions, TransitionRules, all, rules_of, tables};
