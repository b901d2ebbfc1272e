//! Failures of actions, with their exit codes.

use std::io;

use onoff_report::text::causes::with_causes;

#[derive(Debug)]
pub enum Failure {
    /// The recording cannot be read, or the output cannot be written: exit code 1.
    Unreadable(String),
    /// The recording has no matching data, or the usage is wrong: exit code 2.
    Unanswerable(String),
    /// The recording has no data for the action. The headings are written without rows: exit code 0, as scripts for
    /// xperf expect.
    NoData(String),
    /// The failure has already been reported. The value is the exit code.
    Reported(u8),
    /// The reader closed the pipe: exit code 0 and no message.
    BrokenPipe,
}

impl From<onoff_sources::Error> for Failure {
    fn from(error: onoff_sources::Error) -> Self {
        match error {
            onoff_sources::Error::OtherKind { .. } => Self::Unanswerable(error.to_string()),
            error => Self::Unreadable(with_causes(&error)),
        }
    }
}

/// Returns [`Failure::NoData`] if `is_empty`. `message` names the missing events and how to record them.
pub fn no_data_if(is_empty: bool, message: &str) -> Result<(), Failure> {
    match is_empty {
        true => Err(Failure::NoData(message.to_owned())),
        false => Ok(()),
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Unreadable(format!("cannot write the output: {error}")),
        }
    }
}
