//! Why an action did not answer.

use std::io;

use onoff_report::text::causes::with_causes;

/// An action did not answer.
#[derive(Debug)]
pub enum Failure {
    /// The recording cannot be read, or the answer not written: exit code 1.
    Unreadable(String),
    /// The recording holds nothing that answers, or the question makes no sense: exit code 2.
    NothingToAnswer(String),
    /// The recording holds nothing of the kind that the action shows; its columns are written, nothing is below them: exit
    /// code 0, as scripts for xperf expect.
    NoData(String),
    /// What went wrong has been reported already: the exit code.
    Reported(u8),
    /// The reader of the answer closed it. Not a failure: exit code 0, and quiet.
    ReaderGone,
}

impl From<onoff_sources::Error> for Failure {
    fn from(error: onoff_sources::Error) -> Self {
        match error {
            onoff_sources::Error::OtherKind { .. } => Self::NothingToAnswer(error.to_string()),
            error => Self::Unreadable(with_causes(&error)),
        }
    }
}

/// Says, after the columns are written, that there was nothing to write below them, and what would have recorded it.
pub fn no_data_if(nothing: bool, lacking: &str) -> Result<(), Failure> {
    match nothing {
        true => Err(Failure::NoData(lacking.to_owned())),
        false => Ok(()),
    }
}

/// Failures to write the answer.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Unreadable(format!("cannot write the answer: {error}")),
        }
    }
}
