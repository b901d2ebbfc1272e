//! The arguments of `onoff view`.

use std::path::PathBuf;

use clap::Args;

use super::compare::ComparisonArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// Open an interactive report in the browser, or write it to a file
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff view boot.etl                         open it in the browser
  onoff view boot.etl --firmware FBPT.bin --capture boot.pcapng
                                              with the time before the kernel
  onoff view netboot.pcapng                   a network boot, packet by packet
  onoff view before.etl after.etl             two recordings on one page
  onoff view --baseline old/ --candidate new/   differences, a dot per run
  onoff view boot.etl -o report.html          one self-contained file
  onoff view boot.etl --no-open --port 8080   print the address only

The report is served to this computer only (127.0.0.1), at an address with a secret token. Press \
Ctrl-C to stop.

{EXIT_CODES}"))]
pub struct ViewArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub sides: ComparisonArguments,

    /// Firmware tables from the same boot, as for 'onoff firmware'; can be repeated
    #[arg(long = "firmware", value_name = "FILE")]
    pub firmware: Vec<PathBuf>,

    /// Network capture of the same boot, as for 'onoff netboot'; can be repeated for its parts
    #[arg(long = "capture", value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// Port on 127.0.0.1 [default: the same for the same recordings if it is free]
    #[arg(long, value_name = "PORT", conflicts_with = "output")]
    pub port: Option<u16>,

    /// Print the address without opening the browser
    #[arg(long, conflicts_with = "output")]
    pub no_open: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}
