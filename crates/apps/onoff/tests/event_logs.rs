//! Boots in Windows event logs. The figures of the accounts fulfill the sums measured on real machines; the truth is what
//! Windows itself states.

use onoff::answers::compare::boot_history::BootHistory;
use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::boot::{BootOptions, BootReport};
use onoff::answers::transitions::{Phase, PhaseName};
use onoff::sources::{Limits, Options, files_from_bytes};
use onoff::{Boot, Session};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_testkit::event_log::{LogRecord, LogValue, log_folder, xml};
use onoff_trace::RecordedBoot;

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1_000 * MS;
pub(crate) const HOUR: i64 = 3_600 * SECOND;
/// 2024-11-15 14:28:34 UTC.
pub(crate) const START_NS: i64 = 1_731_680_914 * SECOND;

const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const DIAGNOSTICS_CHANNEL: &str = "Microsoft-Windows-Diagnostics-Performance/Operational";
const GENERAL: &str = "Microsoft-Windows-Kernel-General";

/// Windows' account of a boot that started at `start_ns`: 20.8 s to the desktop without 7 s of waiting, then 17.6 s.
fn account(start_ns: i64, explorer_ms: u32) -> LogRecord {
    slower_account(start_ns, explorer_ms, 0)
}

/// As [`account`], with a logon that takes longer.
pub(crate) fn slower_account(start_ns: i64, explorer_ms: u32, more_ms: u32) -> LogRecord {
    let logon_ms = 20_736 - 4_311 - 301 - explorer_ms + more_ms;
    LogRecord::new(DIAGNOSTICS_CHANNEL, DIAGNOSTICS, 100, start_ns + 110 * SECOND)
        .with("BootStartTime", LogValue::Time(start_ns))
        .with("BootEndTime", LogValue::Time(start_ns + 107 * SECOND))
        .with("SystemBootInstance", 2)
        .with("BootTime", 38_336 + more_ms)
        .with("MainPathBootTime", 20_736 + more_ms)
        .with("BootSmssInitTime", 2_859)
        .with("BootUserProfileProcessingTime", 300)
        .with("BootMachineProfileProcessingTime", 1)
        .with("BootExplorerInitTime", explorer_ms)
        .with("BootPostBootTime", 17_600)
        .with("BootIsRebootAfterInstall", LogValue::Bool(false))
        .with("BootIsDegradation", LogValue::Bool(false))
        .with("OSLoaderDuration", 545)
        .with("BootPNPInitStartTimeMS", 31)
        .with("BootPNPInitDuration", 1_200)
        .with("SystemPNPInitStartTimeMS", 1_285)
        .with("SystemPNPInitDuration", 156)
        .with("SessionInitStartTimeMS", 1_452)
        .with("WinLogonStartTimeMS", 4_311)
        .with("OtherLogonInitActivityDuration", logon_ms)
        .with("UserLogonWaitDuration", 7_000)
}

/// A delay that Windows reports for the boot that started at `start_ns`.
fn delay(id: u16, start_ns: i64, name: &str, total_ms: u32, excess_ms: u32) -> LogRecord {
    LogRecord::new(DIAGNOSTICS_CHANNEL, DIAGNOSTICS, id, start_ns + 110 * SECOND)
        .with("StartTime", LogValue::Time(start_ns))
        .with("Name", name)
        .with("FriendlyName", "Freundlicher Name")
        .with("TotalTime", total_ms)
        .with("DegradationTime", excess_ms)
}

pub(crate) fn system(provider: &str, id: u16, time_ns: i64) -> LogRecord {
    LogRecord::new("System", provider, id, time_ns)
}

/// The System log of a boot, as Windows writes it: the log service's records first, then the end of the previous
/// session, then the kernel's start, which is earlier than both.
pub(crate) fn system_log(start_ns: i64, previous_end_ns: Option<i64>) -> Vec<LogRecord> {
    let service_ns = start_ns + 9 * SECOND;
    let mut records = vec![
        system("EventLog", 6009, service_ns).with("", "10.00.").with("", "19045"),
        system("EventLog", 6005, service_ns),
    ];
    records.extend(previous_end_ns.map(|end_ns| system(GENERAL, 13, end_ns)));
    records.push(system(GENERAL, 12, start_ns + 40 * MS).with("BootMode", 0).with("BuildVersion", 19_041));
    records.push(system("Microsoft-Windows-Kernel-Boot", 27, start_ns + 41 * MS).with("BootType", 0));
    records
}

/// Writes the log files of several lists of records.
pub(crate) fn files(records: &[Vec<LogRecord>]) -> Vec<(String, Vec<u8>)> {
    log_folder(&records.concat())
}

/// Opens logs at one of their boots.
pub(crate) fn open_boot(files: Vec<(String, Vec<u8>)>, boot: &str) -> Session {
    let options = Options { boot: Some(boot.to_owned()), ..Options::default() };
    Session::new(files_from_bytes(files, &Limits::default()).unwrap(), options)
}

fn boot_of(files: Vec<(String, Vec<u8>)>) -> BootReport {
    windows_boot(&Session::from_bytes(files).unwrap())
}

pub(crate) fn windows_boot(session: &Session) -> BootReport {
    match session.boot(&BootOptions::default()).unwrap().report {
        Boot::Windows(report) => *report,
        _ => panic!("not a boot of Windows"),
    }
}

fn text_of(files: Vec<(String, Vec<u8>)>) -> String {
    let mut text = Vec::new();
    Session::from_bytes(files).unwrap().boot(&BootOptions::default()).unwrap().write_text_with(10, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn phase(report: &BootReport, name: PhaseName) -> &Phase {
    report.phases.iter().find(|phase| phase.name == name).unwrap()
}

fn ms(ns: Option<i64>) -> Option<i64> {
    ns.map(|ns| ns / MS)
}

#[test]
fn phases_are_those_of_windows_without_the_wait_for_a_person() {
    let report = boot_of(files(&[system_log(START_NS, None), vec![account(START_NS, 4_130)]]));
    let lengths = [
        PhaseName::PreSmss,
        PhaseName::SmssInit,
        PhaseName::WinLogonInit,
        PhaseName::ExplorerInit,
        PhaseName::PostBoot,
    ]
    .map(|name| ms(phase(&report, name).duration_without_input_ns()));
    assert_eq!(lengths, [Some(1_452), Some(2_859), Some(12_295), Some(4_130), Some(17_600)]);
    assert_eq!((ms(report.total_ns), report.user_input_ns / MS), (Some(38_336), 7_000));
    assert_eq!(report.total_certainty, Certainty::Measured);
    assert_eq!(ms(report.details.os_loader_ns), Some(545));
    let desktop = &phase(&report, PhaseName::ExplorerInit).ends;
    assert_eq!(desktop.event, "Microsoft-Windows-Diagnostics-Performance/100");
    assert!(desktop.rule.to_string().contains("MainPathBootTime"), "{}", desktop.rule);
    let account = report.details.windows_account.as_ref().unwrap();
    assert!(account.is_post_boot_without_idle);
    assert_eq!((account.system_boot_number, account.main_path_ns / MS), (Some(2), 20_736));
    let device_phases: Vec<_> = report.details.device_phases.iter().map(|row| ms(row.interval.duration_ns)).collect();
    assert_eq!(device_phases[..2], [Some(1_200), Some(156)]);
}

#[test]
fn an_unmeasured_shell_start_stays_unknown_but_the_total_does_not() {
    let report = boot_of(files(&[system_log(START_NS, None), vec![account(START_NS, 0)]]));
    assert_eq!(phase(&report, PhaseName::WinLogonInit).end_ns, None);
    assert_eq!(ms(report.total_ns), Some(38_336));
}

#[test]
fn a_boot_without_an_account_has_no_duration() {
    let logs = files(&[system_log(START_NS, None)]);
    let report = boot_of(logs.clone());
    assert_eq!((report.total_ns, report.total_certainty), (None, Certainty::Missing));
    assert!(phase(&report, PhaseName::PreSmss).end_ns.is_none());
    let text = text_of(logs);
    assert!(text.contains("duration of this boot is unknown: the logs do not include"), "{text}");
    // With an account of an earlier boot, the log is there, but Windows wrote nothing about this one.
    let earlier = START_NS - 24 * HOUR;
    let both = [system_log(earlier, None), system_log(START_NS, Some(START_NS - HOUR))].concat();
    let logs = files(&[both, vec![account(earlier, 4_130)]]);
    let mut text = Vec::new();
    open_boot(logs, "0").boot(&BootOptions::default()).unwrap().write_text_with(10, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("Windows wrote no account of it"), "{text}");
}

#[test]
fn delays_belong_to_the_boot_with_the_same_start() {
    let other = START_NS - 24 * HOUR;
    let accounts = vec![
        account(other, 4_130),
        delay(101, other, "other.exe", 20_000, 15_000),
        account(START_NS, 4_130),
        delay(101, START_NS, "updater.exe", 9_000, 4_000),
        delay(103, START_NS, "SlowSvc", 12_500, 5_000),
        delay(101, START_NS + MS, "decoy.exe", 30_000, 25_000),
    ];
    let logs = files(&[[system_log(other, None), system_log(START_NS, Some(START_NS - HOUR))].concat(), accounts]);
    let report = boot_of(logs.clone());
    let delays: Vec<_> = report
        .details
        .reported_delays
        .iter()
        .map(|delay| (delay.cause, delay.name.as_str(), delay.total_ns / MS, delay.excess_ns / MS))
        .collect();
    assert_eq!(delays, [("service", "SlowSvc", 12_500, 5_000), ("application", "updater.exe", 9_000, 4_000)]);
    let text = text_of(logs);
    assert!(text.contains("Reported by Windows") && text.contains("transition would not be faster"), "{text}");
}

#[test]
fn what_windows_reports_as_slow_is_a_finding_with_its_excess_as_upper_bound() {
    let records = [
        system_log(START_NS, None),
        vec![
            account(START_NS, 4_130),
            delay(101, START_NS, "updater.exe", 9_000, 4_000),
            delay(103, START_NS, "SlowSvc", 12_500, 5_000),
            delay(101, START_NS, "quick.exe", 5_200, 200),
            delay(101, START_NS + MS, "decoy.exe", 30_000, 25_000),
        ],
    ];
    let diagnosis = Session::from_bytes(files(&records)).unwrap().diagnose(&DiagnosisOptions::default()).unwrap();
    let reported: Vec<_> = diagnosis
        .findings
        .iter()
        .filter(|finding| finding.code == "boot/reported-slow")
        .map(|finding| (finding.subject.kind, finding.subject.name.as_str(), finding.cost_ns, finding.cost_basis))
        .collect();
    assert_eq!(
        reported,
        [
            (FindingSubjectKind::Service, "SlowSvc", Some(5 * SECOND), CostBasis::AtMost),
            (FindingSubjectKind::Process, "updater.exe", Some(4 * SECOND), CostBasis::AtMost),
        ]
    );
}

#[test]
fn an_account_of_another_moment_is_not_attached() {
    let report = boot_of(files(&[system_log(START_NS, None), vec![account(START_NS + 5 * SECOND, 4_130)]]));
    assert_eq!(report.details.windows_account, None);
    assert_eq!(report.total_ns, None);
}

fn boots(files: Vec<(String, Vec<u8>)>) -> Vec<RecordedBoot> {
    Session::from_bytes(files).unwrap().boots().unwrap()
}

#[test]
fn boots_are_in_the_order_of_writing_although_clocks_step() {
    // The second boot has a clock 8 h ahead until it is set; the third is right again.
    let wrong = START_NS + 9 * HOUR;
    let mut log = system_log(START_NS, None);
    log.extend(system_log(wrong, Some(START_NS + HOUR / 2)));
    log.push(
        system(GENERAL, 1, wrong - 8 * HOUR + 20 * SECOND)
            .with("NewTime", LogValue::Time(wrong - 8 * HOUR + 20 * SECOND))
            .with("OldTime", LogValue::Time(wrong + 20 * SECOND))
            .with("Reason", 1),
    );
    log.push(
        system("Microsoft-Windows-Kernel-Power", 109, wrong - 8 * HOUR + 60 * SECOND).with("ShutdownActionType", 6),
    );
    log.extend(system_log(START_NS + 3 * HOUR, None));
    let boots = boots(files(&[log]));
    let starts: Vec<i64> = boots.iter().map(|boot| (boot.first_unix_ns.unwrap() - START_NS) / HOUR).collect();
    assert_eq!(starts, [0, 9, 3]);
    assert_eq!(boots.iter().map(|boot| boot.number).collect::<Vec<_>>(), [-2, -1, 0]);
    // The records of the log service belong to the boot that they precede; the kernel's stop to the one before.
    assert_eq!(boots.iter().map(|boot| boot.stopped).collect::<Vec<_>>(), [true, true, false]);
    assert!(boots.iter().all(|boot| boot.started));
    assert_eq!(boots[0].id, "20241115T142834Z");
}

#[test]
fn times_after_a_clock_step_are_on_the_axis() {
    const WINLOGON: &str = "Microsoft-Windows-Winlogon";
    let step_ns = 2 * HOUR;
    let mut log = system_log(START_NS, None);
    log.push(
        system(GENERAL, 1, START_NS + 10 * SECOND + step_ns)
            .with("NewTime", LogValue::Time(START_NS + 10 * SECOND + step_ns))
            .with("OldTime", LogValue::Time(START_NS + 10 * SECOND))
            .with("Reason", 1),
    );
    let at = |id, seconds: i64| {
        LogRecord::new("Microsoft-Windows-Winlogon/Operational", WINLOGON, id, START_NS + step_ns + seconds * SECOND)
    };
    let report = boot_of(files(&[log, vec![at(1, 14), at(2, 15)], vec![account(START_NS, 4_130)]]));
    let [authentication] = &report.details.logon.authentications[..] else { panic!("{:?}", report.details.logon) };
    assert_eq!((authentication.start_ns / SECOND, ms(authentication.duration_ns)), (14, Some(1_000)));
}

#[test]
fn computers_are_told_apart_by_name_and_folder() {
    let named = |computer: &str, records: Vec<LogRecord>| -> Vec<LogRecord> {
        records.into_iter().map(|record| LogRecord { computer: computer.to_owned(), ..record }).collect()
    };
    let export = |name: &str, records: &[LogRecord]| (name.to_owned(), xml(records).into_bytes());
    let numbered = |records: Vec<LogRecord>| -> Vec<LogRecord> {
        (1..).zip(records).map(|(number, record)| LogRecord { number, ..record }).collect()
    };
    let two = vec![
        export("a.xml", &numbered(named("ALPHA", system_log(START_NS, None)))),
        export("b.xml", &numbered(named("BETA", system_log(START_NS + HOUR, None)))),
    ];
    let hosts = |boots: Vec<RecordedBoot>| boots.into_iter().map(|boot| boot.machine).collect::<Vec<_>>();
    assert_eq!(hosts(boots(two)), ["ALPHA", "BETA"]);
    // The names that Windows gives its files show that one computer was renamed.
    let renamed =
        files(&[named("WIN-SETUP", system_log(START_NS, None)), named("DESK-7", vec![account(START_NS, 4_130)])]);
    assert_eq!(hosts(boots(renamed)), ["DESK-7"]);
}

#[test]
fn an_export_gives_the_same_report_as_the_log() {
    let records = [system_log(START_NS, None), vec![account(START_NS, 4_130), delay(101, START_NS, "a.exe", 9, 5)]];
    let binary = boot_of(files(&records));
    let text: Vec<LogRecord> = records
        .iter()
        .flat_map(|records| (1..).zip(records).map(|(number, record)| LogRecord { number, ..record.clone() }))
        .collect();
    let export = boot_of(vec![("export.xml".to_owned(), xml(&text).into_bytes())]);
    assert_eq!(export.phases, binary.phases);
    assert_eq!(export.details.reported_delays, binary.details.reported_delays);
    assert_eq!(export.details.windows_account, binary.details.windows_account);
}

#[test]
fn damage_is_counted_and_a_missing_boot_is_an_error() {
    let mut logs = files(&[system_log(START_NS, None), vec![account(START_NS, 4_130)]]);
    let clean = boot_of(logs.clone());
    assert!(clean.losses.is_empty(), "{:?}", clean.losses);
    // The file was not closed, and the record of the account is damaged.
    logs[1].1[120] = 1;
    logs[1].1[4096 + 512 + 24..4096 + 512 + 80].fill(0xee);
    let damaged = boot_of(logs.clone());
    assert_eq!(damaged.losses.count("event_log_records_unreadable"), 1);
    assert_eq!(damaged.losses.count("event_logs_not_closed"), 1);
    assert_eq!(damaged.total_ns, None);
    let error = open_boot(logs, "-7").boots().unwrap_err();
    assert!(error.to_string().contains("-7"), "{error}");
}

/// The history of one boot per day with these additional times in the logon, ms.
fn history(more_ms: &[u32]) -> BootHistory {
    let start = |day: usize| START_NS + day as i64 * 24 * HOUR;
    let mut system = Vec::new();
    let mut accounts = Vec::new();
    for (day, &more_ms) in more_ms.iter().enumerate() {
        system.extend(system_log(start(day), (day > 0).then(|| start(day) - HOUR)));
        // Every fifth boot has no account.
        if day % 5 != 4 {
            accounts.push(slower_account(start(day), 4_130, more_ms));
        }
    }
    Session::from_bytes(files(&[system, accounts])).unwrap().boot_history(100).unwrap()
}

#[test]
fn a_slower_logon_is_found_in_the_history() {
    let noise = |day: u32| day * 37 % 90;
    let history_with_change =
        history(&(0..30).map(|day| noise(day) + if day < 15 { 0 } else { 3_000 }).collect::<Vec<_>>());
    let [change] = &history_with_change.changes[..] else { panic!("{:#?}", history_with_change.changes) };
    assert_eq!((change.phase.as_str(), change.first_boot_after), ("WinLogonInit", -14));
    assert!((change.difference_ns / MS - 3_000).abs() < 100, "{}", change.difference_ns);
    // The last day of each five has no account and is not compared.
    let compared = history_with_change.boots.iter().filter(|boot| boot.startup_ns.is_some()).count();
    assert_eq!((history_with_change.boots.len(), compared), (30, 24));
    let mut text = Vec::new();
    onoff::report::text::boot_history::write(&history_with_change, 100, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("Not compared: 6 boots of which Windows wrote no account"), "{text}");
    assert!(text.contains("Check the update history of Windows"), "{text}");

    assert!(history(&(0..30).map(noise).collect::<Vec<_>>()).changes.is_empty());
    let single = (0..30).map(|day| noise(day) + if day == 20 { 9_000 } else { 0 });
    assert!(history(&single.collect::<Vec<_>>()).changes.is_empty(), "one slow boot is not a change");
}
