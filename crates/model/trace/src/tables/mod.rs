//! The tables: what was recorded, the same whatever recorded it.
//!
//! Times are nanoseconds since the recording's first event; sizes are bytes. An open end is `None`: a process
//! whose start is `None` existed when the recording began, one whose end is `None` when it ended.

mod call_graph;
mod event;
mod firmware;
mod network;
mod power;
mod process;
mod processor;
mod storage;
mod transition;

pub use call_graph::*;
pub use event::*;
pub use firmware::*;
pub use network::*;
pub use power::*;
pub use process::*;
pub use processor::*;
pub use storage::*;
pub use transition::*;
