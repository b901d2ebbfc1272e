//! The arguments of `onoff processes`.

use clap::Args;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// List processes: when they lived, who started them, what they used of processors and disks
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff processes boot.etl                         who used the processors most
  onoff processes boot.etl --sort start --top 0    all, in the order of their start
  onoff processes boot.etl --range 10s 20s         what they used in ten seconds
  onoff processes boot.etl --process 'svchost*' --format csv -o svchost.csv

A process that existed before the recording has no start, one that outlived it no end.

{EXIT_CODES}"))]
pub struct ProcessesArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
