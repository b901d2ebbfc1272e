//! The arguments of `onoff why`.

use clap::{Args, ValueEnum};

use onoff_transitions::TransitionKind;

use super::symbols::SymbolArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// How to answer why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhyFormat {
    /// For a person: what the time was, then the chain from the end back, in sentences
    Text,
    /// For a program; the names are documented and stay
    Json,
    /// Folded stacks for a flame graph: one line per step, in nanoseconds
    Folded,
    /// A picture of the chain: a row for each step at its time, with its sentence
    Svg,
    /// A picture of the same time as a flame graph: who waited for whom, down to what the time was
    Flamegraph,
}

/// Show why something took as long as it did: who waited for whom, back to what ended the wait
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff why boot.etl                             the critical path of each phase
  onoff why boot.etl --phase WinLogonInit
  onoff why boot.etl --phase                     the longest phase
  onoff why boot.etl --service Spooler           what its start waited for
  onoff why sleep.etl --device 'ROOT\\MSPIWDDEV\\*'
  onoff why boot.etl --process winlogon.exe --min 500 --top 3
  onoff why boot.etl --thread 604 --at 12.5s     the wait that was under way then
  onoff why boot.etl --service Spooler --symbols 'C:\\build;srv*C:\\symbols'
  onoff why boot.etl --phase --format svg -o chain.svg
  onoff why boot.etl --format flamegraph -o flame.svg
  onoff why boot.etl --format folded | inferno-flamegraph --countname ns > boot.svg

A chain goes from the end back: a thread ran, or had no processor, or waited; what ended
the wait is followed, through other threads, to a timer, a file on a disk or a driver.
It needs context switches and ready-thread events, as 'xbootmgr -traceFlags dispatcher'
and 'wpr -start CPU' record them, and says what was missing.

{EXIT_CODES}"))]
pub struct WhyArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// The long waits of this process's threads: image name or id, * for any text
    #[arg(long, value_name = "NAME", group = "about")]
    pub process: Option<String>,

    /// The long waits of this thread
    #[arg(long, value_name = "ID", group = "about")]
    pub thread: Option<u32>,

    /// The start or stop of this service
    #[arg(long, value_name = "NAME", group = "about")]
    pub service: Option<String>,

    /// The requests to this device: instance, description, friendly name or driver
    #[arg(long, value_name = "NAME", group = "about")]
    pub device: Option<String>,

    /// This phase of a transition; without NAME the longest [default: all phases]. With --process, --thread, --service or --device,
    /// only what was under way in it
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "")]
    pub phase: Option<String>,

    /// Only phases of this kind of transition
    #[arg(long, value_name = "KIND", value_parser = super::one_of(&super::TRANSITIONS), conflicts_with_all = ["process", "thread", "service", "device"])]
    pub transition: Option<TransitionKind>,

    /// Only what was under way at this time: 1234[s|ms|us|ns] from the recording's start (µs without a unit), or
    /// yyyy/mm/dd:hh:mm:ss.ffff in the recorded machine's local time, with +UTC in UTC
    #[arg(long, value_name = "TIME")]
    pub at: Option<String>,

    /// Only what took at least so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10)]
    pub min: u32,

    /// At most so many stretches, the longest; phases are all shown
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top: usize,

    /// Steps of each chain in text, the longest
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub steps: usize,

    /// Also show waits for work: idle threads
    #[arg(long)]
    pub idle: bool,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: WhyFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
