//! Event logs given with a trace of the same computer: Windows' own account of the boot beside onoff's phases. The
//! truth of both is the simulated scenario.

use onoff::answers::evidence::Certainty;
use onoff::answers::transitions::account_comparison::{AccountComparison, Agreement, ComparedTime};
use onoff::answers::transitions::boot::{BootOptions, BootReport};
use onoff::{Boot, Session};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_simulator::{ComputerLogs, Scenario, Truth};
use onoff_testkit::event_log::{LogRecord, LogValue};
use onoff_trace::AccountSearch;

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;
const DAY: i64 = 24 * 3_600 * SECOND;
const CLOCK_SET_BACK: &str = include_str!("../../../support/simulator/scenarios/clock-set-back.toml");
const DIAGNOSTICS: &str = "Microsoft-Windows-Diagnostics-Performance";
const DIAGNOSTICS_CHANNEL: &str = "Microsoft-Windows-Diagnostics-Performance/Operational";

/// A trace and the event logs of the same boot.
struct Recorded {
    trace: Vec<(String, Vec<u8>)>,
    logs: ComputerLogs,
    truth: Truth,
}

fn recorded(scenario: &str) -> Recorded {
    let scenario = Scenario::from_toml(scenario).unwrap();
    let simulated = scenario.simulate().unwrap();
    let logs = scenario.event_logs(&simulated.truth);
    let trace = simulated.files.into_iter().map(|bytes| ("boot.etl".to_owned(), bytes)).collect();
    Recorded { trace, logs, truth: simulated.truth }
}

/// A healthy boot with additional settings.
fn healthy(settings: &str) -> Recorded {
    recorded(&format!("name = \"A boot\"\nover = \"healthy-boot\"\n{settings}"))
}

impl Recorded {
    fn session_with(&self, logs: &ComputerLogs) -> Session {
        let logs = logs.files().into_iter().map(|(name, bytes)| (format!("logs/{name}"), bytes));
        Session::from_bytes(self.trace.iter().cloned().chain(logs)).unwrap()
    }

    fn report_with(&self, logs: &ComputerLogs) -> BootReport {
        boot(&self.session_with(logs))
    }

    fn text_with(&self, logs: &ComputerLogs) -> String {
        let mut text = Vec::new();
        let answer = self.session_with(logs).boot(&BootOptions::default()).unwrap();
        answer.write_text_with(10, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn text(&self) -> String {
        self.text_with(&self.logs)
    }

    fn report(&self) -> BootReport {
        self.report_with(&self.logs)
    }
}

fn boot(session: &Session) -> BootReport {
    match session.boot(&BootOptions::default()).unwrap().report {
        Boot::Windows(report) => *report,
        _ => panic!("not a boot of Windows"),
    }
}

fn comparison(report: &BootReport) -> &AccountComparison {
    report.details.account_comparison.as_ref().unwrap()
}

fn time<'c>(comparison: &'c AccountComparison, name: &str) -> &'c ComparedTime {
    comparison.times.iter().find(|time| time.name == name).unwrap_or_else(|| panic!("{name}: {:?}", comparison.times))
}

fn differing(comparison: &AccountComparison) -> Vec<&'static str> {
    let times = comparison.times.iter().filter(|time| time.agreement == Agreement::Differs);
    times.map(|time| time.name).collect()
}

/// Adds milliseconds to fields of the account.
fn change_account(logs: &mut ComputerLogs, changes: &[(&str, i64)]) {
    let account = logs.account_mut().unwrap();
    for &(name, more_ms) in changes {
        let value = account.data.iter_mut().find(|(field, _)| field == name).map(|(_, value)| value).unwrap();
        let LogValue::U32(ms) = value else { panic!("{name}: {value:?}") };
        *ms = u32::try_from(i64::from(*ms) + more_ms).unwrap();
    }
}

fn is_near(ns: Option<i64>, expected_ns: i64) -> bool {
    ns.is_some_and(|ns| (ns - expected_ns).abs() <= MS)
}

#[test]
fn both_accounts_agree_with_the_truth_and_each_other() {
    let recorded = healthy("");
    let report = recorded.report();
    let comparison = comparison(&report);
    let logs = &comparison.logs;
    assert_eq!((logs.search, logs.computer.as_str()), (AccountSearch::Found, "BENCH-04"));
    // The kernel starts 40 ms before its first record; the clock of the trace starts with its first event.
    assert!(is_near(logs.start_difference_ns, -40 * MS), "{logs:?}");
    for (name, start_ms) in [("PreSMSS", 40), ("SMSSInit", 0), ("WinLogonInit", 0), ("ExplorerInit", 0)] {
        let truth = recorded.truth.phase(name).unwrap();
        let truth_ns = truth.end_ns - truth.start_ns;
        let time = time(comparison, name);
        assert!(is_near(time.trace_ns, truth_ns), "{time:?}, truth {truth_ns}");
        assert!(is_near(time.windows_ns, truth_ns + start_ms * MS), "{time:?}, truth {truth_ns}");
        assert_eq!((time.agreement, time.certainty), (Agreement::Agrees, Certainty::Measured));
    }
    assert!(is_near(time(comparison, "total").windows_ns, recorded.truth.total_boot_ns().unwrap() + 40 * MS));
    assert!(comparison.times.iter().all(|time| time.agreement == Agreement::Agrees), "{:?}", comparison.times);
    assert_eq!(comparison.is_disagreement, Some(false));
    let text = recorded.text();
    assert!(text.contains("Windows' own account") && text.contains("Windows and the trace agree"), "{text}");
    // The report itself does not change with the logs.
    let alone = boot(&Session::from_bytes(recorded.trace.clone()).unwrap());
    assert_eq!(alone.phases, report.phases);
    assert_eq!((alone.total_ns, alone.details.account_comparison), (report.total_ns, None));
    assert!(report.details.channels.is_empty() && report.details.windows_account.is_none());
}

#[test]
fn a_longer_post_boot_is_named() {
    let mut recorded = healthy("");
    change_account(&mut recorded.logs, &[("BootPostBootTime", 10_000), ("BootTime", 10_000)]);
    let report = recorded.report();
    assert_eq!(differing(comparison(&report)), ["PostBoot", "total"]);
    assert_eq!(comparison(&report).is_disagreement, Some(true));
    let text = recorded.text();
    assert!(text.contains("disagree on PostBoot (+10.0 s), total (+10.0 s). Which one is right is unknown."), "{text}");
}

#[test]
fn a_longer_logon_is_named_and_a_small_difference_is_not() {
    let mut recorded = healthy("");
    let logon = ["OtherLogonInitActivityDuration", "MainPathBootTime", "BootTime"];
    change_account(&mut recorded.logs, &logon.map(|field| (field, 400)));
    assert_eq!(differing(comparison(&recorded.report())), [""; 0]);
    change_account(&mut recorded.logs, &logon.map(|field| (field, 2_600)));
    assert_eq!(differing(comparison(&recorded.report())), ["WinLogonInit", "MainPathBoot"]);
}

#[test]
fn wall_time_is_not_compared_with_busy_time() {
    let mut recorded = healthy("");
    change_account(&mut recorded.logs, &[("BootPostBootTime", 13_651), ("BootTime", 13_651)]);
    let report = recorded.report();
    assert_eq!(time(comparison(&report), "PostBoot").agreement, Agreement::NotCompared);
    assert_eq!(differing(comparison(&report)), [""; 0]);
    assert!(recorded.text().contains("PostBoot, total: Windows' PostBoot is wall time here"), "{}", recorded.text());
}

#[test]
fn a_step_of_the_clock_is_named_and_changes_no_phase() {
    let recorded = recorded(CLOCK_SET_BACK);
    let report = recorded.report();
    let comparison = comparison(&report);
    let [(step_ns, length_ns)] = recorded.truth.clock_steps[..] else { panic!("{:?}", recorded.truth.clock_steps) };
    let [step] = comparison.logs.clock_steps[..] else { panic!("{:?}", comparison.logs) };
    assert_eq!((step.step_ns, length_ns), (-3_600 * SECOND, -3_600 * SECOND));
    assert!(is_near(Some(step.time_ns), step_ns + 40 * MS), "{step:?}, truth {step_ns}");
    assert_eq!(comparison.is_disagreement, Some(false), "{:?}", comparison.times);
    let text = recorded.text();
    assert!(text.contains("The clock was set back by 1 h"), "{text}");
}

#[test]
fn logs_of_another_computer_are_not_compared() {
    let recorded = healthy("");
    let others = recorded.logs.of_computer("OTHER-PC");
    let report = recorded.report_with(&others);
    let logs = &comparison(&report).logs;
    assert_eq!((logs.search, logs.computer.as_str()), (AccountSearch::OtherComputer, "OTHER-PC"));
    assert_eq!((logs.account.as_ref(), comparison(&report).is_disagreement), (None, None));
    assert!(recorded.text_with(&others).contains("of another computer, OTHER-PC"));
    // With its domain, the name equals the name in the trace.
    let with_domain = recorded.logs.of_computer("bench-04.example.org");
    assert_eq!(comparison(&recorded.report_with(&with_domain)).logs.search, AccountSearch::Found);
}

#[test]
fn logs_of_the_boot_before_are_not_compared() {
    let recorded = healthy("");
    let before = recorded.logs.shifted(-DAY);
    let report = recorded.report_with(&before);
    assert_eq!(comparison(&report).logs.search, AccountSearch::NoTransitionNear);
    assert_eq!(comparison(&report).times, []);
    let text = recorded.text_with(&before);
    assert!(text.contains("No boot in the event logs starts within 5 s of this trace. The nearest starts"), "{text}");
    assert!(text.contains("before it, at 2024-01-08 08:00:00 UTC, on BENCH-04."), "{text}");
    // Of two boots in the logs, the account of the right one is taken.
    let mut slower = before.clone();
    change_account(&mut slower, &[("BootPostBootTime", 30_000), ("BootTime", 30_000)]);
    let both = comparison(&recorded.report_with(&slower.followed_by(&recorded.logs))).clone();
    assert_eq!((both.logs.search, both.is_disagreement), (AccountSearch::Found, Some(false)));
}

#[test]
fn a_clock_that_was_set_is_offered_as_an_explanation_but_not_as_a_match() {
    let recorded = recorded(CLOCK_SET_BACK);
    let shifted = recorded.logs.shifted(3_600 * SECOND);
    let report = recorded.report_with(&shifted);
    assert_eq!(comparison(&report).logs.search, AccountSearch::NoTransitionNear);
    let text = recorded.text_with(&shifted);
    assert!(text.contains("so it may be the same one, but its start does not show it"), "{text}");
}

#[test]
fn the_wait_for_a_user_is_no_disagreement() {
    let recorded = healthy("[logon]\ncredentials = \"20s\"\n");
    let report = recorded.report();
    let comparison = comparison(&report);
    assert_eq!(comparison.is_disagreement, Some(false), "{:?}", comparison.times);
    let wait = time(comparison, "wait for a user");
    assert!(is_near(wait.trace_ns, 20 * SECOND) && is_near(wait.windows_ns, 20 * SECOND), "{wait:?}");
    assert_eq!(time(comparison, "WinLogonInit").agreement, Agreement::Agrees);
    // A wait that the trace does not have room for is one.
    let automatic = healthy("");
    assert_eq!(differing(self::comparison(&automatic.report_with(&recorded.logs))), ["wait for a user"]);
}

#[test]
fn a_wait_that_the_trace_does_not_show_is_a_difference_by_definition() {
    let mut recorded = healthy("[logon]\nwork = [\"cpu 60ms\", \"sleep 20s\"]\n");
    let without_wait = ["OtherLogonInitActivityDuration", "MainPathBootTime", "BootTime"].map(|name| (name, -20_000));
    change_account(&mut recorded.logs, &without_wait);
    change_account(&mut recorded.logs, &[("UserLogonWaitDuration", 20_000)]);
    let report = recorded.report();
    let logon = time(comparison(&report), "WinLogonInit");
    assert_eq!(logon.agreement, Agreement::ByDefinition);
    assert!(is_near(logon.difference_ns, -20 * SECOND), "{logon:?}");
    assert_eq!(differing(comparison(&report)), [""; 0]);
    // Without Windows' own wait, the same difference is a disagreement.
    change_account(&mut recorded.logs, &[("UserLogonWaitDuration", -20_000)]);
    assert_eq!(differing(comparison(&recorded.report())), ["WinLogonInit", "MainPathBoot", "total"]);
}

#[test]
fn an_unmeasured_shell_start_is_compared_with_the_logon() {
    let mut recorded = healthy("");
    let explorer_ms = recorded.truth.phase("ExplorerInit").map(|phase| (phase.end_ns - phase.start_ns) / MS).unwrap();
    let account = recorded.logs.account_mut().unwrap();
    account.data.iter_mut().find(|(name, _)| name == "BootExplorerInitTime").unwrap().1 = LogValue::U32(0);
    change_account(&mut recorded.logs, &[("OtherLogonInitActivityDuration", explorer_ms)]);
    let report = recorded.report();
    let comparison = comparison(&report);
    assert_eq!(time(comparison, "WinLogonInit and ExplorerInit").agreement, Agreement::Agrees);
    assert_eq!(time(comparison, "ExplorerInit").agreement, Agreement::NotCompared);
    assert_eq!(comparison.is_disagreement, Some(false));
}

/// Logs without the account of this boot.
fn without_account(logs: &ComputerLogs) -> ComputerLogs {
    let is_account = |record: &&LogRecord| record.provider == DIAGNOSTICS;
    ComputerLogs { records: logs.records.iter().filter(|record| !is_account(record)).cloned().collect() }
}

#[test]
fn a_missing_account_has_its_reason() {
    let recorded = healthy("");
    let without = without_account(&recorded.logs);
    let earlier = recorded.logs.shifted(-DAY);
    let later = recorded.logs.shifted(DAY);
    let search = |logs: &ComputerLogs| comparison(&recorded.report_with(logs)).logs.search;
    assert_eq!(search(&without), AccountSearch::NoAccountLog);
    // The log ends before the boot, or starts after it: it may have had an account.
    assert_eq!(search(&earlier.followed_by(&without)), AccountSearch::NotCovered);
    assert_eq!(search(&without.followed_by(&later)), AccountSearch::NotCovered);
    // The log goes on, so Windows wrote none.
    let covered = earlier.followed_by(&without).followed_by(&later);
    assert_eq!(search(&covered), AccountSearch::NotWritten);
    assert!(recorded.text_with(&covered).contains("Windows wrote no account of this boot (event 100"));
    // A recording that ends before the computer is idle is no reason for Windows to write an account.
    let busy = healthy("[recording]\nat_most = \"8s\"\n");
    assert!(busy.logs.clone().account_mut().is_none());
}

#[test]
fn delays_that_windows_reports_come_with_the_account() {
    let mut recorded = healthy("");
    let account = recorded.logs.account_mut().unwrap().clone();
    let start = account.data.iter().find(|(name, _)| name == "BootStartTime").unwrap().1.clone();
    let LogValue::Time(start_ns) = start else { panic!("{start:?}") };
    let delay = |name: &str, start_ns: i64| {
        LogRecord {
            computer: account.computer.clone(),
            ..LogRecord::new(DIAGNOSTICS_CHANNEL, DIAGNOSTICS, 101, account.time_ns)
        }
        .with("StartTime", LogValue::Time(start_ns))
        .with("Name", name)
        .with("FriendlyName", "Freundlicher Name")
        .with("TotalTime", 9_000)
        .with("DegradationTime", 4_000)
    };
    recorded.logs.records.extend([delay("updater.exe", start_ns), delay("decoy.exe", start_ns + MS)]);
    let report = recorded.report();
    let names: Vec<&str> = report.details.reported_delays.iter().map(|delay| delay.name.as_str()).collect();
    assert_eq!(names, ["updater.exe"]);
    // The trace shows what each program really cost.
    let findings = recorded.session_with(&recorded.logs).diagnose(&DiagnosisOptions::default()).unwrap().findings;
    assert!(findings.iter().all(|finding| finding.code != "boot/reported-slow"), "{findings:?}");
}

#[test]
fn damage_in_the_logs_puts_no_doubt_on_the_trace() {
    let recorded = healthy("");
    let mut files = recorded.logs.files();
    let (_, bytes) = files.iter_mut().find(|(name, _)| name.contains("Diagnostics")).unwrap();
    bytes[4096 + 512 + 24..4096 + 512 + 80].fill(0xee);
    let session = Session::from_bytes(recorded.trace.iter().cloned().chain(files)).unwrap();
    let report = boot(&session);
    assert_eq!(report.losses.count("accompanying_event_logs_damaged"), 1, "{:?}", report.losses);
    assert_eq!(report.affecting_losses, [""; 0]);
    assert_eq!(comparison(&report).logs.account, None);
}

#[test]
fn paths_give_the_same_report_as_bytes() {
    let recorded = healthy("");
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join("Logs");
    std::fs::create_dir(&logs).unwrap();
    for (name, bytes) in recorded.logs.files() {
        std::fs::write(logs.join(name), bytes).unwrap();
    }
    let trace = folder.path().join("boot.etl");
    std::fs::write(&trace, &recorded.trace[0].1).unwrap();
    let options = onoff_files::Options::default();
    let report = recorded.report();
    for paths in [vec![trace.clone(), logs.clone()], vec![logs.clone(), trace.clone()], vec![folder.path().to_owned()]]
    {
        let session = Session::open(&paths, &options).unwrap();
        assert_eq!(comparison(&boot(&session)), comparison(&report));
        let provenance = session.provenance().unwrap();
        assert_eq!(provenance.files.len(), 1 + recorded.logs.files().len());
    }
    // Logs alone stay a recording.
    let alone = Session::open(&[logs], &options).unwrap();
    assert!(boot(&alone).details.windows_account.is_some());
}
