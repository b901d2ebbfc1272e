//! Logs written by the test kit.

use onoff_event_log::{Error, Record, Summary, read};
use onoff_testkit::event_log::{LogRecord, LogValue, evtx, xml};

const START_NS: i64 = 1_731_680_914_874_705_400;

fn records() -> Vec<LogRecord> {
    let kernel = LogRecord::new("System", "Microsoft-Windows-Kernel-General", 12, START_NS);
    (1..=2000)
        .map(|number: u32| LogRecord { number: number.into(), ..kernel.clone() })
        .map(|record| {
            let number = record.number;
            record
                .with("MajorVersion", 10)
                .with("StartTime", LogValue::Time(START_NS + 100 * number as i64))
                .with("Name", "R&D <office> ü")
                .with("Change", LogValue::I64(-5))
                .with("Mask", LogValue::Hex(0x8000_0000_0000_0010))
                .with("IsGood", LogValue::Bool(true))
        })
        .chain([LogRecord::new("System", "EventLog", 6009, START_NS).with("", "10.00.").with("", "19045")])
        .collect()
}

fn read_all(bytes: &[u8]) -> (Vec<Record>, Summary) {
    let mut found = Vec::new();
    let summary = read(bytes, &mut |_| true, &mut |record| found.push(record)).unwrap();
    (found, summary)
}

#[test]
fn both_forms_give_the_same_records() {
    let records = records();
    let (binary, summary) = read_all(&evtx(&records));
    assert_eq!(summary, Summary { records: 2001, ..Summary::default() });
    let (text, _) = read_all(xml(&records).as_bytes());
    assert_eq!(binary, text);
    let utf16: Vec<u8> = format!("\u{feff}{}", xml(&records)).encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_all(&utf16).0, text);

    let record = &binary[1999];
    assert_eq!((record.provider.as_str(), record.id), ("Microsoft-Windows-Kernel-General", 12));
    assert_eq!((record.channel.as_str(), record.computer.as_str(), record.number), ("System", "PC", 2000));
    assert_eq!((record.time_ns, record.process_id, record.thread_id, record.level), (START_NS, 4, 8, 4));
    assert_eq!((record.number("MajorVersion"), record.signed("Change")), (Some(10), Some(-5)));
    assert_eq!(record.time("StartTime"), Some(START_NS + 200_000));
    assert_eq!(record.text("Name"), Some("R&D <office> ü"));
    assert_eq!((record.number("Mask"), record.number("IsGood")), (Some(0x8000_0000_0000_0010), Some(1)));
    assert_eq!((binary[2000].unnamed(1), binary[2000].text("Name")), (Some("19045"), None));
}

#[test]
fn unwanted_records_are_counted_but_not_passed_on() {
    let mut ids = Vec::new();
    let bytes = evtx(&records());
    let summary = read(&bytes, &mut |record| record.provider == "EventLog", &mut |record| ids.push(record.id)).unwrap();
    assert_eq!((ids, summary.records), (vec![6009], 2001));
}

#[test]
fn damage_costs_only_what_it_hits() {
    let mut bytes = evtx(&records());
    // The header declares fewer chunks than there are, and the file was not closed.
    bytes[42] = 1;
    bytes[120] = 1;
    let chunk = |index: usize| 4096 + index * 65_536;
    let (whole, _) = read_all(&bytes);
    bytes[chunk(1)] = b'X';
    // Length of the second record of the first chunk.
    let second =
        chunk(0) + 512 + u32::from_le_bytes(bytes[chunk(0) + 516..chunk(0) + 520].try_into().unwrap()) as usize;
    bytes[second + 24..second + 60].fill(0xee);
    let (rest, summary) = read_all(&bytes);
    assert!(summary.is_dirty);
    assert_eq!((summary.damaged_chunks, summary.unreadable_records), (1, 1));
    assert_eq!(summary.first_damage, Some(chunk(0) as u64));
    assert!(rest.len() > whole.len() / 2, "{} of {}", rest.len(), whole.len());
    assert!(rest.iter().all(|record| whole.contains(record)));
    bytes.truncate(chunk(0) + 40_000);
    assert!(read_all(&bytes).0.len() > 50);
}

#[test]
fn a_cut_export_keeps_what_comes_before() {
    let text = xml(&records());
    let cut = &text[..text.len() / 2];
    let (kept, summary) = read_all(cut.as_bytes());
    assert!(kept.len() > 900, "{}", kept.len());
    assert_eq!(summary.unreadable_records, 1);
}

#[test]
fn other_files_are_refused() {
    let refused = |bytes: &[u8]| read(bytes, &mut |_| true, &mut |_| {}).unwrap_err();
    assert_eq!(refused(b"<?xml version='1.0'?><EventsOfTheYear/>"), Error::NotAnEventLog);
    assert_eq!(refused(b""), Error::NotAnEventLog);
    assert_eq!(refused(b"ElfFile\0"), Error::Truncated { length: 8 });
}
