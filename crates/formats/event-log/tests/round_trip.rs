//! Records written as XML and read again.

use onoff_event_log::{Field, Record, Summary, XML_END, XML_START, read, write_losses, write_xml};
use onoff_testkit::event_log::{LogRecord, LogValue, evtx};
use proptest::prelude::*;

fn written(records: &[Record]) -> String {
    let mut text = XML_START.to_owned();
    for record in records {
        write_xml(record, &mut text);
    }
    text + XML_END
}

fn read_all(bytes: &[u8]) -> Vec<Record> {
    let mut found = Vec::new();
    let summary = read(bytes, &mut |_| true, &mut |record| found.push(record)).unwrap();
    assert_eq!(summary.unreadable_records, 0);
    found
}

fn field(name: &str, value: &str) -> Field {
    Field { name: name.to_owned(), value: value.to_owned() }
}

#[test]
fn a_log_and_its_export_are_the_same_records() {
    let time = LogValue::Time(1_731_680_914_874_705_400);
    let records: Vec<LogRecord> = (1..200)
        .map(|number| LogRecord { number, ..LogRecord::new("System", "EventLog", 6009, 1_731_680_914_874_705_400) })
        .map(|record| record.with("", "10.00.").with("", "").with("When", time.clone()).with("Text", "R&D <b> 'ü'\r\n"))
        .collect();
    let records = read_all(&evtx(&records));
    assert_eq!(records.len(), 199);
    assert_eq!(read_all(written(&records).as_bytes()), records);
}

#[test]
fn all_parts_of_a_record_are_kept() {
    let record = Record {
        provider: "Microsoft-Windows-User Profiles Service".to_owned(),
        id: 65_535,
        version: 3,
        level: 2,
        time_ns: 1_731_680_914_874_705_400,
        number: u64::MAX,
        channel: "Microsoft-Windows-User Profile Service/Operational".to_owned(),
        computer: "pc.example.com".to_owned(),
        user: "S-1-5-18".to_owned(),
        process_id: 4,
        thread_id: 8,
        activity_id: "{8c416c79-d49b-4f01-a467-e56d3aa8234c}".to_owned(),
        fields: vec![field("Name", " spaces "), field("", "unnamed"), field("Empty", ""), field("<'&\">", "]]>\t\n")],
    };
    assert_eq!(read_all(written(std::slice::from_ref(&record)).as_bytes()), [record]);
    let damaged = Record { fields: vec![field("Name", "a\u{1}b\0\u{ffff}")], ..Record::default() };
    assert_eq!(read_all(written(&[damaged]).as_bytes())[0].text("Name"), Some("a\u{fffd}b\u{fffd}\u{fffd}"));
    assert_eq!(written(&[]), "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<Events>\r\n</Events>\r\n");
}

#[test]
fn losses_of_the_log_are_losses_of_its_export() {
    let summary = |text: &str| read(text.as_bytes(), &mut |_| true, &mut |_| {}).unwrap();
    let unreadable_records = u64::MAX;
    let lost =
        Summary { damaged_chunks: 2, unreadable_records, joined_records: 3, is_dirty: true, ..Summary::default() };
    let mut text = XML_START.to_owned();
    write_losses(&lost, &mut text);
    assert_eq!(summary(&(text + XML_END)), lost);
    let mut text = XML_START.to_owned();
    write_losses(&Summary { records: 7, ..Summary::default() }, &mut text);
    assert_eq!(text, XML_START);
    for other in ["<?onoff-losses dirty='x' a=b?>", "<?other dirty='1'?>", "<?onoff-losses?>", "<? dirty='1'?>"] {
        assert!(!summary(&format!("<Events>{other}</Events>")).is_dirty, "{other}");
    }
}

proptest! {
    #[test]
    fn any_text_is_kept(
        name in "[^\\p{C}]{0,12}",
        value in "([^\\p{C}]|[\\t\\r\\n]){0,40}",
        channel in "[^\\p{C}\\s]{0,20}",
    ) {
        let record = Record { channel, fields: vec![field(&name, &value)], ..Record::default() };
        prop_assert_eq!(read_all(written(std::slice::from_ref(&record)).as_bytes()), vec![record]);
    }
}
