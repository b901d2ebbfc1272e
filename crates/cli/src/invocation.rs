//! The arguments as meant: checked against each other, defaults filled in, ready to run.

use onoff_report::text::info::InfoTextOptions;
use onoff_sources::Options;
use std::path::PathBuf;

use crate::arguments::{
    Arguments, Command, InfoArguments, OutputArguments, PlainFormat, RecordingArguments,
};
use crate::failure::Failure;
use crate::output::Destination;

/// A recording to open.
#[derive(Debug)]
pub struct Recording {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// How to read it.
    pub options: Options,
}

/// What to do.
#[derive(Debug)]
pub enum Task {
    /// Show what the recording holds.
    Info(InfoFormat),
}

/// How to show what a recording holds.
#[derive(Clone, Copy, Debug)]
pub enum InfoFormat {
    /// For a person.
    Text(InfoTextOptions),
    /// For a program.
    Json,
}

/// One run of the program.
#[derive(Debug)]
pub struct Invocation {
    /// What to do.
    pub task: Task,
    /// With what.
    pub recording: Recording,
    /// Where the answer goes.
    pub destination: Destination,
}

impl Invocation {
    /// Settles what the arguments mean.
    pub fn resolve(arguments: Arguments) -> Result<Self, Failure> {
        match arguments.command {
            Command::Info(arguments) => Ok(Self::info(arguments)),
        }
    }

    fn info(arguments: InfoArguments) -> Self {
        let format = match arguments.format {
            PlainFormat::Text => InfoFormat::Text(InfoTextOptions { top: arguments.top }),
            PlainFormat::Json => InfoFormat::Json,
        };
        Self {
            task: Task::Info(format),
            recording: arguments.recording.into(),
            destination: arguments.output.into(),
        }
    }
}

impl From<RecordingArguments> for Recording {
    fn from(arguments: RecordingArguments) -> Self {
        let options = Options {
            manifests: arguments.manifests,
            ..Options::default()
        };
        Self {
            files: arguments.files,
            options,
        }
    }
}

impl From<OutputArguments> for Destination {
    fn from(arguments: OutputArguments) -> Self {
        Self {
            path: arguments.output,
            color: arguments.color,
        }
    }
}
