//! Simulates scenarios and predicts changes of them.

use std::path::{Path, PathBuf};

use onoff_simulator::Scenario;
use onoff_trace::Trace;
use onoff_transitions::{TransitionOptions, find_all};
use onoff_what_if::changes::Change;
use onoff_what_if::prediction::{Prediction, WhatIfError, WhatIfQuestion, predict};

/// Returns the scenarios of the simulator, by name.
pub(crate) fn scenario_paths() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios");
    let mut paths: Vec<PathBuf> = [folder.clone(), folder.join("second")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    paths
}

pub(crate) fn scenario(name: &str) -> Scenario {
    let paths = scenario_paths();
    let path = paths.iter().find(|path| path.file_stem().is_some_and(|stem| stem == name)).unwrap();
    Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the healthy boot without fixed times, plus the given tables, so that an earlier end of one thing moves
/// everything after it.
pub(crate) fn boot_with(tables: &str) -> Scenario {
    let text = format!("name = \"pair\"\nover = \"healthy-boot\"\nseed = 77\n{tables}");
    let mut scenario = Scenario::from_toml(&text).unwrap();
    scenario.kernel.session_manager_at = None;
    scenario.kernel.system_start_at = None;
    scenario.session.winlogon_at = None;
    scenario.services.auto_start_at = None;
    scenario
}

pub(crate) fn simulate(scenario: &Scenario) -> Trace {
    let recording = scenario.simulate().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = recording.files.iter().enumerate();
    let paths: Vec<PathBuf> = files
        .map(|(index, bytes)| {
            let path = folder.path().join(format!("{index}.etl"));
            std::fs::write(&path, bytes).unwrap();
            path
        })
        .collect();
    onoff_files::open(&paths, onoff_what_if::TABLES, &onoff_files::Options::default()).unwrap()
}

/// Returns the measured total of the first transition, ns.
pub(crate) fn measured_ns(trace: &Trace) -> i64 {
    find_all(trace, &TransitionOptions::default()).first().unwrap().total_ns.unwrap()
}

pub(crate) fn ask(trace: &Trace, changes: &[Change]) -> Result<Prediction, WhatIfError> {
    predict(trace, &WhatIfQuestion { changes: changes.to_vec(), ..WhatIfQuestion::default() })
}

pub(crate) fn without(name: &str) -> Change {
    Change::Without { name: name.to_owned() }
}

pub(crate) fn service(name: &str, group: &str, work: &str) -> String {
    format!(
        "[[services.service]]\nname = \"{name}\"\ngroup = \"{group}\"\nimage = \"\\\\Program Files\\\\{name}\\\\{name}.exe\"\n\
         container = \"30ms\"\nload = \"4ms\"\ninit = \"60ms\"\nwork = [{work}]\n\n"
    )
}

pub(crate) fn driver(name: &str, fields: &str) -> String {
    format!(
        "[[kernel.system_start]]\nname = \"{name}\"\nload = \"15ms\"\ndevice = \"ROOT\\\\{name}\\\\0000\"\n\
         description = \"{name}\"\n{fields}\n\n"
    )
}

/// The logon's group, with its services in front so that everything waits for the group.
pub(crate) const GROUP: &str = "ProfSvc_Group";

/// Returns the scenario with its last `count` services first, so that the logon waits for their groups.
pub(crate) fn first(mut scenario: Scenario, count: usize) -> Scenario {
    scenario.services.service.rotate_right(count);
    scenario
}

pub(crate) fn remove_services(scenario: &Scenario, names: &[&str]) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.services.service.retain(|service| !names.contains(&service.name.as_str()));
    scenario
}
