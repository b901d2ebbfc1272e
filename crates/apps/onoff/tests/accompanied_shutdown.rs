//! Event logs given with the trace of a shutdown: Windows' own account of it beside onoff's phases. The truth of both is
//! the simulated scenario; the records and their order follow logs of real computers.

use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::account_comparison::{AccountComparison, Agreement, ComparedTime};
use onoff::answers::transitions::shutdown::{ShutdownOptions, ShutdownReport};
use onoff::{Session, Shutdown};
use onoff_simulator::{ComputerLogs, Scenario, Truth};
use onoff_testkit::event_log::{LogRecord, LogValue};
use onoff_trace::{AccountSearch, TableSet};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;
/// 2024-01-09 08:00:00 UTC; logs are then shifted to the start of their trace.
const START_NS: i64 = 1_704_787_200 * SECOND;
const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const GENERAL: &str = "Microsoft-Windows-Kernel-General";
const POWER: &str = "Microsoft-Windows-Kernel-Power";

const HEALTHY: &str = include_str!("../../../support/simulator/scenarios/healthy-shutdown.toml");
const SLOW: &str = include_str!("../../../support/simulator/scenarios/slow-shutdown.toml");
const CUT: &str = include_str!("../../../support/simulator/scenarios/shutdown-cut.toml");

/// Times of a shutdown in the truth, ns.
#[derive(Clone, Copy, Debug)]
struct Times {
    request_ns: i64,
    user: (i64, i64),
    system: (i64, i64),
    kernel: (i64, i64),
}

impl Times {
    /// `kernel_end_ns` replaces an end that the recording does not have.
    fn new(truth: &Truth, kernel_end_ns: Option<i64>) -> Self {
        let transitions = &truth.transitions;
        let session = |place: usize| {
            let mut sessions = transitions.activities.iter().filter(|row| row.kind == "session_shutdown");
            let session = sessions.nth(place).unwrap();
            (session.start_ns, session.end_ns.unwrap())
        };
        let pre_shutdown = transitions.activity("shutdown_step", "pre_shutdown_notification").unwrap();
        let kernel_start_ns = transitions.milestone("shutdown.kernel.begin").unwrap().time_ns;
        let kernel_end = transitions.activity("kernel_shutdown_step", "graceful_shutdown").and_then(|row| row.end_ns);
        Self {
            request_ns: transitions.milestone("shutdown.request").unwrap().time_ns,
            user: session(0),
            system: (pre_shutdown.start_ns, session(1).1),
            kernel: (kernel_start_ns, kernel_end.or(kernel_end_ns).unwrap()),
        }
    }

    fn between_sessions_ns(&self) -> i64 {
        self.system.0 - self.user.1
    }

    fn total_ns(&self) -> i64 {
        self.kernel.1 - self.request_ns
    }
}

/// A trace of a shutdown, and the event logs that the computer has after the next boot.
struct Recorded {
    trace: Vec<(String, Vec<u8>)>,
    /// Start of the trace, ns since 1970-01-01 UTC.
    start_unix_ns: i64,
    logs: ComputerLogs,
    times: Times,
}

fn recorded(scenario: &str, kernel_end_ns: Option<i64>) -> Recorded {
    let scenario = Scenario::from_toml(scenario).unwrap();
    let simulated = scenario.simulate().unwrap();
    let times = Times::new(&simulated.truth, kernel_end_ns);
    let trace: Vec<_> = simulated.files.into_iter().map(|bytes| ("shutdown.etl".to_owned(), bytes)).collect();
    let clock = Session::from_bytes(trace.clone()).unwrap().tables(TableSet::NONE).unwrap().clock.clone();
    let logs = ComputerLogs { records: records(&times) }.of_computer(&scenario.machine.computer);
    let start_unix_ns = clock.start_unix_ns.unwrap();
    let logs = logs.shifted(start_unix_ns - START_NS);
    Recorded { trace, start_unix_ns, logs, times }
}

fn healthy() -> Recorded {
    recorded(HEALTHY, None)
}

fn system(provider: &str, id: u16, time_ns: i64) -> LogRecord {
    LogRecord::new("System", provider, id, START_NS + time_ns)
}

/// The boot before the shutdown, the shutdown, and the next boot, which writes the account. In it, the time before each
/// phase is part of the phase before it, and that before the first phase part of the first.
fn records(times: &Times) -> Vec<LogRecord> {
    let ms = |from_ns: i64, to_ns: i64| u32::try_from((to_ns - from_ns) / MS).unwrap();
    let (request_ns, end_ns) = (times.request_ns, times.kernel.1);
    let next_ns = end_ns + 30 * SECOND;
    let parts = [ms(request_ns, times.system.0), ms(times.system.0, times.kernel.0), ms(times.kernel.0, end_ns)];
    let account =
        LogRecord::new(&format!("{DIAGNOSTICS}/Operational"), DIAGNOSTICS, 200, START_NS + next_ns + 110 * SECOND)
            .with("ShutdownStartTime", LogValue::Time(START_NS + request_ns))
            .with("ShutdownEndTime", LogValue::Time(START_NS + end_ns))
            .with("ShutdownTime", parts.iter().sum::<u32>())
            .with("ShutdownUserSessionTime", parts[0])
            .with("ShutdownUserPolicyTime", 0)
            .with("ShutdownUserProfilesTime", 2)
            .with("ShutdownSystemSessionsTime", parts[1])
            .with("ShutdownPreShutdownNotificationsTime", 0)
            .with("ShutdownServicesTime", parts[1])
            .with("ShutdownKernelTime", parts[2])
            .with("ShutdownIsDegradation", LogValue::Bool(false));
    vec![
        system(GENERAL, 12, -HOUR).with("BootMode", 0).with("BuildVersion", 19_041),
        system("User32", 1074, request_ns - 400 * MS)
            .with("param1", r"C:\Windows\Explorer.EXE (BENCH-04)")
            .with("param2", "BENCH-04")
            .with("param3", "Other (Unplanned)")
            .with("param4", "0x0")
            .with("param5", "Herunterfahren")
            .with("param6", "")
            .with("param7", r"BENCH-04\demo"),
        system("EventLog", 6006, times.system.1 - 10 * MS),
        system("EventLog", 6009, next_ns + 9 * SECOND).with("", "10.00.").with("", "19045"),
        system("EventLog", 6005, next_ns + 9 * SECOND),
        system(POWER, 109, times.kernel.0).with("ShutdownActionType", 6).with("ShutdownReason", 5),
        system(GENERAL, 13, end_ns).with("StopTime", LogValue::Time(START_NS + end_ns)),
        system(GENERAL, 12, next_ns).with("BootMode", 0).with("BuildVersion", 19_041),
        account,
    ]
}

impl Recorded {
    fn session_with(&self, logs: &ComputerLogs) -> Session {
        let logs = logs.files().into_iter().map(|(name, bytes)| (format!("logs/{name}"), bytes));
        Session::from_bytes(self.trace.iter().cloned().chain(logs)).unwrap()
    }

    fn report_with(&self, logs: &ComputerLogs) -> ShutdownReport {
        shutdown(&self.session_with(logs))
    }

    fn report(&self) -> ShutdownReport {
        self.report_with(&self.logs)
    }

    fn text_with(&self, logs: &ComputerLogs) -> String {
        let mut text = Vec::new();
        let answer = self.session_with(logs).shutdown(&ShutdownOptions::default()).unwrap();
        answer.write_text_with(10, &mut text).unwrap();
        String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Adds milliseconds to fields of the account.
    fn change_account(&mut self, changes: &[(&str, i64)]) {
        let account = self.logs.records.iter_mut().find(|record| record.id == 200).unwrap();
        for &(name, more_ms) in changes {
            let value = account.data.iter_mut().find(|(field, _)| field == name).map(|(_, value)| value).unwrap();
            let LogValue::U32(ms) = value else { panic!("{name}: {value:?}") };
            *ms = u32::try_from(i64::from(*ms) + more_ms).unwrap();
        }
    }
}

fn shutdown(session: &Session) -> ShutdownReport {
    match session.shutdown(&ShutdownOptions::default()).unwrap().report {
        Shutdown::Windows(report) => *report,
        Shutdown::Linux(_) => panic!("not a shutdown of Windows"),
    }
}

fn comparison(report: &ShutdownReport) -> &AccountComparison {
    report.details.account_comparison.as_ref().unwrap()
}

fn time<'c>(comparison: &'c AccountComparison, name: &str) -> &'c ComparedTime {
    comparison.times.iter().find(|time| time.name == name).unwrap()
}

fn differing(comparison: &AccountComparison) -> Vec<&'static str> {
    let times = comparison.times.iter().filter(|time| time.agreement == Agreement::Differs);
    times.map(|time| time.name).collect()
}

fn is_near(ns: Option<i64>, expected_ns: i64) -> bool {
    ns.is_some_and(|ns| (ns - expected_ns).abs() <= 2 * MS)
}

#[test]
fn both_accounts_of_a_shutdown_agree() {
    let recorded = healthy();
    let (report, times) = (recorded.report(), recorded.times);
    let comparison = comparison(&report);
    assert_eq!((comparison.logs.search, comparison.logs.computer.as_str()), (AccountSearch::Found, "BENCH-04"));
    assert!(is_near(comparison.logs.start_difference_ns, 0), "{:?}", comparison.logs);
    let expected = [
        ("UserSession", times.user.1 - times.user.0, times.system.0 - times.request_ns),
        ("SystemSession", times.system.1 - times.system.0, times.kernel.0 - times.system.0),
        ("KernelShutdown", times.kernel.1 - times.kernel.0, times.kernel.1 - times.kernel.0),
        ("total", times.total_ns(), times.total_ns()),
    ];
    for (name, trace_ns, windows_ns) in expected {
        let time = time(comparison, name);
        assert!(is_near(time.trace_ns, trace_ns), "{time:?}, truth {trace_ns}");
        assert!(is_near(time.windows_ns, windows_ns), "{time:?}, truth {windows_ns}");
        assert_eq!((time.agreement, time.certainty), (Agreement::Agrees, Certainty::Measured), "{time:?}");
    }
    assert_eq!((comparison.times.len(), comparison.is_disagreement), (4, Some(false)));
    let request = report.details.request.as_ref().unwrap();
    assert!(is_near(Some(request.time_ns), times.request_ns - 400 * MS), "{request:?}");
    let text = recorded.text_with(&recorded.logs);
    assert!(text.contains("agree: each phase and the total within 0.5 s or 5 %."), "{text}");
    assert!(
        text.contains(r"Requested by C:\Windows\Explorer.EXE (BENCH-04) for BENCH-04\demo, 400 ms before"),
        "{text}"
    );
    assert!(text.contains("By the clock, its shutdown starts"), "{text}");
    assert!(text.contains("the shutdown in the trace."), "{text}");
    // The report itself does not change with the logs.
    let alone = shutdown(&Session::from_bytes(recorded.trace.clone()).unwrap());
    assert_eq!((&alone.phases, alone.total_ns), (&report.phases, report.total_ns));
    assert_eq!((alone.details.account_comparison, alone.details.request), (None, None));
    assert!(report.details.windows_account.is_none() && report.details.channels.is_empty());
}

#[test]
fn a_longer_kernel_phase_is_named_and_a_small_difference_is_not() {
    let mut recorded = healthy();
    recorded.change_account(&[("ShutdownKernelTime", 400), ("ShutdownTime", 400)]);
    assert_eq!(differing(comparison(&recorded.report())), [""; 0]);
    recorded.change_account(&[("ShutdownKernelTime", 2_600), ("ShutdownTime", 2_600)]);
    let report = recorded.report();
    assert_eq!(differing(comparison(&report)), ["KernelShutdown", "total"]);
    assert_eq!(comparison(&report).is_disagreement, Some(true));
    let text = recorded.text_with(&recorded.logs);
    assert!(
        text.contains("disagree on KernelShutdown (+3.00 s), total (+3.00 s). Which one is right is unknown."),
        "{text}"
    );
    assert!(text.contains("Record another shutdown and keep its event logs"), "{text}");
}

#[test]
fn time_between_the_phases_is_no_disagreement() {
    let mut recorded = recorded(SLOW, None);
    let between_ms = recorded.times.between_sessions_ns() / MS;
    assert!(between_ms > 1_000, "{:?}", recorded.times);
    // Windows counts it as part of the phase before or after.
    for (user_ms, system_ms, expected) in [(0, 0, "UserSession"), (-between_ms, between_ms, "SystemSession")] {
        recorded.change_account(&[("ShutdownUserSessionTime", user_ms), ("ShutdownSystemSessionsTime", system_ms)]);
        let report = recorded.report();
        let comparison = comparison(&report);
        assert_eq!(time(comparison, expected).agreement, Agreement::ByDefinition, "{:?}", comparison.times);
        assert_eq!(time(comparison, "total").agreement, Agreement::Agrees, "{:?}", comparison.times);
        assert_eq!(comparison.is_disagreement, Some(false), "{:?}", comparison.times);
    }
    // It cannot be part of both.
    recorded.change_account(&[("ShutdownUserSessionTime", between_ms), ("ShutdownTime", between_ms)]);
    assert_eq!(differing(comparison(&recorded.report())), ["total"]);
    // No interval of this length is between the phases.
    recorded.change_account(&[("ShutdownUserSessionTime", 4_000), ("ShutdownTime", 4_000)]);
    assert_eq!(differing(comparison(&recorded.report())), ["UserSession", "total"]);
}

#[test]
fn a_trace_that_ends_first_contradicts_only_a_shorter_time() {
    let mut recorded = recorded(CUT, Some(60 * SECOND));
    let report = recorded.report();
    let cut = comparison(&report);
    assert_eq!(report.total_ns, None);
    for name in ["KernelShutdown", "total"] {
        let time = time(cut, name);
        assert_eq!((time.agreement, time.reason), (Agreement::NotCompared, "the trace ends first"), "{time:?}");
        assert_eq!(time.trace_ns, None);
    }
    let recorded_ms = report.total_at_least_ns / MS;
    let windows_ms = recorded.times.total_ns() / MS;
    assert!(recorded_ms > 3_000, "{recorded_ms} ms are too few to be contradicted");
    recorded.change_account(&[("ShutdownTime", recorded_ms - 2_000 - windows_ms)]);
    assert_eq!(differing(comparison(&recorded.report())), ["total"]);
}

#[test]
fn a_shutdown_of_another_computer_is_not_compared() {
    let recorded = healthy();
    let others = recorded.logs.of_computer("OTHER-PC");
    let report = recorded.report_with(&others);
    let logs = &comparison(&report).logs;
    assert_eq!((logs.search, logs.computer.as_str()), (AccountSearch::OtherComputer, "OTHER-PC"));
    assert_eq!((logs.end.as_ref(), comparison(&report).is_disagreement), (None, None));
    assert_eq!(report.details.request, None);
    let text = recorded.text_with(&others);
    assert!(
        text.contains("of another computer, OTHER-PC. One of its shutdowns is within the time of this trace"),
        "{text}"
    );
}

#[test]
fn another_shutdown_of_the_computer_is_not_compared() {
    let recorded = healthy();
    let before = recorded.logs.shifted(-DAY);
    let report = recorded.report_with(&before);
    assert_eq!(
        (comparison(&report).logs.search, &comparison(&report).times[..]),
        (AccountSearch::NoTransitionNear, &[][..])
    );
    assert_eq!(report.details.request, None);
    let text = recorded.text_with(&before);
    assert!(text.contains("No shutdown in the event logs starts within 5 s of the shutdown in this trace."), "{text}");
    assert!(
        text.contains("The nearest starts 1 d 0 h before it") || text.contains("before it, at 2024-01-08 08:00:00"),
        "{text}"
    );
    // Of two shutdowns in the logs, the account of the right one is taken.
    let mut slower = healthy();
    slower.change_account(&[("ShutdownKernelTime", 9_000), ("ShutdownTime", 9_000)]);
    let both = recorded.report_with(&slower.logs.shifted(-DAY).followed_by(&recorded.logs));
    assert_eq!((comparison(&both).logs.search, comparison(&both).is_disagreement), (AccountSearch::Found, Some(false)));
    // A shutdown within the time of the trace whose account starts elsewhere is another shutdown.
    let slow = self::recorded(SLOW, None);
    let later = slow.report_with(&slow.logs.shifted(6 * SECOND));
    assert_eq!(comparison(&later).logs.search, AccountSearch::NoTransitionNear);
    assert_eq!((comparison(&later).logs.end.as_ref(), later.details.request.as_ref()), (None, None));
}

#[test]
fn a_missing_account_of_a_shutdown_has_its_reason() {
    let recorded = healthy();
    let keep = |logs: &ComputerLogs, is_kept: &dyn Fn(&LogRecord) -> bool| ComputerLogs {
        records: logs.records.iter().filter(|record| is_kept(record)).cloned().collect(),
    };
    let search = |logs: &ComputerLogs| comparison(&recorded.report_with(logs)).logs.search;
    let without = keep(&recorded.logs, &|record| record.provider != DIAGNOSTICS);
    assert_eq!(search(&without), AccountSearch::NoAccountLog);
    // Copied before the next boot: its account is not written yet.
    let last_ns = recorded.times.system.1;
    let copied = keep(&without, &|record| record.time_ns <= recorded.start_unix_ns + last_ns);
    let earlier = recorded.logs.shifted(-DAY);
    let not_covered = earlier.followed_by(&copied);
    assert_eq!(search(&not_covered), AccountSearch::NotCovered);
    let text = recorded.text_with(&not_covered);
    assert!(text.contains("Windows writes the account in the next boot."), "{text}");
    assert!(text.contains("Requested by"), "{text}");
    // The log goes on, so Windows wrote none.
    let covered = earlier.followed_by(&without).followed_by(&recorded.logs.shifted(DAY));
    assert_eq!(search(&covered), AccountSearch::NotWritten);
    assert!(recorded.text_with(&covered).contains("Windows wrote no account of this shutdown (event 200"));
    // Only a boot.
    let boot = keep(&recorded.logs, &|record| record.provider == GENERAL && record.id == 12);
    assert_eq!(search(&boot), AccountSearch::NoTransition);
    assert!(recorded.text_with(&boot).contains("The event logs do not show any shutdown."));
}

#[test]
fn delays_that_windows_reports_come_with_the_shutdown() {
    let recorded = healthy();
    let start_ns = recorded.start_unix_ns + recorded.times.request_ns;
    let account = recorded.logs.records.iter().find(|record| record.id == 200).unwrap();
    let delay = |name: &str, start_ns: i64| {
        LogRecord { id: 203, data: Vec::new(), ..account.clone() }
            .with("StartTime", LogValue::Time(start_ns))
            .with("Name", name)
            .with("TotalTime", 4_978)
            .with("DegradationTime", 978)
    };
    let delays = [delay("SlowSvc", start_ns), delay("DecoySvc", start_ns - DAY)];
    let logs = recorded.logs.followed_by(&ComputerLogs { records: delays.to_vec() });
    let names = |logs: &ComputerLogs| -> Vec<String> {
        recorded.report_with(logs).details.reported_delays.into_iter().map(|delay| delay.name).collect()
    };
    assert_eq!(names(&logs), ["SlowSvc"]);
    assert_eq!(names(&logs.of_computer("OTHER-PC")), [""; 0]);
}
