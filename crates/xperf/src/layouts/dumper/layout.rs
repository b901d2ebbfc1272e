//! The columns of each kernel event in xperf's text dump.
//!
//! Titles and widths are those of dumps that their owners posted in public. Fields are named as the kernel's own
//! event classes name them.

/// What stands in a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// Process the event is charged to.
    Process,
    /// Process whose id is in a field.
    ProcessIn(&'static str),
    /// Process of the thread whose id is in a field.
    ProcessOfThread(&'static str),
    /// Thread the event is charged to.
    Thread,
    /// Processor.
    Cpu,
    /// Whole number in a field.
    Number(&'static str),
    /// A field in hexadecimal, with so many digits at least.
    Hexadecimal(&'static str, usize),
    /// The first of these fields that is there, in hexadecimal.
    HexadecimalOr(&'static str, &'static str),
    /// Sum of two fields in hexadecimal: a base and a size.
    End(&'static str, &'static str),
    /// Text in a field as it is; `<none>` where there is none.
    Text(&'static str),
    /// Text in a field between quotes.
    Quoted(&'static str),
    /// Path of the file that the event is about, between quotes.
    File(&'static str),
    /// Module that holds the address in a field, in the process of another field.
    ImageIn(&'static str, &'static str),
    /// Module that holds the address in a field, in the process the event is charged to.
    Image(&'static str),
    /// Module that holds the start address of the thread the event is charged to.
    ThreadStartImage,
    /// How long the work took, µs.
    Elapsed,
    /// Time the disk itself worked, µs.
    Service,
    /// Time since the new thread last ran, µs.
    SinceLast,
    /// How long the old thread ran, µs.
    Ran,
    /// State of the old thread.
    OldState,
    /// Wait reason of the old thread.
    WaitReason,
    /// Whether the old thread's stack may be swapped out while it waits.
    Swapable(&'static str),
    /// I/O priority in request flags.
    IoPriority(&'static str),
    /// Lowest bit of a field, as yes or no.
    Flag(&'static str),
    /// The same in every row: what newer and older systems do not record.
    Always(&'static str),
}

impl Content {
    /// The field that the value comes from, the first if there are several.
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
            | Self::Flag(name) => Some(name),
            _ => None,
        }
    }
}

/// A column after the time stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Characters of a value, which stands to the right in them.
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

/// How an event's rows look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) name: &'static str,
    pub(super) rows: Rows,
}

/// The rows of an event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows {
    /// One, with these columns.
    One(&'static [Column]),
    /// One for each frame of a call stack.
    Frames,
    /// One for each group mask.
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
    column("PackageFullName", 0, Content::Text("PackageFullName")),
    column("PRAID", 0, Content::Text("ApplicationId")),
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
    column("         ImageBase", 0, Content::HexadecimalOr("ImageBase", "BaseAddress")),
    column("          ImageEnd", 0, Content::End("ImageBase", "ImageSize")),
    column("  CheckSum", 0, Content::Hexadecimal("ImageChecksum", 8)),
    column("TimeDateStamp", 13, Content::Hexadecimal("TimeDateStamp", 8)),
    column("       DefaultBase", 0, Content::Hexadecimal("DefaultBase", 16)),
    column("FileName", 0, Content::Quoted("FileName")),
];

const CONTEXT_SWITCH: &[Column] = &[
    column("New Process Name ( PID)", PROCESS_WIDTH, Content::ProcessOfThread("NewThreadId")),
    column("   New TID", 10, Content::Number("NewThreadId")),
    column("NPri", 4, Content::Number("NewThreadPriority")),
    // Quanta were recorded by the first version only; later dumps show -1.
    column("NQnt", 4, Content::Number("NewThreadQuantum")),
    column("TmSinceLast", 11, Content::SinceLast),
    column("WaitTime", 8, Content::Number("NewThreadWaitTime")),
    column("Old Process Name ( PID)", PROCESS_WIDTH, Content::ProcessOfThread("OldThreadId")),
    column("   Old TID", 10, Content::Number("OldThreadId")),
    column("OPri", 4, Content::Number("OldThreadPriority")),
    column("OQnt", 4, Content::Number("OldThreadQuantum")),
    column("       OldState", 15, Content::OldState),
    column("     Wait Reason", 16, Content::WaitReason),
    column("Swapable", 8, Content::Swapable("OldThreadWaitMode")),
    column("InSwitchTime", 6, Content::Ran),
    CPU,
    column("IdealProc", 3, Content::Number("OldThreadWaitIdealProcessor")),
    column(" OldRemQnt", 10, Content::Number("OldThreadRemainingQuantum")),
    column("NewPriDecr", 4, Content::Number("SpareByte")),
    column("PrevCState", 4, Content::Number("PreviousCState")),
];

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
];

const MARK: &[Column] = &[
    column("    Type", 8, Content::Always("Mark")),
    column("Level", 5, Content::Always("0")),
    column("    TranId", 10, Content::Always("0")),
    column("   AppId", 8, Content::Always("0")),
    column("    OpId", 8, Content::Always("0")),
    column("Text", 0, Content::Quoted("Message")),
];

const PROFILE_INTERVAL: &[Column] = &[
    PROCESS,
    THREAD,
    column("Source", 6, Content::Number("Source")),
    column("New Interval", 12, Content::Number("NewInterval")),
    column("Old Interval", 12, Content::Number("OldInterval")),
];

/// Columns of a stack's rows after the time stamp, as in the header.
pub(super) const FRAME_TITLES: &str = "  ThreadID, No.,            Address,            Image!Function";
/// Columns of a group mask's rows after the time stamp, as in the header.
pub(super) const GROUP_MASK_TITLES: &str = "No.,       Mask";

const fn one(name: &'static str, columns: &'static [Column]) -> Layout {
    Layout { name, rows: Rows::One(columns) }
}

/// Every event with a layout of its own, in the order of the header block.
pub(super) const LAYOUTS: &[Layout] = &[
    one("P-Start", PROCESS_START),
    one("P-End", PROCESS_END),
    one("P-DCStart", PROCESS_START),
    one("P-DCEnd", PROCESS_START),
    one("T-Start", THREAD_LIFE),
    one("T-End", THREAD_LIFE),
    one("T-DCStart", THREAD_LIFE),
    one("T-DCEnd", THREAD_LIFE),
    one("I-Start", IMAGE),
    one("I-End", IMAGE),
    one("I-DCStart", IMAGE),
    one("I-DCEnd", IMAGE),
    one("CSwitch", CONTEXT_SWITCH),
    one("ReadyThread", READY_THREAD),
    one("SampledProfile", SAMPLED_PROFILE),
    Layout { name: "Stack", rows: Rows::Frames },
    one("Interrupt", INTERRUPT),
    one("DPC", DPC),
    one("DPCTmr", DPC),
    one("SysCallEnter", SYSTEM_CALL_ENTER),
    one("SysCallExit", SYSTEM_CALL_EXIT),
    one("DiskRead", DISK_TRANSFER),
    one("DiskWrite", DISK_TRANSFER),
    one("DiskReadInit", DISK_START),
    one("DiskWriteInit", DISK_START),
    one("DiskFlush", DISK_FLUSH),
    one("DiskFlushInit", DISK_START),
    one("HardFault", HARD_FAULT),
    one("MarkEvent", MARK),
    one("ProfileFreq-SetInterval", PROFILE_INTERVAL),
    one("ProfileFreq-DCStart", PROFILE_INTERVAL),
    one("ProfileFreq-DCEnd", PROFILE_INTERVAL),
    Layout { name: "GroupMasks", rows: Rows::GroupMasks },
];

/// The layout of an event's name.
pub(super) fn layout_of(name: &str) -> Option<&'static Layout> {
    LAYOUTS.iter().find(|layout| layout.name == name)
}
