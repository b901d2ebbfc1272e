//! The arguments of `onoff interrupts`.

use clap::{Args, ValueEnum};
use onoff_analysis::lists::interrupts::InterruptGroup;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// What interrupts are distinguished by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Module of the routine: the driver
    Module,
    /// Routine, by its address
    Routine,
    /// Processor
    Processor,
}

impl From<By> for InterruptGroup {
    fn from(by: By) -> Self {
        match by {
            By::Module => Self::Module,
            By::Routine => Self::Routine,
            By::Processor => Self::Processor,
        }
    }
}

/// Show interrupts and deferred procedure calls (DPCs): whose, how many, how long
#[derive(Debug, Args)]
#[command(mut_arg("processes", |argument| argument.hide(true)), after_help = format!("\
Examples:
  onoff interrupts trace.etl                         by driver
  onoff interrupts trace.etl --sort longest          who blocks a processor longest
  onoff interrupts trace.etl --by routine --range 10s 20s
  onoff interrupts trace.etl --by module,processor --format csv

One counts in the range in which it ended. When one interrupts another, both rows have
that time; the shares by processor count it once.

{EXIT_CODES}"))]
pub struct InterruptsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What to tell apart, besides the kind; several with commas
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "module")]
    pub by: Vec<By>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
