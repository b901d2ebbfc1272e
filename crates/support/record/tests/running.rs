//! Reading the boot data of a running computer, here a fake one.

use std::os::unix::fs::symlink;

use onoff_record::machine::MachineFiles;
use onoff_record::running::{Scope, inspect};

use crate::fake_machine::{FakeMachine, Loader};

const MACHINE: &str = "4f0e9c1d2a3b4c5d8e6f708192a3b4c5";

fn computer() -> FakeMachine {
    let machine = FakeMachine::new(Loader::SystemdBoot);
    machine.write_file("/etc/machine-id", format!("{MACHINE}\n"));
    machine.write_file(&format!("/var/log/journal/{MACHINE}/system.journal"), "journal");
    machine.write_file(&format!("/var/log/journal/{MACHINE}/system@1.journal~"), "journal");
    machine.write_file(&format!("/var/log/journal/{MACHINE}/notes.txt"), "not a journal");
    machine.write_file("/var/log/journal/other/system.journal", "journal of another machine");
    machine.write_file("/sys/firmware/acpi/fpdt/boot/firmware_start_ns", "12\n");
    machine
}

#[test]
fn reads_all_data_and_changes_nothing() {
    let mut machine = computer();
    let inspection = inspect(&mut machine, Scope::ThisBoot);
    let journals: Vec<String> =
        inspection.logs.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(journals, ["system.journal", "system@1.journal~"]);
    let names: Vec<&str> = inspection.files.iter().map(|member| member.name.as_str()).collect();
    for name in [
        "show-manager.txt",
        "show-units.txt",
        "dmesg.txt",
        "/proc/cmdline",
        "/sys/firmware/acpi/fpdt/boot/firmware_start_ns",
        "/sys/firmware/efi/efivars/LoaderTimeInitUSec-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    assert_eq!(inspection.unreadable, []);
    // None of the commands changes anything.
    assert!(
        machine
            .commands
            .iter()
            .all(|line| ["systemctl show", "dmesg", "uname"].iter().any(|prefix| line.starts_with(prefix)))
    );
    let inspection = inspect(&mut machine, Scope::Journal);
    assert_eq!((inspection.logs.len(), inspection.files.len()), (2, 0));
}

#[test]
fn lists_unreadable_data_and_reads_the_rest() {
    let mut machine = computer();
    let broken_link = machine.host_path(&format!("/var/log/journal/{MACHINE}/user-1000.journal"));
    symlink("nowhere", broken_link).unwrap();
    machine.without_systemd = true;
    let inspection = inspect(&mut machine, Scope::ThisBoot);
    assert_eq!(inspection.logs.len(), 2);
    let problems: Vec<&str> = inspection.unreadable.iter().map(|item| item.problem.as_str()).collect();
    assert!(problems[0].contains("user-1000.journal: "), "{problems:?}");
    assert!(problems[1].starts_with("cannot read systemd's times: "), "{problems:?}");
    assert_eq!(problems.len(), 2);
}

#[test]
fn explains_how_to_keep_journal() {
    let mut machine = FakeMachine::new(Loader::Other);
    machine.write_file("/etc/machine-id", format!("{MACHINE}\n"));
    machine.write_file(&format!("/run/log/journal/{MACHINE}/system.journal"), "journal");
    let inspection = inspect(&mut machine, Scope::Journal);
    assert_eq!(inspection.logs.len(), 1);
    assert!(inspection.unreadable[0].remedy.contains("mkdir -p /var/log/journal"), "{:?}", inspection.unreadable);
    let mut empty = FakeMachine::new(Loader::Other);
    let inspection = inspect(&mut empty, Scope::Journal);
    assert!(inspection.unreadable[0].problem.starts_with("no journal in "), "{:?}", inspection.unreadable);
}
