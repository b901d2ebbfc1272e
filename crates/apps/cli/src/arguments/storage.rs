//! The arguments of `onoff disk`, `onoff files` and `onoff hardfaults`.

use clap::Args;
use onoff_lists::functions::CodeGroup;
use onoff_usage::storage::Key;

use super::symbols::SymbolArguments;
use super::table::TableArguments;
use super::{Choice, EXIT_CODES, OutputArguments, RecordingArguments, one_of};

/// What rows are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping<K> {
    Key(K),
    /// Modules, functions or call stacks.
    Code(CodeGroup),
}

const DISK_KEYS: [Choice<Grouping<Key>>; 10] = [
    ("process", "Process (image name and id)", Grouping::Key(Key::Process)),
    ("path", "Full path of the file", Grouping::Key(Key::Path)),
    ("file", "File name without folder", Grouping::Key(Key::File)),
    ("extension", "File name extension", Grouping::Key(Key::Extension)),
    ("disk", "Disk number", Grouping::Key(Key::Disk)),
    ("priority", "I/O priority", Grouping::Key(Key::Priority)),
    ("operation", "Read, write or flush", Grouping::Key(Key::Operation)),
    ("module", "Module that issued the request", Grouping::Code(CodeGroup::Module)),
    ("function", "Function that issued the request", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack that issued the request", Grouping::Code(CodeGroup::Stack)),
];

const FILE_KEYS: [Choice<Key>; 5] = [
    ("process", "Process (image name and id)", Key::Process),
    ("path", "Full path of the file", Key::Path),
    ("file", "File name without folder", Key::File),
    ("extension", "File name extension", Key::Extension),
    ("operation", "Open, read, write, flush and so on", Key::Operation),
];

const HARD_FAULT_KEYS: [Choice<Grouping<Key>>; 7] = [
    ("process", "Process (image name and id)", Grouping::Key(Key::Process)),
    ("path", "Full path of the file", Grouping::Key(Key::Path)),
    ("file", "File name without folder", Grouping::Key(Key::File)),
    ("extension", "File name extension", Grouping::Key(Key::Extension)),
    ("module", "Module that faulted", Grouping::Code(CodeGroup::Module)),
    ("function", "Function that faulted", Grouping::Code(CodeGroup::Function)),
    ("stack", "Call stack of the fault", Grouping::Code(CodeGroup::Stack)),
];

/// Show disk activity: requests, bytes and times by process, file, priority and more
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff disk boot.etl                            by process
  onoff disk boot.etl --by path --top 50         by file
  onoff disk boot.etl --by extension,operation   reads and writes by file type
  onoff disk boot.etl --by function,process      by function that issued them
  onoff disk boot.etl --range 10s 20s --sort longest_response
  onoff disk trace.etl --by process,path --process System --process 1468
                                                 two processes, file by file

'service' is the time the disk worked on requests, 'response' the time from issue to completion, \
'queue' the maximum queue length. A request belongs to the range in which it completes. A path or \
priority is shown only if it is the same for all requests in the row.

{EXIT_CODES}"))]
pub struct DiskArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Group by; separate several keys with commas
    #[arg(long = "by", value_name = "KEY", value_delimiter = ',', default_value = "process", value_parser = one_of(&DISK_KEYS))]
    pub group_by: Vec<Grouping<Key>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show file operations: opens, failed opens, reads, writes, flushes, and the resulting disk time
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff files trace.etl   by file
  onoff files trace.etl --by process --sort failed_opens
                          programs that look for missing files
  onoff files trace.etl --by process,operation --process explorer.exe
  onoff files trace.etl --range 10s 12s --format csv -o files.csv

Time is summed over operations, which may overlap. Record file operations with the kernel flags \
FILE_IO and FILE_IO_INIT.

{EXIT_CODES}"))]
pub struct FilesArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Group by; separate several keys with commas
    #[arg(long = "by", value_name = "KEY", value_delimiter = ',', default_value = "path", value_parser = one_of(&FILE_KEYS))]
    pub group_by: Vec<Key>,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}

/// Show hard faults (threads that waited for pages to be read from files): count, bytes and time by process and file
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  onoff hardfaults boot.etl                      by process
  onoff hardfaults boot.etl --by path --top 50   by file
  onoff hardfaults boot.etl --by file --process explorer.exe --sort bytes

Time is summed over threads, which may wait at the same time.

{EXIT_CODES}"))]
pub struct HardFaultsArguments {
    #[command(flatten)]
    pub recording: RecordingArguments,

    /// Group by; separate several keys with commas
    #[arg(long = "by", value_name = "KEY", value_delimiter = ',', default_value = "process", value_parser = one_of(&HARD_FAULT_KEYS))]
    pub group_by: Vec<Grouping<Key>>,

    #[command(flatten)]
    pub symbols: SymbolArguments,

    #[command(flatten)]
    pub table: TableArguments,

    #[command(flatten)]
    pub output: OutputArguments,
}
