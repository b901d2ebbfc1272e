//! The arguments as typed. [`crate::commands`] validates and resolves them.

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
pub mod what_if;
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
use what_if::WhatIfArguments;
use why::WhyArguments;

const EXIT_CODES: &str = "\
Exit codes:
  0   success (also if the reader of a pipe stops early)
  1   the recording could not be read, or the output could not be written
  2   the recording has no data for this verb
  64  usage error";

const EXAMPLES: &str = "\
Getting started:
  onoff boot.etl                         overview, with one line from each verb
  onoff boot boot.etl                    where the time of a boot went
  onoff diagnose boot.etl                what to fix
  onoff view boot.etl                    an interactive report
  onoff boot                             the last boot of this computer
  onoff compare before.etl after.etl     what got slower by more than noise
  onoff explain PreSMSS                  what a term means

Recordings may be compressed (.xz, .gz, .zst, .zip); '-' reads standard input. \
'onoff VERB --help' shows examples. To make a recording on Windows or Linux, see \
'onoff record --help' and docs/src/how-to/record.md in the source.";

/// What this build has; only one part is optional.
const BUILT_IN: &str = if cfg!(feature = "download") {
    "Built with Parquet, Arrow, MCP and the download of symbols."
} else {
    "Built with Parquet, Arrow and MCP, without the download of symbols (feature 'download')."
};

const ENVIRONMENT: &str = "\
Environment variables:
  ONOFF_CACHE      folder for large unpacked files, or 'off' (docs/src/how-to/read.md)
  ONOFF_COLOR      auto, always or never
  ONOFF_OFFLINE    no download of symbols
  NO_COLOR         no color";

/// Shows where the time goes when a computer boots, shuts down, sleeps or wakes
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

{EXIT_CODES}

{ENVIRONMENT}

{BUILT_IN}")
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Without a verb: any file that onoff reads; shows what it is, and a one-line answer from each verb
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub display: DisplayArguments,
}

/// Returns the command line parser. `-h` prints one page, `--help` everything.
pub fn command() -> clap::Command {
    let shorten_help = |verb: clap::Command| {
        if verb.is_disable_help_flag_set() {
            return verb;
        }
        let full_help = verb.get_after_help().cloned();
        let verb = verb.mut_args(|argument| match argument.get_help().map(ToString::to_string) {
            Some(help) => argument.help(first_clause(&help)).long_help(help),
            None => argument,
        });
        match full_help {
            Some(full_help) => verb.after_help("Use --help for examples and exit codes.").after_long_help(full_help),
            None => verb,
        }
    };
    Arguments::command().mut_subcommands(shorten_help)
}

/// Returns the text up to the first colon, semicolon, full stop or bracket, and the default.
fn first_clause(help: &str) -> String {
    const DEFAULT: &str = " [default: ";
    let clause = |text: &str, marks: &[&str]| {
        let end = marks.iter().filter_map(|mark| text.find(mark)).min();
        end.and_then(|end| text.get(..end)).unwrap_or(text).to_owned()
    };
    let first = clause(help, &[": ", "; ", ". ", " ["]);
    let default = help.split_once(DEFAULT).map(|(_, rest)| clause(rest, &["; ", "]"]));
    default.map_or_else(|| first.clone(), |default| format!("{first}{DEFAULT}{default}]"))
}

fn with_exit_codes(examples: &str) -> String {
    format!("{examples}\n\n{EXIT_CODES}")
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "a run creates only one")]
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
    /// List processes: lifetime, parent, CPU and disk use
    #[command(after_help = with_exit_codes(lists::PROCESSES))]
    Processes(ListArguments),
    Cpu(CpuArguments),
    Interrupts(InterruptsArguments),
    Disk(DiskArguments),
    Files(FilesArguments),
    Io(IoArguments),
    #[command(name = "hardfaults")]
    HardFaults(HardFaultsArguments),
    /// List service starts and stops, and which services waited for which
    #[command(after_help = with_exit_codes(lists::SERVICES))]
    Services(ListArguments),
    /// List device and driver operations: loads, starts, enumerations
    // Recordings do not attribute device operations to processes.
    #[command(mut_arg("processes", |argument| argument.hide(true)), after_help = with_exit_codes(lists::DEVICES))]
    Devices(ListArguments),
    /// List Group Policy work: computer and user policy, extensions, scripts, network waits
    #[command(after_help = with_exit_codes(lists::POLICY))]
    Policy(ListArguments),
    Prefetch(PrefetchArguments),
    Image(ImageArguments),
    Netboot(NetbootArguments),
    Record(RecordArguments),
    Collect(CollectArguments),
    Compare(CompareArguments),
    Gate(GateArguments),
    Why(WhyArguments),
    WhatIf(WhatIfArguments),
    Explain(ExplainArguments),
    Guide(GuideArguments),
    Mcp(McpArguments),
    Completions(CompletionsArguments),
    Manual(ManualArguments),
    Xperf(XperfArguments),
    #[command(name = "wpaexporter")]
    WpaExporter(WpaExporterArguments),
}

#[derive(Debug, Args)]
pub struct RecordingArguments {
    /// The recording: an event trace log (.etl), optionally compressed (.xz, .gz, .zst, .zip); for Linux, a folder or
    /// archive of traces, logs and systemd output, or any one of them; - for standard input. Several files are read as
    /// one recording. Without a file: this computer's logs (on Linux its journal, systemd times and kernel log; on
    /// Windows its event logs)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How a recording is read.
#[derive(Debug, Args)]
pub struct ReadingArguments {
    /// Event schemas for your own providers: an instrumentation manifest (.man), a provider DLL or EXE, a trace message
    /// format file (.tmf) for software tracing (WPP), or a folder of these
    #[arg(long = "manifest", value_name = "PATH")]
    pub manifests: Vec<PathBuf>,

    /// Boot to read from a Linux journal or Windows event logs: 0 is the last, -1 the one before, or a boot id.
    /// Default: the boot the other files belong to, otherwise the last completed boot
    #[arg(long, value_name = "BOOT", allow_hyphen_values = true)]
    pub boot: Option<String>,

    /// Root folder to read in place of /
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub struct OutputArguments {
    /// Write the output to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlainFormat {
    /// For people
    Text,
    /// For programs; names are documented and stable
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TransitionFormat {
    /// For people: summary, phases, the slowest of each kind
    Text,
    /// For programs; names are documented and stable
    Json,
    /// The XML that 'xperf' writes for the transition
    Xml,
    /// A table for a spreadsheet
    Csv,
    /// A picture: phases, what each is blamed on, what to fix
    Svg,
    /// The text as an HTML page without scripts, to mail or print
    Html,
}

/// Tables in xperf's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CsvTable {
    /// Services, as in 'xperf -a services'
    Services,
    /// Drivers and devices, as in 'xperf -a pnp'
    Pnp,
}

/// Show where the time of a boot went: phases, services, drivers, CPU, disks, logon
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff boot boot.etl
  onoff boot kernel.etl user.etl            two logs of one boot
  onoff boot winevt/Logs                    event logs: no recording needed
  onoff boot boot.etl winevt/Logs           with Windows' own account of that boot
  onoff boot winevt/Logs --redact -o boot.txt   without names
  onoff boot boot.etl --top 20              longer lists
  onoff boot boot.etl --firmware FBPT.bin   with the firmware stages
  onoff boot boot.etl --firmware FBPT.bin --capture boot.pcapng
                                            reset to desktop on one axis
  onoff boot --firmware FBPT.bin --capture boot.pcapng   reset to kernel only
  onoff boot boot.etl --format json |
      jq '.phases[] | {{name, duration_ns, rule}}'
  onoff boot boot.etl --format xml -o summary_boot.xml
  onoff boot boot.etl --format csv --csv pnp
  onoff boot recording.tar.xz               Linux: traces, logs, systemd output
  onoff boot                                this computer's last boot
  onoff boot --list-boots                   its earlier boots
  onoff boot journal.export --list-boots
  onoff boot journal.export --boot -1       the boot before, from the journal

Timestamps are relative to the start of the kernel. Each phase shows the rule that determined its end; \
'inferred' means that the defining event was not recorded.

{EXIT_CODES}"))]
pub struct BootArguments {
    /// The recording: an event trace log (.etl), optionally compressed (.xz, .gz, .zst, .zip); for Linux, a folder or
    /// archive of traces, logs and systemd output, or any one of them. Several files are read as one recording; event
    /// logs with a trace add Windows' own account of its boot. Without a file: this computer's logs (on Linux its journal, systemd times and kernel log; on Windows its event logs);
    /// with --firmware or --capture, only those
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: ReadingArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TransitionFormat,

    /// Table to write with '--format csv' [default: services]
    #[arg(long, value_name = "TABLE")]
    pub csv: Option<CsvTable>,

    /// How to decide that the computer is idle
    #[arg(long, value_name = "METRIC", default_value = "xperf", value_parser = one_of(&IDLE))]
    pub idle: IdleMetric,

    /// Image name of the user's shell, if it is not Explorer
    #[arg(long, value_name = "IMAGE", default_value = "explorer.exe")]
    pub shell: String,

    /// Image name of a process that the process summary counts as expected; can be repeated
    #[arg(long = "expected", value_name = "IMAGE")]
    pub expected: Vec<String>,

    /// Firmware tables from the same boot, as for 'onoff firmware'; can be repeated
    #[arg(long = "firmware", value_name = "FILE")]
    pub firmware: Vec<PathBuf>,

    /// Network capture of the same boot, as for 'onoff netboot'; can be repeated for its parts
    #[arg(long = "capture", value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// List the boots in the journals of a Linux recording or in Windows event logs, then exit
    #[arg(long)]
    pub list_boots: bool,

    /// Rows per list in text; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// For Windows event logs, replace names of computers and accounts, addresses and security identifiers; each is
    /// replaced the same way everywhere
    #[arg(long, conflicts_with_all = ["firmware", "capture"])]
    pub redact: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show the events of a recording in chronological order, one per row
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff events trace.etl | less
  onoff events trace.etl --process smss.exe --event P-Start --event I-Start
  onoff events trace.etl --provider '*Kernel-PnP*' --range 2s 4.5s
  onoff events trace.etl --event CSwitch --range 10ms 20ms
  onoff events trace.etl --format json |
      jq 'select(.process == \"csrss.exe\")'

Text has the layout of 'xperf -a dumper': a header block that names the columns, then one row per event. \
Times are in µs from the start of the recording. Names come from the events read so \
far and from the end of the recording, so that output starts immediately.

{EXIT_CODES}"))]
pub struct EventsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Only events from this provider: name or GUID, * as a wildcard; can be repeated
    #[arg(long = "provider", value_name = "NAME")]
    pub providers: Vec<String>,

    /// Only this event: name, task or id (hook id for kernel events, such as 0x0524), * as a wildcard; can be repeated
    #[arg(long = "event", value_name = "NAME")]
    pub events: Vec<String>,

    /// Only events from or about this process: image name or id, * as a wildcard; can be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Only events of this activity, and of the activities that its events started: GUID of a request, as in the column
    /// etw:ActivityId; can be repeated
    #[arg(long = "activity", value_name = "GUID")]
    pub activities: Vec<String>,

    /// Only events in this phase of the boot, shutdown or sleep, such as WinLogonInit
    #[arg(long, value_name = "NAME", conflicts_with = "range")]
    pub phase: Option<String>,

    /// Only events in this time range, end excluded: 1234[s|ms|us|ns] from the start of the recording (default unit
    /// µs), or yyyy/mm/dd:hh:mm:ss.ffff in the local time of the recorded computer, or in UTC with +UTC
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// Output format; json is one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show the contents of a recording: computer, clock, events by provider and kind, losses
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff info trace.etl
  onoff info kernel.etl user.etl   two logs of one recording
  onoff info trace.etl --format json |
      jq '.providers[] | select(.events > 1000)'

{EXIT_CODES}"))]
pub struct InfoArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: PlainFormat,

    /// Rows per list in text; JSON shows all rows
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    #[command(flatten)]
    pub output: OutputArguments,
}

impl Command {
    /// True for the command line of another program, whose scripts expect its exit codes and plain output.
    pub const fn is_drop_in(&self) -> bool {
        matches!(self, Self::Xperf(_) | Self::WpaExporter(_))
    }
}

/// Drop-in for scripts that call 'xperf -i', with its output formats; see 'onoff xperf -help'
#[derive(Debug, Args)]
#[command(disable_help_flag = true, override_usage = "onoff xperf -i FILE [-o FILE] [-a ACTION [ACTION'S OPTIONS]]…")]
pub struct XperfArguments {
    /// Arguments in xperf's syntax
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// Drop-in for scripts that call 'wpaexporter -i': the graphs of a WPA profile as CSV files; see 'onoff wpaexporter -help'
#[derive(Debug, Args)]
#[command(
    disable_help_flag = true,
    override_usage = "onoff wpaexporter -i FILE -profile FILE.wpaProfile [-outputfolder FOLDER] [-prefix TEXT]"
)]
pub struct WpaExporterArguments {
    /// Arguments in wpaexporter's syntax
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// A possible value of an option: word, help text, meaning.
type Choice<T> = (&'static str, &'static str, T);

fn one_of<T: Clone + Send + Sync>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let words = choices.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(words).try_map(|word| {
        let choice = choices.iter().find(|(value, ..)| *value == word);
        choice.map(|(.., meaning)| meaning.clone()).ok_or("invalid value")
    })
}

const TRANSITIONS: [Choice<TransitionKind>; 3] = [
    ("boot", "Boot", TransitionKind::Boot),
    ("shutdown", "Shutdown", TransitionKind::Shutdown),
    ("suspend", "Sleep or hibernation, and wake-up", TransitionKind::Suspend),
];

const IDLE: [Choice<IdleMetric>; 2] = [
    ("xperf", "As in xperf: 10 s of 100 ms slices with CPU and disks at least 80 % idle", IdleMetric::XPERF),
    ("adk", "As in the ADK assessments: 5 s of 500 ms windows with less than 20 % in use", IdleMetric::ADK),
];
