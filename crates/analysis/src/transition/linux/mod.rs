//! Transitions of a computer with Linux: the same questions, answered from other landmarks.

pub mod boot;
mod missing;

pub use missing::MissingPart;
