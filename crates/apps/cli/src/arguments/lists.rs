//! The shared arguments of list verbs without options of their own.

use clap::Args;

use super::table::TableArguments;
use super::{OutputArguments, RecordingArguments};

pub const PROCESSES: &str = "\
Examples:
  onoff processes boot.etl                        highest CPU usage first
  onoff processes boot.etl --sort start --top 0   all, in start order
  onoff processes boot.etl --range 10s 20s        usage within ten seconds
  onoff processes boot.etl --process 'svchost*' --format csv -o svchost.csv

A process that existed before the recording has no start; one that outlived it has no end.";

pub const SERVICES: &str = "\
Examples:
  onoff services boot.etl                        all starts, in order
  onoff services boot.etl --sort took --top 10   the ten slowest
  onoff services boot.etl --range 10s 20s        starts within ten seconds
  onoff services boot.etl --process svchost.exe --format csv

'host process' is the time until the host process existed, 'image load' the time to load the \
service into it, 'initialization' the time the service took to initialize. 'held up' counts the \
services that waited for it, directly or indirectly.";

pub const DEVICES: &str = "\
Examples:
  onoff devices boot.etl                          longest first
  onoff devices boot.etl --sort 'until pending'   drivers that blocked others
  onoff devices boot.etl --range 1s 5s --sort start
  onoff devices boot.etl --format csv -o devices.csv

A driver that pends a request lets others continue: 'until pending' is the time it blocked them, \
'pended' the time it worked in parallel.";

pub const POLICY: &str = "\
Examples:
  onoff policy boot.etl
  onoff policy boot.etl --sort took
  onoff policy boot.etl --format json | jq '.works[] | {name, duration_ns}'

The time of an extension or script is included in the time of its policy.";

#[derive(Debug, Args)]
pub struct ListArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
