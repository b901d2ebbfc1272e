//! The arguments of `onoff disk`, `onoff files` and `onoff hardfaults`.

use clap::{Args, ValueEnum};
use onoff_analysis::lists::functions::CodeGroup;
use onoff_analysis::storage::Key;

use super::symbols::SymbolArguments;
use super::table::TableArguments;
use super::{EXIT_CODES, OutputArguments, RecordingArguments};

/// What rows are grouped by: a key of a list, or functions and call stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping<K> {
    /// A key of the list.
    Key(K),
    /// Code.
    Code(CodeGroup),
}

/// What disk requests can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiskKey {
    /// Image name and id
    Process,
    /// Whole path of the file
    Path,
    /// Name of the file without its folder
    File,
    /// What follows the last dot of the file's name
    Extension,
    /// Disk number
    Disk,
    /// Priority of the request
    Priority,
    /// Read, write or flush
    Operation,
    /// Module whose code issued the request
    Module,
    /// Function that issued the request
    Function,
    /// Call stack that issued it
    Stack,
}

impl From<DiskKey> for Grouping<Key> {
    fn from(key: DiskKey) -> Self {
        match key {
            DiskKey::Process => Self::Key(Key::Process),
            DiskKey::Path => Self::Key(Key::Path),
            DiskKey::File => Self::Key(Key::File),
            DiskKey::Extension => Self::Key(Key::Extension),
            DiskKey::Disk => Self::Key(Key::Disk),
            DiskKey::Priority => Self::Key(Key::Priority),
            DiskKey::Operation => Self::Key(Key::Operation),
            DiskKey::Module => Self::Code(CodeGroup::Module),
            DiskKey::Function => Self::Code(CodeGroup::Function),
            DiskKey::Stack => Self::Code(CodeGroup::Stack),
        }
    }
}

/// What file operations can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileKey {
    /// Image name and id
    Process,
    /// Whole path of the file
    Path,
    /// Name of the file without its folder
    File,
    /// What follows the last dot of the file's name
    Extension,
    /// Open, read, write, flush and so on
    Operation,
}

impl From<FileKey> for Key {
    fn from(key: FileKey) -> Self {
        match key {
            FileKey::Process => Self::Process,
            FileKey::Path => Self::Path,
            FileKey::File => Self::File,
            FileKey::Extension => Self::Extension,
            FileKey::Operation => Self::Operation,
        }
    }
}

/// What hard faults can be grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HardFaultKey {
    /// Image name and id
    Process,
    /// Whole path of the file
    Path,
    /// Name of the file without its folder
    File,
    /// What follows the last dot of the file's name
    Extension,
    /// Module whose code met the fault
    Module,
    /// Function that met the fault
    Function,
    /// Call stack that met it
    Stack,
}

impl From<HardFaultKey> for Grouping<Key> {
    fn from(key: HardFaultKey) -> Self {
        match key {
            HardFaultKey::Process => Self::Key(Key::Process),
            HardFaultKey::Path => Self::Key(Key::Path),
            HardFaultKey::File => Self::Key(Key::File),
            HardFaultKey::Extension => Self::Key(Key::Extension),
            HardFaultKey::Module => Self::Code(CodeGroup::Module),
            HardFaultKey::Function => Self::Code(CodeGroup::Function),
            HardFaultKey::Stack => Self::Code(CodeGroup::Stack),
        }
    }
}

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
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "process")]
    pub by: Vec<DiskKey>,

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
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "path")]
    pub by: Vec<FileKey>,

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
    #[arg(long, value_name = "KEY", value_delimiter = ',', default_value = "process")]
    pub by: Vec<HardFaultKey>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
