//! Sleeps in battery reports and system sleep diagnostics. The truth is what the test kit writes into the pages.

use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::Variant;
use onoff::answers::transitions::suspend::{PowerTransition, SuspendOptions};
use onoff::trace::{PowerSessionKind, PowerSource, TableName, TableSet};
use onoff::{Session, Sleeps};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::power_report::{ACTIVE, HIBERNATE, SleepStudy, StudySession};
use onoff_testkit::power_tables::{BatteryReport, DiagnosedSleep, UsageRow, sleep_diagnostics};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;

/// A laptop: one hour in use, three hours in standby, use, eight hours suspended, use.
fn battery() -> BatteryReport {
    let row = |hours, state, mwh| UsageRow::new(START_NS + hours * HOUR, state, false, mwh);
    let rows = vec![
        row(0, "Active", 45_000),
        row(1, "Connected standby", 44_000),
        row(4, "Active", 42_500),
        row(6, "Suspended", 40_000),
        row(14, "Active", 39_000),
        row(15, "Report generated", 38_000),
    ];
    BatteryReport { full_mwh: vec![50_000], rows }
}

fn hibernation() -> DiagnosedSleep {
    DiagnosedSleep {
        start_unix_ns: START_NS + 6 * HOUR - SECOND,
        duration_ns: 8 * HOUR,
        state: "Hibernate",
        reason: "System Idle",
        is_successful: true,
    }
}

fn session(pages: &[String]) -> Session {
    let files = (1..).zip(pages).map(|(number, page): (u32, _)| (format!("{number}.html"), page.clone().into_bytes()));
    Session::from_bytes(files).unwrap()
}

fn battery_page() -> String {
    battery().page(&str::to_owned, ".")
}

fn sleeps(session: &Session) -> Vec<PowerTransition> {
    let Sleeps::Windows(report) = session.sleeps(&SuspendOptions::default()).unwrap().report else {
        panic!("not a report of Windows")
    };
    report.transitions
}

fn text(session: &Session) -> String {
    let mut text = Vec::new();
    session.sleeps(&SuspendOptions::default()).unwrap().write_text_with(5, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_battery_report_has_sleeps_with_energy() {
    let session = session(&[battery_page()]);
    let sleeps = sleeps(&session);
    let variants: Vec<Variant> = sleeps.iter().map(|sleep| sleep.variant).collect();
    assert_eq!(variants, [Variant::ModernStandby, Variant::Unknown]);
    assert_eq!(sleeps[1].details.variant_certainty, Certainty::Missing, "the report does not say sleep or hibernation");
    for (sleep, hours, start_hours, change_mwh) in [(&sleeps[0], 3, 1, -1_500), (&sleeps[1], 8, 6, -1_000)] {
        let (asleep, energy) = (&sleep.details.asleep, sleep.details.energy.as_ref().unwrap());
        assert_eq!((asleep.wall_ns, asleep.wall_certainty), (Some(hours * HOUR), Certainty::Measured));
        assert_eq!(asleep.start_unix_ns, Some(START_NS + start_hours * HOUR));
        assert_eq!((energy.change_mwh, energy.full_capacity_mwh), (change_mwh, 50_000));
    }
    let source = |index: usize| sleeps[index].details.energy.as_ref().unwrap().power_source;
    assert_eq!((source(0), source(1)), (PowerSource::Battery, PowerSource::Unknown));
    let trace = session.tables(TableSet::from_names(&[TableName::PowerSessions])).unwrap();
    let kinds: Vec<PowerSessionKind> = trace.power_sessions.iter().map(|session| session.kind).collect();
    use PowerSessionKind::{Active, ModernStandby, Suspended};
    assert_eq!(kinds, [Active, ModernStandby, Active, Suspended, Active]);
    assert_eq!(trace.losses.iter().count(), 0);
    let text = text(&session);
    for expected in [
        "2 power transitions.",
        "Suspended for 8 h 00 min; sleep, hibernation or off: not known.",
        "Energy: used 1,000 mWh, 2.0 % of the full battery, 125 mW on average.",
        "Modern standby: 3 h 00 min",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn the_xml_form_names_states_in_every_language() {
    let page = sleeps(&session(&[battery_page()]));
    let xml = sleeps(&session(&[battery().xml()]));
    assert_eq!(xml.len(), page.len());
    for (from_xml, from_page) in xml.iter().zip(&page) {
        assert_eq!(from_xml.variant, from_page.variant);
        assert_eq!(from_xml.details.asleep, from_page.details.asleep);
        let change = |sleep: &PowerTransition| sleep.details.energy.as_ref().map(|energy| energy.change_mwh);
        assert_eq!(change(from_xml), change(from_page));
    }
    let both = sleeps(&session(&[battery().xml(), battery_page()]));
    assert_eq!(both.len(), page.len(), "the same sleep in both forms is listed once");
}

#[test]
fn a_suspended_computer_is_called_that() {
    let text = text(&session(&[battery_page()]));
    assert!(text.contains("2  Suspended "), "{text}");
    for expected in ["To record the phases of a sleep", "onoff record suspend", "powercfg /sleepstudy"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("xperf"), "{text}");
}

#[test]
fn other_commands_say_what_a_report_shows() {
    let session = session(&[battery_page()]);
    let boot = session.boot(&onoff::answers::transitions::boot::BootOptions::default()).unwrap_err().to_string();
    assert!(boot.contains("power reports of 15 h 00 min, which show sleeps only"), "{boot}");
}

#[test]
fn a_battery_report_without_low_power_share_is_no_finding() {
    let diagnosis = session(&[battery_page()]).diagnose(&DiagnosisOptions::default()).unwrap();
    assert!(diagnosis.findings.iter().all(|finding| finding.code != "suspend/low-power-missed"));
}

#[test]
fn use_is_no_sleep() {
    let mut report = battery();
    report.rows = vec![report.rows[0].clone(), report.rows[2].clone(), report.rows[5].clone()];
    let error = session(&[report.page(&str::to_owned, ",")]).sleeps(&SuspendOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no sleep"), "{error}");
}

#[test]
fn standby_in_another_language_is_not_guessed() {
    let translated = |report: &BatteryReport| report.page(&|name| format!("[{name}]"), ".");
    let mut report = battery();
    let session = session(&[translated(&report)]);
    let variants: Vec<Variant> = sleeps(&session).iter().map(|sleep| sleep.variant).collect();
    assert_eq!(variants, [Variant::Unknown], "only the suspended row has a mark in every language");
    let trace = session.tables(TableSet::from_names(&[TableName::Milestones])).unwrap();
    let losses: Vec<_> = trace.losses.iter().map(|loss| (loss.counter, loss.count)).collect();
    assert_eq!(losses, [("power_session_states_unknown", 4)]);
    report.rows.remove(3);
    let opened = Session::from_bytes([("report.html".to_owned(), translated(&report).into_bytes())]);
    let error = match opened {
        Ok(session) => session.sleeps(&SuspendOptions::default()).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    let error = error.unwrap();
    assert!(error.contains("not in English") && error.contains("powercfg /batteryreport /xml"), "{error}");
}

#[test]
fn sleep_diagnostics_have_kind_and_reason() {
    let sleep = DiagnosedSleep { start_unix_ns: START_NS, duration_ns: HOUR, state: "Sleeping3", ..hibernation() };
    let failed = DiagnosedSleep { start_unix_ns: START_NS + 3 * HOUR, is_successful: false, ..sleep.clone() };
    let session = session(&[sleep_diagnostics(&[sleep.clone(), sleep, failed, hibernation()])]);
    let sleeps = sleeps(&session);
    let found: Vec<_> =
        sleeps.iter().map(|s| (s.variant, s.details.asleep.wall_ns, s.details.enter_reason.as_str())).collect();
    assert_eq!(
        found,
        [(Variant::Sleep, Some(HOUR), "System Idle"), (Variant::Hibernate, Some(8 * HOUR), "System Idle")],
        "a sleep that two intervals contain is listed once, a failed one not at all"
    );
    let trace = session.tables(TableSet::from_names(&[TableName::Milestones])).unwrap();
    let losses: Vec<_> = trace.losses.iter().map(|loss| (loss.counter, loss.count)).collect();
    assert_eq!(losses, [("power_session_states_unknown", 1)]);
}

#[test]
fn the_report_with_most_details_wins() {
    let diagnostics = sleep_diagnostics(&[hibernation()]);
    let study = SleepStudy::new(vec![
        StudySession::new(ACTIVE, START_NS + 5 * HOUR, HOUR - 2 * SECOND),
        StudySession::new(HIBERNATE, START_NS + 6 * HOUR - 2 * SECOND, 8 * HOUR).reasons("Lid", "Power Button"),
    ]);
    for (pages, enter_reason) in [
        (vec![battery_page(), diagnostics.clone()], "System Idle"),
        (vec![diagnostics, study.page(), battery_page()], "Lid"),
    ] {
        let sleeps = sleeps(&session(&pages));
        let variants: Vec<Variant> = sleeps.iter().map(|sleep| sleep.variant).collect();
        assert_eq!(variants, [Variant::ModernStandby, Variant::Hibernate]);
        assert_eq!(sleeps[1].details.enter_reason, enter_reason);
    }
}
