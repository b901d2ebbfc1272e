//! Tests of the Linux rules with recordings of simulated machines: injected problems, healthy machines and decoys.

use onoff_blame::account::{accounts, culprits};
use onoff_evidence::Certainty;
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_findings::{Diagnosis, diagnose};
use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_testkit::linux::{
    Initcall, Initramfs, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, SimulationResult, StartOutcome,
};
use onoff_trace::{TableSet, Trace};
use onoff_transitions::TransitionKind;

const MS: i64 = 1_000_000;

fn read(files: Vec<(String, Vec<u8>)>) -> Trace {
    let files = files_from_bytes(files, &Limits::default()).unwrap();
    open_files(&files, TableSet::all(), &Options::default()).unwrap()
}

pub(crate) fn diagnosed(files: Vec<(String, Vec<u8>)>) -> Diagnosis {
    diagnose(&read(files), &DiagnosisOptions::default())
}

pub(crate) fn findings_of<'a>(diagnosis: &'a Diagnosis, code: &str) -> Vec<&'a RuleFinding> {
    diagnosis.findings.iter().filter(|finding| finding.code == code).collect()
}

pub(crate) fn codes(diagnosis: &Diagnosis) -> Vec<(&str, &str)> {
    diagnosis.findings.iter().map(|finding| (finding.code, finding.subject.name.as_str())).collect()
}

/// Diagnoses of the full recording and of the recording without the trace.
pub(crate) fn both(played: &SimulationResult) -> [Diagnosis; 2] {
    [diagnosed(played.files.all_files()), diagnosed(played.files.files_without_trace())]
}

/// Returns the only finding of a rule and checks its subject, and its cost within 2 % plus 30 ms.
fn finding_of<'a>(diagnosis: &'a Diagnosis, code: &str, name: &str, length_us: i64) -> &'a RuleFinding {
    let findings = findings_of(diagnosis, code);
    let [finding] = findings[..] else { panic!("{code}: {:?}", codes(diagnosis)) };
    assert_eq!(finding.subject.name, name, "{code}");
    let cost_us = finding.cost_ns.unwrap() / 1_000;
    assert!((cost_us - length_us).abs() <= length_us / 50 + 30_000, "{code}: {cost_us} µs, truth {length_us} µs");
    finding
}

pub(crate) fn silent(diagnosis: &Diagnosis, code: &str) {
    assert!(findings_of(diagnosis, code).is_empty(), "{code}: {:?}", codes(diagnosis));
    assert!(diagnosis.unchecked_rules.iter().all(|rule| rule.code != code), "{code} could not be checked");
}

/// A unit on the critical path, started after basic.target.
pub(crate) fn with(unit: LinuxUnit) -> LinuxMachine {
    LinuxMachine::healthy().wanted_unit(unit.after("basic.target"))
}

#[test]
fn healthy_machine_has_no_findings() {
    let played = LinuxMachine::healthy().simulate_boot();
    let files = &played.files;
    for (form, files) in [
        ("all", files.all_files()),
        ("without a trace", files.files_without_trace()),
        ("journal", files.journal_file()),
        ("kernel log", files.kernel_log_file()),
    ] {
        let diagnosis = diagnosed(files);
        assert_eq!(codes(&diagnosis), [], "{form}");
        assert_eq!(diagnosis.transitions.len(), 1, "{form}");
    }
    let played = LinuxMachine::healthy().simulate_shutdown();
    for diagnosis in both(&played) {
        assert_eq!(codes(&diagnosis), []);
        assert_eq!(diagnosis.transitions.len(), 2);
    }
    let played = LinuxMachine::healthy().simulate_sleep(&sleep());
    for diagnosis in both(&played) {
        assert_eq!(codes(&diagnosis), []);
        assert_eq!(diagnosis.transitions.len(), 2);
    }
}

/// Each rule about a known wait, with a matching unit.
pub const KNOWN_WAITS: [(&str, &str); 8] = [
    ("linux/network-wait", "systemd-networkd-wait-online@eth0.service"),
    ("linux/network-wait", "NetworkManager-wait-online.service"),
    ("linux/udev-settle", "systemd-udev-settle.service"),
    ("linux/file-system-check", "systemd-fsck@dev-disk-by\\x2duuid-7.service"),
    ("linux/selinux-relabel", "selinux-autorelabel.service"),
    ("linux/random-seed-wait", "systemd-random-seed.service"),
    ("linux/modules-load-slow", "systemd-modules-load.service"),
    ("linux/encrypted-volume-wait", "systemd-cryptsetup@root.service"),
];

#[test]
fn reports_known_waits_with_and_without_trace() {
    for (code, unit) in KNOWN_WAITS {
        let played = with(LinuxUnit::new(unit).sleep_ms(3_000)).simulate_boot();
        assert!(played.truth.critical_path.iter().any(|step| step == unit), "{:?}", played.truth.critical_path);
        let length_us = played.truth.start(unit).duration_us();
        for diagnosis in both(&played) {
            let finding = finding_of(&diagnosis, code, unit, length_us);
            assert_eq!(finding.cost_basis, CostBasis::CriticalPath);
            assert_eq!(codes(&diagnosis).len(), 1, "one finding per cause: {:?}", codes(&diagnosis));
        }
        // The journal does not contain dependencies: the path is inferred from times.
        let journal = diagnosed(played.files.journal_file());
        let finding = finding_of(&journal, code, unit, length_us);
        assert_eq!((finding.cost_basis, finding.certainty), (CostBasis::CriticalPath, Certainty::Inferred));
        assert_eq!(codes(&journal).len(), 1, "one finding per cause: {:?}", codes(&journal));
        // A short one, and a long one that nothing waits for.
        for played in [
            with(LinuxUnit::new(unit).sleep_ms(150)).simulate_boot(),
            LinuxMachine::healthy()
                .unit(LinuxUnit::new(unit).sleep_ms(9_000).trigger("dbus.service", 50))
                .simulate_boot(),
        ] {
            for diagnosis in both(&played) {
                silent(&diagnosis, code);
                assert_eq!(codes(&diagnosis), []);
            }
        }
    }
}

#[test]
fn reports_slow_unit_on_path_but_not_parallel_one() {
    let played = with(LinuxUnit::new("slow.service").sleep_ms(4_000))
        .unit(LinuxUnit::new("parallel.service").sleep_ms(9_000).trigger("dbus.service", 10))
        .simulate_boot();
    for diagnosis in both(&played) {
        finding_of(&diagnosis, "linux/unit-slow", "slow.service", played.truth.start("slow.service").duration_us());
        assert_eq!(codes(&diagnosis).len(), 1);
    }
    let quick = with(LinuxUnit::new("quick.service").sleep_ms(200)).simulate_boot();
    for diagnosis in both(&quick) {
        silent(&diagnosis, "linux/unit-slow");
    }
}

#[test]
fn tells_failed_timed_out_and_restarted_units_apart() {
    let played = with(LinuxUnit::new("dead.service").sleep_ms(20_000).start_outcome(StartOutcome::Failed("timeout")))
        .wanted_unit(
            LinuxUnit::new("broken.service")
                .after("basic.target")
                .cpu_ms(30)
                .start_outcome(StartOutcome::Failed("exit-code")),
        )
        .wanted_unit(
            LinuxUnit::new("flaky.service")
                .after("basic.target")
                .cpu_ms(30)
                .start_outcome(StartOutcome::UpAfterRetry("exit-code")),
        )
        .simulate_boot();
    let length_us = played.truth.start("dead.service").duration_us();
    for (form, files) in [("all", played.files.all_files()), ("journal", played.files.journal_file())] {
        let diagnosis = diagnosed(files);
        finding_of(&diagnosis, "linux/unit-timed-out", "dead.service", length_us);
        let failed: Vec<&str> =
            findings_of(&diagnosis, "linux/unit-failed").iter().map(|finding| finding.subject.name.as_str()).collect();
        assert_eq!(failed, ["broken.service"], "{form}");
        let again: Vec<&str> = findings_of(&diagnosis, "linux/unit-restarted")
            .iter()
            .map(|finding| finding.subject.name.as_str())
            .collect();
        assert_eq!(again, ["flaky.service"], "{form}");
        assert!(findings_of(&diagnosis, "linux/unit-slow").is_empty(), "{form}");
    }
    // Slow but successful.
    let decoy = with(LinuxUnit::new("slow.service").sleep_ms(20_000)).simulate_boot();
    for diagnosis in both(&decoy) {
        for code in ["linux/unit-timed-out", "linux/unit-failed", "linux/unit-restarted"] {
            silent(&diagnosis, code);
        }
    }
}

#[test]
fn reports_sequential_services_but_not_parallel_ones() {
    let chain = |before: [&str; 3]| {
        let mut machine = LinuxMachine::healthy();
        for (name, before) in ["a.service", "b.service", "c.service"].into_iter().zip(before) {
            machine = machine.wanted_unit(LinuxUnit::new(name).after(before).sleep_ms(1_200));
        }
        machine.simulate_boot()
    };
    let played = chain(["basic.target", "a.service", "b.service"]);
    for diagnosis in both(&played) {
        let lengths = ["a.service", "b.service", "c.service"].map(|unit| played.truth.start(unit).duration_us());
        // In parallel, only the longest would count.
        let rest_us = lengths.iter().sum::<i64>() - lengths.iter().max().unwrap();
        finding_of(&diagnosis, "linux/unit-chain", "a.service → b.service → c.service", rest_us);
        assert_eq!(codes(&diagnosis).len(), 1, "the single services are folded: {:?}", codes(&diagnosis));
    }
    for diagnosis in both(&chain(["basic.target"; 3])) {
        silent(&diagnosis, "linux/unit-chain");
    }
}

#[test]
fn unfinished_boot_names_unit_and_its_dependents() {
    let machine = || with(LinuxUnit::new("stuck.service").start_outcome(StartOutcome::Hangs)).record_hang_until(60_000);
    let played = machine().simulate_boot();
    let since_us = 60_000_000 - played.truth.start("stuck.service").start_us;
    for files in [played.files.all_files(), played.files.files_without_trace()] {
        let diagnosis = diagnosed(files);
        let [finding] = findings_of(&diagnosis, "linux/boot-unfinished")[..] else { panic!("{:?}", codes(&diagnosis)) };
        assert_eq!(finding.subject.name, "stuck.service");
        assert!((finding.cost_ns.unwrap() / 1_000 - since_us).abs() < 2_000, "{}", finding.title);
        assert!(finding.title.contains("multi-user.target, which waits for it, never started"), "{}", finding.title);
    }
    // A unit started by something else may hang without affecting the boot.
    let decoy =
        LinuxMachine::healthy().unit(LinuxUnit::new("parallel.service").sleep_ms(40_000).trigger("ssh.service", 10));
    for diagnosis in both(&decoy.simulate_boot()) {
        silent(&diagnosis, "linux/boot-unfinished");
    }
}

#[test]
fn reports_firmware_and_loader_above_limits_only() {
    let played =
        |firmware_ms, loader_ms| LinuxMachine::healthy().firmware_and_loader_ms(firmware_ms, loader_ms).simulate_boot();
    let slow = diagnosed(played(Some(14_000), 1_000).files.files_without_trace());
    finding_of(&slow, "linux/firmware-or-loader-slow", "firmware", 4_000_000);
    let slow = diagnosed(played(Some(1_000), 9_000).files.journal_file());
    finding_of(&slow, "linux/firmware-or-loader-slow", "loader", 6_000_000);
    silent(&diagnosed(played(Some(9_000), 2_900).files.files_without_trace()), "linux/firmware-or-loader-slow");
    // A loader that records no times: unknown is not short.
    let unknown = diagnosed(played(None, 60_000).files.files_without_trace());
    assert!(unknown.unchecked_rules.iter().any(|rule| rule.code == "linux/firmware-or-loader-slow"));
}

#[test]
fn reports_long_initramfs_with_and_without_systemd() {
    let played = |has_service_manager, program_ms| {
        LinuxMachine::healthy()
            .initial_file_system(Initramfs {
                unpack_ms: 200,
                size_kib: 30_000,
                init_ms: program_ms,
                has_systemd: has_service_manager,
            })
            .simulate_boot()
    };
    for has_service_manager in [true, false] {
        let long = played(has_service_manager, 12_000);
        for files in [long.files.all_files(), long.files.files_without_trace(), long.files.journal_file()] {
            let diagnosis = diagnosed(files);
            let [finding] = findings_of(&diagnosis, "linux/initrd-long")[..] else { panic!("{:?}", codes(&diagnosis)) };
            // Above the normal 5 s.
            assert!((finding.cost_ns.unwrap() - 7_000 * MS).abs() < 60 * MS, "{}", finding.title);
        }
        for diagnosis in both(&played(has_service_manager, 3_000)) {
            silent(&diagnosis, "linux/initrd-long");
        }
    }
    // A slow initcall before it does not count.
    let kernel = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_probe_init").sleep_ms(9_000))
        .initial_file_system(Initramfs { unpack_ms: 100, size_kib: 9_000, init_ms: 900, has_systemd: true })
        .simulate_boot();
    for diagnosis in both(&kernel) {
        silent(&diagnosis, "linux/initrd-long");
        finding_of(&diagnosis, "linux/driver-slow", "slow_probe_init", 9_000_000);
    }
}

#[test]
fn reports_slow_initramfs_unpacking_with_size() {
    let unpacks = |unpack_ms| {
        LinuxMachine::healthy()
            .initial_file_system(Initramfs { unpack_ms, size_kib: 83_968, init_ms: 900, has_systemd: false })
            .simulate_boot()
    };
    let slow = unpacks(2_600);
    for files in [
        slow.files.all_files(),
        slow.files.files_without_trace(),
        slow.files.journal_file(),
        slow.files.kernel_log_file(),
    ] {
        let diagnosis = diagnosed(files);
        let finding = finding_of(&diagnosis, "linux/initrd-unpack-slow", "populate_rootfs", 2_600_000);
        assert!(finding.title.contains("(82 MiB) took 2.60 s"), "{}", finding.title);
        assert_eq!(codes(&diagnosis).len(), 1, "{:?}", codes(&diagnosis));
    }
    for diagnosis in both(&unpacks(400)) {
        silent(&diagnosis, "linux/initrd-unpack-slow");
    }
    // The kernel takes as long before it starts to unpack.
    let decoy = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_init").cpu_ms(3_000))
        .initial_file_system(Initramfs { unpack_ms: 300, size_kib: 83_968, init_ms: 900, has_systemd: true })
        .simulate_boot();
    for diagnosis in both(&decoy) {
        silent(&diagnosis, "linux/initrd-unpack-slow");
    }
    // Without an initramfs, the rule is unchecked.
    let none = diagnosed(LinuxMachine::healthy().simulate_boot().files.all_files());
    assert!(none.unchecked_rules.iter().any(|rule| rule.code == "linux/initrd-unpack-slow"));
}

#[test]
fn reports_slow_initcall_and_module_with_and_without_trace() {
    let played = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_init").sleep_ms(2_500))
        .wanted_unit(
            LinuxUnit::new("systemd-udev-trigger.service")
                .after("systemd-udevd.service")
                .cpu_ms(20)
                .load_module(Initcall::in_module("slow_mod", "slow_mod_init").sleep_ms(3_000)),
        )
        .simulate_boot();
    let journal = diagnosed(played.files.journal_file());
    for diagnosis in both(&played).iter().chain([&journal]) {
        let findings: Vec<(&str, i64)> = findings_of(diagnosis, "linux/driver-slow")
            .iter()
            .map(|finding| (finding.subject.name.as_str(), finding.cost_ns.unwrap() / MS / 10))
            .collect();
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().any(|&(name, cs)| name == "slow_init" && cs == 250), "{findings:?}");
        assert!(findings.iter().any(|&(name, cs)| name.starts_with("slow_mod") && cs == 300), "{findings:?}");
    }
    let quick = LinuxMachine::healthy().initcall(Initcall::new("quick_init").sleep_ms(200)).simulate_boot();
    for diagnosis in both(&quick) {
        silent(&diagnosis, "linux/driver-slow");
    }
}

/// A unit on the critical path loads two modules, each with a separate command, while a unit off the path loads a
/// slower one.
#[test]
fn attributes_modules_loaded_by_unit_on_path() {
    let played = LinuxMachine::healthy()
        .wanted_unit(
            LinuxUnit::new("drivers.service")
                .after("systemd-udevd.service")
                .cpu_ms(20)
                .load_module(Initcall::in_module("first_mod", "first_mod_init").sleep_ms(2_000))
                .load_module(Initcall::in_module("second_mod", "second_mod_init").sleep_ms(3_000))
                .by_commands(),
        )
        .wanted_unit(
            LinuxUnit::new("elsewhere.service")
                .trigger("drivers.service", 100)
                .cpu_ms(10)
                .load_module(Initcall::in_module("decoy_mod", "decoy_mod_init").sleep_ms(3_900)),
        )
        .simulate_boot();
    for files in [played.files.all_files(), played.files.files_without_trace()] {
        let trace = read(files);
        let boot_culprits = culprits(&accounts(&trace, Some(TransitionKind::Boot)));
        let cost_of = |name: &str| {
            boot_culprits.iter().find(|culprit| culprit.entry.name == name).map(|culprit| culprit.entry.ns / MS / 10)
        };
        assert_eq!((cost_of("second_mod"), cost_of("first_mod")), (Some(300), Some(200)), "{boot_culprits:?}");
        assert_eq!(cost_of("decoy_mod"), None, "off the path: {boot_culprits:?}");
    }
    // The journal alone contains neither dependencies nor the processes that loaded the modules.
    let trace = read(played.files.journal_file());
    let all = accounts(&trace, Some(TransitionKind::Boot));
    let boot_culprits = culprits(&all);
    assert!(boot_culprits.iter().all(|culprit| !culprit.entry.name.ends_with("_mod")), "{boot_culprits:?}");
    let user_space = all.iter().find(|phase| phase.phase == "user_space").unwrap();
    let drivers = user_space.account.entries.iter().find(|entry| entry.name == "drivers.service").unwrap();
    assert!(drivers.ns >= 5_000 * MS && drivers.certainty == Certainty::Inferred, "{:?}", user_space.account);
    // Without a trace, the time of the drivers is not part of the unit's cost.
    let diagnosis = diagnosed(played.files.files_without_trace());
    let unit = findings_of(&diagnosis, "linux/unit-slow")
        .into_iter()
        .find(|finding| finding.subject.name == "drivers.service");
    assert!(unit.is_none_or(|finding| finding.cost_ns.is_some_and(|ns| ns < 100 * MS)), "{unit:?}");
}

#[test]
fn reports_unit_slow_to_stop_or_killed() {
    let stopping = |unit: LinuxUnit| with(unit.cpu_ms(20)).simulate_shutdown();
    let played = stopping(LinuxUnit::new("slow.service").stop_ms(5_000));
    for files in [played.files.all_files(), played.files.files_without_trace(), played.files.journal_file()] {
        let diagnosis = diagnosed(files);
        let length_us = played.truth.stop("slow.service").duration_us();
        let finding = finding_of(&diagnosis, "linux/unit-slow-to-stop", "slow.service", length_us);
        assert!(finding.title.contains("took 5.00 s to stop"), "{}", finding.title);
        assert_eq!(codes(&diagnosis).len(), 1, "{:?}", codes(&diagnosis));
    }
    let killed = stopping(LinuxUnit::new("stuck.service").killed_after_ms(90_000));
    for files in [killed.files.all_files(), killed.files.journal_file()] {
        let diagnosis = diagnosed(files);
        let finding = finding_of(&diagnosis, "linux/unit-slow-to-stop", "stuck.service", 90_000_000);
        assert!(finding.title.contains("systemd killed it after"), "{}", finding.title);
    }
    // Slow to start, fast to stop.
    let decoy = with(LinuxUnit::new("slow.service").sleep_ms(5_000).stop_ms(100)).simulate_shutdown();
    for diagnosis in both(&decoy) {
        silent(&diagnosis, "linux/unit-slow-to-stop");
    }
}

/// A sleep of a healthy machine with a disk, its controller and a network card.
pub(crate) fn sleep() -> LinuxSleepPlan {
    LinuxSleepPlan {
        sync_ms: 60,
        tasks: vec![("agent".to_owned(), 5), ("shell".to_owned(), 9)],
        devices: vec![
            LinuxDevice::new("sda", "sd").child_of("ata1").callbacks_ms(60, 70).asynchronous(),
            LinuxDevice::new("ata1", "ahci").callbacks_ms(20, 30),
            LinuxDevice::new("eth0", "e1000e").callbacks_ms(40, 50).asynchronous(),
        ],
        asleep_ms: 20_000,
        firmware_ms: Some(300),
        ..LinuxSleepPlan::default()
    }
}

#[test]
fn reports_device_that_delays_sleep() {
    let mut plan = sleep();
    plan.devices[0] = LinuxDevice::new("sda", "sd").child_of("ata1").callbacks_ms(1_400, 70).asynchronous();
    let played = LinuxMachine::healthy().simulate_sleep(&plan);
    assert_eq!(played.truth.sleep_phase_us("dpm_suspend") / 100_000, 14);
    let diagnosis = diagnosed(played.files.all_files());
    let finding = finding_of(&diagnosis, "linux/sleep-device-slow", "sd", 1_400_000);
    assert!(finding.title.contains("to suspend"), "{}", finding.title);
    // The network card takes as long as the disk, but in parallel, so nothing waits for it alone.
    plan.devices[2] = LinuxDevice::new("eth0", "e1000e").callbacks_ms(1_300, 50).asynchronous();
    let played = LinuxMachine::healthy().simulate_sleep(&plan);
    let diagnosis = diagnosed(played.files.all_files());
    let cost = |name: &str| {
        findings_of(&diagnosis, "linux/sleep-device-slow")
            .iter()
            .find(|row| row.subject.name == name)
            .map(|row| row.cost_ns.unwrap())
    };
    assert!((cost("sd").unwrap() - 1_400 * MS).abs() < 40 * MS, "{:?}", codes(&diagnosis));
    assert!(cost("e1000e").is_none_or(|ns| ns < 40 * MS), "{:?}", codes(&diagnosis));
    silent(&diagnosed(LinuxMachine::healthy().simulate_sleep(&sleep()).files.all_files()), "linux/sleep-device-slow");
}

#[test]
fn reports_task_that_freezes_late() {
    let mut plan = sleep();
    plan.tasks.push(("nfs-reader".to_owned(), 1_800));
    let played = LinuxMachine::healthy().simulate_sleep(&plan);
    let length_us = played.truth.sleep_phase_us("freeze_processes");
    finding_of(&diagnosed(played.files.all_files()), "linux/sleep-tasks-slow", "nfs-reader", length_us);
    // Without a trace, the task is unknown.
    finding_of(&diagnosed(played.files.files_without_trace()), "linux/sleep-tasks-slow", "freeze_processes", length_us);
    plan.tasks[2].1 = 300;
    silent(&diagnosed(LinuxMachine::healthy().simulate_sleep(&plan).files.all_files()), "linux/sleep-tasks-slow");
}

#[test]
fn aborted_sleep_names_refusing_device() {
    let mut plan = sleep();
    plan.devices.insert(1, LinuxDevice::new("usb1", "usb").callbacks_ms(100, 20).fails_suspend(-16));
    let played = LinuxMachine::healthy().simulate_sleep(&plan);
    let diagnosis = diagnosed(played.files.all_files());
    let [finding] = findings_of(&diagnosis, "linux/sleep-aborted")[..] else { panic!("{:?}", codes(&diagnosis)) };
    assert_eq!(finding.subject.name, "usb1");
    assert!(finding.title.contains("usb1 refused"), "{}", finding.title);
    let log = diagnosed(played.files.files_without_trace());
    assert_eq!(findings_of(&log, "linux/sleep-aborted").len(), 1, "{:?}", codes(&log));
    silent(&diagnosed(LinuxMachine::healthy().simulate_sleep(&sleep()).files.all_files()), "linux/sleep-aborted");
}

#[test]
fn reports_slow_firmware_resume() {
    let played = |firmware_ms| {
        let played = LinuxMachine::healthy().simulate_sleep(&LinuxSleepPlan { firmware_ms, ..sleep() });
        diagnosed(played.files.all_files())
    };
    finding_of(&played(Some(2_300)), "linux/resume-firmware-long", "firmware", 2_300_000);
    silent(&played(Some(900)), "linux/resume-firmware-long");
    assert!(played(None).unchecked_rules.iter().any(|rule| rule.code == "linux/resume-firmware-long"));
}
