//! The arguments of `onoff export`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{EXIT_CODES, RecordingArguments};

/// Which viewer the file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Perfetto: open it at ui.perfetto.dev, or ask trace_processor
    Perfetto,
    /// The Firefox Profiler: open it at profiler.firefox.com
    Firefox,
}

/// Write a recording as a file that another viewer opens
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff export boot.etl --format perfetto -o boot.perfetto-trace
  onoff export boot.etl --format firefox -o boot.json

Perfetto gets phases, findings, processors, disks, the critical path, devices, services,
processes and the log as tracks, and who made whom ready as flows. The Firefox Profiler
gets samples with their stacks by thread, and the others as markers. Both viewers read
the file in the browser; neither sends it anywhere.

{EXIT_CODES}"))]
pub struct ExportArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Which viewer the file is for
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormat,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}
