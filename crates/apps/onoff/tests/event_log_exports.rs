//! Event logs that other programs exported as CSV.

use onoff::answers::transitions::boot::{BootOptions, BootReport};
use onoff::sources::{Limits, files_from_bytes};
use onoff::{Boot, Session};
use onoff_testkit::event_log::{LogRecord, evtxecmd_csv, log_folder};

use crate::event_logs::{SECOND, START_NS, slower_account, system, system_log};

/// The records of a boot with Windows' own account, and further records.
fn records(further: Vec<LogRecord>) -> Vec<LogRecord> {
    [system_log(START_NS, None), vec![slower_account(START_NS, 4_130, 0)], further].concat()
}

/// One CSV file with all channels.
fn csv(records: &[LogRecord]) -> (String, Vec<u8>) {
    let numbered: Vec<LogRecord> =
        (1..).zip(records).map(|(number, record)| LogRecord { number, ..record.clone() }).collect();
    ("20241116101112_EvtxECmd_Output.csv".to_owned(), evtxecmd_csv(&numbered).into_bytes())
}

fn boot_of(files: Vec<(String, Vec<u8>)>) -> BootReport {
    match Session::from_bytes(files).unwrap().boot(&BootOptions::default()).unwrap().report {
        Boot::Windows(report) => *report,
        _ => panic!("not a boot of Windows"),
    }
}

fn installed(texts: &[&str]) -> LogRecord {
    let record = LogRecord::new("Application", "MsiInstaller", 1033, START_NS + 60 * SECOND);
    texts.iter().fold(record, |record, text| record.with("", *text))
}

#[test]
fn a_csv_of_evtxecmd_gives_the_same_report_as_the_logs() {
    let failed = system("Service Control Manager", 7009, START_NS + 21 * SECOND);
    let failed = failed.with("param1", "15000").with("param2", "R&D <Klang>, \"Former\"");
    let records = records(vec![failed]);
    let (logs, export) = (boot_of(log_folder(&records)), boot_of(vec![csv(&records)]));
    assert_eq!((&export.phases, export.total_ns), (&logs.phases, logs.total_ns));
    assert_eq!(export.details.windows_account, logs.details.windows_account);
    assert_eq!(
        (export.details.failed_services.len(), &export.details.failed_services),
        (1, &logs.details.failed_services)
    );
    assert!(export.losses.is_empty(), "{:?}", export.losses);
}

#[test]
fn texts_that_the_csv_joined_are_a_loss_unless_their_ends_are_known() {
    let losses = |name: &str| {
        let record = installed(&[name, "1.2", "1033", "0", "Vendor", "(NULL)"]);
        boot_of(vec![csv(&records(vec![record]))]).losses
    };
    assert_eq!(losses("Tool").count("event_log_records_joined"), 0);
    assert_eq!(losses("Tool, Inc. Edition").count("event_log_records_joined"), 1);
}

#[test]
fn an_export_without_field_values_is_refused_by_name() {
    let viewer = b"Level,Date and Time,Source,Event ID,Task Category\r\n\
        Warning,15.11.2024 15:30:24,Diagnostics-Performance,100,Boot Monitoring,\"Windows has started up\"\r\n";
    let name = "boots.csv".to_owned();
    let error = files_from_bytes(vec![(name.clone(), viewer.to_vec())], &Limits::default()).unwrap_err().to_string();
    assert!(error.starts_with("boots.csv: this is an event log exported as CSV or text by Event Viewer"), "{error}");
    assert!(error.contains("as .evtx or .xml") && error.contains("'wevtutil epl System System.evtx'"), "{error}");
    // Other CSV files are not event logs.
    let other = files_from_bytes(vec![(name, b"a,b\r\n1,2\r\n".to_vec())], &Limits::default()).unwrap_err().to_string();
    assert!(!other.contains("event log exported"), "{other}");
}
