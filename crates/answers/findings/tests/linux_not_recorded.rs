//! What is said of a long boot of which little was recorded: never that nothing is slow. And of a boot that its processors bind.

use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_findings::{Diagnosis, diagnosis::DiagnosedTransition};
use onoff_testkit::linux::{LinuxMachine, LinuxUnit, Played};

use crate::linux_machine::{codes, diagnosed, of, with};

const MS: i64 = 1_000_000;

/// A boot of 44 s in all: a service of 9.8 s that the target waits for, another of 9.8 s that it does not, the rest in the kernel and
/// before it.
fn boot_of_44_seconds() -> Played {
    let mut machine = with(LinuxUnit::new("database.service").sleeps(9_800))
        .unit(LinuxUnit::new("indexer.service").sleeps(9_800).started_with("dbus.service", 10))
        .before_kernel(Some(8_000), 2_000);
    for (at, before) in ["basic.target", "a.service", "b.service", "c.service"].into_iter().enumerate() {
        let name = ["a.service", "b.service", "c.service", "d.service"][at];
        machine = machine.wanted(LinuxUnit::new(name).after(before).sleeps(5_500));
    }
    machine.boots()
}

fn boot(diagnosis: &Diagnosis) -> &DiagnosedTransition {
    diagnosis.transitions.iter().find(|one| one.name == "boot").unwrap()
}

#[test]
fn without_dependencies_slow_units_are_named_and_what_could_not_be_checked_too() {
    let played = boot_of_44_seconds();
    for (form, files) in [("journal", played.files.journal_alone()), ("all", played.files.all())] {
        let diagnosis = diagnosed(files);
        let took_ns = boot(&diagnosis).at_least_ns;
        assert!((30_000 * MS..50_000 * MS).contains(&took_ns), "{form}: {took_ns}");
        assert!(!diagnosis.findings.is_empty(), "{form}");
        let is_not_checked = |code: &str| diagnosis.not_checked.iter().any(|rule| rule.code == code);
        assert_eq!(is_not_checked("linux/units-in-a-row"), form == "journal", "{form}: {:?}", diagnosis.not_checked);
        if form == "journal" {
            // Each may have been waited for; that it is not recorded is said of each.
            for unit in ["database.service", "indexer.service"] {
                let found = of(&diagnosis, "linux/unit-slow");
                let finding = found
                    .iter()
                    .find(|one| one.subject.name == unit)
                    .unwrap_or_else(|| panic!("{unit}: {:?}", codes(&diagnosis)));
                assert_eq!(finding.cost_basis, CostBasis::AtMost);
                assert!(finding.evidence.iter().any(|one| one.text.contains("not recorded")), "{:?}", finding.evidence);
            }
        } else {
            assert!(codes(&diagnosis).iter().all(|(_, name)| *name != "indexer.service"), "{:?}", codes(&diagnosis));
        }
    }
}

#[test]
fn a_boot_whose_parts_alone_are_known_is_not_called_healthy() {
    let played = boot_of_44_seconds();
    // What `systemctl show` says of the manager: the parts of the start, and no unit.
    let parts: Vec<_> = played.files.all().into_iter().filter(|(name, _)| name.contains("manager")).collect();
    assert_eq!(parts.len(), 1);
    let diagnosis = diagnosed(parts);
    assert!(boot(&diagnosis).at_least_ns >= 30_000 * MS);
    let of_units = diagnosis.not_checked.iter().filter(|rule| rule.needs.contains("when each unit started"));
    assert!(of_units.count() >= 8, "{:?}", diagnosis.not_checked);
    assert!(diagnosis.not_checked.len() as u64 > diagnosis.checked);
}

#[test]
fn a_device_that_everything_waits_for_is_named_without_dependencies_too() {
    let late = |ms: i64| LinuxUnit::new("dev-sda1.device").after("systemd-udevd.service").sleeps(ms);
    let played = LinuxMachine::healthy().unit(late(9_800)).boots();
    let diagnosis = diagnosed(played.files.journal_alone());
    let found = of(&diagnosis, "linux/unit-slow");
    let [finding] = found[..] else { panic!("{:?}", codes(&diagnosis)) };
    assert_eq!((finding.subject.kind, finding.subject.name.as_str()), (FindingSubjectKind::Device, "dev-sda1.device"));
    let cost_ms = finding.cost_ns.unwrap() / MS;
    assert!((9_500..10_100).contains(&cost_ms), "{cost_ms} ms");
    // A device that is there at once.
    let diagnosis = diagnosed(LinuxMachine::healthy().unit(late(350)).boots().files.journal_alone());
    assert_eq!(codes(&diagnosis), []);
    // One that takes as long, while units start.
    let decoy = LinuxMachine::healthy()
        .unit(LinuxUnit::new("dev-ttyS0.device").after("systemd-udevd.service").sleeps(9_800))
        .boots();
    let diagnosis = diagnosed(decoy.files.journal_alone());
    assert!(codes(&diagnosis).iter().all(|(_, name)| *name != "dev-ttyS0.device"), "{:?}", codes(&diagnosis));
}

/// The finding that the processors bind user space, with what that cost, ms.
fn bound_by_processors(diagnosis: &Diagnosis) -> Option<i64> {
    let mut found = diagnosis.findings.iter().filter(|one| one.title.starts_with("No processor was free for"));
    let ms = found.next().and_then(|one| one.cost_ns).map(|ns| ns / MS);
    assert!(found.next().is_none(), "{:?}", codes(diagnosis));
    ms
}

/// Six services that the target waits for, which start together.
fn six_at_once(processors: u16, unit: fn(LinuxUnit) -> LinuxUnit) -> Played {
    let mut machine = LinuxMachine::healthy().processors(processors);
    for name in ["a", "b", "c", "d", "e", "f"] {
        machine = machine.wanted(unit(LinuxUnit::new(&format!("{name}.service")).after("basic.target")));
    }
    machine.boots()
}

#[test]
fn a_boot_that_its_processors_bind_is_called_so() {
    // One processor for 12 s of work: who is done last ran 2 s and had none for the rest.
    let diagnosis = diagnosed(six_at_once(1, |unit| unit.runs(2_000)).files.all());
    let ms = bound_by_processors(&diagnosis).unwrap_or_else(|| panic!("{:?}", codes(&diagnosis)));
    assert!((9_000..10_500).contains(&ms), "{ms} ms");
    assert!(diagnosis.findings.first().unwrap().title.starts_with("No processor was free"), "{:?}", codes(&diagnosis));
    // Silent: as much work, and a processor for each.
    assert_eq!(bound_by_processors(&diagnosed(six_at_once(8, |unit| unit.runs(2_000)).files.all())), None);
    // Decoy: as many units for as long, none of which wants a processor.
    assert_eq!(bound_by_processors(&diagnosed(six_at_once(1, |unit| unit.sleeps(12_000)).files.all())), None);
    // Decoy: one that computes for as long keeps one processor busy, and nobody waits for the other.
    let hog = LinuxMachine::healthy().wanted(LinuxUnit::new("hog.service").after("basic.target").runs(12_000)).boots();
    assert_eq!(bound_by_processors(&diagnosed(hog.files.all())), None);
}

#[test]
fn without_a_trace_nothing_is_said_of_the_processors() {
    let diagnosis = diagnosed(six_at_once(1, |unit| unit.runs(2_000)).files.without_trace());
    assert_eq!(bound_by_processors(&diagnosis), None);
}
