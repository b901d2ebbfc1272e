//! The arguments of `onoff summary`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// For people: a table, then what was not read
    Text,
    /// For programs; names are documented and stable
    Json,
    /// For a spreadsheet: one header line with the JSON names, numbers without units
    Csv,
    /// A picture: a bar per transition
    Svg,
    /// The text as an HTML page without scripts, to mail or print
    Html,
    /// Tables as Parquet files, for DuckDB, Polars, pandas, Spark
    Parquet,
}

/// Summarize many recordings: one row per boot, shutdown, sleep and network boot
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  onoff summary *.etl
  onoff summary recordings/   every recording, including subfolders
  onoff summary recordings/ --sort took --top 10   the ten slowest
  onoff summary recordings/ --format csv -o boots.csv
  onoff summary recordings/ --format svg -o boots.svg   a bar per transition
  onoff summary winevt/Logs      a row per boot in event logs of Windows
  onoff summary recordings/ --format parquet -o tables   everything, as tables

Each row shows the kind of transition, its duration, its longest phase, and what to fix first. \
An unreadable recording becomes a row with the error; the exit code is then 1. Event logs have a \
row for each boot of which Windows wrote an account; unreadable logs are named below the table.

Parquet goes into a new folder, with a table in each subfolder: recordings, transitions, phases, \
account, services, devices, findings, losses and versions. To add new recordings to the folder \
each night, or for Delta tables, use the onoff command of the Python package \
(pip install 'onoff-perf[fleet]').")]
pub struct SummaryArguments {
    /// Recordings, or folders of recordings. Logs recorded together count as one recording, as do the parts of a Linux
    /// recording in one folder
    #[arg(required = true, value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,

    /// Sort by this column (name or title). Numbers sort in descending order, names alphabetically [default: order of
    /// the files]
    #[arg(long, value_name = "COLUMN")]
    pub sort: Option<String>,

    /// Reverse the order
    #[arg(long)]
    pub reverse: bool,

    /// Rows to show, 0 for all
    #[arg(long, value_name = "N", default_value = "0")]
    pub top: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: SummaryFormat,

    /// Write to a file; for Parquet, the folder to create
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
}
