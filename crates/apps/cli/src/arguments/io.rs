//! `onoff io`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use onoff_record::file_operations::Tracer;
use onoff_requests::GroupKey;

use super::table::TableFormat;
use super::{Choice, EXIT_CODES, OutputArguments, one_of};

/// What the rows of `onoff io` share.
const GROUPS: [Choice<GroupKey>; 7] = [
    ("process", "The process", GroupKey::Process),
    ("file", "The file", GroupKey::File),
    ("extension", "The extension of the file's name", GroupKey::Extension),
    ("folder", "The file's folder", GroupKey::Folder),
    ("handle", "The open file", GroupKey::Handle),
    ("slice", "The slice of time (--slice)", GroupKey::Slice),
    ("phase", "The phase of the recorded boot, shutdown or sleep", GroupKey::Phase),
];

/// Show how programs ask for their data: sizes, pages, patterns, and what a buffer, a cache or a filter makes of them
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = format!("\
Examples:
  onoff io capture.pml                             Process Monitor, its own file or CSV
  onoff io trace.etl --by process                  Windows, with file events
  onoff io boot.etl --by phase,process             who asks for what in each phase of a boot
  onoff io record -- ls -R /etc                    run a command under strace and answer
  onoff io strace.txt --filter key-blocks=1,block=4096 --device latency=100us,bandwidth=20MB/s
  onoff io with-filter.csv --compare without.csv
  onoff io trace.csv --format csv -o requests.csv

Reads Windows event traces (FileIo, DiskIo, Microsoft-Windows-Kernel-File), Process Monitor (.pml
and CSV), strace, Linux ftrace and trace-cmd (block and syscalls events), blkparse, fio's I/O and
latency logs, darshan-dxt-parser, and CSV with the columns time, pid, process, file, operation,
offset, length. onoff recognizes the kind by its content.

{EXIT_CODES}"))]
pub struct IoArguments {
    /// Record instead
    #[command(subcommand)]
    pub action: Option<IoAction>,

    /// The recording
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Show what changed since another recording
    #[arg(long, value_name = "OTHER")]
    pub compare: Option<PathBuf>,

    #[command(flatten)]
    pub question: IoQuestionArguments,
}

/// What to do besides reading.
#[derive(Debug, Subcommand)]
pub enum IoAction {
    /// Run a command under a tracer, and show how it and its children ask for their data (Linux)
    Record(IoRecordArguments),
}

/// What records a command.
const TRACERS: [Choice<Tracer>; 2] =
    [("strace", "strace", Tracer::Strace), ("ftrace", "The kernel's tracer", Tracer::Ftrace)];

/// The command to run.
#[derive(Debug, Args)]
pub struct IoRecordArguments {
    /// What records: strace names every file and slows the command down; ftrace is the kernel's own tracer, needs root, hardly slows it
    /// down, and names files since Linux 6.19 only
    #[arg(long, default_value = "strace", value_parser = one_of(&TRACERS))]
    pub tracer: Tracer,

    /// Keep the recording in this file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,

    #[command(flatten)]
    pub question: IoQuestionArguments,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How to answer.
#[derive(Debug, Args)]
pub struct IoQuestionArguments {
    /// Group by (comma-separated)
    #[arg(long, value_name = "KEYS", value_delimiter = ',', default_value = "process,file", value_parser = one_of(&GROUPS))]
    pub by: Vec<GroupKey>,

    /// Length of a slice of time, for --by slice
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub slice: String,

    /// Bytes of a page
    #[arg(long, value_name = "SIZE", default_value = "4096")]
    pub page: String,

    /// A filter that keeps nothing: blocks it reads besides the requested ones for each request, and the size of a block
    /// (instead of --page)
    #[arg(long, value_name = "key-blocks=N,block=SIZE")]
    pub filter: Option<String>,

    /// A device, for times: of an operation, and of its bytes. Without it the device is fitted to the recording's disk reads
    #[arg(long, value_name = "latency=TIME,bandwidth=SIZE/s")]
    pub device: Option<String>,

    /// Bytes of the buffer that programs could read or write through
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub buffer: String,

    /// Pages that a read-ahead reads at a time
    #[arg(long, value_name = "PAGES", default_value_t = 8)]
    pub read_ahead: u64,

    /// Only from one time up to, not including, another, as '1.5s 3s'
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    pub range: Option<Vec<String>>,

    /// Only this process: image name, * for any text; may be repeated
    #[arg(long = "process", value_name = "NAME")]
    pub processes: Vec<String>,

    /// Rows of each list of the text, 0 for all; other formats hold all of them
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,

    /// How to answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: TableFormat,

    #[command(flatten)]
    pub output: OutputArguments,
}
