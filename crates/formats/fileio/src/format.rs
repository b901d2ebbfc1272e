//! The supported formats.

/// A supported format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Binary log of Process Monitor, version 9.
    ProcessMonitorLog,
    /// CSV exported by Process Monitor.
    ProcessMonitorCsv,
    /// XML exported by Process Monitor.
    ProcessMonitorXml,
    /// Output of `strace`.
    Strace,
    /// Output of `blkparse`.
    Blkparse,
    /// `fio --write_iolog`.
    FioIolog,
    /// `fio --write_lat_log` and similar options.
    FioLog,
    /// Output of `darshan-dxt-parser`.
    DarshanTrace,
    /// The CSV described in [`crate::operations_csv`].
    OperationsCsv,
}

impl Format {
    /// Returns the name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProcessMonitorLog => "Process Monitor log",
            Self::ProcessMonitorCsv => "Process Monitor CSV",
            Self::ProcessMonitorXml => "Process Monitor XML",
            Self::Strace => "strace output",
            Self::Blkparse => "blkparse output",
            Self::FioIolog => "fio I/O log",
            Self::FioLog => "fio latency or bandwidth log",
            Self::DarshanTrace => "Darshan trace",
            Self::OperationsCsv => "CSV of file operations",
        }
    }
}
