//! Why a command did not answer, and the exit code that says so.

use std::error::Error;
use std::fmt::{self, Debug, Display, Formatter};
use std::io::{self, Write};
use std::path::Path;

use onoff::Refusal;

/// A command did not answer.
#[derive(Debug)]
pub enum Failure {
    /// The recording cannot be read, or the answer not written: exit code 1.
    Unreadable(String),
    /// The recording holds nothing of what was asked for: exit code 2.
    NothingToAnswer(String),
    /// The arguments make no sense: exit code 64.
    WrongUsage(String),
    /// What went wrong has been said already: the exit code.
    Told(u8),
    /// The reader of the answer closed the pipe. Where an answer is written this is no failure (`Destination::write`); anywhere
    /// else something was not said: exit code 1.
    ReaderGone,
}

const READER_GONE: &str = "cannot write: the reader closed the pipe";

impl Failure {
    /// The answer's file cannot be written.
    pub fn unwritten(path: &Path, error: io::Error) -> Self {
        match Self::from(error) {
            Self::Unreadable(message) => Self::Unreadable(format!("{}: {message}", path.display())),
            failure => failure,
        }
    }

    /// There is nothing of what was asked for.
    pub fn nothing(message: impl Into<String>) -> Self {
        Self::NothingToAnswer(message.into())
    }

    /// The arguments make no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::WrongUsage(message.into())
    }

    /// Something cannot be read: the whole chain of causes in one line.
    pub fn unreadable(error: &dyn Error) -> Self {
        Self::Unreadable(onoff_report::text::causes::with_causes(error))
    }

    /// The same, of arguments: before a recording was opened nothing can be missing from it.
    pub fn of_usage(self) -> Self {
        match self {
            Self::NothingToAnswer(message) => Self::WrongUsage(message),
            failure => failure,
        }
    }

    /// Says what went wrong in one line on stderr, and gives the exit code.
    pub fn report(self) -> u8 {
        let (message, code) = self.message_and_code();
        if !message.is_empty() {
            let message = onoff_report::text::printable::printable(&message).into_owned();
            // Where stderr is gone too, the code alone must do.
            let _ = writeln!(io::stderr(), "onoff: {message}");
        }
        code
    }

    /// What went wrong, empty where that has been said already, and the exit code.
    pub fn message_and_code(self) -> (String, u8) {
        match self {
            Self::Unreadable(message) => (message, 1),
            Self::NothingToAnswer(message) => (message, 2),
            Self::WrongUsage(message) => (message, crate::WRONG_USAGE),
            Self::Told(code) => (String::new(), code),
            Self::ReaderGone => (READER_GONE.to_owned(), 1),
        }
    }

    /// A question that got no answer; `instead` says what the recording holds.
    pub fn refused<N: Debug + Display>(refusal: Refusal<N>, instead: impl FnOnce(N) -> String) -> Self {
        match refusal {
            Refusal::Unreadable(error) => error.into(),
            Refusal::Nothing(nothing) => Self::NothingToAnswer(instead(nothing)),
        }
    }

    /// The same, where what the recording holds instead says so itself.
    pub fn without_an_answer<N: Debug + Display>(refusal: Refusal<N>) -> Self {
        Self::refused(refusal, |instead| instead.to_string())
    }
}

impl Display for Failure {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(message) | Self::NothingToAnswer(message) | Self::WrongUsage(message) => {
                formatter.write_str(message)
            }
            Self::Told(_) => Ok(()),
            Self::ReaderGone => formatter.write_str(READER_GONE),
        }
    }
}

impl From<onoff_sources::Error> for Failure {
    fn from(error: onoff_sources::Error) -> Self {
        match error {
            onoff_sources::Error::OtherKind { .. }
            | onoff_sources::Error::NoPackets { .. }
            | onoff_sources::Error::NoSuchBoot { .. }
            | onoff_sources::Error::NoLoggedBoot { .. } => Self::NothingToAnswer(error.to_string()),
            error => Self::unreadable(&error),
        }
    }
}

impl From<onoff_xperf::Failure> for Failure {
    fn from(failure: onoff_xperf::Failure) -> Self {
        match failure {
            onoff_xperf::Failure::Unreadable(message) => Self::Unreadable(message),
            onoff_xperf::Failure::NothingToAnswer(message) | onoff_xperf::Failure::NoData(message) => {
                Self::NothingToAnswer(message)
            }
            onoff_xperf::Failure::Reported(code) => Self::Told(code),
            onoff_xperf::Failure::ReaderGone => Self::ReaderGone,
        }
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
