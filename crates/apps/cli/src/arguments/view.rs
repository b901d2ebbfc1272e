//! The arguments of `onoff view`.

use std::path::PathBuf;

use clap::Args;

use super::compare::SidesArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// See recordings: a page in the browser, or one file to mail
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff view boot.etl                        open the browser
  onoff view boot.etl --firmware FBPT.bin --capture boot.pcapng
                                             with the time before the kernel
  onoff view netboot.pcapng                  the packets of a network boot
  onoff view before.etl after.etl            two recordings on one page
  onoff view --baseline old/ --candidate new/
                                             what differs, a dot for each run
  onoff view boot.etl -o report.html         one file that needs no server and no network
  onoff view boot.etl --no-open --port 8080  only print the address

The page is served on this computer only (127.0.0.1), behind a token in its address. Ctrl-C ends it.

{EXIT_CODES}"))]
pub struct ViewArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    #[command(flatten)]
    pub sides: SidesArguments,

    /// What the firmware says about the same boot: its tables, as 'onoff firmware' takes them; may be repeated
    #[arg(long = "firmware", value_name = "FILE")]
    pub firmware: Vec<PathBuf>,

    /// What packets show of the same boot: a network capture, as 'onoff netboot' takes it; may be repeated for its parts
    #[arg(long = "capture", value_name = "FILE")]
    pub capture: Vec<PathBuf>,

    /// Port of the page on 127.0.0.1 [default: any free one]
    #[arg(long, value_name = "PORT", conflicts_with = "output")]
    pub port: Option<u16>,

    /// Do not open the browser, only print the address
    #[arg(long, conflicts_with = "output")]
    pub no_open: bool,

    #[command(flatten)]
    pub output: OutputArguments,
}
