//! Boots of one journal: an injected change is found with the slower unit and the preceding update. A steady journal
//! and a single slow boot have no change.

use onoff::Session;
use onoff::answers::compare::boot_history::{BootChange, BootHistory, UpdateKind};
use onoff::report::text::boot_history as history;
use onoff_testkit::linux::{JournaledBoot, LinuxMachine, LinuxUnit, SimulationResult, journal_of_boots};

const MS: i64 = 1_000_000;
const WAIT: &str = "NetworkManager-wait-online.service";

/// Simulates a boot that waits `wait_ms` for the network. Boots vary slightly by `number`.
fn boot(number: usize, wait_ms: i64) -> SimulationResult {
    let number = number as i64;
    LinuxMachine::healthy()
        .wanted_unit(LinuxUnit::new(WAIT).after("basic.target").sleep_ms(wait_ms + number * 37 % 90))
        .wanted_unit(LinuxUnit::new("noisy.service").after("basic.target").sleep_ms(300 + number * 53 % 200))
        .unit(LinuxUnit::new("other.service").sleep_ms(5_000 + number * 71 % 400).trigger("dbus.service", 10))
        .simulate_boot()
}

/// Removes the color codes.
fn strip_colors(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let start = parts.next().unwrap_or_default().to_owned();
    parts.fold(start, |plain, part| plain + part.split_once('m').map_or(part, |(_, text)| text))
}

/// Analyzes the history of boots with these waits, one boot per day. Boot `update_boot` logs the `messages`; later
/// boots run another kernel.
fn analyze_history(waits_ms: &[i64], (update_boot, messages): (usize, &[(&str, &str)])) -> (BootHistory, String) {
    let simulated: Vec<SimulationResult> = waits_ms.iter().enumerate().map(|(number, &ms)| boot(number, ms)).collect();
    let boots: Vec<JournaledBoot<'_>> = simulated
        .iter()
        .enumerate()
        .map(|(number, simulated)| JournaledBoot {
            files: &simulated.files,
            day: number as i64,
            messages: if number == update_boot { messages } else { &[] },
            kernel: if number > update_boot { "6.1.0-51-amd64" } else { "6.1.0-50-amd64" },
        })
        .collect();
    let session = Session::from_bytes([("journal.export".to_owned(), journal_of_boots(&boots))]).unwrap();
    let history = session.boot_history(30).unwrap();
    let mut text = Vec::new();
    history::write(&history, 30, &mut text).unwrap();
    (history, strip_colors(&String::from_utf8(text).unwrap()))
}

const UPGRADE_MESSAGES: [(&str, &str); 3] = [
    ("sudo", "ann : TTY=pts/0 ; PWD=/home/ann ; USER=root ; COMMAND=/usr/bin/apt full-upgrade"),
    ("dpkg", "upgrade network-manager:amd64 1.42.4-1 1.42.4-2"),
    ("cron", "(root) CMD (upgrade everything now later)"),
];

#[test]
fn finds_injected_change_with_unit_and_update() {
    let waits: Vec<i64> = (0..30).map(|number| if number < 12 { 1_000 } else { 4_100 }).collect();
    let (history, text) = analyze_history(&waits, (11, &UPGRADE_MESSAGES));
    let [change] = &history.changes[..] else { panic!("{:#?}", history.changes) };
    assert_eq!(
        (change.phase.as_str(), change.last_boot_before, change.first_boot_after),
        ("user_space", -18, -17),
        "{text}"
    );
    assert_eq!((change.boots_before, change.boots_after), (12, 18));
    // The injected change is 3.1 s.
    assert!((change.difference_ns - 3_100 * MS).abs() < 150 * MS, "{change:#?}");
    assert!(change.low_ns > 2_900 * MS && change.high_ns < 3_300 * MS, "{change:#?}");
    assert!(change.p_value <= 0.001);
    let unit = &change.units[0];
    assert_eq!(unit.name, WAIT);
    assert!(unit.explains && unit.remaining_ns.abs() < 200 * MS, "{unit:?}");
    assert_eq!(change.units.iter().filter(|unit| unit.explains).count(), 1, "{:?}", change.units);
    let kinds: Vec<(UpdateKind, &str)> =
        change.updates.iter().map(|update| (update.kind, update.is.as_str())).collect();
    assert_eq!(
        kinds,
        [(UpdateKind::Command, ""), (UpdateKind::Package, "1.42.4-2"), (UpdateKind::Kernel, "6.1.0-51-amd64")]
    );
    // The update has the date of its log entry: the simulation starts on November 22, and this is boot 12.
    let headline = text.lines().next().unwrap();
    let expected = "The last 30 finished boots of machine: since the update on 2026-12-04, user space takes 3.1";
    assert!(headline.starts_with(expected) && headline.ends_with(&format!(" s more: {WAIT}.")), "{headline}");
}

#[test]
fn reverted_change_is_two_changes() {
    let waits: Vec<i64> = (0..30).map(|number| if (10..20).contains(&number) { 4_100 } else { 1_000 }).collect();
    let (history, text) = analyze_history(&waits, (usize::MAX, &[]));
    let boots_of_changes: Vec<(i64, i64)> =
        history.changes.iter().map(|change| (change.first_boot_after, change.difference_ns.signum())).collect();
    assert_eq!(boots_of_changes, [(-19, 1), (-9, -1)], "{text}");
    assert!(
        history.changes.iter().all(|change: &BootChange| change.updates.is_empty() && change.units[0].name == WAIT)
    );
    assert!(text.contains("The journal has no update in between"), "{text}");
}

#[test]
fn steady_journal_has_no_change() {
    let (history, text) = analyze_history(&[1_000; 30], (usize::MAX, &[]));
    assert_eq!(history.changes, [], "{text}");
    assert!(text.starts_with("The last 30 finished boots of machine: no part of the boot changed"), "{text}");
    // An update alone is not a change.
    let (history, text) = analyze_history(&[1_000; 30], (11, &UPGRADE_MESSAGES));
    assert_eq!(history.changes, [], "{text}");
}

#[test]
fn single_slow_boot_is_not_a_change() {
    for slow in [0, 14, 29] {
        let mut waits = [1_000; 30];
        waits[slow] = 40_000;
        let (history, text) = analyze_history(&waits, (usize::MAX, &[]));
        assert_eq!(history.changes, [], "{slow}: {text}");
    }
}

#[test]
fn reports_too_few_boots() {
    let (history, text) = analyze_history(&[1_000, 1_000, 4_100, 4_100], (1, &UPGRADE_MESSAGES));
    assert_eq!(history.changes, []);
    assert!(text.contains("too few to separate a change from noise"), "{text}");
}

#[test]
fn lists_incomplete_boots_without_comparing() {
    let mut simulated: Vec<SimulationResult> =
        (0..20).map(|number| boot(number, if number < 10 { 1_000 } else { 4_100 })).collect();
    let hangs =
        LinuxUnit::new("stuck.service").after("basic.target").start_outcome(onoff_testkit::linux::StartOutcome::Hangs);
    simulated.insert(10, LinuxMachine::healthy().wanted_unit(hangs).simulate_boot());
    let boots: Vec<JournaledBoot<'_>> = (0..)
        .zip(&simulated)
        .map(|(day, simulated)| JournaledBoot { files: &simulated.files, day, messages: &[], kernel: "6.1.0-50-amd64" })
        .collect();
    let session = Session::from_bytes([("journal.export".to_owned(), journal_of_boots(&boots))]).unwrap();
    let history = session.boot_history(30).unwrap();
    assert_eq!(history.boots.len(), 21);
    assert_eq!(history.boots.iter().filter(|boot| boot.startup_ns.is_none()).count(), 1);
    let boots_of_changes: Vec<(i64, i64)> =
        history.changes.iter().map(|change| (change.last_boot_before, change.first_boot_after)).collect();
    assert_eq!(boots_of_changes, [(-11, -9)]);
    // A smaller number selects the last boots.
    assert_eq!(
        session.boot_history(5).unwrap().boots.iter().map(|boot| boot.number).collect::<Vec<_>>(),
        [-4, -3, -2, -1, 0]
    );
}
