//! The arguments as meant: checked against each other, defaults filled in, ready to run. What those of a verb mean stands with what the
//! verb does, in [`crate::commands`].

use std::path::PathBuf;

use onoff_files::Options;
use onoff_report::text::time_point::TimePoint;

use crate::arguments::{OutputArguments, ReadingArguments, RecordingArguments};
use crate::failure::Failure;
use crate::output::{Destination, Display};

/// A recording to open.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its files.
    pub files: Vec<PathBuf>,
    /// How to read it.
    pub options: Options,
    /// Where no file was named: this computer, whose files lie below this folder.
    pub this_computer: Option<PathBuf>,
}

impl Recording {
    /// None: the task names its files itself.
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    /// These files, read as files are read by themselves.
    pub fn of(files: Vec<PathBuf>) -> Self {
        Self { files, options: Options::default(), this_computer: None }
    }
}

/// What does a task, with its recording, and writes the answer to a destination.
type Work = Box<dyn FnOnce(Recording, &Destination) -> Result<(), Failure>>;

/// One run of the program.
pub struct Invocation {
    /// With what.
    pub recording: Recording,
    /// Where the answer goes.
    pub destination: Destination,
    /// Whether it answers about one recording, so that several are refused.
    pub takes_one: bool,
    /// Whether the answer is text for people. The rows of events are not: their layout is xperf's.
    pub is_text: bool,
    /// Files that are read besides the recording.
    pub reads: Vec<PathBuf>,
    /// Files that are written besides the answer.
    pub writes: Vec<PathBuf>,
    /// What to do.
    pub work: Work,
}

impl Invocation {
    /// A task about a recording.
    pub fn new(
        recording: impl Into<Recording>,
        destination: impl Into<Destination>,
        work: impl FnOnce(Recording, &Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        let (recording, destination, work) = (recording.into(), destination.into(), Box::new(work));
        let (reads, writes) = (Vec::new(), Vec::new());
        Self { recording, destination, takes_one: false, is_text: false, reads, writes, work }
    }

    /// A task without a recording, or one that names its files itself.
    pub fn alone(
        destination: impl Into<Destination>,
        work: impl FnOnce(&Destination) -> Result<(), Failure> + 'static,
    ) -> Self {
        Self::new(Recording::none(), destination, |_, destination| work(destination))
    }

    /// The same; several recordings are refused: read together they would be one that never was.
    pub fn about_one(self) -> Self {
        Self { takes_one: true, ..self }
    }

    /// The same; the answer is text for people if `is_text`.
    pub fn text_if(self, is_text: bool) -> Self {
        Self { is_text, ..self }
    }

    /// The same; these files are read as well.
    pub fn reading(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.reads.extend(paths);
        self
    }

    /// The same; these files are written as well.
    pub fn writing(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writes.extend(paths);
        self
    }
}

/// The two times of `--range`, if given.
pub fn time_range(texts: Option<&[String]>) -> Result<Option<(TimePoint, TimePoint)>, Failure> {
    Ok(match texts {
        Some([from, to]) => Some((time_point(from)?, time_point(to)?)),
        _ => None,
    })
}

fn time_point(text: &str) -> Result<TimePoint, Failure> {
    TimePoint::parse(text).ok_or_else(|| {
        Failure::nothing(format!(
            "--range: '{text}' is no time; write 1234us, 245ms, 12.5s or yyyy/mm/dd:hh:mm:ss.ffff[+UTC]{}",
            needs_unit(text)
        ))
    })
}

/// What to write instead of a number with a point and no unit.
fn needs_unit(text: &str) -> String {
    match text.contains('.') && text.parse::<f64>().is_ok() {
        true => format!("; in seconds, {text}s"),
        false => String::new(),
    }
}

impl From<RecordingArguments> for Recording {
    fn from(arguments: RecordingArguments) -> Self {
        let ReadingArguments { manifests, boot, root } = arguments.reading;
        let options = Options { manifests, boot, ..Options::default() };
        let this_computer = arguments.files.is_empty().then_some(root);
        Self { files: arguments.files, options, this_computer }
    }
}

impl From<OutputArguments> for Destination {
    fn from(arguments: OutputArguments) -> Self {
        Self { path: arguments.output, display: Display::default(), kept: None }
    }
}
