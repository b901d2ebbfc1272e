//! Recordings as files that other viewers open.

pub mod firefox;
pub mod perfetto;
