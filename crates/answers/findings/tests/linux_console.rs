//! Boots that did not succeed, from serial consoles of boards: drivers that wait, loaders that give up, panics without
//! times, and logins that never come without systemd.

use onoff_findings::Diagnosis;
use onoff_testkit::linux::TextLog;

use crate::linux_logs::failed;
use crate::linux_machine::{diagnosed, findings_of, silent};

const LOADER: &str = "U-Boot SPL 2024.01 (Jan 08 2024 - 15:37:48 +0000)\nTrying to boot from MMC1\n\n\
    U-Boot 2024.01 (Jan 08 2024 - 15:37:48 +0000)\nDRAM:  2 GiB\n";

fn console(text: &str) -> Diagnosis {
    diagnosed(vec![("console.log".to_owned(), text.as_bytes().to_vec())])
}

fn title(diagnosis: &Diagnosis) -> &str {
    &diagnosis.findings.first().unwrap().title
}

#[test]
fn drivers_that_wait_for_other_devices() {
    let kernel =
        || TextLog::default().kernel(0, "Linux version 6.6.1").kernel(1_200, "clk: Not disabling unused clocks");
    let waits = |line: &str| {
        let log = kernel().kernel(14_000, "platform cpufreq-dt: deferred probe pending: (reason unknown)");
        log.kernel(14_001, line).kernel(14_002, "platform sound: deferred probe pending: asoc-simple-card: parse error")
    };
    // The kernel waits for the disk: its controller waits for a clock.
    let line = "platform fe340000.mmc: deferred probe pending: platform: wait for supplier /clk@ff7c0000";
    let root = waits(line).kernel(14_100, "Waiting for root device /dev/mmcblk0p2...");
    let diagnosis = diagnosed(root.console_file());
    failed(&diagnosis, "ended without a root file system", "/dev/mmcblk0p2", "deferred probe pending");
    assert!(title(&diagnosis).ends_with("; fe340000.mmc waits for /clk@ff7c0000"), "{}", title(&diagnosis));
    assert!(diagnosis.findings[0].advice.contains("devices_deferred"), "{}", diagnosis.findings[0].advice);
    // Without user space and another reason, the drivers are the reason.
    let diagnosis =
        diagnosed(waits("platform fd000000.usb: deferred probe pending: dwc2: error getting phy").console_file());
    failed(&diagnosis, "ended while drivers waited for other devices", "cpufreq-dt", "error getting phy");
    // A boot that went on without these devices.
    let finished = waits(line).kernel(14_100, "Run /sbin/init as init process").finished(14_100, 16_000);
    silent(&diagnosed(finished.console_file()), "linux/boot-failed");
    // Other devices than controllers of disks do not explain a missing disk.
    let root = kernel()
        .kernel(14_000, "platform sound: deferred probe pending: (reason unknown)")
        .kernel(14_100, "Waiting for root device /dev/mmcblk0p2...");
    let diagnosis = diagnosed(root.console_file());
    assert!(title(&diagnosis).ends_with(": /dev/mmcblk0p2 could not be mounted"), "{}", title(&diagnosis));
}

#[test]
fn panics_on_consoles_without_times() {
    let panic = format!(
        "{LOADER}Starting kernel ...\n\n<5>Linux version 5.4.0\n<6>mmc0: no card\n\
         <0>VFS: Cannot open root device \"mmcblk0p2\" or unknown-block(0,0): error -6\n\
         <0>Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n"
    )
    .replace("<0>", "");
    let diagnosis = console(&panic);
    failed(&diagnosis, "ended without a root file system: mmcblk0p2", "mmcblk0p2", "Kernel panic");
    assert!(diagnosis.findings[0].evidence.iter().all(|fact| fact.time_ns.is_none()));
    // A panic of a kernel whose first lines are missing.
    let tail = "[    2.100000] mmc0: timeout\n[    2.200000] Kernel panic - not syncing: No working init found.\n";
    failed(&console(tail), "ended in a kernel panic after 2.20 s", "boot", "No working init");
}

#[test]
fn loaders_that_give_up() {
    let diagnosis = console(&format!("{LOADER}mmc_init: -95, time 12\nERROR: can't get kernel image!\n=> \n"));
    failed(&diagnosis, "ended before the kernel started: U-Boot 2024.01 stopped", "U-Boot 2024.01", "can't get kernel");
    let diagnosis = console(&format!("{LOADER}### ERROR ### Please RESET the board ###\n").repeat(3));
    failed(&diagnosis, "ended before the kernel started", "U-Boot 2024.01", "Please RESET");
    // The loader tries another image, and the kernel starts.
    let log = TextLog::boot(2_000).finished(2_000, 4_000).console_file().remove(0).1;
    let log = format!(
        "{LOADER}ERROR: can't get kernel image!\nTrying mmc 1\nStarting kernel ...\n{}",
        String::from_utf8(log).unwrap()
    );
    silent(&console(&log), "linux/boot-failed");
}

#[test]
fn logins_that_never_come_without_systemd() {
    let boot = || {
        TextLog::default()
            .kernel(0, "Linux version 6.6.1")
            .kernel(2_000, "Run /sbin/init as init process")
            .console("Starting syslogd: OK")
    };
    let restarts = |times: u32| {
        (0..times).fold(boot(), |log, number| {
            log.console("can't open /dev/ttyS1: No such file or directory").console(&format!(
                "process '/sbin/getty -L ttyS1 115200 vt100' (pid {}) exited. Scheduling for restart.",
                97 + number
            ))
        })
    };
    let diagnosis = diagnosed(restarts(4).console_file());
    failed(&diagnosis, "ended without a login after 2.00 s: no login runs on ttyS1", "ttyS1", "Scheduling for restart");
    // The terminal exists on another port, and somebody can log in there.
    silent(&diagnosed(restarts(4).console("buildroot login: ").console_file()), "linux/boot-failed");
    // A user logged out.
    silent(&diagnosed(restarts(1).console_file()), "linux/boot-failed");
    // Another program that ends again and again.
    let other = (0..5).fold(boot(), |log, number| {
        log.console(&format!("process '/usr/bin/ntp.sh' (pid {}) exited. Scheduling for restart.", 90 + number))
    });
    silent(&diagnosed(other.console_file()), "linux/boot-failed");
    // OpenRC.
    let openrc = boot().console(" * Starting agetty on ttyS0 ...").console(" * ERROR: agetty.ttyS0 failed to start");
    failed(&diagnosed(openrc.console_file()), "ended without a login", "ttyS0", "failed to start");
    // sysvinit has a terminal that does not exist, and one where somebody can log in.
    let sysvinit =
        boot().console("INIT: Id \"T0\" respawning too fast: disabled for 5 minutes").console("board login: ");
    silent(&diagnosed(sysvinit.console_file()), "linux/boot-failed");
}

#[test]
fn consoles_with_times_of_a_host_have_firmware_and_loader() {
    let stamped = |seconds: f64, line: &str| format!("[{seconds:.6} 0.000100] {line}\n");
    let mut text = stamped(0.5, "U-Boot SPL 2024.01 (Jan 08 2024)") + &stamped(12.5, "U-Boot 2024.01 (Jan 08 2024)");
    for (kernel, line) in [
        (0.0, "Linux version 6.6.1"),
        (1.0, "mmc0: new card"),
        (2.0, "Run /sbin/init as init process"),
        (2.1, "systemd[1]: systemd 252 running in system mode (+PAM)"),
        (5.0, "systemd[1]: Reached target graphical.target - Graphical Interface."),
        (5.1, "systemd[1]: Startup finished in 2.000s (kernel) + 3.100s (userspace) = 5.100s."),
    ] {
        text += &stamped(14.0 + kernel, &format!("[{kernel:12.6}] {line}"));
    }
    let diagnosis = console(&text);
    let finding = diagnosis.findings.iter().find(|finding| finding.code == "linux/firmware-or-loader-slow").unwrap();
    assert!(finding.title.contains("12"), "{}", finding.title);
    silent(&diagnosis, "linux/boot-failed");
}

#[test]
fn boots_that_a_console_without_times_shows_as_finished() {
    let hung = |lines: &[&str]| {
        let log = TextLog::boot(2_000)
            .unit("early.service", 2_100, 2_400)
            .manager(2_500, "Starting slow.service - Slow...")
            .manager(2_600, "Starting other.service - Other...")
            .kernel(43_000, "usb 1-1: new device");
        diagnosed(lines.iter().fold(log, |log, line| log.console(line)).console_file())
    };
    const DONE: &str = "[\u{1b}[0;32m  OK  \u{1b}[0m] Started \u{1b}[0;1;39mslow.service\u{1b}[0m - Slow.";
    const TARGET: &str = "[  OK  ] Reached target multi-user.target - Multi-User System.";
    let unfinished = |diagnosis: &Diagnosis| -> Vec<String> {
        findings_of(diagnosis, "linux/boot-unfinished").iter().map(|finding| finding.subject.name.clone()).collect()
    };
    assert_eq!(unfinished(&hung(&[])), ["slow.service", "other.service"]);
    // A unit that the console shows as started does not hang, the other one does.
    assert_eq!(unfinished(&hung(&[DONE])), ["other.service"]);
    assert_eq!(unfinished(&hung(&[DONE, "[  OK  ] Reached target basic.target - Basic System."])), ["other.service"]);
    // Nothing hangs once the target for users is reached; a target of the same name that stops is a decoy.
    for lines in [&[TARGET][..], &[DONE, "[  OK  ] Reached target Multi-User System."]] {
        silent(&hung(lines), "linux/boot-unfinished");
        silent(&hung(lines), "linux/boot-failed");
    }
    assert_eq!(unfinished(&hung(&["[  OK  ] Stopped target multi-user.target - Multi-User System."])).len(), 2);
    // A panic after that does not belong to the boot; one before it does.
    let panic = "Kernel panic - not syncing: Fatal exception";
    let log = |panic_ms: i64| {
        let before = TextLog::boot(2_000).kernel(3_000, "usb 1-1: new device");
        let before = if panic_ms < 4_000 { before.kernel(panic_ms, panic) } else { before };
        let log = before.console(TARGET);
        diagnosed(if panic_ms >= 4_000 { log.kernel(panic_ms, panic) } else { log }.console_file())
    };
    silent(&log(9_000), "linux/boot-failed");
    failed(&log(3_500), "ended in a kernel panic", "boot", "Fatal exception");
}

#[test]
fn file_systems_that_fail_without_the_beginning_of_the_log() {
    let failure = "Nov 05 09:41:15 pc systemd[1]: Timed out waiting for device /dev/disk/by-uuid/024D-8283.\n\
                   Nov 05 09:41:15 pc systemd[1]: Dependency failed for File System Check on /dev/disk/by-uuid/024D-8283.\n\
                   Nov 05 09:41:15 pc systemd[1]: Dependency failed for /boot/efi.\n";
    let target = "Nov 05 09:41:15 pc systemd[1]: Dependency failed for Local File Systems.\n\
                  Nov 05 09:41:15 pc systemd[1]: local-fs.target: Triggering OnFailure= dependencies.\n";
    let diagnosis = console(&format!("{failure}{target}"));
    let device = "dev-disk-by\\x2duuid-024D\\x2d8283.device";
    failed(&diagnosis, "failed to mount its file systems", device, "boot-efi.mount failed");
    // The time of the failure is unknown, because the log does not have the beginning.
    assert!(title(&diagnosis).ends_with(&format!("its file systems: {device} failed")), "{}", title(&diagnosis));
    // The status lines of a console, without times.
    let status = "[FAILED] Failed to mount /var.\nSee 'systemctl status var.mount' for details.\n\
                  [DEPEND] Dependency failed for Basic System.\n[DEPEND] Dependency failed for Local File Systems.\n";
    let diagnosis = console(status);
    failed(&diagnosis, "failed to mount its file systems: var.mount failed", "var.mount", "var.mount failed");
    assert!(diagnosis.findings[0].evidence.iter().all(|fact| fact.time_ns.is_none()));
    // A person who plugs a disk in later, and a boot that went on.
    silent(&console(failure), "linux/boot-failed");
    let repaired = "Nov 05 09:45:15 pc systemd[1]: Reached target Multi-User System.\n";
    silent(&console(&format!("{failure}{target}{repaired}")), "linux/boot-failed");
}
