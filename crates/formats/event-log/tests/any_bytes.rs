//! Hostile input: no bytes may cause a panic or unbounded work.

use onoff_event_log::read;
use onoff_testkit::event_log::{LogRecord, evtx, evtxecmd_csv, xml};
use proptest::prelude::*;

fn log() -> Vec<LogRecord> {
    (1..40)
        .map(|number| LogRecord {
            number,
            ..LogRecord::new("System", "EventLog", 6013, 0).with("", "1234").with("Name", "value")
        })
        .collect()
}

proptest! {
    #[test]
    fn changed_bytes_are_survived(changes in prop::collection::vec((0_usize..20_000, any::<u8>()), 1..40)) {
        for mut bytes in [evtx(&log()), xml(&log()).into_bytes(), evtxecmd_csv(&log()).into_bytes()] {
            for &(offset, value) in &changes {
                let index = 4096 % bytes.len() + offset % (bytes.len() - 4096 % bytes.len());
                bytes[index] = value;
            }
            let mut count = 0_u64;
            if let Ok(summary) = read(&bytes, &mut |_| true, &mut |_| count += 1) {
                prop_assert_eq!(count, summary.records);
            }
        }
    }

    #[test]
    fn any_text_is_survived(text in "(<Event>|</Event>|<System>|</System>|<EventData>|<Data Name='a'>|</Data>|<!\\[CDATA\\[|\\]\\]>|&amp;|&#1;|&#xffffffff;|&|<a|/>|.){0,60}") {
        let _ = read(format!("<Events>{text}").as_bytes(), &mut |_| true, &mut |_| {});
    }
}

proptest! {
    #[test]
    fn any_payload_is_survived(payload in r#"(\{|\}|\[|\]|:|,|"EventData"|"UserData"|"Data"|"@Name"|"\#text"|"a, b"|null|1|true){0,40}"#) {
        let columns = "EventRecordId,TimeCreated,EventId,Level,Provider,Channel,Computer,Payload";
        let row = format!("1,2024-11-15 14:28:34,1,Info,A,B,C,\"{}\"", payload.replace('"', "\"\""));
        let summary = read(format!("{columns}\n{row}\n").as_bytes(), &mut |_| true, &mut |_| {}).unwrap();
        prop_assert_eq!(summary.records + summary.joined_records + summary.unreadable_records, 1);
    }
}

#[test]
fn depth_and_fields_are_bounded() {
    let deep = format!("<Event><EventData>{}", "<a>".repeat(100_000));
    let summary = read(deep.as_bytes(), &mut |_| true, &mut |_| {}).unwrap();
    assert_eq!((summary.records, summary.unreadable_records), (0, 1));
    let wide = format!("<Event><System/><EventData>{}</EventData></Event>", "<Data>1</Data>".repeat(100_000));
    let mut fields = 0;
    read(wide.as_bytes(), &mut |_| true, &mut |record| fields = record.fields.len()).unwrap();
    assert_eq!(fields, 1024);
}
