//! JSON: results as one document, events as one object per line.

pub mod document;
pub mod escape;
pub mod event;
