//! Reads what the running computer has logged about its boots, without a recording or a restart: the journal, systemd's times,
//! the kernel log, and the times of the firmware and the boot loader. Works as a normal user as far as possible; data that cannot
//! be read is listed with the command that gives access to it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use onoff_journal::JournalFile;

use crate::capabilities::EFI_VARIABLES_FOLDER;
use crate::machine::{Machine, MachineFiles};

/// Folders of the persistent and the volatile journal (`Storage=` in journald.conf(5)).
const JOURNALS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// Limits for sysfs folders: `/sys/firmware/acpi/fpdt` has two subfolders with a few files each.
const MAX_SYSFS_FILES: usize = 100;
const MAX_DEPTH: usize = 3;

/// The data found on the running computer.
#[derive(Debug, Default)]
pub struct RunningSystem {
    /// Readable journal files.
    pub journals: Vec<PathBuf>,
    /// All other files and command outputs.
    pub files: Vec<CollectedFile>,
    /// Data that could not be read.
    pub unreadable: Vec<UnreadableData>,
}

/// A file or the output of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedFile {
    /// Path of the file, or a file name for the output.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Data that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableData {
    /// The data, and why it could not be read.
    pub problem: String,
    /// How to get access to it.
    pub remedy: &'static str,
}

/// Which data to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Data about the current boot, and the journal.
    ThisBoot,
    /// The journal only; everything else is about the current boot.
    Journal,
}

impl Scope {
    /// The data needed for `boot`, a number or an id as for `journalctl --boot`. `current` is the id of the current boot.
    #[must_use]
    pub fn for_boot(boot: Option<&str>, current: &str) -> Self {
        let digits = |id: &str| id.replace('-', "").to_ascii_lowercase();
        match boot {
            None | Some("0" | "-0") => Self::ThisBoot,
            Some(boot) if digits(boot) == digits(current) => Self::ThisBoot,
            Some(_) => Self::Journal,
        }
    }
}

const AS_ROOT: &str = "run the same command with sudo, or as a member of the group systemd-journal";

/// Reads the data of the running computer.
pub fn inspect(machine: &mut dyn Machine, wanted: Scope) -> RunningSystem {
    let mut found = RunningSystem::default();
    journals(machine, &mut found);
    if wanted == Scope::Journal {
        return found;
    }
    let whole_journal = !found.journals.is_empty() && found.unreadable.is_empty();
    for (line, name) in [
        (&["systemctl", "show", "--no-pager"][..], "show-manager.txt"),
        (&["systemctl", "show", "--no-pager", "--all", "*"][..], "show-units.txt"),
    ] {
        if let Err(why) = output(machine, line, name, &mut found) {
            let instead = "requires systemd as process 1; without it only the journal and the kernel log are available";
            found.unreadable.push(UnreadableData { problem: format!("systemd's times: {why}"), remedy: instead });
            break;
        }
    }
    // The journal includes the kernel log.
    if let Err(why) = output(machine, &["dmesg"], "dmesg.txt", &mut found)
        && !whole_journal
    {
        found
            .unreadable
            .push(UnreadableData { problem: format!("kernel log: {why}"), remedy: "sudo dmesg > dmesg.txt" });
    }
    // These only add names and a description of the machine.
    let _ = output(machine, &["uname", "-a"], "uname", &mut found);
    for path in ["/proc/cmdline", "/proc/cpuinfo", "/proc/meminfo", "/etc/os-release"] {
        let _ = file(machine, path, &mut found);
    }
    firmware(machine, &mut found);
    found
}

/// Finds the journal files of this computer, in the folder of its machine id as `journalctl` does.
fn journals(machine: &dyn Machine, found: &mut RunningSystem) {
    let id = machine.read_text("/etc/machine-id").map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let mut is_persistent = false;
    for root in JOURNALS {
        let folders: Vec<PathBuf> = match &id {
            Some(id) => vec![machine.host_path(&format!("{root}/{id}"))],
            None => entries(&machine.host_path(root)).unwrap_or_default(),
        };
        for folder in folders {
            let files = match entries(&folder) {
                Ok(files) => files,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let what = format!("{}: {error}", folder.display());
                    found.unreadable.push(UnreadableData { problem: what, remedy: AS_ROOT });
                    continue;
                }
                Err(_) => continue,
            };
            for path in files.into_iter().filter(|path| is_journal(path)) {
                match File::open(&path) {
                    Ok(_) => {
                        is_persistent |= root == JOURNALS[0];
                        found.journals.push(path);
                    }
                    Err(error) => {
                        is_persistent |= root == JOURNALS[0];
                        let what = format!("{}: {error}", path.display());
                        found.unreadable.push(UnreadableData { problem: what, remedy: AS_ROOT });
                    }
                }
            }
        }
    }
    if found.journals.is_empty() && found.unreadable.is_empty() {
        let what = format!("journal: not found in {}", JOURNALS.join(" or "));
        found.unreadable.push(UnreadableData { problem: what, remedy: "check 'systemctl status systemd-journald'" });
    } else if !is_persistent {
        let what = "journal of earlier boots: the journal is not kept across restarts".to_owned();
        let instead = "'sudo mkdir -p /var/log/journal && sudo systemctl restart systemd-journald' makes it persistent";
        found.unreadable.push(UnreadableData { problem: what, remedy: instead });
    }
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "journal" || extension == "journal~")
}

/// The paths in a folder, sorted by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Adds the output of a command, or returns why there is none.
fn output(machine: &mut dyn Machine, line: &[&str], name: &str, found: &mut RunningSystem) -> Result<(), String> {
    match machine.run_checked(line) {
        Ok(bytes) if bytes.is_empty() => Err(format!("'{}' printed nothing", line.join(" "))),
        Ok(bytes) => {
            found.files.push(CollectedFile { name: name.to_owned(), bytes });
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn file(machine: &dyn Machine, path: &str, found: &mut RunningSystem) -> io::Result<()> {
    let bytes = fs::read(machine.host_path(path))?;
    if !bytes.is_empty() {
        found.files.push(CollectedFile { name: path.to_owned(), bytes });
    }
    Ok(())
}

/// Reads the firmware's times from sysfs (Linux 5.14 and later, readable by all users), the boot loader's times, and the raw
/// table, which is readable by root only.
fn firmware(machine: &dyn Machine, found: &mut RunningSystem) {
    let before = found.files.len();
    sysfs_folder(machine, "/sys/firmware/acpi/fpdt", 0, &mut MAX_SYSFS_FILES.clone(), found);
    let table = "/sys/firmware/acpi/tables/FPDT";
    if let Err(error) = file(machine, table, found)
        && error.kind() == io::ErrorKind::PermissionDenied
        && found.files.len() == before
    {
        let instead = "run the same command with sudo, or use a kernel with CONFIG_ACPI_FPDT";
        found.unreadable.push(UnreadableData { problem: format!("{table}: {error}"), remedy: instead });
    }
    for path in entries(&machine.host_path(EFI_VARIABLES_FOLDER)).unwrap_or_default() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("LoaderTime") {
            let _ = file(machine, &format!("{EFI_VARIABLES_FOLDER}/{name}"), found);
        }
    }
}

/// Adds the files of a sysfs folder and its subfolders.
fn sysfs_folder(machine: &dyn Machine, folder: &str, depth: usize, left: &mut usize, found: &mut RunningSystem) {
    for path in entries(&machine.host_path(folder)).unwrap_or_default() {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(less) = left.checked_sub(1) else { return };
        *left = less;
        let below = format!("{folder}/{name}");
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                sysfs_folder(machine, &below, depth + 1, left, found)
            }
            Ok(metadata) if metadata.is_file() => {
                let _ = file(machine, &below, found);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_boots_need_only_the_journal() {
        let current = "4f0e9c1d-2a3b-4c5d-8e6f-708192a3b4c5";
        for (boot, expected) in [
            (None, Scope::ThisBoot),
            (Some("0"), Scope::ThisBoot),
            (Some("4f0e9c1d2a3b4c5d8e6f708192a3b4c5"), Scope::ThisBoot),
            (Some("4F0E9C1D-2a3b-4c5d-8e6f-708192a3b4c5"), Scope::ThisBoot),
            (Some("-1"), Scope::Journal),
            (Some("2"), Scope::Journal),
            (Some("00000000000000000000000000000001"), Scope::Journal),
        ] {
            assert_eq!(Scope::for_boot(boot, current), expected, "{boot:?}");
        }
    }
}
