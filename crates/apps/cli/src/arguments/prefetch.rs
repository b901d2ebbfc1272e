//! `onoff prefetch`.

use std::path::PathBuf;

use clap::Args;
use onoff_report::text::prefetch::PrefetchRows;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

/// What the rows of `--format csv` are.
const ROWS: [Choice<PrefetchRows>; 4] = [
    ("plan", "Plans", PrefetchRows::Plans),
    ("file", "Files that plans read", PrefetchRows::Files),
    ("volume", "Volumes", PrefetchRows::Volumes),
    ("boot", "Boots that ReadyBoot kept", PrefetchRows::Boots),
];

/// Show what Windows reads ahead when it boots and starts programs, and whether it is trained
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff prefetch /mnt/c                      the volume of a Windows computer
  onoff prefetch C:\\Windows\\Prefetch         on the computer itself, as administrator
  onoff prefetch NOTEPAD.EXE-D8414F97.pf     one plan
  onoff prefetch /mnt/c --program EXPLORER.EXE --program APP.EXE   what they read together
  onoff prefetch /mnt/c --trace boot.etl     with what the read-ahead did in a recorded boot
  onoff prefetch /mnt/c --format csv --by file -o files.csv

Reads plans (.pf, Windows XP to 11), Layout.ini, ReadyBoot's Trace*.fx and rblayout.xin
(experimental), and the headers of SuperFetch's databases. With the volume's root, plans are
compared with the files they read. How to train: 'onoff record boot --plan windows --train'.

{EXIT_CODES}"))]
pub struct PrefetchArguments {
    /// Files, folders of them, or the root of a mounted or extracted Windows volume
    #[arg(required_unless_present = "trace", value_name = "PATH")]
    pub paths: Vec<PathBuf>,

    /// A recording of a boot, for what its read-ahead did; may be repeated for a boot in several files
    #[arg(long, value_name = "FILE")]
    pub trace: Vec<PathBuf>,

    /// Only this program's plans in the list of files: image name; may be repeated
    #[arg(long = "program", value_name = "NAME")]
    pub programs: Vec<String>,

    /// Rows of '--format csv'
    #[arg(long, value_name = "WHAT", default_value = "plan", value_parser = one_of(&ROWS))]
    pub by: PrefetchRows,

    /// Rows of each list of the text, 0 for all; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
