//! The arguments of `onoff export`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use onoff_trace::{DECLARATIONS, TableName};

use super::symbols::SymbolArguments;
use super::{EXIT_CODES, RecordingArguments};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto: open it at ui.perfetto.dev, or query it with trace_processor
    Perfetto,
    /// Firefox Profiler: open it at profiler.firefox.com
    Firefox,
    /// Chrome's Trace Event format: JSON for chrome://tracing and many other viewers
    Chrome,
    /// CPU samples for 'go tool pprof' and other readers of its profiles
    Pprof,
    /// OpenTelemetry spans as OTLP/JSON: transitions, phases, services, devices
    Otlp,
    /// OpenMetrics text, e.g. for the textfile collector of the Prometheus node exporter
    Openmetrics,
    /// Tables as Parquet files, for DuckDB, Polars, pandas, Spark
    Parquet,
    /// Tables as Arrow files (Feather 2)
    Arrow,
    /// Tables as comma-separated values
    Csv,
}

/// Export a recording to another viewer, or its tables to a database
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff export boot.etl --format perfetto -o boot.perfetto-trace
  onoff export boot.etl --format firefox -o boot.json
  onoff export boot.etl --format otlp -o boot.json
  onoff export boot.etl --format openmetrics -o boot.prom
  onoff export boot.etl --format parquet -o boot-tables
  onoff export boot.etl --format csv --tables disk_ios,processes -o boot-csv

The Perfetto file has phases, findings, processors, disks, the critical path, devices, services, \
processes and the log as tracks, and ready-thread events as flows. The Firefox Profiler file has \
samples with call stacks by thread, with function names if '--symbols' finds the PDB files, and \
everything else as markers. Both viewers run in the browser and do not upload the file.

The Chrome file has the same tracks as the Perfetto file. The pprof file has the samples only. OTLP has a trace for each \
transition, with findings as events; send it to the path /v1/traces of a receiver. The metrics have the numbers \
of 'onoff summary', in seconds.

Parquet, Arrow and CSV go into a new folder: one file per table, with rows in chronological \
order, and recording.json, which describes the recording and its losses. Times are in nanoseconds from \
the first event of the recording. Units and descriptions of the columns are in the Parquet and \
Arrow files and in docs/src/reference/tables.md in the source.

{EXIT_CODES}"))]
pub struct ExportArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormat,

    /// Tables to write (comma-separated), even if empty [default: every table with rows]
    #[arg(long, value_name = "TABLES", value_delimiter = ',', value_parser = table_names())]
    pub tables: Option<Vec<TableName>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    /// The file to write; for tables, the folder to create
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: PathBuf,
}

fn table_names() -> impl TypedValueParser<Value = TableName> {
    PossibleValuesParser::new(DECLARATIONS.iter().map(|table| table.name.as_str()))
        .try_map(|name| TableName::named(&name).ok_or("unknown table"))
}
