//! Text about transitions of computers with Linux.

pub mod boot;
