//! The parts of a Linux recording: what a file of one can be.

use onoff_trace::named;

/// A file of a recording that says something.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f> {
    /// What it is.
    pub kind: PartKind,
    /// Its name, for messages.
    pub name: &'f str,
    /// Its bytes, unpacked.
    pub bytes: &'f [u8],
}

named! {
    /// Kinds of parts, in the order in which they are read.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PartKind {
        /// The tracer's text, the kernel's or trace-cmd's.
        TraceText = "ftrace text",
        /// The file of trace-cmd.
        TraceData = "trace.dat",
        /// The kernel's log as text.
        KernelLog = "kernel log",
        /// The kernel's log as JSON (`dmesg -J`).
        KernelLogJson = "kernel log (JSON)",
        /// `systemctl show`: the manager's properties.
        Manager = "systemd manager properties",
        /// `systemctl show '*'`: the units' properties.
        Units = "systemd unit properties",
        /// `systemd-analyze dump`.
        Dump = "systemd-analyze dump",
        /// A file of the journal (`.journal`).
        Journal = "journal file",
        /// `journalctl -o export`.
        JournalExport = "journal (export)",
        /// `journalctl -o json`.
        JournalJson = "journal (JSON)",
        /// `journalctl -o verbose`.
        JournalVerbose = "journal (verbose)",
        /// The journal as lines (`journalctl -o short…`), or a syslog daemon's file.
        JournalText = "journal (text)",
        /// `systemd-analyze time`: the lengths of the parts of the start.
        StartupLengths = "systemd-analyze time",
        /// `systemd-analyze plot`: when each unit began to start, and how long it took.
        StartChart = "systemd-analyze plot",
        /// `systemd-analyze critical-chain`: when the units that the start waited for were started.
        CriticalChain = "systemd-analyze critical-chain",
        /// `systemd-analyze blame`: how long units took to start.
        Blame = "systemd-analyze blame",
        /// bootchart's `header`: the machine.
        BootchartHeader = "bootchart header",
        /// bootchart's `proc_ps.log`: the processes of each sample.
        BootchartProcesses = "bootchart processes",
        /// bootchart's `proc_stat.log` or `proc_diskstats.log`.
        BootchartUse = "bootchart processor or disk time",
        /// EFI variable: the loader's start, by the firmware's clock.
        LoaderTimeInit = "EFI variable LoaderTimeInitUSec",
        /// EFI variable: the loader hands over to the kernel, by the firmware's clock.
        LoaderTimeExec = "EFI variable LoaderTimeExecUSec",
        /// FPDT, FBPT or S3PT, or a value of theirs as Linux shows it below `/sys/firmware/acpi/fpdt`.
        FirmwareTable = "firmware performance table",
        /// Readings of several clocks at once (`mono=… boot=… real=…`).
        ClockReadings = "clock readings",
        /// The clock of the tracer (`trace_clock`).
        TraceClock = "trace clock",
        /// Names of threads as the tracer saved them (`saved_cmdlines`).
        SavedNames = "thread names",
        /// `uname -a`.
        Uname = "uname",
        /// `/proc/cmdline`.
        CommandLine = "kernel command line",
        /// `/proc/meminfo`.
        MemoryInfo = "meminfo",
        /// `/proc/cpuinfo`.
        ProcessorInfo = "cpuinfo",
        /// `/etc/os-release`.
        OsRelease = "os-release",
        /// Functions that a compiler in a process made (`perf-PID.map`).
        PerfMap = "perf map",
    }
}

impl PartKind {
    /// Whether it is a journal, which may hold several boots.
    pub(crate) const fn is_journal(self) -> bool {
        matches!(
            self,
            Self::Journal | Self::JournalExport | Self::JournalJson | Self::JournalVerbose | Self::JournalText
        )
    }

    /// Whether a file of this kind is a recording by itself; the others only add to one.
    pub const fn stands_alone(self) -> bool {
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
