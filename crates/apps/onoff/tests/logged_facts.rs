//! `onoff why` on event logs: what they record about a service, a program, a device or a phase. The events
//! have the fields that real computers write.

use onoff::Session;
use onoff::answers::blame::logged_facts::LoggedFact;
use onoff::answers::blame::waits::PathOptions;
use onoff::answers::blame::why::{WhyQuestion, WhyTarget};
use onoff_testkit::event_log::{LogRecord, LogValue, log_folder};
use onoff_trace::Pattern;

use crate::event_logs::{MS, SECOND, START_NS, slower_account, system, system_log};

/// A delay that Windows reported of the boot.
fn delay(id: u16, name: &str, total_ms: u32) -> LogRecord {
    let provider = "Microsoft-Windows-Diagnostics-Performance";
    LogRecord::new(&format!("{provider}/Operational"), provider, id, START_NS + 110 * SECOND)
        .with("StartTime", LogValue::Time(START_NS))
        .with("Name", name)
        .with("FriendlyName", "Klangformer")
        .with("TotalTime", total_ms)
        .with("DegradationTime", total_ms - 5_000)
}

/// A record of a channel of the logon, `ms` after the kernel's start.
fn logon(channel: &str, provider: &str, id: u16, ms: i64) -> LogRecord {
    LogRecord::new(channel, provider, id, START_NS + ms * MS)
}

/// A boot in which the logs name a service, a driver of the same name, a subscriber and a startup program.
fn session() -> Session {
    let winlogon = |id, ms| {
        logon("Microsoft-Windows-Winlogon/Operational", "Microsoft-Windows-Winlogon", id, ms)
            .with("Event", 2)
            .with("SubscriberName", "Profiles")
    };
    let shell = |id, ms| {
        logon("Microsoft-Windows-Shell-Core/Operational", "Microsoft-Windows-Shell-Core", id, ms)
            .with("Command", r#""C:\Program Files\Cloud\cloud.exe" /start tool.exe"#)
    };
    let failed = system("Service Control Manager", 7031, START_NS + 20 * SECOND);
    let records = [
        system_log(START_NS, None),
        vec![failed.with("param1", "SoundShaper").with("param2", "1")],
        vec![slower_account(START_NS, 4_130, 0), delay(103, "SoundShaper", 9_000), delay(102, "SoundShaper", 8_000)],
        vec![delay(101, "tool.exe", 7_000)],
        vec![winlogon(811, 17_000), winlogon(812, 17_700), shell(9707, 32_000), shell(9708, 33_500)],
    ];
    Session::from_bytes(log_folder(&records.concat())).unwrap()
}

fn question(target: WhyTarget) -> WhyQuestion {
    WhyQuestion {
        target,
        at_ns: None,
        within: None,
        min_duration_ns: MS,
        max_intervals: None,
        include_work_waits: false,
        path: PathOptions::default(),
    }
}

/// Kind, name, detail and duration in milliseconds of what the logs record.
fn facts(target: WhyTarget) -> Vec<(&'static str, String, String, Option<i64>)> {
    let report = session().why(&question(target)).unwrap();
    assert!(report.intervals.is_empty() && report.missing_evidence.is_empty());
    let row = |fact: LoggedFact| (fact.kind, fact.name, fact.detail, fact.duration_ns.map(|ns| ns / MS));
    report.logged_facts.into_iter().map(row).collect()
}

fn named(name: &str) -> Pattern {
    Pattern::new(name)
}

#[test]
fn a_service_gets_its_delay_and_its_failure_but_not_those_of_a_driver() {
    let service = facts(WhyTarget::Service(named("soundshaper")));
    let row = |kind, detail: &str, ms| (kind, "SoundShaper".to_owned(), detail.to_owned(), ms);
    assert_eq!(service, [row("reported_delay", "service", Some(9_000)), row("service_failure", "terminated", None)]);
    let driver = facts(WhyTarget::Device(named("SoundShaper")));
    assert_eq!(driver, [row("reported_delay", "driver", Some(8_000))]);
    // By its name for people, too.
    assert_eq!(facts(WhyTarget::Service(named("klang*"))).len(), 1);
    assert_eq!(facts(WhyTarget::Service(named("Profiles")))[0].3, Some(700));
}

#[test]
fn a_program_is_matched_by_its_own_name_and_not_by_an_argument() {
    let cloud = facts(WhyTarget::Process(named("cloud.exe")));
    assert_eq!((cloud.len(), cloud[0].0, cloud[0].3), (1, "startup_application", Some(1_500)));
    let tool = facts(WhyTarget::Process(named("tool.exe")));
    assert_eq!((tool.len(), tool[0].0, tool[0].3), (1, "reported_delay", Some(7_000)));
}

#[test]
fn phases_have_what_happened_in_them_and_a_boot_has_everything() {
    let all = facts(WhyTarget::Phase(None, None));
    let names: Vec<&str> = all.iter().map(|fact| fact.0).collect();
    let further = ["credential_request", "startup_application", "notification_subscriber", "service_failure"];
    assert_eq!(names, [&["reported_delay"; 3][..], &further].concat());
    let logon: Vec<&str> =
        facts(WhyTarget::Phase(Some(named("WinLogonInit")), None)).iter().map(|fact| fact.0).collect();
    assert_eq!(logon, ["credential_request", "notification_subscriber", "service_failure"]);
    let report = session().why(&WhyQuestion { at_ns: Some(17_100 * MS), ..question(WhyTarget::Phase(None, None)) });
    let kinds: Vec<&str> = report.unwrap().logged_facts.iter().map(|fact| fact.kind).collect();
    assert_eq!(kinds, ["credential_request", "notification_subscriber"]);
}

#[test]
fn an_unknown_name_is_refused_with_what_would_answer() {
    for target in [
        WhyTarget::Service(named("Spooler")),
        WhyTarget::Process(named("other.exe")),
        WhyTarget::Device(named("Profiles")),
        WhyTarget::Thread(8),
    ] {
        let error = session().why(&question(target)).unwrap_err().to_string();
        assert!(error.contains("'onoff record boot'") && error.contains("does not record threads"), "{error}");
    }
    let error = session().why(&question(WhyTarget::Phase(Some(named("NoPhase")), None))).unwrap_err().to_string();
    assert!(error.contains("the recorded phases are PreSMSS"), "{error}");
}
