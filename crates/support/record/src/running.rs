//! What the running computer knows of its own boots, without a recording and without a restart: its journal, systemd's own times,
//! the kernel's log, what firmware and loader left. As a normal user where that suffices; what could not be read is named, with
//! the command that gives it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use onoff_journal::JournalFile;

use crate::capabilities::VARIABLES;
use crate::machine::{Files, Machine};

/// Folders of the journal: what is kept across restarts, and what is not (`Storage=` in journald.conf(5)).
const JOURNALS: [&str; 2] = ["/var/log/journal", "/run/log/journal"];

/// Most files of the kernel's numbers that are read, and how deep: `/sys/firmware/acpi/fpdt` has two folders of a few each.
const MAX_NUMBERS: usize = 100;
const MAX_DEPTH: usize = 3;

/// What was found.
#[derive(Debug, Default)]
pub struct RunningSystem {
    /// Files of the journal that can be read.
    pub journals: Vec<PathBuf>,
    /// Everything else, by the name that it has on the computer, or that of the command that printed it.
    pub members: Vec<Member>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// What it is, and why.
    pub what: String,
    /// What to do.
    pub instead: &'static str,
}

/// Which of it is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// What tells of the boot that runs, and the journal.
    ThisBoot,
    /// The journal only: what else there is belongs to the boot that runs.
    Journal,
}

impl Wanted {
    /// What the boot asked for needs: a number as `journalctl --boot` takes it or an id; `current` is the id of the boot that runs.
    #[must_use]
    pub fn of(boot: Option<&str>, current: &str) -> Self {
        let digits = |id: &str| id.replace('-', "").to_ascii_lowercase();
        match boot {
            None | Some("0" | "-0") => Self::ThisBoot,
            Some(boot) if digits(boot) == digits(current) => Self::ThisBoot,
            Some(_) => Self::Journal,
        }
    }
}

const AS_ROOT: &str = "run the same command with sudo, or as a member of the group systemd-journal";

/// Looks at the computer.
pub fn look(machine: &mut dyn Machine, wanted: Wanted) -> RunningSystem {
    let mut found = RunningSystem::default();
    journals(machine, &mut found);
    if wanted == Wanted::Journal {
        return found;
    }
    let whole_journal = !found.journals.is_empty() && found.unread.is_empty();
    for (line, name) in [
        (&["systemctl", "show", "--no-pager"][..], "show-manager.txt"),
        (&["systemctl", "show", "--no-pager", "--all", "*"][..], "show-units.txt"),
    ] {
        if let Err(why) = output(machine, line, name, &mut found) {
            let instead = "needs systemd as process 1; without it the journal and the kernel's log are all there is";
            found.unread.push(Unread { what: format!("systemd's own times: {why}"), instead });
            break;
        }
    }
    // The journal holds the kernel's log too.
    if let Err(why) = output(machine, &["dmesg"], "dmesg.txt", &mut found)
        && !whole_journal
    {
        found.unread.push(Unread { what: format!("the kernel's log: {why}"), instead: "sudo dmesg > dmesg.txt" });
    }
    // Not having these costs names and the machine's description only.
    let _ = output(machine, &["uname", "-a"], "uname", &mut found);
    for path in ["/proc/cmdline", "/proc/cpuinfo", "/proc/meminfo", "/etc/os-release"] {
        let _ = file(machine, path, &mut found);
    }
    firmware(machine, &mut found);
    found
}

/// The files of this computer's journal: as `journalctl` does, those in the folder of its id.
fn journals(machine: &dyn Machine, found: &mut RunningSystem) {
    let id = machine.read_text("/etc/machine-id").map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
    let mut kept = false;
    for root in JOURNALS {
        let folders: Vec<PathBuf> = match &id {
            Some(id) => vec![machine.at(&format!("{root}/{id}"))],
            None => entries(&machine.at(root)).unwrap_or_default(),
        };
        for folder in folders {
            let files = match entries(&folder) {
                Ok(files) => files,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    let what = format!("{}: {error}", folder.display());
                    found.unread.push(Unread { what, instead: AS_ROOT });
                    continue;
                }
                Err(_) => continue,
            };
            for path in files.into_iter().filter(|path| is_journal(path)) {
                match File::open(&path) {
                    Ok(_) => {
                        kept |= root == JOURNALS[0];
                        found.journals.push(path);
                    }
                    Err(error) => {
                        kept |= root == JOURNALS[0];
                        let what = format!("{}: {error}", path.display());
                        found.unread.push(Unread { what, instead: AS_ROOT });
                    }
                }
            }
        }
    }
    if found.journals.is_empty() && found.unread.is_empty() {
        let what = format!("the journal: there is none in {}", JOURNALS.join(" or "));
        found.unread.push(Unread { what, instead: "'systemctl status systemd-journald' says whether it runs" });
    } else if !kept {
        let what = "the journal of boots before this one: it is not kept across restarts".to_owned();
        let instead =
            "'sudo mkdir -p /var/log/journal && sudo systemctl restart systemd-journald' keeps it from now on";
        found.unread.push(Unread { what, instead });
    }
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "journal" || extension == "journal~")
}

/// The paths in a folder, by name.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Keeps what a command prints, or says why it printed nothing.
fn output(machine: &mut dyn Machine, line: &[&str], name: &str, found: &mut RunningSystem) -> Result<(), String> {
    match machine.must_run(line) {
        Ok(bytes) if bytes.is_empty() => Err(format!("'{}' printed nothing", line.join(" "))),
        Ok(bytes) => {
            found.members.push(Member { name: name.to_owned(), bytes });
            Ok(())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn file(machine: &dyn Machine, path: &str, found: &mut RunningSystem) -> io::Result<()> {
    let bytes = fs::read(machine.at(path))?;
    if !bytes.is_empty() {
        found.members.push(Member { name: path.to_owned(), bytes });
    }
    Ok(())
}

/// The firmware's times as the kernel shows them (Linux 5.14 and later, readable by everybody), the loader's times, and the table
/// itself, which is root's.
fn firmware(machine: &dyn Machine, found: &mut RunningSystem) {
    let before = found.members.len();
    numbers(machine, "/sys/firmware/acpi/fpdt", 0, &mut MAX_NUMBERS.clone(), found);
    let table = "/sys/firmware/acpi/tables/FPDT";
    if let Err(error) = file(machine, table, found)
        && error.kind() == io::ErrorKind::PermissionDenied
        && found.members.len() == before
    {
        let instead =
            "the kernel shows the same times to everybody with CONFIG_ACPI_FPDT; else run the same command with sudo";
        found.unread.push(Unread { what: format!("{table}: {error}"), instead });
    }
    for path in entries(&machine.at(VARIABLES)).unwrap_or_default() {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("LoaderTime") {
            let _ = file(machine, &format!("{VARIABLES}/{name}"), found);
        }
    }
}

/// A folder of the kernel's numbers with its folders.
fn numbers(machine: &dyn Machine, folder: &str, depth: usize, left: &mut usize, found: &mut RunningSystem) {
    for path in entries(&machine.at(folder)).unwrap_or_default() {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let Some(less) = left.checked_sub(1) else { return };
        *left = less;
        let below = format!("{folder}/{name}");
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => numbers(machine, &below, depth + 1, left, found),
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
    fn another_boot_is_answered_from_the_journal_alone() {
        let current = "4f0e9c1d-2a3b-4c5d-8e6f-708192a3b4c5";
        for (boot, expected) in [
            (None, Wanted::ThisBoot),
            (Some("0"), Wanted::ThisBoot),
            (Some("4f0e9c1d2a3b4c5d8e6f708192a3b4c5"), Wanted::ThisBoot),
            (Some("4F0E9C1D-2a3b-4c5d-8e6f-708192a3b4c5"), Wanted::ThisBoot),
            (Some("-1"), Wanted::Journal),
            (Some("2"), Wanted::Journal),
            (Some("00000000000000000000000000000001"), Wanted::Journal),
        ] {
            assert_eq!(Wanted::of(boot, current), expected, "{boot:?}");
        }
    }
}
