//! The tables. They are the same for every kind of recording.
//!
//! Times are nanoseconds since the recording's first event, sizes are bytes. Open ends are `None`: a process whose
//! start is `None` existed before the recording; a process whose end is `None` was still running when it ended.

mod call_graph;
mod event;
mod firmware;
mod network;
mod power;
mod power_report;
mod process;
mod processor;
mod storage;
mod transition;
mod windows_report;

pub use call_graph::*;
pub use event::*;
pub use firmware::*;
pub use network::*;
pub use power::*;
pub use power_report::*;
pub use process::*;
pub use processor::*;
pub use storage::*;
pub use transition::*;
pub use windows_report::*;
