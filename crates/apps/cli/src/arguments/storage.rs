//! The arguments of `onoff disk`, `onoff files` and `onoff hardfaults`.

use clap::Args;
use onoff_lists::functions::CodeGroup;
use onoff_usage::storage::Key;

use super::symbols::SymbolArguments;
use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

/// What rows are grouped by: a key of a list, or functions and call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping<K> {
    /// A key of the list.
    Key(K),
    /// Code.
    Code(CodeGroup),
}

/// What disk requests can be grouped by.
const DISK_KEYS: [Choice<Grouping<Key>>; 10] = [
    ("process", "Image name and id", Grouping::Key(Key::Process)),
    ("path", "Whole path of the file", Grouping::Key(Key::Path)),
    ("file", "Name of the file without its folder", Grouping::Key(Key::File)),
    ("extension", "What follows the last dot of the file's name", Grouping::Key(Key::Extension)),
    ("disk", "Disk number", Grouping::Key(Key::Disk)),
    ("priority", "Priority of the request", Grouping::Key(Key::Priority)),
    ("operation", "Read, write or flush", Grouping::Key(Key::Operation)),
    ("module", "Module whose code issued the request", Grouping::Code(CodeGroup::Module)),
    ("function", "Function that issued the request", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack that issued it", Grouping::Code(CodeGroup::Stack)),
];

/// What file operations can be grouped by.
const FILE_KEYS: [Choice<Key>; 5] = [
    ("process", "Image name and id", Key::Process),
    ("path", "Whole path of the file", Key::Path),
    ("file", "Name of the file without its folder", Key::File),
    ("extension", "What follows the last dot of the file's name", Key::Extension),
    ("operation", "Open, read, write, flush and so on", Key::Operation),
];

/// What hard faults can be grouped by.
const HARD_FAULT_KEYS: [Choice<Grouping<Key>>; 7] = [
    ("process", "Image name and id", Grouping::Key(Key::Process)),
    ("path", "Whole path of the file", Grouping::Key(Key::Path)),
    ("file", "Name of the file without its folder", Grouping::Key(Key::File)),
    ("extension", "What follows the last dot of the file's name", Grouping::Key(Key::Extension)),
    ("module", "Module whose code met the fault", Grouping::Code(CodeGroup::Module)),
    ("function", "Function that met the fault", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack that met it", Grouping::Code(CodeGroup::Stack)),
];

/// Show what the disks did: requests, bytes and times by process, file, priority and more
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff disk boot.etl                              who kept the disks busy
  onoff disk boot.etl --by path --top 50           for which files
  onoff disk boot.etl --by extension,operation     reads and writes by kind of file
  onoff disk boot.etl --range 10s 20s --sort longest_response
  onoff disk trace.etl --by process,path,priority --process MsMpEng.exe \\
      --process communicator.exe --process 1468 --process System
                                                   four processes, file by file
  onoff disk boot.etl --by function,process        whose code issued the requests

Service is the time the disk worked on requests, response the time from a request's issue to
its completion, queue the most requests that one found before it. A request counts in the
range in which it completes. A path or priority stands where a row has only one.

{EXIT_CODES}"))]
pub struct DiskArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What the rows are: any of these together
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "process", value_parser = one_of(&DISK_KEYS))]
    pub by: Vec<Grouping<Key>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show what programs asked of files: opens, failed opens, reads, writes, flushes, and the disk behind them
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff files trace.etl                            the files that took most time
  onoff files trace.etl --by process --sort failed_opens
                                                   who looks for files that are not there
  onoff files trace.etl --by process,operation --process explorer.exe
  onoff files trace.etl --range 10s 12s --format csv -o files.csv

Time is summed over operations, which may run side by side. Recordings hold file operations
when they were made with the kernel flags FILE_IO and FILE_IO_INIT.

{EXIT_CODES}"))]
pub struct FilesArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What the rows are: any of these together
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "path", value_parser = one_of(&FILE_KEYS))]
    pub by: Vec<Key>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show which threads waited for pages to be read from files: faults, bytes and time by process and file
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff hardfaults boot.etl                        which processes waited
  onoff hardfaults boot.etl --by path --top 50     for which files
  onoff hardfaults boot.etl --by process,file --process explorer.exe --sort bytes

Time is summed over threads, which may wait side by side.

{EXIT_CODES}"))]
pub struct HardFaultsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// What the rows are: any of these together
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "process", value_parser = one_of(&HARD_FAULT_KEYS))]
    pub by: Vec<Grouping<Key>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
