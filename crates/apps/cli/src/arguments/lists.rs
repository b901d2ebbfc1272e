//! The arguments of the verbs that list rows of a range, and have none of their own.

use clap::Args;

use super::table::TableArguments;
use super::{OutputArguments, RecordingArguments};

/// Examples of `onoff processes`.
pub const PROCESSES: &str = "\
Examples:
  onoff processes boot.etl                         who used the processors most
  onoff processes boot.etl --sort start --top 0    all, in the order of their start
  onoff processes boot.etl --range 10s 20s         what they used in ten seconds
  onoff processes boot.etl --process 'svchost*' --format csv -o svchost.csv

A process that existed before the recording has no start, one that outlived it no end.";

/// Examples of `onoff services`.
pub const SERVICES: &str = "\
Examples:
  onoff services boot.etl                            all starts, in their order
  onoff services boot.etl --sort took --top 10       the slowest
  onoff services boot.etl --range 10s 20s            those under way in ten seconds
  onoff services boot.etl --process svchost.exe --format csv

Container is the time until the host process was there, image load the time to load the
service into it, init the service's own work. 'held up' counts the services that waited for
it, directly or in turn.";

/// Examples of `onoff devices`.
pub const DEVICES: &str = "\
Examples:
  onoff devices boot.etl                             the longest
  onoff devices boot.etl --sort 'until pending'      who kept others waiting
  onoff devices boot.etl --range 1s 5s --sort start
  onoff devices boot.etl --format csv -o devices.csv

A driver that answers 'pending' lets others go on: 'until pending' is what it kept them
waiting, 'pended' what it then did on its own.";

/// Examples of `onoff policy`.
pub const POLICY: &str = "\
Examples:
  onoff policy boot.etl
  onoff policy boot.etl --sort took
  onoff policy boot.etl --format json | jq '.works[] | {name, duration_ns}'

An extension's or a script's time is part of the policy's it belongs to.";

/// What is listed, in which range, and where to.
#[derive(Debug, Args)]
pub struct ListArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
