//! The arguments of `onoff services`.

use clap::Args;

use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// List starts and stops of services, and who waited for whom
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff services boot.etl                            all starts, in their order
  onoff services boot.etl --sort took --top 10       the slowest
  onoff services boot.etl --range 10s 20s            those under way in ten seconds
  onoff services boot.etl --process svchost.exe --format csv

Container is the time until the host process was there, image load the time to load the
service into it, init the service's own work. 'held up' counts the services that waited for
it, directly or in turn.

{EXIT_CODES}"))]
pub struct ServicesArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
