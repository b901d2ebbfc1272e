//! Verdicts on synthetic runs.

use super::*;
use onoff_blame::account::AccountSubjectKind;
use onoff_evidence::Certainty;

const MS: i64 = 1_000_000;

fn measure(key: &str, category: Category, value: i64) -> Measure {
    Measure {
        key: key.to_owned(),
        category,
        unit: MeasureUnit::Ns,
        value,
        phase: None,
        since_phase_ns: None,
        doubtful: false,
        subject: None,
    }
}

fn run(measures: Vec<Measure>) -> Run {
    Run {
        name: "a.etl".to_owned(),
        transition: RunSubject::Boot,
        kind: "cold".to_owned(),
        exclusions: Vec::new(),
        machine: None,
        recording: None,
        user_input_ns: 0,
        settings: String::new(),
        outcome: String::new(),
        measures,
    }
}

fn totals(name: &str, values: &[i64]) -> Configuration {
    Configuration {
        name: name.to_owned(),
        factors: Vec::new(),
        runs: values.iter().map(|&value| run(vec![measure("boot.total", Category::Total, value * MS)])).collect(),
    }
}

fn verdict(baseline: &[i64], candidate: &[i64]) -> Verdict {
    let configurations = [totals("before", baseline), totals("after", candidate)];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    comparison.measure("boot.total").unwrap().changes[0].verdict
}

#[test]
fn difference_must_exceed_noise_and_be_separated() {
    // The baseline runs are up to 300 ms apart.
    assert_eq!(verdict(&[10_000, 10_100, 10_300], &[10_500, 10_600, 10_700]), Verdict::Slower);
    assert_eq!(verdict(&[10_000, 10_100, 10_300], &[10_310, 10_350, 10_390]), Verdict::Same);
    assert_eq!(verdict(&[10_000, 10_100, 10_300], &[9_000, 9_100, 9_200]), Verdict::Faster);
    // Beyond the noise floor, but one candidate run is among the baseline runs.
    assert_eq!(verdict(&[10_000, 10_100, 10_300], &[10_200, 10_600, 10_700]), Verdict::Same);
    // A difference of exactly the noise floor is noise.
    assert_eq!(verdict(&[10_000, 10_100, 10_300], &[10_400, 10_400, 10_400]), Verdict::Same);
    // With a constant baseline, any difference is reported.
    assert_eq!(verdict(&[10_000; 3], &[10_001; 3]), Verdict::Slower);
}

#[test]
fn two_runs_per_side_are_too_few() {
    assert_eq!(verdict(&[10_000, 10_001, 10_002], &[20_000, 20_001]), Verdict::Unknown);
    assert_eq!(verdict(&[10_000], &[20_000, 20_000, 20_000]), Verdict::Unknown);
    let configurations = [totals("before", &[10_000]), totals("after", &[12_500])];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let total = comparison.measure("boot.total").unwrap();
    assert_eq!(total.noise_floor, None);
    let change = &total.changes[0];
    assert_eq!((change.difference, change.percent), (Some(2_500 * MS), Some(25.0)));
    assert_eq!(change.interval, None);
    assert_eq!(change.min_p_value, Some(1.0));
}

#[test]
fn ten_runs_show_small_difference_despite_outlier() {
    let baseline = [10_000, 10_010, 10_020, 10_030, 10_040, 10_050, 10_060, 10_070, 10_080, 14_000];
    let candidate: Vec<i64> = baseline.iter().map(|value| value + 120).collect();
    assert_eq!(verdict(&baseline, &candidate), Verdict::Slower);
    let candidate: Vec<i64> = baseline.iter().map(|value| value + 20).collect();
    assert_eq!(verdict(&baseline, &candidate), Verdict::Same);
}

#[test]
fn reports_new_gone_and_intermittent_items() {
    let configuration = |name: &str, presence: &[bool]| Configuration {
        name: name.to_owned(),
        factors: Vec::new(),
        runs: presence
            .iter()
            .map(|&is_present| {
                let mut measures = vec![measure("boot.total", Category::Total, 9)];
                if is_present {
                    measures.push(measure("boot.service.Chat", Category::Service, 5 * MS));
                    measures.push(measure("boot.cpu.chat.exe", Category::Cpu, 7 * MS));
                }
                run(measures)
            })
            .collect(),
    };
    let verdicts = |baseline: &[bool], candidate: &[bool]| {
        let configurations = [configuration("before", baseline), configuration("after", candidate)];
        let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
        ["boot.service.Chat", "boot.cpu.chat.exe"].map(|key| {
            let change = &comparison.measure(key).unwrap().changes[0];
            (change.verdict, change.difference)
        })
    };
    // A missing service is absent; missing CPU time is zero.
    assert_eq!(verdicts(&[false; 3], &[true; 3]), [(Verdict::New, None), (Verdict::Slower, Some(7 * MS))]);
    assert_eq!(verdicts(&[true; 3], &[false; 3])[0], (Verdict::Gone, None));
    assert_eq!(verdicts(&[false], &[true])[0], (Verdict::New, None));
    assert_eq!(verdicts(&[false; 4], &[true, false, false, false])[0], (Verdict::Same, None));
}

#[test]
fn excludes_runs_unless_included() {
    let mut baseline = totals("before", &[10_000, 10_010, 10_020, 30_000]);
    baseline.runs[3].exclusions.push(Exclusion {
        reason: ExclusionReason::Untrained,
        text: "ReadyBoot was untrained (0 of 3 boots)".to_owned(),
    });
    let candidate = totals("after", &[10_000, 10_010, 10_020]);
    let configurations = [baseline, candidate];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let total = comparison.measure("boot.total").unwrap();
    assert_eq!(total.values[0].max, Some(10_020 * MS));
    assert_eq!(comparison.configurations[0].compared_runs, 3);
    assert!(!comparison.configurations[0].runs[3].compared);

    let options = CompareOptions { include: vec![ExclusionReason::Untrained], ..CompareOptions::default() };
    let comparison = compare(&configurations, &options).unwrap();
    let total = comparison.measure("boot.total").unwrap();
    assert_eq!(total.values[0].max, Some(30_000 * MS));
}

#[test]
fn excludes_other_kinds_and_needs_one_run() {
    let mut candidate = totals("after", &[9_000, 9_000]);
    candidate.runs[1].kind = "fast_startup".to_owned();
    let mut configurations = [totals("before", &[10_000]), candidate];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let exclusion = &comparison.configurations[1].runs[1].exclusions[0];
    assert_eq!(exclusion.reason, ExclusionReason::OtherKind);
    assert_eq!(comparison.measure("boot.total").unwrap().values[1].runs, 1);

    configurations[1].runs.remove(0);
    let error = compare(&configurations, &CompareOptions::default()).unwrap_err();
    assert!(error.to_string().contains("--include other-kind"), "{error}");
    configurations[1].runs.clear();
    let error = compare(&configurations, &CompareOptions::default()).unwrap_err();
    assert!(error.to_string().contains("it has no runs"), "{error}");
    assert_eq!(compare(&configurations[..1], &CompareOptions::default()), Err(CompareError::TooFewConfigurations));
}

#[test]
fn excludes_and_counts_values_with_losses() {
    let mut candidate = totals("after", &[1, 2, 3]);
    candidate.runs[2].measures[0].doubtful = true;
    let configurations = [totals("before", &[1, 2, 3]), candidate];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let after = comparison.measure("boot.total").unwrap().values[1];
    assert_eq!((after.runs, after.excluded_runs, after.max), (2, 1, Some(2 * MS)));
}

#[test]
fn reports_order_change_found_in_every_run() {
    let run_with_starts = |starts: [(&str, i64); 3]| {
        let mut measures: Vec<Measure> = ["PreSMSS", "WinLogonInit"]
            .iter()
            .map(|phase| measure(&format!("boot.phase.{phase}"), Category::Phase, 100))
            .collect();
        for (name, (phase, since)) in ["A", "B", "C"].iter().zip(starts) {
            measures.push(Measure {
                phase: Some(phase.to_owned()),
                since_phase_ns: Some(since),
                ..measure(&format!("boot.service.{name}"), Category::Service, 1)
            });
        }
        run(measures)
    };
    let configuration = |name: &str, runs: Vec<Run>| Configuration { name: name.to_owned(), factors: Vec::new(), runs };
    let before = configuration(
        "before",
        vec![
            run_with_starts([("PreSMSS", 10), ("PreSMSS", 20), ("PreSMSS", 30)]),
            run_with_starts([("PreSMSS", 15), ("PreSMSS", 25), ("PreSMSS", 26)]),
        ],
    );
    // A now starts in the next phase, but sooner after the start of the phase.
    let after = configuration("after", vec![run_with_starts([("WinLogonInit", 5), ("PreSMSS", 21), ("PreSMSS", 31)])]);
    let comparison = compare(&[before.clone(), after], &CompareOptions::default()).unwrap();
    let [moved] = comparison.order_changes.as_slice() else {
        panic!("{:?}", comparison.order_changes);
    };
    assert_eq!(moved.key, "boot.service.A");
    assert_eq!((moved.now_after, moved.now_before), (2, 0));
    assert_eq!((moved.was_phase.as_str(), moved.was_since_phase_ns), ("PreSMSS", 12));
    assert_eq!((moved.is_phase.as_str(), moved.is_since_phase_ns), ("WinLogonInit", 5));

    // An order that one run contradicts does not count.
    let after = configuration(
        "after",
        vec![
            run_with_starts([("WinLogonInit", 5), ("PreSMSS", 21), ("PreSMSS", 31)]),
            run_with_starts([("PreSMSS", 10), ("PreSMSS", 21), ("PreSMSS", 31)]),
        ],
    );
    let comparison = compare(&[before, after], &CompareOptions::default()).unwrap();
    assert_eq!(comparison.order_changes, []);
}

/// Returns a run with one phase divided among subjects.
fn run_with_account(phase_ms: i64, entries: &[(AccountSubjectKind, &str, i64)]) -> Run {
    let mut measures = vec![
        measure("boot.total", Category::Total, phase_ms * MS),
        measure("boot.phase.PreSMSS", Category::Phase, phase_ms * MS),
    ];
    for &(kind, name, ms) in entries {
        measures.push(Measure {
            phase: Some("PreSMSS".to_owned()),
            subject: Some(MeasuredSubject {
                kind,
                name: name.to_owned(),
                actions: Vec::new(),
                certainty: Certainty::Measured,
            }),
            ..measure(&format!("boot.account.PreSMSS.{}.{name}", kind.as_str()), Category::Account, ms * MS)
        });
    }
    run(measures)
}

fn explain_runs(baseline: Vec<Run>, candidate: Vec<Run>) -> Vec<Explanation> {
    let configuration = |name: &str, runs| Configuration { name: name.to_owned(), factors: Vec::new(), runs };
    let configurations = [configuration("before", baseline), configuration("after", candidate)];
    compare(&configurations, &CompareOptions::default()).unwrap().explanations
}

#[test]
fn explains_difference_by_subjects_in_same_direction() {
    use AccountSubjectKind::{Driver, Process, Unknown};
    let before =
        run_with_account(26_600, &[(Driver, "Ramdisk", 9_000), (Process, "System", 17_000), (Unknown, "", 600)]);
    // Windows spells driver names inconsistently, and the clock driver is slower than before.
    let after =
        run_with_account(17_260, &[(Driver, "RAMDISK", 20), (Process, "System", 17_000), (Driver, "clock", 240)]);
    let explanations = explain_runs(vec![before], vec![after]);
    let [explanation] = explanations.as_slice() else { panic!("{explanations:?}") };
    assert_eq!(
        (explanation.phase.as_str(), explanation.difference_ns, explanation.has_account),
        ("PreSMSS", -9_340 * MS, true)
    );
    let [ramdisk] = explanation.parts.as_slice() else { panic!("{explanation:?}") };
    assert_eq!((ramdisk.name.as_str(), ramdisk.difference_ns), ("Ramdisk", -8_980 * MS));
    assert_eq!(ramdisk.change, PartChange::Gone);
    // Opposite differences are listed by name; unattributed time explains nothing.
    let opposing: Vec<(&str, i64)> =
        explanation.opposing.iter().map(|part| (part.name.as_str(), part.difference_ns)).collect();
    assert_eq!(opposing, [("clock", 240 * MS)]);
    assert_eq!((explanation.opposing_ns, explanation.unexplained_ns), (240 * MS, -600 * MS));
}

#[test]
fn ignores_noise_and_decoy() {
    use AccountSubjectKind::{Driver, Process};
    let run_with_decoy = |phase: i64, slow: i64, decoy: i64| {
        run_with_account(phase, &[(Driver, "slow", slow), (Process, "decoy", decoy)])
    };
    let baseline =
        || vec![run_with_decoy(1_000, 100, 700), run_with_decoy(1_010, 110, 500), run_with_decoy(1_020, 120, 900)];
    assert_eq!(explain_runs(baseline(), baseline()), []);
    // The decoy varies by more than the phase difference, as in the baseline.
    let candidate =
        vec![run_with_decoy(1_500, 600, 900), run_with_decoy(1_510, 610, 500), run_with_decoy(1_520, 620, 880)];
    let explanations = explain_runs(baseline(), candidate);
    let names: Vec<&str> = explanations[0].parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["slow"]);
    assert_eq!(explanations[0].parts[0].difference_ns, 500 * MS);
}

#[test]
fn without_account_no_subject_is_listed() {
    let explanations = explain_runs(vec![run_with_account(1_000, &[])], vec![run_with_account(2_000, &[])]);
    assert_eq!((explanations[0].has_account, explanations[0].parts.len()), (false, 0));
    assert_eq!(explanations[0].unexplained_ns, 1_000 * MS);
    // A run saved without an account has unknown times, not zero.
    use AccountSubjectKind::Driver;
    let explanations =
        explain_runs(vec![run_with_account(1_000, &[])], vec![run_with_account(2_000, &[(Driver, "slow", 1_500)])]);
    assert_eq!(explanations[0].parts.len(), 0, "{explanations:?}");
}
