//! The arguments of `onoff why`.

use clap::{Args, ValueEnum};

use onoff_transitions::TransitionKind;

use super::symbols::SymbolArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhyFormat {
    /// For people: summary, then the critical path from the end backwards, in sentences
    Text,
    /// For programs; names are documented and stable
    Json,
    /// Folded stacks for a flame graph: one line per step, in nanoseconds
    Folded,
    /// A picture of the critical path: one row per step, placed in time
    Svg,
    /// A flame graph of the same time: what waited for what
    Flamegraph,
}

/// Show why something took so long: the critical path, from its end back to the causes
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff why boot.etl                     the critical path of each phase
  onoff why boot.etl --phase WinLogonInit
  onoff why boot.etl --phase             the longest phase
  onoff why boot.etl --service Spooler   what the service start waited for
  onoff why sleep.etl --device 'PCI\\VEN_8086&DEV_24FD\\*'
  onoff why boot.etl --process winlogon.exe --min 500 --top 3
  onoff why boot.etl --thread 604 --at 12.5s   the wait at that time
  onoff why boot.etl --service Spooler --symbols 'C:\\build;srv*C:\\symbols'
  onoff why boot.etl --phase --format svg -o chain.svg
  onoff why boot.etl --format flamegraph -o flame.svg
  onoff why boot.etl --format folded |
      inferno-flamegraph --countname ns > boot.svg

onoff follows the critical path backwards: each wait leads to the thread that ended it, and so on, \
until a timer, a disk read or a driver is reached. This needs context \
switches and ready-thread events, as recorded by 'xbootmgr -traceFlags dispatcher' and \
'wpr -start CPU'; the report says what was not recorded.

{EXIT_CODES}"))]
pub struct WhyArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Long waits of threads in this process: image name or id, * as a wildcard
    #[arg(long, value_name = "NAME", group = "about")]
    pub process: Option<String>,

    /// Long waits of this thread
    #[arg(long, value_name = "ID", group = "about")]
    pub thread: Option<u32>,

    /// Start or stop of this service
    #[arg(long, value_name = "NAME", group = "about")]
    pub service: Option<String>,

    /// Requests to this device: instance, description, friendly name or driver
    #[arg(long, value_name = "NAME", group = "about")]
    pub device: Option<String>,

    /// Phase of a transition; without NAME, the longest [default: all phases]. With --process, --thread, --service or
    /// --device, only what happened during the phase
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub phase: Option<String>,

    /// Only phases of this kind of transition
    #[arg(long, value_name = "KIND", value_parser = super::one_of(&super::TRANSITIONS), conflicts_with_all = ["process", "thread", "service", "device"])]
    pub transition: Option<TransitionKind>,

    /// Only what was in progress at this time: 1234[s|ms|us|ns] from the start of the recording (default unit µs), or
    /// yyyy/mm/dd:hh:mm:ss.ffff in the local time of the recorded computer, or in UTC with +UTC
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,

    /// Hide waits shorter than this many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub min: u32,

    /// Show the N longest waits; phases are always shown
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// Show the N longest steps of each critical path in text
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub steps: usize,

    /// Also show idle threads, which wait for work
    #[arg(long)]
    pub idle: bool,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: WhyFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
