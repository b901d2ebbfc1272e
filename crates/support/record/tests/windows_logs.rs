//! Reading and packing the event logs of a fake Windows computer.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;

use flate2::read::GzDecoder;
use onoff_record::collection::CollectionSummary;
use onoff_record::machine::MachineFiles;
use onoff_record::running::RunningSystem;
use onoff_record::windows::account_names::redaction_for;
use onoff_record::windows::collection::{LogRange, write};
use onoff_record::windows::export::EventLog;
use onoff_record::windows::logs::{CHANNELS, add_traces_and_reports, inspect};
use onoff_testkit::planted_logs::{self, FIRST_START_NS, NAMES};

use crate::windows_job::{Windows, windows};

const LOGS: &str = "C:/Windows/System32/winevt/Logs";
const TRACES: &str = "C:/Windows/System32/WDI/LogFiles";
const POLICY: &str = "Microsoft-Windows-GroupPolicy%4Operational.evtx";

fn write_file(machine: &Windows, path: &str, contents: &[u8]) {
    let path = machine.host_path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, contents).unwrap();
}

/// Makes a log unreadable: a folder of its name can be opened but not read.
fn lock(machine: &Windows, name: &str) {
    let path = machine.host_path(&format!("{LOGS}/{name}"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
}

fn computer() -> Windows {
    let machine = Windows::new();
    for (name, bytes) in planted_logs::files() {
        write_file(&machine, &format!("{LOGS}/{name}"), &bytes);
        write_file(&machine, &format!("C:/fake/logs/{name}"), &bytes);
    }
    write_file(&machine, &format!("{LOGS}/Security.evtx"), b"not wanted");
    write_file(&machine, &format!("{TRACES}/BootPerfDiagLogger.etl"), b"trace");
    machine.computer().remember("sleepstudy.html", "<html>report of DESK-7</html>");
    for user in ["Public", "anna.m", "Zo\u{eb}.CORP"] {
        fs::create_dir_all(machine.host_path(&format!("C:/Users/{user}"))).unwrap();
    }
    machine
}

fn names(system: &RunningSystem) -> Vec<String> {
    let paths = system.logs.iter().map(|path| path.display().to_string());
    let files = system.files.iter().map(|file| file.name.clone());
    paths.chain(files).map(|path| path.rsplit('/').next().unwrap().to_owned()).collect()
}

#[test]
fn reads_the_channels_that_exist_and_nothing_else() {
    let mut machine = computer();
    let system = inspect(&mut machine, &windows());
    let mut found = names(&system);
    let mut expected: Vec<String> = planted_logs::files().into_iter().map(|(name, _)| name).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(system.unreadable, []);
    assert_eq!(system.absent.len(), CHANNELS.len() - found.len());
    assert!(system.absent[0].starts_with("this Windows has no log Setup ("), "{:?}", system.absent);
    assert!(machine.commands().is_empty());
}

#[test]
fn exports_logs_that_cannot_be_opened() {
    let mut machine = computer();
    lock(&machine, POLICY);
    let system = inspect(&mut machine, &windows());
    assert_eq!((system.logs.len(), system.files.len(), system.unreadable.len()), (6, 1, 0));
    let (_, expected) = planted_logs::files().into_iter().find(|(name, _)| name == POLICY).unwrap();
    assert_eq!(system.files[0].bytes, expected);
    // It has the name of the file that it replaces, because files of one folder are of one computer.
    assert!(system.files[0].name.ends_with(&format!("{LOGS}/{POLICY}")), "{}", system.files[0].name);
    let [command] = &machine.commands()[..] else { panic!("{:?}", machine.commands()) };
    let file = command.strip_prefix("wevtutil epl Microsoft-Windows-GroupPolicy/Operational ").unwrap();
    assert!(!fs::exists(file).unwrap(), "{file} is left behind");
}

#[test]
fn unreadable_logs_are_reported_together_with_advice() {
    let mut machine = computer();
    for name in ["System.evtx", POLICY] {
        lock(&machine, name);
        fs::remove_file(machine.host_path(&format!("C:/fake/logs/{name}"))).unwrap();
    }
    let system = inspect(&mut machine, &windows());
    assert_eq!((system.logs.len(), system.files.len()), (5, 0));
    let [unreadable] = &system.unreadable[..] else { panic!("{:?}", system.unreadable) };
    let problem = &unreadable.problem;
    let start = "cannot read the event logs System, Microsoft-Windows-GroupPolicy/Operational: ";
    assert!(
        problem.starts_with(start) && problem.ends_with("; wevtutil.exe: exit code 5: Access is denied."),
        "{problem}"
    );
    assert!(unreadable.remedy.contains("Run as administrator"));

    let system = inspect(&mut Windows::new(), &windows());
    assert!(system.unreadable[0].problem.starts_with("no event logs in "), "{:?}", system.unreadable);
}

/// Packs a computer's logs, and returns the members of the archive.
fn pack(machine: &mut Windows, range: &LogRange, redact: bool) -> (Vec<(String, Vec<u8>)>, CollectionSummary) {
    let mut system = inspect(machine, &windows());
    let contents: Vec<(String, Vec<u8>)> =
        system.logs.iter().map(|path| (path.display().to_string(), fs::read(path).unwrap())).collect();
    let logs: Vec<EventLog<'_>> = contents.iter().map(|(name, bytes)| EventLog { name, bytes }).collect();
    add_traces_and_reports(machine, &windows(), &mut system);
    let redaction = redact.then(|| redaction_for(machine, &windows()));
    let mut packed = Vec::new();
    let summary = write(&system, &logs, range, redaction, &mut packed).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(&packed[..]));
    let members = archive.entries().unwrap().map(|member| {
        let mut member = member.unwrap();
        let mut bytes = Vec::new();
        member.read_to_end(&mut bytes).unwrap();
        (member.path().unwrap().to_string_lossy().into_owned(), bytes)
    });
    (members.collect(), summary)
}

fn member<'m>(members: &'m [(String, Vec<u8>)], name: &str) -> &'m [u8] {
    let found = members.iter().find(|(member, _)| member == &format!("collected/{name}"));
    &found.unwrap_or_else(|| panic!("{name}: {:?}", members.iter().map(|(name, _)| name).collect::<Vec<_>>())).1
}

fn contains(bytes: &[u8], name: &str) -> bool {
    String::from_utf8_lossy(bytes).to_lowercase().contains(&name.to_lowercase())
}

#[test]
fn packs_logs_as_they_are_and_compresses_the_rest() {
    let mut machine = computer();
    let (members, summary) = pack(&mut machine, &LogRange::default(), false);
    for (name, bytes) in planted_logs::files() {
        assert_eq!(member(&members, &name), bytes, "{name}");
    }
    let mut trace = Vec::new();
    GzDecoder::new(member(&members, "BootPerfDiagLogger.etl.gz")).read_to_end(&mut trace).unwrap();
    assert_eq!(trace, b"trace");
    assert!(!member(&members, "sleepstudy-report.html.gz").is_empty());
    assert_eq!((summary.file_count, summary.replaced), (members.len(), None));
    let about: serde_json::Value = serde_json::from_slice(member(&members, "recording.json")).unwrap();
    assert_eq!(about["kind"], "collected");
    let missing = about["missing"].to_string();
    assert!(missing.contains("ShutdownPerfDiagLogger.etl") && missing.contains("no log Setup"), "{missing}");
    assert_eq!(machine.commands().len(), 1);
}

#[test]
fn redaction_removes_all_planted_names() {
    let (members, summary) = pack(&mut computer(), &LogRange::default(), true);
    for (name, bytes) in &members {
        for planted in NAMES.iter().chain(&["Zo\u{eb}", "616e6e61"]) {
            assert!(!contains(bytes, planted), "{planted} in {name}: {}", String::from_utf8_lossy(bytes));
        }
    }
    assert!(members.iter().all(|(name, _)| name.ends_with(".xml") || name.ends_with(".json")));
    let replaced = summary.replaced.unwrap();
    assert_eq!((replaced.security_ids, replaced.kept.len()), (1, 0));
    assert!(
        summary.left_out.contains(&"BootPerfDiagLogger.etl: cannot be redacted".to_owned()),
        "{:?}",
        summary.left_out
    );
    // What onoff reads stays, also what looks like a name or address but is not.
    let performance = member(&members, "Microsoft-Windows-Diagnostics-Performance%4Operational.xml");
    assert!(contains(performance, "8.1.0.5") && contains(performance, "tool.exe") && contains(performance, "38336"));
    // Without redaction, the records have the planted names, so the checks above would find them.
    let range = LogRange { since_unix_ns: Some(0), ..LogRange::default() };
    let (members, _) = pack(&mut computer(), &range, false);
    for planted in NAMES {
        assert!(members.iter().any(|(_, bytes)| contains(bytes, planted)), "{planted}");
    }
}

#[test]
fn a_range_leaves_out_earlier_records() {
    let day_ns = 86_400_000_000_000;
    let range = LogRange { boots: vec!["last".to_owned()], since_unix_ns: Some(FIRST_START_NS + 2 * day_ns) };
    let (members, summary) = pack(&mut computer(), &range, false);
    let accounts =
        String::from_utf8_lossy(member(&members, "Microsoft-Windows-Diagnostics-Performance%4Operational.xml"))
            .matches("<EventID>100<")
            .count();
    assert_eq!((accounts, summary.boots), (1, vec!["last".to_owned()]));
}

#[test]
fn damage_is_listed() {
    let mut machine = computer();
    let path = machine.host_path(&format!("{LOGS}/System.evtx"));
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096] = b'X';
    fs::write(&path, bytes).unwrap();
    write_file(&machine, &format!("{LOGS}/{POLICY}"), b"no event log");
    let (members, summary) = pack(&mut machine, &LogRange::default(), true);
    let losses: Vec<&String> = summary.left_out.iter().filter(|text| text.contains(".evtx: ")).collect();
    assert_eq!(losses[0], "System.evtx: damaged chunks: 1, unreadable records: 0");
    assert!(losses[1].starts_with(&format!("{POLICY}: byte offset 0: not an event log")), "{losses:?}");
    assert!(contains(member(&members, "recording.json"), "damaged chunks"));
}
