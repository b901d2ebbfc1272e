//! Exports to the file formats of other viewers.

pub mod firefox;
pub mod perfetto;
