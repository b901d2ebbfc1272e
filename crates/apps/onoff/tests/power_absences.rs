//! Intervals without a user in system sleep diagnostics, and what kept the computer awake in them. The truth is what the
//! test kit writes into the page.

use onoff::answers::transitions::suspend::{SuspendOptions, UserAbsence};
use onoff::trace::{AbsenceOutcome, TableName, TableSet};
use onoff::{Session, Sleeps};
use onoff_findings::RuleFinding;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_testkit::power_tables::{DiagnosedAbsence, diagnostics_page};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 3_600 * SECOND;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;
const PLAYER: &str = "\\Device\\HarddiskVolume3\\Program Files\\Player\\player.exe";
const AUDIO: &str = "High Definition Audio Device";
const RULE: &str = "suspend/kept-awake";

fn session(absences: &[DiagnosedAbsence]) -> Session {
    Session::from_bytes([("diagnostics.html".to_owned(), diagnostics_page(absences).into_bytes())]).unwrap()
}

fn absences(session: &Session) -> Vec<UserAbsence> {
    let Sleeps::Windows(report) = session.sleeps(&SuspendOptions::default()).unwrap().report else {
        panic!("not a report of Windows")
    };
    report.absences
}

fn findings(absences: &[DiagnosedAbsence]) -> Vec<RuleFinding> {
    let diagnosis = session(absences).diagnose(&DiagnosisOptions::default()).unwrap();
    diagnosis.findings.into_iter().filter(|finding| finding.code == RULE).collect()
}

fn text(session: &Session) -> String {
    let mut text = Vec::new();
    session.sleeps(&SuspendOptions::default()).unwrap().write_text_with(5, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// An interval at `hours` after the start.
fn absence(hours: i64, duration_ns: i64) -> DiagnosedAbsence {
    DiagnosedAbsence::new(START_NS + hours * HOUR, duration_ns)
}

#[test]
fn intervals_name_what_kept_the_computer_awake() {
    let pages = [
        absence(0, 4 * HOUR)
            .request(AUDIO, "System", 0, 4 * HOUR)
            .request(PLAYER, "System", 0, HOUR)
            // Overlaps the request before, and ends after the interval.
            .request(PLAYER, "Execution", HOUR / 2, 5 * HOUR)
            .request("display.exe", "Display", 0, 4 * HOUR),
        absence(10, 3 * HOUR).request(PLAYER, "System", 0, 50 * MINUTE).slept_after(HOUR),
    ];
    let session = session(&pages);
    let found = absences(&session);
    let rows: Vec<_> =
        found.iter().map(|one| (one.outcome, one.duration_ns, one.awake_ns, one.start_unix_ns)).collect();
    assert_eq!(
        rows,
        [
            (AbsenceOutcome::StayedOn, 4 * HOUR, Some(4 * HOUR), Some(START_NS)),
            (AbsenceOutcome::Slept, 3 * HOUR, Some(HOUR), Some(START_NS + 10 * HOUR)),
        ]
    );
    let requesters = |index: usize| -> Vec<(&str, i64)> {
        found[index].requesters.iter().map(|requester| (requester.name.as_str(), requester.active_ns)).collect()
    };
    assert_eq!(requesters(0), [(AUDIO, 4 * HOUR), (PLAYER, 4 * HOUR)], "a display that is on keeps nothing awake");
    assert_eq!(requesters(1), [(PLAYER, 50 * MINUTE)]);
    assert!((found[1].requesters[0].active_percent - 250.0 / 3.0).abs() < 1e-9, "of the time before the sleep");
    let text = text(&session);
    for expected in ["No user present", "stayed on", "player.exe 100 %", "High Definition Audio Device 100 %", "83 %"] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    assert!(!text.contains("display.exe"), "{text}");
    let tables = TableSet::from_names(&[TableName::UserAbsences, TableName::AvailabilityRequests]);
    let trace = session.tables(tables).unwrap();
    assert_eq!((trace.user_absences.len(), trace.availability_requests.len()), (2, 5));
}

#[test]
fn a_computer_that_never_slept_has_a_report() {
    let session = session(&[absence(0, 2 * HOUR).request(PLAYER, "System", 0, 2 * HOUR)]);
    let text = text(&session);
    assert!(text.contains("No power transition.") && text.contains("player.exe 100 %"), "{text}");
    let error = session.sleeps(&SuspendOptions { transition: Some(1), ..SuspendOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("this recording has no power transition"), "{error}");
}

#[test]
fn a_request_during_long_intervals_is_one_finding() {
    let found = findings(&[
        absence(0, 4 * HOUR).request(AUDIO, "System", 0, 4 * HOUR).request(PLAYER, "System", 0, 4 * HOUR - SECOND),
        absence(5, HOUR).request(PLAYER, "Execution", 2 * SECOND, HOUR),
        absence(10, 9 * HOUR).request(PLAYER, "System", 0, 58 * MINUTE).slept_after(HOUR),
    ]);
    let titles: Vec<&str> = found.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(
        titles,
        ["player.exe kept the computer from sleeping for 5 h 57 min while no user was present, in 3 intervals"],
        "the program is the cause, not the audio device that it uses"
    );
    assert_eq!(found[0].evidence.len(), 3);
    assert!(found[0].evidence[0].text.starts_with("no user present for 4 h 00 min, the computer stayed on"));
    assert!(found[0].evidence[1].text.contains("100 % of the time awake"), "{:?}", found[0].evidence);
    assert!(found[0].evidence[2].text.contains("the computer slept after 1 h 00 min"), "{:?}", found[0].evidence);
    let device = findings(&[absence(0, HOUR).request(AUDIO, "System", 0, HOUR)]);
    assert_eq!(device.len(), 1, "a device without a program");
    assert_eq!(device[0].subject.name, AUDIO);
}

#[test]
fn short_partial_and_unrelated_requests_are_no_findings() {
    let quiet = [
        // Shorter than the default timeout.
        absence(0, 29 * MINUTE).request(PLAYER, "System", 0, 29 * MINUTE),
        // The computer was awake for an hour more: something else kept it awake.
        absence(5, 2 * HOUR).request(PLAYER, "System", 0, HOUR),
        // Two programs in turn: neither of them alone.
        absence(10, HOUR).request(PLAYER, "System", 0, HOUR / 2).request(AUDIO, "System", HOUR / 2, HOUR / 2),
        // Decoys: a display that is on, a request before the interval, and one while the computer slept.
        absence(15, HOUR).request(PLAYER, "Display", 0, HOUR),
        absence(20, HOUR).request(PLAYER, "System", -2 * HOUR, HOUR),
        absence(25, 9 * HOUR).request(PLAYER, "System", HOUR, 8 * HOUR).slept_after(HOUR),
    ];
    for absence in quiet {
        assert!(findings(std::slice::from_ref(&absence)).is_empty(), "{absence:?}");
    }
}

#[test]
fn an_interval_without_a_known_state_is_no_finding() {
    let unknown = DiagnosedAbsence { state: "Ruhend", ..absence(0, HOUR).request(PLAYER, "System", 0, HOUR) };
    let session = session(std::slice::from_ref(&unknown));
    assert_eq!(absences(&session)[0].awake_ns, None);
    assert!(findings(&[unknown]).is_empty());
    let trace = session.tables(TableSet::from_names(&[TableName::UserAbsences])).unwrap();
    let losses: Vec<_> = trace.losses.iter().map(|loss| (loss.counter, loss.count)).collect();
    assert_eq!(losses, [("user_absence_outcomes_unknown", 1)]);
}
