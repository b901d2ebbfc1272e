//! Whole jobs on an invented computer: what they leave, and that everything is put back after a crash between any two
//! changes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

use crate::invented::{Invented, LOADER, Loader, job};
use flate2::read::GzDecoder;
use onoff_record::error::Error;
use onoff_record::job::Transition;
use onoff_record::machine::{Files, Machine};
use onoff_record::session::{Progress, restore, resume, start};
use onoff_record::shutdown_hook;

const PROGRAM: &str = "/opt/onoff";
const ID: &str = "1a2b";

/// Has the job done to its end, the computer restarting as often as it wants to.
fn complete(machine: &mut Invented, transition: Transition) -> Result<Vec<String>, Error> {
    let mut progress = start(machine, job(transition), PROGRAM, ID)?;
    for _ in 0..20 {
        match progress {
            Progress::Finished(recordings) => return Ok(recordings),
            Progress::Nothing => panic!("there is a job"),
            Progress::Restarting => {}
        }
        hook(machine);
        machine.restart(true);
        progress = resume(machine, PROGRAM)?;
    }
    panic!("no end");
}

/// Runs what was put into systemd's folder of hooks, with the words that are in it.
fn hook(machine: &mut Invented) {
    let Some(text) = machine.read_text("/usr/lib/systemd/system-shutdown/onoff-record") else {
        return;
    };
    let staging = text.split("--staging ").nth(1).unwrap().trim().to_owned();
    shutdown_hook::run(machine, "reboot", &staging).unwrap();
}

/// Names in a recording, with its top folder.
fn names(machine: &Invented, recording: &str) -> BTreeSet<String> {
    let file = File::open(machine.at(recording)).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
}

fn content(machine: &Invented, recording: &str, name: &str) -> String {
    let file = File::open(machine.at(recording)).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut entry =
        archive.entries().unwrap().map(|it| it.unwrap()).find(|it| it.path().unwrap().ends_with(name)).expect(name);
    let mut text = String::new();
    entry.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn boots_are_recorded_with_the_options_of_an_entry_for_one_boot() {
    for loader in [Loader::SystemdBoot, Loader::Grub] {
        let mut machine = Invented::new(loader);
        let before = machine.snapshot();
        let recordings = complete(&mut machine, Transition::Boot).unwrap();
        assert_eq!(recordings, ["/out/boot-1.tar.gz", "/out/boot-2.tar.gz"]);
        let restarts = machine.ran.iter().filter(|it| it.contains("no-block reboot"));
        assert_eq!(restarts.count(), 3, "one training run and two recorded ones");
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
        let told = content(&machine, "/out/boot-1.tar.gz", "cmdline");
        for option in
            ["trace_clock=mono", "initcall_debug", "trace_buf_size=64M", "onoff.record=1a2b", "sched:sched_switch"]
        {
            assert!(told.contains(option), "{option} of {told}");
        }
        assert!(!told.contains("rpm:"), "the kernel has no such events: {told}");
        let clock = content(&machine, "/out/boot-1.tar.gz", "clock.txt");
        assert_eq!(
            clock,
            "onoff:clock end mono=33.252654001 raw=33.252768002 boot=43.252832003 real=1795216540.661347004\n"
        );
        let mut after = machine.snapshot();
        // The kernel's own values were those of a kernel that traces from its start.
        let mut before = before;
        for tree in [&mut before, &mut after] {
            tree.retain(|path, _| !path.starts_with("/sys/kernel/tracing"));
        }
        assert_eq!(after, before, "{loader:?}");
    }
}

/// The boot loader tells of the entry that it took, which is gone by then.
#[test]
fn a_boot_that_was_recorded_can_be_followed_by_another_job() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    complete(&mut machine, Transition::Boot).unwrap();
    let first = content(&machine, "/out/boot-2.tar.gz", "cmdline");
    std::fs::remove_dir_all(machine.at("/out")).unwrap();
    complete(&mut machine, Transition::Boot).unwrap();
    let second = content(&machine, "/out/boot-2.tar.gz", "cmdline");
    assert_eq!(first, second);
    assert!(second.contains("onoff.entry=debian.conf"), "{second}");
    assert_eq!(second.matches("initcall_debug").count(), 1, "{second}");

    // Restarted by hand once more, the computer is where it was before any job.
    machine.restart(true);
    std::fs::remove_dir_all(machine.at("/out")).unwrap();
    complete(&mut machine, Transition::Boot).unwrap();
    assert_eq!(content(&machine, "/out/boot-2.tar.gz", "cmdline"), first);

    let options = first.split_whitespace().filter(|it| !it.starts_with("onoff.entry="));
    machine.put("/proc/cmdline", options.collect::<Vec<_>>().join(" "));
    std::fs::remove_dir_all(machine.at("/out")).unwrap();
    let refusal = complete(&mut machine, Transition::Boot).unwrap_err().to_string();
    assert!(refusal.contains("restart the computer first"), "{refusal}");
}

#[test]
fn a_shutdown_is_recorded_in_its_last_moments_and_packed_after_the_boot() {
    let mut machine = Invented::new(Loader::Other);
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
        // `systemd-analyze` of the invented computer says nothing, and leaves no file.
        let silent = name.ends_with("blame.txt");
        assert_eq!(names.contains(&format!("shutdown-1/{name}")), !silent, "{name} of {names:?}");
    }
    let remounts: Vec<&String> = machine.ran.iter().filter(|it| it.starts_with("mount")).collect();
    assert_eq!(remounts.len(), 6);
    assert_eq!(remounts[0], "mount -o remount,rw /");
    assert_eq!(remounts[1], "mount -o remount,ro /");
}

#[test]
fn a_cycle_gives_both() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    let recordings = complete(&mut machine, Transition::RebootCycle).unwrap();
    assert_eq!(
        recordings,
        ["/out/shutdown-1.tar.gz", "/out/boot-1.tar.gz", "/out/shutdown-2.tar.gz", "/out/boot-2.tar.gz"]
    );
}

#[test]
fn sleep_is_recorded_and_every_value_put_back() {
    let mut machine = Invented::new(Loader::Other);
    let before = machine.snapshot();
    let mut wanted = job(Transition::Suspend);
    wanted.mem_sleep = Some("s2idle".to_owned());
    let progress = start(&mut machine, wanted, PROGRAM, ID).unwrap();
    let expected = ["/out/suspend-1.tar.gz", "/out/suspend-2.tar.gz"].map(str::to_owned);
    assert_eq!(progress, Progress::Finished(expected.to_vec()));
    assert_eq!(machine.read_text("/sys/power/state").unwrap(), "mem");
    let clock = content(&machine, "/out/suspend-1.tar.gz", "clock.txt");
    let labels: Vec<&str> = clock.lines().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(labels, ["start", "before-sleep", "after-sleep", "end"]);
    // What the kernel would show again in its own form, and what was only written to.
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
fn a_boot_that_does_not_come_up_is_tried_again_and_then_given_up() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    let before = machine.snapshot();
    let progress = start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert_eq!(progress, Progress::Restarting);
    for _ in 0..2 {
        machine.restart(false);
        assert_eq!(resume(&mut machine, PROGRAM).unwrap(), Progress::Restarting);
    }
    machine.restart(false);
    let error = resume(&mut machine, PROGRAM).unwrap_err().to_string();
    assert!(error.contains("training run 1 of 1: the computer came up without the options"), "{error}");
    assert_eq!(machine.snapshot(), before);
    let left = machine.read_text("/out/FAILED.txt").unwrap();
    assert!(left.contains("3 times"), "{left}");
    assert_eq!(resume(&mut machine, PROGRAM).unwrap(), Progress::Nothing);
}

#[test]
fn one_boot_that_did_not_come_up_costs_one_attempt_only() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let mut progress = Progress::Restarting;
    for comes_up in [false, true, true, false, true] {
        assert_eq!(progress, Progress::Restarting);
        machine.restart(comes_up);
        progress = resume(&mut machine, PROGRAM).unwrap();
    }
    assert!(matches!(progress, Progress::Finished(recordings) if recordings.len() == 2));
}

/// After a crash between any two changes, putting back gives the tree of before; also when putting back crashes as well.
#[test]
fn everything_is_put_back_after_a_crash_between_any_two_changes() {
    for (loader, transition) in [
        (Loader::SystemdBoot, Transition::RebootCycle),
        (Loader::Grub, Transition::Boot),
        (Loader::Other, Transition::Shutdown),
    ] {
        let mut crashes = 0;
        for changes in 0.. {
            let mut machine = Invented::new(loader);
            // Something of ours that was there before.
            machine.put("/usr/local/sbin/onoff-record", "an older program");
            let before = machine.snapshot();
            machine.changes_left = Some(changes);
            let result = start(&mut machine, job(transition), PROGRAM, ID);
            if machine.changes_left != Some(0) {
                assert_eq!(result.unwrap(), Progress::Restarting);
                break;
            }
            crashes += 1;
            // The computer comes up again and somebody puts things back; it crashes once more on the way.
            machine.restart(true);
            machine.changes_left = Some(changes % 7);
            let _ = restore(&mut machine);
            machine.changes_left = None;
            restore(&mut machine).unwrap();
            let mut after = machine.snapshot();
            let mut before = before;
            for tree in [&mut before, &mut after] {
                // Values of the kernel's do not outlive a restart, which the invented kernel does not know.
                tree.retain(|path, _| !path.starts_with("/sys/kernel/tracing"));
            }
            assert_eq!(after, before, "{loader:?}, {transition:?}, crash after {changes} changes");
            assert!(!restore(&mut machine).unwrap(), "nothing is left to put back");
        }
        assert!(crashes > 30, "{crashes}");
    }
}

/// The same while it goes on after a restart: collecting, packing, the next run.
#[test]
fn everything_is_put_back_after_a_crash_while_it_goes_on() {
    let mut crashes = 0;
    for changes in 0.. {
        let mut machine = Invented::new(Loader::SystemdBoot);
        let mut before = machine.snapshot();
        let mut wanted = job(Transition::RebootCycle);
        wanted.train = 0;
        start(&mut machine, wanted, PROGRAM, ID).unwrap();
        hook(&mut machine);
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
        let left = std::fs::read_dir(machine.at("/out")).unwrap();
        for entry in left {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(name.ends_with(".tar.gz") || name == "FAILED.txt", "{name}");
        }
    }
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn another_default_target_pulls_the_service_in() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    let link = machine.at("/etc/systemd/system/default.target");
    std::os::unix::fs::symlink("/usr/lib/systemd/system/kiosk.target", link).unwrap();
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.exists("/etc/systemd/system/kiosk.target.wants/onoff-record.service"));
}

#[test]
fn a_service_that_would_go_on_is_stopped_before_anything_is_put_back() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    machine.ran.clear();
    assert!(restore(&mut machine).unwrap());
    let first = machine.ran.first().map(String::as_str);
    assert_eq!(first, Some("systemctl stop onoff-record.service"));
}

#[test]
fn a_boot_that_traces_since_its_begin_stops_when_things_are_put_back() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    machine.restart(true);
    machine.put("/sys/kernel/tracing/tracing_on", "1");
    assert!(restore(&mut machine).unwrap());
    assert_eq!(machine.read_text("/sys/kernel/tracing/tracing_on").unwrap(), "0");
}

#[test]
fn refusals_say_what_to_do() {
    let refusal = |machine: &mut Invented, transition| {
        let before = machine.snapshot();
        let error = start(machine, job(transition), PROGRAM, ID).unwrap_err();
        assert!(matches!(error, Error::Refused(_)));
        assert_eq!(machine.snapshot(), before);
        error.to_string()
    };
    let mut machine = Invented::new(Loader::SystemdBoot);
    machine.superuser = false;
    assert_eq!(
        refusal(&mut machine, Transition::Boot),
        "recording changes the system and needs root: sudo onoff record boot"
    );
    let mut machine = Invented::new(Loader::Other);
    let said = refusal(&mut machine, Transition::Boot);
    assert!(said.contains("neither systemd-boot nor GRUB was found. Put them there yourself, repeat with '--loader manual', and take them away afterwards. Fedora, RHEL: sudo grubby"), "{said}");
    let mut machine = Invented::new(Loader::Other);
    machine.put("/sys/power/state", "freeze disk\n");
    let said = refusal(&mut machine, Transition::Suspend);
    assert_eq!(said, "sleep states: this kernel offers 'freeze disk', not 'mem'");
    let mut machine = Invented::new(Loader::Other);
    machine.put("/out/shutdown-2.tar.gz", "");
    let said = refusal(&mut machine, Transition::Shutdown);
    assert_eq!(said, "/out/shutdown-2.tar.gz is there already: choose another '--out'");
    let mut machine = Invented::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let said = refusal(&mut machine, Transition::Boot);
    assert!(said.contains("onoff record --restore"), "{said}");
}

#[test]
fn the_hook_lets_other_shutdowns_be() {
    let mut machine = Invented::new(Loader::Other);
    start(&mut machine, job(Transition::Shutdown), PROGRAM, ID).unwrap();
    hook(&mut machine);
    assert!(machine.said.last().unwrap().contains("the shutdown is recorded"));
    machine.restart(true);
    let ran = machine.ran.len();
    hook(&mut machine);
    assert_eq!(machine.ran.len(), ran, "nothing is mounted");
}

#[test]
fn the_variable_of_the_boot_loader_interface_is_text_with_attributes() {
    let mut machine = Invented::new(Loader::SystemdBoot);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    let path = format!("/sys/firmware/efi/efivars/LoaderEntryOneShot-{LOADER}");
    let bytes = machine.read(&path).unwrap();
    assert_eq!(bytes[..4], [7, 0, 0, 0]);
    assert_eq!(bytes[4..8], [b'0', 0, b'-', 0]);
    assert_eq!(bytes[bytes.len() - 2..], [0, 0]);
    assert!(machine.root().join("boot/efi/loader/entries/0-onoff-record.conf").exists());
}

/// What the text of a file, of a folder or of a link would be followed to.
#[test]
fn nothing_is_written_through_a_link_that_somebody_laid() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mut machine = Invented::new(Loader::Other);
    machine.put("/etc/shadow", "secrets");
    machine.put("/out/keep", "");
    std::fs::set_permissions(machine.at("/out"), std::fs::Permissions::from_mode(0o700)).unwrap();
    for name in [
        "boot-1.tar.gz.unfinished",
        "shutdown-1.tar.gz.unfinished",
        "shutdown-2.tar.gz.unfinished",
        "FAILED.txt.onoff-new",
        "FAILED.txt",
    ] {
        symlink(machine.at("/etc/shadow"), machine.at(&format!("/out/{name}"))).unwrap();
    }
    complete(&mut machine, Transition::Shutdown).unwrap();
    assert_eq!(machine.read_text("/etc/shadow").unwrap(), "secrets");
    for recording in ["/out/shutdown-1.tar.gz", "/out/shutdown-2.tar.gz"] {
        let metadata = std::fs::symlink_metadata(machine.at(recording)).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    // The same where the job is given up.
    start(
        &mut machine,
        {
            let mut it = job(Transition::Boot);
            it.out = "/out/b".to_owned();
            it.loader = onoff_record::job::LoaderChoice::Manual;
            it
        },
        PROGRAM,
        ID,
    )
    .unwrap();
    symlink(machine.at("/etc/shadow"), machine.at("/out/b/FAILED.txt.onoff-new")).unwrap();
    let mut last = Ok(Progress::Restarting);
    for _ in 0..3 {
        machine.restart(false);
        last = resume(&mut machine, PROGRAM);
    }
    last.unwrap_err();
    assert_eq!(machine.read_text("/etc/shadow").unwrap(), "secrets");
    assert!(machine.read_text("/out/b/FAILED.txt").unwrap().contains("without the options"));
}

#[test]
fn the_folder_of_the_recordings_is_private_and_one_that_others_can_change_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let mode =
        |machine: &Invented, path: &str| std::fs::metadata(machine.at(path)).unwrap().permissions().mode() & 0o7777;
    let mut machine = Invented::new(Loader::Other);
    start(&mut machine, job(Transition::Shutdown), PROGRAM, ID).unwrap();
    assert_eq!(mode(&machine, "/out"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record/shutdown/running"), 0o700);
    assert_eq!(mode(&machine, "/var/lib/onoff-record/shutdown/running/cmdline"), 0o600);

    // Between two boots somebody opens the folder to all, or puts a link in its place.
    hook(&mut machine);
    machine.restart(true);
    std::fs::set_permissions(machine.at("/out"), std::fs::Permissions::from_mode(0o777)).unwrap();
    machine.put("/etc/target/x", "");
    let mut wanted = job(Transition::Shutdown);
    wanted.train = 0;
    let refused = |machine: &mut Invented, wanted: &onoff_record::job::Job| {
        let _ = restore(machine);
        start(machine, wanted.clone(), PROGRAM, ID).unwrap_err().to_string()
    };
    let said = refused(&mut machine, &wanted);
    assert!(
        said.starts_with("/out: recordings hold the whole journal, and ") && said.contains("can be changed by others"),
        "{said}"
    );
    std::fs::set_permissions(machine.at("/out"), std::fs::Permissions::from_mode(0o700)).unwrap();
    start(&mut machine, wanted.clone(), PROGRAM, ID).unwrap();
    hook(&mut machine);
    machine.restart(true);
    std::fs::remove_dir_all(machine.at("/out")).unwrap();
    symlink(machine.at("/etc/target"), machine.at("/out")).unwrap();
    let said = resume(&mut machine, PROGRAM).unwrap_err().to_string();
    assert!(said.contains("/out is a link"), "{said}");
    assert_eq!(std::fs::read_dir(machine.at("/etc/target")).unwrap().count(), 1, "nothing was put there");

    // Where everybody may make files, a folder of one's own is as safe as anywhere.
    std::fs::remove_file(machine.at("/out")).unwrap();
    std::fs::create_dir(machine.at("/var/tmp")).unwrap();
    std::fs::set_permissions(machine.at("/var/tmp"), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let _ = restore(&mut machine);
    wanted.out = "/var/tmp/boots".to_owned();
    start(&mut machine, wanted.clone(), PROGRAM, ID).unwrap();
    let _ = restore(&mut machine);
    wanted.out = "/var/tmp".to_owned();
    assert!(refused(&mut machine, &wanted).contains("can be changed by others"));
}

#[test]
fn an_alarm_that_was_set_comes_back_and_one_whose_time_has_passed_does_not() {
    for (before, now, after) in [
        ("2000000000\n", "1800000000\n", "2000000000"),
        ("2000000000\n", "2100000000\n", "0"),
        ("", "1800000000\n", "0"),
    ] {
        let mut machine = Invented::new(Loader::Other);
        machine.put("/sys/class/rtc/rtc0/wakealarm", before);
        machine.put("/sys/class/rtc/rtc0/since_epoch", now);
        complete(&mut machine, Transition::Suspend).unwrap();
        assert_eq!(machine.read_text("/sys/class/rtc/rtc0/wakealarm").unwrap(), after, "{before:?} at {now:?}");
    }
}

#[test]
fn grub_takes_the_entry_once_and_an_own_entry_of_the_user_stays() {
    let mut machine = Invented::new(Loader::Grub);
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.read_text("/boot/grub/grubenv").unwrap().contains("next_entry=onoff-record"));
    let custom = machine.read_text("/boot/grub/custom.cfg").unwrap();
    assert!(custom.starts_with("menuentry 'mine'") && custom.contains("onoff.record=1a2b"), "{custom}");
    // The recorded kernel hangs, somebody switches the computer off and on: it comes up as always.
    machine.restart(false);
    assert!(!machine.read_text("/proc/cmdline").unwrap().contains("onoff.record"));
    assert!(restore(&mut machine).unwrap());
    assert_eq!(machine.read_text("/boot/grub/custom.cfg").unwrap(), "menuentry 'mine' {\n\tchainloader +1\n}\n");
}

#[test]
fn a_grub_that_cannot_forget_its_choice_is_refused_with_the_lines_to_type() {
    let refused = |change: &dyn Fn(&Invented)| {
        let mut machine = Invented::new(Loader::Grub);
        change(&machine);
        let before = machine.snapshot();
        let said = start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap_err().to_string();
        assert_eq!(machine.snapshot(), before);
        assert!(
            said.contains("grubby --update-kernel")
                && said.contains("grub2-mkconfig -o")
                && said.contains("trace_event="),
            "{said}"
        );
        said
    };
    let mounts = |kind: &str, source: &str| {
        format!("1 0 0:1 / / rw - rootfs rootfs rw\n29 1 254:2 / / rw shared:1 - {kind} {source} rw\n")
    };
    let said = refused(&|machine| machine.put("/proc/self/mountinfo", mounts("btrfs", "/dev/vda2")));
    assert!(said.contains("is on btrfs, which GRUB cannot write to"), "{said}");
    let said = refused(&|machine| machine.put("/proc/self/mountinfo", mounts("ext4", "/dev/mapper/vg-root")));
    assert!(said.contains("is on /dev/mapper/vg-root"), "{said}");
    let said = refused(&|machine| std::fs::remove_file(machine.at("/usr/sbin/grub-reboot")).unwrap());
    assert!(said.contains("without grub-reboot"), "{said}");
    let said = refused(&|machine| machine.put("/proc/cmdline", "BOOT_IMAGE=/vmlinuz-9 rw\n"));
    assert!(said.contains("no entry with the kernel that runs, /vmlinuz-9"), "{said}");
}

/// Fedora and RHEL: the menu is made of files.
#[test]
fn grub_with_files_of_the_specification_gets_one_more_file() {
    let machine_of = || {
        let machine = Invented::new(Loader::Grub);
        machine
            .put("/boot/grub/grub.cfg", "if [ \"${next_entry}\" ] ; then set default=\"${next_entry}\"; fi\nblscfg\n");
        machine.put(
            "/boot/loader/entries/0123-6.1.conf",
            "title Fedora\nversion 6.1\nlinux /vmlinuz-6.1\ninitrd /initramfs-6.1.img $tuned_initrd\noptions root=LABEL=root ro $tuned_params\n",
        );
        machine
    };
    let mut machine = machine_of();
    let before = machine.snapshot();
    start(&mut machine, job(Transition::Boot), PROGRAM, ID).unwrap();
    assert!(machine.ran.contains(&"/usr/sbin/grub-reboot 0-onoff-record".to_owned()), "{:?}", machine.ran);
    let entry = machine.read_text("/boot/loader/entries/0-onoff-record.conf").unwrap();
    assert!(entry.contains("options root=LABEL=root ro $tuned_params trace_event="), "{entry}");
    restore(&mut machine).unwrap();
    assert_eq!(machine.snapshot(), before);
}

#[test]
fn a_boot_that_followed_a_power_cut_is_marked_in_its_recording() {
    for (last_lines, ended) in [
        ("Stopped target Basic System.\nShutting down.\nJournal stopped\n", "orderly"),
        ("Started Daily Cleanup.\n", "cut"),
        ("", "unknown"),
    ] {
        let mut machine = Invented::new(Loader::SystemdBoot);
        machine.previous_boot = last_lines;
        complete(&mut machine, Transition::Boot).unwrap();
        let about = content(&machine, "/out/boot-1.tar.gz", "recording.json");
        assert!(about.contains(&format!("\"previous_boot_ended\": \"{ended}\"")), "{about}");
        assert_eq!(about.contains("an orderly shutdown before this boot"), ended == "cut", "{about}");
    }
}
