//! Long boots with incomplete recordings, which must never be reported as healthy, and CPU-bound boots.

use onoff_evidence::Certainty;
use onoff_findings::finding::{CostBasis, FindingSubjectKind};
use onoff_findings::{Diagnosis, diagnosis::DiagnosedTransition};
use onoff_testkit::linux::{LinuxMachine, LinuxUnit, SimulationResult};

use crate::linux_machine::{codes, diagnosed, findings_of, with};

const MS: i64 = 1_000_000;

/// A boot of 44 s: four services of 5.5 s on the critical path, two of 9.8 s beside it, and the rest in the kernel and
/// before it.
fn boot_of_44_seconds() -> SimulationResult {
    let mut machine = with(LinuxUnit::new("database.service").sleep_ms(9_800))
        .unit(LinuxUnit::new("indexer.service").sleep_ms(9_800).trigger("dbus.service", 10))
        .firmware_and_loader_ms(Some(8_000), 2_000);
    for (index, previous) in ["basic.target", "a.service", "b.service", "c.service"].into_iter().enumerate() {
        let name = ["a.service", "b.service", "c.service", "d.service"][index];
        machine = machine.wanted_unit(LinuxUnit::new(name).after(previous).sleep_ms(5_500));
    }
    machine.simulate_boot()
}

fn boot(diagnosis: &Diagnosis) -> &DiagnosedTransition {
    diagnosis.transitions.iter().find(|transition| transition.name == "boot").unwrap()
}

#[test]
fn reports_slow_units_and_unchecked_rules_without_dependencies() {
    let played = boot_of_44_seconds();
    for (form, files) in [("journal", played.files.journal_file()), ("all", played.files.all_files())] {
        let diagnosis = diagnosed(files);
        let took_ns = boot(&diagnosis).at_least_ns;
        assert!((30_000 * MS..50_000 * MS).contains(&took_ns), "{form}: {took_ns}");
        assert!(!diagnosis.findings.is_empty(), "{form}");
        let is_unchecked = |code: &str| diagnosis.unchecked_rules.iter().any(|rule| rule.code == code);
        assert_eq!(is_unchecked("linux/unit-chain"), form == "journal", "{form}: {:?}", diagnosis.unchecked_rules);
        // By times, as by declared order, the boot waited for the chain, and not for the units that ran beside it.
        let slow: Vec<&str> =
            findings_of(&diagnosis, "linux/unit-slow").iter().map(|finding| finding.subject.name.as_str()).collect();
        for unit in ["a.service", "b.service", "c.service", "d.service"] {
            assert!(slow.contains(&unit) || form == "all", "{form}: {unit}: {:?}", codes(&diagnosis));
        }
        for unit in ["database.service", "indexer.service"] {
            assert!(codes(&diagnosis).iter().all(|(_, name)| *name != unit), "{form}: {:?}", codes(&diagnosis));
        }
        if form == "journal" {
            for finding in findings_of(&diagnosis, "linux/unit-slow") {
                assert_eq!(
                    (finding.cost_basis, finding.certainty),
                    (CostBasis::CriticalPath, Certainty::Inferred),
                    "{}",
                    finding.title
                );
            }
        }
    }
}

#[test]
fn boot_without_units_is_not_reported_as_healthy() {
    let played = boot_of_44_seconds();
    // The manager properties from `systemctl show`: boot times, but no units.
    let parts: Vec<_> = played.files.all_files().into_iter().filter(|(name, _)| name.contains("manager")).collect();
    assert_eq!(parts.len(), 1);
    let diagnosis = diagnosed(parts);
    assert!(boot(&diagnosis).at_least_ns >= 30_000 * MS);
    let of_units = diagnosis.unchecked_rules.iter().filter(|rule| rule.needs.contains("unit start and end times"));
    assert!(of_units.count() >= 8, "{:?}", diagnosis.unchecked_rules);
    assert!(diagnosis.unchecked_rules.len() as u64 > diagnosis.checked);
}

#[test]
fn reports_blocking_device_without_dependencies() {
    let late = |ms: i64| LinuxUnit::new("dev-sda1.device").after("systemd-udevd.service").sleep_ms(ms);
    let played = LinuxMachine::healthy().unit(late(9_800)).simulate_boot();
    let diagnosis = diagnosed(played.files.journal_file());
    let findings = findings_of(&diagnosis, "linux/unit-slow");
    let [finding] = findings[..] else { panic!("{:?}", codes(&diagnosis)) };
    assert_eq!((finding.subject.kind, finding.subject.name.as_str()), (FindingSubjectKind::Device, "dev-sda1.device"));
    let cost_ms = finding.cost_ns.unwrap() / MS;
    assert!((9_500..10_100).contains(&cost_ms), "{cost_ms} ms");
    // A device that appears at once.
    let diagnosis = diagnosed(LinuxMachine::healthy().unit(late(350)).simulate_boot().files.journal_file());
    assert_eq!(codes(&diagnosis), []);
    // A device that takes as long while units start.
    let decoy = LinuxMachine::healthy()
        .unit(LinuxUnit::new("dev-ttyS0.device").after("systemd-udevd.service").sleep_ms(9_800))
        .simulate_boot();
    let diagnosis = diagnosed(decoy.files.journal_file());
    assert!(codes(&diagnosis).iter().all(|(_, name)| *name != "dev-ttyS0.device"), "{:?}", codes(&diagnosis));
}

/// Cost of the CPU-bound finding about user space, ms.
fn cpu_bound_ms(diagnosis: &Diagnosis) -> Option<i64> {
    let mut findings = diagnosis.findings.iter().filter(|finding| finding.title.starts_with("no CPU was free for"));
    let ms = findings.next().and_then(|finding| finding.cost_ns).map(|ns| ns / MS);
    assert!(findings.next().is_none(), "{:?}", codes(diagnosis));
    ms
}

/// Six parallel services that the default target waits for.
fn six_at_once(processors: u16, unit: fn(LinuxUnit) -> LinuxUnit) -> SimulationResult {
    let mut machine = LinuxMachine::healthy().processors(processors);
    for name in ["a", "b", "c", "d", "e", "f"] {
        machine = machine.wanted_unit(unit(LinuxUnit::new(&format!("{name}.service")).after("basic.target")));
    }
    machine.simulate_boot()
}

#[test]
fn reports_cpu_bound_boot() {
    // One CPU for 12 s of work: the last service ran for 2 s and waited for the CPU for the rest.
    let diagnosis = diagnosed(six_at_once(1, |unit| unit.cpu_ms(2_000)).files.all_files());
    let ms = cpu_bound_ms(&diagnosis).unwrap_or_else(|| panic!("{:?}", codes(&diagnosis)));
    assert!((9_000..10_500).contains(&ms), "{ms} ms");
    assert!(diagnosis.findings.first().unwrap().title.starts_with("no CPU was free"), "{:?}", codes(&diagnosis));
    // The same work with one CPU per service.
    assert_eq!(cpu_bound_ms(&diagnosed(six_at_once(8, |unit| unit.cpu_ms(2_000)).files.all_files())), None);
    // Decoy: as many units for as long, without CPU use.
    assert_eq!(cpu_bound_ms(&diagnosed(six_at_once(1, |unit| unit.sleep_ms(12_000)).files.all_files())), None);
    // Decoy: a CPU-heavy unit keeps one CPU busy, and the other one stays free.
    let hog = LinuxMachine::healthy()
        .wanted_unit(LinuxUnit::new("hog.service").after("basic.target").cpu_ms(12_000))
        .simulate_boot();
    assert_eq!(cpu_bound_ms(&diagnosed(hog.files.all_files())), None);
}

#[test]
fn reports_no_cpu_bound_boot_without_trace() {
    let diagnosis = diagnosed(six_at_once(1, |unit| unit.cpu_ms(2_000)).files.files_without_trace());
    assert_eq!(cpu_bound_ms(&diagnosis), None);
}
