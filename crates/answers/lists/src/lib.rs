//! Lists of what happened in any range of any recording, one kind of row each; no transition is needed for them.
//!
//! Each list says from which tables it is made (`TABLES`), what it could not know, and which losses touch it.

#![forbid(unsafe_code)]

pub mod cpu;
pub mod devices;
pub mod flame;
pub mod functions;
pub mod interrupts;
pub mod policy;
pub mod processes;
pub mod services;
