//! Accounts of whole simulated machines: they sum to their phases, and name those who were put in.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onoff_blame::account::{AccountEntry, AccountSubjectKind, AccountedPhase, accounts, culprits};
use onoff_files::Options;
use onoff_simulator::{Scenario, Simulated, Truth};
use onoff_trace::Trace;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Scenarios too long for a test: the benchmark is walked by the benchmark.
const LONG: &[&str] = &["benchmark"];

/// Who makes a phase of a scenario long, by the scenario's own text: see `expected/accounts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Planted {
    phase: String,
    #[serde(default)]
    put_in: Vec<PutIn>,
    /// Time of the phase of which nothing was recorded.
    #[serde(default)]
    lost_ms: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PutIn {
    kind: AccountSubjectKind,
    name: String,
    /// What the scenario's text holds; `None` for all that the simulator's idle metric found busy.
    ms: Option<i64>,
    /// What of it is not on the path, and why.
    #[serde(default)]
    beside_ms: i64,
    #[serde(default)]
    because: String,
}

/// What `onoff diagnose` is known to find falsely: its own test holds it to that.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    #[serde(rename = "false")]
    false_: Vec<String>,
}

fn expected<T: DeserializeOwned>(file: &str) -> BTreeMap<String, T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected").join(file);
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const MS: i64 = 1_000_000;
/// A cost may be this far from what was put in, percent.
const WITHIN_PERCENT: i64 = 5;
/// Less than this of a phase may be not known where events were recorded, percent.
const NOT_KNOWN_PERCENT: i64 = 5;

/// Parts of Windows that every boot, shutdown and sleep consists of.
const WINDOWS: &[&str] = &[
    "System",
    "smss.exe",
    "csrss.exe",
    "wininit.exe",
    "winlogon.exe",
    "services.exe",
    "userinit.exe",
    "explorer.exe",
    "LogonUI.exe",
    "video driver, system's session",
    "video driver, user's session",
    "computer policy",
    "user policy",
];

pub(crate) fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = [folder.join("second"), folder]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !LONG.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

pub(crate) fn recorded(name: &str) -> (Trace, Truth) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let file = format!("{name}.toml");
    let second = folder.join("second").join(&file);
    let path = if second.exists() { second } else { folder.join(&file) };
    played(&Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// What a scenario's machine does, as it is read from its recording.
pub(crate) fn played(scenario: &Scenario) -> (Trace, Truth) {
    let Simulated { files, truth } = scenario.simulate().unwrap();
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
    (onoff_files::open(&paths, onoff_findings::TABLES, &Options::default()).unwrap(), truth)
}

fn accounts_of(name: &str) -> Vec<AccountedPhase> {
    accounts(&recorded(name).0, None)
}

/// A scenario's row of the table of the book, and what of it is not as it must be.
fn row(name: &str, planted: &Planted, known: Option<usize>) -> (String, Vec<String>) {
    let (trace, truth) = recorded(name);
    let all = accounts(&trace, None);
    let not_true = if known.is_none() { not_true(&trace, &all, planted) } else { Vec::new() };
    let false_findings = known.unwrap_or(not_true.len());
    let Some(account) = all.iter().find(|phase| phase.phase == planted.phase).map(|phase| &phase.account) else {
        let row = format!("| `{name}` | {} | | | **no account** | | | | |\n", planted.phase);
        let has: Vec<&str> = all.iter().map(|phase| phase.phase.as_str()).collect();
        return (row, vec![format!("{name}: no account of {}, but of {}", planted.phase, has.join(", "))]);
    };
    let mut faults = Vec::new();
    let is_own = |name: &str| WINDOWS.iter().any(|own| own.eq_ignore_ascii_case(name));
    let ms_of = |one: &PutIn| {
        let all_ms = one.ms.unwrap_or_else(|| truth.post_boot.as_ref().map_or(0, |metric| metric.busy_ns / MS));
        all_ms - one.beside_ms
    };
    let found_ns = |one: &PutIn| account.of(one.kind, &one.name).map(|entry| entry.ns).sum::<i64>();
    let put_in_ms: i64 = planted.put_in.iter().map(&ms_of).sum();
    let of_account = || {
        let first = account.entries.iter().find(|entry| entry.kind.is_somebody() && !is_own(&entry.name));
        first.map(|entry| (entry.kind, vec![entry.name.clone()]))
    };
    // A person is no culprit: the account of the phase names the first.
    let of_phase = planted.put_in.first().is_some_and(|one| one.kind == AccountSubjectKind::Person);
    let first = if of_phase {
        of_account()
    } else {
        let in_phase = |name: &str| planted.put_in.is_empty() || name == planted.phase;
        let first = culprits(&all).into_iter().find(|culprit| !culprit.of_system && in_phase(&culprit.phase));
        let first = first.map(|culprit| match culprit.members.len() {
            0 => (culprit.entry.kind, vec![culprit.entry.name]),
            _ => (culprit.entry.kind, culprit.members),
        });
        // Less than a second makes nobody a culprit.
        first.or_else(|| of_account().filter(|_| put_in_ms > 0 && put_in_ms < 1_000))
    };
    let wanted = planted.put_in.first().map(|one| {
        let its = planted.put_in.iter().filter(|other| other.kind == one.kind);
        (one.kind, its.map(|one| one.name.clone()).collect::<Vec<_>>())
    });
    let is_right = match (&first, &wanted) {
        // Several are one culprit where they are a relay; else the first of them must be first.
        (Some((kind, names)), Some((wanted_kind, wanted))) => {
            kind == wanted_kind && (names == wanted || names.as_slice() == wanted.get(..1).unwrap_or_default())
        }
        (first, wanted) => first.is_none() && wanted.is_none(),
    };
    if !is_right {
        faults.push(format!("{name}: first {first:?}, put in {wanted:?}"));
    }
    let found_ms = planted.put_in.iter().map(&found_ns).sum::<i64>() / MS;
    let off_ms = (found_ms - put_in_ms).abs();
    if off_ms * 100 > put_in_ms * WITHIN_PERCENT {
        faults.push(format!("{name}: {found_ms} ms, put in {put_in_ms} ms"));
    }
    // Of the path, what the account gives to whom it belongs: those put in, and Windows the rest.
    let length = account.duration_ns;
    let lost_ns = planted.lost_ms * MS;
    let rest_ns = length - put_in_ms * MS - lost_ns;
    let is_put_in = |entry: &AccountEntry| {
        planted.put_in.iter().any(|one| one.kind == entry.kind && one.name.eq_ignore_ascii_case(&entry.name))
    };
    let others = account.entries.iter().filter(|entry| !is_put_in(entry) && entry.not_known.is_none());
    let others_ns: i64 = others.map(|entry| entry.ns).sum();
    let its_ns: i64 = planted.put_in.iter().map(|one| found_ns(one).min(ms_of(one) * MS)).sum();
    let right_ns = its_ns + others_ns.min(rest_ns) + account.not_known_ns.min(lost_ns);
    if right_ns * 100 < length * (100 - WITHIN_PERCENT) {
        faults.push(format!("{name}: {} of {} ms of the path are right", right_ns / MS, length / MS));
    }
    if (account.not_known_ns - lost_ns) * 100 >= length * NOT_KNOWN_PERCENT {
        faults.push(format!("{name}: {} ms of {} are not known", account.not_known_ns / MS, length / MS));
    }
    if false_findings > 0 {
        faults.push(format!("{name}: {false_findings} findings are false: {}", not_true.join("; ")));
    }
    let percent = |part: i64, whole: i64| part as f64 * 100.0 / whole.max(1) as f64;
    let put_in = match planted.put_in.as_slice() {
        [] => "nobody".to_owned(),
        [one] => format!("{} {}", one.kind.as_str(), one.name),
        [first, .., last] => format!("{} {} to {}", first.kind.as_str(), first.name, last.name),
    };
    let because: Vec<&str> =
        planted.put_in.iter().map(|one| one.because.as_str()).filter(|because| !because.is_empty()).collect();
    let beside_ms: i64 = planted.put_in.iter().map(|one| one.beside_ms).sum();
    let beside = match because.first() {
        Some(because) => format!(" ({beside_ms} off the path: {because})"),
        None => String::new(),
    };
    let (cost, off) = match planted.put_in.len() {
        0 => (String::new(), String::new()),
        _ => (format!("{}{beside}", put_in_ms + beside_ms), format!("{:.1} %", percent(off_ms, put_in_ms))),
    };
    let row = format!(
        "| `{name}` | {} | {put_in} | {cost} | {} | {off} | {:.1} % | {false_findings} | {:.1} % |\n",
        planted.phase,
        if is_right { "yes" } else { "**no**" },
        percent(right_ns, length),
        percent(account.not_known_ns, length),
    );
    (row, faults)
}

/// What is said of a recording and is not true of it: culprits and findings with a cost about somebody who was not put
/// in.
fn not_true(trace: &Trace, all: &[AccountedPhase], planted: &Planted) -> Vec<String> {
    let is_put_in = |name: &str| planted.put_in.iter().any(|one| one.name.eq_ignore_ascii_case(name));
    let mut not_true = Vec::new();
    for culprit in culprits(all) {
        let names = if culprit.members.is_empty() { vec![culprit.entry.name] } else { culprit.members };
        for name in names.iter().filter(|name| !culprit.of_system && !is_put_in(name)) {
            not_true.push(format!("culprit {name}, {} ms", culprit.entry.ns / MS));
        }
    }
    for finding in onoff_findings::diagnose(trace, &onoff_findings::diagnosis::DiagnosisOptions::default()).findings {
        let mut names = finding.subject.name.split(" → ");
        if finding.cost_ns.is_some_and(|ns| ns > 0) && !names.all(is_put_in) {
            not_true.push(format!("{} {}: {}", finding.code, finding.subject.name, finding.title));
        }
    }
    not_true
}

/// A table of the book: what was put into each scenario, and what its account says.
fn table(expectations: &str) -> (String, Vec<String>) {
    let mut table = String::from(
        "| scenario | phase | put in | ms | first culprit right | cost off by | path share right | false findings | not known |\n\
         | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    let found = expected::<Found>("findings.toml");
    let mut faults = Vec::new();
    for (name, planted) in expected::<Planted>(expectations) {
        let (row, its) = row(&name, &planted, found.get(&name).map(|found| found.false_.len()));
        table.push_str(&row);
        faults.extend(its);
    }
    (table, faults)
}

/// `ONOFF_WRITE_PAGES=1 cargo test -p onoff-simulator accounts` writes the tables into the page.
#[test]
fn who_was_put_in_is_named_first_with_its_cost_and_the_book_says_so() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/explanation/accounts.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let mut all_faults = Vec::new();
    for (expectations, set) in [("accounts.toml", "accounts"), ("accounts_second.toml", "second set")] {
        let (from, to) = (format!("<!-- {set}: generated -->\n"), format!("<!-- {set}: end -->"));
        let (table, faults) = table(expectations);
        all_faults.extend(faults);
        let (before, rest) = page.split_once(&from).unwrap();
        let (found, after) = rest.split_once(&to).unwrap();
        if std::env::var_os("ONOFF_WRITE_PAGES").is_some() {
            page = format!("{before}{from}{table}{to}{after}");
            std::fs::write(&path, &page).unwrap();
        } else if all_faults.is_empty() {
            assert_eq!(found, table, "the table of {} is out of date", path.display());
        }
    }
    assert!(all_faults.is_empty(), "{}", all_faults.join("\n"));
}

#[test]
fn in_a_healthy_recording_nobody_but_windows_takes_long() {
    for name in ["healthy-boot", "healthy-shutdown", "healthy-sleep"] {
        for phase in accounts_of(name) {
            for entry in phase.account.entries.iter().filter(|entry| entry.kind.is_somebody()) {
                let is_own = WINDOWS.iter().any(|own| own.eq_ignore_ascii_case(&entry.name));
                assert!(
                    is_own || entry.ns < 300_000_000,
                    "{name}: {} took {} ns of {}",
                    entry.name,
                    entry.ns,
                    phase.phase
                );
            }
        }
    }
}
