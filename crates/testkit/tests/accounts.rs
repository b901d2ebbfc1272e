//! Accounts of whole simulated machines: they sum to their phases, and name those who were put in.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use onoff_analysis::account::{AccountedPhase, accounts};
use onoff_analysis::{idle, waits};
use onoff_sources::Options;
use onoff_testkit::simulate::{Scenario, Simulated};
use onoff_trace::Trace;

/// Scenarios too long for a test: the benchmark is walked by the benchmark.
const LONG: &[&str] = &["benchmark"];

fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !LONG.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

fn recorded(name: &str) -> Trace {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    let scenario = Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap();
    let Simulated { files, .. } = scenario.simulate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            let path = folder.path().join(format!("{index}.etl"));
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    let _ = idle::IdleMetric::XPERF;
    onoff_sources::open(&paths, waits::TABLES, &Options::default()).unwrap()
}

fn show(name: &str, phases: &[AccountedPhase]) {
    println!("== {name}");
    for phase in phases {
        let account = &phase.account;
        println!(
            "  {} {} {:.3} s ({:?})",
            phase.transition,
            phase.phase,
            account.duration_ns as f64 / 1e9,
            account.measure
        );
        for entry in account.entries.iter().take(6).filter(|entry| entry.percent >= 1.0) {
            let did: Vec<String> =
                entry.did.iter().map(|one| format!("{} {:.3}", one.did.as_str(), one.ns as f64 / 1e9)).collect();
            println!(
                "    {:9.3} s {:5.1}% {:10} {} {} [{}] {:?} x{}",
                entry.ns as f64 / 1e9,
                entry.percent,
                entry.kind.as_str(),
                entry.name,
                entry.device,
                did.join(", "),
                entry.certainty,
                entry.stretch_count
            );
        }
    }
}

#[test]
fn the_parts_of_every_phase_of_every_scenario_sum_to_it() {
    let mut phases = 0;
    for name in names() {
        let trace = recorded(&name);
        let all = accounts(&trace, None);
        if std::env::var_os("SHOW_ACCOUNTS").is_some() {
            show(&name, &all);
        }
        for phase in &all {
            let account = &phase.account;
            let sum: i64 = account.entries.iter().map(|entry| entry.ns).sum();
            assert_eq!(sum, account.duration_ns, "{name}: {}", phase.phase);
            for entry in &account.entries {
                let did: i64 = entry.did.iter().map(|one| one.ns).sum();
                assert_eq!(did, entry.ns, "{name}: {} of {}", entry.name, phase.phase);
            }
            phases += 1;
        }
    }
    assert!(phases > 100);
}
