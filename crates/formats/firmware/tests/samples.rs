//! Tables of real machines (not in the repository).
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use onoff_firmware::{EventFormat, IssueKind, RecordContent, Signature, read};
use onoff_testkit::real_recordings::samples_folder;

#[test]
fn reads_boot_measured_by_module() {
    let Some(folder) = samples_folder("fpdt") else {
        return;
    };
    let bytes = std::fs::read(folder.join("FBPT_reconstructed.bin")).unwrap();
    let contents = read(&bytes);
    let [table] = &contents.tables[..] else { panic!() };
    assert_eq!((contents.issues.len(), table.issues.len()), (0, 0));
    assert_eq!((table.declared_bytes, bytes.len()), (39_222, 39_222));
    assert_eq!(table.records.len(), 838);
    let mut format_counts = BTreeMap::new();
    for record in &table.records {
        match &record.content {
            RecordContent::BasicBoot(boot) => {
                assert_eq!(
                    [
                        boot.reset_end_ns,
                        boot.loader_load_ns,
                        boot.loader_start_ns,
                        boot.exit_start_ns,
                        boot.exit_end_ns,
                    ],
                    [1_127_243_597, 103_959_677_189, 103_965_800_517, 105_104_963_359, 105_130_639_733]
                );
            }
            RecordContent::Event(event) => *format_counts.entry(event.format).or_insert(0) += 1,
            content => panic!("{content:?}"),
        }
    }
    assert_eq!(
        format_counts.into_iter().collect::<Vec<_>>(),
        [
            (EventFormat::Guid, 277),
            (EventFormat::DynamicString, 156),
            (EventFormat::DualGuidString, 22),
            (EventFormat::GuidQword, 330),
            (EventFormat::GuidQwordString, 52),
        ]
    );
}

#[test]
fn reads_tables_rejected_by_linux() {
    let Some(folder) = samples_folder("fpdt/malformed") else {
        return;
    };
    let boot = read(&std::fs::read(folder.join("lkml-a83c68a3bf7c_FBPT.bin")).unwrap());
    let table = &boot.tables[0];
    assert_eq!((table.issues[0].offset, table.issues[0].kind), (8, IssueKind::RepeatedSignature));
    let RecordContent::BasicBoot(times) = &table.records[0].content else { panic!() };
    assert_eq!(
        (times.loader_load_ns, times.loader_start_ns, times.exit_start_ns, times.exit_end_ns),
        (49_102_497_322, 49_127_965_722, 0, 0)
    );

    let sleep = read(&std::fs::read(folder.join("lkml-a83c68a3bf7c_S3PT.bin")).unwrap());
    let table = &sleep.tables[0];
    assert_eq!((table.issues[0].offset, table.issues[0].kind), (8, IssueKind::ZeroLengthRecord));
    // The resume record is 4 bytes too late, and its count is 0.
    let RecordContent::S3Resume(resume) = &table.records[0].content else { panic!() };
    assert_eq!((table.records[0].offset, resume.count), (12, 0));
}

#[test]
fn reads_pointers_of_38_machines() {
    let Some(folder) = samples_folder("fpdt/linuxhw") else {
        return;
    };
    let mut orders: BTreeMap<Vec<u16>, usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let contents = read(&std::fs::read(&path).unwrap());
        let [table] = &contents.tables[..] else { panic!("{}", path.display()) };
        assert_eq!(table.signature, Signature::Fpdt);
        assert_eq!((contents.issues.len(), table.issues.len()), (0, 0), "{}", path.display());
        assert_eq!(table.header.as_ref().unwrap().revision, 1);
        for record in &table.records {
            let RecordContent::Pointer { address } = record.content else { panic!() };
            assert!((1..1 << 32).contains(&address), "{}", path.display());
        }
        let order = table.records.iter().map(|record| record.record_type).collect();
        *orders.entry(order).or_default() += 1;
    }
    assert_eq!(orders.values().sum::<usize>(), 38);
    assert_eq!(orders[&vec![0]], 4);
    assert_eq!(orders[&vec![0, 1, 0x3000, 0x3001]], 2);
    assert_eq!(orders[&vec![0, 0x3000, 0x3001]], 1);
    // The order of records varies.
    assert_eq!(orders[&vec![0, 1]] + orders[&vec![1, 0]], 31);
}
