//! Transitions of Linux computers.

pub mod boot;
pub mod shutdown;
pub mod suspend;
