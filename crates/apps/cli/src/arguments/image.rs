//! The arguments of `onoff image`.

use std::path::PathBuf;

use clap::Args;
use onoff_report::text::image::ImageRows;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

const ROWS: [Choice<ImageRows>; 2] =
    [("service", "Services and drivers", ImageRows::Services), ("finding", "Findings", ImageRows::Findings)];

/// Find what will slow down a Windows installation before it boots, from its registry and files, on any computer
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff image /mnt/c                         a mounted or extracted volume
  onoff image SYSTEM SOFTWARE BCD            single hives, with their logs
  onoff image /mnt/c --needed services.txt   services that are not needed
  onoff image new/ --compare old/            changes between two images
  onoff image /mnt/c --trace work.etl --overlay-size 1GiB
                                             time until the overlay is full
  onoff image /mnt/c --format csv -o services.csv

Reads registry hives (SYSTEM, SOFTWARE, NTUSER.DAT, BCD), even if they are damaged, have \
unapplied logs, or are compressed individually (.xz, .gz, .zst). From a whole volume, it also \
reads prefetch files, the hibernation file and driver signatures. Mount or extract a WIM file \
first. If you have a recording of the same computer, use 'onoff diagnose boot.etl --image PATH'.

{EXIT_CODES}"))]
pub struct ImageArguments {
    /// Root of a Windows volume, a folder with hives, or hives
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Show what changed compared with another image
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    /// File with the services the computer needs, one name per line; # starts a comment
    #[arg(long, value_name = "FILE")]
    pub needed: Option<PathBuf>,

    /// Assume that the computer is switched off without a shutdown
    #[arg(long)]
    pub power_cut: bool,

    /// Recording of disk writes while the computer was in use, to estimate how fast the write filter overlay fills; can
    /// be repeated
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,

    /// Maximum size of the overlay [default: the filter's setting]
    #[arg(long, value_name = "SIZE")]
    pub overlay_size: Option<String>,

    /// Cluster size: the space one write takes in the overlay
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    pub cluster: String,

    /// Folder or file that bypasses the overlay, in addition to the filter's exclusions; can be repeated
    #[arg(long = "exclude", value_name = "PATH")]
    pub exclusions: Vec<String>,

    /// What the rows of '--format csv' are
    #[arg(long = "by", value_name = "WHAT", default_value = "service", value_parser = one_of(&ROWS))]
    pub rows: ImageRows,

    /// Rows per list in text, 0 for all; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub top: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
