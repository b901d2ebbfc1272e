//! Verdicts of a gate on hand-made runs.

use super::*;
use crate::RunSubject;
use crate::{CompareOptions, Configuration, Measure, Run, SetApart, SetApartReason, compare};

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
                set_apart: Vec::new(),
                machine: None,
                recording: None,
                person_ns: 0,
                settings: String::new(),
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

fn verdict(baseline: &[i64], candidate: &[i64], limit: &str, least_runs: usize) -> GateVerdict {
    let (baseline, candidate) = (total(baseline), total(candidate));
    let slices =
        |runs: &'_ [Vec<(&'static str, Category, i64)>]| -> Vec<Vec<(&'static str, Category, i64)>> { runs.to_vec() };
    let (baseline, candidate) = (slices(&baseline), slices(&candidate));
    let baseline: Vec<&[(&str, Category, i64)]> = baseline.iter().map(Vec::as_slice).collect();
    let candidate: Vec<&[(&str, Category, i64)]> = candidate.iter().map(Vec::as_slice).collect();
    let options = CompareOptions { least_runs, ..CompareOptions::default() };
    let comparison =
        compare(&[configuration("before", &baseline), configuration("after", &candidate)], &options).unwrap();
    judge(&comparison, &[Limit::parse(limit).unwrap()]).verdict
}

#[test]
fn within_the_limit_beyond_it_and_beyond_it_but_within_noise() {
    let limit = "boot.total 5% and 500ms";
    let calm = [10_000, 10_020, 10_040];
    assert_eq!(verdict(&calm, &[10_400, 10_420, 10_440], limit, 3), GateVerdict::Pass);
    assert_eq!(verdict(&calm, &[10_700, 10_720, 10_740], limit, 3), GateVerdict::Regression);
    assert_eq!(verdict(&calm, &[9_000, 9_020, 9_040], limit, 3), GateVerdict::Pass);
    // The baseline's own runs lie 900 ms apart.
    let restless = [9_600, 10_000, 10_500];
    assert_eq!(verdict(&restless, &[10_600, 10_700, 10_800], limit, 3), GateVerdict::NoVerdict);
}

#[test]
fn runs_that_differ_more_than_the_limit_do_not_pass() {
    let limit = "boot.total 5%";
    // The medians are 2 % apart, and the candidate may as well be 10 % slower.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[9_700, 10_200, 10_700], limit, 3), GateVerdict::NoVerdict);
    // As far apart, and calm: it cannot be more than 3 % slower.
    assert_eq!(verdict(&[9_950, 10_000, 10_050], &[10_150, 10_200, 10_250], limit, 3), GateVerdict::Pass);
    // As restless, and so much faster that the limit is safe.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[7_500, 8_000, 8_500], limit, 3), GateVerdict::Pass);
    // A pattern is about many measures, some of which are always restless.
    assert_eq!(verdict(&[9_500, 10_000, 10_500], &[9_700, 10_200, 10_700], "boot.* 5%", 3), GateVerdict::Pass);
}

#[test]
fn too_few_runs_give_no_verdict_unless_the_caller_asks_for_one() {
    let limit = "boot.total 5%";
    assert_eq!(verdict(&[10_000, 10_020], &[20_000, 20_010, 20_020], limit, 3), GateVerdict::NoVerdict);
    assert_eq!(verdict(&[10_000], &[10_000], limit, 3), GateVerdict::NoVerdict);
    assert_eq!(verdict(&[10_000], &[10_400], limit, 1), GateVerdict::Pass);
    assert_eq!(verdict(&[10_000], &[20_000], limit, 1), GateVerdict::Regression);
}

#[test]
fn what_losses_touch_gives_no_verdict() {
    let runs: &[(&str, Category, i64)] = &[("boot.service.Spooler", Category::Service, 100)];
    let slow: &[(&str, Category, i64)] = &[("boot.service.Spooler", Category::Service, 900)];
    let before = configuration("before", &[runs; 3]);
    let mut after = configuration("after", &[slow; 3]);
    for run in &mut after.runs {
        run.measures[0].doubtful = true;
    }
    let limits = ["boot.service.Spooler 5%", "boot.service.* 5%"].map(|it| Limit::parse(it).unwrap());
    let configurations = [before, after];
    let comparison = compare(&configurations, &CompareOptions::default()).unwrap();
    let report = judge(&comparison, &limits);
    for limit in &report.limits {
        assert_eq!(limit.verdict, GateVerdict::NoVerdict);
        let because = &limit.checks[0].because;
        assert!(because.contains("3 left out because losses touch it"), "{because}");
    }
    let options = CompareOptions { include: vec![SetApartReason::Losses], ..CompareOptions::default() };
    let comparison = compare(&configurations, &options).unwrap();
    assert_eq!(judge(&comparison, &limits).verdict, GateVerdict::Regression);
}

#[test]
fn without_any_run_every_limit_is_open() {
    let runs: &[(&str, Category, i64)] = &[("boot.total", Category::Total, 1)];
    let before = configuration("before", &[runs; 3]);
    let mut after = before.clone();
    for run in &mut after.runs {
        run.set_apart.push(SetApart {
            reason: SetApartReason::Untrained,
            text: "the boot read-ahead had learned from no boot".to_owned(),
        });
    }
    let configurations = [before, after];
    let options = CompareOptions::default();
    let why = compare(&configurations, &options).unwrap_err();
    let limits = ["boot.total 5%"].map(|it| Limit::parse(it).unwrap());
    let report = cannot_judge(&configurations, &options, &limits, &why);
    assert_eq!(report.verdict, GateVerdict::NoVerdict);
    assert!(report.limits[0].because.contains("learned from no boot"));
    assert_eq!(report.configurations[1].compared_runs, 0);
}

#[test]
fn the_heaviest_verdict_of_all_limits_counts_and_patterns_pass_what_is_new() {
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
    let report = judge(&comparison, &limits);
    assert_eq!(report.verdict, GateVerdict::Regression);
    let verdicts: Vec<GateVerdict> = report.limits.iter().map(|limit| limit.verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Pass, GateVerdict::Regression, GateVerdict::NoVerdict]);
    let services = &report.limits[1].checks;
    assert_eq!(services[0].key, "boot.service.Spooler");
    assert_eq!(services[0].difference, Some(800 * MS));
    assert_eq!(
        (services[1].verdict, services[1].because.as_str()),
        (GateVerdict::Pass, "new: nothing to compare with")
    );
    assert!(report.limits[2].because.contains("boot.phase.Never"));
    // Bytes are no time.
    let report = judge(&comparison, &[Limit::parse("boot.total 10MiB").unwrap()]);
    assert_eq!(report.verdict, GateVerdict::NoVerdict);
}
