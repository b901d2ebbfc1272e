//! The columns of kernel events in xperf's text dump.
//!
//! Titles and widths follow published dumps. Field names follow the kernel's event classes.

/// Content of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Process that the event is attributed to.
    Process,
    /// Process with the id in a field.
    ProcessIn(&'static str),
    /// Process of the thread with the id in a field.
    ProcessOfThread(&'static str),
    /// Thread that the event is attributed to.
    Thread,
    Cpu,
    /// Process that logged an event attributed to another process.
    LoggingProcess,
    /// Thread that logged an event attributed to another thread.
    LoggingThread,
    /// File object of the file operation that the event completes.
    FileObject,
    /// Name of the start event of the file operation that the event completes.
    Operation,
    /// Quoted path from a field, with its drive letter if known.
    Path(&'static str),
    /// Kind of page fault.
    FaultType,
    /// Module that contains the address in a field, without the address; empty if unknown.
    ModuleOf(&'static str),
    /// Names of the set bits of a field, lowest first; the bit number if a bit has no name.
    Bits(&'static str, &'static [&'static str]),
    /// The same as [`Self::Bits`], separated by blanks.
    Words(&'static str, &'static [&'static str]),
    /// Create options: the disposition in the upper eight bits, then the option flags.
    OpenOptions(&'static str),
    /// Name of the I/O priority in request flags.
    IoPriorityName(&'static str),
    /// The value of a field, formatted as in events without a layout.
    Plain(&'static str),
    /// Integer from a field.
    Number(&'static str),
    /// A field in hexadecimal, with a minimum number of digits.
    Hexadecimal(&'static str, usize),
    /// The first of two fields, or the second if the event does not have the first, in hexadecimal.
    HexadecimalOr(&'static str, &'static str),
    /// Sum of two fields (base and size) in hexadecimal.
    End(&'static str, &'static str),
    /// Unquoted text from a field; `<none>` if missing.
    Text(&'static str),
    /// Quoted text from a field.
    Quoted(&'static str),
    /// Quoted path of the event's file.
    File(&'static str),
    /// Module that contains the address in a field, in the process given by another field.
    ImageIn(&'static str, &'static str),
    /// Module that contains the address in a field, in the process that the event is attributed to.
    Image(&'static str),
    /// Module that contains the start address of the thread that the event is attributed to.
    ThreadStartImage,
    /// Duration of the operation, in µs.
    Elapsed,
    /// Disk service time, in µs.
    Service,
    /// Time since the new thread last ran, in µs.
    SinceLast,
    /// Time that the old thread ran, in µs.
    Ran,
    /// State of the old thread.
    OldState,
    /// Wait reason of the old thread.
    WaitReason,
    /// Whether the stack of the old thread may be paged out during the wait.
    Swapable(&'static str),
    /// I/O priority in request flags.
    IoPriority(&'static str),
    /// Lowest bit of a field as yes or no.
    Flag(&'static str),
    /// Quality of service of a thread: three bits of a field, starting at this bit.
    QualityOfService(&'static str, u32),
    /// Text from a compressed field; another field has its uncompressed size.
    Packed(&'static str, &'static str),
    /// GUID from a field, in braces.
    Guid(&'static str),
    /// A constant, for columns that some versions of Windows do not record.
    Always(&'static str),
}

impl Layout {
    /// Returns the number of columns after the time stamp.
    pub(super) const fn columns(&self) -> usize {
        match self.rows {
            Rows::One(columns) => columns.len(),
            Rows::Frames | Rows::GroupMasks => 0,
        }
    }
}

impl Content {
    /// Returns the first field that the value comes from.
    pub(super) const fn field(self) -> Option<&'static str> {
        match self {
            Self::ProcessIn(name)
            | Self::ProcessOfThread(name)
            | Self::Number(name)
            | Self::Hexadecimal(name, _)
            | Self::HexadecimalOr(name, _)
            | Self::End(name, _)
            | Self::Text(name)
            | Self::Quoted(name)
            | Self::File(name)
            | Self::ImageIn(name, _)
            | Self::Image(name)
            | Self::Swapable(name)
            | Self::IoPriority(name)
            | Self::Path(name)
            | Self::ModuleOf(name)
            | Self::Bits(name, _)
            | Self::Words(name, _)
            | Self::OpenOptions(name)
            | Self::IoPriorityName(name)
            | Self::Plain(name)
            | Self::QualityOfService(name, _)
            | Self::Packed(name, _)
            | Self::Guid(name)
            | Self::Flag(name) => Some(name),
            _ => None,
        }
    }
}

/// A column after the time stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Width of the right-aligned value.
    pub(super) width: usize,
    pub(super) content: Content,
}

const fn column(title: &'static str, width: usize, content: Content) -> Column {
    Column { title, width, content }
}

/// Width of `name.exe (PID)` in rows.
const PROCESS_WIDTH: usize = 0;

const PROCESS: Column = column("    Process Name ( PID)", PROCESS_WIDTH, Content::Process);
const THREAD: Column = column("  ThreadID", 10, Content::Thread);
const CPU: Column = column("CPU", 3, Content::Cpu);
const IRP: Column = column("            IrpPtr", 0, Content::Hexadecimal("Irp", 16));
const ELAPSED: Column = column("ElapsedTime", 11, Content::Elapsed);

/// Layout of the rows of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) name: &'static str,
    pub(super) rows: Rows,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    /// One row with these columns.
    One(&'static [Column]),
    /// One row per frame of a call stack.
    Frames,
    /// One row per group mask.
    GroupMasks,
}

const PROCESS_START: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
    column(" ParentPID", 10, Content::Number("ParentId")),
    column(" SessionID", 10, Content::Number("SessionId")),
    column("         UniqueKey", 0, Content::HexadecimalOr("UniqueProcessKey", "PageDirectoryBase")),
    column("DirectoryTableBase", 0, Content::Hexadecimal("DirectoryTableBase", 16)),
    column("     Flags", 0, Content::Hexadecimal("Flags", 8)),
    column("UserSid", 0, Content::Text("UserSID")),
    column("Command Line", 0, Content::Text("CommandLine")),
    column("Package Full Name", 0, Content::Text("PackageFullName")),
    column("Package Relative Application Id", 0, Content::Text("ApplicationId")),
];

const PROCESS_END: &[Column] = &[
    PROCESS_START[0],
    PROCESS_START[1],
    PROCESS_START[2],
    PROCESS_START[3],
    column("    Status", 0, Content::Hexadecimal("ExitStatus", 8)),
    PROCESS_START[4],
    PROCESS_START[5],
    PROCESS_START[6],
    PROCESS_START[7],
    PROCESS_START[8],
    PROCESS_START[9],
];

/// Columns of process counters: peaks, and current values in the rundown.
macro_rules! process_use_columns {
    ($($more:expr),* $(,)?) => {
        &[
            column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
            column("   Peak WS", 10, Content::Number("PeakWorkingSetSize")),
            column("   Peak VM", 10, Content::Number("PeakVirtualSize")),
            column("   Peak PF", 10, Content::Number("PeakPagefileUsage")),
            column("   Peak PP", 10, Content::Number("QuotaPeakPagedPoolUsage")),
            column("  Peak NPP", 10, Content::Number("QuotaPeakNonPagedPoolUsage")),
            $($more),*
        ]
    };
}

const PROCESS_PEAKS: &[Column] = process_use_columns!();
const PROCESS_USE: &[Column] = process_use_columns!(
    column("    End WS", 10, Content::Number("WorkingSetSize")),
    column("    End VM", 10, Content::Number("VirtualSize")),
    column("    End PF", 10, Content::Number("PagefileUsage")),
    column("    End PP", 10, Content::Number("QuotaPagedPoolUsage")),
    column("   End NPP", 10, Content::Number("QuotaNonPagedPoolUsage")),
    column(" # Handles", 10, Content::Number("HandleCount")),
);

const THREAD_LIFE: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
    column("  ThreadID", 10, Content::Number("TThreadId")),
    column("         StackBase", 0, Content::Hexadecimal("StackBase", 16)),
    column("        StackLimit", 0, Content::Hexadecimal("StackLimit", 16)),
    column("        UsrStkBase", 0, Content::Hexadecimal("UserStackBase", 16)),
    column("         UsrStkLmt", 0, Content::Hexadecimal("UserStackLimit", 16)),
    column("           TebBase", 0, Content::Hexadecimal("TebBase", 16)),
    column("SubProcessTag", 13, Content::Number("SubProcessTag")),
    column("BasePri", 7, Content::Number("BasePriority")),
    column("PagePri", 7, Content::Number("PagePriority")),
    column("IoPri", 5, Content::Number("IoPriority")),
    column("Flags", 5, Content::Number("ThreadFlags")),
    column("           Image!Function", 0, Content::ImageIn("Win32StartAddr", "ProcessId")),
];

const IMAGE: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
    column("          BaseAddr", 0, Content::HexadecimalOr("ImageBase", "BaseAddress")),
    column("           EndAddr", 0, Content::End("ImageBase", "ImageSize")),
    column("  Checksum", 0, Content::Hexadecimal("ImageChecksum", 8)),
    column("TimeDateStamp", 13, Content::Hexadecimal("TimeDateStamp", 8)),
    column("       DefaultBase", 0, Content::Hexadecimal("DefaultBase", 16)),
    column("FileName", 0, Content::Path("FileName")),
];

/// Columns of a context switch. The wait mode is the lowest bit of a field that later versions call `Flags`.
macro_rules! context_switch_columns {
    ($wait_mode:literal $(, $more:expr)* $(,)?) => {
        &[
            column("New Process Name ( PID)", PROCESS_WIDTH, Content::ProcessOfThread("NewThreadId")),
            column("   New TID", 10, Content::Number("NewThreadId")),
            column("NPri", 4, Content::Number("NewThreadPriority")),
            // Only the first version records quanta; later dumps show -1.
            column("NQnt", 4, Content::Number("NewThreadQuantum")),
            column("TmSinceLast", 11, Content::SinceLast),
            column("WaitTime", 8, Content::Number("NewThreadWaitTime")),
            column("Old Process Name ( PID)", PROCESS_WIDTH, Content::ProcessOfThread("OldThreadId")),
            column("   Old TID", 10, Content::Number("OldThreadId")),
            column("OPri", 4, Content::Number("OldThreadPriority")),
            column("OQnt", 4, Content::Number("OldThreadQuantum")),
            column("       OldState", 15, Content::OldState),
            column("     Wait Reason", 16, Content::WaitReason),
            column("Swapable", 8, Content::Swapable($wait_mode)),
            column("InSwitchTime", 6, Content::Ran),
            CPU,
            column("IdealProc", 3, Content::Number("OldThreadWaitIdealProcessor")),
            column(" OldRemQnt", 10, Content::Number("OldThreadRemainingQuantum")),
            column("NewPriDecr", 4, Content::Number("SpareByte")),
            column("PrevCState", 4, Content::Number("PreviousCState")),
            $($more),*
        ]
    };
}

const CONTEXT_SWITCH: &[Column] = context_switch_columns!("OldThreadWaitMode");

/// Columns from version 3 on, whose flags include the threads' quality of service.
const CONTEXT_SWITCH_WITH_QUALITY: &[Column] = context_switch_columns!(
    "Flags",
    column("OldThrdBamQosLevel", 11, Content::QualityOfService("Flags", 1)),
    column("NewThrdBamQosLevel", 11, Content::QualityOfService("Flags", 4)),
);

/// Names of the levels. The first is from published rows, the others are from the kernel's headers.
pub(super) const QUALITIES_OF_SERVICE: &[&str] = &["Important", "Medium", "Low", "Multimedia", "Deadline", "Eco"];

const READY_THREAD: &[Column] = &[
    PROCESS,
    THREAD,
    column("Rdy Process Name ( PID)", PROCESS_WIDTH, Content::ProcessOfThread("TThreadId")),
    column("   Rdy TID", 10, Content::Number("TThreadId")),
    column("AdjustReason", 12, Content::Number("AdjustReason")),
    column("AdjustIncrement", 15, Content::Number("AdjustIncrement")),
    column("InDPC", 5, Content::Flag("Flag")),
];

const SAMPLED_PROFILE: &[Column] = &[
    PROCESS,
    THREAD,
    column("          PrgrmCtr", 0, Content::Hexadecimal("InstructionPointer", 16)),
    CPU,
    column("ThreadStartImage!Function", 0, Content::ThreadStartImage),
    column("           Image!Function", 0, Content::Image("InstructionPointer")),
    column("Count", 5, Content::Number("Count")),
    column("SampledProfile type", 0, Content::Always("Unbatched")),
];

const COUNTER_INTERRUPT: &[Column] = &[
    CPU,
    PROCESS,
    column("           Image!Function", 0, Content::Image("InstructionPointer")),
    column("ProfileSource", 13, Content::Number("ProfileSource")),
    column("Reserved", 8, Content::Number("Reserved")),
];

const INTERRUPT: &[Column] = &[
    ELAPSED,
    CPU,
    column("Vector", 6, Content::Number("Vector")),
    column("MessageIndex", 12, Content::Number("MessageNumber")),
    column("    Status", 10, Content::Number("ReturnValue")),
    column("       ServiceAddr", 0, Content::Hexadecimal("Routine", 16)),
    column("           Image!Function", 0, Content::Image("Routine")),
];

const DPC: &[Column] = &[
    ELAPSED,
    CPU,
    column("       ServiceAddr", 0, Content::Hexadecimal("Routine", 16)),
    column("           Image!Function", 0, Content::Image("Routine")),
];

const SYSTEM_CALL_ENTER: &[Column] = &[
    PROCESS,
    THREAD,
    column("       ServiceAddr", 0, Content::Hexadecimal("SysCallAddress", 16)),
    column("           Image!Function", 0, Content::Image("SysCallAddress")),
];

const SYSTEM_CALL_EXIT: &[Column] =
    &[PROCESS, THREAD, column("    Status", 0, Content::Hexadecimal("SysCallNtStatus", 8))];

const DISK_TRANSFER: &[Column] = &[
    PROCESS,
    THREAD,
    CPU,
    IRP,
    column("  ByteOffset", 0, Content::Hexadecimal("ByteOffset", 10)),
    column("    IOSize", 0, Content::Hexadecimal("TransferSize", 8)),
    ELAPSED,
    column(" DiskNum", 8, Content::Number("DiskNumber")),
    column("IrpFlags", 0, Content::Hexadecimal("IrpFlags", 6)),
    column("DiskSvcTime", 11, Content::Service),
    column("I/O Pri", 7, Content::IoPriority("IrpFlags")),
    column(" VolSnap", 8, Content::Always("Original")),
    column("        FileObject", 0, Content::Hexadecimal("FileObject", 16)),
    column("FileName", 0, Content::File("FileObject")),
];

const DISK_START: &[Column] = &[PROCESS, THREAD, CPU, IRP];

const DISK_FLUSH: &[Column] = &[
    PROCESS,
    THREAD,
    CPU,
    IRP,
    ELAPSED,
    column(" DiskNum", 8, Content::Number("DiskNumber")),
    column("IrpFlags", 0, Content::Hexadecimal("IrpFlags", 6)),
    column("DiskSvcTime", 11, Content::Service),
    column("I/O Pri", 7, Content::IoPriority("IrpFlags")),
];

const HARD_FAULT: &[Column] = &[
    PROCESS,
    THREAD,
    column("       VirtualAddr", 0, Content::Hexadecimal("VirtualAddress", 16)),
    column("  ByteOffset", 0, Content::Hexadecimal("ReadOffset", 10)),
    column("    IOSize", 0, Content::Hexadecimal("ByteCount", 8)),
    ELAPSED,
    column("        FileObject", 0, Content::Hexadecimal("FileObject", 16)),
    column("FileName", 0, Content::File("FileObject")),
    column("Hardfaulted Address Information", 0, Content::ModuleOf("VirtualAddress")),
];

const PAGE_FAULT: &[Column] = &[
    PROCESS,
    THREAD,
    column("       VirtualAddr", 0, Content::Hexadecimal("VirtualAddress", 16)),
    column("                IP", 0, Content::Hexadecimal("ProgramCounter", 16)),
    column("            Type", 16, Content::FaultType),
    column("           Image!Function", 0, Content::Image("ProgramCounter")),
];

const VIRTUAL_ALLOCATION: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
    column("          BaseAddr", 0, Content::Hexadecimal("BaseAddress", 16)),
    column("           EndAddr", 0, Content::End("BaseAddress", "RegionSize")),
    column("Flags", 0, Content::Words("Flags", ALLOCATION_FLAGS)),
];

const LOGGING_PROCESS: Column = column("LoggingProcessName ( PID)", PROCESS_WIDTH, Content::LoggingProcess);
const LOGGING_THREAD: Column = column("LoggingThreadID", 17, Content::LoggingThread);
const FILE_IRP: Column = column("            IrpPtr", 0, Content::Hexadecimal("IrpPtr", 16));
const FILE_OBJECT: Column = column("        FileObject", 0, Content::Hexadecimal("FileObject", 16));
/// The first columns of every file operation.
macro_rules! file_columns {
    ($($more:expr),* $(,)?) => {
        &[PROCESS, THREAD, LOGGING_PROCESS, LOGGING_THREAD, CPU, FILE_IRP, $($more),*]
    };
}

const FILE_TRANSFER: &[Column] = file_columns![
    FILE_OBJECT,
    column("  ByteOffset", 0, Content::Hexadecimal("Offset", 10)),
    column("      Size", 0, Content::Hexadecimal("IoSize", 8)),
    column("     Flags", 0, Content::Hexadecimal("IoFlags", 8)),
    // No version of the payload has this field.
    column("ExtraFlags", 0, Content::Hexadecimal("ExtraFlags", 8)),
    column("Priority", 8, Content::IoPriorityName("IoFlags")),
    column("FileName", 0, Content::File("FileKey")),
    column("ParsedFlags", 0, Content::Bits("IoFlags", REQUEST_FLAGS)),
];

const FILE_CREATE: &[Column] = file_columns![
    FILE_OBJECT,
    column("   Options", 0, Content::Hexadecimal("CreateOptions", 8)),
    column("Attributes", 0, Content::Hexadecimal("FileAttributes", 8)),
    column("ShareAccess", 0, Content::Hexadecimal("ShareAccess", 8)),
    column("FileName", 0, Content::Path("OpenPath")),
    column("ParsedOptions", 0, Content::OpenOptions("CreateOptions")),
    column("ParsedAttributes", 0, Content::Bits("FileAttributes", FILE_ATTRIBUTES)),
    column("ParsedShareAccess", 0, Content::Bits("ShareAccess", SHARE_ACCESS)),
];

const FILE_END: &[Column] = file_columns![
    column("        FileObject", 0, Content::FileObject),
    ELAPSED,
    column("    Status", 0, Content::Hexadecimal("NtStatus", 8)),
    column("         ExtraInfo", 0, Content::Hexadecimal("ExtraInfo", 16)),
    column("Type", 0, Content::Operation),
    column("FileName", 0, Content::File("FileObject")),
];

const FILE_SUBJECT: &[Column] = file_columns![FILE_OBJECT, column("FileName", 0, Content::File("FileKey"))];

const FILE_INFORMATION: &[Column] = file_columns![
    FILE_OBJECT,
    column("         ExtraInfo", 0, Content::Hexadecimal("ExtraInfo", 16)),
    column("InfoClass", 9, Content::Number("InfoClass")),
    column("FileName", 0, Content::File("FileKey")),
];

const FILE_DIRECTORY: &[Column] = file_columns![
    FILE_OBJECT,
    column(" FileIndex", 10, Content::Number("FileIndex")),
    column("      Size", 0, Content::Hexadecimal("Length", 8)),
    column("InfoClass", 9, Content::Number("InfoClass")),
    column("FileName", 0, Content::File("FileKey")),
    // The search pattern.
    column("FileName", 0, Content::Quoted("FileName")),
];

const FILE_NAME: &[Column] = &[
    column("        FileObject", 0, Content::Hexadecimal("FileObject", 16)),
    column("FileName", 0, Content::Path("FileName")),
    column("NT FileName", 0, Content::Quoted("FileName")),
];

const REGISTRY_KEY: Column = column("               KCB", 0, Content::Hexadecimal("KeyHandle", 16));
const KEY_NAME: Column = column("Key Name", 0, Content::Plain("KeyName"));
const REGISTRY_STATUS: Column = column("    Status", 0, Content::Hexadecimal("Status", 8));

const REGISTRY_BLOCK: &[Column] = &[REGISTRY_KEY, KEY_NAME];
const REGISTRY_OPERATION: &[Column] = &[REGISTRY_KEY, PROCESS, THREAD, REGISTRY_STATUS, ELAPSED, KEY_NAME];
const REGISTRY_QUERY: &[Column] = &[
    REGISTRY_KEY,
    PROCESS,
    THREAD,
    REGISTRY_STATUS,
    ELAPSED,
    // For key queries, the index field holds the information class.
    column("InfoClass", 9, Content::Number("Index")),
];
const REGISTRY_INFORMATION: &[Column] = &[REGISTRY_KEY, PROCESS, THREAD, REGISTRY_STATUS, ELAPSED];

const SOCKET: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("PID")),
    column("Transfer Size", 13, Content::Number("size")),
    column("Remote IPv4 Addr", 0, Content::Plain("daddr")),
    column("Remote IPv4 Port", 0, Content::Plain("dport")),
    column("Local IPv4 Addr", 0, Content::Plain("saddr")),
    column("Local IPv4 Port", 0, Content::Plain("sport")),
];

const SOCKET_IPV6: &[Column] = &[
    SOCKET[0],
    SOCKET[1],
    column("Remote IPv6 Addr", 0, Content::Plain("daddr")),
    column("Remote IPv6 Port", 0, Content::Plain("dport")),
    column("Local IPv6 Addr", 0, Content::Plain("saddr")),
    column("Local IPv6 Port", 0, Content::Plain("sport")),
];

const VOLUME_MAPPING: &[Column] =
    &[column("NtPath", 0, Content::Plain("NtPath")), column("DosPath", 0, Content::Plain("DosPath"))];

/// Names of the bits of virtual memory operations (`MEM_…`).
const ALLOCATION_FLAGS: &[&str] =
    &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "COMMIT", "RESERVE", "DECOMMIT", "RELEASE"];

/// Names of the bits of request flags (`IRP_…` in the kernel's headers), spelled like the two in published rows.
const REQUEST_FLAGS: &[&str] = &[
    "nocache",
    "paging_io",
    "synchronous_api",
    "associated_irp",
    "buffered_io",
    "deallocate_buffer",
    "input_operation",
    "create_operation",
    "read_operation",
    "write_operation",
    "close_operation",
    "defer_io_completion",
    "ob_query_name",
    "hold_device_queue",
];

/// Names of the bits of file attributes (`FILE_ATTRIBUTE_…`).
const FILE_ATTRIBUTES: &[&str] = &[
    "readonly",
    "hidden",
    "system",
    "3",
    "directory",
    "archive",
    "device",
    "normal",
    "temporary",
    "sparse_file",
    "reparse_point",
    "compressed",
    "offline",
    "not_content_indexed",
    "encrypted",
];

/// Names of the bits of the share access (`FILE_SHARE_…`).
const SHARE_ACCESS: &[&str] = &["read", "write", "delete"];

/// Names of the bits of the create options (`FILE_…` in `NtCreateFile`).
pub(super) const OPEN_OPTIONS: &[&str] = &[
    "directory_file",
    "write_through",
    "sequential_only",
    "no_intermediate_buffering",
    "synchronous_io_alert",
    "synchronous_io_nonalert",
    "non_directory_file",
    "create_tree_connection",
    "complete_if_oplocked",
    "no_ea_knowledge",
    "open_remote_instance",
    "random_access",
    "delete_on_close",
    "open_by_file_id",
    "open_for_backup_intent",
    "no_compression",
    "open_requiring_oplock",
    "disallow_exclusive",
    "session_aware",
    "19",
    "reserve_opfilter",
    "open_reparse_point",
    "open_no_recall",
    "open_for_free_space_query",
];

/// Names of the create dispositions (`NtCreateFile`).
pub(super) const DISPOSITIONS: &[&str] = &["supersede", "open", "create", "open_if", "overwrite", "overwrite_if"];

const PACKED_TEXT: &[Column] = &[
    column("State", 5, Content::Number("State")),
    column("Xml", 0, Content::Packed("CompressedXml", "UncompressedLength")),
];

const IMAGE_IDENTITY: &[Column] = &[
    column("    Process Name ( PID)", PROCESS_WIDTH, Content::ProcessIn("ProcessId")),
    column("         ImageBase", 0, Content::Hexadecimal("ImageBase", 16)),
    column("ImageSize", 0, Content::Hexadecimal("ImageSize", 8)),
    column("TimeDateStamp", 13, Content::Hexadecimal("TimeDateStamp", 8)),
    column("OriginalFileName", 0, Content::Quoted("OriginalFileName")),
];

const IMAGE_SYMBOLS: &[Column] = &[
    IMAGE_IDENTITY[0],
    IMAGE_IDENTITY[1],
    column("GuidSig", 0, Content::Guid("GuidSig")),
    column("Age", 3, Content::Number("Age")),
    column("PdbFileName", 0, Content::Quoted("PdbFileName")),
];

const IMAGE_ALONE: &[Column] = &[IMAGE_IDENTITY[0], IMAGE_IDENTITY[1]];

const MARK: &[Column] = &[column("Label", 0, Content::Plain("Message"))];

const PROFILE_INTERVAL: &[Column] = &[
    PROCESS,
    THREAD,
    column("Source", 6, Content::Number("Source")),
    column("New Interval", 12, Content::Number("NewInterval")),
    column("Old Interval", 12, Content::Number("OldInterval")),
];

/// Columns after the time stamp in stack rows with one row per frame.
pub(super) const FRAME_TITLES: &str = "  ThreadID, No.,            Address,            Image!Function";
/// Columns after the time stamp with one row per stack; the last column repeats for each frame.
pub(super) const STACK_TITLES: &str = "  ThreadID,            Image!Function";
/// Columns after the time stamp in rows of group masks.
pub(super) const GROUP_MASK_TITLES: &str = "No.,       Mask";

const fn row_layout(name: &'static str, columns: &'static [Column]) -> Layout {
    Layout { name, rows: Rows::One(columns) }
}

const CONTEXT_SWITCH_LAYOUT: Layout = row_layout("CSwitch", CONTEXT_SWITCH);

/// Layout of context switches with quality of service.
const SWITCH_WITH_QUALITY: Layout = row_layout("CSwitch", CONTEXT_SWITCH_WITH_QUALITY);

/// All layouts, in the order of the header block.
pub(super) const LAYOUTS: &[Layout] = &[
    row_layout("P-Start", PROCESS_START),
    row_layout("P-End", PROCESS_END),
    row_layout("P-DCStart", PROCESS_START),
    row_layout("P-DCEnd", PROCESS_START),
    row_layout("P-Zombie", PROCESS_START),
    row_layout("ProcessPerfCtr", PROCESS_PEAKS),
    row_layout("ProcessPerfCtrRundown", PROCESS_USE),
    row_layout("T-Start", THREAD_LIFE),
    row_layout("T-End", THREAD_LIFE),
    row_layout("T-DCStart", THREAD_LIFE),
    row_layout("T-DCEnd", THREAD_LIFE),
    row_layout("I-Start", IMAGE),
    row_layout("I-End", IMAGE),
    row_layout("I-DCStart", IMAGE),
    row_layout("I-DCEnd", IMAGE),
    CONTEXT_SWITCH_LAYOUT,
    row_layout("ReadyThread", READY_THREAD),
    row_layout("SampledProfile", SAMPLED_PROFILE),
    row_layout("PmcInterrupt", COUNTER_INTERRUPT),
    Layout { name: "Stack", rows: Rows::Frames },
    row_layout("Interrupt", INTERRUPT),
    row_layout("DPC", DPC),
    row_layout("DPCTmr", DPC),
    row_layout("SysCallEnter", SYSTEM_CALL_ENTER),
    row_layout("SysCallExit", SYSTEM_CALL_EXIT),
    row_layout("DiskRead", DISK_TRANSFER),
    row_layout("DiskWrite", DISK_TRANSFER),
    row_layout("DiskReadInit", DISK_START),
    row_layout("DiskWriteInit", DISK_START),
    row_layout("DiskFlush", DISK_FLUSH),
    row_layout("DiskFlushInit", DISK_START),
    row_layout("HardFault", HARD_FAULT),
    row_layout("PageFault", PAGE_FAULT),
    row_layout("VirtualAlloc", VIRTUAL_ALLOCATION),
    row_layout("VirtualFree", VIRTUAL_ALLOCATION),
    row_layout("FileIoCreate", FILE_CREATE),
    row_layout("FileIoRead", FILE_TRANSFER),
    row_layout("FileIoWrite", FILE_TRANSFER),
    row_layout("FileIoCleanup", FILE_SUBJECT),
    row_layout("FileIoClose", FILE_SUBJECT),
    row_layout("FileIoFlush", FILE_SUBJECT),
    row_layout("FileIoDelete", FILE_INFORMATION),
    row_layout("FileIoRename", FILE_INFORMATION),
    row_layout("FileIoSetInfo", FILE_INFORMATION),
    row_layout("FileIoQueryInfo", FILE_INFORMATION),
    row_layout("FileIoFSCTL", FILE_INFORMATION),
    row_layout("FileIoDirEnum", FILE_DIRECTORY),
    row_layout("FileIoDirNotify", FILE_DIRECTORY),
    row_layout("FileIoOpEnd", FILE_END),
    row_layout("FileNameCreate", FILE_NAME),
    row_layout("FileNameDelete", FILE_NAME),
    row_layout("FileNameRundown", FILE_NAME),
    row_layout("RegKcbCreate", REGISTRY_BLOCK),
    row_layout("RegKcbDelete", REGISTRY_BLOCK),
    row_layout("RegKcbBeginRundown", REGISTRY_BLOCK),
    row_layout("RegKcbEndRundown", REGISTRY_BLOCK),
    row_layout("RegCreateKey", REGISTRY_OPERATION),
    row_layout("RegOpenKey", REGISTRY_OPERATION),
    row_layout("RegDeleteKey", REGISTRY_OPERATION),
    row_layout("RegQueryKey", REGISTRY_QUERY),
    row_layout("RegSetValue", REGISTRY_OPERATION),
    row_layout("RegDeleteValue", REGISTRY_OPERATION),
    row_layout("RegQueryValue", REGISTRY_OPERATION),
    row_layout("RegEnumerateKey", REGISTRY_OPERATION),
    row_layout("RegEnumerateValueKey", REGISTRY_OPERATION),
    row_layout("RegQueryMultipleValue", REGISTRY_OPERATION),
    row_layout("RegSetInformation", REGISTRY_INFORMATION),
    row_layout("RegFlush", REGISTRY_OPERATION),
    row_layout("RegVirtualize", REGISTRY_OPERATION),
    row_layout("RegCloseKey", REGISTRY_OPERATION),
    row_layout("TcpSend", SOCKET),
    row_layout("TcpRecv", SOCKET),
    row_layout("TcpConnect", SOCKET),
    row_layout("TcpDisconnect", SOCKET),
    row_layout("TcpRetransmit", SOCKET),
    row_layout("TcpAccept", SOCKET),
    row_layout("TcpReconnect", SOCKET),
    row_layout("UdpSend", SOCKET),
    row_layout("UdpRecv", SOCKET),
    row_layout("TcpSendIPV6", SOCKET_IPV6),
    row_layout("TcpRecvIPV6", SOCKET_IPV6),
    row_layout("TcpConnectIPV6", SOCKET_IPV6),
    row_layout("TcpDisconnectIPV6", SOCKET_IPV6),
    row_layout("TcpRetransmitIPV6", SOCKET_IPV6),
    row_layout("TcpAcceptIPV6", SOCKET_IPV6),
    row_layout("TcpReconnectIPV6", SOCKET_IPV6),
    row_layout("UdpSendIPV6", SOCKET_IPV6),
    row_layout("UdpRecvIPV6", SOCKET_IPV6),
    row_layout("VolumeMapping", VOLUME_MAPPING),
    row_layout("ImageId", IMAGE_IDENTITY),
    row_layout("ImageId/DbgID_RSDS", IMAGE_SYMBOLS),
    row_layout("ImageId/DbgID_ILRSDS", IMAGE_SYMBOLS),
    row_layout("ImageId/None", IMAGE_ALONE),
    row_layout("WinSAT_SystemConfig", PACKED_TEXT),
    row_layout("WinSAT_Metrics", PACKED_TEXT),
    row_layout("WinSAT_WinSPR", PACKED_TEXT),
    row_layout("Mark", MARK),
    row_layout("ProfileFreq-SetInterval", PROFILE_INTERVAL),
    row_layout("ProfileFreq-DCStart", PROFILE_INTERVAL),
    row_layout("ProfileFreq-DCEnd", PROFILE_INTERVAL),
    Layout { name: "GroupMasks", rows: Rows::GroupMasks },
];

/// Finds the layout of events with this name.
pub(super) fn layout_of(name: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.name == name)
}

/// Finds the layout of events with this name and these fields.
pub(super) fn layout_with<'f>(name: &str, mut fields: impl Iterator<Item = &'f str>) -> Option<&'static Layout> {
    match name {
        "CSwitch" if fields.any(|field| field == "Flags") => Some(&SWITCH_WITH_QUALITY),
        _ => layout_of(name),
    }
}
