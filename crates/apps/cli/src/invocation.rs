//! An [`Invocation`]: validated arguments with defaults applied, ready to run. Each verb builds its own in
//! [`crate::commands`].

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
    /// Set if no file was named: read this computer's own logs below this folder.
    pub local_root: Option<PathBuf>,
}

impl Recording {
    /// For commands that do not read a recording, or open their files themselves.
    pub fn empty() -> Self {
        Self::of(Vec::new())
    }

    /// Reads `files` with default options.
    pub fn of(files: Vec<PathBuf>) -> Self {
        Self { files, options: Options::default(), local_root: None }
    }
}

/// Runs a command on a recording and writes its output.
type Work = Box<dyn FnOnce(Recording, &Destination) -> Result<(), Failure>>;

/// One run of the program.
pub struct Invocation {
    pub recording: Recording,
    pub destination: Destination,
    /// The command accepts one recording only.
    pub takes_one: bool,
    /// The output is text for people. Event rows are not: they use xperf's layout.
    pub is_text: bool,
    /// Additional input files.
    pub reads: Vec<PathBuf>,
    /// Additional output files.
    pub writes: Vec<PathBuf>,
    pub work: Work,
}

impl Invocation {
    pub fn new(
        recording: impl Into<Recording>,
        destination: impl Into<Destination>,
        work: impl FnOnce(Recording, &Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        let (recording, destination, work) = (recording.into(), destination.into(), Box::new(work));
        let (reads, writes) = (Vec::new(), Vec::new());
        Self { recording, destination, takes_one: false, is_text: false, reads, writes, work }
    }

    /// A command that does not read a recording, or opens its files itself.
    pub fn without_recording(
        destination: impl Into<Destination>,
        work: impl FnOnce(&Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::new(Recording::empty(), destination, |_, destination| work(destination))
    }

    /// Rejects several recordings: read together, they would look like one.
    pub fn single_recording(self) -> Self {
        Self { takes_one: true, ..self }
    }

    pub fn text_if(self, is_text: bool) -> Self {
        Self { is_text, ..self }
    }

    /// Adds input files.
    pub fn reading(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.reads.extend(paths);
        self
    }

    /// Adds output files.
    pub fn writing(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writes.extend(paths);
        self
    }
}

/// Parses the two times of `--range`.
pub fn time_range(texts: Option<&[String]>) -> Result<Option<(TimePoint, TimePoint)>, Failure> {
    Ok(match texts {
        Some([from, to]) => Some((time_point(from)?, time_point(to)?)),
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
        true => format!("; for seconds, {text}s"),
        false => String::new(),
    }
}

impl From<RecordingArguments> for Recording {
    fn from(arguments: RecordingArguments) -> Self {
        let ReadingArguments { manifests, boot, root } = arguments.reading;
        let options = Options { manifests, boot, ..Options::default() };
        let local_root = arguments.files.is_empty().then_some(root);
        Self { files: arguments.files, options, local_root }
    }
}

impl From<OutputArguments> for Destination {
    fn from(arguments: OutputArguments) -> Self {
        Self { path: arguments.output, display: Display::default(), buffer: None }
    }
}
