//! Transitions of a computer between on and off.

pub mod boot;
