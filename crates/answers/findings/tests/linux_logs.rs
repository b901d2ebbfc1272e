//! Tests of the rules about what boots waited for and how they failed, with logs as text: found, not found, and decoys.

use onoff_findings::Diagnosis;
use onoff_findings::finding::{CostBasis, FindingSeverity};
use onoff_testkit::linux::TextLog;

use crate::linux_machine::{codes, diagnosed, findings_of, silent};

const MS: i64 = 1_000_000;

/// Returns code, subject and cost in ms of the first finding.
fn first(diagnosis: &Diagnosis) -> (&str, &str, Option<i64>) {
    let finding = diagnosis.findings.first().unwrap();
    (finding.code, finding.subject.name.as_str(), finding.cost_ns.map(|ns| ns / MS))
}

/// A boot in 20 s whose target waits for `slow.service`, with a decoy that takes longer and that nothing waits for.
fn boot_with_decoy() -> TextLog {
    TextLog::boot(2_000)
        .unit("early.service", 2_100, 2_400)
        .unit("background.service", 2_105, 18_000)
        .unit("slow.service", 2_403, 14_000)
        .unit("app.service", 14_004, 14_600)
}

#[test]
fn decoy_that_nothing_waits_for_is_not_blamed() {
    let diagnosis = diagnosed(boot_with_decoy().finished(2_000, 14_605).journal_file());
    assert_eq!(first(&diagnosis), ("linux/unit-slow", "slow.service", Some(11_597)));
    assert!(codes(&diagnosis).iter().all(|(_, name)| *name != "background.service"), "{:?}", codes(&diagnosis));
    // It ends after the target; only the time before the target can count.
    assert_eq!(diagnosis.findings[0].cost_basis, CostBasis::CriticalPath);
    assert!(!diagnosis.transitions[0].waited_for.contains(&"background.service".to_owned()));
}

#[test]
fn unit_that_is_still_starting_comes_first() {
    let hung = boot_with_decoy().manager(14_700, "Starting stuck.service - Test...").kernel(19_000, "usb 1-1: reset");
    let diagnosis = diagnosed(hung.journal_file());
    let (code, name, _) = first(&diagnosis);
    assert_eq!((code, name), ("linux/boot-unfinished", "stuck.service"));
    // The same in a boot that finished.
    let finished = boot_with_decoy().manager(14_604, "Starting stuck.service - Test...").finished(2_000, 14_605);
    silent(&diagnosed(finished.journal_file()), "linux/boot-unfinished");
}

#[test]
fn gap_between_units_comes_first() {
    let gap = |start_ms: i64| {
        TextLog::boot(2_000)
            .unit("early.service", 2_100, 2_400)
            .program(2_500, "lvm", "pvscan[300] PV /dev/sda2 is incomplete")
            .unit("late.service", start_ms, start_ms + 5_000)
            .finished(2_000, start_ms + 5_003)
    };
    let diagnosis = diagnosed(gap(85_400).journal_file());
    assert_eq!(first(&diagnosis), ("linux/unexplained-gap", "late.service", Some(83_000)));
    let finding = &diagnosis.findings[0];
    assert!(
        finding.title.contains("after early.service had finished and before late.service started"),
        "{}",
        finding.title
    );
    let has = |text: &str| finding.evidence.iter().any(|fact| fact.text.contains(text));
    assert!(has("before the gap, from lvm: \"lvm: pvscan[300]"), "{:?}", finding.evidence);
    assert_eq!(first(&diagnosed(gap(2_403).journal_file())).0, "linux/unit-slow");
    silent(&diagnosed(gap(2_403).journal_file()), "linux/unexplained-gap");
}

#[test]
fn gap_of_the_kernel_comes_first() {
    let log = |quiet_ms: i64| {
        TextLog::default()
            .kernel(0, "Linux version 6.1.0-test")
            .kernel(900, "usb 1-1: new high-speed USB device number 2 using xhci_hcd")
            .kernel(900 + quiet_ms, "random: fast init done")
            .kernel(1_000 + quiet_ms, "Run /sbin/init as init process")
            .manager(1_010 + quiet_ms, "systemd 252 running in system mode (+PAM)")
            .unit("slow.service", 1_100 + quiet_ms, 7_100 + quiet_ms)
            .finished(1_000 + quiet_ms, 7_105 + quiet_ms)
    };
    for file in [log(150_000).journal_file(), log(150_000).console_file()] {
        let diagnosis = diagnosed(file);
        assert_eq!(first(&diagnosis), ("linux/unexplained-gap", "random", Some(150_000)), "{:?}", codes(&diagnosis));
        let finding = &diagnosis.findings[0];
        assert!(finding.title.contains("before \"random: fast init done\""), "{}", finding.title);
        assert!(finding.advice.contains("random.trust_cpu=on"), "{}", finding.advice);
        assert!(finding.evidence[0].text.contains("from usb 1-1:"), "{:?}", finding.evidence);
    }
    let quick = diagnosed(log(500).journal_file());
    silent(&quick, "linux/unexplained-gap");
    // After the boot, silence is normal.
    let idle = log(500).kernel(400_000, "usb 1-1: USB disconnect").journal_file();
    silent(&diagnosed(idle), "linux/unexplained-gap");
    // A recorded initcall explains the gap.
    let explained = log(9_000)
        .kernel(905, "calling  slow_init+0x0/0x20 @ 1")
        .kernel(9_895, "initcall slow_init+0x0/0x20 returned 0 after 8990000 usecs");
    silent(&diagnosed(explained.console_file()), "linux/unexplained-gap");
}

#[test]
fn kernel_that_takes_most_of_the_boot_is_named() {
    let busy_kernel = |seconds: i64| {
        let mut log = TextLog::default().kernel(0, "Linux version 6.1.0-test");
        for tenth in 1..seconds * 10 {
            log = log.kernel(tenth * 100, &format!("pci 0000:00:{tenth:02x}.0: BAR 0 assigned"));
        }
        let ms = seconds * 1_000;
        log.kernel(ms, "Run /sbin/init as init process")
            .manager(ms + 10, "systemd 252 running in system mode (+PAM)")
            .unit("a.service", ms + 100, ms + 3_000)
            .finished(ms, ms + 3_004)
    };
    let diagnosis = diagnosed(busy_kernel(40).journal_file());
    let (code, _, cost) = first(&diagnosis);
    assert_eq!((code, cost), ("linux/kernel-long", Some(35_000)), "{:?}", codes(&diagnosis));
    silent(&diagnosed(busy_kernel(4).journal_file()), "linux/kernel-long");
}

#[test]
fn log_that_ends_within_the_kernel_shows_no_length_of_it() {
    let mut log = TextLog::default().kernel(0, "Linux version 6.1.0-test");
    for tenth in 1..200 {
        log = log
            .kernel(tenth * 100, &format!("calling  probe_{tenth}+0x0/0x10 @ 1"))
            .kernel(tenth * 100 + 1, &format!("initcall probe_{tenth}+0x0/0x10 returned 0 after 1000 usecs"));
    }
    let after_it = |log: TextLog| {
        log.kernel(20_000, "calling  init_module+0x0/0x10 [dm_mod] @ 120")
            .kernel(20_020, "initcall init_module+0x0/0x10 [dm_mod] returned 0 after 20000 usecs")
    };
    let is_named = |log: TextLog| {
        let diagnosis = diagnosed(log.console_file());
        codes(&diagnosis).iter().any(|(code, _)| *code == "linux/kernel-long")
    };
    assert!(!is_named(log.clone()));
    // A module that was loaded before the last initcall ended shows no end.
    let module = log.clone().kernel(5_000, "calling  early+0x0/0x10 [early] @ 45");
    let module = module.kernel(5_020, "initcall early+0x0/0x10 [early] returned 0 after 20000 usecs");
    assert!(!is_named(module));
    assert!(is_named(after_it(log)));
}

#[test]
fn device_phases_without_callbacks_are_named() {
    let sleep = |seconds: &str| {
        TextLog::default()
            .kernel(60_000, "PM: suspend entry (deep)")
            .kernel(60_100, "Freezing user space processes ... (elapsed 0.002 seconds) done.")
            .kernel(70_600, &format!("PM: suspend devices took {seconds} seconds"))
            .kernel(70_700, "ACPI: Preparing to enter system sleep state S3")
            .kernel(70_800, "ACPI: Low-level resume complete")
            .kernel(71_000, "PM: resume devices took 0.200 seconds")
            .kernel(71_100, "PM: suspend exit")
    };
    let diagnosis = diagnosed(sleep("10.400").console_file());
    assert_eq!(first(&diagnosis), ("linux/sleep-phase-long", "devices (suspend)", Some(10_400)));
    silent(&diagnosed(sleep("0.400").console_file()), "linux/sleep-phase-long");
}

/// Asserts that the boot failed with these words and this subject, and that it says so first.
pub(crate) fn failed(diagnosis: &Diagnosis, words: &str, subject: &str, evidence: &str) {
    let finding = diagnosis.findings.first().unwrap();
    assert_eq!((finding.code, finding.severity), ("linux/boot-failed", FindingSeverity::High));
    assert!(finding.title.contains(words), "{}", finding.title);
    assert_eq!(finding.subject.name, subject);
    assert!(finding.evidence.iter().any(|fact| fact.text.contains(evidence)), "{:?}", finding.evidence);
    assert!(diagnosis.transitions[0].failure.contains(words), "{}", diagnosis.transitions[0].failure);
}

#[test]
fn root_file_system_that_cannot_be_mounted() {
    let boot = || TextLog::default().kernel(0, "Linux version 6.1.0-test").kernel(1_200, "sdhci: mmc0 ready");
    let panic = boot()
        .kernel(3_000, "VFS: Cannot open root device \"mmcblk0p2\" or unknown-block(0,0): error -6")
        .kernel(3_100, "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)");
    failed(&diagnosed(panic.console_file()), "ended without a root file system", "mmcblk0p2", "Kernel panic");
    // The kernel waits forever; a driver still waits for its clock.
    let waits = boot()
        .kernel(3_000, "Waiting for root device /dev/mmcblk0p2...")
        .kernel(14_000, "platform fe340000.mmc: deferred probe pending: (reason unknown)");
    failed(&diagnosed(waits.console_file()), "without a root file system", "/dev/mmcblk0p2", "deferred probe pending");
    // A shell of the initramfs.
    let shell = boot()
        .kernel(2_000, "Run /init as init process")
        .console("ALERT!  UUID=1234 does not exist.  Dropping to a shell!")
        .console("(initramfs) ");
    failed(&diagnosed(shell.console_file()), "ended without a root file system", "UUID=1234", "Dropping");
    // The device appears in time.
    let found = boot()
        .kernel(3_000, "Waiting for root device /dev/mmcblk0p2...")
        .kernel(4_000, "Run /sbin/init as init process");
    silent(&diagnosed(found.console_file()), "linux/boot-failed");
}

#[test]
fn kernel_panic_ends_the_boot() {
    let panic = TextLog::boot(2_000).kernel(2_500, "Kernel panic - not syncing: Attempted to kill init! exitcode=0x0b");
    failed(&diagnosed(panic.console_file()), "ended in a kernel panic", "boot", "Attempted to kill init");
    // A panic of a running system is not part of the boot.
    let later = boot_with_decoy().finished(2_000, 14_605).kernel(90_000, "Kernel panic - not syncing: Fatal exception");
    silent(&diagnosed(later.journal_file()), "linux/boot-failed");
    let option = TextLog::boot(2_000).kernel(10, "Kernel command line: panic=10");
    silent(&diagnosed(option.console_file()), "linux/boot-failed");
}

#[test]
fn emergency_and_rescue_mode() {
    let emergency = TextLog::boot(2_000)
        .unit("early.service", 2_100, 2_400)
        .manager(92_100, "Timed out waiting for device dev-sdb1.device - /dev/sdb1.")
        .manager(92_101, "Dependency failed for data.mount - /data.")
        .manager(92_102, "Dependency failed for local-fs.target - Local File Systems.")
        .manager(92_200, "Started emergency.service - Emergency Shell.")
        .target(92_201, "emergency.target")
        .manager(92_210, "Startup finished in 2.000s (kernel) + 1min 30.210s (userspace) = 1min 32.210s.");
    let diagnosis = diagnosed(emergency.journal_file());
    failed(&diagnosis, "ended in emergency mode after 92.2 s", "dev-sdb1.device", "data.mount failed");
    // The user repairs it and continues.
    let continued = emergency.finished(2_000, 200_000);
    silent(&diagnosed(continued.journal_file()), "linux/boot-failed");
    let rescue = TextLog::boot(2_000).unit("early.service", 2_100, 2_400).target(2_900, "rescue.target");
    failed(&diagnosed(rescue.journal_file()), "ended in rescue mode", "boot", "rescue.target started");
    // A serial console.
    let console = TextLog::boot(2_000)
        .kernel(5_000, "EXT4-fs (sda1): mounted filesystem")
        .console("[FAILED] Failed to mount /data.")
        .console("[DEPEND] Dependency failed for Local File Systems.")
        .console("You are in emergency mode. After logging in, type \"journalctl -xb\" to view");
    failed(&diagnosed(console.console_file()), "ended in emergency mode", "data.mount", "You are in emergency mode");
}

#[test]
fn login_that_never_comes() {
    let log = |last: &str| {
        TextLog::boot(2_000)
            .unit("early.service", 2_100, 2_400)
            .failed_unit("gdm.service", 2_500, 2_900)
            .manager(3_200, "Starting gdm.service - GNOME Display Manager...")
            .manager(3_600, last)
            .finished(2_000, 3_605)
    };
    let diagnosis = diagnosed(log("Failed to start gdm.service - GNOME Display Manager.").journal_file());
    failed(&diagnosis, "ended without a login", "gdm.service", "gdm.service failed");
    silent(&diagnosed(log("Started gdm.service - GNOME Display Manager.").journal_file()), "linux/boot-failed");
    let inittab = TextLog::boot(2_000).console("INIT: Id \"T0\" respawning too fast: disabled for 5 minutes");
    failed(&diagnosed(inittab.console_file()), "ended without a login", "boot", "respawning too fast");
}

#[test]
fn counts_failures_until_the_start_limit() {
    let mut log = TextLog::boot(2_000).unit("early.service", 2_100, 2_400);
    for attempt in 0..5 {
        let ms = 2_500 + attempt * 200;
        log = log
            .manager(ms, "Started broken.service - Broken.")
            .manager(ms + 50, "broken.service: Main process exited, code=exited, status=203/EXEC")
            .manager(ms + 51, "broken.service: Failed with result 'exit-code'.")
            .manager(ms + 150, "broken.service: Scheduled restart job, restart counter is at 1.")
            .manager(ms + 160, "Stopped broken.service - Broken.");
    }
    let log = log
        .manager(3_600, "broken.service: Start request repeated too quickly.")
        .manager(3_601, "broken.service: Failed with result 'exit-code'.")
        .manager(3_602, "Failed to start broken.service - Broken.")
        .finished(2_000, 9_000);
    let diagnosis = diagnosed(log.journal_file());
    let findings = findings_of(&diagnosis, "linux/unit-restarted");
    assert_eq!(findings.len(), 1, "{:?}", codes(&diagnosis));
    assert_eq!(findings[0].title, "broken.service failed 5 times, until its start limit (exit-code, status 203/EXEC)");
    assert!(findings[0].advice.contains("ExecStart="), "{}", findings[0].advice);
    assert!(!findings[0].advice.contains("After="), "{}", findings[0].advice);
    silent(&diagnosis, "linux/unit-failed");
    // A service that is started twice without a failure.
    let twice = TextLog::boot(2_000)
        .unit("twice.service", 2_100, 2_400)
        .unit("twice.service", 2_500, 2_600)
        .finished(2_000, 2_605);
    silent(&diagnosed(twice.journal_file()), "linux/unit-restarted");
}

/// A boot that unlocks a volume in 40 s, with what happens meanwhile.
fn boot_with_volume(meanwhile: impl FnOnce(TextLog) -> TextLog) -> Diagnosis {
    let log = TextLog::boot(2_000)
        .unit("early.service", 2_100, 3_000)
        .manager(3_005, "Starting systemd-cryptsetup@home.service - Cryptography Setup for home...");
    let log = meanwhile(log)
        .manager(43_000, "Finished systemd-cryptsetup@home.service - Cryptography Setup for home.")
        .unit("app.service", 43_004, 49_000)
        .finished(2_000, 49_005);
    diagnosed(log.journal_file())
}

#[test]
fn person_at_the_password_prompt_is_no_cost() {
    const CODE: &str = "linux/encrypted-volume-wait";
    let prompt = |log: TextLog| {
        log.manager(3_100, "Started systemd-ask-password-plymouth.service - Forward Password Requests to Plymouth.")
    };
    let entered = |log: TextLog, ms: i64| log.program(ms, "systemd-cryptsetup", "Set cipher aes, mode xts-plain64");
    let quick = boot_with_volume(|log| entered(prompt(log), 42_000));
    assert_eq!(first(&quick), ("linux/unit-slow", "app.service", Some(5_996)), "{:?}", codes(&quick));
    let [finding] = &findings_of(&quick, CODE)[..] else { panic!("{:?}", codes(&quick)) };
    assert!(finding.title.contains("waited 38.9 s for a person to type the password"), "{}", finding.title);
    assert_eq!((finding.cost_ns, finding.measured_ns), (None, Some(38_900 * MS)));
    // A slow key derivation is work of the computer.
    let slow = boot_with_volume(|log| entered(prompt(log), 33_000));
    let findings = findings_of(&slow, CODE);
    assert_eq!(findings.len(), 2, "{:?}", codes(&slow));
    assert!(findings[0].title.contains("took 10.0 s after the password had been entered"), "{}", findings[0].title);
    // The time of the password was not recorded.
    let unknown = boot_with_volume(prompt);
    let findings = findings_of(&unknown, CODE);
    assert!(findings.len() == 1 && findings[0].cost_ns.is_none(), "{:?}", codes(&unknown));
    assert!(findings[0].title.ends_with(", at most"), "{}", findings[0].title);
    // Without a prompt, such as with a TPM, or with only the unit that watches for prompts, nobody was asked.
    for meanwhile in
        ["x.service: Deactivated.", "Started systemd-ask-password-plymouth.path - Forward Password Requests."]
    {
        let unattended = boot_with_volume(|log| log.manager(3_100, meanwhile));
        let (code, _, cost_ms) = first(&unattended);
        assert_eq!((code, cost_ms), (CODE, Some(39_995)), "{meanwhile}");
        assert!(!unattended.findings[0].title.contains("person"), "{}", unattended.findings[0].title);
    }
}

#[test]
fn device_that_did_not_appear_is_named() {
    let boot = |result: &str| {
        let log = TextLog::boot(2_000)
            .unit("early.service", 2_100, 3_000)
            .manager(92_600, "dev-sdb1.device: Job dev-sdb1.device/start timed out.")
            .manager(92_601, result)
            .manager(92_602, "Dependency failed for dev-sdb1.swap - /dev/sdb1.")
            .unit("late.service", 92_700, 94_000)
            .finished(2_000, 94_005);
        diagnosed(log.journal_file())
    };
    let missing = boot("Timed out waiting for device dev-sdb1.device - /dev/sdb1.");
    assert_eq!(first(&missing), ("linux/unit-timed-out", "dev-sdb1.device", Some(89_601)), "{:?}", codes(&missing));
    assert!(missing.findings[0].advice.contains("/etc/fstab"), "{}", missing.findings[0].advice);
    silent(&missing, "linux/unexplained-gap");
    // Something else failed in the gap: the gap stays unexplained.
    let other = boot("Failed to start other.service - Other.");
    assert_eq!(first(&other).0, "linux/unexplained-gap", "{:?}", codes(&other));
}

#[test]
fn times_and_blame_name_the_slowest_units() {
    let diagnosis = |text: &str| diagnosed(vec![("pasted.txt".to_owned(), text.as_bytes().to_vec())]);
    let text = "Startup finished in 2.471s (kernel) + 33.194s (userspace) = 35.665s\n\
                graphical.target reached after 32.807s in userspace\n\
                2min 3.5s apt-daily.service\n33.1s plymouth-quit-wait.service\n28.960s lvm2-monitor.service\n\
                8.1s NetworkManager-wait-online.service\n7.9s dev-sda1.device\n12ms dbus.service\n";
    for text in [text.to_owned(), text.lines().map(|line| format!("> {line}\n")).collect()] {
        let pasted = diagnosis(&text);
        let expected =
            [("linux/unit-slow", "lvm2-monitor.service"), ("linux/network-wait", "NetworkManager-wait-online.service")];
        assert_eq!(codes(&pasted), expected, "{text}");
        let finding = &pasted.findings[0];
        assert_eq!((finding.cost_ns, finding.cost_basis), (Some(28_960 * MS), CostBasis::AtMost));
        assert!(finding.title.contains("whether the boot waited for it is not recorded"), "{}", finding.title);
    }
    let healthy =
        "Startup finished in 2.471s (kernel) + 3.194s (userspace) = 5.665s\n200ms a.service\n12ms dbus.service\n";
    assert_eq!(codes(&diagnosis(healthy)), []);
}

#[test]
fn logins_on_terminals_that_all_fail() {
    let log = |second: &str| {
        let mut log = TextLog::boot(2_000).unit("early.service", 2_100, 2_400);
        for attempt in 0..5 {
            let ms = 2_500 + attempt * 200;
            log = log
                .manager(ms, "Started getty@tty1.service - Getty on tty1.")
                .manager(ms + 50, "getty@tty1.service: Failed with result 'exit-code'.");
        }
        let log = log
            .manager(3_600, "getty@tty1.service: Start request repeated too quickly.")
            .manager(3_602, "Failed to start getty@tty1.service - Getty on tty1.");
        let log = if second.is_empty() { log } else { log.manager(3_650, second) };
        diagnosed(log.finished(2_000, 3_700).journal_file())
    };
    failed(&log(""), "ended without a login", "getty@tty1.service", "getty@tty1.service failed");
    // Another terminal or a login screen lets a person in.
    for second in ["Started serial-getty@ttyS0.service - Serial Getty on ttyS0.", "Started gdm.service - GNOME."] {
        silent(&log(second), "linux/boot-failed");
    }
}

#[test]
fn consoles_that_show_only_the_target_for_repairs() {
    let console = |line: &str| diagnosed(TextLog::boot(2_000).console(line).console_file());
    for (line, words) in [
        (
            "[\u{1b}[0;32m  OK  \u{1b}[0m] Reached target \u{1b}[0;1;39memergency.target\u{1b}[0m - Emergency Mode.",
            "emergency mode",
        ),
        ("[  OK  ] Reached target Rescue Mode.", "rescue mode"),
    ] {
        let diagnosis = console(line);
        let finding = &diagnosis.findings[0];
        assert!(finding.code == "linux/boot-failed" && finding.title.contains(words), "{line}: {}", finding.title);
    }
    silent(&console("[  OK  ] Reached target multi-user.target - Multi-User System."), "linux/boot-failed");
}
