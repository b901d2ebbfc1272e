//! The arguments of `onoff cpu`.

use clap::{Args, ValueEnum};
use onoff_analysis::lists::cpu::CpuGroup;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// What processor time is told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Process
    Process,
    /// Thread: its process, name, service, and the module it began in
    Thread,
    /// Priority the thread ran at
    Priority,
    /// Module in which samples found the processor
    Module,
    /// Processor
    Processor,
}

impl From<By> for CpuGroup {
    fn from(by: By) -> Self {
        match by {
            By::Process => Self::Process,
            By::Thread => Self::Thread,
            By::Priority => Self::Priority,
            By::Module => Self::Module,
            By::Processor => Self::Processor,
        }
    }
}

/// Show who used the processors, and who waited for one
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff cpu boot.etl                                   by process
  onoff cpu boot.etl --range 25s 32s --by thread       the threads of seven seconds
  onoff cpu boot.etl --by process,priority
  onoff cpu boot.etl --process CloudBox.exe --by module
  onoff cpu boot.etl --by thread --sort ready          who waited longest for a processor
  onoff cpu boot.etl --by processor --format csv

Times are exact where context switches were recorded, else estimated from profile samples;
modules always are. Interrupts and DPCs count for the thread they interrupted; the column
'in interrupts' says how much of its time they took.

{EXIT_CODES}"))]
pub struct CpuArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What to tell apart; several with commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "process")]
    pub by: Vec<By>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
