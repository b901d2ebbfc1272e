//! CSV files of EvtxECmd, and exports without field values.

use onoff_event_log::{Record, Summary, export_without_fields, is_event_log, read};
use onoff_testkit::event_log::{LogRecord, LogValue, evtx, evtxecmd_csv};

const START_NS: i64 = 1_731_680_914_874_705_400;

fn read_all(bytes: &[u8]) -> (Vec<Record>, Summary) {
    let mut found = Vec::new();
    let summary = read(bytes, &mut |_| true, &mut |record| found.push(record)).unwrap();
    (found, summary)
}

#[test]
fn the_csv_gives_the_records_of_the_log() {
    let kernel = LogRecord::new("System", "Microsoft-Windows-Kernel-General", 12, START_NS);
    let records: Vec<LogRecord> = (1..500_u32)
        .map(|number| LogRecord { number: number.into(), ..kernel.clone() })
        .map(|record| record.with("StartTime", LogValue::Time(START_NS)).with("Name", "R&D <office>, \"ü\" C:\\a"))
        .map(|record| record.with("Change", LogValue::I64(-5)).with("IsGood", LogValue::Bool(true)).with("Empty", ""))
        .chain([
            LogRecord { number: 500, ..kernel.clone() }.with("Only", 1),
            LogRecord { number: 501, ..kernel.clone() },
            LogRecord { number: 502, ..LogRecord::new("System", "EventLog", 6009, START_NS) }
                .with("", "10.00.")
                .with("", "19045"),
        ])
        .collect();
    let text = evtxecmd_csv(&records);
    assert!(is_event_log(text.as_bytes()) && export_without_fields(text.as_bytes()).is_none());
    let (found, summary) = read_all(text.as_bytes());
    assert_eq!(summary, Summary { records: 502, ..Summary::default() });
    assert_eq!(found, read_all(&evtx(&records)).0);
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_all(&utf16).0, found);
}

const HEADER: &str = "RecordNumber,EventRecordId,TimeCreated,EventId,Level,Provider,Channel,Computer,Payload\r\n";

fn row(provider: &str, id: u32, payload: &str) -> String {
    format!("1,7,2024-11-15 14:28:34.8747054,{id},Error,{provider},System,PC,\"{}\"\r\n", payload.replace('"', "\"\""))
}

fn record_of(provider: &str, id: u32, payload: &str) -> Record {
    let (found, summary) = read_all((HEADER.to_owned() + &row(provider, id, payload)).as_bytes());
    assert_eq!(summary, Summary { records: 1, ..Summary::default() });
    found.into_iter().next().unwrap()
}

#[test]
fn data_of_all_forms_are_read() {
    let record = record_of(
        "A",
        1,
        r#"{"UserData":{"EventXML":{"@xmlns":"x","Path":"C:\\a","Inner":{"Code":"5"},"Two":["1","2"]}}}"#,
    );
    let fields: Vec<(&str, &str)> = record.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
    assert_eq!(fields, [("Path", "C:\\a"), ("Code", "5"), ("Two", "1"), ("Two", "2")]);
    assert_eq!((record.time_ns, record.level, record.number), (START_NS, 2, 7));
    let record = record_of("A", 1, r#"{"EventData":{"Data":"one","Binary":"E8-07-0B"}}"#);
    assert_eq!((record.unnamed(0), record.text("Binary")), (Some("one"), Some("E8070B")));
    // No data, or data that Windows could not store.
    for payload in ["{\"EventData\":null}", "{\"ProcessingErrorData\":{\"ErrorCode\":\"15005\"}}", "null"] {
        assert_eq!(record_of("A", 1, payload).fields, []);
    }
}

#[test]
fn joined_texts_are_separated_only_where_that_is_certain() {
    let installed = record_of("MsiInstaller", 1033, r#"{"EventData":{"Data":"Tool, 1.2, 1033, 0, Vendor, (NULL)"}}"#);
    assert_eq!((installed.unnamed(0), installed.unnamed(3)), (Some("Tool"), Some("0")));
    let text = "Product: Tool, Inc. -- Installation completed., (NULL)";
    let product = record_of("MsiInstaller", 11_707, &format!("{{\"EventData\":{{\"Data\":\"{text}\"}}}}"));
    assert_eq!((product.unnamed(0), product.unnamed(1)), (Some(text), None));
    for (provider, id, text) in [
        ("MsiInstaller", 1033, "Tool, Inc. Edition, 1.2, 1033, 0, Vendor"),
        ("USER32", 1074, "C:\\a.exe (PC), PC, No title, for this reason, 0x500ff"),
    ] {
        let payload = format!("{{\"EventData\":{{\"Data\":\"{}\"}}}}", text.replace('\\', "\\\\"));
        let (found, summary) = read_all((HEADER.to_owned() + &row(provider, id, &payload)).as_bytes());
        assert_eq!((found.len(), summary.joined_records, summary.records), (0, 1, 0), "{text}");
    }
}

#[test]
fn damaged_rows_are_counted() {
    let good = row("A", 1, "{}");
    let bad_rows = [
        "1,7,yesterday,1,Error,A,System,PC,{}\r\n".to_owned(),
        "1,7,2024-11-15 14:28:34,X,Error,A,System,PC,{}\r\n".to_owned(),
        "1,7,2024-11-15 14:28:34\r\n".to_owned(),
        row("A", 1, "{\"EventData\":"),
        row("A", 1, &"[".repeat(100_000)),
        row("A", 1, &format!("\"{}\"", "a".repeat(2 << 20))),
    ];
    let text = format!("{HEADER}{good}{}{good}", bad_rows.concat());
    let (found, summary) = read_all(text.as_bytes());
    assert_eq!((found.len(), summary.records, summary.unreadable_records), (2, 2, 6));
    let place = (HEADER.len() + good.len()) as u64;
    assert!(summary.first_damage.is_some_and(|offset| offset.abs_diff(place) <= 1), "{:?}", summary.first_damage);
    // A file that is cut within a row.
    let (found, summary) = read_all(&text.as_bytes()[..HEADER.len() + good.len() + good.len() / 2]);
    assert_eq!((found.len(), summary.unreadable_records), (1, 1));
    let wide = format!("{{\"EventData\":{{\"Data\":[{}]}}}}", vec!["{\"@Name\":\"a\"}"; 5000].join(","));
    assert_eq!(record_of("A", 1, &wide).fields.len(), 1024);
}

#[test]
fn exports_without_field_values_are_named() {
    let utf16: Vec<u8> = "\u{feff}Level\tDate and Time\tSource\tEvent ID\tTask Category\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (bytes, words) in [
        (&b"Level,Date and Time,Source,Event ID,Task Category\r\n"[..], "Event Viewer"),
        (utf16.as_slice(), "Event Viewer"),
        (b"\xef\xbb\xbfEbene,Datum und Uhrzeit,Quelle,Ereignis-ID,Aufgabenkategorie\r\nInformationen,15.11.2024 15:28:34,Microsoft-Windows-Kernel-General,12,(1),\"Das Betriebssystem wurde\r\ngestartet.\"\r\n", "Event Viewer"),
        (b"#TYPE System.Diagnostics.Eventing.Reader.EventLogRecord\r\n\"Message\",\"Id\",\"Version\",\"Level\",\"ProviderName\",\"TimeCreated\"\r\n", "PowerShell"),
        (b"\"TimeCreated\";\"Id\";\"Message\"\r\n\"15.11.2024 15:28:34\";\"12\";\"\"\r\n", "PowerShell"),
        (b"\"EventID\",\"MachineName\",\"Data\",\"Source\",\"TimeGenerated\"\r\n", "PowerShell"),
        (b"RecordNumber,EventRecordId,TimeCreated,EventId,Level,Provider,Channel,Computer,SourceFile\r\n", "EvtxECmd"),
        (b"Event[0]:\r\n  Log Name: System\r\n", "wevtutil"),
    ] {
        let text = String::from_utf8_lossy(bytes);
        assert!(export_without_fields(bytes).is_some_and(|name| name.contains(words)), "{text}");
        assert!(!is_event_log(bytes), "{text}");
    }
    // Tables of other programs.
    for other in [
        "time,level,source,count\r\n12:00:01,1,a,2\r\n",
        "Time of Day,Process Name,PID,Operation,Path\r\n\"10:11:12,1234567 AM\",a.exe,4,ReadFile,C:\\x,more\r\n",
        "Name,Date,Place,Year,Kind\r\nA,2024-11-15 10:00,B,2024,C\r\n",
        "a,b,c,1,e\r\n1,2024-11-15 10:00,c,12,e,f\r\n",
        "",
        "Level",
    ] {
        assert_eq!(export_without_fields(other.as_bytes()), None, "{other}");
    }
}
