//! Tests that firmware tables give the same result in every supported format.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use onoff_files::open_firmware;
use onoff_sources::{Error, Limits, open_firmware_bytes};
use onoff_testkit::real_recordings::samples_folder;
use onoff_trace::firmware::{
    FirmwareCheckpoints, FirmwareFormat, FirmwareProblemKind, FirmwareRecording, FirmwareResume, FirmwareSuspend,
};

/// Table 2 of the paper on PXE performance (network boot), ns.
const TIMES: [u64; 5] = [21_000_000, 7_037_000_000, 20_246_000_000, 40_363_000_000, 40_365_000_000];

fn times() -> FirmwareCheckpoints {
    FirmwareCheckpoints::from_stored(TIMES.map(|ns| ns as i64))
}

fn fbpt(times: [u64; 5]) -> Vec<u8> {
    let mut bytes = b"FBPT\x38\0\0\0\x02\0\x30\x02\0\0\0\0".to_vec();
    bytes.extend(times.iter().flat_map(|ns| ns.to_le_bytes()));
    bytes
}

fn s3pt() -> Vec<u8> {
    let mut bytes = b"S3PT\x34\0\0\0\0\0\x18\x01\x03\0\0\0".to_vec();
    bytes.extend([900_u64, 800].iter().flat_map(|ns| ns.to_le_bytes()));
    bytes.extend_from_slice(b"\x01\0\x14\x01");
    bytes.extend([50_u64, 70].iter().flat_map(|ns| ns.to_le_bytes()));
    bytes
}

const RESUME: FirmwareResume = FirmwareResume { count: 3, last_ns: Some(900), average_ns: Some(800) };
const SUSPEND: FirmwareSuspend = FirmwareSuspend { start_ns: 50, end_ns: 70 };

fn open(path: &Path) -> FirmwareRecording {
    open_firmware(&[path.to_path_buf()], &Limits::default()).unwrap()
}

fn read_bytes(bytes: &[u8]) -> FirmwareRecording {
    open_firmware_bytes("input", bytes, &Limits::default()).unwrap()
}

/// Formats tables like `acpidump`, with lines indented by `indent`.
fn acpidump(tables: &[(&str, &[u8])], indent: &str) -> String {
    let mut text = String::new();
    for (name, bytes) in tables {
        text += &format!("{indent}{name} @ 0x00000000BDF4C000\n");
        for (line, chunk) in bytes.chunks(16).enumerate() {
            let digits: Vec<String> = chunk.iter().map(|byte| format!("{byte:02X}")).collect();
            let letters: String =
                chunk.iter().map(|&byte| if byte.is_ascii_graphic() { byte as char } else { '.' }).collect();
            text += &format!("{indent}  {:04X}: {:<48} {letters}\n", line * 16, digits.join(" "));
        }
        text += "\n";
    }
    text
}

#[test]
fn reads_concatenated_tables() {
    let recording = read_bytes(&[fbpt(TIMES), s3pt()].concat());
    assert_eq!(recording.checkpoints, Some(times()));
    assert_eq!((recording.resume, recording.suspend), (Some(RESUME), Some(SUSPEND)));
    assert_eq!(recording.inputs[0].form, FirmwareFormat::Table);
    assert_eq!(recording.problems, []);
}

#[test]
fn reads_acpidump_text_in_utf8_and_utf16() {
    let facp = [0x46; 40];
    let tables: [(&str, &[u8]); 3] = [("FACP", &facp), ("FBPT", &fbpt(TIMES)), ("S3PT", &s3pt())];
    for indent in ["", "    "] {
        let text = acpidump(&tables, indent);
        let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
        for bytes in [text.as_bytes(), &utf16] {
            let recording = read_bytes(bytes);
            assert_eq!(recording.inputs[0].form, FirmwareFormat::Acpidump);
            assert_eq!(recording.checkpoints, Some(times()));
            assert_eq!(recording.resume, Some(RESUME));
            assert_eq!(recording.tables.len(), 2);
            assert_eq!(recording.problems, []);
        }
    }
}

#[test]
fn reports_missing_acpidump_line() {
    let text = acpidump(&[("FBPT", &fbpt(TIMES))], "");
    let other_lines: Vec<&str> =
        text.lines().enumerate().filter(|(index, _)| *index != 2).map(|(_, line)| line).collect();
    let recording = read_bytes(other_lines.join("\n").as_bytes());
    assert_eq!(recording.checkpoints, None);
    let kinds: Vec<FirmwareProblemKind> = recording.problems.iter().map(|fault| fault.kind).collect();
    assert!(kinds.contains(&FirmwareProblemKind::UnreadableText), "{kinds:?}");
    assert!(recording.problems[0].place.ends_with("line 3"), "{}", recording.problems[0].place);
}

#[test]
fn reads_linux_sysfs_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("fpdt");
    for (file, value) in [
        ("boot/firmware_start_ns", TIMES[0]),
        ("boot/bootloader_load_ns", TIMES[1]),
        ("boot/bootloader_launch_ns", TIMES[2]),
        ("boot/exitbootservice_start_ns", TIMES[3]),
        ("boot/exitbootservice_end_ns", TIMES[4]),
        ("suspend/suspend_start_ns", 50),
        ("suspend/suspend_end_ns", 70),
        ("resume/resume_count", 3),
        ("resume/resume_prev_ns", 900),
        ("resume/resume_avg_ns", 800),
    ] {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }
    for path in [folder.path(), &root] {
        let recording = open(path);
        assert_eq!(recording.inputs.len(), 1);
        assert_eq!(recording.inputs[0].form, FirmwareFormat::Sysfs);
        assert_eq!(recording.checkpoints, Some(times()));
        assert_eq!((recording.resume, recording.suspend), (Some(RESUME), Some(SUSPEND)));
    }
    fs::write(root.join("boot/bootloader_load_ns"), "not yet\n").unwrap();
    let recording = open(&root);
    assert_eq!(recording.checkpoints.unwrap().loader_load_ns, None);
    assert_eq!(recording.problems[0].kind, FirmwareProblemKind::UnreadableText);
}

#[test]
fn searches_folders_and_accepts_duplicate_boots() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("FBPT"), fbpt(TIMES)).unwrap();
    fs::write(folder.path().join("S3PT.dat"), s3pt()).unwrap();
    fs::write(folder.path().join("unrelated.txt"), "nothing").unwrap();
    fs::write(
        folder.path().join("serial.txt"),
        "FPDT: Boot Performance - ResetEnd = 21000000\n\
        FPDT: Boot Performance - OsLoaderLoadImageStart = 7037000000\n\
        FPDT: Boot Performance - OsLoaderStartImageStart = 20246000000\n\
        FPDT: Boot Performance - ExitBootServicesEntry = 40363000000\n\
        FPDT: Boot Performance - ExitBootServicesExit = 40365000000\n",
    )
    .unwrap();
    let recording = open(folder.path());
    assert_eq!(recording.inputs.len(), 3);
    assert_eq!(recording.checkpoints, Some(times()));
    assert_eq!(recording.problems, []);
    // A second boot in the same folder is reported and ignored.
    fs::write(deep.join("OTHER"), fbpt([1, 2, 3, 4, 5])).unwrap();
    let recording = open(folder.path());
    assert_eq!(recording.checkpoints, Some(times()));
    assert_eq!(recording.problems[0].kind, FirmwareProblemKind::SeveralBoots);
}

#[test]
fn packed_tables_are_unpacked() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &fbpt(TIMES)).unwrap();
    assert_eq!(read_bytes(&packed.finish().unwrap()).checkpoints, Some(times()));
}

#[test]
fn truncation_and_corruption_do_not_panic() {
    let text = acpidump(&[("FBPT", &fbpt(TIMES)), ("S3PT", &s3pt())], "");
    let xml = r#"<FpdtParserData><Fbpt><GuidQwordEvent PerformanceRecordType="0x1013" RecordLength="0x2A" Revision="0x1">
        <ProgressID Value="0x3" /><ApicID Value="0x0" /><Timestamp RawValue="0x48EC508E" />
        <GUID Value="52C05B14-0B98-496C-BC3B-04B50211D680" /><Qword Value="0x1" /></GuidQwordEvent></Fbpt></FpdtParserData>"#;
    let log = "FPDT: Boot Performance - ResetEnd = 21\nFPDT: S3 Suspend Performance - SuspendStart = 5\n";
    for input in [&[fbpt(TIMES), s3pt()].concat()[..], text.as_bytes(), xml.as_bytes(), log.as_bytes()] {
        for offset in 0..input.len() {
            let _ = open_firmware_bytes("cut", &input[..offset], &Limits::default());
            for value in [0, 0xff, b'<', b'=', input[offset] ^ 0x10] {
                let mut changed = input.to_vec();
                changed[offset] = value;
                let _ = open_firmware_bytes("changed", &changed, &Limits::default());
            }
        }
    }
}

#[test]
fn reads_truncated_xml() {
    let Some(folder) = samples_folder("fpdt") else {
        return;
    };
    let xml = fs::read(folder.join("fpdt_complex_data.xml")).unwrap();
    let recording = read_bytes(&xml);
    assert_eq!(recording.events.len(), 837);
    assert_eq!(recording.problems, []);
    let events: u64 =
        recording.tables[0].records.iter().filter(|row| row.number != "0x0002").map(|row| row.count).sum();
    assert_eq!(events, 837 + 1, "the document also lists the FPDT pointer");
    let truncated_recording = read_bytes(&xml[..xml.len() / 2]);
    assert!((300..500).contains(&truncated_recording.events.len()), "{}", truncated_recording.events.len());
}

#[test]
fn rejects_files_without_tables() {
    let error = open_firmware_bytes("notes.txt", b"FPDT is a table", &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::NotFirmware { .. }));
    assert!(error.to_string().starts_with("notes.txt: "), "{error}");
    assert!(open_firmware(&[], &Limits::default()).is_err());
}
