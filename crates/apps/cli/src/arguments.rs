//! The arguments as typed. What they mean together is settled in [`crate::commands`].

pub mod collect;
pub mod compare;
pub mod cpu;
pub mod diagnose;
pub mod display;
pub mod explain;
pub mod export;
pub mod firmware;
pub mod gate;
pub mod image;
pub mod interrupts;
pub mod io;
pub mod lists;
pub mod mcp;
pub mod netboot;
pub mod prefetch;
pub mod record;
pub mod shell;
pub mod shutdown;
pub mod storage;
pub mod summary;
pub mod suspend;
pub mod symbols;
pub mod table;
pub mod verbs;
pub mod view;
pub mod why;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use onoff_transitions::TransitionKind;
use onoff_usage::idle::IdleMetric;

use collect::CollectArguments;
use compare::CompareArguments;
use cpu::CpuArguments;
use diagnose::DiagnoseArguments;
use display::DisplayArguments;
use explain::ExplainArguments;
use export::ExportArguments;
use firmware::FirmwareArguments;
use gate::GateArguments;
use image::ImageArguments;
use interrupts::InterruptsArguments;
use io::IoArguments;
use lists::ListArguments;
use mcp::{GuideArguments, McpArguments};
use netboot::NetbootArguments;
use prefetch::PrefetchArguments;
use record::RecordArguments;
use shell::{CompletionsArguments, ManualArguments};
use shutdown::ShutdownArguments;
use storage::{DiskArguments, FilesArguments, HardFaultsArguments};
use summary::SummaryArguments;
use suspend::SuspendArguments;
use view::ViewArguments;
use why::WhyArguments;

const EXIT_CODES: &str = "\
Exit codes:
  0   answered (also when the reader of a pipe has seen enough)
  1   could not read the recording, or could not write the answer
  2   the recording holds nothing of what was asked for
  64  the arguments make no sense";

const EXAMPLES: &str = "\
Begin with:
  onoff boot.etl                         what a recording is, and what each verb says of it
  onoff boot boot.etl                    where the time of a boot went
  onoff diagnose boot.etl                what to change
  onoff view boot.etl                    see it
  onoff boot                             the last boot of this Linux computer
  onoff compare before.etl after.etl     is it slower, where, is it noise
  onoff explain PreSMSS                  what a word means

Recordings are read as they are or packed (.xz, .gz, .zst, .zip); '-' is standard input.
'onoff VERB --help' has examples of each verb. How to record, on Windows and on Linux:
'onoff record --help', and docs/src/how-to/record.md of the source.";

/// Shows where a computer's time goes while it turns on or off, from a recording.
#[derive(Debug, Parser)]
#[command(
    name = "onoff",
    bin_name = "onoff",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    override_usage = "onoff VERB [OPTIONS] [FILE]...\n       onoff FILE",
    help_template = "{about}

{usage-heading} {usage}

{before-help}Options:
{options}{after-help}",
    before_help = verbs::page(),
    after_help = format!("{EXAMPLES}

{EXIT_CODES}")
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Without a verb: a recording, or anything else that onoff reads; shows what it is, and what each verb answers about it
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub display: DisplayArguments,
}

/// The arguments as the program takes them. `-h` is one page, `--help` says everything.
pub fn command() -> clap::Command {
    let short = |verb: clap::Command| {
        if verb.get_name() == "xperf" {
            return verb;
        }
        let long = verb.get_after_help().cloned();
        let verb = verb.mut_args(|argument| match argument.get_help().map(ToString::to_string) {
            Some(help) => argument.help(first_clause(&help)).long_help(help),
            None => argument,
        });
        match long {
            Some(long) => verb.after_help("'--help' says more, with examples and exit codes.").after_long_help(long),
            None => verb,
        }
    };
    Arguments::command().mut_subcommands(short)
}

/// The beginning of a sentence, up to the first colon, semicolon or full stop.
fn first_clause(help: &str) -> String {
    let end = [": ", "; ", ". "].iter().filter_map(|mark| help.find(mark)).min();
    end.and_then(|end| help.get(..end)).unwrap_or(help).to_owned()
}

fn examples(of_verb: &str) -> String {
    format!("{of_verb}\n\n{EXIT_CODES}")
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of them in a run of the program")]
pub enum Command {
    Boot(BootArguments),
    Diagnose(DiagnoseArguments),
    Summary(SummaryArguments),
    Firmware(FirmwareArguments),
    Suspend(SuspendArguments),
    Export(ExportArguments),
    View(ViewArguments),
    Shutdown(ShutdownArguments),
    Info(InfoArguments),
    Events(EventsArguments),
    /// List processes: when they lived, who started them, what they used of processors and disks
    #[command(after_help = examples(lists::PROCESSES))]
    Processes(ListArguments),
    Cpu(CpuArguments),
    Interrupts(InterruptsArguments),
    Disk(DiskArguments),
    Files(FilesArguments),
    Io(IoArguments),
    #[command(name = "hardfaults")]
    HardFaults(HardFaultsArguments),
    /// List starts and stops of services, and who waited for whom
    #[command(after_help = examples(lists::SERVICES))]
    Services(ListArguments),
    /// List the work on devices and drivers: loads, starts, enumerations
    // The recording does not tell which process a device's work was for.
    #[command(mut_arg("processes", |argument| argument.hide(true)), after_help = examples(lists::DEVICES))]
    Devices(ListArguments),
    /// List the work for group policy: for computer and user, extensions, scripts, network waits
    #[command(after_help = examples(lists::POLICY))]
    Policy(ListArguments),
    Prefetch(PrefetchArguments),
    Image(ImageArguments),
    Netboot(NetbootArguments),
    Record(RecordArguments),
    Collect(CollectArguments),
    Compare(CompareArguments),
    Gate(GateArguments),
    Why(WhyArguments),
    Explain(ExplainArguments),
    Guide(GuideArguments),
    Mcp(McpArguments),
    Completions(CompletionsArguments),
    Manual(ManualArguments),
    Xperf(XperfArguments),
}

/// The recording.
#[derive(Debug, Args)]
pub struct RecordingArguments {
    /// The recording: an Event Trace Log (.etl), as it is or packed (.xz, .gz, .zst, .zip); of Linux, a folder or archive of
    /// traces, logs and systemd's accounts, or any of them; - for standard input. Several files are read as one recording. Without
    /// a file: this Linux computer's journal, systemd's times and the kernel's log
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How a recording is read.
#[derive(Debug, Args)]
pub struct ReadingArguments {
    /// Event schemas of your own providers: an instrumentation manifest (.man), a provider's DLL or EXE, or a folder with such files
    #[arg(long = "manifest", value_name = "PATH")]
    pub manifests: Vec<PathBuf>,

    /// Which boot of a Linux journal that holds several: 0 is the last, -1 the one before, or a boot's id. By itself the
    /// one is read that the other files belong to, else the last that was started completely
    #[arg(long, value_name = "BOOT", allow_hyphen_values = true)]
    pub boot: Option<String>,

    /// A tree of files that is read in place of this computer
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

/// Where the answer goes.
#[derive(Clone, Debug, Args)]
pub struct OutputArguments {
    /// Write the answer to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// For a person or for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For a person
    Text,
    /// For a program; the names are documented and stay
    Json,
}

/// How to answer about a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransitionFormat {
    /// For a person: the answer, the phases, the worst of each kind
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// xperf's document about the transition, for scripts that read it
    Xml,
    /// A table for a spreadsheet
    Csv,
    /// A picture: phases, who held each, what to change
    Svg,
    /// The text as a page without scripts, to mail or to print
    Html,
}

/// A table in xperf's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CsvTable {
    /// Services, as 'xperf -a services'
    Services,
    /// Drivers and devices, as 'xperf -a pnp'
    Pnp,
}

/// Show where the time of a boot went: phases, services, drivers, processors, disks, logon
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff boot boot.etl
  onoff boot kernel.etl user.etl         two logs of one boot
  onoff boot boot.etl --top 20           longer lists
  onoff boot boot.etl --firmware FBPT.bin   with the stages from reset to the kernel
  onoff boot boot.etl --firmware FBPT.bin --capture boot.pcapng   reset to desktop on one axis
  onoff boot --firmware FBPT.bin --capture boot.pcapng            the same up to the system
  onoff boot boot.etl --format json | jq '.phases[] | {{name, duration_ns, rule}}'
  onoff boot boot.etl --format xml -o summary_boot.xml
  onoff boot boot.etl --format csv --csv pnp
  onoff boot recording.tar.xz            a Linux boot: trace, logs and systemd's accounts
  onoff boot                             the boot of this Linux computer, without a recording
  onoff boot --list-boots                its boots; then 'onoff boot --boot -1'
  onoff boot journal.export --list-boots
  onoff boot journal.export --boot -1    the boot before the last, from the journal alone

Times count from the kernel's start, unless they are lengths. A phase's end says which
rule set it; 'inferred' means that the event which defines it was not recorded.

{EXIT_CODES}"))]
pub struct BootArguments {
    /// The recording: an Event Trace Log (.etl), as it is or packed (.xz, .gz, .zst, .zip); of Linux, a folder or archive of
    /// traces, logs and systemd's accounts, or any of them. Several files are read as one recording. Without a file: this Linux
    /// computer's journal, systemd's times and the kernel's log; with --firmware and --capture, those two alone
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: ReadingArguments,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TransitionFormat,

    /// Which table '--format csv' writes [default: services]
    #[arg(long, value_name = "TABLE")]
    pub csv: Option<CsvTable>,

    /// When the computer counts as settled
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, where it is not Explorer
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Image name of a process that the process summary counts as expected
    #[arg(long = "expected", value_name = "IMAGE")]
    pub expected: Vec<String>,

    /// What the firmware says about the same boot: its tables, as 'onoff firmware' takes them; may be repeated
    #[arg(long = "firmware", value_name = "FILE")]
    pub firmware: Vec<PathBuf>,

    /// What packets show of the same boot: a network capture, as 'onoff netboot' takes it; may be repeated for its parts
    #[arg(long = "capture", value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// Only list the boots that the journals of a Linux recording hold
    #[arg(long)]
    pub list_boots: bool,

    /// Rows of each list of the text; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show a recording's events, one row each, in the order of time, as they are read
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff events trace.etl | less
  onoff events trace.etl --process smss.exe --event P-Start --event I-Start
  onoff events trace.etl --provider '*Kernel-PnP*' --range 2s 4.5s
  onoff events trace.etl --event CSwitch --range 10ms 20ms
  onoff events trace.etl --format json | jq 'select(.process == \"csrss.exe\")'

The text is that of 'xperf -a dumper': a header block that names the columns, then one row
per event. Times are µs from the recording's begin. Names are those told by the events so
far and by the end of the recording, so that the first row comes at once.

{EXIT_CODES}"))]
pub struct EventsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Only events of this provider: name or GUID, * for any text; may be repeated
    #[arg(long = "provider", value_name = "NAME")]
    pub providers: Vec<String>,

    /// Only this event: name, task or id (hook, for kernel events, as in 0x0524), * for any text; may be repeated
    #[arg(long = "event", value_name = "NAME")]
    pub events: Vec<String>,

    /// Only events of or about this process: image name or id, * for any text; may be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Only events in this phase of the boot, shutdown or sleep, as 'onoff boot' names it
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub phase: Option<String>,

    /// Only events from one time up to, not including, another: 1234[s|ms|us|ns] from the recording's start (µs
    /// without a unit), or yyyy/mm/dd:hh:mm:ss.ffff in the recorded machine's local time, with +UTC in UTC
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// How to show events; json is one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show what a recording holds: machine, clock, events by provider and kind, and what was lost
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff info trace.etl
  onoff info kernel.etl user.etl        two logs of one recording
  onoff info trace.etl --format json | jq '.providers[] | select(.events > 1000)'

{EXIT_CODES}"))]
pub struct InfoArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    /// Rows of each list of the text; JSON holds all of them
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Answer what scripts ask of 'xperf -i', in its formats; 'onoff xperf -help' explains
#[derive(Debug, Args)]
#[command(disable_help_flag = true, override_usage = "onoff xperf -i FILE [-o FILE] [-a ACTION [ACTION'S OPTIONS]]…")]
pub struct XperfArguments {
    /// xperf's own words, in its own grammar
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// A word, what it says in the help, and what it stands for.
type Choice<T> = (&'static str, &'static str, T);

/// Reads one of these words as what it stands for.
fn one_of<T: Clone + Send + Sync>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let words = choices.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(|word| {
        let chosen = choices.iter().find(|(known, ..)| *known == word);
        chosen.map(|(.., meaning)| meaning.clone()).ok_or("no such word")
    })
}

/// Kinds of transition.
const TRANSITIONS: [Choice<TransitionKind>; 3] = [
    ("boot", "Turning on", TransitionKind::Boot),
    ("shutdown", "Turning off", TransitionKind::Shutdown),
    ("suspend", "Sleeping or hibernating, and waking", TransitionKind::Suspend),
];

/// When a computer counts as settled.
const IDLE: [Choice<IdleMetric>; 2] = [
    ("xperf", "xperf's: 10 s of 100 ms slices with processors and disks at least 80 % idle", IdleMetric::XPERF),
    ("adk", "The assessments' (ADK): 5 s, from 500 ms windows with less than 20 % in use", IdleMetric::ADK),
];
