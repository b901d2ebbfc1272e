//! All integration tests of this crate in one binary, to link only once.
#![allow(clippy::unwrap_used)]

mod hostile;
mod image_actions;
mod image_advice;
mod image_builder;
mod image_causes;
mod image_rules;
mod linux_boots;
mod linux_console;
mod linux_logs;
mod linux_machine;
mod linux_not_recorded;
mod linux_rules;
mod linux_sleeps;
mod windows_services;
