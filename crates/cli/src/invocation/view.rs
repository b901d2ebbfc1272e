//! What the arguments of `onoff view` mean.

use super::compare::{ComparedRuns, runs};
use super::{BesideBoot, Invocation, Recording, Task};
use crate::arguments::view::ViewArguments;
use crate::failure::Failure;

/// How to show recordings as a page.
#[derive(Debug)]
pub struct ViewQuestion {
    /// The sides, where two are compared.
    pub compared: Option<ComparedRuns>,
    /// What else was recorded of the same boot.
    pub beside: BesideBoot,
    /// Port of 127.0.0.1; 0 for any free one.
    pub port: u16,
    /// Whether to open the browser.
    pub open: bool,
}

/// Settles what the arguments mean.
pub fn resolve(arguments: ViewArguments) -> Result<Invocation, Failure> {
    let sides = arguments.sides;
    let compares = !sides.baseline.is_empty() || !sides.candidate.is_empty();
    let recording = Recording::from(arguments.recording);
    if compares && !recording.files.is_empty() {
        let message = "give recordings either as files, or as sides with --baseline and --candidate";
        return Err(Failure::NothingToAnswer(message.to_owned()));
    }
    let compared = if compares { Some(runs(sides, recording.options.clone(), false)?) } else { None };
    if compares && !(arguments.firmware.is_empty() && arguments.capture.is_empty()) {
        let message = "--firmware and --capture say more of one boot; they have no place in a comparison";
        return Err(Failure::WrongUsage(message.to_owned()));
    }
    let beside = BesideBoot { firmware: arguments.firmware, capture: arguments.capture };
    let question = ViewQuestion { compared, beside, port: arguments.port.unwrap_or(0), open: !arguments.no_open };
    Ok(Invocation { task: Task::View(Box::new(question)), recording, destination: arguments.output.into() })
}
