//! XML forms of the reports, and intervals without a user, written by the test kit.

use onoff_power_report::{
    AbsenceOutcome, BlockerKind, Error, ReportKind, RequestKind, SessionKind, is_power_report, read,
};
use onoff_testkit::power_report::{ACTIVE, HIBERNATE, HYBRID_SLEEP, MODERN_STANDBY, SLEEP, SleepStudy, StudySession};
use onoff_testkit::power_tables::{BatteryReport, DiagnosedAbsence, UsageRow, diagnostics_page};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;

fn battery() -> BatteryReport {
    let row = |hours, state, on_ac, mwh| UsageRow::new(START_NS + hours * HOUR, state, on_ac, mwh);
    BatteryReport {
        full_mwh: vec![20_000, 30_000],
        rows: vec![
            row(0, "Active", false, 45_000),
            row(1, "Connected standby", false, 44_000),
            row(2, "Connected standby", true, 43_000),
            row(5, "Suspended", true, 48_000),
            row(14, "Active", false, 0),
            row(15, "Report generated", false, 46_000),
        ],
    }
}

#[test]
fn a_battery_report_is_the_same_in_both_forms() {
    let xml = battery().xml();
    assert!(is_power_report(xml.as_bytes()));
    let report = read(xml.as_bytes()).unwrap();
    let page = read(battery().page(&str::to_owned, ",").as_bytes()).unwrap();
    assert_eq!((report.kind, report.unreadable_sessions), (ReportKind::Battery, 0));
    assert_eq!((report.created_unix_ns, report.utc_offset_minutes), (Some(START_NS + 15 * HOUR), Some(60)));
    assert_eq!((&report.computer, &report.model, &report.firmware), (&page.computer, &page.model, &page.firmware));
    assert_eq!((report.os_build, report.modern_standby), (page.os_build, Some(true)));
    assert_eq!(report.sessions.len(), 4);
    for (from_xml, from_page) in report.sessions.iter().zip(&page.sessions) {
        let figures = |session: &onoff_power_report::Session| {
            let capacities = (session.start_capacity_mwh, session.end_capacity_mwh, session.full_capacity_mwh);
            (session.kind, session.start_unix_ns, session.duration_ns, capacities)
        };
        assert_eq!(figures(from_xml), figures(from_page));
    }
    let source = |index: usize| (report.sessions[index].on_external_power, page.sessions[index].on_external_power);
    assert_eq!(source(1), (None, None), "the charger was connected during the standby");
    assert_eq!(source(2), (Some(true), None), "only the XML form has the source of a suspended computer");
    assert_eq!(report.sessions[3].start_capacity_mwh, None, "0 was not read");
}

#[test]
fn states_that_are_not_known_are_not_guessed() {
    let mut report = battery();
    report.rows[1].state = "Somnolent";
    let kinds: Vec<SessionKind> =
        read(report.xml().as_bytes()).unwrap().sessions.iter().map(|session| session.kind).collect();
    use SessionKind::{Active, ModernStandby, Suspended, Unknown};
    assert_eq!(kinds, [Active, Unknown, ModernStandby, Suspended, Active]);
}

#[test]
fn a_cut_file_is_an_error_or_a_loss() {
    let xml = battery().xml();
    for length in [xml.len() / 2, xml.len() - 20] {
        assert!(matches!(read(&xml.as_bytes()[..length]), Err(Error::Damaged { .. })), "{length}");
    }
    let mut report = battery();
    report.rows.pop();
    let report = read(report.xml().as_bytes()).unwrap();
    assert_eq!((report.sessions.len(), report.unreadable_sessions), (3, 1), "the last state has no end");
}

#[test]
fn a_sleep_study_has_states_and_what_was_active() {
    let standby = StudySession::new(MODERN_STANDBY, START_NS + HOUR, 4 * HOUR)
        .reasons("Transition To Sleep", "Input &amp; Keyboard")
        .battery(40_000, 38_000, 50_000)
        .low_power(HOUR, HOUR / 2)
        .blocker("USB &lt;1&gt;", 1, 3 * HOUR)
        .blocker("WU", 0, HOUR)
        .blocker("Low Power", 2, 5 * SECOND);
    let xml = SleepStudy::new(vec![
        StudySession::new(ACTIVE, START_NS, HOUR),
        standby,
        StudySession::new(HIBERNATE, START_NS + 5 * HOUR, HOUR).reasons("Hibernate from Sleep", "Power Button"),
        StudySession::new(HYBRID_SLEEP, START_NS + 6 * HOUR, HOUR),
    ])
    .xml();
    assert!(is_power_report(xml.as_bytes()));
    let report = read(xml.as_bytes()).unwrap();
    assert_eq!((report.kind, report.modern_standby), (ReportKind::SleepStudy, Some(true)));
    let sessions: Vec<_> = report
        .sessions
        .iter()
        .map(|session| (session.kind, (session.start_unix_ns - START_NS) / HOUR, session.duration_ns / HOUR))
        .collect();
    use SessionKind::{Active, Hibernate, HybridSleep, ModernStandby};
    assert_eq!(sessions, [(Active, 0, 1), (ModernStandby, 1, 4), (Hibernate, 5, 1), (HybridSleep, 6, 1)]);
    let standby = &report.sessions[1];
    assert_eq!(
        (standby.enter_reason.as_str(), standby.exit_reason.as_str()),
        ("Transition To Sleep", "Input & Keyboard")
    );
    assert_eq!((standby.deepest_ns, standby.hardware_ns), (Some(HOUR), Some(HOUR / 2)));
    assert_eq!((standby.start_capacity_mwh, standby.end_capacity_mwh), (Some(40_000), Some(38_000)));
    assert_eq!((standby.full_capacity_mwh, standby.on_external_power), (Some(50_000), Some(false)));
    let blockers: Vec<_> = standby.blockers.iter().map(|b| (b.name.as_str(), b.kind, b.active_ns)).collect();
    use BlockerKind::{Activator, Device, Phase};
    assert_eq!(blockers, [("USB <1>", Device, 3 * HOUR), ("WU", Activator, HOUR), ("Low Power", Phase, 5 * SECOND)]);
}

#[test]
fn times_that_disagree_are_not_taken() {
    let study =
        SleepStudy::new(vec![StudySession::new(MODERN_STANDBY, START_NS, HOUR).low_power(HOUR / 2, -100).blocker(
            "USB",
            1,
            HOUR / 2,
        )]);
    let xml = study.xml();
    let ticks = |ns: i64| format!("\"{}\"", ns / 100);
    // If the unit were microseconds, durations and times would not agree with times of the clock and shares.
    let changed = xml.replace(&ticks(HOUR), "\"3600000000\"").replace(&ticks(HOUR / 2), "\"1800000000\"");
    let report = read(changed.as_bytes()).unwrap();
    let standby = &report.sessions[0];
    assert_eq!(standby.duration_ns, HOUR, "from the times of the clock");
    let longer = xml.replace(&ticks(HOUR / 2), &ticks(2 * HOUR));
    let report = read(longer.as_bytes()).unwrap();
    let standby = &report.sessions[0];
    assert_eq!((standby.deepest_ns, standby.hardware_ns), (None, None), "longer than the session, and not measured");
    assert_eq!(standby.blockers[0].active_ns, HOUR / 2, "from its share of 50 %");
}

#[test]
fn a_sleep_of_a_computer_without_modern_standby_is_not_guessed() {
    let states = |study: &SleepStudy| -> Vec<SessionKind> {
        read(study.xml().as_bytes()).unwrap().sessions.iter().map(|session| session.kind).collect()
    };
    let sleep = StudySession { states: None, ..StudySession::new(SLEEP, START_NS, HOUR) };
    let mut study = SleepStudy::new(vec![sleep]);
    study.modern_standby = false;
    assert_eq!(states(&study), [SessionKind::Unknown]);
    study.sessions[0].states = Some((4, 4));
    assert_eq!(states(&study), [SessionKind::Sleep]);
}

#[test]
fn intervals_without_a_user_have_requests() {
    let absences = [
        DiagnosedAbsence::new(START_NS, HOUR)
            .request("\\Device\\Disk1\\R&amp;D\\player.exe", "System", 0, HOUR)
            .request("High Definition Audio Device", "Display", SECOND, 60 * SECOND),
        DiagnosedAbsence::new(START_NS + 2 * HOUR, HOUR).slept_after(HOUR / 2),
        DiagnosedAbsence { state: "Ruhend", ..DiagnosedAbsence::new(START_NS + 4 * HOUR, HOUR) },
    ];
    let report = read(diagnostics_page(&absences).as_bytes()).unwrap();
    assert_eq!((report.kind, report.unreadable_absences), (ReportKind::SleepDiagnostics, 0));
    assert_eq!(report.created_unix_ns, Some(START_NS + 5 * HOUR));
    let read: Vec<_> = report
        .absences
        .iter()
        .map(|absence| ((absence.start_unix_ns - START_NS) / HOUR, absence.duration_ns / HOUR, absence.outcome))
        .collect();
    use AbsenceOutcome::{Slept, StayedOn, Unknown};
    assert_eq!(read, [(0, 1, StayedOn), (2, 1, Slept), (4, 1, Unknown)], "once, although sections repeat them");
    let requests: Vec<_> = report
        .requests
        .iter()
        .map(|r| (r.requester.as_str(), r.kind, r.start_unix_ns - START_NS, r.duration_ns))
        .collect();
    assert_eq!(
        requests,
        [
            ("\\Device\\Disk1\\R&D\\player.exe", RequestKind::System, 0, HOUR),
            ("High Definition Audio Device", RequestKind::Display, SECOND, 60 * SECOND)
        ]
    );
    assert_eq!(report.sessions.len(), 1);
}
