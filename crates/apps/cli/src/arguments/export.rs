//! The arguments of `onoff export`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use onoff_trace::{DECLARATIONS, TableName};

use super::symbols::SymbolArguments;
use super::{EXIT_CODES, RecordingArguments};

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto: open it at ui.perfetto.dev, or ask trace_processor
    Perfetto,
    /// The Firefox Profiler: open it at profiler.firefox.com
    Firefox,
    /// Tables as Parquet files, for DuckDB, Polars, pandas, Spark
    Parquet,
    /// Tables as Arrow files (Feather 2)
    Arrow,
    /// Tables as comma-separated values
    Csv,
}

/// Write a recording as a file that another viewer opens, or its tables for databases
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff export boot.etl --format perfetto -o boot.perfetto-trace
  onoff export boot.etl --format firefox -o boot.json
  onoff export boot.etl --format parquet -o boot-tables
  onoff export boot.etl --format csv --tables disk_ios,processes -o boot-tables

Perfetto gets phases, findings, processors, disks, the critical path, devices, services,
processes and the log as tracks, and who made whom ready as flows. The Firefox Profiler
gets samples with their stacks by thread, with functions where '--symbols' has their PDB
files, and the others as markers. Both viewers read
the file in the browser; neither sends it anywhere.

Parquet, Arrow and CSV are written into a new folder: one file per table, rows in the order of
time, and recording.json with what the recording is and what its recorder lost. Times are
nanoseconds since the recording's first event. The columns' units and descriptions are in the
files of Parquet and Arrow, and in docs/src/reference/tables.md of the source.

{EXIT_CODES}"))]
pub struct ExportArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What to write
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormat,

    /// Write only these tables (comma-separated), also those without a row [default: every table with rows]
    #[arg(long, value_name = "TABLES", value_delimiter = ',', value_parser = table_names())]
    pub tables: Option<Vec<TableName>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    /// The file to write; of tables, the new folder
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: PathBuf,
}

/// The names of the tables that have rows.
fn table_names() -> impl TypedValueParser<Value = TableName> {
    PossibleValuesParser::new(DECLARATIONS.iter().map(|table| table.name.as_str()))
        .try_map(|name| TableName::named(&name).ok_or("no table is called so"))
}
