//! Accounts of simulated machines: they sum to their phases and name the injected culprits.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onoff_blame::account::{AccountEntry, AccountSubjectKind, AccountedPhase, accounts, culprits};
use onoff_files::Options;
use onoff_simulator::{Scenario, SimulatedRecording, Truth};
use onoff_trace::Trace;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Scenarios too long for a test.
const SLOW_SCENARIOS: &[&str] = &["benchmark"];

/// The injected culprits of a scenario; see `expected/accounts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedAccount {
    phase: String,
    #[serde(default)]
    #[serde(rename = "put_in")]
    injected: Vec<InjectedSubject>,
    /// Time of the phase in which nothing was recorded.
    #[serde(default)]
    lost_ms: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InjectedSubject {
    kind: AccountSubjectKind,
    name: String,
    /// Injected time; `None` for all time that is busy in the simulator's idle metric.
    ms: Option<i64>,
    /// Time off the critical path.
    #[serde(default)]
    #[serde(rename = "beside_ms")]
    off_path_ms: i64,
    #[serde(default)]
    #[serde(rename = "because")]
    reason: String,
}

/// False findings that `onoff diagnose` is known to report, which another test checks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ExpectedFindings {
    #[serde(rename = "false")]
    false_: Vec<String>,
}

fn expected<T: DeserializeOwned>(file: &str) -> BTreeMap<String, T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected").join(file);
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const MS: i64 = 1_000_000;
/// Maximum error of a cost, percent.
const MAX_ERROR_PERCENT: i64 = 5;
/// Maximum share of a phase that may be unknown although events were recorded, percent.
const MAX_UNKNOWN_PERCENT: i64 = 5;

/// Parts of Windows in every boot, shutdown and sleep.
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
    "video driver (system session)",
    "video driver (user session)",
    "computer policy",
    "user policy",
];

pub(crate) fn scenario_names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut names: Vec<String> = [folder.join("second"), folder]
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !SLOW_SCENARIOS.contains(&name.as_str()))
        .collect();
    names.sort();
    names
}

/// Simulates the scenario `name` and reads its recording.
pub(crate) fn simulate_named(name: &str) -> (Trace, Truth) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let file = format!("{name}.toml");
    let second_path = folder.join("second").join(&file);
    let path = if second_path.exists() { second_path } else { folder.join(&file) };
    simulate(&Scenario::from_toml(&std::fs::read_to_string(path).unwrap()).unwrap())
}

/// Simulates a scenario and reads its recording.
pub(crate) fn simulate(scenario: &Scenario) -> (Trace, Truth) {
    let SimulatedRecording { files, truth } = scenario.simulate().unwrap();
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
    accounts(&simulate_named(name).0, None)
}

/// Returns a scenario's row of the table in the book, and its errors.
fn row(name: &str, expected_account: &ExpectedAccount, known_false_findings: Option<usize>) -> (String, Vec<String>) {
    let (trace, truth) = simulate_named(name);
    let phases = accounts(&trace, None);
    let false_statements =
        if known_false_findings.is_none() { false_statements(&trace, &phases, expected_account) } else { Vec::new() };
    let false_findings = known_false_findings.unwrap_or(false_statements.len());
    let Some(account) = phases.iter().find(|phase| phase.phase == expected_account.phase).map(|phase| &phase.account)
    else {
        let row = format!("| `{name}` | {} | | | **no account** | | | | |\n", expected_account.phase);
        let phase_names: Vec<&str> = phases.iter().map(|phase| phase.phase.as_str()).collect();
        return (
            row,
            vec![format!("{name}: no account of {}, but of {}", expected_account.phase, phase_names.join(", "))],
        );
    };
    let mut errors = Vec::new();
    let is_windows = |name: &str| WINDOWS.iter().any(|part| part.eq_ignore_ascii_case(name));
    let ms_of = |subject: &InjectedSubject| {
        let all_ms = subject.ms.unwrap_or_else(|| truth.post_boot.as_ref().map_or(0, |metric| metric.busy_ns / MS));
        all_ms - subject.off_path_ms
    };
    let attributed_ns = |subject: &InjectedSubject| {
        account.entries_named(subject.kind, &subject.name).map(|entry| entry.ns).sum::<i64>()
    };
    let injected_ms: i64 = expected_account.injected.iter().map(&ms_of).sum();
    let first_of_account = || {
        let entry = account.entries.iter().find(|entry| entry.kind.is_attributable() && !is_windows(&entry.name));
        entry.map(|entry| (entry.kind, vec![entry.name.clone()]))
    };
    // A user is never a culprit, but may be the first entry of the phase's account.
    let is_user_input =
        expected_account.injected.first().is_some_and(|subject| subject.kind == AccountSubjectKind::UserInput);
    let first = if is_user_input {
        first_of_account()
    } else {
        let in_phase = |name: &str| expected_account.injected.is_empty() || name == expected_account.phase;
        let culprit = culprits(&phases).into_iter().find(|culprit| !culprit.is_system && in_phase(&culprit.phase));
        let subject = culprit.map(|culprit| match culprit.members.len() {
            0 => (culprit.entry.kind, vec![culprit.entry.name]),
            _ => (culprit.entry.kind, culprit.members),
        });
        // A subject that took less than a second is not a culprit.
        subject.or_else(|| first_of_account().filter(|_| injected_ms > 0 && injected_ms < 1_000))
    };
    let expected_first = expected_account.injected.first().map(|subject| {
        let same_kind = expected_account.injected.iter().filter(|other| other.kind == subject.kind);
        (subject.kind, same_kind.map(|subject| subject.name.clone()).collect::<Vec<_>>())
    });
    let is_correct = match (&first, &expected_first) {
        // Several names form one culprit in a relay; otherwise the first injected subject must come first.
        (Some((kind, names)), Some((expected_kind, expected_names))) => {
            kind == expected_kind
                && (names == expected_names || names.as_slice() == expected_names.get(..1).unwrap_or_default())
        }
        (first, expected_first) => first.is_none() && expected_first.is_none(),
    };
    if !is_correct {
        errors.push(format!("{name}: first {first:?}, expected {expected_first:?}"));
    }
    let attributed_ms = expected_account.injected.iter().map(&attributed_ns).sum::<i64>() / MS;
    let error_ms = (attributed_ms - injected_ms).abs();
    if error_ms * 100 > injected_ms * MAX_ERROR_PERCENT {
        errors.push(format!("{name}: {attributed_ms} ms, injected {injected_ms} ms"));
    }
    // Check the share of the path that is attributed correctly: to the injected subjects, otherwise to Windows.
    let duration_ns = account.duration_ns;
    let lost_ns = expected_account.lost_ms * MS;
    let windows_ns = duration_ns - injected_ms * MS - lost_ns;
    let is_injected = |entry: &AccountEntry| {
        expected_account
            .injected
            .iter()
            .any(|subject| subject.kind == entry.kind && subject.name.eq_ignore_ascii_case(&entry.name))
    };
    let others = account.entries.iter().filter(|entry| !is_injected(entry) && entry.unknown_reason.is_none());
    let others_ns: i64 = others.map(|entry| entry.ns).sum();
    let injected_ns: i64 =
        expected_account.injected.iter().map(|subject| attributed_ns(subject).min(ms_of(subject) * MS)).sum();
    let correct_ns = injected_ns + others_ns.min(windows_ns) + account.unknown_ns.min(lost_ns);
    if correct_ns * 100 < duration_ns * (100 - MAX_ERROR_PERCENT) {
        errors.push(format!("{name}: {} of {} ms of the path attributed correctly", correct_ns / MS, duration_ns / MS));
    }
    if (account.unknown_ns - lost_ns) * 100 >= duration_ns * MAX_UNKNOWN_PERCENT {
        errors.push(format!("{name}: {} ms of {} unknown", account.unknown_ns / MS, duration_ns / MS));
    }
    if false_findings > 0 {
        errors.push(format!("{name}: {false_findings} false findings: {}", false_statements.join("; ")));
    }
    let percent = |part: i64, total: i64| part as f64 * 100.0 / total.max(1) as f64;
    let injected = match expected_account.injected.as_slice() {
        [] => "none".to_owned(),
        [subject] => format!("{} {}", subject.kind.as_str(), subject.name),
        [first, .., last] => format!("{} {} to {}", first.kind.as_str(), first.name, last.name),
    };
    let reasons: Vec<&str> = expected_account
        .injected
        .iter()
        .map(|subject| subject.reason.as_str())
        .filter(|reason| !reason.is_empty())
        .collect();
    let off_path_ms: i64 = expected_account.injected.iter().map(|subject| subject.off_path_ms).sum();
    let off_path = match reasons.first() {
        Some(reason) => format!(" ({off_path_ms} off the path: {reason})"),
        None => String::new(),
    };
    let (cost, cost_error) = match expected_account.injected.len() {
        0 => (String::new(), String::new()),
        _ => (format!("{}{off_path}", injected_ms + off_path_ms), format!("{:.1} %", percent(error_ms, injected_ms))),
    };
    let row = format!(
        "| `{name}` | {} | {injected} | {cost} | {} | {cost_error} | {:.1} % | {false_findings} | {:.1} % |\n",
        expected_account.phase,
        if is_correct { "yes" } else { "**no**" },
        percent(correct_ns, duration_ns),
        percent(account.unknown_ns, duration_ns),
    );
    (row, errors)
}

/// Returns false statements about a recording: culprits, and findings with a cost, whose subject was not injected.
fn false_statements(trace: &Trace, phases: &[AccountedPhase], expected_account: &ExpectedAccount) -> Vec<String> {
    let is_injected =
        |name: &str| expected_account.injected.iter().any(|subject| subject.name.eq_ignore_ascii_case(name));
    let mut false_statements = Vec::new();
    for culprit in culprits(phases) {
        let names = if culprit.members.is_empty() { vec![culprit.entry.name] } else { culprit.members };
        for name in names.iter().filter(|name| !culprit.is_system && !is_injected(name)) {
            false_statements.push(format!("culprit {name}, {} ms", culprit.entry.ns / MS));
        }
    }
    for finding in onoff_findings::diagnose(trace, &onoff_findings::diagnosis::DiagnosisOptions::default()).findings {
        let mut names = finding.subject.name.split(" → ");
        if finding.cost_ns.is_some_and(|ns| ns > 0) && !names.all(is_injected) {
            false_statements.push(format!("{} {}: {}", finding.code, finding.subject.name, finding.title));
        }
    }
    false_statements
}

/// Returns a table of the book with the injected subjects of each scenario and the results of its account.
fn table(expectations: &str) -> (String, Vec<String>) {
    let mut table = String::from(
        "| scenario | phase | injected | ms | first culprit correct | cost error | path correct | false findings | unknown |\n\
         | --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    let findings = expected::<ExpectedFindings>("findings.toml");
    let mut errors = Vec::new();
    for (name, expected_account) in expected::<ExpectedAccount>(expectations) {
        let (row, row_errors) =
            row(&name, &expected_account, findings.get(&name).map(|expected| expected.false_.len()));
        table.push_str(&row);
        errors.extend(row_errors);
    }
    (table, errors)
}

/// `ONOFF_WRITE_PAGES=1 cargo test -p onoff-simulator accounts` writes the tables into the page.
#[test]
fn names_injected_culprits_first_with_their_costs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/src/explanation/accounts.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let mut all_errors = Vec::new();
    for (expectations, set) in [("accounts.toml", "accounts"), ("accounts_second.toml", "second set")] {
        let (start_marker, end_marker) = (format!("<!-- {set}: generated -->\n"), format!("<!-- {set}: end -->"));
        let (table, errors) = table(expectations);
        all_errors.extend(errors);
        let (before, remaining) = page.split_once(&start_marker).unwrap();
        let (committed, after) = remaining.split_once(&end_marker).unwrap();
        if std::env::var_os("ONOFF_WRITE_PAGES").is_some() {
            page = format!("{before}{start_marker}{table}{end_marker}{after}");
            std::fs::write(&path, &page).unwrap();
        } else if all_errors.is_empty() {
            assert_eq!(committed, table, "the table of {} is out of date", path.display());
        }
    }
    assert!(all_errors.is_empty(), "{}", all_errors.join("\n"));
}

#[test]
fn healthy_recordings_blame_only_windows() {
    for name in ["healthy-boot", "healthy-shutdown", "healthy-sleep"] {
        for phase in accounts_of(name) {
            for entry in phase.account.entries.iter().filter(|entry| entry.kind.is_attributable()) {
                let is_windows = WINDOWS.iter().any(|part| part.eq_ignore_ascii_case(&entry.name));
                assert!(
                    is_windows || entry.ns < 300_000_000,
                    "{name}: {} took {} ns of {}",
                    entry.name,
                    entry.ns,
                    phase.phase
                );
            }
        }
    }
}
