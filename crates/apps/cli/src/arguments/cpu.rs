//! The arguments of `onoff cpu`.

use clap::Args;
use onoff_lists::cpu::CpuGroup;
use onoff_lists::functions::{CodeGroup, TimeOf};

use super::storage::Grouping;
use super::symbols::SymbolArguments;
use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

/// What processor time is told apart by.
const GROUPS: [Choice<Grouping<CpuGroup>>; 7] = [
    ("process", "Process", Grouping::Key(CpuGroup::Process)),
    ("thread", "Thread: its process, name, service, and the module it began in", Grouping::Key(CpuGroup::Thread)),
    ("priority", "Priority the thread ran at", Grouping::Key(CpuGroup::Priority)),
    ("module", "Module in which samples found the processor", Grouping::Key(CpuGroup::Module)),
    ("processor", "Processor", Grouping::Key(CpuGroup::Processor)),
    ("function", "Function in which samples found the processor", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack with which samples found it", Grouping::Code(CodeGroup::Stack)),
];

/// What functions are listed of.
const TIMES: [Choice<TimeOf>; 2] = [
    ("samples", "Samples that found a thread on a processor", TimeOf::Samples),
    ("waits", "Waits: from a thread's leaving a processor to its return", TimeOf::Waits),
];

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
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "process", value_parser = one_of(&GROUPS))]
    pub by: Vec<Grouping<CpuGroup>>,

    /// With '--by module', 'function' or 'stack', and in pictures: of what; samples unless this says otherwise
    #[arg(long, value_name = "WHAT", value_parser = one_of(&TIMES))]
    pub of: Option<TimeOf>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
