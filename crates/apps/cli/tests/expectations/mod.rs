//! Expected results of scenarios: from `crates/support/simulator/expected/findings.toml`, and injected times computed
//! from the scenarios themselves. The computation uses only the scenario file, not the code that reads recordings.

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
    /// The processes in the longest step of the chain, from the waiting to the awaited one.
    #[serde(default)]
    pub through: Vec<String>,
    /// The same as threads, if the scenario names them.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// The kind of time: `cpu`, `disk`, `timer`, `device`, `other`.
    pub ends: String,
    /// Its subject: a process, file or driver; or part of the reason if unknown.
    pub of: String,
    /// Only work for requests to this device.
    pub device: Option<String>,
    /// The injected time.
    pub put_in: String,
    /// The tolerance.
    pub within_ms: i64,
    /// The reason for the tolerance.
    pub because: String,
}

/// All scenarios in the file.
pub fn all() -> BTreeMap<String, Expected> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/expected/findings.toml");
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The names of all scenarios.
pub fn scenarios() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../support/simulator/scenarios");
    let paths = std::fs::read_dir(folder).unwrap();
    paths
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// The source of a scenario.
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
pub fn injected_ns(scenario: &Scenario, what: &str) -> i64 {
    let of = |prefix: &str| what.strip_prefix(prefix);
    let threads = |image: &str, length: &dyn Fn(&WorkStep) -> i64| -> i64 {
        let its = scenario.processes.iter().filter(|it| it.image == image);
        its.flat_map(|process| &process.thread).flat_map(|thread| &thread.work).map(length).sum()
    };
    let service = |name: &str, length: &dyn Fn(&WorkStep) -> i64| -> i64 {
        let its = scenario.services.service.iter().filter(|it| it.name == name);
        its.flat_map(|service| &service.work).map(length).sum()
    };
    let cpu = |work: &WorkStep| match work {
        WorkStep::Cpu(time) => time.as_ns(),
        _ => 0,
    };
    let sum = if what == "requests beyond a healthy disk" {
        let bytes_ns = |bytes: u64, mebibyte_ns: i64| i64::try_from(bytes).unwrap() * mebibyte_ns / (1 << 20);
        let beyond = |work: &WorkStep| match work {
            WorkStep::Disk { count, size, .. } => {
                let bytes = u64::from(*size);
                i64::from(*count)
                    * (request_ns(scenario, bytes) - HEALTHY_REQUEST_NS - bytes_ns(bytes, HEALTHY_MEBIBYTE_NS))
            }
            _ => 0,
        };
        main_work(scenario).map(beyond).sum()
    } else if what == "limit of services" {
        let shutdown = scenario.shutdown.as_ref().unwrap();
        shutdown.service_timeout.as_ns()
    } else if let Some(image) = of("sleep of ") {
        threads(image, &|work| match work {
            WorkStep::Sleep(time) => time.as_ns(),
            _ => 0,
        })
    } else if let Some(name) = of("cpu of service ") {
        service(name, &cpu)
    } else if let Some(image) = of("cpu of ") {
        threads(image, &cpu)
    } else if let Some(name) = of("time-out of service ") {
        service(name, &|work| match work {
            WorkStep::WaitAtMost(_, time) => time.as_ns(),
            _ => 0,
        })
    } else if let Some(path) = of("reads of ") {
        let reads = |work: &WorkStep| match work {
            WorkStep::Disk { count, size, path: read, .. } if read.starts_with(path) => {
                i64::from(*count) * request_ns(scenario, u64::from(*size))
            }
            _ => 0,
        };
        main_work(scenario).map(reads).sum()
    } else if let Some(name) = of("start and enumeration of ") {
        let kernel = &scenario.kernel;
        let drivers = kernel.boot_start.iter().chain(&kernel.system_start);
        drivers
            .filter(|driver| driver.name == name)
            .map(|driver| driver.start.as_ns() + driver.enumerate.unwrap().as_ns())
            .sum()
    } else if let Some(name) = of("suspend of ") {
        let devices = scenario.devices.iter().filter(|it| it.driver == name);
        devices.map(|device| device.suspend.as_ns()).sum()
    } else if let Some(name) = of("waits for ") {
        let waits = |work: &WorkStep| match work {
            WorkStep::Device { time, driver, .. } if driver == name => time.as_ns(),
            _ => 0,
        };
        main_work(scenario).map(waits).sum()
    } else if let Some(name) = of("calls of ") {
        let calls = |work: &WorkStep| match work {
            WorkStep::Dpc { time, driver } if driver == name => time.as_ns(),
            _ => 0,
        };
        let parallel = scenario.applications.iter().flat_map(|it| &it.background);
        main_work(scenario).chain(parallel).map(calls).sum()
    } else if let Some(name) = of("subscriber ") {
        let subscribers = scenario.logon.subscriber.iter();
        subscribers.filter(|subscriber| subscriber.name == name).map(|subscriber| subscriber.time.as_ns()).sum()
    } else if let Some(image) = of("answer of ") {
        let its = scenario.applications.iter().filter(|it| it.image == image);
        its.flat_map(|it| [&it.query, &it.suspend]).flatten().map(|answer| answer.time.as_ns()).sum()
    } else {
        panic!("what is `{what}`?")
    };
    assert!(sum > 0, "the scenario holds nothing of `{what}`");
    sum
}

/// The time the scenario's disk needs for a request, in ns.
fn request_ns(scenario: &Scenario, bytes: u64) -> i64 {
    let machine = &scenario.machine;
    machine.disk_access.as_ns() + machine.disk_per_mib.as_ns() * i64::try_from(bytes).unwrap() / (1 << 20)
}

/// Work on the boot's critical path.
fn main_work(scenario: &Scenario) -> impl Iterator<Item = &WorkStep> {
    let services = scenario.services.service.iter().flat_map(|it| &it.work);
    (scenario.kernel.work.iter())
        .chain(&scenario.session.registry)
        .chain(&scenario.session.work)
        .chain(&scenario.logon.work)
        .chain(&scenario.shell.work)
        .chain(services)
}

/// The process image name of a thread.
pub fn image(truth: &Truth, tid: u32) -> String {
    let pid = truth.threads[&tid];
    let found = truth.processes.iter().rev().find(|row| row.pid == pid);
    let path = found.map_or("", |row| row.image.as_str());
    path.rsplit('\\').next().unwrap().to_owned()
}
