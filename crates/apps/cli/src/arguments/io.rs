//! The arguments of `onoff io`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use onoff_record::file_operations::Tracer;
use onoff_requests::GroupKey;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

const GROUPS: [Choice<GroupKey>; 7] = [
    ("process", "Process", GroupKey::Process),
    ("file", "File", GroupKey::File),
    ("extension", "File name extension", GroupKey::Extension),
    ("folder", "Folder of the file", GroupKey::Folder),
    ("handle", "Open file handle", GroupKey::Handle),
    ("slice", "Time slice (--slice)", GroupKey::Slice),
    ("phase", "Phase of the boot, shutdown or sleep", GroupKey::Phase),
];

/// Show how programs access files: request sizes, pages, patterns, and the effect of a buffer, a cache or a filter
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = format!("\
Examples:
  onoff io capture.pml                   Process Monitor (.pml, CSV or XML)
  onoff io trace.etl --by process        Windows, with file events
  onoff io boot.etl --by phase,process   file access by boot phase
  onoff io record -- ls -R /etc          a command, run under strace
  onoff io strace.txt --filter key-blocks=1,block=4096 \\
      --device latency=100us,bandwidth=20MB/s
  onoff io with-filter.csv --compare without.csv
  onoff io trace.csv --format csv -o requests.csv

Reads Windows event traces (FileIo, DiskIo, Microsoft-Windows-Kernel-File), Process Monitor (.pml, \
CSV and XML), strace, Linux ftrace and trace-cmd (block and syscalls events), blkparse, fio's I/O \
and latency logs, darshan-dxt-parser, and CSV with the columns time, pid, process, file, \
operation, offset, length. onoff detects the format from the contents.

{EXIT_CODES}"))]
pub struct IoArguments {
    /// Record a command instead
    #[command(subcommand)]
    pub action: Option<IoAction>,

    /// The recording
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Show what changed compared with another recording
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    #[command(flatten)]
    pub analysis: IoAnalysisArguments,
}

#[derive(Debug, Subcommand)]
pub enum IoAction {
    /// Run a command under a tracer, and show how it and its children access files (Linux)
    Record(IoRecordArguments),
}

const TRACERS: [Choice<Tracer>; 2] =
    [("strace", "strace", Tracer::Strace), ("ftrace", "The kernel's tracer", Tracer::Ftrace)];

#[derive(Debug, Args)]
pub struct IoRecordArguments {
    /// Tracer: strace names every file but slows down the command; ftrace, the kernel's tracer, has little overhead,
    /// but needs root, and names files only on Linux 6.19 and later
    #[arg(long, default_value = "strace", value_parser = one_of(&TRACERS))]
    pub tracer: Tracer,

    /// Keep the recording in this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,

    #[command(flatten)]
    pub analysis: IoAnalysisArguments,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct IoAnalysisArguments {
    /// Group by (comma-separated)
    #[arg(long = "by", value_name = "KEYS", value_delimiter = ',', default_value = "process,file", value_parser = one_of(&GROUPS))]
    pub group_by: Vec<GroupKey>,

    /// Length of a time slice for --by slice
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub slice: String,

    /// Page size
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    pub page: String,

    /// Model an uncached filter: extra blocks it reads per request, and the block size (replaces --page)
    #[arg(long, value_name = "key-blocks=N,block=SIZE")]
    pub filter: Option<String>,

    /// Model a device by latency and bandwidth. Without this, the device model is fitted to the recorded disk reads
    #[arg(long, value_name = "latency=TIME,bandwidth=SIZE/s")]
    pub device: Option<String>,

    /// Size of the buffer in the buffering estimate
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub buffer: String,

    /// Pages per read in the read-ahead estimate
    #[arg(long, value_name = "PAGES", default_value_t = 8)]
    pub read_ahead: u64,

    /// Only this time range, end excluded, such as '1.5s 3s'
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// Only this process: image name, * as a wildcard; can be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Rows per list in text, 0 for all; other formats show all rows
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
