//! Baselines and studies from arbitrary bytes: reading, comparing and gating succeed or fail, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use onoff_compare::baseline::{Baseline, BaselineHeader};
use onoff_compare::gate::{Limit, check_limits, report_without_verdict};
use onoff_compare::study::Study;
use onoff_compare::table::TableSpecification;
use onoff_compare::{CompareOptions, Configuration, Factor, Run, compare};
use onoff_report::github;
use onoff_report::junit;
use onoff_report::markdown;
use onoff_report::sarif;
use onoff_sections::csv;
use onoff_sections::json;
use onoff_sections::section;

/// Parses the runs of a baseline like the program.
fn runs(text: &[u8]) -> Option<Vec<Run>> {
    let header: BaselineHeader = serde_json::from_slice(text).ok()?;
    header.check().ok()?;
    let baseline: Baseline = serde_json::from_slice(text).ok()?;
    baseline.into_valid_runs().ok()
}

fuzz_target!(|bytes: &[u8]| {
    // The record separator splits the input into limits, a study and baselines.
    let mut parts = bytes.split(|&byte| byte == 0x1e);
    let texts = [parts.next(), parts.next()].map(|part| std::str::from_utf8(part.unwrap_or(b"")));
    let [Ok(limits), Ok(study)] = texts else {
        return;
    };
    let limits: Vec<Limit> = limits.lines().take(8).filter_map(|line| Limit::parse(line).ok()).collect();
    let study: Option<Study> = toml::from_str(study).ok();
    let study = study.filter(|study| study.check().is_ok());
    let mut run_sets: Vec<Vec<Run>> = parts.take(4).filter_map(runs).collect();
    // Compare identical runs as well.
    run_sets.extend(run_sets.first().cloned());
    let configurations: Vec<Configuration> = run_sets
        .into_iter()
        .enumerate()
        .map(|(index, runs)| {
            let configuration = study.as_ref().and_then(|study| study.configurations.get(index));
            Configuration {
                name: configuration.map_or_else(|| index.to_string(), |configuration| configuration.name.clone()),
                factors: configuration.map_or_else(Vec::new, |configuration| {
                    let factors = configuration.factors.clone().into_iter();
                    factors.map(|(name, level)| Factor { name, level }).collect()
                }),
                runs,
            }
        })
        .collect();
    let options = CompareOptions { allow_mixed_kinds: study.is_some(), ..CompareOptions::default() };
    let mut out = Vec::new();
    let report = match compare(&configurations, &options) {
        Ok(mut comparison) => {
            let mut tables = study.map_or_else(Vec::new, |study| study.tables);
            tables.push(TableSpecification::totals_and_phases(&comparison));
            comparison.tables = tables.iter().take(16).filter_map(|table| table.build(&comparison).ok()).collect();
            for change in comparison.measures.iter().flat_map(|row| &row.changes) {
                assert!(change.percent.is_none_or(f64::is_finite), "a percentage is a number");
            }
            json::document::write(&[], &comparison, &mut out).unwrap();
            section::csv::write(&[csv::compare::measures(&comparison)], &mut out).unwrap();
            markdown::write(&comparison.tables, &mut out).unwrap();
            check_limits(&comparison, &limits)
        }
        Err(reason) => report_without_verdict(&configurations, &options, &limits, &reason.to_string()),
    };
    junit::write(&report, &mut out).unwrap();
    sarif::write(&report, "0", &mut out).unwrap();
    github::write(&report, &mut out).unwrap();
    assert!(std::str::from_utf8(&out).is_ok());
});
