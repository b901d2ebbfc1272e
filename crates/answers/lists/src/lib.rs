//! Lists of what happened in any interval of a recording, one kind of row each. They do not need a transition.
//!
//! Each list declares the tables it needs (`TABLES`), and reports what was missing and which losses affect it.

#![forbid(unsafe_code)]

pub mod cpu;
pub mod devices;
pub mod flame;
pub mod functions;
pub mod interrupts;
pub mod policy;
pub mod processes;
pub mod services;
