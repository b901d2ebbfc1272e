//! Describes files that the current command does not read: all kinds that other commands read, and files of other
//! programs that are often mistaken for recordings. Detection uses the first bytes; names matter only for parts of
//! Linux recordings.
//!
//! Magic numbers are from the format documentation, `file(1)` or the Library of Congress.

use onoff_input::sniff::{Content, KnownKind, RecordingKind, SNIFF_LEN, is_tar, sniff};

const fn readable(description: &'static str, read_by: &'static str) -> KnownKind {
    KnownKind { description, read_by, advice: "" }
}

const fn foreign(description: &'static str, advice: &'static str) -> KnownKind {
    KnownKind { description, read_by: "", advice }
}

/// Read by `onoff firmware`.
pub(crate) const FIRMWARE: KnownKind =
    readable("a firmware table", "'onoff firmware' (or 'onoff boot RECORDING --firmware FILE')");
const HIVE: KnownKind = readable("a Windows registry hive", "'onoff image'");
const PREFETCH: KnownKind = readable("a Windows prefetch file", "'onoff prefetch'");

const RECORD_WINDOWS: &str = "Record the boot as an Event Trace Log (.etl): see 'onoff record boot --plan windows'";

const EXPORT_EVENT_LOG: &str =
    "It has no field values. Save the log as .evtx or .xml in Event Viewer, or run 'wevtutil epl System System.evtx'";

/// Magic numbers at the start of files.
const MAGICS: &[(&[u8], KnownKind)] = &[
    (b"regf", HIVE),
    (b"MAM\x04", PREFETCH),
    (b"FPDT", FIRMWARE),
    (b"FBPT", FIRMWARE),
    (b"S3PT", FIRMWARE),
    (b"\x30\0\0\0LfLe", foreign("a Windows event log (.evt)", RECORD_WINDOWS)),
    (b"!FastSerialization", foreign("a trace converted by TraceEvent (.etlx)", "Take the .etl it was made from")),
    (b"\x14\0\0\0!FastSerialization", foreign("a .NET trace (.netperf or .etlx)", RECORD_WINDOWS)),
    (b"Nettrace", foreign("a .NET trace (.nettrace)", RECORD_WINDOWS)),
    (b"PERFILE2", foreign("a Linux perf recording (perf.data)", "Record with trace-cmd, or run 'onoff record boot'")),
    (b"\xC1\x1F\xFC\xC1", foreign("a CTF trace (LTTng)", "Record with trace-cmd, or run 'onoff record boot'")),
    (b"\xC1\xFC\x1F\xC1", foreign("a CTF trace (LTTng)", "Record with trace-cmd, or run 'onoff record boot'")),
    (b"MDMP", foreign("a minidump of a Windows program", RECORD_WINDOWS)),
    (b"PAGEDU64", foreign("a Windows memory dump", RECORD_WINDOWS)),
    (b"PAGEDUMP", foreign("a Windows memory dump", RECORD_WINDOWS)),
    (b"vhdxfile", foreign("a virtual disk (VHDX)", "Mount it, then run 'onoff image' on the folder")),
    (b"conectix", foreign("a virtual disk (VHD)", "Mount it, then run 'onoff image' on the folder")),
    (b"QFI\xFB", foreign("a virtual disk (QCOW2)", "Mount it, then run 'onoff image' on the folder")),
    (b"KDMV", foreign("a virtual disk (VMDK)", "Mount it, then run 'onoff image' on the folder")),
    (b"MSWIM\0\0\0", foreign("a Windows image (.wim)", "Mount or extract it, then run 'onoff image' on the folder")),
    (b"MSCF", foreign("a cabinet file (.cab)", "Unpack it with cabextract or expand and open the .etl in it")),
    (b"7z\xBC\xAF\x27\x1C", foreign("a 7z archive", "Unpack it and open its contents")),
    (b"Rar!\x1A\x07", foreign("a RAR archive", "Unpack it and open its contents")),
    (b"BZh", foreign("a bzip2 file", "Unpack it with bzip2 and open the result")),
    (b"\x04\x22\x4D\x18", foreign("an LZ4 file", "Unpack it with lz4 and open the result")),
    (
        b"\x89PNG\r\n",
        foreign("a picture (PNG)", "The only boot chart that can be read is the SVG written by 'systemd-analyze plot'"),
    ),
    (b"\xFF\xD8\xFF", foreign("a picture (JPEG)", "")),
    (b"GIF8", foreign("a picture (GIF)", "")),
    (b"%PDF-", foreign("a PDF", "")),
    (b"SQLite format 3\0", foreign("an SQLite database", "")),
    (b"MZ", foreign("a Windows program or library", "")),
    (b"\x7FELF", foreign("a Linux program", "")),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", foreign("a Microsoft compound file (.msi, .doc, .xls)", "")),
];

/// Words that identify text files if they occur in the first 2 KiB.
const WORDS: &[(&str, KnownKind)] = &[
    (
        "<WpaProfileContainer",
        foreign("a Windows Performance Analyzer profile (.wpaProfile)", "Open the .etl it was made for"),
    ),
    (
        "<WindowsPerformanceAnalyzer",
        foreign("a Windows Performance Analyzer session (.wpa)", "Open the .etl it was made for"),
    ),
    (
        "<WindowsPerformanceRecorder",
        foreign("a recorder profile (.wprp)", "Record with it: 'wpr -boottrace -addboot FILE'"),
    ),
    (
        "<instrumentationManifest",
        foreign("an instrumentation manifest (.man)", "Pass it with --manifest, next to a recording"),
    ),
    ("\"traceEvents\"", foreign("a Chrome trace", "Open the recording it was made from")),
    ("\"onoff\":", foreign("an onoff JSON report", "Open the original recording; pass a baseline with --baseline")),
    ("<boot-summary", foreign("an xperf XML report", "Open the .etl it was made from")),
    ("BeginHeader", foreign("an xperf text dump", "Open the .etl it was made from")),
    ("version = bootchart", foreign("the header of a bootchart", BOOTCHART)),
    ("title = Boot chart", foreign("the header of a bootchart", BOOTCHART)),
    ("bootchart SVG file", foreign("a systemd-bootchart picture (SVG)", BOOTCHART_PICTURE)),
    ("bootchart svg file", foreign("a bootchart picture (SVG)", BOOTCHART_PICTURE)),
    (
        "<SystemSleepDiagnostics",
        foreign(
            "a report of Windows system sleep diagnostics in XML",
            "Run 'powercfg /systemsleepdiagnostics' without /xml and open the page it writes",
        ),
    ),
    ("<!DOCTYPE html", foreign("an HTML page", "Open the recording it was made from")),
    ("<html", foreign("an HTML page", "Open the recording it was made from")),
];

const BOOTCHART: &str = "Pass the archive it is from (bootchart.tgz), or run 'onoff collect' on that computer";

const BOOTCHART_PICTURE: &str = "The picture shows which processes ran, not what the boot waited for: run 'onoff boot', 'onoff collect' or 'systemd-analyze plot' on that computer";

/// Files in a bootchart archive.
const BOOTCHART_FILES: [&str; 2] = ["proc_stat.log", "proc_ps.log"];

/// Alignment of member headers in a tar archive.
const TAR_BLOCK: usize = 512;

/// Number of bytes of a text searched for [`WORDS`].
const SEARCHED_TEXT_BYTES: usize = 2048;

/// Describes the file `name` from its content, or from the first [`SNIFF_LEN`] bytes; `None` if its format is unknown.
#[must_use]
pub fn known_kind(name: &str, bytes: &[u8]) -> Option<KnownKind> {
    let head = bytes.get(..SNIFF_LEN).unwrap_or(bytes);
    match sniff(head) {
        Content::Recording(kind) => return Some(kind.known_kind()),
        // Only the unpacked content has a kind.
        Content::Packed(_) => return None,
        Content::Empty => {
            let description = if bytes.is_empty() { "an empty file" } else { "an empty file (only zero bytes)" };
            return Some(foreign(
                description,
                "The recorder may have been stopped before it wrote anything, or the copy is incomplete",
            ));
        }
        Content::Unknown => {}
    }
    if let Some((_, kind)) = MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(*kind);
    }
    if head.get(4..8) == Some(b"SCCA") {
        return Some(PREFETCH);
    }
    if is_tar(head) {
        let blocks = || head.chunks(TAR_BLOCK);
        let is_bootchart = BOOTCHART_FILES.iter().any(|file| blocks().any(|block| block.starts_with(file.as_bytes())));
        return is_bootchart.then(|| RecordingKind::Linux.known_kind());
    }
    if onoff_fileio::recognize(head).is_some() {
        return Some(RecordingKind::FileOperations.known_kind());
    }
    if onoff_linux::is_firmware_table(name, head) {
        return Some(FIRMWARE);
    }
    if onoff_linux::is_part(name, head) {
        return Some(RecordingKind::Linux.known_kind());
    }
    if onoff_firmware_tables::is_supported_format(name, head) {
        return Some(FIRMWARE);
    }
    if let Some(description) = onoff_event_log::export_without_fields(head) {
        return Some(foreign(description, EXPORT_EVENT_LOG));
    }
    let text = decode_text(head);
    WORDS.iter().find(|(words, _)| text.contains(words)).map(|(_, kind)| *kind)
}

/// Decodes the beginning of a text: UTF-8, or UTF-16 as written by Windows.
fn decode_text(head: &[u8]) -> String {
    let head = head.get(..SEARCHED_TEXT_BYTES).unwrap_or(head);
    match head.strip_prefix(b"\xFF\xFE") {
        Some(wide) => {
            let units: Vec<u16> = wide.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            String::from_utf16_lossy(&units)
        }
        None => String::from_utf8_lossy(head).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(bytes: &[u8]) -> &'static str {
        known_kind("any name", bytes).map_or("", |kind| kind.description)
    }

    #[test]
    fn kinds_of_other_commands_name_the_command() {
        for (bytes, verb) in [
            (&b"regf\x01\0\0\0"[..], "onoff image"),
            (b"MAM\x04\0\0\0\0", "onoff prefetch"),
            (b"\x1E\0\0\0SCCA\0\0\0\0", "onoff prefetch"),
            (b"FBPT\x30\0\0\0", "onoff firmware"),
            (b"\xD4\xC3\xB2\xA1\x02\0\x04\0", "onoff netboot"),
            (b"[    0.000000] Linux version 6.1\n", "onoff boot"),
            (b"ElfFile\0\0\0", "onoff boot"),
            (b"<!DOCTYPE html>\n<html><script>\nvar SESSION_TYPE_NAMES = [", "onoff suspend"),
        ] {
            let kind = known_kind("any name", bytes).unwrap();
            assert!(kind.read_by.contains(verb), "{kind:?}");
        }
    }

    #[test]
    fn names_known_foreign_kinds_only() {
        let picture = b"<?xml version=\"1.0\" standalone=\"no\"?>\n<svg width=\"900px\" height=\"800px\">\n<!-- This file is a systemd-bootchart SVG file. -->\n";
        assert_eq!(description(picture), "a systemd-bootchart picture (SVG)");
        assert!(known_kind("bootchart.svg", picture).unwrap().advice.contains("'onoff boot'"));
        let xml = b"<?xml version=\"1.0\"?>\n<SystemSleepDiagnostics xmlns=\"http://schemas.microsoft.com/x/2016\">";
        assert_eq!(description(xml), "a report of Windows system sleep diagnostics in XML");
        assert_eq!(description(b""), "an empty file");
        assert_eq!(description(&[0; 100]), "an empty file (only zero bytes)");
        assert_eq!(
            description(b"<?xml version=\"1.0\"?>\n<WpaProfileContainer>"),
            "a Windows Performance Analyzer profile (.wpaProfile)"
        );
        let wide: Vec<u8> = b"\xFF\xFE"
            .iter()
            .copied()
            .chain("<?xml?><WpaProfileContainer".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(description(&wide), "a Windows Performance Analyzer profile (.wpaProfile)");
        let mut bootchart = vec![0; 1024];
        bootchart[..6].copy_from_slice(b"header");
        bootchart[257..262].copy_from_slice(b"ustar");
        assert_eq!(description(&bootchart), "", "any archive");
        bootchart[512..525].copy_from_slice(b"proc_stat.log");
        assert!(known_kind("bootchart.tar", &bootchart).unwrap().read_by.contains("onoff boot"));
        for unknown in [&b"hello\n"[..], b"\x01\x02\x03\x04\x05", b"a,b\n1,2\n"] {
            assert_eq!(description(unknown), "", "{unknown:?}");
        }
    }

    #[test]
    fn descriptions_fit_into_a_sentence() {
        let kinds = MAGICS.iter().map(|(_, kind)| kind).chain(WORDS.iter().map(|(_, kind)| kind));
        for kind in kinds {
            assert!(["a ", "an ", "the "].iter().any(|article| kind.description.starts_with(article)), "{kind:?}");
            assert!(!kind.advice.ends_with('.'), "{kind:?}");
        }
    }
}
