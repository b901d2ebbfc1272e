//! Rules that check the transitions of a recording and report what costs time and how to fix it.
//!
//! [`diagnose`] runs every rule of the [registry](registry::RULES) on the transitions of a [`Trace`] and ranks the
//! findings by their cost.
//!
//! # Design constraints
//!
//! * One rule is one file with one stable code. Its documentation has fixed headings and is also what `onoff diagnose
//!   --explain` and the book print.
//! * A rule without the events it needs is reported as not checked; missing events never count as healthy.
//! * A cost states its basis: a prediction by a replay, time on the critical path, or an upper bound.
//! * Advice never suggests disabling what the system may need to boot; see [`protected`].
//! * No file access, no output, no output formats.

#![forbid(unsafe_code)]

mod advised_action;
mod attribution;
mod candidates;
pub mod command;
pub mod context;
pub mod cost;
pub mod diagnosis;
mod disk_waits;
pub mod finding;
pub mod image;
mod image_facts;
mod image_policy;
mod missing_input;
pub mod path;
pub mod predicted_cost;
pub mod protected;
pub mod registry;
pub mod rule;
mod rules;
pub mod thresholds;

use onoff_evidence::quantities;
pub use onoff_evidence::shell_argument;

pub use diagnosis::{Diagnosis, TABLES, diagnose};
pub use finding::RuleFinding;
pub use image::{ImageAudit, audit};
pub use registry::{RULES, find};
pub use rule::{Rule, RuleDescription, RuleList};

#[cfg(doc)]
use onoff_trace::Trace;
