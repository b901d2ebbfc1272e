//! The parts of a Linux recording: what a file of one can be.

/// A file of a recording that says something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'f> {
    /// What it is.
    pub(crate) kind: PartKind,
    /// Its name, for messages.
    pub(crate) name: &'f str,
    /// Its bytes, unpacked.
    pub(crate) bytes: &'f [u8],
}

/// Kinds of parts, in the order in which they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PartKind {
    /// The tracer's text, the kernel's or trace-cmd's.
    TraceText,
    /// The file of trace-cmd.
    TraceData,
    /// The kernel's log as text.
    KernelLog,
    /// The kernel's log as JSON (`dmesg -J`).
    KernelLogJson,
    /// `systemctl show`: the manager's properties.
    Manager,
    /// `systemctl show '*'`: the units' properties.
    Units,
    /// `systemd-analyze dump`.
    Dump,
    /// A file of the journal (`.journal`).
    Journal,
    /// `journalctl -o export`.
    JournalExport,
    /// `journalctl -o json`.
    JournalJson,
    /// `journalctl -o verbose`.
    JournalVerbose,
    /// The journal as lines (`journalctl -o short…`), or a syslog daemon's file.
    JournalText,
    /// `systemd-analyze time`: the lengths of the parts of the start.
    StartupLengths,
    /// `systemd-analyze plot`: when each unit began to start, and how long it took.
    StartChart,
    /// `systemd-analyze critical-chain`: when the units that the start waited for were started.
    CriticalChain,
    /// `systemd-analyze blame`: how long units took to start.
    Blame,
    /// bootchart's `header`: the machine.
    BootchartHeader,
    /// bootchart's `proc_ps.log`: the processes of each sample.
    BootchartProcesses,
    /// bootchart's `proc_stat.log` or `proc_diskstats.log`.
    BootchartUse,
    /// EFI variable: the loader's start, by the firmware's clock.
    LoaderTimeInit,
    /// EFI variable: the loader hands over to the kernel, by the firmware's clock.
    LoaderTimeExec,
    /// FPDT, FBPT or S3PT, or a value of theirs as Linux shows it below `/sys/firmware/acpi/fpdt`.
    FirmwareTable,
    /// Readings of several clocks at once (`mono=… boot=… real=…`).
    ClockReadings,
    /// The clock of the tracer (`trace_clock`).
    TraceClock,
    /// Names of threads as the tracer saved them (`saved_cmdlines`).
    SavedNames,
    /// `uname -a`.
    Uname,
    /// `/proc/cmdline`.
    CommandLine,
    /// `/proc/meminfo`.
    MemoryInfo,
    /// `/proc/cpuinfo`.
    ProcessorInfo,
    /// `/etc/os-release`.
    OsRelease,
    /// Functions that a compiler in a process made (`perf-PID.map`).
    PerfMap,
}

impl PartKind {
    /// What it is, in words.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::TraceText => "ftrace text",
            Self::TraceData => "trace.dat",
            Self::KernelLog => "kernel log",
            Self::KernelLogJson => "kernel log (JSON)",
            Self::Manager => "systemd manager properties",
            Self::Units => "systemd unit properties",
            Self::Dump => "systemd-analyze dump",
            Self::Journal => "journal file",
            Self::JournalExport => "journal (export)",
            Self::JournalJson => "journal (JSON)",
            Self::JournalVerbose => "journal (verbose)",
            Self::JournalText => "journal (text)",
            Self::StartupLengths => "systemd-analyze time",
            Self::StartChart => "systemd-analyze plot",
            Self::CriticalChain => "systemd-analyze critical-chain",
            Self::Blame => "systemd-analyze blame",
            Self::BootchartHeader => "bootchart header",
            Self::BootchartProcesses => "bootchart processes",
            Self::BootchartUse => "bootchart processor or disk time",
            Self::LoaderTimeInit => "EFI variable LoaderTimeInitUSec",
            Self::LoaderTimeExec => "EFI variable LoaderTimeExecUSec",
            Self::FirmwareTable => "firmware performance table",
            Self::ClockReadings => "clock readings",
            Self::TraceClock => "trace clock",
            Self::SavedNames => "thread names",
            Self::Uname => "uname",
            Self::CommandLine => "kernel command line",
            Self::MemoryInfo => "meminfo",
            Self::ProcessorInfo => "cpuinfo",
            Self::OsRelease => "os-release",
            Self::PerfMap => "perf map",
        }
    }

    /// Whether it is a journal, which may hold several boots.
    pub(crate) const fn is_journal(self) -> bool {
        matches!(
            self,
            Self::Journal | Self::JournalExport | Self::JournalJson | Self::JournalVerbose | Self::JournalText
        )
    }

    /// Whether a file of this kind is a recording by itself; the others only add to one.
    pub(crate) const fn stands_alone(self) -> bool {
        matches!(
            self,
            Self::TraceText
                | Self::TraceData
                | Self::KernelLog
                | Self::KernelLogJson
                | Self::Manager
                | Self::Units
                | Self::Dump
                | Self::Journal
                | Self::JournalExport
                | Self::JournalJson
                | Self::JournalVerbose
                | Self::JournalText
                | Self::StartupLengths
                | Self::StartChart
                | Self::CriticalChain
                | Self::BootchartProcesses
        )
    }
}
