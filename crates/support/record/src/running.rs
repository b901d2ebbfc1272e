//! Reads what the running computer has logged about its boots, without a recording or a restart: the journal, systemd's
//! times, the kernel log, and the times of the firmware and the boot loader. Works as a normal user as far as possible;
//! data that cannot be read is listed with the command that gives access to it. For Windows see
//! [`crate::windows::logs`].

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
    /// Readable journal files, or event logs of Windows.
    pub logs: Vec<PathBuf>,
    /// All other files and command outputs.
    pub files: Vec<CollectedFile>,
    /// Data that could not be read.
    pub unreadable: Vec<UnreadableData>,
    /// Logs and traces that this Windows computer does not have.
    pub absent: Vec<String>,
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
    /// Returns the data needed for `boot`, a number or an id as for `journalctl --boot`. `current` is the id of the
    /// current boot.
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

const AS_ROOT: &str = "Run the same command with sudo, or as a member of the group systemd-journal";

/// Reads the data of the running computer.
pub fn inspect(machine: &mut dyn Machine, scope: Scope) -> RunningSystem {
    let mut system = RunningSystem::default();
    find_journals(machine, &mut system);
    if scope == Scope::Journal {
        return system;
    }
    let has_complete_journal = !system.logs.is_empty() && system.unreadable.is_empty();
    for (line, name) in [
        (&["systemctl", "show", "--no-pager"][..], "show-manager.txt"),
        (&["systemctl", "show", "--no-pager", "--all", "*"][..], "show-units.txt"),
    ] {
        if let Err(reason) = add_output(machine, line, name, &mut system) {
            let remedy =
                "They require systemd as process 1; without it, only the journal and the kernel log are available";
            system
                .unreadable
                .push(UnreadableData { problem: format!("cannot read systemd's times: {reason}"), remedy });
            break;
        }
    }
    // The journal includes the kernel log.
    if let Err(reason) = add_output(machine, &["dmesg"], "dmesg.txt", &mut system)
        && !has_complete_journal
    {
        system.unreadable.push(UnreadableData {
            problem: format!("cannot read the kernel log: {reason}"),
            remedy: "Try 'sudo dmesg > dmesg.txt'",
        });
    }
    // These only add names and a description of the machine.
    let _ = add_output(machine, &["uname", "-a"], "uname", &mut system);
    for path in ["/proc/cmdline", "/proc/cpuinfo", "/proc/meminfo", "/etc/os-release"] {
        let _ = add_file(machine, path, &mut system);
    }
    add_firmware_times(machine, &mut system);
    system
}

/// Finds the journal files of this computer, in the folder of its machine id as `journalctl` does.
fn find_journals(machine: &dyn Machine, system: &mut RunningSystem) {
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
                    let problem = format!("{}: {error}", folder.display());
                    system.unreadable.push(UnreadableData { problem, remedy: AS_ROOT });
                    continue;
                }
                Err(_) => continue,
            };
            for path in files.into_iter().filter(|path| is_journal(path)) {
                match File::open(&path) {
                    Ok(_) => {
                        is_persistent |= root == JOURNALS[0];
                        system.logs.push(path);
                    }
                    Err(error) => {
                        is_persistent |= root == JOURNALS[0];
                        let problem = format!("{}: {error}", path.display());
                        system.unreadable.push(UnreadableData { problem, remedy: AS_ROOT });
                    }
                }
            }
        }
    }
    if system.logs.is_empty() && system.unreadable.is_empty() {
        let problem = format!("no journal in {}", JOURNALS.join(" or "));
        system.unreadable.push(UnreadableData { problem, remedy: "Check 'systemctl status systemd-journald'" });
    } else if !is_persistent {
        let problem = "no journal of earlier boots: it is not kept across restarts".to_owned();
        let remedy = "To keep it, run 'sudo mkdir -p /var/log/journal && sudo systemctl restart systemd-journald'";
        system.unreadable.push(UnreadableData { problem, remedy });
    }
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "journal" || extension == "journal~")
}

/// Returns the paths in a folder, sorted by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Adds the output of a command, or returns the reason if there is none.
fn add_output(machine: &mut dyn Machine, line: &[&str], name: &str, system: &mut RunningSystem) -> Result<(), String> {
    match machine.run_checked(line) {
        Ok(bytes) if bytes.is_empty() => Err(format!("'{}' printed nothing", line.join(" "))),
        Ok(bytes) => {
            system.files.push(CollectedFile { name: name.to_owned(), bytes });
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn add_file(machine: &dyn Machine, path: &str, system: &mut RunningSystem) -> io::Result<()> {
    let bytes = fs::read(machine.host_path(path))?;
    if !bytes.is_empty() {
        system.files.push(CollectedFile { name: path.to_owned(), bytes });
    }
    Ok(())
}

/// Reads the firmware's times from sysfs (Linux 5.14 and later, readable by all users), the boot loader's times, and
/// the raw table, which is readable by root only.
fn add_firmware_times(machine: &dyn Machine, system: &mut RunningSystem) {
    let old_count = system.files.len();
    add_sysfs_folder(machine, "/sys/firmware/acpi/fpdt", 0, &mut MAX_SYSFS_FILES.clone(), system);
    let table = "/sys/firmware/acpi/tables/FPDT";
    if let Err(error) = add_file(machine, table, system)
        && error.kind() == io::ErrorKind::PermissionDenied
        && system.files.len() == old_count
    {
        let remedy = "Run the same command with sudo, or use a kernel with CONFIG_ACPI_FPDT";
        system.unreadable.push(UnreadableData { problem: format!("{table}: {error}"), remedy });
    }
    for path in entries(&machine.host_path(EFI_VARIABLES_FOLDER)).unwrap_or_default() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("LoaderTime") {
            let _ = add_file(machine, &format!("{EFI_VARIABLES_FOLDER}/{name}"), system);
        }
    }
}

/// Adds the files of a sysfs folder and its subfolders.
fn add_sysfs_folder(
    machine: &dyn Machine,
    folder: &str,
    depth: usize,
    remaining: &mut usize,
    system: &mut RunningSystem,
) {
    for path in entries(&machine.host_path(folder)).unwrap_or_default() {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(decremented) = remaining.checked_sub(1) else { return };
        *remaining = decremented;
        let child = format!("{folder}/{name}");
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                add_sysfs_folder(machine, &child, depth + 1, remaining, system)
            }
            Ok(metadata) if metadata.is_file() => {
                let _ = add_file(machine, &child, system);
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
