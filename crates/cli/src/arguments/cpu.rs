//! The arguments of `onoff cpu`.

use clap::{Args, ValueEnum};
use onoff_analysis::lists::cpu::CpuGroup;
use onoff_analysis::lists::functions::{CodeGroup, TimeOf};

use super::storage::Grouping;
use super::symbols::SymbolArguments;
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
    /// Function in which samples found the processor
    Function,
    /// Call stack with which samples found it
    Stack,
}

impl By {
    /// What rows are grouped by, when functions are listed of `of`: the modules of samples have a list with more columns.
    pub const fn of(self, of: Option<Of>) -> Grouping<CpuGroup> {
        match self {
            Self::Process => Grouping::Key(CpuGroup::Process),
            Self::Thread => Grouping::Key(CpuGroup::Thread),
            Self::Priority => Grouping::Key(CpuGroup::Priority),
            Self::Module if of.is_some() => Grouping::Code(CodeGroup::Module),
            Self::Module => Grouping::Key(CpuGroup::Module),
            Self::Processor => Grouping::Key(CpuGroup::Processor),
            Self::Function => Grouping::Code(CodeGroup::Function),
            Self::Stack => Grouping::Code(CodeGroup::Stack),
        }
    }
}

/// What functions are listed of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Of {
    /// Samples that found a thread on a processor
    Samples,
    /// Waits: from a thread's leaving a processor to its return
    Waits,
}

impl From<Of> for TimeOf {
    fn from(of: Of) -> Self {
        match of {
            Of::Samples => Self::Samples,
            Of::Waits => Self::Waits,
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
  onoff cpu boot.etl --by function --symbols 'srv*C:\\symbols' --phase WinLogonInit
  onoff cpu boot.etl --by stack --of waits --process explorer.exe
  onoff cpu boot.etl --format svg -o flames.svg         a flame graph

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

    /// With '--by module', 'function' or 'stack', and in pictures: of what; samples unless this says otherwise
    #[arg(long, value_name = "WHAT")]
    pub of: Option<Of>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
