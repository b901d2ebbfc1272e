//! The arguments of `onoff interrupts`.

use clap::Args;
use onoff_lists::interrupts::InterruptGroup;

use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

const GROUPS: [Choice<InterruptGroup>; 3] = [
    ("module", "Module of the routine (the driver)", InterruptGroup::Module),
    ("routine", "Address of the routine", InterruptGroup::Routine),
    ("processor", "Processor", InterruptGroup::Processor),
];

/// Show interrupts and deferred procedure calls (DPCs): driver, count, duration
#[derive(Debug, Args)]
#[command(mut_arg("processes", |argument| argument.hide(true)), after_help = format!("\
Examples:
  onoff interrupts trace.etl                  by driver
  onoff interrupts trace.etl --sort longest   by longest interrupt or DPC
  onoff interrupts trace.etl --by routine --range 10s 20s
  onoff interrupts trace.etl --by module,processor --format csv

An interrupt belongs to the range in which it ended. If one interrupts another, the time counts \
in both rows, but only once in the shares by processor.

{EXIT_CODES}"))]
pub struct InterruptsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Group by kind and this key; separate several keys with commas
    #[arg(long = "by", value_name = "KEY", value_delimiter = ',', default_value = "module", value_parser = one_of(&GROUPS))]
    pub group_by: Vec<InterruptGroup>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
