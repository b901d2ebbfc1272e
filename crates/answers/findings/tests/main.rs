//! Every integration test of this crate in one program: linking is what costs, and each program is linked anew.
#![allow(clippy::unwrap_used)]

mod hostile;
mod image_rules;
mod linux_boots;
mod linux_machine;
mod linux_not_recorded;
mod linux_rules;
mod linux_sleeps;
