//! Pages written by the test kit.

use onoff_power_report::{BlockerKind, Error, SessionKind, is_power_report, read};
use onoff_testkit::power_report::{
    ACTIVE, HIBERNATE, HYBRID_SHUTDOWN, HYBRID_SLEEP, MODERN_STANDBY, SHUTDOWN, SLEEP, SleepStudy, StudySession,
};

const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;
/// 2026-03-01 22:30:00 UTC.
const START_NS: i64 = 1_772_404_200 * SECOND;

fn study() -> SleepStudy {
    SleepStudy::new(vec![
        StudySession::new(ACTIVE, START_NS, HOUR),
        StudySession::new(MODERN_STANDBY, START_NS + HOUR, 3 * HOUR)
            .reasons("Transition To Sleep", "Lid")
            .battery(40_000, 38_500, 50_000)
            .low_power(2 * HOUR, HOUR)
            .field("MSExitPerformance.TotalInMs", "556")
            .blocker("Some \"USB\" Controller (\\_SB.XHC0)", 1, HOUR)
            .blocker("Low Power Phase", 2, 5 * SECOND),
        StudySession::new(HYBRID_SHUTDOWN, START_NS + 4 * HOUR, 8 * HOUR),
        StudySession::new(SLEEP, START_NS + 12 * HOUR, HOUR)
            .field("EventLog.WakeSourceFriendlyName", "")
            .field("EventLog.WakeSourceClassName", "Net"),
        StudySession::new(SHUTDOWN, START_NS + 13 * HOUR, HOUR),
    ])
}

#[test]
fn the_data_of_a_page_is_read() {
    let page = study().page();
    assert!(page.find("LocalSprData").unwrap() > 64 << 10, "the page is recognized before its data");
    assert!(is_power_report(&page.as_bytes()[..64 << 10]));
    let report = read(page.as_bytes()).unwrap();
    assert_eq!((report.computer.as_str(), report.model.as_str()), ("PC", "Maker Model"));
    assert_eq!((report.os_version.as_str(), report.modern_standby), ("26100.1000", Some(true)));
    assert_eq!((report.utc_offset_minutes, report.is_local_time), (Some(60), false));
    assert_eq!(report.created_unix_ns, Some(START_NS + 14 * HOUR));
    let kinds: Vec<SessionKind> = report.sessions.iter().map(|session| session.kind).collect();
    use SessionKind::{Active, HybridShutdown, ModernStandby, Shutdown, Sleep};
    assert_eq!(kinds, [Active, ModernStandby, HybridShutdown, Sleep, Shutdown], "without the report's own row");
    let standby = &report.sessions[1];
    assert_eq!((standby.start_unix_ns, standby.duration_ns), (START_NS + HOUR, 3 * HOUR));
    assert_eq!((standby.deepest_ns, standby.hardware_ns), (Some(2 * HOUR), Some(HOUR)));
    assert_eq!((standby.enter_reason.as_str(), standby.exit_reason.as_str()), ("Transition To Sleep", "Lid"));
    assert_eq!((standby.start_capacity_mwh, standby.end_capacity_mwh), (Some(40_000), Some(38_500)));
    assert_eq!((standby.full_capacity_mwh, standby.on_external_power), (Some(50_000), Some(false)));
    assert_eq!(standby.exit_latency_ns, Some(556_000_000));
    let blockers: Vec<_> = standby.blockers.iter().map(|b| (b.name.as_str(), b.kind, b.active_ns)).collect();
    assert_eq!(
        blockers,
        [
            ("Some \"USB\" Controller (\\_SB.XHC0)", BlockerKind::Device, HOUR),
            ("Low Power Phase", BlockerKind::Phase, 5 * SECOND)
        ]
    );
    let (active, sleep) = (&report.sessions[0], &report.sessions[3]);
    assert_eq!((active.enter_reason.as_str(), active.start_capacity_mwh, active.deepest_ns), ("", None, None));
    assert_eq!((sleep.wake_source.as_str(), sleep.target_state), ("Net", Some(4)));
}

#[test]
fn tables_are_read_in_any_language() {
    let mut study = SleepStudy::new(vec![
        StudySession::new(HYBRID_SLEEP, START_NS, HOUR)
            .reasons("R&amp;D", "Power Button")
            .field("SleepDuration", "862")
            .field("WakeDuration", "277")
            .field("BiosInitDuration", "2880")
            .field("WakeSourceText", "USB &lt;1&gt;"),
        StudySession::new(ACTIVE, START_NS + HOUR, 30 * HOUR),
        StudySession::new(HIBERNATE, START_NS + 31 * HOUR, 40 * HOUR),
        StudySession::new(SLEEP, START_NS + 71 * HOUR, HOUR),
    ]);
    for offset in [60, -390, 0] {
        study.utc_offset_minutes = offset;
        let page = study.tables_page(&|label| format!("[{label}]"));
        assert!(is_power_report(page.as_bytes()));
        let report = read(page.as_bytes()).unwrap();
        use SessionKind::{Hibernate, HybridSleep, Sleep, Unknown};
        let kinds: Vec<SessionKind> = report.sessions.iter().map(|session| session.kind).collect();
        assert_eq!(kinds, [HybridSleep, Unknown, Hibernate, Sleep], "states come from the events");
        let starts: Vec<i64> = report.sessions.iter().map(|session| session.start_unix_ns - START_NS).collect();
        assert_eq!(starts, [0, HOUR, 31 * HOUR, 71 * HOUR], "offset {offset}");
        assert_eq!((report.utc_offset_minutes, report.created_unix_ns), (Some(offset), Some(START_NS + 72 * HOUR)));
        assert_eq!((report.computer.as_str(), report.os_build.as_str()), ("PC", "26100.1.amd64fre.test"));
        let sleep = &report.sessions[0];
        assert_eq!((sleep.enter_reason.as_str(), sleep.wake_source.as_str()), ("R&D", "USB <1>"));
        assert_eq!((sleep.kernel_times.suspend_ms, sleep.kernel_times.resume_ms), (Some(862), Some(277)));
        assert_eq!(sleep.kernel_times.firmware_ms, Some(2880));
    }
    let report = read(study.tables_page(&str::to_owned).as_bytes()).unwrap();
    assert_eq!(report.sessions[1].kind, SessionKind::Active, "English labels are known");
}

#[test]
fn damage_is_reported() {
    let page = study().page();
    let cut = &page.as_bytes()[..page.len() - 400];
    assert_eq!(read(cut), Err(Error::Damaged { offset: cut.len() }));
    let broken = page.replace("\"EntryTimestamp\":\"2026-03-01T22:30:00Z\"", "\"EntryTimestamp\":null");
    let report = read(broken.as_bytes()).unwrap();
    assert_eq!((report.sessions.len(), report.unreadable_sessions), (4, 1));
    let unknown = page.replacen("{\"Type\":0,", "{\"Type\":99,", 1);
    assert_eq!(read(unknown.as_bytes()).unwrap().sessions[0].kind, SessionKind::Unknown);
}

#[test]
fn other_pages_are_not_reports() {
    for text in ["", "<html><body>The variable LocalSprData holds the data</body></html>", "LocalSprData = {}", "{}"] {
        assert!(!is_power_report(text.as_bytes()), "{text}");
    }
    assert_eq!(read(b"<html></html>"), Err(Error::NotAPowerReport));
}
