//! Errors that prevent reading a recording. Partial problems are losses, not errors.

use std::io;
use std::path::PathBuf;

use crate::sniff::KnownKind;

/// An error that prevents reading a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file was given.
    #[error("no recording given")]
    NoFile,
    /// A file could not be opened or read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        source: io::Error,
    },
    /// A file was truncated while it was read, which invalidates the result.
    #[error(
        "{name}: the file was truncated while it was read (from {before} to {now} bytes); wait until it is complete, or read a copy"
    )]
    Truncated {
        /// The file.
        name: String,
        /// Size when the file was opened, in bytes.
        before: u64,
        /// Current size, in bytes.
        now: u64,
    },
    /// The first bytes of a device or pipe cannot be a recording, so the rest is not read.
    #[error("{name}: not a recording: the first {examined} bytes are {what}")]
    NotARecordingStream {
        /// The device or pipe.
        name: String,
        /// Number of bytes examined.
        examined: usize,
        /// Description of the bytes.
        what: String,
    },
    /// A recording of file operations cannot be read.
    #[error("{name}: {source}")]
    FileOperations {
        /// The file.
        name: String,
        source: onoff_fileio::Error,
    },
    /// A Windows event log cannot be read.
    #[error("{name}: {source}")]
    EventLog {
        /// The file.
        name: String,
        source: onoff_event_log::Error,
    },
    /// A report of `powercfg` cannot be read.
    #[error("{name}: {source}")]
    PowerReport {
        /// The file.
        name: String,
        source: onoff_power_report::Error,
    },
    /// A packed file is damaged.
    #[error("{name}: the {packing} stream is damaged at unpacked byte offset {offset:#x}: {source}")]
    Unpack {
        /// The file, and the member inside it.
        name: String,
        /// Name of the compression format, e.g. `xz`.
        packing: &'static str,
        /// Number of bytes unpacked before the damage.
        offset: u64,
        source: io::Error,
    },
    /// A packed file exceeds the unpacking limit.
    #[error(
        "{name}: unpacks to more than {limit} bytes (from {stored}); unpack it with another tool and open the result"
    )]
    TooLarge {
        /// The file, and the member inside it.
        name: String,
        /// Size of the packed file, bytes.
        stored: u64,
        /// Maximum unpacked size, bytes.
        limit: u64,
    },
    /// Packed files are nested too deeply.
    #[error("{name}: nested in more than {limit} packed files")]
    TooDeep {
        /// The file, and the member inside it.
        name: String,
        /// Maximum number of layers.
        limit: usize,
    },
    /// A folder or archive contains no recording.
    #[error("{name}: no recording in this folder or archive ({members} files)")]
    NoRecordingInside {
        /// The folder or archive.
        name: String,
        /// Number of files in the folder or archive.
        members: usize,
    },
    /// The recording's journals do not contain the requested boot.
    #[error("--boot {requested}: no such boot; the recording has {boots} (see 'onoff boot --list-boots')")]
    NoSuchBoot {
        /// The requested boot.
        requested: String,
        /// Number of boots in the recording.
        boots: usize,
    },
    /// A serial log does not contain the requested boot.
    #[error("--boot {requested}: no such boot; the log has {boots} (see 'onoff firmware')")]
    NoLoggedBoot {
        /// The requested boot.
        requested: i64,
        /// Number of boots in the log.
        boots: usize,
    },
    /// The file format is unknown.
    #[error("{name}: unknown format ({beginning}){advice}")]
    NotARecording {
        /// The file, and the member inside it.
        name: String,
        /// The first line of a text, or the first bytes of any other file in hexadecimal.
        beginning: String,
        /// Likely format and the command that produces a readable file, after a full stop; empty if unknown.
        advice: &'static str,
    },
    /// The file belongs to another program, and no command reads it.
    #[error("{name}: this is {description}, not a recording{}", sentence(advice))]
    UnsupportedKind {
        /// The file, and the member inside it.
        name: String,
        /// Description of the file.
        description: &'static str,
        /// Advice; may be empty.
        advice: &'static str,
    },
    /// The file contains no firmware tables in any known format.
    #[error(
        "{name}: no firmware tables in any known format (FPDT, FBPT, S3PT, acpidump text, EDK II XML, serial log); first bytes {first_bytes}"
    )]
    NotFirmware {
        /// The file, and the member inside it.
        name: String,
        /// First bytes in hexadecimal.
        first_bytes: String,
    },
    /// The file is a recording, but of another kind than the command needs.
    #[error("{name}: this is {is}; read it with {read_by}")]
    OtherKind {
        /// The file, and the member inside it.
        name: String,
        /// Description of the file.
        is: &'static str,
        /// The commands that read it.
        read_by: &'static str,
    },
    /// An event trace log without captured packets.
    #[error(
        "{name}: no packets (no events of Microsoft-Windows-NDIS-PacketCapture or Microsoft-Windows-PktMon); record with \
         'pktmon start --capture --pkt-size 0' or 'netsh trace start capture=yes'"
    )]
    NoPackets {
        /// The file.
        name: String,
    },
    /// A network capture ends within its file header.
    #[error("{name}: the capture ends within its file header, at byte offset {bytes:#x}")]
    CaptureHeader {
        /// The file.
        name: String,
        /// Size of the file, bytes.
        bytes: u64,
    },
    /// A Linux recording has no individual events.
    #[error("{name}: the recording has neither a trace nor a log, so there are no individual events; see 'onoff info'")]
    NoEvents {
        /// The first file of the recording.
        name: String,
    },
    /// A trace-cmd file cannot be read.
    #[error("{name}: {source}")]
    Trace {
        /// The file, and the member inside it.
        name: String,
        source: onoff_ftrace::Error,
    },
    /// A journal file cannot be read.
    #[error("{name}: {source}")]
    Journal {
        /// The file, and the member inside it.
        name: String,
        source: onoff_journal::Error,
    },
    /// The files belong to several recordings, which cannot be read as one.
    #[error("these are {count} recordings ({first}, {second}{}); pass one at a time", if *.count > 2 { ", ..." } else { "" })]
    SeveralRecordings {
        /// Number of recordings.
        count: usize,
        /// A file of the first recording.
        first: String,
        /// A file of the second recording.
        second: String,
    },
    /// A document used with recordings, such as a saved baseline or a study, is invalid.
    #[error("{name}: {reason}")]
    Document {
        /// The file.
        name: String,
        reason: String,
    },
    /// A user-supplied event schema is invalid.
    #[error("{}: {reason}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        reason: String,
    },
    /// An Event Trace Log cannot be read.
    #[error(transparent)]
    EventTraceLog(#[from] onoff_etl::Error),
}

/// Formats `text` as an additional sentence.
fn sentence(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(". {text}.") }
}

impl Error {
    /// Creates the error for a file of a known kind other than the required kind.
    pub fn unexpected_kind(name: &str, kind: KnownKind) -> Self {
        let KnownKind { description: is, read_by, advice: instead } = kind;
        let name = name.to_owned();
        if read_by.is_empty() {
            Self::UnsupportedKind { name, description: is, advice: instead }
        } else {
            Self::OtherKind { name, is, read_by }
        }
    }
}
