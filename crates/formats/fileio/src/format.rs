//! The formats that are read.

/// A format that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Process Monitor's own file, version 9.
    ProcessMonitorLog,
    /// Process Monitor, saved as CSV.
    ProcessMonitorCsv,
    /// `strace`.
    Strace,
    /// `blkparse`.
    Blkparse,
    /// `fio --write_iolog`.
    FioIolog,
    /// `fio --write_lat_log` and its like.
    FioLog,
    /// `darshan-dxt-parser`.
    DarshanTrace,
    /// The CSV of [`crate::operations_csv`].
    OperationsCsv,
}

impl Format {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProcessMonitorLog => "Process Monitor log",
            Self::ProcessMonitorCsv => "Process Monitor CSV",
            Self::Strace => "strace output",
            Self::Blkparse => "blkparse output",
            Self::FioIolog => "fio I/O log",
            Self::FioLog => "fio latency or bandwidth log",
            Self::DarshanTrace => "Darshan trace",
            Self::OperationsCsv => "CSV of file operations",
        }
    }
}
