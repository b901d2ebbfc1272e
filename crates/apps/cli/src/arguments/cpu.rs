//! The arguments of `onoff cpu`.

use clap::Args;
use onoff_lists::cpu::CpuGroup;
use onoff_lists::functions::{CodeGroup, TimeKind};

use super::storage::Grouping;
use super::symbols::SymbolArguments;
use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

const GROUPS: [Choice<Grouping<CpuGroup>>; 7] = [
    ("process", "Process", Grouping::Key(CpuGroup::Process)),
    ("thread", "Thread: process, name, service and start module", Grouping::Key(CpuGroup::Thread)),
    ("priority", "Thread priority", Grouping::Key(CpuGroup::Priority)),
    ("module", "Module of each CPU sample", Grouping::Key(CpuGroup::Module)),
    ("processor", "Processor", Grouping::Key(CpuGroup::Processor)),
    ("function", "Function of each CPU sample", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack of each CPU sample", Grouping::Code(CodeGroup::Stack)),
];

const TIME_KINDS: [Choice<TimeKind>; 2] = [
    ("samples", "CPU samples", TimeKind::Samples),
    ("waits", "Waits: from a thread's switch out to its switch in", TimeKind::Waits),
];

/// Show CPU usage, and which threads waited for a processor
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff cpu boot.etl                               by process
  onoff cpu boot.etl --range 25s 32s --by thread   threads within seven seconds
  onoff cpu boot.etl --by process,priority
  onoff cpu boot.etl --process CloudBox.exe --by module
  onoff cpu boot.etl --by thread --sort ready      longest wait for a processor
  onoff cpu boot.etl --by processor --format csv
  onoff cpu boot.etl --by function --symbols 'srv*C:\\symbols' --phase PostBoot
  onoff cpu boot.etl --by stack --of waits --process explorer.exe
  onoff cpu boot.etl --format svg -o flames.svg    a flame graph

Times are exact if context switches were recorded, otherwise estimated from profile samples; \
times by module are always estimates. Interrupts and DPCs count toward the thread they \
interrupted; the column 'in interrupts' shows how much of its time they took.

{EXIT_CODES}"))]
pub struct CpuArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Group by; separate several keys with commas
    #[arg(long = "by", value_name = "KEY", value_delimiter = ',', default_value = "process", value_parser = one_of(&GROUPS))]
    pub group_by: Vec<Grouping<CpuGroup>>,

    /// What to count with '--by module', 'function' or 'stack' and in flame graphs [default: samples]
    #[arg(long = "of", value_name = "WHAT", value_parser = one_of(&TIME_KINDS))]
    pub time_kind: Option<TimeKind>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
