//! Battery reports and system sleep diagnostics written by the test kit.

use onoff_power_report::{Error, Report, ReportKind, SessionKind, is_power_report, read};
use onoff_testkit::power_tables::{BatteryReport, DiagnosedSleep, UsageRow, sleep_diagnostics};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;

/// Use, a standby during which the charger was connected, a sleep over midnight, use.
fn battery() -> BatteryReport {
    let row = |hours, state, on_ac, mwh| UsageRow::new(START_NS + hours * HOUR, state, on_ac, mwh);
    BatteryReport {
        full_mwh: vec![50_000],
        rows: vec![
            row(0, "Active", false, 45_000),
            row(1, "Connected standby", false, 44_000),
            row(2, "Connected standby", true, 43_000),
            row(5, "Active", true, 48_000),
            row(6, "Suspended", true, 48_000),
            row(14, "Active", false, 46_500),
            row(15, "Report generated", false, 46_000),
        ],
    }
}

fn read_battery(report: &BatteryReport, separator: &str) -> Report {
    read(report.page(&str::to_owned, separator).as_bytes()).unwrap()
}

#[test]
fn states_of_a_battery_report() {
    let page = battery().page(&str::to_owned, ",");
    assert!(is_power_report(page.as_bytes()));
    let report = read(page.as_bytes()).unwrap();
    assert_eq!((report.kind, report.unreadable_sessions), (ReportKind::Battery, 0));
    assert_eq!((report.computer.as_str(), report.os_build.as_str()), ("PC", "22621.1.amd64fre.test"));
    assert_eq!((report.created_unix_ns, report.utc_offset_minutes), (Some(START_NS + 15 * HOUR), Some(60)));
    let sessions: Vec<_> = report
        .sessions
        .iter()
        .map(|s| (s.kind, (s.start_unix_ns - START_NS) / HOUR, s.duration_ns / HOUR, s.on_external_power))
        .collect();
    use SessionKind::{Active, ModernStandby, Suspended};
    assert_eq!(
        sessions,
        [
            (Active, 0, 1, Some(false)),
            (ModernStandby, 1, 4, None),
            (Active, 5, 1, Some(true)),
            (Suspended, 6, 8, None),
            (Active, 14, 1, Some(false))
        ],
        "one standby, although the power source changed"
    );
    let capacity = |index: usize| {
        let session = &report.sessions[index];
        (session.start_capacity_mwh, session.end_capacity_mwh, session.full_capacity_mwh)
    };
    assert_eq!(capacity(1), (Some(44_000), Some(48_000), Some(50_000)));
    assert_eq!(capacity(3), (Some(48_000), Some(46_500), Some(50_000)));
}

#[test]
fn digits_are_grouped_in_many_ways() {
    for separator in [".", "\u{a0}", "\u{202f}", "\u{2019}", ""] {
        let report = read_battery(&battery(), separator);
        assert_eq!(report.sessions[3].end_capacity_mwh, Some(46_500), "{separator:?}");
    }
    let two = BatteryReport { full_mwh: vec![20_000, 30_000], ..battery() };
    assert_eq!(read_battery(&two, ",").sessions[0].full_capacity_mwh, Some(50_000));
}

#[test]
fn missing_values_are_not_known() {
    let mut report = battery();
    report.rows[5].capacity_mwh = None;
    // The clock was set back during use.
    report.rows[6].start_unix_ns -= 2 * HOUR;
    report.full_mwh.clear();
    let report = read_battery(&report, ",");
    let sleep = &report.sessions[3];
    assert_eq!((sleep.end_capacity_mwh, sleep.full_capacity_mwh), (None, None));
    assert_eq!((report.sessions.len(), report.unreadable_sessions), (4, 1));
}

#[test]
fn other_languages_are_not_guessed() {
    let translated = |report: &BatteryReport| read(report.page(&|name| format!("[{name}]"), ".").as_bytes());
    let kinds: Vec<SessionKind> = translated(&battery()).unwrap().sessions.iter().map(|session| session.kind).collect();
    use SessionKind::{Suspended, Unknown};
    assert_eq!(kinds, [Unknown, Unknown, Unknown, Unknown, Suspended, Unknown], "the class of the row is enough");
    let mut without_suspended = battery();
    without_suspended.rows.remove(4);
    assert_eq!(translated(&without_suspended), Err(Error::UnknownLanguage), "standby cannot be told from use");
}

#[test]
fn a_battery_report_without_its_table_is_an_error() {
    let page = battery().page(&str::to_owned, ",");
    let cut = &page[..page.find("Recent usage").unwrap()];
    assert_eq!(read(cut.as_bytes()), Err(Error::NotAPowerReport));
    let no_rows = BatteryReport { rows: Vec::new(), ..battery() };
    assert_eq!(read(no_rows.page(&str::to_owned, ",").as_bytes()), Err(Error::NotAPowerReport));
}

#[test]
fn sleeps_of_sleep_diagnostics() {
    let sleep = |hours, state, reason, is_successful| DiagnosedSleep {
        start_unix_ns: START_NS + hours * HOUR,
        duration_ns: HOUR,
        state,
        reason,
        is_successful,
    };
    let page = sleep_diagnostics(&[
        sleep(0, "Sleeping3", "System Idle", true),
        sleep(2, "Hibernate", "Application API", true),
        sleep(4, "Shutdown", "Application API", true),
        sleep(6, "Sleeping3", "System Idle", false),
        sleep(8, "Ruhezustand", "", true),
    ]);
    assert!(is_power_report(page.as_bytes()));
    let report = read(page.as_bytes()).unwrap();
    assert_eq!((report.kind, report.computer.as_str()), (ReportKind::SleepDiagnostics, ""));
    assert_eq!(report.created_unix_ns, Some(START_NS + 9 * HOUR));
    let sessions: Vec<_> = report.sessions.iter().map(|s| (s.kind, s.target_state, s.enter_reason.as_str())).collect();
    use SessionKind::{Hibernate, Shutdown, Sleep, Unknown};
    assert_eq!(
        sessions,
        [
            (Sleep, Some(4), "System Idle"),
            (Hibernate, Some(5), "Application API"),
            (Shutdown, None, "Application API"),
            (Unknown, None, "System Idle"),
            (Unknown, None, "")
        ],
        "a failed sleep is none, and a state with another name is not known"
    );
    assert!(report.sessions.iter().all(|s| s.duration_ns == HOUR && s.effective_state.is_none()));
    assert_eq!(report.sessions[4].start_unix_ns, START_NS + 8 * HOUR);
    assert!(read(sleep_diagnostics(&[]).as_bytes()).unwrap().sessions.is_empty());
}
