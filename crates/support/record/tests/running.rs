//! Reading the boot data of a running computer, here a fake one.

use std::os::unix::fs::symlink;

use onoff_record::machine::MachineFiles;
use onoff_record::running::{Scope, inspect};

use crate::fake_machine::{FakeMachine, Loader};

const MACHINE: &str = "4f0e9c1d2a3b4c5d8e6f708192a3b4c5";

fn computer() -> FakeMachine {
    let machine = FakeMachine::new(Loader::SystemdBoot);
    machine.put("/etc/machine-id", format!("{MACHINE}\n"));
    machine.put(&format!("/var/log/journal/{MACHINE}/system.journal"), "journal");
    machine.put(&format!("/var/log/journal/{MACHINE}/system@1.journal~"), "journal");
    machine.put(&format!("/var/log/journal/{MACHINE}/notes.txt"), "not a journal");
    machine.put("/var/log/journal/other/system.journal", "journal of another machine");
    machine.put("/sys/firmware/acpi/fpdt/boot/firmware_start_ns", "12\n");
    machine
}

#[test]
fn reads_all_data_and_changes_nothing() {
    let mut machine = computer();
    let found = inspect(&mut machine, Scope::ThisBoot);
    let journals: Vec<String> =
        found.journals.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(journals, ["system.journal", "system@1.journal~"]);
    let names: Vec<&str> = found.files.iter().map(|member| member.name.as_str()).collect();
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
    assert_eq!(found.unreadable, []);
    // Only commands that change nothing.
    assert!(machine.ran.iter().all(|line| ["systemctl show", "dmesg", "uname"].iter().any(|it| line.starts_with(it))));
    let found = inspect(&mut machine, Scope::Journal);
    assert_eq!((found.journals.len(), found.files.len()), (2, 0));
}

#[test]
fn lists_unreadable_data_and_reads_the_rest() {
    let mut machine = computer();
    let broken = machine.host_path(&format!("/var/log/journal/{MACHINE}/user-1000.journal"));
    symlink("nowhere", broken).unwrap();
    machine.without_systemd = true;
    let found = inspect(&mut machine, Scope::ThisBoot);
    assert_eq!(found.journals.len(), 2);
    let unread: Vec<&str> = found.unreadable.iter().map(|unread| unread.problem.as_str()).collect();
    assert!(unread[0].contains("user-1000.journal: "), "{unread:?}");
    assert!(unread[1].starts_with("systemd's times: "), "{unread:?}");
    assert_eq!(unread.len(), 2);
}

#[test]
fn explains_how_to_keep_journal() {
    let mut machine = FakeMachine::new(Loader::Other);
    machine.put("/etc/machine-id", format!("{MACHINE}\n"));
    machine.put(&format!("/run/log/journal/{MACHINE}/system.journal"), "journal");
    let found = inspect(&mut machine, Scope::Journal);
    assert_eq!(found.journals.len(), 1);
    assert!(found.unreadable[0].remedy.contains("mkdir -p /var/log/journal"), "{:?}", found.unreadable);
    let mut empty = FakeMachine::new(Loader::Other);
    let found = inspect(&mut empty, Scope::Journal);
    assert!(found.unreadable[0].problem.contains("journal: not found in"), "{:?}", found.unreadable);
}
