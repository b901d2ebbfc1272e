//! `onoff image`.

use std::path::PathBuf;

use clap::Args;
use onoff_report::text::image::ImageRows;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

/// What the rows of `--format csv` are.
const ROWS: [Choice<ImageRows>; 2] =
    [("service", "Services and drivers", ImageRows::Services), ("finding", "Findings", ImageRows::Findings)];

/// Say what will make a Windows installation slow, before it boots: from its registry and files, on any computer
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff image /mnt/c                            a mounted or extracted volume
  onoff image SYSTEM SOFTWARE BCD               single hives, with the logs that lie by them
  onoff image /mnt/c --needed services.txt      which services are not needed
  onoff image new/ --compare old/               what changed between two images
  onoff image /mnt/c --trace work.etl --overlay-size 1GiB   when a write filter's overlay is full
  onoff image /mnt/c --format csv -o services.csv

Reads hives (SYSTEM, SOFTWARE, NTUSER.DAT, BCD) also when they are damaged, behind their logs, or
packed one by one (.xz, .gz, .zst).
With a whole volume also what Windows reads ahead, the hibernation file and the signatures of
drivers. A WIM file has to be mounted or extracted first. With a recording of the same computer:
'onoff diagnose boot.etl --image PATH'.

{EXIT_CODES}"))]
pub struct ImageArguments {
    /// The root of a volume of Windows, a folder with hives, or hives
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Show what changed since another image
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    /// The services that the computer needs: a file with a name in each line, # begins a comment
    #[arg(long, value_name = "FILE")]
    pub needed: Option<PathBuf>,

    /// The computer loses power without a shutdown
    #[arg(long)]
    pub power_cut: bool,

    /// A recording of the computer at work with disk writes, for how fast a write filter's overlay fills; may be repeated
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,

    /// Most bytes of the overlay [default: as the filter is set]
    #[arg(long, value_name = "SIZE")]
    pub overlay_size: Option<String>,

    /// Bytes of a cluster, what one write takes in the overlay
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    pub cluster: String,

    /// A folder or file whose writes stay, besides the filter's own exclusions; may be repeated
    #[arg(long = "exclude", value_name = "PATH")]
    pub exclusions: Vec<String>,

    /// Rows of '--format csv'
    #[arg(long, value_name = "WHAT", default_value = "service", value_parser = one_of(&ROWS))]
    pub by: ImageRows,

    /// Rows of each list of the text, 0 for all; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
