//! Accounts of whole simulated machines: they sum to their phases, and name those who were put in.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use onoff_analysis::account::{AccountSubjectKind, AccountedPhase, PhaseAccount, accounts};
use onoff_analysis::waits;
use onoff_files::Options;
use onoff_testkit::simulate::{Scenario, Simulated};
use onoff_trace::Trace;

/// Scenarios too long for a test: the benchmark is walked by the benchmark.
const LONG: &[&str] = &["benchmark"];

/// Who makes a phase of a scenario long, by the scenario's own text.
struct PutIn {
    scenario: &'static str,
    phase: &'static str,
    kind: AccountSubjectKind,
    name: &'static str,
    ms: i64,
    /// What of it lies beside the path, ms, with the reason.
    beside: (i64, &'static str),
}

const EXACT: (i64, &str) = (0, "");

const fn put_in(
    scenario: &'static str,
    phase: &'static str,
    kind: AccountSubjectKind,
    name: &'static str,
    ms: i64,
    beside: (i64, &'static str),
) -> PutIn {
    PutIn { scenario, phase, kind, name, ms, beside }
}

const PUT_IN: &[PutIn] = &[
    put_in("antivirus", "ExplorerInit", AccountSubjectKind::Process, "MsMpEng.exe", 2_250, EXACT),
    put_in("boot-driver", "PreSMSS", AccountSubjectKind::Driver, "RaidWatch", 2_600, EXACT),
    put_in(
        "cpu-bound-logon",
        "WinLogonInit",
        AccountSubjectKind::Process,
        "profilecheck.exe",
        9_000,
        (210, "it starts before the logon waits for it"),
    ),
    put_in("logon-subscriber", "WinLogonInit", AccountSubjectKind::Subscriber, "AuditAgent", 5_000, EXACT),
    put_in("long-dpc", "WinLogonInit", AccountSubjectKind::Driver, "netadapt", 900, EXACT),
    put_in("lost-events", "WinLogonInit", AccountSubjectKind::Service, "IndexBuilder", 7_000, EXACT),
    put_in("network-drive", "WinLogonInit", AccountSubjectKind::Driver, "netadapt", 4_600, EXACT),
    put_in("nfs-client", "WinLogonInit", AccountSubjectKind::Service, "NfsClnt", 26_000, EXACT),
    put_in("person-logs-on", "WinLogonInit", AccountSubjectKind::Person, "credentials", 6_500, EXACT),
    put_in(
        "service-waits-20s",
        "WinLogonInit",
        AccountSubjectKind::Process,
        "licencehelper.exe",
        20_000,
        (170, "it sleeps before the logon waits for it"),
    ),
    put_in(
        "shell-waits-for-service",
        "ExplorerInit",
        AccountSubjectKind::Service,
        "MenuProvider",
        6_000,
        (520, "it computes while the shell still works"),
    ),
    put_in("shutdown-slow-console", "UserSession", AccountSubjectKind::Process, "slow_shutdown.exe", 5_000, EXACT),
    put_in("sleep-slow-driver", "SuspendDevices", AccountSubjectKind::Driver, "piwddev", 20_000, EXACT),
    put_in("table-6-no-pended-requests", "PreSMSS", AccountSubjectKind::Driver, "Ramdisk", 15_214, EXACT),
    put_in(
        "table-7-slow-service-in-group",
        "WinLogonInit",
        AccountSubjectKind::Service,
        "Slowsvc",
        6_000,
        (517, "it starts before the logon waits for its group"),
    ),
];

/// A cost may be this far from what was put in, percent.
const WITHIN_PERCENT: i64 = 5;

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
    "video driver",
    "computer policy",
    "user policy",
];

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
    onoff_files::open(&paths, waits::TABLES, &Options::default()).unwrap()
}

fn accounts_of(name: &str) -> Vec<AccountedPhase> {
    accounts(&recorded(name), None)
}

fn phase<'a>(all: &'a [AccountedPhase], name: &str) -> &'a PhaseAccount {
    &all.iter().find(|phase| phase.phase == name).unwrap().account
}

#[test]
fn the_parts_of_every_phase_of_every_scenario_sum_to_it() {
    let mut phases = 0;
    for name in names() {
        for phase in &accounts_of(&name) {
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

/// The table of the book: what was put into each scenario, and what its account says.
fn table() -> String {
    let mut table = String::from(
        "| scenario | phase | put in | ms | account says | ms | not known |\n| --- | --- | --- | ---: | --- | ---: | ---: |\n",
    );
    for row in PUT_IN {
        let all = accounts_of(row.scenario);
        let account = phase(&all, row.phase);
        let is_own = |name: &str| WINDOWS.iter().any(|own| own.eq_ignore_ascii_case(name));
        let first = account.entries.iter().find(|entry| entry.kind.is_somebody() && !is_own(&entry.name)).unwrap();
        assert_eq!((first.kind, first.name.as_str()), (row.kind, row.name), "{}", row.scenario);
        let expected = row.ms - row.beside.0;
        let off = (first.ns / 1_000_000 - expected).abs();
        assert!(
            off * 100 <= expected * WITHIN_PERCENT,
            "{}: {} ms, put in {expected}",
            row.scenario,
            first.ns / 1_000_000
        );
        assert!(account.not_known_ns * 20 < account.duration_ns, "{}", row.scenario);
        let beside = match row.beside {
            (0, _) => String::new(),
            (ms, reason) => format!(" ({ms} beside the path: {reason})"),
        };
        let unknown = account.not_known_ns as f64 * 100.0 / account.duration_ns as f64;
        let _ = writeln!(
            table,
            "| `{}` | {} | {} {} | {}{beside} | {} {} | {} | {unknown:.1} % |",
            row.scenario,
            row.phase,
            row.kind.as_str(),
            row.name,
            row.ms,
            first.kind.as_str(),
            first.name,
            first.ns / 1_000_000,
        );
    }
    table
}

/// `ONOFF_WRITE_PAGES=1 cargo test -p onoff-testkit accounts` writes the table into the page.
#[test]
fn who_was_put_in_is_named_first_with_its_cost_and_the_book_says_so() {
    const FROM: &str = "<!-- accounts: generated -->\n";
    const TO: &str = "<!-- accounts: end -->";
    let table = table();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/understand/accounts.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(FROM).unwrap();
    let (found, after) = rest.split_once(TO).unwrap();
    if std::env::var_os("ONOFF_WRITE_PAGES").is_some() {
        std::fs::write(&path, format!("{before}{FROM}{table}{TO}{after}")).unwrap();
        return;
    }
    assert_eq!(found, table, "the table of {} is out of date", path.display());
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
