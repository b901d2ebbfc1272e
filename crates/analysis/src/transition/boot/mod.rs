//! Where the time of a boot went.

pub mod report;

pub use report::*;
