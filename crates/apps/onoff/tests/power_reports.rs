//! Sleeps in the reports of `powercfg`. The truth is what the test kit writes into the pages.

use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::Variant;
use onoff::answers::transitions::suspend::{PowerTransition, SuspendOptions};
use onoff::trace::{LowPowerBlockerKind, PowerSource, TableName, TableSet};
use onoff::{Session, Sleeps};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::power_report::{
    ACTIVE, HIBERNATE, HYBRID_SHUTDOWN, HYBRID_SLEEP, MODERN_STANDBY, SCREEN_OFF, SHUTDOWN, SLEEP, SleepStudy,
    StudySession,
};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;
const RULE: &str = "suspend/low-power-missed";

/// A laptop with modern standby: two hours in use, the screen off, one night in standby, then hibernation.
fn laptop() -> SleepStudy {
    SleepStudy::new(vec![
        StudySession::new(ACTIVE, START_NS, 2 * HOUR).battery(45_000, 40_000, 50_000),
        StudySession::new(SCREEN_OFF, START_NS + 2 * HOUR, MINUTE).battery(40_000, 40_000, 50_000),
        standby(START_NS + 2 * HOUR + MINUTE, 4 * HOUR, HOUR),
        StudySession::new(HIBERNATE, START_NS + 7 * HOUR, 9 * HOUR)
            .reasons("Hibernate from Sleep - Fixed Timeout", "Unknown")
            .battery(38_000, 38_000, 50_000),
        StudySession::new(SHUTDOWN, START_NS + 17 * HOUR, HOUR).battery(38_000, 38_000, 50_000),
    ])
}

/// A standby that used 2,000 mWh; a USB controller was active outside the deepest state.
fn standby(start_unix_ns: i64, duration_ns: i64, deepest_ns: i64) -> StudySession {
    StudySession::new(MODERN_STANDBY, start_unix_ns, duration_ns)
        .reasons("Transition To Sleep", "Input Keyboard")
        .battery(40_000, 38_000, 50_000)
        .low_power(deepest_ns, deepest_ns / 2)
        .blocker("Low Power Phase", 2, 5 * SECOND)
        .blocker("USB Controller (\\_SB.XHC0)", 1, duration_ns - deepest_ns)
}

fn session(page: String) -> Session {
    Session::from_bytes([("study.html".to_owned(), page.into_bytes())]).unwrap()
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

fn findings(page: String) -> Vec<String> {
    let diagnosis = session(page).diagnose(&DiagnosisOptions::default()).unwrap();
    diagnosis.findings.iter().filter(|finding| finding.code == RULE).map(|finding| finding.title.clone()).collect()
}

#[test]
fn sleeps_have_duration_energy_reasons_and_blockers() {
    let sleeps = sleeps(&session(laptop().page()));
    let variants: Vec<Variant> = sleeps.iter().map(|sleep| sleep.variant).collect();
    assert_eq!(variants, [Variant::ModernStandby, Variant::Hibernate], "use and shutdown are no sleeps");
    let details = &sleeps[0].details;
    let standby = details.standby.as_ref().unwrap();
    assert_eq!((standby.total_ns, standby.deepest_ns), (Some(4 * HOUR), Some(HOUR)));
    assert_eq!(standby.hardware_ns, Some(HOUR / 2));
    assert_eq!(details.asleep.start_unix_ns, Some(START_NS + 2 * HOUR + MINUTE));
    assert_eq!(
        (details.enter_reason.as_str(), details.exit_reason.as_str()),
        ("Transition To Sleep", "Input Keyboard")
    );
    let energy = details.energy.as_ref().unwrap();
    assert_eq!((energy.change_mwh, energy.power_source), (-2_000, PowerSource::Battery));
    assert!((energy.change_percent + 4.0).abs() < 1e-9 && (energy.rate_mw.unwrap() + 500.0).abs() < 1e-9);
    let blockers: Vec<_> = details.blockers.iter().map(|b| (b.name.as_str(), b.kind, b.active_ns)).collect();
    assert_eq!(
        blockers,
        [
            ("USB Controller (\\_SB.XHC0)", LowPowerBlockerKind::Device, 3 * HOUR),
            ("Low Power Phase", LowPowerBlockerKind::Phase, 5 * SECOND)
        ]
    );
    let hibernation = &sleeps[1].details;
    assert_eq!((hibernation.asleep.wall_ns, hibernation.asleep.wall_certainty), (Some(9 * HOUR), Certainty::Measured));
    assert_eq!(hibernation.suspend.whole_ns, None, "the report has no suspend time");
    assert!(hibernation.blockers.is_empty() && hibernation.standby.is_none());
}

#[test]
fn each_kind_of_sleep_is_told_apart() {
    let kinds = [SLEEP, HYBRID_SLEEP, HIBERNATE, HYBRID_SHUTDOWN, SLEEP];
    let sessions = (0..).zip(kinds).map(|(number, kind)| {
        StudySession::new(kind, START_NS + number * 3 * HOUR, HOUR).field("EventLog.WakeSourceFriendlyName", "Mouse")
    });
    let study = SleepStudy::new(sessions.collect());
    for page in [study.page(), study.tables_page(&|_| "Zustand".to_owned())] {
        let sleeps = sleeps(&session(page));
        let variants: Vec<Variant> = sleeps.iter().map(|sleep| sleep.variant).collect();
        use Variant::{FastStartup, Hibernate, HybridSleep, Sleep};
        assert_eq!(variants, [Sleep, HybridSleep, Hibernate, FastStartup, Sleep]);
        for sleep in &sleeps {
            assert_eq!(sleep.details.asleep.wall_ns, Some(HOUR), "{:?}", sleep.variant);
            assert_eq!(sleep.details.energy, None);
        }
    }
    assert_eq!(sleeps(&session(study.page()))[0].details.wake_source, "Mouse");
}

#[test]
fn tables_add_the_kernels_times() {
    let sleep = StudySession::new(SLEEP, START_NS, HOUR)
        .reasons("System Idle", "Power Button")
        .field("SleepDuration", "862")
        .field("WakeDuration", "277")
        .field("DriverInitDuration", "152");
    let sleeps = sleeps(&session(SleepStudy::new(vec![sleep]).tables_page(&str::to_owned)));
    let details = &sleeps[0].details;
    assert_eq!(details.suspend.kernel_duration_ns(), Some(862_000_000));
    assert_eq!(details.resume.kernel_ns, Some(277_000_000));
    assert_eq!(details.asleep.wall_ns, Some(HOUR - 277_000_000), "the session ends with the resume");
}

#[test]
fn the_same_session_in_two_reports_is_read_once() {
    let files = ["a.html", "b.html"].map(|name| (name.to_owned(), laptop().page().into_bytes()));
    let session = Session::from_bytes(files).unwrap();
    assert_eq!(sleeps(&session).len(), 2);
    let trace = session.tables(TableSet::from_names(&[TableName::PowerSessions])).unwrap();
    assert_eq!((trace.power_sessions.len(), trace.losses.iter().count()), (5, 0));
}

#[test]
fn text_names_what_matters() {
    let text = text(&session(laptop().page()));
    for expected in [
        "2 power transitions.",
        "Modern standby: 4 h 00 min, 25 % of it in the deepest idle state (12 % by the hardware counter).",
        "Energy: used 2,000 mWh, 4.0 % of the full battery, 500 mW on average, on battery.",
        "Entered because of \"Transition To Sleep\", left because of \"Input Keyboard\".",
        "USB Controller (\\_SB.XHC0)",
        "2026-03-02 00:31:00",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn many_sleeps_stay_readable() {
    let sessions = (0..120).map(|number: i64| {
        let deepest_ns = if number == 77 { 0 } else { HOUR - (number % 7) * SECOND };
        standby(START_NS + number * 2 * HOUR, HOUR, deepest_ns)
    });
    let session = session(SleepStudy::new(sessions.collect()).page());
    assert_eq!(sleeps(&session).len(), 120);
    let text = text(&session);
    assert!(text.contains("Transition 78 of 120"), "{text}");
    assert!(
        text.contains("Only the 40 most expensive are listed.") && text.contains("Details of the 5 most expensive")
    );
    assert_eq!(text.matches("Transition ").filter(|_| true).count() - text.matches("\"Transition ").count(), 5);
    assert!(text.lines().count() < 200, "{}", text.lines().count());
}

#[test]
fn the_xml_form_has_the_same_sleeps() {
    let (page, xml) = (sleeps(&session(laptop().page())), sleeps(&session(laptop().xml())));
    assert_eq!(xml.len(), page.len());
    for (from_xml, from_page) in xml.iter().zip(&page) {
        assert_eq!(from_xml.variant, from_page.variant);
        let (from_xml, from_page) = (&from_xml.details, &from_page.details);
        assert_eq!((&from_xml.standby, &from_xml.asleep), (&from_page.standby, &from_page.asleep));
        assert_eq!(from_xml.blockers, from_page.blockers);
        assert_eq!(from_xml.enter_reason, from_page.enter_reason);
    }
    assert_eq!(xml[0].details.energy, page[0].details.energy);
    assert_eq!(findings(laptop().xml()), findings(laptop().page()));
}

#[test]
fn a_summary_has_the_time_asleep() {
    let rows = session(laptop().page()).summary_rows("laptop").unwrap();
    let asleep: Vec<_> = rows.iter().map(|row| (row.variant.as_str(), row.duration_ns, row.asleep_ns)).collect();
    assert_eq!(asleep, [("modern_standby", None, Some(4 * HOUR)), ("hibernate", None, Some(9 * HOUR))]);
}

#[test]
fn shallow_standby_is_a_finding() {
    let titles = findings(laptop().page());
    assert_eq!(titles.len(), 1, "{titles:?}");
    assert!(titles[0].contains("25 % in the deepest idle state; USB Controller"), "{titles:?}");
}

#[test]
fn standbys_with_the_same_cause_are_one_finding() {
    let other = StudySession { blockers: vec![("WU".to_owned(), 0, HOUR)], ..standby(START_NS, HOUR, 0) };
    let sessions = vec![
        standby(START_NS, HOUR, 0),
        standby(START_NS + 2 * HOUR, 3 * HOUR, HOUR),
        standby(START_NS + 6 * HOUR, HOUR, 0),
        StudySession { start_unix_ns: START_NS + 8 * HOUR, ..other },
    ];
    let diagnosis = session(SleepStudy::new(sessions).page()).diagnose(&DiagnosisOptions::default()).unwrap();
    let found: Vec<_> = diagnosis.findings.iter().filter(|finding| finding.code == RULE).collect();
    let mut subjects: Vec<_> = found.iter().map(|f| (f.subject.name.as_str(), f.folded.len())).collect();
    subjects.sort_unstable();
    assert_eq!(subjects, [("USB Controller (\\_SB.XHC0)", 2), ("WU", 0)]);
    let usb = found.iter().find(|finding| finding.folded.len() == 2).unwrap();
    assert!(usb.title.contains("3 h 00 min spent 33 %"), "{}", usb.title);
    let first = &usb.evidence[0].text;
    assert_eq!(first, "2 more modern standbys of together 2 h 00 min with the same cause");
}

#[test]
fn deep_short_and_unmeasured_standbys_are_no_findings() {
    let unmeasured = StudySession { low_power_ns: None, ..standby(START_NS, 4 * HOUR, HOUR) };
    let deep = standby(START_NS, 4 * HOUR, 2 * HOUR);
    let short = standby(START_NS, 599 * SECOND, 0);
    // Not in standby: the screen of a computer in use is off.
    let decoy = StudySession { kind: SCREEN_OFF, ..standby(START_NS, 4 * HOUR, 0) };
    for quiet in [unmeasured, deep, short] {
        assert_eq!(findings(SleepStudy::new(vec![quiet.clone()]).page()), [""; 0], "{quiet:?}");
    }
    let sessions = vec![decoy, StudySession::new(SLEEP, START_NS + 5 * HOUR, HOUR)];
    assert_eq!(findings(SleepStudy::new(sessions).page()), [""; 0]);
}

#[test]
fn a_report_without_sleeps_says_so() {
    let session = session(SleepStudy::new(vec![StudySession::new(ACTIVE, START_NS, HOUR)]).page());
    let error = session.sleeps(&SuspendOptions::default()).unwrap_err().to_string();
    assert!(error.contains("no sleep"), "{error}");
}
