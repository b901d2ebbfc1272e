//! The arguments as meant: checked against each other, defaults filled in, ready to run.

pub mod compare;
pub mod diagnose;
pub mod export;
pub mod firmware;
pub mod gate;
pub mod image;
pub mod io;
pub mod lists;
pub mod netboot;
pub mod prefetch;
pub mod record;
pub mod shutdown;
pub mod summary;
pub mod suspend;
pub mod symbols;
pub mod table;
pub mod view;
pub mod why;

use std::path::PathBuf;

use onoff::{EventQuestion, List, ListQuestion};
use onoff_analysis::idle::IdleMetric;
use onoff_analysis::lists::cpu::CpuGroup;
use onoff_analysis::lists::functions::TimeOf;
use onoff_analysis::netboot::NetbootOptions;
use onoff_analysis::storage::Key;
use onoff_analysis::transition::TransitionKind;
use onoff_analysis::transition::boot::BootOptions;
use onoff_analysis::transition::shutdown::ShutdownOptions;
use onoff_analysis::transition::suspend::SuspendOptions;
use onoff_files::Options;
use onoff_report::text::boot::BootTextOptions;
use onoff_report::text::info::InfoTextOptions;
use onoff_report::text::time_point::TimePoint;
use onoff_sources::{EventFilter, Pattern};

use crate::arguments::compare::CompareFormat;
use crate::arguments::display::Color;
use crate::arguments::firmware::FirmwareFormat;
use crate::arguments::gate::GateFormat;
use crate::arguments::table::TableFormat;
use crate::arguments::{
    Arguments, BootArguments, Command, CsvTable, EventsArguments, Idle, InfoArguments, OutputArguments, PlainFormat,
    ReadingArguments, RecordingArguments, TransitionFormat, XperfArguments, verbs,
};
use crate::failure::Failure;
use crate::output::{Destination, Display};
use compare::CompareQuestion;
use diagnose::{DiagnosisFormat, DiagnosisQuestion};
use firmware::FirmwareQuestion;
use gate::GateQuestion;
use lists::{CodeQuestion, Groups};
use netboot::NetbootFormat;
use record::RecordTask;
use shutdown::ShutdownFormat;
use summary::SummaryQuestion;
use suspend::SuspendFormat;
use view::ViewQuestion;
use why::WhyTask;

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

/// What to do.
#[derive(Debug)]
pub enum Task {
    /// Say what a recording is, and what the verbs say of it.
    Overview,
    /// Explain a word; without one, list them.
    Explain(Vec<String>),
    /// Print how to investigate.
    Guide,
    /// Serve the verbs to an assistant, about the recordings in folders.
    Mcp(Vec<PathBuf>),
    /// Write a shell's script of completions.
    Completions(clap_complete::Shell),
    /// Write the pages of the manual into a folder.
    Manual(PathBuf),
    /// Show where the time of a boot went; with what firmware and packets say of the same boot.
    Boot(BootOptions, BootFormat, BesideBoot),
    /// List the boots that a Linux recording's journals hold.
    ListBoots(PlainFormat),
    /// Show where the time of sleeping and waking went.
    Suspend(SuspendOptions, SuspendFormat),
    /// A file for another viewer.
    Export(export::ExportQuestion),
    /// A transition as a picture.
    Picture(TransitionKind),
    /// A page.
    View(Box<ViewQuestion>),
    /// Show where the time of a shutdown went.
    Shutdown(ShutdownOptions, ShutdownFormat),
    /// Say what to change.
    Diagnose(DiagnosisQuestion, DiagnosisFormat),
    /// Show many recordings, a row each transition.
    Summary(SummaryQuestion),
    /// Show what the recording holds.
    Info(InfoFormat),
    /// Show the events.
    Events(EventTask),
    /// Show where the time before the operating system went.
    Firmware(FirmwareQuestion),
    /// Show how programs ask for their data.
    Io(Box<io::IoQuestion>),
    /// List rows of any range.
    List(List, ListQuestion, TableFormat),
    /// List or draw in which functions the time of any range went.
    Functions(lists::FunctionTask),
    /// Show where the time of network boots went.
    Netboot(NetbootOptions, NetbootFormat),
    /// Show what Windows reads ahead.
    Prefetch(prefetch::PrefetchQuestion),
    /// Look at an installation that is not running.
    Image(Box<image::ImageQuestion>),
    /// Record this computer.
    Record(RecordTask),
    /// Pack what this computer knows of its boots.
    Collect(CollectQuestion),
    /// Say what changed among the last boots of a journal.
    BootHistory(usize, compare::HistoryFormat),
    /// Compare runs of a transition.
    Compare(Box<CompareQuestion>),
    /// Hold runs of a transition to limits.
    Gate(Box<GateQuestion>),
    /// Show why something took long.
    Why(WhyTask),
    /// Answer as xperf does.
    Xperf(onoff_xperf::CommandLine),
}

impl Task {
    /// Whether the answer is text for people. The rows of events are not: their layout is xperf's.
    fn is_text(&self) -> bool {
        match self {
            Self::Overview | Self::Explain(_) | Self::Guide | Self::Record(_) => true,
            Self::Boot(_, format, _) => matches!(format, BootFormat::Text(_)),
            Self::ListBoots(format) => *format == PlainFormat::Text,
            Self::BootHistory(_, format) => matches!(format, compare::HistoryFormat::Text(_)),
            Self::Suspend(_, format) => matches!(format, SuspendFormat::Text(_)),
            Self::Shutdown(_, format) => matches!(format, ShutdownFormat::Text(_)),
            Self::Diagnose(_, format) => matches!(format, DiagnosisFormat::Text(_)),
            Self::Summary(question) => question.format == TableFormat::Text,
            Self::Info(format) => matches!(format, InfoFormat::Text(_)),
            Self::Firmware(question) => question.format == FirmwareFormat::Text,
            Self::Io(question) => question.format == TableFormat::Text,
            Self::Functions(task) => task.format == TableFormat::Text,
            Self::List(_, _, format) => *format == TableFormat::Text,
            Self::Netboot(_, format) => matches!(format, NetbootFormat::Text(_)),
            Self::Prefetch(question) => question.format == TableFormat::Text,
            Self::Image(question) => question.format == TableFormat::Text,
            Self::Compare(question) => question.format == CompareFormat::Text,
            Self::Gate(question) => question.format == GateFormat::Text,
            Self::Why(task) => matches!(task.format, why::WhyFormat::Text(_)),
            Self::Events(_)
            | Self::View(_)
            | Self::Export(_)
            | Self::Picture(_)
            | Self::Collect(_)
            | Self::Completions(_)
            | Self::Mcp(_)
            | Self::Manual(_)
            | Self::Xperf(_) => false,
        }
    }
}

/// What else was recorded of the same boot.
#[derive(Clone, Debug, Default)]
pub struct BesideBoot {
    /// The firmware's tables.
    pub firmware: Vec<PathBuf>,
    /// A network capture.
    pub capture: Vec<PathBuf>,
}

/// How to show where the time of a boot went.
#[derive(Clone, Copy, Debug)]
pub enum BootFormat {
    /// For a person.
    Text(BootTextOptions),
    /// For a person, as a page.
    Html(BootTextOptions),
    /// For a program.
    Json,
    /// xperf's boot summary.
    Xml,
    /// xperf's table of services.
    ServicesCsv,
    /// xperf's table of device operations.
    PnpCsv,
}

/// How to show what a recording holds.
#[derive(Clone, Copy, Debug)]
pub enum InfoFormat {
    /// For a person.
    Text(InfoTextOptions),
    /// For a program.
    Json,
}

/// Which events to show, and how.
#[derive(Debug)]
pub struct EventTask {
    /// Which.
    pub question: EventQuestion,
    /// How.
    pub format: PlainFormat,
}

/// What to pack, and where.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux is collected"))]
pub struct CollectQuestion {
    /// The file to write.
    pub output: PathBuf,
    /// How many boots of the journal.
    pub boots: u16,
    /// Whether names and addresses are replaced.
    pub redact: bool,
    /// The folder in place of the computer's root.
    pub root: PathBuf,
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
        let display = Display::resolve(arguments.display)?;
        let mut invocation = match (arguments.command, arguments.files.first()) {
            (Some(_), Some(file)) => {
                return Err(Failure::WrongUsage(format!("{}: name the verb before the file", file.display())));
            }
            (Some(command), None) => Self::of(command)?,
            (None, _) => Self::overview(arguments.files)?,
        };
        let is_text = invocation.task.is_text();
        // xperf's scripts compare what it prints.
        let color = if matches!(invocation.task, Task::Xperf(_)) { Color::Never } else { display.color };
        invocation.destination.display = Display { color, is_text, ..display };
        Ok(invocation)
    }

    /// Without a verb: what was named should be files.
    fn overview(files: Vec<PathBuf>) -> Result<Self, Failure> {
        let is_there = |path: &PathBuf| onoff_files::is_standard_input(path) || path.exists();
        if let Some(absent) = files.iter().find(|path| !is_there(path)) {
            return Err(Failure::WrongUsage(verbs::neither_verb_nor_file(&absent.to_string_lossy())));
        }
        Ok(Self { task: Task::Overview, recording: Recording::of(files), destination: Destination::default() })
    }

    /// Settles what the arguments of a verb mean.
    fn of(command: Command) -> Result<Self, Failure> {
        match command {
            Command::Boot(arguments) => Self::boot(arguments),
            Command::Diagnose(arguments) => diagnose::resolve(arguments),
            Command::Summary(arguments) => summary::resolve(arguments),
            Command::Suspend(arguments) => suspend::resolve(arguments),
            Command::Export(arguments) => export::resolve(arguments),
            Command::View(arguments) => view::resolve(arguments),
            Command::Shutdown(arguments) => Ok(Self::shutdown(arguments)),
            Command::Why(arguments) => why::resolve(arguments),
            Command::Info(arguments) => Ok(Self::info(arguments)),
            Command::Events(arguments) => Self::events(arguments),
            Command::Firmware(arguments) => Ok(Self {
                recording: Recording::of(arguments.files.clone()),
                destination: arguments.output.clone().into(),
                task: Task::Firmware(FirmwareQuestion::resolve(arguments)),
            }),
            Command::Processes(it) => Self::list(List::Processes, it.recording, it.table, it.output),
            Command::Cpu(it) => {
                let by = it.by.into_iter().map(|by| by.of(it.of)).collect();
                let code = CodeQuestion::of_processors(it.of, it.symbols);
                Self::list_or_functions(
                    Groups { by, process: CpuGroup::Process, list: List::Cpu },
                    code,
                    it.recording,
                    it.table,
                    it.output,
                )
            }
            Command::Interrupts(it) => {
                let by = it.by.into_iter().map(Into::into).collect();
                Self::list(List::Interrupts(by), it.recording, it.table, it.output)
            }
            Command::Disk(it) => {
                let by = it.by.into_iter().map(Into::into).collect();
                let code = CodeQuestion::of(TimeOf::DiskRequests, it.symbols);
                Self::list_or_functions(
                    Groups { by, process: Key::Process, list: List::Disk },
                    code,
                    it.recording,
                    it.table,
                    it.output,
                )
            }
            Command::Files(it) => {
                let by = it.by.into_iter().map(Into::into).collect();
                Self::list(List::Files(by), it.recording, it.table, it.output)
            }
            Command::HardFaults(it) => {
                let by = it.by.into_iter().map(Into::into).collect();
                let code = CodeQuestion::of(TimeOf::HardFaults, it.symbols);
                Self::list_or_functions(
                    Groups { by, process: Key::Process, list: List::HardFaults },
                    code,
                    it.recording,
                    it.table,
                    it.output,
                )
            }
            Command::Services(it) => Self::list(List::Services, it.recording, it.table, it.output),
            Command::Devices(it) => Self::list(List::Devices, it.recording, it.table, it.output),
            Command::Policy(it) => Self::list(List::Policy, it.recording, it.table, it.output),
            Command::Io(arguments) => io::resolve(arguments),
            Command::Netboot(arguments) => Self::netboot(arguments),
            Command::Image(arguments) => image::resolve(arguments),
            Command::Prefetch(arguments) => prefetch::resolve(arguments),
            Command::Record(arguments) => Self::record(arguments),
            Command::Collect(it) => Ok(Self {
                task: Task::Collect(CollectQuestion {
                    output: it.output,
                    boots: it.boots,
                    redact: it.redact,
                    root: it.root,
                }),
                recording: Recording::none(),
                destination: Destination::default(),
            }),
            Command::Explain(it) => {
                Ok(Self { task: Task::Explain(it.words), recording: Recording::none(), destination: it.output.into() })
            }
            Command::Guide(it) => {
                Ok(Self { task: Task::Guide, recording: Recording::none(), destination: it.output.into() })
            }
            Command::Mcp(it) => Ok(Self {
                task: Task::Mcp(it.folders),
                recording: Recording::none(),
                destination: Destination::default(),
            }),
            Command::Completions(it) => Ok(Self {
                task: Task::Completions(it.shell),
                recording: Recording::none(),
                destination: it.output.into(),
            }),
            Command::Manual(it) => Ok(Self {
                task: Task::Manual(it.folder),
                recording: Recording::none(),
                destination: Destination::default(),
            }),
            Command::Compare(arguments) => compare::resolve(arguments),
            Command::Gate(arguments) => gate::resolve(arguments),
            Command::Xperf(arguments) => Self::xperf(arguments),
        }
    }

    /// A transition as a picture.
    fn picture(kind: TransitionKind, recording: Recording, destination: Destination) -> Self {
        Self { task: Task::Picture(kind), recording, destination }
    }

    fn boot(arguments: BootArguments) -> Result<Self, Failure> {
        let recording: Recording = RecordingArguments { files: arguments.files, reading: arguments.reading }.into();
        if arguments.format == TransitionFormat::Svg && !arguments.list_boots {
            if !arguments.firmware.is_empty() || !arguments.capture.is_empty() {
                let message = "a picture has no place for --firmware and --capture; write text or JSON".to_owned();
                return Err(Failure::NothingToAnswer(message));
            }
            return Ok(Self::picture(TransitionKind::Boot, recording, arguments.output.into()));
        }
        if arguments.list_boots {
            let format = match arguments.format {
                TransitionFormat::Text => PlainFormat::Text,
                TransitionFormat::Json => PlainFormat::Json,
                TransitionFormat::Xml | TransitionFormat::Csv | TransitionFormat::Svg | TransitionFormat::Html => {
                    let message = "--list-boots writes text or JSON".to_owned();
                    return Err(Failure::NothingToAnswer(message));
                }
            };
            return Ok(Self { task: Task::ListBoots(format), recording, destination: arguments.output.into() });
        }
        let format = match (arguments.format, arguments.csv) {
            (TransitionFormat::Csv, None | Some(CsvTable::Services)) => BootFormat::ServicesCsv,
            (TransitionFormat::Csv, Some(CsvTable::Pnp)) => BootFormat::PnpCsv,
            (_, Some(_)) => {
                let message = "--csv says which table '--format csv' writes; give both".to_owned();
                return Err(Failure::NothingToAnswer(message));
            }
            (TransitionFormat::Text, None) => BootFormat::Text(BootTextOptions { top: arguments.top }),
            (TransitionFormat::Html, None) => BootFormat::Html(BootTextOptions { top: arguments.top }),
            (TransitionFormat::Json, None) => BootFormat::Json,
            (TransitionFormat::Xml | TransitionFormat::Svg, None) => BootFormat::Xml,
        };
        let options = BootOptions {
            idle: match arguments.idle {
                Idle::Xperf => IdleMetric::XPERF,
                Idle::Adk => IdleMetric::ADK,
            },
            shell: arguments.shell,
            expected_processes: arguments.expected,
            firmware: None,
            capture: None,
        };
        Ok(Self {
            task: Task::Boot(options, format, BesideBoot { firmware: arguments.firmware, capture: arguments.capture }),
            recording,
            destination: arguments.output.into(),
        })
    }

    fn info(arguments: InfoArguments) -> Self {
        let format = match arguments.format {
            PlainFormat::Text => InfoFormat::Text(InfoTextOptions { top: arguments.top }),
            PlainFormat::Json => InfoFormat::Json,
        };
        Self { task: Task::Info(format), recording: arguments.recording.into(), destination: arguments.output.into() }
    }

    fn events(arguments: EventsArguments) -> Result<Self, Failure> {
        let patterns = |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect();
        let filter = EventFilter {
            providers: patterns(&arguments.providers),
            events: patterns(&arguments.events),
            processes: patterns(&arguments.processes),
            ..EventFilter::default()
        };
        let range = time_range(arguments.range.as_deref())?;
        let question = EventQuestion { filter, range, phase: arguments.phase };
        Ok(Self {
            task: Task::Events(EventTask { question, format: arguments.format }),
            recording: arguments.recording.into(),
            destination: arguments.output.into(),
        })
    }

    /// xperf's line names its files itself, among the rest.
    fn xperf(arguments: XperfArguments) -> Result<Self, Failure> {
        Ok(Self {
            task: Task::Xperf(onoff_xperf::parse(arguments.words)?),
            recording: Recording::none(),
            destination: Destination::default(),
        })
    }
}

/// The two times of `--range`, if given.
fn time_range(texts: Option<&[String]>) -> Result<Option<(TimePoint, TimePoint)>, Failure> {
    Ok(match texts {
        Some([from, to]) => Some((time_point(from)?, time_point(to)?)),
        _ => None,
    })
}

fn time_point(text: &str) -> Result<TimePoint, Failure> {
    TimePoint::parse(text).ok_or_else(|| {
        Failure::NothingToAnswer(format!(
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
