//! Transitions of a computer with Linux: the same questions, answered from other landmarks.

pub mod boot;
mod missing;
pub mod shutdown;
pub mod suspend;

pub use missing::MissingPart;
