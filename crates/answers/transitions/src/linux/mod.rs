//! Transitions of a computer with Linux: the same questions, answered from other landmarks.

pub mod boot;
pub mod shutdown;
pub mod suspend;
