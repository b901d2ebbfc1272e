//! Transitions of a computer between on and off.

pub mod boot;
pub mod suspend;
