//! Gate verdicts on synthetic runs.

use super::*;
use crate::RunSubject;
use crate::{CompareOptions, Configuration, Exclusion, ExclusionReason, Measure, Run, compare};

const MS: i64 = 1_000_000;

fn configuration(name: &str, runs: &[&[(&str, Category, i64)]]) -> Configuration {
    Configuration {
        name: name.to_owned(),
        factors: Vec::new(),
        runs: runs
            .iter()
            .map(|measures| Run {
                name: "a.etl".to_owned(),
                transition: RunSubject::Boot,
                kind: "cold".to_owned(),
                exclusions: Vec::new(),
                machine: None,
                recording: None,
                user_input_ns: 0,
                settings: String::new(),
                outcome: String::new(),
                measures: measures
                    .iter()
                    .map(|&(key, category, value)| Measure {
                        key: key.to_owned(),
                        category,
                        unit: MeasureUnit::Ns,
                        value: value * MS,
                        phase: None,
                        since_phase_ns: None,
                        doubtful: false,
                        subject: None,
                    })
                    .collect(),
            })
            .collect(),
    }
}

fn total(values: &[i64]) -> Vec<Vec<(&'static str, Category, i64)>> {
    values.iter().map(|&value| vec![("boot.total", Category::Total, value)]).collect()
}

fn verdict(baseline: &[i64], candidate: &[i64], limit: &str, min_runs: usize) -> GateVerdict {
    let (baseline, candidate) = (total(baseline), total(candidate));
    let baseline: Vec<&[(&str, Category, i64)]> = baseline.iter().map(Vec::as_slice).collect();
    let candidate: Vec<&[(&str, Category, i64)]> = candidate.iter().map(Vec::as_slice).collect();
    let options = CompareOptions { min_runs, ..CompareOptions::default() };
    let comparison =
        compare(&[configuration("before", &baseline), configuration("after", &candidate)], &options).unwrap();
    check_limits(&comparison, &[Limit::parse(limit).unwrap()]).verdict
}

#[test]
fn exceeding_limit_within_noise_gives_no_verdict() {
    let limit = "boot.total 5% and 500ms";
    let steady = [10_000, 10_020, 10_040];
    assert_eq!(verdict(&steady, &[10_400, 10_420, 10_440], limit, 3), GateVerdict::Pass);
    assert_eq!(verdict(&steady, &[10_700, 10_720, 10_740], limit, 3), GateVerdict::Regression);
    assert_eq!(verdict(&steady, &[9_000, 9_020, 9_040], limit, 3), GateVerdict::Pass);
    // The baseline runs are up to 900 ms apart.
    let noisy = [9_600, 10_000, 10_500];
    assert_eq!(verdict(&noisy, &[10_600, 10_700, 10_800], limit, 3), GateVerdict::NoVerdict);
}

#[test]
fn noisy_runs_do_not_pass() {
    let limit = "boot.total 5%";
    // The medians differ by 2 %, but the candidate may be 10 % slower.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[9_700, 10_200, 10_700], limit, 3), GateVerdict::NoVerdict);
    // With steady runs, the same difference means at most 3 % slower.
    assert_eq!(verdict(&[9_950, 10_000, 10_050], &[10_150, 10_200, 10_250], limit, 3), GateVerdict::Pass);
    // Just as noisy, but so much faster that the limit is not in danger.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[7_500, 8_000, 8_500], limit, 3), GateVerdict::Pass);
    // A pattern covers many measures, some of which are always noisy.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[9_700, 10_200, 10_700], "boot.* 5%", 3), GateVerdict::Pass);
}

#[test]
fn too_few_runs_give_no_verdict() {
    let limit = "boot.total 5%";
    assert_eq!(verdict(&[10_000, 10_020], &[20_000, 20_010, 20_020], limit, 3), GateVerdict::NoVerdict);
    assert_eq!(verdict(&[10_000], &[10_000], limit, 3), GateVerdict::NoVerdict);
    assert_eq!(verdict(&[10_000], &[10_400], limit, 1), GateVerdict::Pass);
    assert_eq!(verdict(&[10_000], &[20_000], limit, 1), GateVerdict::Regression);
}

#[test]
fn values_with_losses_give_no_verdict() {
    let runs: &[(&str, Category, i64)] = &[("boot.service.Spooler", Category::Service, 100)];
    let slow: &[(&str, Category, i64)] = &[("boot.service.Spooler", Category::Service, 900)];
    let before = configuration("before", &[runs; 3]);
    let mut after = configuration("after", &[slow; 3]);
    for run in &mut after.runs {
        run.measures[0].doubtful = true;
    }
    let limits = ["boot.service.Spooler 5%", "boot.service.* 5%"].map(|text| Limit::parse(text).unwrap());
    let configurations = [before, after];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let report = check_limits(&comparison, &limits);
    for limit in &report.limits {
        assert_eq!(limit.verdict, GateVerdict::NoVerdict);
        let reason = &limit.checks[0].reason;
        assert!(reason.contains("3 excluded because events were lost"), "{reason}");
    }
    let options = CompareOptions { include: vec![ExclusionReason::Losses], ..CompareOptions::default() };
    let comparison = compare(&configurations, &options).unwrap();
    assert_eq!(check_limits(&comparison, &limits).verdict, GateVerdict::Regression);
}

#[test]
fn no_runs_give_no_verdict() {
    let runs: &[(&str, Category, i64)] = &[("boot.total", Category::Total, 1)];
    let before = configuration("before", &[runs; 3]);
    let mut after = before.clone();
    for run in &mut after.runs {
        run.exclusions.push(Exclusion {
            reason: ExclusionReason::Untrained,
            text: "ReadyBoot was untrained (0 of 3 boots)".to_owned(),
        });
    }
    let configurations = [before, after];
    let options = CompareOptions::default();
    let error = compare(&configurations, &options).unwrap_err();
    let limits = ["boot.total 5%"].map(|text| Limit::parse(text).unwrap());
    let report = report_without_verdict(&configurations, &options, &limits, &error.to_string());
    assert_eq!(report.verdict, GateVerdict::NoVerdict);
    assert!(report.limits[0].reason.contains("ReadyBoot was untrained"));
    assert_eq!(report.configurations[1].compared_runs, 0);
}

#[test]
fn most_severe_verdict_wins_and_patterns_pass_new_items() {
    let before: &[(&str, Category, i64)] =
        &[("boot.total", Category::Total, 10_000), ("boot.service.Spooler", Category::Service, 100)];
    let after: &[(&str, Category, i64)] = &[
        ("boot.total", Category::Total, 10_000),
        ("boot.service.Spooler", Category::Service, 900),
        ("boot.service.Chat", Category::Service, 5_000),
    ];
    let comparison = compare(
        &[configuration("before", &[before; 3]), configuration("after", &[after; 3])],
        &CompareOptions::default(),
    )
    .unwrap();
    let limits =
        ["boot.total 5%", "boot.service.* 500ms", "boot.phase.Never 1s"].map(|text| Limit::parse(text).unwrap());
    let report = check_limits(&comparison, &limits);
    assert_eq!(report.verdict, GateVerdict::Regression);
    let verdicts: Vec<GateVerdict> = report.limits.iter().map(|limit| limit.verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Pass, GateVerdict::Regression, GateVerdict::NoVerdict]);
    let services = &report.limits[1].checks;
    assert_eq!(services[0].key, "boot.service.Spooler");
    assert_eq!(services[0].difference, Some(800 * MS));
    assert_eq!((services[1].verdict, services[1].reason.as_str()), (GateVerdict::Pass, "new, not in the baseline"));
    assert!(report.limits[2].reason.contains("boot.phase.Never"));
    // A size is not a time.
    let report = check_limits(&comparison, &[Limit::parse("boot.total 10MiB").unwrap()]);
    assert_eq!(report.verdict, GateVerdict::NoVerdict);
}
