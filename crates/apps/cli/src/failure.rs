//! Failures of a command and their exit codes.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::io::{self, Write};
use std::path::Path;

use onoff::QueryError;

#[derive(Debug)]
pub enum Failure {
    /// The recording could not be read, or the output not written: exit code 1.
    Unreadable(String),
    /// The recording has no data for the command: exit code 2.
    NoData(String),
    /// Invalid arguments: exit code 64.
    Usage(String),
    /// The error has already been reported; holds the exit code.
    Reported(u8),
    /// The reader closed the pipe. `Destination::write` ignores this; elsewhere a message was lost: exit code 1.
    BrokenPipe,
}

const BROKEN_PIPE: &str = "cannot write: the reader closed the pipe";

impl Failure {
    pub fn cannot_write(path: &Path, error: io::Error) -> Self {
        match Self::from(error) {
            Self::Unreadable(message) => Self::Unreadable(format!("{}: {message}", path.display())),
            failure => failure,
        }
    }

    pub fn no_data(message: impl Into<String>) -> Self {
        Self::NoData(message.into())
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// Puts the whole chain of causes on one line.
    pub fn unreadable(error: &dyn Error) -> Self {
        Self::Unreadable(onoff_report::text::causes::with_causes(error))
    }

    /// Turns missing data into a usage error: before a recording is opened, only the arguments can be at fault.
    pub fn into_usage(self) -> Self {
        match self {
            Self::NoData(message) => Self::Usage(message),
            failure => failure,
        }
    }

    /// Prints the message on one line of stderr and returns the exit code.
    pub fn report(self) -> u8 {
        let (message, code) = self.message_and_code();
        if !message.is_empty() {
            let message = onoff_report::text::printable::printable(&message).into_owned();
            // If stderr is closed too, the exit code alone reports the error.
            let _ = writeln!(io::stderr(), "onoff: {message}");
        }
        code
    }

    /// Returns the message, which is empty if already reported, and the exit code.
    pub fn message_and_code(self) -> (String, u8) {
        match self {
            Self::Unreadable(message) => (message, 1),
            Self::NoData(message) => (message, 2),
            Self::Usage(message) => (message, crate::USAGE_ERROR),
            Self::Reported(code) => (String::new(), code),
            Self::BrokenPipe => (BROKEN_PIPE.to_owned(), 1),
        }
    }

    /// Converts a library error; `describe` writes the message for missing data.
    pub fn from_query_error_with<N: Debug + Display>(error: QueryError<N>, describe: impl FnOnce(N) -> String) -> Self {
        match error {
            QueryError::Unreadable(error) => error.into(),
            QueryError::Unanswerable(reason) => Self::NoData(describe(reason)),
        }
    }

    pub fn from_query_error<N: Debug + Display>(error: QueryError<N>) -> Self {
        Self::from_query_error_with(error, |reason| reason.to_string())
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(message) | Self::NoData(message) | Self::Usage(message) => formatter.write_str(message),
            Self::Reported(_) => Ok(()),
            Self::BrokenPipe => formatter.write_str(BROKEN_PIPE),
        }
    }
}

impl From<onoff_sources::Error> for Failure {
    fn from(error: onoff_sources::Error) -> Self {
        match error {
            onoff_sources::Error::OtherKind { .. }
            | onoff_sources::Error::NoPackets { .. }
            | onoff_sources::Error::NoSuchBoot { .. }
            | onoff_sources::Error::NoLoggedBoot { .. } => Self::NoData(error.to_string()),
            error => Self::unreadable(&error),
        }
    }
}

impl From<onoff_xperf::Failure> for Failure {
    fn from(failure: onoff_xperf::Failure) -> Self {
        match failure {
            onoff_xperf::Failure::Unreadable(message) => Self::Unreadable(message),
            onoff_xperf::Failure::Unanswerable(message) | onoff_xperf::Failure::NoData(message) => {
                Self::NoData(message)
            }
            onoff_xperf::Failure::Reported(code) => Self::Reported(code),
            onoff_xperf::Failure::BrokenPipe => Self::BrokenPipe,
        }
    }
}

/// Errors while writing the output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Unreadable(format!("cannot write the output: {error}")),
        }
    }
}
