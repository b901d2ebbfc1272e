//! Tests every Linux rule on three simulated machines: one with a finding, one without, and a decoy with something
//! similar that takes as long. The table is compared with the registry, so a new rule without these machines fails
//! here.

use std::collections::BTreeSet;

use onoff_findings::registry::RULES;
use onoff_findings::rule::Check;
use onoff_testkit::linux::{
    Initcall, Initramfs, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, SimulationResult, StartOutcome,
};

use crate::linux_machine::{codes, diagnosed, findings_of, silent, sleep, with};

/// A rule with its three machines.
struct RuleCase {
    code: &'static str,
    /// A machine with a finding, its subject, and its cost in µs if known.
    positive: fn() -> (SimulationResult, &'static str, Option<i64>),
    /// The same machine without a finding, although the rule has the events it needs.
    negative: fn() -> SimulationResult,
    /// Something that takes as long but is not covered by the rule.
    decoy: fn() -> SimulationResult,
}

/// A machine with a unit of 3 s on the critical path.
fn waits(unit: &'static str) -> (SimulationResult, &'static str, Option<i64>) {
    let played = with(LinuxUnit::new(unit).sleep_ms(3_000)).simulate_boot();
    let length_us = played.truth.start(unit).duration_us();
    (played, unit, Some(length_us))
}

fn takes(unit: &str, ms: i64) -> SimulationResult {
    with(LinuxUnit::new(unit).sleep_ms(ms)).simulate_boot()
}

fn initial_file_system(unpack_ms: i64, program_ms: i64) -> LinuxMachine {
    LinuxMachine::healthy().initial_file_system(Initramfs {
        unpack_ms,
        size_kib: 60_000,
        init_ms: program_ms,
        has_systemd: true,
    })
}

fn unit_chain(before: [&str; 3], each_ms: i64) -> SimulationResult {
    let mut machine = LinuxMachine::healthy();
    for (name, before) in ["a.service", "b.service", "c.service"].into_iter().zip(before) {
        machine = machine.wanted_unit(LinuxUnit::new(name).after(before).sleep_ms(each_ms));
    }
    machine.simulate_boot()
}

fn ends(name: &str, ending: StartOutcome) -> SimulationResult {
    with(LinuxUnit::new(name).cpu_ms(30).start_outcome(ending)).simulate_boot()
}

fn sleeps(change: fn(&mut LinuxSleepPlan)) -> SimulationResult {
    let mut plan = sleep();
    change(&mut plan);
    LinuxMachine::healthy().simulate_sleep(&plan)
}

const ONE_AFTER_ANOTHER: [&str; 3] = ["basic.target", "a.service", "b.service"];

const CASES: &[RuleCase] = &[
    RuleCase {
        code: "linux/boot-unfinished",
        positive: || {
            let unit = LinuxUnit::new("stuck.service").start_outcome(StartOutcome::Hangs);
            let played = with(unit).record_hang_until(60_000).simulate_boot();
            let since_us = 60_000_000 - played.truth.start("stuck.service").start_us;
            (played, "stuck.service", Some(since_us))
        },
        negative: || LinuxMachine::healthy().simulate_boot(),
        // Still starting when the target is reached, but nothing waits for it.
        decoy: || {
            let unit = LinuxUnit::new("parallel.service").sleep_ms(40_000).trigger("ssh.service", 10);
            LinuxMachine::healthy().unit(unit).simulate_boot()
        },
    },
    RuleCase {
        code: "linux/driver-slow",
        positive: || {
            let slow = Initcall::new("slow_init").sleep_ms(2_500);
            (LinuxMachine::healthy().initcall(slow).simulate_boot(), "slow_init", Some(2_500_000))
        },
        negative: || LinuxMachine::healthy().initcall(Initcall::new("quick_init").sleep_ms(200)).simulate_boot(),
        // A program with the same name as a driver.
        decoy: || takes("slow_init.service", 2_500),
    },
    RuleCase {
        code: "linux/encrypted-volume-wait",
        positive: || waits("systemd-cryptsetup@root.service"),
        negative: || takes("systemd-cryptsetup@root.service", 150),
        decoy: || takes("cryptsetup-report.service", 3_000),
    },
    RuleCase {
        code: "linux/file-system-check",
        positive: || waits("systemd-fsck@dev-disk-by\\x2duuid-7.service"),
        negative: || takes("systemd-fsck@dev-disk-by\\x2duuid-7.service", 150),
        decoy: || takes("fsck-report.service", 3_000),
    },
    RuleCase {
        code: "linux/firmware-or-loader-slow",
        positive: || {
            (
                LinuxMachine::healthy().firmware_and_loader_ms(Some(14_000), 1_000).simulate_boot(),
                "firmware",
                Some(4_000_000),
            )
        },
        negative: || LinuxMachine::healthy().firmware_and_loader_ms(Some(9_000), 2_900).simulate_boot(),
        // The kernel is slow instead.
        decoy: || {
            LinuxMachine::healthy()
                .firmware_and_loader_ms(Some(2_000), 1_000)
                .initcall(Initcall::new("slow_probe_init").sleep_ms(14_000))
                .simulate_boot()
        },
    },
    RuleCase {
        code: "linux/initrd-long",
        positive: || (initial_file_system(200, 12_000).simulate_boot(), "", None),
        negative: || initial_file_system(200, 3_000).simulate_boot(),
        // The kernel before it is slow instead.
        decoy: || {
            initial_file_system(200, 900).initcall(Initcall::new("slow_probe_init").sleep_ms(9_000)).simulate_boot()
        },
    },
    RuleCase {
        code: "linux/initrd-unpack-slow",
        positive: || (initial_file_system(2_600, 900).simulate_boot(), "populate_rootfs", Some(2_600_000)),
        negative: || initial_file_system(400, 900).simulate_boot(),
        // Another initcall takes as long.
        decoy: || initial_file_system(300, 900).initcall(Initcall::new("slow_init").cpu_ms(2_600)).simulate_boot(),
    },
    RuleCase {
        code: "linux/low-power-missed",
        positive: || (sleeps(|plan| plan.suspend_to_idle = Some(Some(2_000))), "low-power state", None),
        negative: || sleeps(|plan| plan.suspend_to_idle = Some(Some(19_000))),
        // The same time in the low-power state, but during a short sleep.
        decoy: || {
            sleeps(|plan| {
                plan.suspend_to_idle = Some(Some(2_000));
                plan.asleep_ms = 5_000;
            })
        },
    },
    RuleCase {
        code: "linux/modules-load-slow",
        positive: || waits("systemd-modules-load.service"),
        negative: || takes("systemd-modules-load.service", 150),
        // A module that udev loads for a device.
        decoy: || {
            LinuxMachine::healthy()
                .wanted_unit(
                    LinuxUnit::new("systemd-udev-trigger.service")
                        .after("systemd-udevd.service")
                        .cpu_ms(20)
                        .load_module(Initcall::in_module("slow_mod", "slow_mod_init").sleep_ms(3_000)),
                )
                .simulate_boot()
        },
    },
    RuleCase {
        code: "linux/network-slow-after-resume",
        positive: || (sleeps(|plan| plan.wireless_ms = Some((2_000, 4_500))), "wlan0", None),
        negative: || sleeps(|plan| plan.wireless_ms = Some((1_000, 600))),
        // A long sleep with a fast network.
        decoy: || {
            sleeps(|plan| {
                plan.wireless_ms = Some((1_500, 400));
                plan.asleep_ms = 60_000;
            })
        },
    },
    RuleCase {
        code: "linux/network-wait",
        positive: || waits("systemd-networkd-wait-online.service"),
        negative: || takes("systemd-networkd-wait-online.service", 150),
        // The service that configures the network, not the one that waits for it.
        decoy: || takes("systemd-networkd.service", 3_000),
    },
    RuleCase {
        code: "linux/random-seed-wait",
        positive: || waits("systemd-random-seed.service"),
        negative: || takes("systemd-random-seed.service", 150),
        decoy: || takes("random-report.service", 3_000),
    },
    RuleCase {
        code: "linux/resume-firmware-long",
        positive: || (sleeps(|plan| plan.firmware_ms = Some(2_300)), "firmware", Some(2_300_000)),
        negative: || sleeps(|plan| plan.firmware_ms = Some(900)),
        // A device that is as slow to resume.
        decoy: || sleeps(|plan| plan.devices[1] = LinuxDevice::new("ata1", "ahci").callbacks_ms(20, 2_300)),
    },
    RuleCase {
        code: "linux/selinux-relabel",
        positive: || waits("selinux-autorelabel.service"),
        negative: || takes("selinux-autorelabel.service", 150),
        // The unit that only requests relabeling at the next boot.
        decoy: || takes("selinux-autorelabel-mark.service", 3_000),
    },
    RuleCase {
        code: "linux/sleep-aborted",
        positive: || {
            let refuses = |plan: &mut LinuxSleepPlan| {
                plan.devices.insert(1, LinuxDevice::new("usb1", "usb").callbacks_ms(100, 20).fails_suspend(-16));
            };
            (sleeps(refuses), "usb1", None)
        },
        negative: || LinuxMachine::healthy().simulate_sleep(&sleep()),
        // A slow device that does not abort the sleep.
        decoy: || sleeps(|plan| plan.devices.insert(1, LinuxDevice::new("usb1", "usb").callbacks_ms(1_500, 20))),
    },
    RuleCase {
        code: "linux/sleep-device-slow",
        positive: || {
            let slow = |plan: &mut LinuxSleepPlan| {
                plan.devices[0] = LinuxDevice::new("sda", "sd").child_of("ata1").callbacks_ms(1_400, 70).asynchronous();
            };
            (sleeps(slow), "sd", Some(1_400_000))
        },
        negative: || LinuxMachine::healthy().simulate_sleep(&sleep()),
        // A task of the same name delays the sleep before any device callback.
        decoy: || sleeps(|plan| plan.tasks.push(("sd".to_owned(), 1_400))),
    },
    RuleCase {
        code: "linux/sleep-tasks-slow",
        positive: || {
            let played = sleeps(|plan| plan.tasks.push(("nfs-reader".to_owned(), 1_800)));
            let length_us = played.truth.sleep_phase_us("freeze_processes");
            (played, "nfs-reader", Some(length_us))
        },
        negative: || sleeps(|plan| plan.tasks.push(("nfs-reader".to_owned(), 300))),
        // A slow sync just before tasks freeze.
        decoy: || sleeps(|plan| plan.sync_ms = 1_800),
    },
    RuleCase {
        code: "linux/udev-settle",
        positive: || waits("systemd-udev-settle.service"),
        negative: || takes("systemd-udev-settle.service", 150),
        decoy: || takes("udev-report.service", 3_000),
    },
    RuleCase {
        code: "linux/unit-chain",
        positive: || {
            let played = unit_chain(ONE_AFTER_ANOTHER, 1_200);
            let lengths = ["a.service", "b.service", "c.service"].map(|unit| played.truth.start(unit).duration_us());
            // In parallel, only the longest would count.
            let rest_us = lengths.iter().sum::<i64>() - lengths.iter().max().unwrap();
            (played, "a.service → b.service → c.service", Some(rest_us))
        },
        negative: || unit_chain(ONE_AFTER_ANOTHER, 100),
        decoy: || unit_chain(["basic.target"; 3], 1_200),
    },
    RuleCase {
        code: "linux/unit-failed",
        positive: || (ends("broken.service", StartOutcome::Failed("exit-code")), "broken.service", None),
        negative: || takes("fine.service", 30),
        // Failed, but succeeded at the second attempt.
        decoy: || ends("flaky.service", StartOutcome::UpAfterRetry("exit-code")),
    },
    RuleCase {
        code: "linux/unit-restarted",
        positive: || (ends("flaky.service", StartOutcome::UpAfterRetry("exit-code")), "flaky.service", None),
        negative: || takes("fine.service", 30),
        // Failed without a retry.
        decoy: || ends("broken.service", StartOutcome::Failed("exit-code")),
    },
    RuleCase {
        code: "linux/unit-slow",
        positive: || waits("slow.service"),
        negative: || takes("quick.service", 200),
        // Nothing waits for it.
        decoy: || {
            let unit = LinuxUnit::new("parallel.service").sleep_ms(9_000).trigger("dbus.service", 10);
            LinuxMachine::healthy().unit(unit).simulate_boot()
        },
    },
    RuleCase {
        code: "linux/unit-slow-to-stop",
        positive: || {
            let played = with(LinuxUnit::new("slow.service").cpu_ms(20).stop_ms(5_000)).simulate_shutdown();
            let length_us = played.truth.stop("slow.service").duration_us();
            (played, "slow.service", Some(length_us))
        },
        negative: || with(LinuxUnit::new("quick.service").cpu_ms(20).stop_ms(200)).simulate_shutdown(),
        // Slow to start, fast to stop.
        decoy: || with(LinuxUnit::new("slow.service").sleep_ms(5_000).stop_ms(100)).simulate_shutdown(),
    },
    RuleCase {
        code: "linux/unit-timed-out",
        positive: || {
            let played =
                with(LinuxUnit::new("dead.service").sleep_ms(20_000).start_outcome(StartOutcome::Failed("timeout")))
                    .simulate_boot();
            let length_us = played.truth.start("dead.service").duration_us();
            (played, "dead.service", Some(length_us))
        },
        // Failed at once.
        negative: || ends("broken.service", StartOutcome::Failed("exit-code")),
        // As slow, but successful.
        decoy: || takes("slow.service", 20_000),
    },
];

/// Rules about logs that no simulated machine writes. Their cases are in `linux_logs`.
const RULES_ABOUT_LOGS: [&str; 4] =
    ["linux/boot-failed", "linux/kernel-long", "linux/sleep-phase-long", "linux/unexplained-gap"];

#[test]
fn every_linux_rule_has_one_case() {
    let in_registry: BTreeSet<&str> = RULES
        .iter()
        .filter(|rule| matches!(rule.check, Check::LinuxBoot(_) | Check::LinuxShutdown(_) | Check::LinuxSuspend(_)))
        .map(|rule| rule.code)
        .filter(|code| !RULES_ABOUT_LOGS.contains(code))
        .collect();
    let in_table: Vec<&str> = CASES.iter().map(|case| case.code).collect();
    assert_eq!(in_table, in_registry.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_linux_rule_reports_injected_problem() {
    for case in CASES {
        let (played, name, cost_us) = (case.positive)();
        let diagnosis = &diagnosed(played.files.all_files());
        let [finding] = findings_of(diagnosis, case.code)[..] else { panic!("{}: {:?}", case.code, codes(diagnosis)) };
        assert!(finding.subject.name.contains(name), "{}: {}", case.code, finding.subject.name);
        if let Some(truth_us) = cost_us {
            let cost_us = finding.cost_ns.unwrap() / 1_000;
            assert!((cost_us - truth_us).abs() <= truth_us / 50 + 30_000, "{}: {cost_us}, {truth_us}", case.code);
        }
    }
}

/// An unchecked rule does not count as passing: the machine must record what the rule needs.
#[test]
fn every_linux_rule_ignores_healthy_machine_and_decoy() {
    for case in CASES {
        for played in [(case.negative)(), (case.decoy)()] {
            silent(&diagnosed(played.files.all_files()), case.code);
        }
    }
}
