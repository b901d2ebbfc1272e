//! Services that failed during a boot, from event logs. The events have the fields that real computers write.

use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::boot::service_failures::FailedService;
use onoff::{Boot, Session};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_testkit::event_log::LogRecord;
use onoff_trace::ServiceFailureKind as Kind;

use crate::event_logs::{HOUR, MS, SECOND, START_NS, files, slower_account, system, system_log};

/// A record of the service manager, `seconds` after the kernel's start.
fn event(id: u16, seconds: i64, parameters: &[&str], short_name: &str) -> LogRecord {
    const NAMES: [&str; 5] = ["param1", "param2", "param3", "param4", "param5"];
    let record = system("Service Control Manager", id, START_NS + seconds * SECOND);
    let record = NAMES.iter().zip(parameters).fold(record, |record, (&name, &value)| record.with(name, value));
    let hexadecimal: String =
        short_name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).map(|byte| format!("{byte:02X}")).collect();
    if short_name.is_empty() { record } else { record.with("Binary", hexadecimal.as_str()) }
}

/// A boot with these records, whose desktop is ready after 27.7 s.
fn session(records: Vec<LogRecord>) -> Session {
    let system = [system_log(START_NS, None), records].concat();
    Session::from_bytes(files(&[system, vec![slower_account(START_NS, 4_130, 0)]])).unwrap()
}

fn failures(session: &Session) -> (Vec<FailedService>, u64, String) {
    let answer = session.boot(&BootOptions::default()).unwrap();
    let mut text = Vec::new();
    answer.write_text_with(10, &mut text).unwrap();
    let Boot::Windows(report) = answer.report else { panic!("not a boot of Windows") };
    let details = report.details;
    (details.failed_services, details.later_service_failures, String::from_utf8(text).unwrap())
}

fn findings(session: &Session) -> Vec<RuleFinding> {
    let diagnosis = session.diagnose(&DiagnosisOptions::default()).unwrap();
    diagnosis.findings.into_iter().filter(|finding| finding.code.starts_with("boot/service")).collect()
}

#[test]
fn a_time_out_is_one_failure_with_the_time_waited() {
    let session = session(vec![
        event(7009, 21, &["15000", "Klangformer"], "SoundShaper"),
        event(7000, 21, &["Klangformer", "%%1053"], "SoundShaper"),
    ]);
    let (failures, later, text) = failures(&session);
    let [failure] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!((failure.kind, failure.service.as_str(), later), (Kind::ConnectTimeout, "SoundShaper", 0));
    assert_eq!((failure.wait_ns, failure.error_code), (Some(15 * SECOND), Some(1053)));
    assert_eq!(failure.display_name, "Klangformer");
    assert!(text.contains("1 failure") && text.contains("1053: no response in time"), "{text}");
    let findings = findings(&session);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.code, "boot/service-timed-out");
    assert!(finding.title.contains("the service manager waited 15.0 s for service SoundShaper"), "{}", finding.title);
    // It waited from 6 s to 21 s, before the desktop.
    assert_eq!((finding.cost_ns, finding.cost_basis), (Some(15 * SECOND), CostBasis::AtMost));
}

#[test]
fn failed_starts_and_stops_are_named() {
    let session = session(vec![
        event(7000, 10, &["Treiber", "%%2"], "LegacyScan"),
        event(7001, 11, &["Netzwerk", "Treiber", "%%1068"], "Search"),
        event(7023, 12, &["Netzwerkliste", "%%21"], "netprofm"),
        event(7031, 13, &["Abgleich", "1", "10000", "1", "Restart"], "OneSyncSvc"),
    ]);
    let (failures, _, text) = failures(&session);
    let rows: Vec<_> =
        failures.iter().map(|failure| (failure.kind, failure.service.as_str(), failure.error_code)).collect();
    assert_eq!(
        rows,
        [
            (Kind::StartFailed, "LegacyScan", Some(2)),
            (Kind::DependencyFailed, "Search", Some(1068)),
            (Kind::StoppedWithError, "netprofm", Some(21)),
            (Kind::Terminated, "OneSyncSvc", None),
        ]
    );
    assert_eq!(failures[0].time_ns / MS / 10, 1_000);
    assert!(text.contains("not started: needs Treiber") && text.contains("2: file not found"), "{text}");
    // A service that stops with an error, as Windows' own do on healthy computers, is no finding.
    let mut titles: Vec<String> = findings(&session).into_iter().map(|finding| finding.title).collect();
    titles.sort();
    assert_eq!(
        titles,
        [
            "service LegacyScan failed to start (error 2)",
            "service Search failed to start (error 1068): it depends on Treiber, which did not start"
        ]
    );
}

#[test]
fn a_boot_without_failures_has_no_section() {
    let session = session(Vec::new());
    let (failures, later, text) = failures(&session);
    assert_eq!((failures.len(), later), (0, 0));
    assert!(!text.contains("Failed services"), "{text}");
    assert!(findings(&session).is_empty());
}

#[test]
fn later_failures_and_unloaded_drivers_are_no_findings() {
    let session = session(vec![
        event(7026, 15, &["\r\nCSC\r\ndam"], ""),
        // Without the time waited, nothing is claimed about a delay.
        event(7009, 16, &["", "Silent"], "Silent"),
        // A program started by hand, half an hour later.
        event(7009, 2_100, &["30000", "Game Service"], "Game Service"),
        event(7000, 2_100, &["Game Service", "%%1053"], "Game Service"),
        event(7043, HOUR / SECOND, &["Windows Update"], "wuauserv"),
    ]);
    let (failures, later, text) = failures(&session);
    let names: Vec<_> = failures.iter().map(|failure| (failure.kind, failure.service.as_str())).collect();
    assert_eq!(
        names,
        [(Kind::DriverNotLoaded, "CSC"), (Kind::DriverNotLoaded, "dam"), (Kind::ConnectTimeout, "Silent")]
    );
    assert_eq!((failures[2].wait_ns, later), (None, 3));
    assert!(text.contains("Drivers that were not loaded: CSC, dam."), "{text}");
    assert!(text.contains("3 further failures after the boot"), "{text}");
    assert!(findings(&session).is_empty());
}
