//! The arguments of `onoff devices`.

use clap::Args;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// List the work on devices and drivers: loads, starts, enumerations
#[derive(Debug, Args)]
#[command(mut_arg("processes", |argument| argument.hide(true)), after_help = format!("\
Examples:
  onoff devices boot.etl                             the longest
  onoff devices boot.etl --sort 'until pending'      who kept others waiting
  onoff devices boot.etl --range 1s 5s --sort start
  onoff devices boot.etl --format csv -o devices.csv

A driver that answers 'pending' lets others go on: 'until pending' is what it kept them
waiting, 'pended' what it then did on its own.

{EXIT_CODES}"))]
pub struct DevicesArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    // The recording does not tell which process a device's work was for.
    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
