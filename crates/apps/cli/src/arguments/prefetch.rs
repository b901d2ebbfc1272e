//! The arguments of `onoff prefetch`.

use std::path::PathBuf;

use clap::Args;
use onoff_report::text::prefetch::PrefetchRows;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

const ROWS: [Choice<PrefetchRows>; 4] = [
    ("plan", "Plans", PrefetchRows::Plans),
    ("file", "Files in the plans", PrefetchRows::Files),
    ("volume", "Volumes", PrefetchRows::Volumes),
    ("boot", "Boots recorded by ReadyBoot", PrefetchRows::Boots),
];

/// Show what Windows prefetches when it boots and starts programs, and whether it is trained
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff prefetch /mnt/c                     a mounted Windows volume
  onoff prefetch C:\\Windows\\Prefetch        this computer, as administrator
  onoff prefetch NOTEPAD.EXE-D8414F97.pf    one plan
  onoff prefetch /mnt/c --program APP.EXE   files in the plans of a program
  onoff prefetch /mnt/c --trace boot.etl    with a boot's read-ahead
  onoff prefetch /mnt/c --format csv --by file -o files.csv

Reads plans (.pf, Windows XP to 11), Layout.ini, ReadyBoot's Trace*.fx and rblayout.xin \
(experimental), and the headers of Superfetch databases. Given the root of a volume, it compares \
the plans with the files on it. To train the prefetcher, see 'onoff record boot --plan windows --train'.

{EXIT_CODES}"))]
pub struct PrefetchArguments {
    /// Prefetch files, folders of them, or the root of a mounted or extracted Windows volume
    #[arg(required_unless_present = "trace", value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// Recording of a boot, to show its read-ahead; can be repeated for a boot in several files
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,

    /// List files only from the plans of this program (image name); can be repeated
    #[arg(long = "program", value_name = "NAME")]
    pub programs: Vec<String>,

    /// What the rows of '--format csv' are
    #[arg(long = "by", value_name = "WHAT", default_value = "plan", value_parser = one_of(&ROWS))]
    pub rows: PrefetchRows,

    /// Rows per list in text, 0 for all; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
