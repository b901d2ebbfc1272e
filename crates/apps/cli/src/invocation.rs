//! An [`Invocation`]: validated arguments with defaults applied, ready to run. The verbs in
//! [`crate::commands`] build it.

use std::path::PathBuf;

use onoff_files::Options;
use onoff_report::text::time_point::TimePoint;

use crate::arguments::{OutputArguments, ReadingArguments, RecordingArguments};
use crate::failure::Failure;
use crate::output::{Destination, Display};

/// A recording to open.
#[derive(Clone, Debug)]
pub struct Recording {
    pub files: Vec<PathBuf>,
    pub options: Options,
    /// Root folder of the computer whose logs are read if no files were passed.
    pub local_root: Option<PathBuf>,
    /// True to replace names and addresses in event logs.
    pub redact: bool,
}

impl Recording {
    /// Creates the input of commands that do not read a recording, or open their files themselves.
    pub fn empty() -> Self {
        Self::from_files(Vec::new())
    }

    /// Reads `files` with default options.
    pub fn from_files(files: Vec<PathBuf>) -> Self {
        Self { files, options: Options::default(), local_root: None, redact: false }
    }
}

/// Runs a command on a recording and writes its output.
type Work = Box<dyn FnOnce(Recording, &Destination) -> Result<(), Failure>>;

/// One run of the program.
pub struct Invocation {
    pub recording: Recording,
    pub destination: Destination,
    /// The command accepts one recording only.
    pub requires_single_recording: bool,
    /// The output is text for people. Event rows are not: they use xperf's layout.
    pub is_text: bool,
    /// Additional input files.
    pub extra_inputs: Vec<PathBuf>,
    /// Additional output files.
    pub extra_outputs: Vec<PathBuf>,
    pub work: Work,
}

impl Invocation {
    pub fn new(
        recording: impl Into<Recording>,
        destination: impl Into<Destination>,
        work: impl FnOnce(Recording, &Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        let (recording, destination, work) = (recording.into(), destination.into(), Box::new(work));
        Self {
            recording,
            destination,
            requires_single_recording: false,
            is_text: false,
            extra_inputs: Vec::new(),
            extra_outputs: Vec::new(),
            work,
        }
    }

    /// Creates a command that does not read a recording, or opens its files itself.
    pub fn without_recording(
        destination: impl Into<Destination>,
        work: impl FnOnce(&Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::new(Recording::empty(), destination, |_, destination| work(destination))
    }

    /// Rejects multiple recordings, because reading them together would merge them.
    pub fn single_recording(self) -> Self {
        Self { requires_single_recording: true, ..self }
    }

    pub fn text_if(self, is_text: bool) -> Self {
        Self { is_text, ..self }
    }

    /// Adds input files.
    pub fn with_inputs(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.extra_inputs.extend(paths);
        self
    }

    /// Adds output files.
    pub fn with_outputs(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.extra_outputs.extend(paths);
        self
    }
}

/// Parses the two times of `--range`.
pub fn time_range(texts: Option<&[String]>) -> Result<Option<(TimePoint, TimePoint)>, Failure> {
    Ok(match texts {
        Some([start, end]) => Some((time_point(start)?, time_point(end)?)),
        _ => None,
    })
}

fn time_point(text: &str) -> Result<TimePoint, Failure> {
    TimePoint::parse(text).ok_or_else(|| {
        Failure::no_data(format!(
            "--range: '{text}' is not a time; use 1234us, 245ms, 12.5s or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]{}",
            unit_hint(text)
        ))
    })
}

/// Suggests a unit for a decimal number without one.
fn unit_hint(text: &str) -> String {
    match text.contains('.') && text.parse::<f64>().is_ok() {
        true => format!("; for seconds, write {text}s"),
        false => String::new(),
    }
}

impl From<RecordingArguments> for Recording {
    fn from(arguments: RecordingArguments) -> Self {
        let ReadingArguments { manifests, boot, root } = arguments.reading;
        let options = Options { manifests, boot, ..Options::default() };
        let local_root = arguments.files.is_empty().then_some(root);
        Self { files: arguments.files, options, local_root, redact: false }
    }
}

impl From<OutputArguments> for Destination {
    fn from(arguments: OutputArguments) -> Self {
        Self { path: arguments.output, display: Display::default(), buffer: None }
    }
}
