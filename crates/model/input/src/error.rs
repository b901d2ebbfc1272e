//! Why a recording cannot be read at all. What could be read with something missing is a loss, not an error.

use std::io;
use std::path::PathBuf;

use crate::sniff::KnownKind;

/// Opening a recording cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No file was named.
    #[error("no recording was named")]
    NoFile,
    /// A file could not be opened or read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file became shorter while it was read: what was read of it means nothing.
    #[error(
        "{name}: the file became shorter while it was read ({before} bytes before, {now} now); wait until it is complete, or read a copy"
    )]
    Shortened {
        /// The file.
        name: String,
        /// Its length when it was opened.
        before: u64,
        /// Its length now.
        now: u64,
    },
    /// A device or pipe that begins as no recording does; its end is not waited for.
    #[error("{name}: no recording: the first {looked_at} bytes are {what}")]
    NoRecordingAtFirstLook {
        /// The device or pipe.
        name: String,
        /// Bytes that were looked at.
        looked_at: usize,
        /// What they are.
        what: String,
    },
    /// A recording of file operations cannot be read.
    #[error("{name}: {source}")]
    FileOperations {
        /// The file.
        name: String,
        /// Why.
        source: onoff_fileio::Error,
    },
    /// A packed file is damaged.
    #[error("{name}: byte offset {offset:#x} of what it unpacks to: the {packing} stream is damaged: {source}")]
    Unpack {
        /// The file, and the member inside it.
        name: String,
        /// Name of the packing, e.g. `xz`.
        packing: &'static str,
        /// Bytes that came out before the damage.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// A packed file unpacks to more than is allowed.
    #[error(
        "{name}: unpacks to more than {limit} bytes (from {stored}); unpack it with another tool and open the result"
    )]
    TooLarge {
        /// The file, and the member inside it.
        name: String,
        /// Bytes of the packed file.
        stored: u64,
        /// Most bytes that it may unpack to.
        limit: u64,
    },
    /// A packed file holds packed files, too deep.
    #[error("{name}: packed more than {limit} times over")]
    TooDeep {
        /// The file, and the member inside it.
        name: String,
        /// Most layers that are undone.
        limit: usize,
    },
    /// An archive holds no recording.
    #[error("{name}: the archive holds no recording ({members} members)")]
    NoRecordingInside {
        /// The archive.
        name: String,
        /// Number of members.
        members: usize,
    },
    /// No journal of the recording holds the boot asked for.
    #[error("--boot {asked}: no such boot; the recording holds {boots} (see 'onoff boot --list-boots')")]
    NoSuchBoot {
        /// What was asked for.
        asked: String,
        /// Boots that there are.
        boots: usize,
    },
    /// A serial log holds no boot of that number.
    #[error("--boot {asked}: no such boot; the log holds {boots} ('onoff firmware' lists them)")]
    NoLoggedBoot {
        /// What was asked for.
        asked: i64,
        /// Boots that there are.
        boots: usize,
    },
    /// The file is of no kind that can be read.
    #[error("{name}: byte offset 0: not a recording of a known kind: it begins with {beginning}{advice}")]
    NotARecording {
        /// The file, and the member inside it.
        name: String,
        /// Its first bytes in hexadecimal.
        beginning: String,
        /// What it looks like and the command whose output can be read, after a full stop; empty when that is not
        /// known.
        advice: &'static str,
    },
    /// The file is of another program, and no verb reads it.
    #[error("{name}: this is {is}, not a recording{}", sentence(instead))]
    ForeignKind {
        /// The file, and the member inside it.
        name: String,
        /// What it is.
        is: &'static str,
        /// What to do instead; may be empty.
        instead: &'static str,
    },
    /// The file holds no firmware tables in any form.
    #[error(
        "{name}: no firmware tables: neither FPDT, FBPT or S3PT, nor acpidump text, EDK II's XML or a serial log with them; it begins with {beginning}"
    )]
    NotFirmware {
        /// The file, and the member inside it.
        name: String,
        /// Its first bytes in hexadecimal.
        beginning: String,
    },
    /// The file is a recording, but not of the kind that the question is about.
    #[error("{name}: this is {is}; {read_by} reads it")]
    OtherKind {
        /// The file, and the member inside it.
        name: String,
        /// What it is.
        is: &'static str,
        /// The commands that read it.
        read_by: &'static str,
    },
    /// An event trace log in which Windows logged no packets.
    #[error(
        "{name}: holds no packets (no event of Microsoft-Windows-NDIS-PacketCapture or Microsoft-Windows-PktMon); record with \
         'pktmon start --capture --pkt-size 0' or 'netsh trace start capture=yes'"
    )]
    NoPackets {
        /// The file.
        name: String,
    },
    /// A network capture ends inside its first header.
    #[error("{name}: byte offset {bytes:#x}: the capture ends inside its header")]
    CaptureHeader {
        /// The file.
        name: String,
        /// Its length.
        bytes: u64,
    },
    /// A recording of Linux without a trace was asked for its events.
    #[error(
        "{name}: the recording holds neither a trace nor a log, so there are no single events; 'onoff info' says what it holds"
    )]
    NoEvents {
        /// Its first part.
        name: String,
    },
    /// A file of trace-cmd cannot be read.
    #[error("{name}: {source}")]
    Trace {
        /// The file, and the member inside it.
        name: String,
        /// Why.
        source: onoff_ftrace::Error,
    },
    /// A file of the journal cannot be read.
    #[error("{name}: {source}")]
    Journal {
        /// The file, and the member inside it.
        name: String,
        /// Why.
        source: onoff_journal::Error,
    },
    /// Files that are of several recordings: read together they would be one that never was.
    #[error("these are {count} recordings ({first}, {second}{}), and one is read at a time", if *.count > 2 { ", ..." } else { "" })]
    SeveralRecordings {
        /// How many.
        count: usize,
        /// A file of one.
        first: String,
        /// A file of another.
        second: String,
    },
    /// A document that goes with recordings, such as a kept baseline or a study, cannot be used.
    #[error("{name}: {reason}")]
    Document {
        /// The file.
        name: String,
        /// Why.
        reason: String,
    },
    /// An event schema that the user named cannot be used.
    #[error("{}: {reason}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// An Event Trace Log cannot be read.
    #[error(transparent)]
    EventTraceLog(#[from] onoff_etl::Error),
}

/// `text` as a further sentence.
fn sentence(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(". {text}.") }
}

impl Error {
    /// The refusal of a file of a kind that is known, though not the one that was wanted.
    pub fn of_kind(name: &str, kind: KnownKind) -> Self {
        let KnownKind { is, read_by, instead } = kind;
        let name = name.to_owned();
        if read_by.is_empty() { Self::ForeignKind { name, is, instead } } else { Self::OtherKind { name, is, read_by } }
    }
}
