//! What event logs record between boots. The events have the fields that real computers write.

use onoff::Session;
use onoff::answers::compare::boot_history::{BootHistory, UpdateKind};
use onoff::answers::transitions::boot::BootOptions;
use onoff::answers::transitions::boot::changes::ChangesBefore;
use onoff_testkit::event_log::{LogRecord, LogValue};
use onoff_trace::SystemChangeKind as Kind;

use crate::event_logs::{
    HOUR, MS, SECOND, START_NS, files, open_boot, slower_account, system, system_log, windows_boot,
};

const UPDATE_CLIENT: &str = "Microsoft-Windows-WindowsUpdateClient";
const PNP_CHANNEL: &str = "Microsoft-Windows-Kernel-PnP/Configuration";
const DAY: i64 = 24 * HOUR;
/// The first boot of a history that is slower.
const FIRST_SLOW_DAY: i64 = 15;

fn update(id: u16, time_ns: i64, title: &str, guid: &str) -> LogRecord {
    let record = system(UPDATE_CLIENT, id, time_ns);
    let record = if id == 20 { record.with("errorCode", LogValue::Hex(0x8007_3cf9)) } else { record };
    record.with("updateTitle", title).with("updateGuid", guid).with("updateRevisionNumber", 1)
}

fn service(time_ns: i64, name: &str, path: &str) -> LogRecord {
    system("Service Control Manager", 7045, time_ns)
        .with("ServiceName", name)
        .with("ImagePath", path)
        .with("ServiceType", "kernel mode driver")
        .with("StartType", "demand start")
}

fn start_type(time_ns: i64, name: &str, was: &str, is: &str) -> LogRecord {
    let record = system("Service Control Manager", 7040, time_ns);
    record.with("param1", "Anzeigename").with("param2", was).with("param3", is).with("param4", name)
}

fn package(id: u16, time_ns: i64, name: &str, state: &str) -> LogRecord {
    LogRecord::new("Setup", "Microsoft-Windows-Servicing", id, time_ns)
        .with("PackageIdentifier", name)
        .with("IntendedPackageState", 5112)
        .with("IntendedPackageStateTextized", state)
        .with("ErrorCode", LogValue::Hex(0))
        .with("Client", "UpdateAgentLCU")
}

fn driver(id: u16, time_ns: i64, file: &str, device: &str, is_inbox: bool) -> LogRecord {
    let record = LogRecord::new(PNP_CHANNEL, "Microsoft-Windows-Kernel-PnP", id, time_ns)
        .with("DeviceInstanceId", device)
        .with("DriverName", file)
        .with("ClassGuid", "{4d36e968-e325-11ce-bfc1-08002be10318}");
    if id == 411 {
        return record.with("Problem", LogValue::Hex(0x1f)).with("Status", LogValue::Hex(0));
    }
    record
        .with("DriverVersion", "31.0.15.4629")
        .with("DriverProvider", "NVIDIA")
        .with("DriverInbox", LogValue::Bool(is_inbox))
        .with("Status", LogValue::Hex(0))
}

fn program(id: u16, time_ns: i64, values: &[&str]) -> LogRecord {
    let record = LogRecord::new("Application", "MsiInstaller", id, time_ns);
    values.iter().fold(record, |record, &value| record.with("", value))
}

/// A record of a channel at each of two times, so that the channel covers the time between them.
fn covering(channel: &str, first_ns: i64, last_ns: i64) -> [LogRecord; 2] {
    [first_ns, last_ns].map(|time_ns| LogRecord::new(channel, "Other", 1, time_ns))
}

/// Logs of two boots a day apart, with `between` in the System log and further channels.
fn two_boots(between: Vec<LogRecord>, channels: Vec<Vec<LogRecord>>) -> Vec<(String, Vec<u8>)> {
    let mut system = system_log(START_NS, None);
    system.extend(between);
    system.extend(system_log(START_NS + DAY, Some(START_NS + DAY - HOUR)));
    files(&[vec![system], channels].concat())
}

fn changes(logs: Vec<(String, Vec<u8>)>, boot: &str) -> ChangesBefore {
    windows_boot(&open_boot(logs, boot)).details.changes.unwrap()
}

fn text(logs: Vec<(String, Vec<u8>)>, boot: &str) -> String {
    let mut text = Vec::new();
    let answer = open_boot(logs, boot).boot(&BootOptions::default()).unwrap();
    answer.write_text_with(10, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn rows(changes: &ChangesBefore) -> Vec<(Kind, &str, &str)> {
    changes.changes.iter().map(|change| (change.kind, change.name.as_str(), change.is.as_str())).collect()
}

#[test]
fn changes_between_two_boots_are_named_and_grouped() {
    let at = |hours: i64| START_NS + hours * HOUR;
    let between = vec![
        update(44, at(1), "Cumulative Update (KB5046613)", "A"),
        update(43, at(1), "Cumulative Update (KB5046613)", "A"),
        update(43, at(2), "Printer update", "B"),
        update(19, at(3), "Printer update", "B"),
        update(43, at(3), "Store app", "C"),
        update(20, at(4), "Store app", "C"),
        service(at(5), "SoundShaper", r"\SystemRoot\System32\drivers\shaper.sys"),
        start_type(at(6), "BITS", "demand start", "auto start"),
        start_type(at(7), "BITS", "auto start", "demand start"),
        start_type(at(8), "Agent", "demand start", "auto start"),
    ];
    let drivers = vec![
        driver(400, at(9), "oem39.inf", r"PCI\VEN_10DE\1", false),
        driver(400, at(9), "usb.inf", r"USB\1", true),
        driver(400, at(9), "hidusb.inf", r"USB\2", true),
        driver(400, at(9), "hidusb.inf", r"USB\3", true),
        driver(400, at(9), "null", r"SWD\4", false),
        driver(411, at(9), "msports.inf", r"ACPI\5", false),
    ];
    let setup = vec![
        package(2, at(0) - HOUR, "KB0000001", "Installed"),
        package(4, at(10), "KB5046613", "Installed"),
        package(2, at(10), "KB5020683", "Absent"),
    ];
    let application = vec![
        program(1033, at(11), &["Archiver", "24.08", "1031", "0", "A. Nonymous"]),
        program(11_707, at(11), &["Product: Archiver -- Installation completed successfully.", "(NULL)"]),
        program(11_707, at(11), &["Artikel: Player -- Installation erfolgreich abgeschlossen.", "(NULL)"]),
        program(1033, at(12), &["Broken", "1.0", "1031", "1603", "A. Nonymous"]),
    ];
    let logs = two_boots(between, vec![drivers, setup, application]);
    let found = changes(logs.clone(), "0");
    assert_eq!(found.since_unix_ns.map(|ns| ns / SECOND), Some(START_NS / SECOND));
    assert_eq!(
        rows(&found),
        [
            (Kind::Update, "Printer update", ""),
            (Kind::UpdateStarted, "Cumulative Update (KB5046613)", ""),
            (Kind::Package, "KB5046613", ""),
            (Kind::DeviceFailed, "msports.inf", "code 31"),
            (Kind::Driver, "oem39.inf", "31.0.15.4629"),
            (Kind::Service, "SoundShaper", ""),
            (Kind::Program, "Archiver", "24.08"),
            (Kind::Program, "Player", ""),
            (Kind::StartType, "Agent", "auto start"),
            (Kind::UpdateFailed, "Store app", ""),
            (Kind::Driver, "drivers included in Windows", ""),
            (Kind::StartType, "BITS", "demand start"),
        ]
    );
    let inbox = &found.changes[10];
    assert_eq!((inbox.records, inbox.devices), (3, 3));
    assert!(found.changes[11].is_routine && !found.changes[8].is_routine);
    assert_eq!(found.changes[9].error_code, Some(0x8007_3cf9));
    let text = text(logs.clone(), "0");
    assert!(
        text.contains("Changed before this boot") && text.contains("since the boot at 2024-11-15 14:28:34"),
        "{text}"
    );
    assert!(text.contains("and 2 more rows"), "{text}");
    // Nothing is known about what was changed before the first boot in the logs.
    let first = changes(logs.clone(), "1");
    assert_eq!((first.since_unix_ns, first.changes.len()), (None, 0));
    assert!(self::text(logs, "1").contains("Not known: the logs have no earlier boot"));
}

#[test]
fn a_package_that_the_restart_installs_counts_once() {
    let at = |hours: i64| START_NS + hours * HOUR;
    let mut system = Vec::new();
    for day in 0..3 {
        system.extend(system_log(START_NS + day * DAY, (day > 0).then(|| START_NS + day * DAY - HOUR)));
    }
    let setup = vec![
        package(4, at(10), "KB5046613", "Installed"),
        // Servicing finishes after the restart, and later installs the package of another update.
        package(2, START_NS + DAY + 10 * SECOND, "KB5046613", "Installed"),
        package(2, START_NS + DAY + HOUR, "KB5050000", "Installed"),
    ];
    let logs = files(&[system, setup]);
    let packages = |boot: &str| {
        let found = changes(logs.clone(), boot);
        found.changes.into_iter().map(|change| change.name).collect::<Vec<_>>()
    };
    assert_eq!((packages("-1"), packages("0")), (vec!["KB5046613".to_owned()], vec!["KB5050000".to_owned()]));
}

#[test]
fn a_new_build_is_a_change() {
    let mut system = system_log(START_NS, None);
    let later = system_log(START_NS + DAY, None).into_iter().map(|mut record| {
        if record.id == 6009 {
            record.data = vec![(String::new(), "10.00.".into()), (String::new(), "22631".into())];
        }
        record
    });
    system.extend(later);
    let found = changes(files(&[system]), "0");
    assert_eq!(rows(&found), [(Kind::Build, "Windows", "22631")]);
    assert_eq!(found.changes[0].was, "19045");
}

#[test]
fn channels_say_what_is_not_covered() {
    let channels = |setup_start_ns: i64| {
        let covering_all = |channel: &str| covering(channel, START_NS - HOUR, START_NS + 2 * DAY).to_vec();
        vec![
            covering_all(PNP_CHANNEL),
            covering_all("Application"),
            covering("Setup", setup_start_ns, START_NS + 2 * DAY).to_vec(),
        ]
    };
    let covered = two_boots(Vec::new(), channels(START_NS - HOUR));
    let found = changes(covered.clone(), "0");
    assert_eq!((found.changes.len(), found.not_covered.len()), (0, 0));
    assert!(text(covered, "0").contains("No change was recorded since the previous boot."));
    let late = two_boots(Vec::new(), channels(START_NS + HOUR));
    let found = changes(late.clone(), "0");
    let [setup] = &found.not_covered[..] else { panic!("{found:?}") };
    assert_eq!((setup.changes.as_str(), setup.first_unix_ns), ("packages", Some(START_NS + HOUR)));
    let text = text(late, "0");
    assert!(text.contains("Not covered by the logs: packages (Setup log starts 2024-11-15 15:28)."), "{text}");
}

/// The history of a boot per day that is 3 s slower from day 15 on, with `changes` in the System log.
fn history(changes: &[LogRecord]) -> (BootHistory, String) {
    let mut system = Vec::new();
    let mut accounts = Vec::new();
    for day in 0..30_i64 {
        let start_ns = START_NS + day * DAY;
        system.extend(system_log(start_ns, (day > 0).then(|| start_ns - HOUR)));
        let of_day = changes.iter().filter(|record| (record.time_ns - START_NS) / DAY == day);
        system.extend(of_day.cloned());
        let noise_ms = u32::try_from(day * 37 % 90).unwrap();
        accounts.push(slower_account(start_ns, 4_130, noise_ms + if day < FIRST_SLOW_DAY { 0 } else { 3_000 }));
    }
    let history = Session::from_bytes(files(&[system, accounts])).unwrap().boot_history(100).unwrap();
    let mut text = Vec::new();
    onoff::report::text::boot_history::write(&history, 100, &mut text).unwrap();
    (history, String::from_utf8(text).unwrap())
}

/// A moment on a day of the history, before the next day's boot.
fn on_day(day: i64) -> i64 {
    START_NS + day * DAY + 5 * HOUR
}

#[test]
fn an_update_before_the_first_slow_boot_is_a_possible_cause() {
    let title = "2024-11 Cumulative Update (KB5046613)";
    let (history, text) = history(&[
        update(19, on_day(FIRST_SLOW_DAY - 1), title, "A"),
        service(on_day(FIRST_SLOW_DAY - 1), "SoundShaper", r"\SystemRoot\System32\drivers\shaper.sys"),
    ]);
    let [change] = &history.changes[..] else { panic!("{text}") };
    assert!((change.difference_ns / MS - 3_000).abs() < 100, "{}", change.difference_ns);
    let updates: Vec<_> =
        change.updates.iter().map(|update| (update.kind, update.name.as_str(), update.is_routine)).collect();
    assert_eq!(updates, [(UpdateKind::Update, title, false), (UpdateKind::Service, "SoundShaper", false)]);
    assert!(text.contains("since the update on 2024-11-29"), "{text}");
    assert!(text.contains(&format!("Updates installed in between: {title}.")), "{text}");
    assert!(text.contains("Services installed in between: SoundShaper."), "{text}");
    assert_eq!(text.matches("a possible cause, not a proven one").count(), 1, "{text}");
}

#[test]
fn without_a_recorded_change_no_cause_is_named() {
    let (history, text) = history(&[]);
    let [change] = &history.changes[..] else { panic!("{text}") };
    assert_eq!(change.updates, []);
    assert!(text.contains("The logs name no possible cause between the two boots."), "{text}");
    assert!(!text.contains("a possible cause, not"), "{text}");
    // The System log covers updates and services, but the other channels are missing.
    let uncovered: Vec<_> = change.not_covered.iter().map(|item| item.changes.as_str()).collect();
    assert_eq!(uncovered, ["packages", "drivers", "programs"]);
    assert!(text.contains("Not covered by the logs: packages (no Setup log)"), "{text}");
}

#[test]
fn later_and_routine_changes_are_no_possible_cause() {
    let defender = |day: i64| {
        let title = format!(
            "Security Intelligence Update for Microsoft Defender Antivirus - KB2267602 (Version 1.389.{day}.0)"
        );
        update(19, on_day(day), &title, &format!("D{day}"))
    };
    let mut changes: Vec<LogRecord> = (0..29).map(defender).collect();
    // The update arrives one boot too late; a service is set to automatic start and back.
    changes.push(update(19, on_day(FIRST_SLOW_DAY), "2024-11 Cumulative Update (KB5046613)", "A"));
    changes.push(start_type(on_day(FIRST_SLOW_DAY - 1), "BITS", "demand start", "auto start"));
    changes.push(start_type(on_day(FIRST_SLOW_DAY - 1) + HOUR, "BITS", "auto start", "demand start"));
    let (history, text) = history(&changes);
    let [change] = &history.changes[..] else { panic!("{text}") };
    let updates: Vec<_> = change.updates.iter().map(|update| (update.kind, update.is_routine)).collect();
    assert_eq!(updates, [(UpdateKind::Update, true), (UpdateKind::StartType, true)]);
    assert!(!text.contains("KB5046613") && !text.contains("since the update"), "{text}");
    assert!(text.contains("The logs name no possible cause between the two boots."), "{text}");
    assert!(text.contains("Routine, so an unlikely cause: 2 changes (Security Intelligence"), "{text}");
}
