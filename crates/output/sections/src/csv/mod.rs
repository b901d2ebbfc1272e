//! The CSV rows of reports that are not a single table.

pub mod compare;
pub mod firmware;
pub mod netboot;
pub mod timed;
