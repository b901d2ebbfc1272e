//! Group 0x0B: configuration of the machine. Most of these records are written when a session stops, so a recording
//! must be read to its end before disk numbers and service tags can be resolved.

mod devices;
mod machine;
mod services;
mod storage;

pub use devices::*;
pub use machine::*;
pub use services::*;
pub use storage::*;
