//! Group 0x0B: the machine's configuration. Most of these records are written when a session stops, so a
//! whole recording must be read before disk numbers and service tags can be resolved.

mod devices;
mod machine;
mod services;
mod storage;

pub use devices::*;
pub use machine::*;
pub use services::*;
pub use storage::*;
