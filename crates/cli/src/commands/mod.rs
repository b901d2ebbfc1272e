//! The commands: open, ask, write.

mod info;

use onoff_trace::{Tables, Trace};

use crate::failure::Failure;
use crate::invocation::{Invocation, Recording, Task};
use crate::progress::ProgressLine;

/// Runs what was asked for.
pub fn run(invocation: Invocation) -> Result<(), Failure> {
    let Invocation {
        task,
        recording,
        destination,
    } = invocation;
    match task {
        Task::Info(format) => info::run(recording, format, &destination),
    }
}

/// Reads the wanted tables, with progress.
fn open(recording: Recording, wanted: Tables) -> Result<Trace, Failure> {
    let line = ProgressLine::reading();
    let mut options = recording.options;
    options.progress = Some(line.listener());
    Ok(onoff_sources::open(&recording.files, wanted, &options)?)
}
