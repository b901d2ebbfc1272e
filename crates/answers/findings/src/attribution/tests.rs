//! Tests of the attribution of findings.

use onoff_blame::account::{AccountAction, AccountInterval, ActionShare, PhaseAccount, UnknownReason, culprits};
use onoff_evidence::Certainty;

use super::cost::CPU_HOG;
use super::*;
use crate::cost::Interval;
use crate::finding::FindingSubject;

const MS: i64 = 1_000_000;

fn entry(kind: AccountSubjectKind, name: &str, (start_ms, end_ms): Interval) -> AccountEntry {
    AccountEntry {
        kind,
        name: name.to_owned(),
        device: String::new(),
        pid: None,
        read_by: Vec::new(),
        unknown_reason: None,
        ns: (end_ms - start_ms) * MS,
        percent: 0.0,
        certainty: Certainty::Measured,
        requests: None,
        actions: vec![ActionShare { action: AccountAction::WaitedForTimer, ns: (end_ms - start_ms) * MS }],
        intervals: vec![AccountInterval { start_ns: start_ms * MS, end_ns: end_ms * MS }],
        interval_count: 1,
    }
}

fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
    let start_ns = entries.iter().map(|entry| entry.intervals[0].start_ns).min().unwrap();
    let end_ns = entries.iter().map(|entry| entry.intervals[0].end_ns).max().unwrap();
    let account = PhaseAccount {
        start_ns,
        end_ns,
        duration_ns: end_ns - start_ns,
        measure: AccountMeasure::CriticalPath,
        is_truncated: false,
        entries,
        unknown_ns: 0,
    };
    AccountedPhase { transition: "boot", phase: name.to_owned(), account }
}

fn rule_finding(code: &'static str, kind: FindingSubjectKind, name: &str, when: Interval) -> RuleFinding {
    let when = (when.0 * MS, when.1 * MS);
    let mut finding = RuleFinding::new(FindingSubject::new(kind, name), format!("{name} is slow"))
        .cost(Cost::at_most(when.1 - when.0))
        .active_during(when)
        .evidence(when.0, "start");
    finding.code = code;
    finding
}

/// Merges `findings` with the findings of the general rule. Returns code, name, cost in ms and folded codes.
fn merged(
    phases: &[AccountedPhase],
    mut findings: Vec<RuleFinding>,
) -> Vec<(&'static str, String, i64, Vec<&'static str>)> {
    for culprit in culprits(phases) {
        let mut finding = critical_path_time(&culprit);
        finding.code = TIME_ON_PATH;
        findings.push(finding);
    }
    let services_of =
        |pid: u32, _: i64| if pid == 8 { vec!["Other".to_owned(), "Agent".to_owned()] } else { Vec::new() };
    let mut results: Vec<_> = Attribution::new(phases, &services_of)
        .merge(findings)
        .into_iter()
        .map(|finding| {
            let folded = finding.folded.iter().map(|folded| folded.code).collect();
            (finding.code, finding.subject.name, finding.cost_ns.unwrap_or(-MS) / MS, folded)
        })
        .collect();
    results.sort_by_key(|result| std::cmp::Reverse(result.2));
    results
}

use AccountSubjectKind::{Driver, Process, Script, Service};

#[test]
fn merges_findings_of_one_driver_with_cost_from_account() {
    let phases =
        [phase("PreSMSS", vec![entry(Driver, "Ramdisk", (0, 15_000)), entry(Process, "System", (15_000, 17_000))])];
    let rules = ["boot/driver-start-not-pended", "boot/driver-load-slow", "boot/driver-enumeration-not-pended"];
    let times = [(9_000, 12_000), (0, 9_000), (12_000, 15_000)];
    let findings = rules
        .into_iter()
        .zip(times)
        .map(|(code, when)| rule_finding(code, FindingSubjectKind::Driver, "RAMDISK.SYS", when));
    let long = rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "PreSMSS", (0, 17_000));
    let results = merged(&phases, findings.chain([long]).collect());
    let folded = vec!["boot/driver-enumeration-not-pended", "boot/driver-start-not-pended", PHASE_BEYOND_NORMAL];
    assert_eq!(results, [("boot/driver-load-slow", "Ramdisk".to_owned(), 15_000, folded)]);
}

#[test]
fn folds_enclosing_finding_into_innermost() {
    let phases = [phase(
        "WinLogonInit",
        vec![entry(Script, "logon.cmd", (1_000, 4_000)), entry(Service, "Agent", (4_000, 6_000))],
    )];
    let script = rule_finding("boot/policy-script", FindingSubjectKind::Work, "logon", (1_000, 4_000));
    let policy = rule_finding("boot/policy-slow", FindingSubjectKind::Work, "policy for the user", (900, 4_100));
    let service = rule_finding("boot/service-start-slow", FindingSubjectKind::Service, "agent", (3_500, 6_000));
    let mut hog = rule_finding("boot/cpu-hog", FindingSubjectKind::Process, "agentsvc.exe", (4_000, 6_000));
    hog.subject.pid = Some(8);
    let results = merged(&phases, vec![policy, hog, service, script]);
    assert_eq!(results[0].1, "logon.cmd");
    assert_eq!((results[0].2, results[0].3.len()), (3_000, 1), "{results:?}");
    assert_eq!(results[1], ("boot/service-start-slow", "Agent".to_owned(), 2_000, vec!["boot/cpu-hog"]));
    assert_eq!(results.len(), 2);
}

#[test]
fn cpu_hog_without_own_path_time_costs_nothing() {
    let phases = |own_ms: i64| {
        [phase(
            "WinLogonInit",
            vec![entry(Driver, "netslow", (0, 3_200)), entry(Process, "agent.exe", (3_200, 3_200 + own_ms))],
        )]
    };
    let hog = || rule_finding(CPU_HOG, FindingSubjectKind::Process, "agent.exe", (0, 4_000));
    let costs = |own_ms| {
        let results = merged(&phases(own_ms), vec![hog()]);
        results.into_iter().map(|result| (result.1, result.2)).collect::<Vec<_>>()
    };
    assert_eq!(costs(280), [("netslow".to_owned(), 3_200), ("agent.exe".to_owned(), 0)]);
    assert!(costs(2_100).contains(&("agent.exe".to_owned(), 2_100)));
}

#[test]
fn finding_naming_subject_leads_enclosing_one() {
    let phases = [phase("WinLogonInit", vec![entry(Process, "scanner.exe", (1_000, 4_000))])];
    let policy = rule_finding("boot/policy-slow", FindingSubjectKind::Work, "policy for the computer", (900, 4_100));
    let hog = rule_finding(CPU_HOG, FindingSubjectKind::Process, "scanner.exe", (1_000, 4_000));
    let results = merged(&phases, vec![policy, hog]);
    assert_eq!(results, [(CPU_HOG, "scanner.exe".to_owned(), 3_000, vec!["boot/policy-slow"])]);
}

#[test]
fn reports_subject_on_path_but_not_off_path() {
    let phases = [phase(
        "SMSSInit",
        vec![entry(Process, "autochk.exe", (0, 9_000)), entry(Process, "quick.exe", (9_000, 9_400))],
    )];
    let results = merged(&phases, Vec::new());
    assert_eq!(results, [(TIME_ON_PATH, "autochk.exe".to_owned(), 9_000, vec![])]);
    // A process that ran in parallel, off the path, costs nothing.
    let decoy = rule_finding("boot/cpu-hog", FindingSubjectKind::Process, "decoy.exe", (0, 9_400));
    let results = merged(&phases, vec![decoy]);
    let costs: Vec<(&str, i64)> = results.iter().map(|result| (result.1.as_str(), result.2)).collect();
    assert_eq!(costs, [("autochk.exe", 9_000), ("decoy.exe", 0)]);
    // A quick process alone is not reported.
    let quick = vec![entry(Process, "quick.exe", (0, 400)), entry(Process, "System", (400, 9_000))];
    assert_eq!(merged(&[phase("SMSSInit", quick)], Vec::new()), []);
}

#[test]
fn folds_long_phase_into_its_cause() {
    let phases = [phase("SMSSInit", vec![entry(Process, "smss.exe", (0, 1_112_000))])];
    let long = rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "SMSSInit", (0, 1_112_000));
    let results = merged(&phases, vec![long]);
    assert_eq!(results, [(TIME_ON_PATH, "smss.exe".to_owned(), -1, vec![PHASE_BEYOND_NORMAL])]);
}

#[test]
fn unexplained_long_phase_is_about_the_transition() {
    let long = || rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "WinLogonInit", (0, 90_000));
    let unknown = AccountEntry {
        unknown_reason: Some(UnknownReason::NoContextSwitches),
        ..entry(AccountSubjectKind::Unknown, "", (0, 80_000))
    };
    let mut mostly_unknown = phase("WinLogonInit", vec![unknown, entry(Process, "a.exe", (80_000, 90_000))]);
    mostly_unknown.account.unknown_ns = 80_000 * MS;
    let many: Vec<AccountEntry> =
        (0..9).map(|index| entry(Driver, &format!("d{index}"), (index * 10_000, (index + 1) * 10_000))).collect();
    for (phase, expected) in [
        (mostly_unknown, "80.0 s of it is unattributed: context switches were not recorded"),
        (phase("WinLogonInit", many), "many subjects contributed, d0 the most (10.0 s)"),
    ] {
        let services_of = |_: u32, _: i64| Vec::new();
        let phases = [phase];
        let results = Attribution::new(&phases, &services_of).merge(vec![long()]);
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].subject, FindingSubject::new(FindingSubjectKind::Transition, ""));
        assert_eq!(results[0].phase.as_deref(), Some("WinLogonInit"));
        assert!(results[0].title.ends_with(expected), "{}", results[0].title);
    }
}

#[test]
fn account_decides_subject_of_video_driver_gap() {
    let gap = || {
        let mut gap = rule_finding(VIDEO_DRIVER, FindingSubjectKind::Work, "video driver (system session)", (0, 4_000));
        gap.title = "the video driver took 4.00 s".to_owned();
        gap
    };
    let inferred = [phase("SMSSInit", vec![entry(Driver, VIDEO_DRIVERS[0], (0, 4_000))])];
    assert_eq!(merged(&inferred, vec![gap()])[0].1, "video driver (system session)");
    let other = [phase(
        "SMSSInit",
        vec![entry(Process, "smss.exe", (0, 3_500)), entry(Driver, VIDEO_DRIVERS[0], (3_500, 4_000))],
    )];
    assert_eq!(merged(&other, vec![gap()])[0], (VIDEO_DRIVER, "smss.exe".to_owned(), 3_500, vec![]));
}

#[test]
fn finding_costs_time_of_subject_in_all_phases() {
    let phases = |logon_ms: i64, shell_ms: i64| {
        [
            phase(
                "WinLogonInit",
                vec![entry(Service, "Agent", (0, logon_ms)), entry(Process, "System", (logon_ms, 3_000))],
            ),
            phase(
                "ExplorerInit",
                vec![
                    entry(Service, "Agent", (3_000, 3_000 + shell_ms)),
                    entry(Process, "System", (3_000 + shell_ms, 6_400)),
                ],
            ),
        ]
    };
    // Two rules about the same service, each in another phase, are one finding.
    let start = || rule_finding("boot/service-start-slow", FindingSubjectKind::Service, "agent", (0, 900));
    let group = || rule_finding("boot/service-in-group-slow", FindingSubjectKind::Service, "agent", (3_000, 3_700));
    let results = merged(&phases(900, 700), vec![start(), group()]);
    assert_eq!(results, [("boot/service-start-slow", "Agent".to_owned(), 1_600, vec!["boot/service-in-group-slow"])]);
    assert_eq!(merged(&phases(900, 700), Vec::new()), [(TIME_ON_PATH, "Agent".to_owned(), 1_600, vec![])]);
    // Less than 5 % of the boot in all.
    assert_eq!(merged(&phases(160, 150), Vec::new()), []);
}

#[test]
fn only_a_chain_has_members() {
    let members = |names: [&str; 3], last_ms: i64| {
        let ends = [0, 700, 1_400, 1_400 + last_ms];
        let kinds = [Process; 3];
        let entries = (0..3).map(|index| entry(kinds[index], names[index], (ends[index], ends[index + 1])));
        let phases = [phase("WinLogonInit", entries.collect())];
        let services_of = |_: u32, _: i64| Vec::new();
        let findings = culprits(&phases).into_iter().map(|culprit| {
            let mut finding = critical_path_time(&culprit);
            finding.code = TIME_ON_PATH;
            finding
        });
        let merged = Attribution::new(&phases, &services_of).merge(findings.collect());
        merged.into_iter().map(|finding| (finding.subject.name, finding.members)).collect::<Vec<_>>()
    };
    let names = ["first.exe", "second.exe", "third.exe"];
    assert_eq!(
        members(names, 700),
        [("first.exe → second.exe → third.exe".to_owned(), names.map(str::to_owned).to_vec())]
    );
    // One program took most of the time.
    assert!(members(names, 9_000).contains(&("third.exe".to_owned(), vec![])), "{:?}", members(names, 9_000));
    // The name of one program looks like a chain.
    let odd = ["first.exe", "second.exe", "one → two, three.exe"];
    assert!(members(odd, 9_000).contains(&(odd[2].to_owned(), vec![])), "{:?}", members(odd, 9_000));
}
