//! The arguments of `onoff policy`.

use clap::Args;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// List the work for group policy: for computer and user, extensions, scripts, network waits
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff policy boot.etl
  onoff policy boot.etl --sort took
  onoff policy boot.etl --format json | jq '.works[] | {{name, duration_ns}}'

An extension's or a script's time is part of the policy's it belongs to.

{EXIT_CODES}"))]
pub struct PolicyArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
