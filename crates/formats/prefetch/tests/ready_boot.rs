//! Synthetic ReadyBoot and SuperFetch files.

use onoff_prefetch::{Error, SuperfetchCompression, read_ready_boot, read_superfetch};
use onoff_testkit::prefetch::{ready_boot_layout, ready_boot_trace, superfetch};

const NTOS: &str = r"\Device\HarddiskVolume3\Windows\System32\ntoskrnl.exe";
const HIVE: &str = r"\Device\HarddiskVolume3\Windows\System32\config\SOFTWARE";

#[test]
fn reads_have_files_offsets_and_times() {
    // The first list has more than one block, and one read has no file.
    let first: Vec<_> = (0..1500_u32).map(|index| (NTOS, u64::from(index) * 4096, 4096, index * 10)).collect();
    let second = [(HIVE, 1 << 33, 65_536, 3), ("", 7, 512, 99_000)];
    let ready_boot = read_ready_boot(&ready_boot_trace([&first, &second])).unwrap();
    assert!(ready_boot.is_trace);
    assert_eq!((ready_boot.reads.len(), ready_boot.unreadable), (1502, 0));
    let path = |index: usize| ready_boot.reads[index].file.map(|file| ready_boot.files[file as usize].as_str());
    assert_eq!((path(0), path(1499), path(1500), path(1501)), (Some(NTOS), Some(NTOS), Some(HIVE), None));
    assert_eq!((ready_boot.reads[1499].offset, ready_boot.reads[1499].time_us), (1499 * 4096, 14_990));
    assert_eq!((ready_boot.reads[1500].offset, ready_boot.reads[1500].bytes), (1 << 33, 65_536));
}

#[test]
fn reads_layout_and_reports_damage() {
    let bytes = ready_boot_layout(&[NTOS, HIVE]);
    let ready_boot = read_ready_boot(&bytes).unwrap();
    assert!(!ready_boot.is_trace && ready_boot.files.iter().any(|path| path == HIVE));
    assert!(matches!(
        read_ready_boot(&bytes[..bytes.len() - 30]),
        Err(Error::Truncated { .. } | Error::Damaged { .. })
    ));
    assert_eq!(read_ready_boot(b"SCCA"), Err(Error::NotReadyBoot));
    let mut huge = bytes.clone();
    huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(read_ready_boot(&huge), Err(Error::InvalidSize { .. })));
}

#[test]
fn counts_names_that_are_their_own_parent() {
    // A name whose parent offset refers to itself.
    let mut plain = b"iLdR\0\0\0\0".to_vec();
    plain.extend_from_slice(&8_u32.to_le_bytes());
    plain.extend_from_slice(&[0; 4]);
    plain.extend_from_slice(&[0, 0, 0, 0, 1, 0, b'a', 0]);
    let packed = onoff_testkit::compress::Compression::XpressHuffman.compress(&plain);
    let mut bytes = b"PfB\xe3".to_vec();
    bytes.extend_from_slice(&(plain.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&packed);
    let ready_boot = read_ready_boot(&bytes).unwrap();
    assert_eq!((ready_boot.files.len(), ready_boot.unreadable), (0, 1));
}

#[test]
fn reads_same_header_from_compressed_database() {
    let plain = read_superfetch(&superfetch(2, 300, 17, false)).unwrap();
    let packed = read_superfetch(&superfetch(2, 300, 17, true)).unwrap();
    assert_eq!((plain.compression, packed.compression), (SuperfetchCompression::None, SuperfetchCompression::Mam));
    for header in [plain, packed] {
        assert_eq!((header.volumes, header.files, header.sources, header.kind, header.bytes), (2, 300, 17, 11, 400));
    }
    assert_eq!(read_superfetch(&[1; 500]), Err(Error::NotSuperfetch));
    assert!(matches!(read_superfetch(b"MEM0"), Err(Error::Truncated { .. })));
}
