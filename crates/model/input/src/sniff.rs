//! Format detection from file content; file names are never used.

use onoff_trace::named;

/// A kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordingKind {
    /// Windows Event Trace Log.
    EventTraceLog,
    /// Windows event logs: `.evtx` files or their exports as XML or CSV, usually several.
    WindowsEventLogs,
    /// Report of `powercfg` on the sleeps of a Windows computer.
    PowerReport,
    /// Network capture, pcap or pcapng.
    NetworkCapture,
    /// Linux: traces, logs and service manager output, in any combination.
    Linux,
    /// File operations recorded by Process Monitor, strace and others.
    FileOperations,
}

impl RecordingKind {
    /// Returns the description for messages, with article.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EventTraceLog => "a Windows event trace log",
            Self::WindowsEventLogs => "a Windows event log",
            Self::PowerReport => "a Windows power report",
            Self::NetworkCapture => "a network capture",
            Self::Linux => "a Linux recording",
            Self::FileOperations => "a recording of file operations",
        }
    }

    /// Returns the commands that read this kind, for messages.
    #[must_use]
    pub const fn read_by(self) -> &'static str {
        match self {
            Self::EventTraceLog => "'onoff boot', 'onoff info' or 'onoff events'",
            Self::WindowsEventLogs => "'onoff boot', 'onoff shutdown', 'onoff suspend' or 'onoff compare'",
            Self::PowerReport => "'onoff suspend' or 'onoff info'",
            Self::NetworkCapture => "'onoff netboot'",
            Self::FileOperations => "'onoff io' or 'onoff files'",
            Self::Linux => "'onoff boot', 'onoff shutdown', 'onoff suspend' or 'onoff info'",
        }
    }

    /// Converts to a [`KnownKind`].
    pub const fn known_kind(self) -> KnownKind {
        KnownKind { description: self.as_str(), read_by: self.read_by(), advice: "" }
    }
}

/// Description of a file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownKind {
    /// Description with article, e.g. `a registry hive of Windows`.
    pub description: &'static str,
    /// The commands that read it; empty if no command does.
    pub read_by: &'static str,
    /// Advice if no command reads it, as a sentence; may be empty.
    pub advice: &'static str,
}

named! {
    /// Compression and archive formats for shared recordings.
    #[derive(Hash)]
    pub enum Packing {
        /// XZ.
        Xz = "xz",
        /// Gzip.
        Gzip = "gzip",
        /// Zstandard.
        Zstandard = "zstd",
        /// Bzip2.
        Bzip2 = "bzip2",
        /// Zip archive.
        Zip = "zip",
    }
}

/// Result of format detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// A recording.
    Recording(RecordingKind),
    /// A packed file.
    Packed(Packing),
    /// No bytes, or only zeros, as in an Event Trace Log that was preallocated and never written.
    Empty,
    /// Unknown format.
    Unknown,
}

/// Number of bytes [`sniff`] uses.
pub const MAGIC_LEN: usize = 0x58;

/// Detects the format of a file from its first bytes.
///
/// An Event Trace Log starts with a buffer header (`WMI_BUFFER_HEADER`, 0x48 bytes) of type 4, whose first record is
/// the logfile header: marker 0xC001 or 0xC002 and hook 0.
#[must_use]
pub fn sniff(bytes: &[u8]) -> Content {
    const MAGICS: [(&[u8], Packing); 4] = [
        (b"\xFD7zXZ\0", Packing::Xz),
        (b"\x1F\x8B\x08", Packing::Gzip),
        (b"\x28\xB5\x2F\xFD", Packing::Zstandard),
        (b"PK\x03\x04", Packing::Zip),
    ];
    for (magic, packing) in MAGICS {
        if bytes.starts_with(magic) {
            return Content::Packed(packing);
        }
    }
    if is_bzip2(bytes) {
        return Content::Packed(Packing::Bzip2);
    }
    if is_network_capture(bytes) {
        return Content::Recording(RecordingKind::NetworkCapture);
    }
    if onoff_event_log::is_event_log(bytes) {
        return Content::Recording(RecordingKind::WindowsEventLogs);
    }
    if onoff_power_report::is_power_report(bytes.get(..SNIFF_LEN).unwrap_or(bytes)) {
        return Content::Recording(RecordingKind::PowerReport);
    }
    if bytes.iter().take(MAGIC_LEN).all(|&byte| byte == 0) {
        return if has_text_after_zeros(bytes) { Content::Unknown } else { Content::Empty };
    }
    if is_event_trace_log(bytes) {
        return Content::Recording(RecordingKind::EventTraceLog);
    }
    Content::Unknown
}

/// True if a text follows the zeros at the start: a log after a power cut.
fn has_text_after_zeros(bytes: &[u8]) -> bool {
    /// Number of bytes of the text that are examined.
    const TEXT_BYTES: usize = 32;
    let head = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    let text = head.iter().position(|&byte| byte != 0).and_then(|start| head.get(start..start + TEXT_BYTES));
    text.is_some_and(|text| text.iter().all(|&byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')))
}

/// True for a bzip2 stream: `BZh`, the block size as a digit, and the mark of the first block or of the stream's end. The
/// mark is necessary because a text can start with `BZh9`.
fn is_bzip2(bytes: &[u8]) -> bool {
    const BLOCK: [u8; 6] = *b"1AY&SY";
    const END: [u8; 6] = [0x17, 0x72, 0x45, 0x38, 0x50, 0x90];
    matches!(bytes.first_chunk::<10>(), Some([b'B', b'Z', b'h', b'1'..=b'9', mark @ ..]) if [BLOCK, END].contains(mark))
}

/// True for pcap in either byte order, with microseconds, nanoseconds or Kuznetsov's longer frame headers, and for
/// pcapng.
fn is_network_capture(bytes: &[u8]) -> bool {
    const PCAP: [[u8; 4]; 5] = [
        [0xD4, 0xC3, 0xB2, 0xA1],
        [0xA1, 0xB2, 0xC3, 0xD4],
        [0x4D, 0x3C, 0xB2, 0xA1],
        [0xA1, 0xB2, 0x3C, 0x4D],
        [0x34, 0xCD, 0xB2, 0xA1],
    ];
    let is_pcapng = bytes.starts_with(&[0x0A, 0x0D, 0x0D, 0x0A])
        && matches!(bytes.get(8..12), Some([0x4D, 0x3C, 0x2B, 0x1A] | [0x1A, 0x2B, 0x3C, 0x4D]));
    is_pcapng || PCAP.iter().any(|magic| bytes.starts_with(magic))
}

fn is_event_trace_log(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<0x50>() else {
        // Accept a log that is truncated within the first buffer header, because the ETL reader gives a better error.
        // Records start at multiples of 8, so buffers end there; a text with a byte order mark does not match.
        return bytes.first().is_some_and(|low_byte| low_byte % 8 == 0) && has_plausible_buffer_size(bytes);
    };
    let record = &head[0x48..];
    has_plausible_buffer_size(bytes)
        && (head[0x36] == 4 || record[2..4] == [0x01, 0xC0] || record[2..4] == [0x02, 0xC0])
        && record[3] == 0xC0
        && record[6..8] == [0, 0]
}

fn has_plausible_buffer_size(bytes: &[u8]) -> bool {
    bytes.first_chunk::<4>().is_some_and(|size| (0x48..=64 << 20).contains(&u32::from_le_bytes(*size)))
}

/// Number of bytes at the start of a file that are examined to detect its format.
pub const SNIFF_LEN: usize = 64 << 10;

/// True if `bytes` are a tar archive.
pub fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// Formats the first bytes in hexadecimal, for messages.
pub fn first_bytes(bytes: &[u8]) -> String {
    bytes.iter().take(MAGIC_LEN.min(8)).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// Describes the beginning of a file for messages: the first line of a text, otherwise the first bytes.
pub fn beginning(bytes: &[u8]) -> String {
    /// Maximum length of the line, in characters.
    const MAX_CHARS: usize = 60;
    let head = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    // A serial port that is turned on may have NULs before the text.
    let text = head.get(head.iter().position(|&byte| byte != 0).unwrap_or(0)..).unwrap_or_default();
    let line = text
        .split(|&byte| byte == b'\n')
        .map(|line| std::str::from_utf8(line).map_or_else(|_| "\0".to_owned(), without_escapes))
        .find(|line| !line.trim().is_empty())
        .filter(|line| !line.trim().chars().any(char::is_control));
    match line.as_deref().map(str::trim) {
        Some(line) if line.chars().count() > MAX_CHARS => {
            format!("first line \"{}…\"", line.chars().take(MAX_CHARS).collect::<String>())
        }
        Some(line) => format!("first line \"{line}\""),
        None => format!("first bytes {}", first_bytes(bytes)),
    }
}

/// Removes the sequences that color a terminal, and tabs.
fn without_escapes(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').trim_start_matches('m'));
    }
    plain.replace('\t', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_beginning_of_text_and_other_files() {
        assert_eq!(beginning(b"\r\n  U-Boot 2020\r\nx"), "first line \"U-Boot 2020\"");
        assert_eq!(beginning("é".repeat(80).as_bytes()), format!("first line \"{}…\"", "é".repeat(60)));
        assert_eq!(beginning(b"[\x1b[0;32m  OK  \x1b[0m] a\tb"), "first line \"[  OK  ] a b\"");
        assert_eq!(beginning(b"\0\0SPI NOR\n"), "first line \"SPI NOR\"");
        assert_eq!(beginning(b"\x01\x02text"), "first bytes 01 02 74 65 78 74");
        assert_eq!(beginning(b"\xff\xfe\n"), "first bytes ff fe 0a");
    }

    fn event_trace_log() -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        bytes[..4].copy_from_slice(&0x1_0000u32.to_le_bytes());
        bytes[0x36] = 4;
        bytes[0x48..0x50].copy_from_slice(&[2, 0, 2, 0xC0, 0x60, 1, 0, 0]);
        bytes
    }

    #[test]
    fn detects_formats_from_content() {
        let log = event_trace_log();
        let recording = Content::Recording(RecordingKind::EventTraceLog);
        assert_eq!(sniff(&log), recording);
        assert_eq!(sniff(&log[..0x30]), recording, "truncated");
        assert_eq!(sniff(b"\xFD7zXZ\0rest"), Content::Packed(Packing::Xz));
        assert_eq!(sniff(b"\x1F\x8B\x08rest"), Content::Packed(Packing::Gzip));
        assert_eq!(sniff(b"PK\x03\x04rest"), Content::Packed(Packing::Zip));
        assert_eq!(sniff(b"\x28\xB5\x2F\xFDrest"), Content::Packed(Packing::Zstandard));
        assert_eq!(sniff(b"BZh91AY&SYrest"), Content::Packed(Packing::Bzip2));
        assert_eq!(sniff(b"BZh9 is a text"), Content::Unknown);
        assert_eq!(sniff(b"BZh01AY&SYrest"), Content::Unknown, "block size 0");
        let capture = Content::Recording(RecordingKind::NetworkCapture);
        assert_eq!(sniff(b"\x4D\x3C\xB2\xA1\x02\0\x04\0"), capture);
        assert_eq!(sniff(b"\xA1\xB2\xC3\xD4\0\x02\0\x04"), capture);
        assert_eq!(sniff(b"\x0A\x0D\x0D\x0A\x1C\0\0\0\x4D\x3C\x2B\x1A"), capture);
        assert_eq!(sniff(b"\n\r\r\nsome text"), Content::Unknown);
        assert_eq!(sniff(&[]), Content::Empty);
        assert_eq!(sniff(&[0; 4096]), Content::Empty);
        let mut zeros_first = vec![0; 4096];
        zeros_first.extend(b"Nov 22 09:00:00 host kernel: Linux version 6.1");
        assert_eq!(sniff(&zeros_first), Content::Unknown);
        zeros_first[4100] = 0;
        assert_eq!(sniff(&zeros_first), Content::Empty);
        assert_eq!(sniff(b"#!/bin/sh\n"), Content::Unknown);
        let mut wrong_marker = log;
        wrong_marker[0x4B] = 0x90;
        assert_eq!(sniff(&wrong_marker), Content::Unknown);
    }
}
