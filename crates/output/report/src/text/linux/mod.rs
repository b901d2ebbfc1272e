//! Text about transitions of computers with Linux.

pub mod boot;
mod call_graphs;
pub mod shutdown;
pub mod suspend;
