//! What to change: rules that look at a recording's transitions and name what costs time.
//!
//! [`diagnose`] runs every rule of the [registry](registry::RULES) on the transitions that a [`Trace`] holds and ranks what
//! they find by the time it costs.
//!
//! # Design constraints
//!
//! * One rule is one file with one stable code. Its documentation has fixed headings and is what `onoff diagnose --explain`
//!   prints and what the book's page is made of.
//! * A rule that lacks events says so; it never takes silence for health.
//! * A cost says how it was found: from the chain of waits that the transition really took, or as an upper bound.
//! * Advice never asks to disable what the system may need to boot; see [`protected`].
//! * Reads no file, prints nothing, knows no output format.

#![forbid(unsafe_code)]

mod by_account;
mod candidates;
pub mod command;
pub mod context;
pub mod cost;
pub mod diagnosis;
pub mod finding;
pub mod image;
mod image_facts;
mod not_checked;
pub mod path;
pub mod protected;
mod quantities;
pub mod registry;
pub mod rule;
mod rules;
pub mod shell_argument;
pub mod thresholds;

pub use diagnosis::{Diagnosis, TABLES, diagnose};
pub use finding::RuleFinding;
pub use image::{ImageAudit, audit};
pub use registry::{RULES, find};
pub use rule::{Rule, RuleDescription, RuleList};

#[cfg(doc)]
use onoff_trace::Trace;
