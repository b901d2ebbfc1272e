//! The arguments of `onoff interrupts`.

use clap::Args;
use onoff_lists::interrupts::InterruptGroup;

use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

/// What interrupts are distinguished by.
const GROUPS: [Choice<InterruptGroup>; 3] = [
    ("module", "Module of the routine: the driver", InterruptGroup::Module),
    ("routine", "Routine, by its address", InterruptGroup::Routine),
    ("processor", "Processor", InterruptGroup::Processor),
];

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
    #[arg(long, value_name = "WHAT", value_delimiter = ',', default_value = "module", value_parser = one_of(&GROUPS))]
    pub by: Vec<InterruptGroup>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
