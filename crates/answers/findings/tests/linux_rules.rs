//! Every rule of Linux in the registry has a machine on which it speaks, one on which it is silent, and a decoy: a machine with
//! something as long that looks alike. The table is compared with the registry, so a new rule without the three fails here. The
//! truth is the machine's own.

use std::collections::BTreeSet;

use onoff_findings::registry::RULES;
use onoff_findings::rule::Check;
use onoff_testkit::linux::{
    Ending, Initcall, InitialFileSystem, LinuxDevice, LinuxMachine, LinuxSleepPlan, LinuxUnit, Played,
};

use crate::linux_machine::{codes, diagnosed, of, silent, sleep, with};

/// A rule and its three machines.
struct Row {
    code: &'static str,
    /// The machine it speaks on, of what, and what that cost in µs where the machine knows.
    speaks: fn() -> (Played, &'static str, Option<i64>),
    /// The same machine with nothing to report, though the rule has what it needs.
    silent: fn() -> Played,
    /// Something as long, which is not the rule's.
    decoy: fn() -> Played,
}

/// A wait for a unit on the way, of 3 s by the machine's own account.
fn waits(unit: &'static str) -> (Played, &'static str, Option<i64>) {
    let played = with(LinuxUnit::new(unit).sleeps(3_000)).boots();
    let length_us = played.truth.start(unit).length_us();
    (played, unit, Some(length_us))
}

fn takes(unit: &str, ms: i64) -> Played {
    with(LinuxUnit::new(unit).sleeps(ms)).boots()
}

fn initial_file_system(unpack_ms: i64, program_ms: i64) -> LinuxMachine {
    LinuxMachine::healthy().initial_file_system(InitialFileSystem {
        unpack_ms,
        size_kib: 60_000,
        program_ms,
        has_service_manager: true,
    })
}

fn in_a_row(before: [&str; 3], each_ms: i64) -> Played {
    let mut machine = LinuxMachine::healthy();
    for (name, before) in ["a.service", "b.service", "c.service"].into_iter().zip(before) {
        machine = machine.wanted(LinuxUnit::new(name).after(before).sleeps(each_ms));
    }
    machine.boots()
}

fn ends(name: &str, ending: Ending) -> Played {
    with(LinuxUnit::new(name).runs(30).ends(ending)).boots()
}

fn sleeps(change: fn(&mut LinuxSleepPlan)) -> Played {
    let mut plan = sleep();
    change(&mut plan);
    LinuxMachine::healthy().sleeps(&plan)
}

const ONE_AFTER_ANOTHER: [&str; 3] = ["basic.target", "a.service", "b.service"];

const ROWS: &[Row] = &[
    Row {
        code: "linux/before-kernel-long",
        speaks: || (LinuxMachine::healthy().before_kernel(Some(14_000), 1_000).boots(), "firmware", Some(4_000_000)),
        silent: || LinuxMachine::healthy().before_kernel(Some(9_000), 2_900).boots(),
        // The kernel is what takes long.
        decoy: || {
            LinuxMachine::healthy()
                .before_kernel(Some(2_000), 1_000)
                .initcall(Initcall::new("slow_probe_init").sleeps(14_000))
                .boots()
        },
    },
    Row {
        code: "linux/boot-unfinished",
        speaks: || {
            let unit = LinuxUnit::new("stuck.service").ends(Ending::Hangs);
            let played = with(unit).recorded_until(60_000).boots();
            let since_us = 60_000_000 - played.truth.start("stuck.service").start_us;
            (played, "stuck.service", Some(since_us))
        },
        silent: || LinuxMachine::healthy().boots(),
        // Nothing waits for what is still starting when the target is reached.
        decoy: || {
            let unit = LinuxUnit::new("parallel.service").sleeps(40_000).started_with("ssh.service", 10);
            LinuxMachine::healthy().unit(unit).boots()
        },
    },
    Row {
        code: "linux/driver-slow",
        speaks: || {
            let slow = Initcall::new("slow_init").sleeps(2_500);
            (LinuxMachine::healthy().initcall(slow).boots(), "slow_init", Some(2_500_000))
        },
        silent: || LinuxMachine::healthy().initcall(Initcall::new("quick_init").sleeps(400)).boots(),
        // A program with the name of a driver.
        decoy: || takes("slow_init.service", 2_500),
    },
    Row {
        code: "linux/encrypted-volume-waited-for",
        speaks: || waits("systemd-cryptsetup@root.service"),
        silent: || takes("systemd-cryptsetup@root.service", 600),
        decoy: || takes("cryptsetup-report.service", 3_000),
    },
    Row {
        code: "linux/file-system-check",
        speaks: || waits("systemd-fsck@dev-disk-by\\x2duuid-7.service"),
        silent: || takes("systemd-fsck@dev-disk-by\\x2duuid-7.service", 600),
        decoy: || takes("fsck-report.service", 3_000),
    },
    Row {
        code: "linux/initrd-long",
        speaks: || (initial_file_system(200, 12_000).boots(), "", None),
        silent: || initial_file_system(200, 3_000).boots(),
        // The kernel before it is what takes long.
        decoy: || initial_file_system(200, 900).initcall(Initcall::new("slow_probe_init").sleeps(9_000)).boots(),
    },
    Row {
        code: "linux/initrd-unpack-slow",
        speaks: || (initial_file_system(2_600, 900).boots(), "populate_rootfs", Some(2_600_000)),
        silent: || initial_file_system(400, 900).boots(),
        // Another function of the kernel takes as long.
        decoy: || initial_file_system(300, 900).initcall(Initcall::new("slow_init").runs(2_600)).boots(),
    },
    Row {
        code: "linux/kernel-modules-loaded",
        speaks: || waits("systemd-modules-load.service"),
        silent: || takes("systemd-modules-load.service", 600),
        // A module that udev loads for a device is the driver's.
        decoy: || {
            LinuxMachine::healthy()
                .wanted(
                    LinuxUnit::new("systemd-udev-trigger.service")
                        .after("systemd-udevd.service")
                        .runs(20)
                        .loads(Initcall::of_module("slow_mod", "slow_mod_init").sleeps(3_000)),
                )
                .boots()
        },
    },
    Row {
        code: "linux/low-power-missed",
        speaks: || (sleeps(|plan| plan.to_idle = Some(Some(2_000))), "low-power state", None),
        silent: || sleeps(|plan| plan.to_idle = Some(Some(19_000))),
        // As short a time in the low-power state, of a sleep that is itself short.
        decoy: || {
            sleeps(|plan| {
                plan.to_idle = Some(Some(2_000));
                plan.asleep_ms = 5_000;
            })
        },
    },
    Row {
        code: "linux/network-slow-after-resume",
        speaks: || (sleeps(|plan| plan.wireless_ms = Some((2_000, 4_500))), "wlan0", None),
        silent: || sleeps(|plan| plan.wireless_ms = Some((1_000, 600))),
        // The sleep is long, the network quick.
        decoy: || {
            sleeps(|plan| {
                plan.wireless_ms = Some((1_500, 400));
                plan.asleep_ms = 60_000;
            })
        },
    },
    Row {
        code: "linux/network-waited-for",
        speaks: || waits("systemd-networkd-wait-online.service"),
        silent: || takes("systemd-networkd-wait-online.service", 600),
        // The service that sets the network up is not the wait for it.
        decoy: || takes("systemd-networkd.service", 3_000),
    },
    Row {
        code: "linux/random-numbers-waited-for",
        speaks: || waits("systemd-random-seed.service"),
        silent: || takes("systemd-random-seed.service", 600),
        decoy: || takes("random-report.service", 3_000),
    },
    Row {
        code: "linux/relabeled",
        speaks: || waits("selinux-autorelabel.service"),
        silent: || takes("selinux-autorelabel.service", 600),
        // The unit that only asks for labeling at the next boot.
        decoy: || takes("selinux-autorelabel-mark.service", 3_000),
    },
    Row {
        code: "linux/resume-firmware-long",
        speaks: || (sleeps(|plan| plan.firmware_ms = Some(2_300)), "firmware", Some(2_300_000)),
        silent: || sleeps(|plan| plan.firmware_ms = Some(900)),
        // A device is as slow on the way up.
        decoy: || sleeps(|plan| plan.devices[1] = LinuxDevice::new("ata1", "ahci").takes(20, 2_300)),
    },
    Row {
        code: "linux/sleep-device-slow",
        speaks: || {
            let slow = |plan: &mut LinuxSleepPlan| {
                plan.devices[0] = LinuxDevice::new("sda", "sd").on("ata1").takes(1_400, 70).beside_others();
            };
            (sleeps(slow), "sd", Some(1_400_000))
        },
        silent: || LinuxMachine::healthy().sleeps(&sleep()),
        // A task of the same name holds the sleep up, before any device is asked.
        decoy: || sleeps(|plan| plan.tasks.push(("sd".to_owned(), 1_400))),
    },
    Row {
        code: "linux/sleep-given-up",
        speaks: || {
            let refuses = |plan: &mut LinuxSleepPlan| {
                plan.devices.insert(1, LinuxDevice::new("usb1", "usb").takes(100, 20).refuses(-16));
            };
            (sleeps(refuses), "usb1", None)
        },
        silent: || LinuxMachine::healthy().sleeps(&sleep()),
        // The device takes long, but lets the computer sleep.
        decoy: || sleeps(|plan| plan.devices.insert(1, LinuxDevice::new("usb1", "usb").takes(1_500, 20))),
    },
    Row {
        code: "linux/sleep-tasks-slow",
        speaks: || {
            let played = sleeps(|plan| plan.tasks.push(("nfs-reader".to_owned(), 1_800)));
            let length_us = played.truth.sleep_phase_us("freeze_processes");
            (played, "nfs-reader", Some(length_us))
        },
        silent: || sleeps(|plan| plan.tasks.push(("nfs-reader".to_owned(), 300))),
        // File systems are written just before tasks freeze.
        decoy: || sleeps(|plan| plan.sync_ms = 1_800),
    },
    Row {
        code: "linux/udev-settled",
        speaks: || waits("systemd-udev-settle.service"),
        silent: || takes("systemd-udev-settle.service", 600),
        decoy: || takes("udev-report.service", 3_000),
    },
    Row {
        code: "linux/unit-failed",
        speaks: || (ends("broken.service", Ending::Failed("exit-code")), "broken.service", None),
        silent: || takes("fine.service", 30),
        // It failed, and came up at the second attempt.
        decoy: || ends("flaky.service", Ending::UpAtSecondAttempt("exit-code")),
    },
    Row {
        code: "linux/unit-restarted",
        speaks: || (ends("flaky.service", Ending::UpAtSecondAttempt("exit-code")), "flaky.service", None),
        silent: || takes("fine.service", 30),
        // It failed for good.
        decoy: || ends("broken.service", Ending::Failed("exit-code")),
    },
    Row {
        code: "linux/unit-slow",
        speaks: || waits("slow.service"),
        silent: || takes("quick.service", 800),
        // Nobody waits for it.
        decoy: || {
            let unit = LinuxUnit::new("parallel.service").sleeps(9_000).started_with("dbus.service", 10);
            LinuxMachine::healthy().unit(unit).boots()
        },
    },
    Row {
        code: "linux/unit-slow-to-stop",
        speaks: || {
            let played = with(LinuxUnit::new("slow.service").runs(20).stops_for(5_000)).shuts_down();
            let length_us = played.truth.stop("slow.service").length_us();
            (played, "slow.service", Some(length_us))
        },
        silent: || with(LinuxUnit::new("quick.service").runs(20).stops_for(700)).shuts_down(),
        // Slow to start, quick to stop.
        decoy: || with(LinuxUnit::new("slow.service").sleeps(5_000).stops_for(100)).shuts_down(),
    },
    Row {
        code: "linux/unit-timed-out",
        speaks: || {
            let played = with(LinuxUnit::new("dead.service").sleeps(20_000).ends(Ending::Failed("timeout"))).boots();
            let length_us = played.truth.start("dead.service").length_us();
            (played, "dead.service", Some(length_us))
        },
        // It failed at once.
        silent: || ends("broken.service", Ending::Failed("exit-code")),
        // As long, but it came up.
        decoy: || takes("slow.service", 20_000),
    },
    Row {
        code: "linux/units-in-a-row",
        speaks: || {
            let played = in_a_row(ONE_AFTER_ANOTHER, 1_200);
            let lengths = ["a.service", "b.service", "c.service"].map(|unit| played.truth.start(unit).length_us());
            // Side by side the longest would be left.
            let rest_us = lengths.iter().sum::<i64>() - lengths.iter().max().unwrap();
            (played, "a.service → b.service → c.service", Some(rest_us))
        },
        silent: || in_a_row(ONE_AFTER_ANOTHER, 100),
        decoy: || in_a_row(["basic.target"; 3], 1_200),
    },
];

#[test]
fn every_rule_of_linux_is_in_the_table_once() {
    let in_registry: BTreeSet<&str> = RULES
        .iter()
        .filter(|rule| matches!(rule.check, Check::LinuxBoot(_) | Check::LinuxShutdown(_) | Check::LinuxSuspend(_)))
        .map(|rule| rule.code)
        .collect();
    let in_table: Vec<&str> = ROWS.iter().map(|row| row.code).collect();
    assert_eq!(in_table, in_registry.into_iter().collect::<Vec<_>>());
}

#[test]
fn every_rule_of_linux_speaks_where_something_was_put_in() {
    for row in ROWS {
        let (played, name, cost_us) = (row.speaks)();
        let diagnosis = &diagnosed(played.files.all());
        let [finding] = of(diagnosis, row.code)[..] else { panic!("{}: {:?}", row.code, codes(diagnosis)) };
        assert!(finding.subject.name.contains(name), "{}: {}", row.code, finding.subject.name);
        if let Some(truth_us) = cost_us {
            let cost_us = finding.cost_ns.unwrap() / 1_000;
            assert!((cost_us - truth_us).abs() <= truth_us / 50 + 30_000, "{}: {cost_us}, {truth_us}", row.code);
        }
    }
}

/// A rule that could not be checked is not silent: the machine must hold what the rule needs.
#[test]
fn every_rule_of_linux_is_silent_where_nothing_was_put_in_and_about_a_decoy() {
    for row in ROWS {
        for played in [(row.silent)(), (row.decoy)()] {
            silent(&diagnosed(played.files.all()), row.code);
        }
    }
}
