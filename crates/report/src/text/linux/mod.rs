//! Text about transitions of computers with Linux.

pub mod boot;
mod missing;
pub mod shutdown;
pub mod suspend;
