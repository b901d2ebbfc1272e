//! Expected results of scenarios, from `crates/support/simulator/expected/findings.toml`, and injected times, computed
//! from the scenarios. The computation uses only the scenario file, not the code that reads recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use onoff_simulator::{Scenario, Truth, WorkStep};
use serde::Deserialize;

const MS: i64 = 1_000_000;
/// The time a healthy hard disk needs per request and per MiB, in ns, as documented in the findings reference.
const HEALTHY_REQUEST_NS: i64 = 18 * MS;
const HEALTHY_MEBIBYTE_NS: i64 = 20 * MS;

/// The expected results of a scenario.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// The first finding; `None` if there must be no findings.
    pub first: Option<String>,
    /// Other correct findings, including caveats.
    pub also: BTreeSet<String>,
    /// Known false negatives.
    pub missed: BTreeSet<String>,
    /// Known false positives.
    #[serde(rename = "false")]
    pub false_: BTreeSet<String>,
    /// The expected cost of the first finding.
    pub cost: Option<Cost>,
    /// The expected chain in `onoff why`.
    pub chain: Option<Chain>,
}

/// The expected cost of the first finding.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// The subject.
    pub subject: String,
    /// The injected time, see [`injected_ns`].
    pub put_in: String,
    /// The tolerance.
    pub within_ms: i64,
    /// The reason for the tolerance.
    pub because: String,
    /// The cost basis: `critical_path` or `at_most`.
    pub basis: String,
}

/// A chain of waits and its end.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// The arguments of `onoff why`.
    pub question: String,
    /// The processes in the longest step of the chain, from the waiting process to the one it waits for.
    #[serde(default)]
    pub through: Vec<String>,
    /// The corresponding threads, if the scenario names them.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// The kind of time: `cpu`, `disk`, `timer`, `device`, `other`.
    pub ends: String,
    /// The subject of the time: a process, file or driver, or part of the reason if it is unknown.
    pub of: String,
    /// Restricts the time to requests to this device.
    pub device: Option<String>,
    /// The injected time.
    pub put_in: String,
    /// The tolerance.
    pub within_ms: i64,
    /// The reason for the tolerance.
    pub because: String,
}

/// Returns the expected results of all scenarios.
pub fn all() -> BTreeMap<String, Expected> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/expected/findings.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the names of all scenarios.
pub fn scenario_names() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios");
    let paths = std::fs::read_dir(folder).unwrap();
    paths
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// Reads a scenario.
pub fn scenario(name: &str) -> Scenario {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios").join(format!("{name}.toml"));
    Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Computes the injected time of a subject, in ns:
///
/// * `sleep of IMAGE`, `cpu of IMAGE`: work of a process's threads;
/// * `cpu of service NAME`, `time-out of service NAME`: work of a service;
/// * `reads of PATH`: requests with this path prefix, at the speed of the scenario's disk;
/// * `requests beyond a healthy disk`: all requests, minus the time of a healthy hard disk;
/// * `start and enumeration of DRIVER`, `suspend of DRIVER`, `waits for DRIVER`, `calls of DRIVER`;
/// * `subscriber NAME`, `answer of IMAGE`, `limit of services`.
pub fn injected_ns(scenario: &Scenario, subject: &str) -> i64 {
    let subject_after = |prefix: &str| subject.strip_prefix(prefix);
    let process_ns = |image: &str, step_ns: &dyn Fn(&WorkStep) -> i64| -> i64 {
        let processes = scenario.processes.iter().filter(|process| process.image == image);
        processes.flat_map(|process| &process.thread).flat_map(|thread| &thread.work).map(step_ns).sum()
    };
    let service_ns = |name: &str, step_ns: &dyn Fn(&WorkStep) -> i64| -> i64 {
        let services = scenario.services.service.iter().filter(|service| service.name == name);
        services.flat_map(|service| &service.work).map(step_ns).sum()
    };
    let cpu_ns = |work: &WorkStep| match work {
        WorkStep::Cpu(time) => time.as_ns(),
        _ => 0,
    };
    let sum = if subject == "requests beyond a healthy disk" {
        let bytes_ns = |bytes: u64, mebibyte_ns: i64| i64::try_from(bytes).unwrap() * mebibyte_ns / (1 << 20);
        let excess_ns = |work: &WorkStep| match work {
            WorkStep::Disk { count, size, .. } => {
                let bytes = u64::from(*size);
                i64::from(*count)
                    * (request_ns(scenario, bytes) - HEALTHY_REQUEST_NS - bytes_ns(bytes, HEALTHY_MEBIBYTE_NS))
            }
            _ => 0,
        };
        main_work(scenario).map(excess_ns).sum()
    } else if subject == "limit of services" {
        let shutdown = scenario.shutdown.as_ref().unwrap();
        shutdown.service_timeout.as_ns()
    } else if let Some(image) = subject_after("sleep of ") {
        process_ns(image, &|work| match work {
            WorkStep::Sleep(time) => time.as_ns(),
            _ => 0,
        })
    } else if let Some(name) = subject_after("cpu of service ") {
        service_ns(name, &cpu_ns)
    } else if let Some(image) = subject_after("cpu of ") {
        process_ns(image, &cpu_ns)
    } else if let Some(name) = subject_after("time-out of service ") {
        service_ns(name, &|work| match work {
            WorkStep::WaitAtMost(_, time) => time.as_ns(),
            _ => 0,
        })
    } else if let Some(path) = subject_after("reads of ") {
        let read_ns = |work: &WorkStep| match work {
            WorkStep::Disk { count, size, path: read_path, .. } if read_path.starts_with(path) => {
                i64::from(*count) * request_ns(scenario, u64::from(*size))
            }
            _ => 0,
        };
        main_work(scenario).map(read_ns).sum()
    } else if let Some(name) = subject_after("start and enumeration of ") {
        let kernel = &scenario.kernel;
        let drivers = kernel.boot_start.iter().chain(&kernel.system_start);
        drivers
            .filter(|driver| driver.name == name)
            .map(|driver| driver.start.as_ns() + driver.enumerate.map_or(0, |time| time.as_ns()))
            .sum()
    } else if let Some(name) = subject_after("suspend of ") {
        let devices = scenario.devices.iter().filter(|device| device.driver == name);
        devices.map(|device| device.suspend.as_ns()).sum()
    } else if let Some(name) = subject_after("waits for ") {
        let wait_ns = |work: &WorkStep| match work {
            WorkStep::Device { time, driver, .. } if driver == name => time.as_ns(),
            _ => 0,
        };
        main_work(scenario).map(wait_ns).sum()
    } else if let Some(name) = subject_after("calls of ") {
        let parallel_work = scenario.applications.iter().flat_map(|application| &application.background);
        main_work(scenario).chain(parallel_work).map(|work| dpc_ns(work, name)).sum()
    } else if let Some(name) = subject_after("subscriber ") {
        let subscribers = scenario.logon.subscriber.iter();
        subscribers.filter(|subscriber| subscriber.name == name).map(|subscriber| subscriber.time.as_ns()).sum()
    } else if let Some(image) = subject_after("answer of ") {
        let applications = scenario.applications.iter().filter(|application| application.image == image);
        applications
            .flat_map(|application| [&application.query, &application.suspend])
            .flatten()
            .map(|answer| answer.time.as_ns())
            .sum()
    } else {
        panic!("unknown injected time `{subject}`")
    };
    assert!(sum > 0, "the scenario has no `{subject}`");
    sum
}

/// Returns the time in DPCs of a driver, in ns.
fn dpc_ns(work: &WorkStep, name: &str) -> i64 {
    match work {
        WorkStep::Dpc { time, driver } if driver == name => time.as_ns(),
        WorkStep::Repeat(count, steps) => i64::from(*count) * steps.iter().map(|step| dpc_ns(step, name)).sum::<i64>(),
        _ => 0,
    }
}

/// Returns the time that the scenario's disk needs for a request, in ns.
fn request_ns(scenario: &Scenario, bytes: u64) -> i64 {
    let machine = &scenario.machine;
    machine.disk_access.as_ns() + machine.disk_per_mib.as_ns() * i64::try_from(bytes).unwrap() / (1 << 20)
}

/// Returns the work on the critical path of the boot.
fn main_work(scenario: &Scenario) -> impl Iterator<Item = &WorkStep> {
    let services = scenario.services.service.iter().flat_map(|service| &service.work);
    (scenario.kernel.work.iter())
        .chain(&scenario.session.registry)
        .chain(&scenario.session.work)
        .chain(&scenario.logon.work)
        .chain(&scenario.shell.work)
        .chain(services)
}

/// Returns the image name of a thread's process.
pub fn image(truth: &Truth, tid: u32) -> String {
    let pid = truth.threads[&tid];
    let process = truth.processes.iter().rev().find(|process| process.pid == pid);
    let path = process.map_or("", |process| process.image.as_str());
    path.rsplit('\\').next().unwrap().to_owned()
}
