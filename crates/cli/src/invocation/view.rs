//! What the arguments of `onoff view` mean.

use super::{Invocation, Task};
use crate::arguments::view::ViewArguments;

/// How to show recordings as a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewQuestion {
    /// Port of 127.0.0.1; 0 for any free one.
    pub port: u16,
    /// Whether to open the browser.
    pub open: bool,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: ViewArguments) -> Invocation {
    let question = ViewQuestion { port: arguments.port.unwrap_or(0), open: !arguments.no_open };
    Invocation {
        task: Task::View(question),
        recording: arguments.recording.into(),
        destination: arguments.output.into(),
    }
}
