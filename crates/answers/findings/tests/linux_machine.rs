//! Every rule of Linux on a machine that is played and written down as recorders do: it speaks where something was put in, is
//! silent where nothing was, and is not taken in by what looks alike. The truth is the machine's own.

use onoff_blame::account::{accounts, culprits};
use onoff_findings::diagnosis::DiagnosisOptions;
use onoff_findings::finding::{CostBasis, RuleFinding};
use onoff_findings::{Diagnosis, diagnose};
use onoff_sources::{Limits, Options, files_from_bytes, open_files};
use onoff_testkit::linux::{
    Ending, Initcall, InitialFileSystem, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, Played,
};
use onoff_trace::{Tables, Trace};
use onoff_transitions::TransitionKind;

const MS: i64 = 1_000_000;

fn read(files: Vec<(String, Vec<u8>)>) -> Trace {
    let files = files_from_bytes(files, &Limits::default()).unwrap();
    open_files(&files, Tables::all(), &Options::default()).unwrap()
}

pub(crate) fn diagnosed(files: Vec<(String, Vec<u8>)>) -> Diagnosis {
    diagnose(&read(files), &DiagnosisOptions::default())
}

pub(crate) fn of<'a>(diagnosis: &'a Diagnosis, code: &str) -> Vec<&'a RuleFinding> {
    diagnosis.findings.iter().filter(|finding| finding.code == code).collect()
}

pub(crate) fn codes(diagnosis: &Diagnosis) -> Vec<(&str, &str)> {
    diagnosis.findings.iter().map(|finding| (finding.code, finding.subject.name.as_str())).collect()
}

/// What one rule says of everything that was recorded, and of it without the trace.
pub(crate) fn both(played: &Played) -> [Diagnosis; 2] {
    [diagnosed(played.files.all()), diagnosed(played.files.without_trace())]
}

/// The one finding of a rule, about `name`, whose cost is that length within 2 % and 30 ms.
fn says<'a>(diagnosis: &'a Diagnosis, code: &str, name: &str, length_us: i64) -> &'a RuleFinding {
    let found = of(diagnosis, code);
    let [finding] = found[..] else { panic!("{code}: {:?}", codes(diagnosis)) };
    assert_eq!(finding.subject.name, name, "{code}");
    let cost_us = finding.cost_ns.unwrap() / 1_000;
    assert!((cost_us - length_us).abs() <= length_us / 50 + 30_000, "{code}: {cost_us} µs, truth {length_us} µs");
    finding
}

pub(crate) fn silent(diagnosis: &Diagnosis, code: &str) {
    assert!(of(diagnosis, code).is_empty(), "{code}: {:?}", codes(diagnosis));
    assert!(diagnosis.not_checked.iter().all(|rule| rule.code != code), "{code} could not be checked");
}

/// A unit that the default target waits for, started once the basic system is up.
pub(crate) fn with(unit: LinuxUnit) -> LinuxMachine {
    LinuxMachine::healthy().wanted(unit.after("basic.target"))
}

#[test]
fn a_healthy_machine_has_no_finding_in_any_form() {
    let played = LinuxMachine::healthy().boots();
    let files = &played.files;
    for (form, files) in [
        ("all", files.all()),
        ("without a trace", files.without_trace()),
        ("journal", files.journal_alone()),
        ("kernel log", files.kernel_log_alone()),
    ] {
        let diagnosis = diagnosed(files);
        assert_eq!(codes(&diagnosis), [], "{form}");
        assert_eq!(diagnosis.transitions.len(), 1, "{form}");
    }
    let played = LinuxMachine::healthy().shuts_down();
    for diagnosis in both(&played) {
        assert_eq!(codes(&diagnosis), []);
        assert_eq!(diagnosis.transitions.len(), 2);
    }
    let played = LinuxMachine::healthy().sleeps(&sleep());
    for diagnosis in both(&played) {
        assert_eq!(codes(&diagnosis), []);
        assert_eq!(diagnosis.transitions.len(), 2);
    }
}

/// Each rule about a wait that is known, with a unit of its kind.
pub const KNOWN_WAITS: [(&str, &str); 8] = [
    ("linux/network-waited-for", "systemd-networkd-wait-online@eth0.service"),
    ("linux/network-waited-for", "NetworkManager-wait-online.service"),
    ("linux/udev-settled", "systemd-udev-settle.service"),
    ("linux/file-system-check", "systemd-fsck@dev-disk-by\\x2duuid-7.service"),
    ("linux/relabeled", "selinux-autorelabel.service"),
    ("linux/random-numbers-waited-for", "systemd-random-seed.service"),
    ("linux/kernel-modules-loaded", "systemd-modules-load.service"),
    ("linux/encrypted-volume-waited-for", "systemd-cryptsetup@root.service"),
];

#[test]
fn a_known_wait_is_named_with_its_seconds_with_a_trace_and_without() {
    for (code, unit) in KNOWN_WAITS {
        let played = with(LinuxUnit::new(unit).sleeps(3_000)).boots();
        assert!(played.truth.path.iter().any(|step| step == unit), "{:?}", played.truth.path);
        let length_us = played.truth.start(unit).length_us();
        for diagnosis in both(&played) {
            let finding = says(&diagnosis, code, unit, length_us);
            assert_eq!(finding.cost_basis, CostBasis::CriticalPath);
            assert_eq!(codes(&diagnosis).len(), 1, "one cause is one finding: {:?}", codes(&diagnosis));
        }
        // The journal does not say who waited for whom.
        let journal = diagnosed(played.files.journal_alone());
        assert_eq!(says(&journal, code, unit, length_us).cost_basis, CostBasis::AtMost);
        // A short one; one that nobody waits for, as long as it may take.
        for played in [
            with(LinuxUnit::new(unit).sleeps(600)).boots(),
            LinuxMachine::healthy().unit(LinuxUnit::new(unit).sleeps(9_000).started_with("dbus.service", 50)).boots(),
        ] {
            for diagnosis in both(&played) {
                silent(&diagnosis, code);
                assert_eq!(codes(&diagnosis), []);
            }
        }
    }
}

#[test]
fn a_slow_unit_is_named_when_the_target_waits_for_it_and_not_when_it_runs_beside() {
    let played = with(LinuxUnit::new("slow.service").sleeps(4_000))
        .unit(LinuxUnit::new("parallel.service").sleeps(9_000).started_with("dbus.service", 10))
        .boots();
    for diagnosis in both(&played) {
        says(&diagnosis, "linux/unit-slow", "slow.service", played.truth.start("slow.service").length_us());
        assert_eq!(codes(&diagnosis).len(), 1);
    }
    let quick = with(LinuxUnit::new("quick.service").sleeps(800)).boots();
    for diagnosis in both(&quick) {
        silent(&diagnosis, "linux/unit-slow");
    }
}

#[test]
fn units_that_fail_time_out_or_start_again_are_told_apart() {
    let played = with(LinuxUnit::new("dead.service").sleeps(20_000).ends(Ending::Failed("timeout")))
        .wanted(LinuxUnit::new("broken.service").after("basic.target").runs(30).ends(Ending::Failed("exit-code")))
        .wanted(
            LinuxUnit::new("flaky.service").after("basic.target").runs(30).ends(Ending::UpAtSecondAttempt("exit-code")),
        )
        .boots();
    let length_us = played.truth.start("dead.service").length_us();
    for (form, files) in [("all", played.files.all()), ("journal", played.files.journal_alone())] {
        let diagnosis = diagnosed(files);
        says(&diagnosis, "linux/unit-timed-out", "dead.service", length_us);
        let failed: Vec<&str> =
            of(&diagnosis, "linux/unit-failed").iter().map(|finding| finding.subject.name.as_str()).collect();
        assert_eq!(failed, ["broken.service"], "{form}");
        let again: Vec<&str> =
            of(&diagnosis, "linux/unit-restarted").iter().map(|finding| finding.subject.name.as_str()).collect();
        assert_eq!(again, ["flaky.service"], "{form}");
        assert!(of(&diagnosis, "linux/unit-slow").is_empty(), "{form}");
    }
    // Slow, but up; started twice by a timer without ever failing.
    let decoy = with(LinuxUnit::new("slow.service").sleeps(20_000)).boots();
    for diagnosis in both(&decoy) {
        for code in ["linux/unit-timed-out", "linux/unit-failed", "linux/unit-restarted"] {
            silent(&diagnosis, code);
        }
    }
}

#[test]
fn services_in_a_row_are_found_and_side_by_side_are_not() {
    let row = |before: [&str; 3]| {
        let mut machine = LinuxMachine::healthy();
        for (name, before) in ["a.service", "b.service", "c.service"].into_iter().zip(before) {
            machine = machine.wanted(LinuxUnit::new(name).after(before).sleeps(1_200));
        }
        machine.boots()
    };
    let played = row(["basic.target", "a.service", "b.service"]);
    for diagnosis in both(&played) {
        let lengths = ["a.service", "b.service", "c.service"].map(|unit| played.truth.start(unit).length_us());
        // Side by side the longest would be left.
        let rest_us = lengths.iter().sum::<i64>() - lengths.iter().max().unwrap();
        says(&diagnosis, "linux/units-in-a-row", "a.service → b.service → c.service", rest_us);
        assert_eq!(codes(&diagnosis).len(), 1, "the links are folded below: {:?}", codes(&diagnosis));
    }
    for diagnosis in both(&row(["basic.target"; 3])) {
        silent(&diagnosis, "linux/units-in-a-row");
    }
}

#[test]
fn a_boot_that_hangs_names_the_unit_and_who_waits_for_it() {
    let machine = || with(LinuxUnit::new("stuck.service").ends(Ending::Hangs)).recorded_until(60_000);
    let played = machine().boots();
    let since_us = 60_000_000 - played.truth.start("stuck.service").start_us;
    for files in [played.files.all(), played.files.without_trace()] {
        let diagnosis = diagnosed(files);
        let [finding] = of(&diagnosis, "linux/boot-unfinished")[..] else { panic!("{:?}", codes(&diagnosis)) };
        assert_eq!(finding.subject.name, "stuck.service");
        assert!((finding.cost_ns.unwrap() / 1_000 - since_us).abs() < 2_000, "{}", finding.title);
        assert!(finding.title.contains("multi-user.target never started after it"), "{}", finding.title);
    }
    // What hangs is none of a boot that finished: a unit that something else started.
    let decoy =
        LinuxMachine::healthy().unit(LinuxUnit::new("parallel.service").sleeps(40_000).started_with("ssh.service", 10));
    for diagnosis in both(&decoy.boots()) {
        silent(&diagnosis, "linux/boot-unfinished");
    }
}

#[test]
fn what_comes_before_the_kernel_is_slow_beyond_its_limits_only() {
    let played = |firmware_ms, loader_ms| LinuxMachine::healthy().before_kernel(firmware_ms, loader_ms).boots();
    let slow = diagnosed(played(Some(14_000), 1_000).files.without_trace());
    says(&slow, "linux/before-kernel-long", "firmware", 4_000_000);
    let slow = diagnosed(played(Some(1_000), 9_000).files.journal_alone());
    says(&slow, "linux/before-kernel-long", "loader", 6_000_000);
    silent(&diagnosed(played(Some(9_000), 2_900).files.without_trace()), "linux/before-kernel-long");
    // A loader that does not say: not known is not short.
    let unknown = diagnosed(played(None, 60_000).files.without_trace());
    assert!(unknown.not_checked.iter().any(|rule| rule.code == "linux/before-kernel-long"));
}

#[test]
fn a_long_initial_file_system_is_found_with_a_service_manager_in_it_and_without() {
    let played = |has_service_manager, program_ms| {
        LinuxMachine::healthy()
            .initial_file_system(InitialFileSystem {
                unpack_ms: 200,
                size_kib: 30_000,
                program_ms,
                has_service_manager,
            })
            .boots()
    };
    for has_service_manager in [true, false] {
        let long = played(has_service_manager, 12_000);
        for files in [long.files.all(), long.files.without_trace(), long.files.journal_alone()] {
            let diagnosis = diagnosed(files);
            let [finding] = of(&diagnosis, "linux/initrd-long")[..] else { panic!("{:?}", codes(&diagnosis)) };
            // Beyond the 5 s that are usual.
            assert!((finding.cost_ns.unwrap() - 7_000 * MS).abs() < 60 * MS, "{}", finding.title);
        }
        for diagnosis in both(&played(has_service_manager, 3_000)) {
            silent(&diagnosis, "linux/initrd-long");
        }
    }
    // A slow function of the kernel before it is not it.
    let kernel = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_probe_init").sleeps(9_000))
        .initial_file_system(InitialFileSystem {
            unpack_ms: 100,
            size_kib: 9_000,
            program_ms: 900,
            has_service_manager: true,
        })
        .boots();
    for diagnosis in both(&kernel) {
        silent(&diagnosis, "linux/initrd-long");
        says(&diagnosis, "linux/driver-slow", "slow_probe_init", 9_000_000);
    }
}

#[test]
fn an_initial_file_system_that_unpacks_slowly_is_named_with_its_size() {
    let unpacks = |unpack_ms| {
        LinuxMachine::healthy()
            .initial_file_system(InitialFileSystem {
                unpack_ms,
                size_kib: 83_968,
                program_ms: 900,
                has_service_manager: false,
            })
            .boots()
    };
    let slow = unpacks(2_600);
    for files in
        [slow.files.all(), slow.files.without_trace(), slow.files.journal_alone(), slow.files.kernel_log_alone()]
    {
        let diagnosis = diagnosed(files);
        let finding = says(&diagnosis, "linux/initrd-unpack-slow", "populate_rootfs", 2_600_000);
        assert!(finding.title.contains("of 82 MiB takes 2.60 s"), "{}", finding.title);
        assert_eq!(codes(&diagnosis).len(), 1, "{:?}", codes(&diagnosis));
    }
    for diagnosis in both(&unpacks(400)) {
        silent(&diagnosis, "linux/initrd-unpack-slow");
    }
    // The kernel takes as long before it begins to unpack.
    let decoy = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_init").runs(3_000))
        .initial_file_system(InitialFileSystem {
            unpack_ms: 300,
            size_kib: 83_968,
            program_ms: 900,
            has_service_manager: true,
        })
        .boots();
    for diagnosis in both(&decoy) {
        silent(&diagnosis, "linux/initrd-unpack-slow");
    }
    // Without an initial file system it cannot be looked at.
    let none = diagnosed(LinuxMachine::healthy().boots().files.all());
    assert!(none.not_checked.iter().any(|rule| rule.code == "linux/initrd-unpack-slow"));
}

#[test]
fn a_slow_function_and_a_slow_module_are_named_with_a_trace_and_without() {
    let played = LinuxMachine::healthy()
        .initcall(Initcall::new("slow_init").sleeps(2_500))
        .wanted(
            LinuxUnit::new("systemd-udev-trigger.service")
                .after("systemd-udevd.service")
                .runs(20)
                .loads(Initcall::of_module("slow_mod", "slow_mod_init").sleeps(3_000)),
        )
        .boots();
    let journal = diagnosed(played.files.journal_alone());
    for diagnosis in both(&played).iter().chain([&journal]) {
        let found: Vec<(&str, i64)> = of(diagnosis, "linux/driver-slow")
            .iter()
            .map(|finding| (finding.subject.name.as_str(), finding.cost_ns.unwrap() / MS / 10))
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().any(|&(name, cs)| name == "slow_init" && cs == 250), "{found:?}");
        assert!(found.iter().any(|&(name, cs)| name.starts_with("slow_mod") && cs == 300), "{found:?}");
    }
    let quick = LinuxMachine::healthy().initcall(Initcall::new("quick_init").sleeps(400)).boots();
    for diagnosis in both(&quick) {
        silent(&diagnosis, "linux/driver-slow");
    }
}

/// A unit on the way loads two modules, each by its own command. Somebody nobody waits for loads a slower one meanwhile.
#[test]
fn the_modules_of_a_units_commands_hold_the_boot_and_those_of_others_do_not() {
    let played = LinuxMachine::healthy()
        .wanted(
            LinuxUnit::new("drivers.service")
                .after("systemd-udevd.service")
                .runs(20)
                .loads(Initcall::of_module("first_mod", "first_mod_init").sleeps(2_000))
                .loads(Initcall::of_module("second_mod", "second_mod_init").sleeps(3_000))
                .by_commands(),
        )
        .wanted(
            LinuxUnit::new("elsewhere.service")
                .started_with("drivers.service", 100)
                .runs(10)
                .loads(Initcall::of_module("decoy_mod", "decoy_mod_init").sleeps(3_900)),
        )
        .boots();
    for files in [played.files.all(), played.files.without_trace()] {
        let trace = read(files);
        let found = culprits(&accounts(&trace, Some(TransitionKind::Boot)));
        let its = |name: &str| {
            found.iter().find(|culprit| culprit.entry.name == name).map(|culprit| culprit.entry.ns / MS / 10)
        };
        assert_eq!((its("second_mod"), its("first_mod")), (Some(300), Some(200)), "{found:?}");
        assert_eq!(its("decoy_mod"), None, "nobody waits for it: {found:?}");
    }
    // From the journal alone nothing says who waited for whom, nor whose processes loaded them: it is not known.
    let trace = read(played.files.journal_alone());
    let all = accounts(&trace, Some(TransitionKind::Boot));
    let found = culprits(&all);
    assert!(found.iter().all(|culprit| !culprit.entry.name.ends_with("_mod")), "{found:?}");
    let user_space = all.iter().find(|phase| phase.phase == "user_space").unwrap();
    assert!(user_space.account.not_known_ns >= 5_000 * MS, "{:?}", user_space.account);
    // Without a trace the unit is said to wait, and its drivers' time is theirs.
    let diagnosis = diagnosed(played.files.without_trace());
    let unit = of(&diagnosis, "linux/unit-slow").into_iter().find(|one| one.subject.name == "drivers.service");
    assert!(unit.is_none_or(|one| one.cost_ns.is_some_and(|ns| ns < 100 * MS)), "{unit:?}");
}

#[test]
fn a_unit_that_is_slow_to_stop_or_has_to_be_killed_is_named() {
    let stopping = |unit: LinuxUnit| with(unit.runs(20)).shuts_down();
    let played = stopping(LinuxUnit::new("slow.service").stops_for(5_000));
    for files in [played.files.all(), played.files.without_trace(), played.files.journal_alone()] {
        let diagnosis = diagnosed(files);
        let length_us = played.truth.stop("slow.service").length_us();
        let finding = says(&diagnosis, "linux/unit-slow-to-stop", "slow.service", length_us);
        assert!(finding.title.contains("takes 5.00 s to stop"), "{}", finding.title);
        assert_eq!(codes(&diagnosis).len(), 1, "{:?}", codes(&diagnosis));
    }
    let killed = stopping(LinuxUnit::new("stuck.service").is_killed_after(90_000));
    for files in [killed.files.all(), killed.files.journal_alone()] {
        let diagnosis = diagnosed(files);
        let finding = says(&diagnosis, "linux/unit-slow-to-stop", "stuck.service", 90_000_000);
        assert!(finding.title.contains("is killed after"), "{}", finding.title);
    }
    // Slow to start, and quick to stop.
    let decoy = with(LinuxUnit::new("slow.service").sleeps(900).stops_for(700)).shuts_down();
    for diagnosis in both(&decoy) {
        silent(&diagnosis, "linux/unit-slow-to-stop");
    }
}

/// A sleep of a healthy machine: a disk on its controller, a network card beside.
pub(crate) fn sleep() -> LinuxSleepPlan {
    LinuxSleepPlan {
        sync_ms: 60,
        tasks: vec![("agent".to_owned(), 5), ("shell".to_owned(), 9)],
        devices: vec![
            LinuxDevice::new("sda", "sd").on("ata1").takes(60, 70).beside_others(),
            LinuxDevice::new("ata1", "ahci").takes(20, 30),
            LinuxDevice::new("eth0", "e1000e").takes(40, 50).beside_others(),
        ],
        asleep_ms: 20_000,
        firmware_ms: Some(300),
        ..LinuxSleepPlan::default()
    }
}

#[test]
fn a_device_that_a_sleep_waits_for_is_named_with_its_seconds() {
    let mut plan = sleep();
    plan.devices[0] = LinuxDevice::new("sda", "sd").on("ata1").takes(1_400, 70).beside_others();
    let played = LinuxMachine::healthy().sleeps(&plan);
    assert_eq!(played.truth.sleep_phase_us("dpm_suspend") / 100_000, 14);
    let diagnosis = diagnosed(played.files.all());
    let finding = says(&diagnosis, "linux/sleep-device-slow", "sd", 1_400_000);
    assert!(finding.title.contains("to go to sleep"), "{}", finding.title);
    // As long as the sleep's own disk, but beside it: nobody waits for the network card alone.
    plan.devices[2] = LinuxDevice::new("eth0", "e1000e").takes(1_300, 50).beside_others();
    let played = LinuxMachine::healthy().sleeps(&plan);
    let diagnosis = diagnosed(played.files.all());
    let cost = |name: &str| {
        of(&diagnosis, "linux/sleep-device-slow")
            .iter()
            .find(|row| row.subject.name == name)
            .map(|row| row.cost_ns.unwrap())
    };
    assert!((cost("sd").unwrap() - 1_400 * MS).abs() < 40 * MS, "{:?}", codes(&diagnosis));
    assert!(cost("e1000e").is_none_or(|ns| ns < 40 * MS), "{:?}", codes(&diagnosis));
    silent(&diagnosed(LinuxMachine::healthy().sleeps(&sleep()).files.all()), "linux/sleep-device-slow");
}

#[test]
fn a_task_that_freezes_late_is_named() {
    let mut plan = sleep();
    plan.tasks.push(("nfs-reader".to_owned(), 1_800));
    let played = LinuxMachine::healthy().sleeps(&plan);
    let length_us = played.truth.sleep_phase_us("freeze_processes");
    says(&diagnosed(played.files.all()), "linux/sleep-tasks-slow", "nfs-reader", length_us);
    // Without a trace nobody knows whom.
    says(&diagnosed(played.files.without_trace()), "linux/sleep-tasks-slow", "freeze_processes", length_us);
    plan.tasks[2].1 = 300;
    silent(&diagnosed(LinuxMachine::healthy().sleeps(&plan).files.all()), "linux/sleep-tasks-slow");
}

#[test]
fn a_sleep_that_is_given_up_names_the_device_that_refused() {
    let mut plan = sleep();
    plan.devices.insert(1, LinuxDevice::new("usb1", "usb").takes(100, 20).refuses(-16));
    let played = LinuxMachine::healthy().sleeps(&plan);
    let diagnosis = diagnosed(played.files.all());
    let [finding] = of(&diagnosis, "linux/sleep-given-up")[..] else { panic!("{:?}", codes(&diagnosis)) };
    assert_eq!(finding.subject.name, "usb1");
    assert!(finding.title.contains("usb1 refuses"), "{}", finding.title);
    let log = diagnosed(played.files.without_trace());
    assert_eq!(of(&log, "linux/sleep-given-up").len(), 1, "{:?}", codes(&log));
    silent(&diagnosed(LinuxMachine::healthy().sleeps(&sleep()).files.all()), "linux/sleep-given-up");
}

#[test]
fn a_slow_resume_of_the_firmware_is_named_by_its_own_account() {
    let played = |firmware_ms| {
        let played = LinuxMachine::healthy().sleeps(&LinuxSleepPlan { firmware_ms, ..sleep() });
        diagnosed(played.files.all())
    };
    says(&played(Some(2_300)), "linux/resume-firmware-long", "firmware", 2_300_000);
    silent(&played(Some(900)), "linux/resume-firmware-long");
    assert!(played(None).not_checked.iter().any(|rule| rule.code == "linux/resume-firmware-long"));
}
