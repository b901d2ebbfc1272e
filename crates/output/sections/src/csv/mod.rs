//! What is written as comma-separated values of results that are more than one table of rows.

pub mod compare;
pub mod firmware;
pub mod netboot;
pub mod timed;
