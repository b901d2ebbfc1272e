//! Text reports of Linux transitions.

pub mod boot;
mod call_graphs;
pub mod shutdown;
pub mod suspend;
