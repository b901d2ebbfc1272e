//! The kinds of files in a Linux recording.

use onoff_trace::named;

/// A recognized file of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f> {
    pub kind: PartKind,
    /// File name, for messages.
    pub name: &'f str,
    /// Content, unpacked.
    pub bytes: &'f [u8],
}

named! {
    /// Kinds of parts, in reading order.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum PartKind {
        /// Trace text of the kernel or of trace-cmd.
        TraceText = "ftrace text",
        /// trace-cmd file.
        TraceData = "trace.dat",
        /// Kernel log as text.
        KernelLog = "kernel log",
        /// Kernel log as JSON (`dmesg -J`).
        KernelLogJson = "kernel log (JSON)",
        /// `systemctl show`: properties of the service manager.
        Manager = "systemd manager properties",
        /// `systemctl show '*'`: properties of the units.
        Units = "systemd unit properties",
        /// `systemd-analyze dump`.
        Dump = "systemd-analyze dump",
        /// Binary journal file (`.journal`).
        Journal = "journal file",
        /// `journalctl -o export`.
        JournalExport = "journal (export)",
        /// `journalctl -o json`.
        JournalJson = "journal (JSON)",
        /// `journalctl -o verbose`.
        JournalVerbose = "journal (verbose)",
        /// Journal as lines (`journalctl -o short…`), or a syslog daemon's file.
        JournalText = "journal (text)",
        /// `systemd-analyze time`: durations of the startup phases.
        StartupTimes = "systemd-analyze time",
        /// `systemd-analyze plot`: start times and durations of the units.
        StartupPlot = "systemd-analyze plot",
        /// `systemd-analyze critical-chain`: start times of the units on the critical chain.
        CriticalChain = "systemd-analyze critical-chain",
        /// `systemd-analyze blame`: start durations of the units.
        Blame = "systemd-analyze blame",
        /// bootchart's `header`: the machine.
        BootchartHeader = "bootchart header",
        /// bootchart's `proc_ps.log`: the processes of each sample.
        BootchartProcesses = "bootchart processes",
        /// bootchart's `proc_stat.log` or `proc_diskstats.log`.
        BootchartTotals = "bootchart processor or disk time",
        /// EFI variable: the loader's start, on the firmware's clock.
        LoaderTimeInit = "EFI variable LoaderTimeInitUSec",
        /// EFI variable: the handover from the loader to the kernel, on the firmware's clock.
        LoaderTimeExec = "EFI variable LoaderTimeExecUSec",
        /// FPDT, FBPT or S3PT, or one of their values from `/sys/firmware/acpi/fpdt`.
        FirmwareTable = "firmware performance table",
        /// Readings of several clocks at once (`mono=… boot=… real=…`).
        ClockReadings = "clock readings",
        /// The tracer's clock (`trace_clock`).
        TraceClock = "trace clock",
        /// Thread names saved by the tracer (`saved_cmdlines`).
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
        /// Functions compiled at run time (`perf-PID.map`).
        PerfMap = "perf map",
    }
}

impl PartKind {
    /// True for journals, which may have several boots.
    pub(crate) const fn is_journal(self) -> bool {
        matches!(
            self,
            Self::Journal | Self::JournalExport | Self::JournalJson | Self::JournalVerbose | Self::JournalText
        )
    }

    /// True if a file of this kind is a complete recording. Files of other kinds only complement a recording.
    pub const fn is_standalone(self) -> bool {
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
                | Self::StartupTimes
                | Self::StartupPlot
                | Self::CriticalChain
                | Self::BootchartProcesses
        )
    }
}
