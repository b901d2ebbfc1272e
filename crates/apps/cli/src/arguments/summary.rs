//! The arguments of `onoff summary` as typed.

use std::path::PathBuf;

use clap::Args;

use super::OutputArguments;
use super::table::TableFormat;

/// Show many recordings at once: a row each boot, shutdown, sleep and network boot
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff summary *.etl
  onoff summary recordings/              every recording in a folder and below
  onoff summary recordings/ --sort took --top 10   the ten that took longest
  onoff summary recordings/ --format csv -o boots.csv
  onoff summary recordings/ --format svg -o boots.svg   a bar for each, its longest phase in it

A row says what the recording is of, how long it took, which phase took longest, and who held
that phase longest by its account. A recording that cannot be read is a row with its error; the
exit code is 1 then, and the others are answered.

For fleets: the onoff of the Python package (pip install 'onoff-perf[fleet]') also takes
'--format parquet' or 'delta' with '-o DIR': tables of transitions, phases, services, findings and
more, for which nothing is read twice.")]
pub struct SummaryArguments {
    /// Recordings, and folders of them. Logs that were recorded together are one recording; so are the parts of a Linux
    /// recording below one folder
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,

    /// Sort by this column: its name or its title. Quantities come largest first, names by the alphabet [default: the
    /// order of the files]
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Rows to show, 0 for all
    #[arg(long, value_name = "N", default_value = "0")]
    pub top: usize,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
