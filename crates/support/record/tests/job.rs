//! Complete jobs on a fake computer: their recordings, and that all changes are undone after a crash between any two
//! changes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use crate::fake_machine::{FakeMachine, LOADER, Loader, job};
use flate2::read::GzDecoder;
use onoff_record::error::Error;
use onoff_record::job::Transition;
use onoff_record::machine::{Machine, MachineFiles};
use onoff_record::session::{Progress, restore, resume, start};
use onoff_record::shutdown_hook;

const PROGRAM: &str = "/opt/onoff";
const ID: &str = "1a2b";

/// Runs a job to its end, with as many restarts as it requests.
fn complete(machine: &mut FakeMachine, transition: Transition) -> Result<Vec<String>, Error> {
    let mut progress = start(machine, job(transition), PROGRAM, ID)?;
    for _ in 0..20 {
        match progress {
            Progress::Finished(recordings) => return Ok(recordings),
            Progress::NoJob => panic!("there is no job"),
            Progress::Restarting => {}
        }
        run_hook(machine);
        machine.restart(true);
        progress = resume(machine, PROGRAM)?;
    }
    panic!("the job does not end");
}

/// Runs the installed shutdown hook with the arguments in it.
fn run_hook(machine: &mut FakeMachine) {
    let Some(text) = machine.read_text("/usr/lib/systemd/system-shutdown/onoff-record") else {
        return;
    };
    let staging = text.split("--staging ").nth(1).unwrap().trim().to_owned();
    shutdown_hook::run(machine, "reboot", &staging).unwrap();
}

/// Names of the files in a recording.
fn names(machine: &FakeMachine, recording: &str) -> BTreeSet<String> {
    let file = File::open(machine.host_path(recording)).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
}

fn content(machine: &FakeMachine, recording: &str, name: &str) -> String {
    let file = File::open(machine.host_path(recording)).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut entry =
        archive.entries().unwrap().map(Result::unwrap).find(|entry| entry.path().unwrap().ends_with(name)).expect(name);
    let mut text = String::new();
    entry.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn records_boots_with_one_time_entry() {
    for loader in [Loader::SystemdBoot, Loader::Grub] {
        let mut machine = FakeMachine::new(loader);
        let before = machine.snapshot();
        let recordings = complete(&mut machine, Transition::Boot).unwrap();
        assert_eq!(recordings, ["/out/boot-1.tar.gz", "/out/boot-2.tar.gz"]);
        let restarts = machine.commands.iter().filter(|command| command.contains("no-block reboot"));
        assert_eq!(restarts.count(), 3, "one training run and two recorded runs");
        let names = names(&machine, "/out/boot-2.tar.gz");
        for name in [
            "boot.trace.txt",
            "boot.stats.txt",
            "clock.txt",
            "cmdline",
            "dmesg.txt",
            "journal.export",
            "recording.json",
        ] {
            assert!(names.contains(&format!("boot-2/running/{name}")), "{name} of {names:?}");
        }
        let command_line = content(&machine, "/out/boot-1.tar.gz", "cmdline");
        for option in
            ["trace_clock=mono", "initcall_debug", "trace_buf_size=64M", "onoff.record=1a2b", "sched:sched_switch"]
        {
            assert!(command_line.contains(option), "{option} of {command_line}");
        }
        assert!(!command_line.contains("rpm:"), "the kernel has no such events: {command_line}");
        let clock = content(&machine, "/out/boot-1.tar.gz", "clock.txt");
        assert_eq!(
            clock,
            "onoff:clock end mono=33.252654001 raw=33.252768002 boot=43.252832003 real=1795216540.661347004\n"
        );
        let mut after = machine.snapshot();
        // The initial values were those of a kernel that traces from its start.
        let mut before = before;
        for tree in [&mut before, &mut after] {
            tree.retain(|path, _| !path.starts_with("/sys/kernel/tracing"));
        }
        assert_eq!(after, before, "{loader:?}");
    }
}

/// The boot loader still reports the entry of the recorded boot, which has been removed.
#[test]
fn starts_job_in_a_recorded_boot() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    complete(&mut machine, Transition::Boot).unwrap();
    let first_command_line = content(&machine, "/out/boot-2.tar.gz", "cmdline");
    std::fs::remove_dir_all(machine.host_path("/out")).unwrap();
    complete(&mut machine, Transition::Boot).unwrap();
    let second_command_line = content(&machine, "/out/boot-2.tar.gz", "cmdline");
    assert_eq!(first_command_line, second_command_line);
    assert!(second_command_line.contains("onoff.entry=debian.conf"), "{second_command_line}");
    assert_eq!(second_command_line.matches("initcall_debug").count(), 1, "{second_command_line}");

    // After a manual restart, the computer is in the same state as before any job.
    machine.restart(true);
    std::fs::remove_dir_all(machine.host_path("/out")).unwrap();
    complete(&mut machine, Transition::Boot).unwrap();
    assert_eq!(content(&machine, "/out/boot-2.tar.gz", "cmdline"), first_command_line);

    let options = first_command_line.split_whitespace().filter(|option| !option.starts_with("onoff.entry="));
    machine.write_file("/proc/cmdline", options.collect::<Vec<_>>().join(" "));
    std::fs::remove_dir_all(machine.host_path("/out")).unwrap();
    let error = complete(&mut machine, Transition::Boot).unwrap_err().to_string();
    assert!(error.contains("restart the computer first"), "{error}");
}

#[test]
fn collects_shutdown_in_hook_and_packs_it_after_boot() {
    let mut machine = FakeMachine::new(Loader::Other);
    let recordings = complete(&mut machine, Transition::Shutdown).unwrap();
    assert_eq!(recordings, ["/out/shutdown-1.tar.gz", "/out/shutdown-2.tar.gz"]);
    let names = names(&machine, "/out/shutdown-1.tar.gz");
    for name in [
        "running/show-units.txt",
        "running/blame.txt",
        "running/clock.txt",
        "last-moments/shutdown.trace.txt",
        "last-moments/dmesg.txt",
        "last-moments/journal.export",
    ] {
        // `systemd-analyze` of the fake computer prints nothing, so there is no file.
        let is_empty = name.ends_with("blame.txt");
        assert_eq!(names.contains(&format!("shutdown-1/{name}")), !is_empty, "{name} of {names:?}");
    }
    let remounts: Vec<&String> = machine.commands.iter().filter(|command| command.starts_with("mount")).collect();
    assert_eq!(remounts.len(), 6);
    assert_eq!(remounts[0], "mount -o remount,rw /");
    assert_eq!(remounts[1], "mount -o remount,ro /");
}

#[test]
fn reboot_cycle_records_shutdown_and_boot() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    let recordings = complete(&mut machine, Transition::RebootCycle).unwrap();
    assert_eq!(
        recordings,
        ["/out/shutdown-1.tar.gz", "/out/boot-1.tar.gz", "/out/shutdown-2.tar.gz", "/out/boot-2.tar.gz"]
    );
}

#[test]
fn records_sleep_and_restores_kernel_values() {
    let mut machine = FakeMachine::new(Loader::Other);
    let before = machine.snapshot();
    let mut job = job(Transition::Suspend);
    job.mem_sleep = Some("s2idle".to_owned());
    let progress = start(&mut machine, job, PROGRAM, ID).unwrap();
    let expected = ["/out/suspend-1.tar.gz", "/out/suspend-2.tar.gz"].map(str::to_owned);
    assert_eq!(progress, Progress::Finished(expected.to_vec()));
    assert_eq!(machine.read_text("/sys/power/state").unwrap(), "mem");
    let clock = content(&machine, "/out/suspend-1.tar.gz", "clock.txt");
    let labels: Vec<&str> = clock.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(labels, ["start", "before-sleep", "after-sleep", "end"]);
    // A real kernel would show some of these values in another form.
    let value = |path: &str| machine.read_text(path).unwrap();
    assert_eq!(value("/sys/kernel/tracing/trace_clock"), "local");
    assert_eq!(value("/sys/kernel/tracing/buffer_size_kb"), "1408");
    assert_eq!(value("/sys/kernel/tracing/tracing_on"), "1");
    assert_eq!(value("/sys/power/mem_sleep"), "deep");
    assert_eq!(value("/sys/power/pm_print_times"), "0");
    assert_eq!(value("/sys/kernel/tracing/events/sched/sched_switch/enable"), "0");
    let mut after = machine.snapshot();
    let mut before = before;
    for tree in [&mut before, &mut after] {
        tree.retain(|path, _| !path.starts_with("/sys/"));
    }
    assert_eq!(after, before);
}

#[test]
fn job_fails_after_three_failed_boots() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    let before = machine.snapshot();
    let progress = start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert_eq!(progress, Progress::Restarting);
    for _ in 0..2 {
        machine.restart(false);
        assert_eq!(resume(&mut machine, PROGRAM).unwrap(), Progress::Restarting);
    }
    machine.restart(false);
    let error = resume(&mut machine, PROGRAM).unwrap_err().to_string();
    assert!(error.contains("training run 1 of 1: the computer started without the trace options"), "{error}");
    assert_eq!(machine.snapshot(), before);
    let message = machine.read_text("/out/FAILED.txt").unwrap();
    assert!(message.contains("3 times"), "{message}");
    assert_eq!(resume(&mut machine, PROGRAM).unwrap(), Progress::NoJob);
}

#[test]
fn failed_boot_costs_one_attempt() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let mut progress = Progress::Restarting;
    for succeeds in [false, true, true, false, true] {
        assert_eq!(progress, Progress::Restarting);
        machine.restart(succeeds);
        progress = resume(&mut machine, PROGRAM).unwrap();
    }
    assert!(matches!(progress, Progress::Finished(recordings) if recordings.len() == 2));
}

/// After a crash between any two changes, restoring gives the original tree, even if the first attempt to restore
/// crashes too.
#[test]
fn restores_after_crash_between_any_two_changes() {
    for (loader, transition) in [
        (Loader::SystemdBoot, Transition::RebootCycle),
        (Loader::Grub, Transition::Boot),
        (Loader::Other, Transition::Shutdown),
    ] {
        let mut crashes = 0;
        for changes in 0.. {
            let mut machine = FakeMachine::new(loader);
            // A file from an earlier version of onoff.
            machine.write_file("/usr/local/sbin/onoff-record", "an older program");
            let before = machine.snapshot();
            machine.changes_left = Some(changes);
            let result = start(&mut machine, job(transition), PROGRAM, ID);
            if machine.changes_left != Some(0) {
                assert_eq!(result.unwrap(), Progress::Restarting);
                break;
            }
            crashes += 1;
            // The computer boots, the user restores it, and it crashes again meanwhile.
            machine.restart(true);
            machine.changes_left = Some(changes % 7);
            let _ = restore(&mut machine);
            machine.changes_left = None;
            restore(&mut machine).unwrap();
            let mut after = machine.snapshot();
            let mut before = before;
            for tree in [&mut before, &mut after] {
                // Kernel values do not survive a restart, which the fake kernel does not simulate.
                tree.retain(|path, _| !path.starts_with("/sys/kernel/tracing"));
            }
            assert_eq!(after, before, "{loader:?}, {transition:?}, crash after {changes} changes");
            assert!(!restore(&mut machine).unwrap(), "nothing is left to restore");
        }
        assert!(crashes > 30, "{crashes}");
    }
}

/// The same for a crash after a restart: while collecting, packing, and starting the next run.
#[test]
fn restores_after_crash_in_continued_job() {
    let mut crashes = 0;
    for changes in 0.. {
        let mut machine = FakeMachine::new(Loader::SystemdBoot);
        let mut before = machine.snapshot();
        let mut job = job(Transition::RebootCycle);
        job.train = 0;
        start(&mut machine, job, PROGRAM, ID).unwrap();
        run_hook(&mut machine);
        machine.restart(true);
        machine.changes_left = Some(changes);
        let result = resume(&mut machine, PROGRAM);
        if machine.changes_left != Some(0) {
            assert_eq!(result.unwrap(), Progress::Restarting);
            break;
        }
        crashes += 1;
        machine.restart(false);
        machine.changes_left = None;
        restore(&mut machine).unwrap();
        let mut after = machine.snapshot();
        for tree in [&mut before, &mut after] {
            tree.retain(|path, _| !path.starts_with("/sys/kernel/tracing"));
        }
        assert_eq!(after, before, "crash after {changes} changes");
        for entry in std::fs::read_dir(machine.host_path("/out")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".tar.gz") || name == "FAILED.txt", "{name}");
        }
    }
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn adds_service_to_default_target() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    let link = machine.host_path("/etc/systemd/system/default.target");
    std::os::unix::fs::symlink("/usr/lib/systemd/system/kiosk.target", link).unwrap();
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.exists("/etc/systemd/system/kiosk.target.wants/onoff-record.service"));
}

#[test]
fn stops_service_before_restoring() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    machine.commands.clear();
    assert!(restore(&mut machine).unwrap());
    let first_command = machine.commands.first().map(String::as_str);
    assert_eq!(first_command, Some("systemctl stop onoff-record.service"));
}

#[test]
fn restoring_stops_trace_of_recorded_boot() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    machine.restart(true);
    machine.write_file("/sys/kernel/tracing/tracing_on", "1");
    assert!(restore(&mut machine).unwrap());
    assert_eq!(machine.read_text("/sys/kernel/tracing/tracing_on").unwrap(), "0");
}

#[test]
fn errors_state_remedy() {
    let start_error = |machine: &mut FakeMachine, transition| {
        let before = machine.snapshot();
        let error = start(machine, job(transition), PROGRAM, ID).unwrap_err();
        assert!(matches!(error, Error::Refused(_)));
        assert_eq!(machine.snapshot(), before);
        error.to_string()
    };
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    machine.superuser = false;
    assert_eq!(
        start_error(&mut machine, Transition::Boot),
        "recording changes the system and requires root: sudo onoff record boot"
    );
    let mut machine = FakeMachine::new(Loader::Other);
    let message = start_error(&mut machine, Transition::Boot);
    assert!(message.contains("neither systemd-boot nor GRUB was found. Add them yourself, run this command again with '--loader manual', and remove them afterwards. Fedora, RHEL: sudo grubby"), "{message}");
    let mut machine = FakeMachine::new(Loader::Other);
    machine.write_file("/sys/power/state", "freeze disk\n");
    let message = start_error(&mut machine, Transition::Suspend);
    assert_eq!(message, "sleep states: this kernel supports 'freeze disk', not 'mem'");
    let mut machine = FakeMachine::new(Loader::Other);
    machine.write_file("/out/shutdown-2.tar.gz", "");
    let message = start_error(&mut machine, Transition::Shutdown);
    assert_eq!(message, "/out/shutdown-2.tar.gz already exists; choose another '--out'");
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let message = start_error(&mut machine, Transition::Boot);
    assert!(message.contains("onoff record --restore"), "{message}");
}

#[test]
fn hook_ignores_other_shutdowns() {
    let mut machine = FakeMachine::new(Loader::Other);
    start(&mut machine, job(Transition::Shutdown), PROGRAM, ID).unwrap();
    run_hook(&mut machine);
    assert!(machine.printed_lines.last().unwrap().contains("the shutdown was recorded"));
    machine.restart(true);
    let command_count = machine.commands.len();
    run_hook(&mut machine);
    assert_eq!(machine.commands.len(), command_count, "nothing was mounted");
}

#[test]
fn writes_one_shot_variable_with_attributes() {
    let mut machine = FakeMachine::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let path = format!("/sys/firmware/efi/efivars/LoaderEntryOneShot-{LOADER}");
    let bytes = machine.read(&path).unwrap();
    assert_eq!(bytes[..4], [7, 0, 0, 0]);
    assert_eq!(bytes[4..8], [b'0', 0, b'-', 0]);
    assert_eq!(bytes[bytes.len() - 2..], [0, 0]);
    assert!(machine.root().join("boot/efi/loader/entries/0-onoff-record.conf").exists());
}

#[test]
fn does_not_follow_planted_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut machine = FakeMachine::new(Loader::Other);
    machine.write_file("/etc/shadow", "secrets");
    machine.write_file("/out/keep", "");
    std::fs::set_permissions(machine.host_path("/out"), std::fs::Permissions::from_mode(0o700)).unwrap();
    for name in [
        "boot-1.tar.gz.unfinished",
        "shutdown-1.tar.gz.unfinished",
        "shutdown-2.tar.gz.unfinished",
        "FAILED.txt.onoff-new",
        "FAILED.txt",
    ] {
        symlink(machine.host_path("/etc/shadow"), machine.host_path(&format!("/out/{name}"))).unwrap();
    }
    complete(&mut machine, Transition::Shutdown).unwrap();
    assert_eq!(machine.read_text("/etc/shadow").unwrap(), "secrets");
    for recording in ["/out/shutdown-1.tar.gz", "/out/shutdown-2.tar.gz"] {
        let metadata = std::fs::symlink_metadata(machine.host_path(recording)).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    // The same for a failed job.
    start(
        &mut machine,
        {
            let mut job = job(Transition::Boot);
            job.out = "/out/b".to_owned();
            job.loader = onoff_record::job::LoaderChoice::Manual;
            job
        },
        PROGRAM,
        ID,
    )
    .unwrap();
    symlink(machine.host_path("/etc/shadow"), machine.host_path("/out/b/FAILED.txt.onoff-new")).unwrap();
    let mut result = Ok(Progress::Restarting);
    for _ in 0..3 {
        machine.restart(false);
        result = resume(&mut machine, PROGRAM);
    }
    result.unwrap_err();
    assert_eq!(machine.read_text("/etc/shadow").unwrap(), "secrets");
    assert!(machine.read_text("/out/b/FAILED.txt").unwrap().contains("without the trace options"));
}

#[test]
fn requires_private_output_folder() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mode = |machine: &FakeMachine, path: &str| {
        std::fs::metadata(machine.host_path(path)).unwrap().permissions().mode() & 0o7777
    };
    let mut machine = FakeMachine::new(Loader::Other);
    start(&mut machine, job(Transition::Shutdown), PROGRAM, ID).unwrap();
    assert_eq!(mode(&machine, "/out"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record/shutdown/running"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record/shutdown/running/cmdline"), 0o600);

    // Between two boots, the folder becomes writable for all, or is replaced by a link.
    run_hook(&mut machine);
    machine.restart(true);
    std::fs::set_permissions(machine.host_path("/out"), std::fs::Permissions::from_mode(0o777)).unwrap();
    machine.write_file("/etc/target/x", "");
    let mut job = job(Transition::Shutdown);
    job.train = 0;
    let start_error = |machine: &mut FakeMachine, job: &onoff_record::job::Job| {
        let _ = restore(machine);
        start(machine, job.clone(), PROGRAM, ID).unwrap_err().to_string()
    };
    let message = start_error(&mut machine, &job);
    assert!(
        message.starts_with("/out: recordings contain the whole journal, but ")
            && message.contains("is writable by other users"),
        "{message}"
    );
    std::fs::set_permissions(machine.host_path("/out"), std::fs::Permissions::from_mode(0o700)).unwrap();
    start(&mut machine, job.clone(), PROGRAM, ID).unwrap();
    run_hook(&mut machine);
    machine.restart(true);
    std::fs::remove_dir_all(machine.host_path("/out")).unwrap();
    symlink(machine.host_path("/etc/target"), machine.host_path("/out")).unwrap();
    let message = resume(&mut machine, PROGRAM).unwrap_err().to_string();
    assert!(message.contains("/out is a link"), "{message}");
    assert_eq!(std::fs::read_dir(machine.host_path("/etc/target")).unwrap().count(), 1, "nothing was written there");

    // In a sticky folder that is writable for all, a private folder is safe.
    std::fs::remove_file(machine.host_path("/out")).unwrap();
    std::fs::create_dir(machine.host_path("/var/tmp")).unwrap();
    std::fs::set_permissions(machine.host_path("/var/tmp"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let _ = restore(&mut machine);
    job.out = "/var/tmp/boots".to_owned();
    start(&mut machine, job.clone(), PROGRAM, ID).unwrap();
    let _ = restore(&mut machine);
    job.out = "/var/tmp".to_owned();
    assert!(start_error(&mut machine, &job).contains("is writable by other users"));
}

#[test]
fn restores_alarm_unless_its_time_has_passed() {
    for (before, now, after) in [
        ("2000000000\n", "1800000000\n", "2000000000"),
        ("2000000000\n", "2100000000\n", "0"),
        ("", "1800000000\n", "0"),
    ] {
        let mut machine = FakeMachine::new(Loader::Other);
        machine.write_file("/sys/class/rtc/rtc0/wakealarm", before);
        machine.write_file("/sys/class/rtc/rtc0/since_epoch", now);
        complete(&mut machine, Transition::Suspend).unwrap();
        assert_eq!(machine.read_text("/sys/class/rtc/rtc0/wakealarm").unwrap(), after, "{before:?} at {now:?}");
    }
}

#[test]
fn grub_starts_entry_once_and_keeps_user_entry() {
    let mut machine = FakeMachine::new(Loader::Grub);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.read_text("/boot/grub/grubenv").unwrap().contains("next_entry=onoff-record"));
    let custom = machine.read_text("/boot/grub/custom.cfg").unwrap();
    assert!(custom.starts_with("menuentry 'mine'") && custom.contains("onoff.record=1a2b"), "{custom}");
    // The recorded kernel hangs and the user turns the computer off and on: it boots normally.
    machine.restart(false);
    assert!(!machine.read_text("/proc/cmdline").unwrap().contains("onoff.record"));
    assert!(restore(&mut machine).unwrap());
    assert_eq!(machine.read_text("/boot/grub/custom.cfg").unwrap(), "menuentry 'mine' {\n\tchainloader +1\n}\n");
}

#[test]
fn rejects_grub_that_cannot_clear_selection() {
    let start_error = |change: &dyn Fn(&FakeMachine)| {
        let mut machine = FakeMachine::new(Loader::Grub);
        change(&machine);
        let before = machine.snapshot();
        let message = start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap_err().to_string();
        assert_eq!(machine.snapshot(), before);
        assert!(
            message.contains("grubby --update-kernel")
                && message.contains("grub2-mkconfig -o")
                && message.contains("trace_event="),
            "{message}"
        );
        message
    };
    let mounts = |kind: &str, source: &str| {
        format!("1 0 0:1 / / rw - rootfs rootfs rw\n29 1 254:2 / / rw shared:1 - {kind} {source} rw\n")
    };
    let message = start_error(&|machine| machine.write_file("/proc/self/mountinfo", mounts("btrfs", "/dev/vda2")));
    assert!(message.contains("is on btrfs, which GRUB cannot write to"), "{message}");
    let message =
        start_error(&|machine| machine.write_file("/proc/self/mountinfo", mounts("ext4", "/dev/mapper/vg-root")));
    assert!(message.contains("is on /dev/mapper/vg-root"), "{message}");
    let message = start_error(&|machine| std::fs::remove_file(machine.host_path("/usr/sbin/grub-reboot")).unwrap());
    assert!(message.contains("without grub-reboot"), "{message}");
    let message = start_error(&|machine| machine.write_file("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-9 rw\n"));
    assert!(message.contains("no entry for the running kernel /vmlinuz-9"), "{message}");
}

/// Fedora and RHEL: the menu is built from entry files.
#[test]
fn adds_entry_file_to_grub() {
    let new_machine = || {
        let machine = FakeMachine::new(Loader::Grub);
        machine.write_file(
            "/boot/grub/grub.cfg",
            "if [ \"${next_entry}\" ] ; then set default=\"${next_entry}\"; fi\nblscfg\n",
        );
        machine.write_file(
            "/boot/loader/entries/0123-6.1.conf",
            "title Fedora\nversion 6.1\nlinux /vmlinuz-6.1\ninitrd /initramfs-6.1.img $tuned_initrd\noptions root=LABEL=root ro $tuned_params\n",
        );
        machine
    };
    let mut machine = new_machine();
    let before = machine.snapshot();
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.commands.contains(&"/usr/sbin/grub-reboot 0-onoff-record".to_owned()), "{:?}", machine.commands);
    let entry = machine.read_text("/boot/loader/entries/0-onoff-record.conf").unwrap();
    assert!(entry.contains("options root=LABEL=root ro $tuned_params trace_event="), "{entry}");
    restore(&mut machine).unwrap();
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn recording_states_how_previous_boot_ended() {
    for (last_lines, expected) in [
        ("Stopped target Basic System.\nShutting down.\nJournal stopped\n", "orderly"),
        ("Started Daily Cleanup.\n", "cut"),
        ("", "unknown"),
    ] {
        let mut machine = FakeMachine::new(Loader::SystemdBoot);
        machine.previous_boot = last_lines;
        complete(&mut machine, Transition::Boot).unwrap();
        let description = content(&machine, "/out/boot-1.tar.gz", "recording.json");
        assert!(description.contains(&format!("\"previous_boot_ended\": \"{expected}\"")), "{description}");
        assert_eq!(description.contains("an orderly shutdown before this boot"), expected == "cut", "{description}");
    }
}
