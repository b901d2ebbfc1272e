//! What the arguments of `onoff export` mean.

use super::{Invocation, Task};
use crate::arguments::export::ExportArguments;
use crate::output::Destination;

/// Settles what the arguments mean.
pub fn resolve(arguments: ExportArguments) -> Invocation {
    Invocation {
        task: Task::Export(arguments.format),
        recording: arguments.recording.into(),
        destination: Destination { path: Some(arguments.output), ..Destination::default() },
    }
}
