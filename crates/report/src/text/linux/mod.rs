//! Text about transitions of computers with Linux.

pub mod boot;
pub mod shutdown;
pub mod suspend;
