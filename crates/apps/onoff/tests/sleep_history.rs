//! Sleeps of one journal: an injected change is found with the preceding update, and so is the
//! first sleep that fails. A steady journal and a single slow sleep have no change.

use onoff::Session;
use onoff::answers::compare::boot_history::UpdateKind;
use onoff::answers::compare::sleep_history::SleepHistory;
use onoff::report::text::sleep_history as history;
use onoff_testkit::linux::{
    JournaledBoot, LinuxDevice, LinuxMachine, LinuxSleepPlan, SimulationResult, journal_of_boots,
};

const MS: i64 = 1_000_000;
const UPGRADE: [(&str, &str); 2] = [
    ("dpkg", "upgrade firmware-iwlwifi:all 20230210-5 20240610-1"),
    ("cron", "(root) CMD (upgrade everything now later)"),
];

/// Simulates a boot that sleeps once. The wireless adapter resumes in `resume_ms`, or fails to suspend. Sleeps vary
/// slightly by `number`.
fn sleep(number: usize, resume_ms: i64, fails: bool) -> SimulationResult {
    let number = number as i64;
    let wireless = LinuxDevice::new("0000:00:14.3", "iwlwifi").callbacks_ms(60, resume_ms + number * 37 % 90);
    let wireless = if fails { wireless.fails_suspend(-16) } else { wireless };
    let disk = LinuxDevice::new("sda", "sd").callbacks_ms(40 + number * 53 % 30, 300 + number * 71 % 60);
    LinuxMachine::healthy().simulate_sleep(&LinuxSleepPlan {
        devices: vec![disk, wireless],
        asleep_ms: 20_000 + number * 1_000,
        ..LinuxSleepPlan::default()
    })
}

/// Analyzes the history of these sleeps, one boot with a sleep per day. Boot `update_boot` logs an update.
fn analyze(simulated: &[SimulationResult], update_boot: usize) -> (SleepHistory, String) {
    let boots: Vec<JournaledBoot<'_>> = simulated
        .iter()
        .enumerate()
        .map(|(number, simulated)| JournaledBoot {
            files: &simulated.files,
            day: number as i64,
            messages: if number == update_boot { &UPGRADE } else { &[] },
            kernel: "6.1.0-50-amd64",
        })
        .collect();
    let session = Session::from_bytes([("journal.export".to_owned(), journal_of_boots(&boots))]).unwrap();
    let history = session.sleep_history(100).unwrap();
    let mut text = Vec::new();
    history::write(&history, 30, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, text)| text));
    (history, text)
}

#[test]
fn finds_injected_change_with_update() {
    let simulated: Vec<_> = (0..24).map(|number| sleep(number, if number < 10 { 400 } else { 1_900 }, false)).collect();
    let (history, text) = analyze(&simulated, 9);
    let [change] = &history.changes[..] else { panic!("{text}\n{:#?}", history.changes) };
    assert_eq!((change.last_sleep_before, change.first_sleep_after), (-14, -13), "{text}");
    assert!(change.phase.contains("resume"), "{}", change.phase);
    assert!((change.difference_ns - 1_500 * MS).abs() < 100 * MS, "{change:#?}");
    // A journal has no times of devices.
    assert_eq!(change.devices, []);
    let updates: Vec<(UpdateKind, &str)> =
        change.updates.iter().map(|update| (update.kind, update.name.as_str())).collect();
    assert_eq!(updates, [(UpdateKind::Package, "firmware-iwlwifi")]);
    let headline = text.lines().next().unwrap();
    assert!(headline.starts_with("The last 24 sleeps of machine, none failed: since 2026-12-0"), "{headline}");
    assert!(headline.ends_with("s more."), "{headline}");
    // Every sleep is listed with its own times, and the numbers lead to 'onoff suspend --boot --transition'.
    assert_eq!(history.sleeps.len(), 24);
    for (number, sleep) in (0..).zip(&history.sleeps) {
        assert_eq!((sleep.number, sleep.boot, sleep.transition), (number - 23, number - 23, 1));
        let asleep_ns = sleep.asleep_ns.unwrap();
        assert!((asleep_ns - (20_000 + number * 1_000) * MS).abs() < 50 * MS, "{number}: {asleep_ns}");
    }
}

#[test]
fn steady_sleeps_and_a_single_slow_one_have_no_change() {
    let steady: Vec<_> = (0..24).map(|number| sleep(number, 400, false)).collect();
    let (history, text) = analyze(&steady, 9);
    assert_eq!((history.changes, history.failure_changes), (vec![], vec![]), "{text}");
    assert!(text.contains("no part of the sleeps changed significantly"), "{text}");
    let one_slow: Vec<_> = (0..24).map(|number| sleep(number, if number == 11 { 9_000 } else { 400 }, false)).collect();
    let (history, text) = analyze(&one_slow, 9);
    assert_eq!(history.changes, vec![], "{text}");
    // It is the first in the list.
    let first_row = text.lines().find(|line| line.contains("2026-12-03")).unwrap();
    let list: Vec<&str> = text.lines().skip_while(|line| !line.contains("start (UTC)")).collect();
    assert_eq!(list[1], first_row, "{text}");
}

#[test]
fn finds_when_sleeps_began_to_fail() {
    let simulated: Vec<_> = (0..20).map(|number| sleep(number, 400, number >= 12)).collect();
    let (history, text) = analyze(&simulated, 11);
    let [change] = &history.failure_changes[..] else { panic!("{text}\n{:#?}", history.failure_changes) };
    assert_eq!((change.first_sleep_after, change.failed_before, change.failed_after), (-7, 0, 8), "{text}");
    assert_eq!(change.updates.len(), 1);
    assert!(
        text.starts_with("The last 20 sleeps of machine, 8 failed: Since 2026-12-04, 8 of 8 sleeps failed"),
        "{text}"
    );
    // A failed sleep counts from the decision to its exit.
    let failed = history.sleeps.last().unwrap();
    assert!(failed.failed && failed.total_ns.unwrap() > 300 * MS, "{failed:#?}");
    // Failures that are spread over all sleeps are no change.
    let simulated: Vec<_> = (0..20).map(|number| sleep(number, 400, number % 4 == 0)).collect();
    let (history, text) = analyze(&simulated, 11);
    assert_eq!(history.failure_changes, vec![], "{text}");
}

#[test]
fn a_sleep_without_an_end_failed_only_if_another_boot_followed() {
    let mut simulated: Vec<_> = (0..2).map(|number| sleep(number, 400, false)).collect();
    for result in &mut simulated {
        // The journal ends when the machine enters the sleep state.
        let journal = String::from_utf8(result.files.journal.clone()).unwrap();
        let end = journal.find("MESSAGE=PM: Suspending system").unwrap();
        let end = end + journal[end..].find("\n\n").unwrap() + 2;
        result.files.journal.truncate(end);
    }
    let (history, text) = analyze(&simulated, usize::MAX);
    let failed: Vec<bool> = history.sleeps.iter().map(|sleep| sleep.failed).collect();
    assert_eq!(failed, [true, false], "{text}");
    assert!(text.contains("did not wake up: the next record is of another boot"), "{text}");
    assert!(text.contains("too few to separate a change from noise"), "{text}");
}

#[test]
fn exports_of_one_computer_are_one_recording() {
    let simulated: Vec<_> = (0..3).map(|number| sleep(number, 400, false)).collect();
    let export = |number: usize| {
        let files = &simulated[number].files;
        let boot = |day: i64| JournaledBoot { files, day, messages: &[], kernel: "6.1.0-50-amd64" };
        let text = String::from_utf8(journal_of_boots(&[boot(number as i64)])).unwrap();
        // The writer numbers the boots of each export from the same id.
        text.replace("6000\n", &format!("600{number}\n")).into_bytes()
    };
    let name = |number: usize| format!("boots/boot{number}.export");
    let session = Session::from_bytes((0..3).map(|number| (name(number), export(number)))).unwrap();
    assert_eq!(session.sleep_history(100).unwrap().sleeps.len(), 3);
    // An export of another computer is another recording.
    let other = String::from_utf8(export(1)).unwrap();
    let other = other.replace("5c61d648e6dd4ef099ea0f4ccc0fe160", "5c61d648e6dd4ef099ea0f4ccc0fe161");
    let other = other.replace("_HOSTNAME=machine", "_HOSTNAME=other").replace("6001\n", "6009\n").into_bytes();
    assert!(Session::from_bytes([(name(0), export(0)), (name(1), other)]).is_err());
}
