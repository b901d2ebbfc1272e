//! The recordings among files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use onoff_sources::{Bytes, Error, FileRole, Groups, file_role, group};

use crate::failed;
use crate::mapped::Mapped;
use crate::standard_input::is_standard_input;
use crate::walk::{Found, Listing, list, walk};

/// What files and folders hold. Every file in a folder is part of a recording, or unusable, or counted among the
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundRecordings {
    /// Each recording, as the paths of its files.
    pub recordings: Vec<Vec<PathBuf>>,
    /// Files and folders that may hold a recording and cannot be read as one: who opens them learns why.
    pub unusable: Vec<PathBuf>,
    /// Files in folders that are no recording, and links, which are not followed.
    pub other_files: u64,
}

impl FoundRecordings {
    /// Each recording, and what cannot be read as one, in the order of their paths.
    #[must_use]
    pub fn all(self) -> Vec<Vec<PathBuf>> {
        let mut all = self.recordings;
        all.extend(self.unusable.into_iter().map(|path| vec![path]));
        all
    }

    /// Refuses files of several recordings; captures may follow each other.
    ///
    /// # Errors
    /// There are several.
    fn must_be_one(&self) -> Result<(), Error> {
        let told_apart: Vec<&Vec<PathBuf>> = self.recordings.iter().filter(|files| !are_series(files)).collect();
        let name = |files: &Vec<PathBuf>| files.first().map(|file| file.display().to_string()).unwrap_or_default();
        match told_apart.as_slice() {
            [first, second, ..] => {
                Err(Error::SeveralRecordings { count: told_apart.len(), first: name(first), second: name(second) })
            }
            _ => Ok(()),
        }
    }
}

/// Refuses paths that are of several recordings: see [`recordings`].
///
/// # Errors
/// There are several, or a path cannot be read.
pub(crate) fn refuse_several(paths: &[PathBuf]) -> Result<(), Error> {
    match paths {
        // One file is one recording; that is seen without a look into it.
        [path] if is_standard_input(path) || !path.is_dir() => Ok(()),
        _ => recordings(paths)?.must_be_one(),
    }
}

fn are_series(files: &[PathBuf]) -> bool {
    files.iter().all(|file| !file.is_dir() && matches!(role(file), FileRole::Series))
}

/// The recordings among `paths`: logs that were recorded together are one, and so are the parts of one Linux recording;
/// an archive is one by itself. A folder is a recording itself if it is what a support tool collected, or holds a
/// copied `/var/log`, or parts of one Linux recording and no other; else each recording in it and in the folders below
/// is one. Links in folders are not followed.
///
/// # Errors
/// A path that cannot be read.
pub fn recordings(paths: &[PathBuf]) -> Result<FoundRecordings, Error> {
    let mut found = FoundRecordings::default();
    let mut files = Vec::new();
    for path in paths {
        if !is_standard_input(path) && fs::metadata(path).map_err(failed(path))?.is_dir() {
            in_folder(path, &mut found)?;
        } else {
            files.push(path.clone());
        }
    }
    // What was named is a recording until its reader says otherwise.
    let named = |path: &PathBuf| match role(path) {
        FileRole::Nothing | FileRole::Empty => FileRole::Whole,
        role => role,
    };
    let roles: Vec<FileRole> = files.iter().map(named).collect();
    let Groups { recordings, unattributed } = groups(&files, &roles);
    let named = recordings.into_iter().chain(unattributed.into_iter().map(|at| vec![at]));
    found.recordings.splice(0..0, paths_of(named, &files));
    Ok(found)
}

fn in_folder(root: &Path, found: &mut FoundRecordings) -> Result<(), Error> {
    let mut waiting = vec![root.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        match list(&folder) {
            Ok(listing) => one_folder(&folder, listing, &mut waiting, found),
            Err(source) if folder == root => return Err(failed(&folder)(source)),
            Err(_) => found.unusable.push(folder),
        }
    }
    Ok(())
}

/// Adds what a folder holds, and to `waiting` the folders below that are to be looked into.
fn one_folder(folder: &Path, listing: Listing, waiting: &mut Vec<PathBuf>, found: &mut FoundRecordings) {
    if is_of_one_machine(folder) {
        found.recordings.push(vec![folder.to_path_buf()]);
        return;
    }
    let mut files = Files::default();
    files.add(listing.files);
    if files.are_linux_parts() {
        // Folders below hold more of it, as /sys/firmware/acpi/fpdt does.
        for below in &listing.folders {
            let _unreadable = walk(below, |each| match each {
                Found::File(path, length) => files.add([(path.to_path_buf(), length)]),
                Found::Unreadable(path, _) => files.unreadable.push(path.to_path_buf()),
            });
        }
        let groups = groups(&files.paths, &files.roles);
        if groups.recordings.len() <= 1 && groups.unattributed.is_empty() {
            found.recordings.push(vec![folder.to_path_buf()]);
        } else {
            files.into_found(groups, found);
            found.other_files += listing.others;
        }
        return;
    }
    let groups = groups(&files.paths, &files.roles);
    files.into_found(groups, found);
    found.other_files += listing.others;
    found.unusable.extend(listing.unreadable.into_iter().map(|(path, _)| path));
    waiting.extend(listing.folders.into_iter().rev());
}

/// Files of a folder that are recordings or parts of one, and the others.
#[derive(Default)]
struct Files {
    paths: Vec<PathBuf>,
    roles: Vec<FileRole>,
    empty: Vec<PathBuf>,
    unreadable: Vec<PathBuf>,
    others: u64,
}

impl Files {
    fn add(&mut self, files: impl IntoIterator<Item = (PathBuf, u64)>) {
        for (path, length) in files {
            let role = if length == 0 { FileRole::Empty } else { role(&path) };
            match role {
                FileRole::Empty => self.empty.push(path),
                FileRole::Nothing if !is_called_a_recording(&path) => self.others += 1,
                role => {
                    self.paths.push(path);
                    // A recording that is damaged beyond recognition is no reason to say nothing of it.
                    self.roles.push(if matches!(role, FileRole::Nothing) { FileRole::Whole } else { role });
                }
            }
        }
    }

    fn are_linux_parts(&self) -> bool {
        !self.roles.is_empty() && self.roles.iter().all(|role| matches!(role, FileRole::LinuxPart(_)))
    }

    fn into_found(self, groups: Groups, found: &mut FoundRecordings) {
        let Groups { recordings, unattributed } = groups;
        found.recordings.extend(paths_of(recordings, &self.paths));
        found.unusable.extend(paths_of(unattributed.into_iter().map(|at| vec![at]), &self.paths).flatten());
        found.unusable.extend(self.empty.into_iter().chain(self.unreadable));
        found.other_files += self.others;
    }
}

/// Whether all that is below a folder is of one machine: what sosreport collected, or a file system with its
/// `/var/log`, or that folder itself.
fn is_of_one_machine(folder: &Path) -> bool {
    if folder.join("sos_commands").is_dir() {
        return true;
    }
    let is_machine_id = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let holds_journal =
        |folder: &Path| list(&folder.join("journal")).is_ok_and(|listing| listing.folders.iter().any(is_machine_id));
    let is_log_folder = |folder: &Path| folder.ends_with("var/log") || holds_journal(folder);
    let log = folder.join("var/log");
    let log = if log.is_dir() { log.as_path() } else { folder };
    is_log_folder(log) && holds_linux_part(log)
}

/// Whether a log folder holds a log of Linux, or the journal's own files.
fn holds_linux_part(log: &Path) -> bool {
    let is_part = |(path, length): &(PathBuf, u64)| *length > 0 && matches!(role(path), FileRole::LinuxPart(_));
    let holds = |folder: &Path| list(folder).is_ok_and(|listing| listing.files.iter().any(is_part));
    let journals = || list(&log.join("journal")).map(|listing| listing.folders).unwrap_or_default();
    holds(log) || journals().iter().any(|machine| holds(machine))
}

/// Whether a file is named as recordings of Windows and captures are, packed or not.
fn is_called_a_recording(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let unpacked = [".xz", ".gz", ".zst"].into_iter().find_map(|packed| name.strip_suffix(packed)).unwrap_or(&name);
    [".etl", ".pcap", ".pcapng", ".cap"].into_iter().any(|end| unpacked.ends_with(end))
}

fn groups(files: &[PathBuf], roles: &[FileRole]) -> Groups {
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    group(&names.iter().map(String::as_str).collect::<Vec<_>>(), roles)
}

fn paths_of(groups: impl IntoIterator<Item = Vec<usize>>, files: &[PathBuf]) -> impl Iterator<Item = Vec<PathBuf>> {
    groups.into_iter().map(|group| group.into_iter().filter_map(|at| files.get(at).cloned()).collect())
}

fn role(path: &Path) -> FileRole {
    // A stream is read once, by who answers; what cannot be read says so there.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => return FileRole::Empty,
        Ok(metadata) if metadata.is_file() => {}
        _ => return FileRole::Whole,
    }
    match Mapped::open(path) {
        Ok(mapped) => file_role(&path.display().to_string(), mapped.bytes()),
        Err(_) => FileRole::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, bytes: impl AsRef<[u8]>) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn below(root: &Path, found: &FoundRecordings) -> (Vec<String>, Vec<String>) {
        let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string().replace('\\', "/");
        let joined = |files: &Vec<PathBuf>| files.iter().map(name).collect::<Vec<_>>().join("+");
        (found.recordings.iter().map(joined).collect(), found.unusable.iter().map(name).collect())
    }

    /// The beginning of a capture: a recording by itself.
    const CAPTURE: &[u8] = b"\xD4\xC3\xB2\xA1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0";

    fn kernel_log(host: &str, boot: u32) -> String {
        let line =
            |second: u32| format!("[{second:5}.{:06}] line {second}\n", (second * 7919 + boot * 104_729) % 1_000_000);
        let lines: String = (1..40).map(line).collect();
        format!(
            "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n{lines}[   50.000000] systemd[1]: Hostname set to <{host}>.\n"
        )
    }

    #[test]
    fn twenty_thousand_and_one_recordings_are_all_found() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20_001 {
            fs::write(folder.path().join(format!("{number:05}.pcap")), CAPTURE).unwrap();
        }
        let found = recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!((found.recordings.len(), found.unusable.len(), found.other_files), (20_001, 0, 0));
    }

    #[test]
    fn no_file_vanishes_however_deep_it_lies() {
        let folder = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(30);
        write(folder.path(), &format!("{deep}deep.pcap"), CAPTURE);
        write(folder.path(), "a.pcap", CAPTURE);
        write(folder.path(), "empty.etl", b"");
        write(folder.path(), "zeros.etl", [0; 4096]);
        write(folder.path(), "damaged.etl", b"no longer a log");
        write(folder.path(), "notes.txt", b"nothing that anybody recorded");
        let found = recordings(&[folder.path().to_owned()]).unwrap();
        let (names, unusable) = below(folder.path(), &found);
        assert_eq!(names, ["a.pcap".to_owned(), "damaged.etl".to_owned(), format!("{deep}deep.pcap")]);
        assert_eq!(unusable, ["empty.etl", "zeros.etl"]);
        assert_eq!(found.other_files, 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_cannot_be_read_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.pcap", CAPTURE);
        write(folder.path(), "locked/b.pcap", CAPTURE);
        let locked = folder.path().join("locked");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let is_readable_all_the_same = fs::read_dir(&locked).is_ok();
        let found = recordings(&[folder.path().to_owned()]).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
        let (names, unusable) = below(folder.path(), &found);
        // Whoever may read everything finds what is in it.
        match is_readable_all_the_same {
            true => assert_eq!(names, ["a.pcap", "locked/b.pcap"]),
            false => assert_eq!((names, unusable), (vec!["a.pcap".to_owned()], vec!["locked".to_owned()])),
        }
    }

    #[test]
    fn kernel_logs_of_several_computers_in_a_folder_are_several_recordings() {
        let folder = tempfile::tempdir().unwrap();
        for (name, host, boot) in [("a.txt", "web1", 1), ("b.txt", "web2", 2), ("c.txt", "web2", 3)] {
            write(folder.path(), name, kernel_log(host, boot));
        }
        let found = recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!(below(folder.path(), &found).0, ["a.txt", "b.txt", "c.txt"]);
        let refused = crate::open_all(&[folder.path().to_owned()], &onoff_sources::Limits::default()).unwrap_err();
        assert!(refused.to_string().contains("these are 3 recordings"), "{refused}");
        // One boot, with parts in folders below, is one recording.
        let one = folder.path().join("one");
        write(&one, "dmesg.txt", kernel_log("web1", 1));
        write(&one, "end/dmesg.txt", format!("{}[   60.000000] reboot: Restarting system\n", kernel_log("web1", 1)));
        write(&one, "proc/meminfo", "MemTotal:        1969152 kB\n");
        let found = recordings(std::slice::from_ref(&one)).unwrap();
        assert_eq!(found.recordings, [vec![one]]);
    }

    #[test]
    fn what_sosreport_collected_and_a_copied_log_folder_are_one_recording() {
        let folder = tempfile::tempdir().unwrap();
        let sos = folder.path().join("sosreport-web1");
        write(&sos, "version.txt", "sosreport: 4.5\n");
        write(&sos, "sos_commands/kernel/dmesg", kernel_log("web1", 1));
        write(&sos, "sos_commands/systemd/systemctl_show_--all", "Id=a.service\nLoadState=loaded\n");
        write(&sos, "var/log/messages", "Nov  2 09:00:00 web1 kernel: Linux version 6.1.0\n");
        write(&sos, "proc/cmdline", "root=/dev/vda\n");
        let copied = folder.path().join("copied");
        write(&copied, "var/log/syslog", "Nov  2 09:00:00 web2 kernel: Linux version 6.1.0\n");
        write(&copied, "var/log/dpkg.log", "2025-11-02 status installed\n");
        write(&copied, "etc/os-release", "PRETTY_NAME=\"Debian\"\nID=debian\n");
        let found = recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!(below(folder.path(), &found).0, ["copied", "sosreport-web1"]);
        let log = copied.join("var/log");
        assert_eq!(recordings(std::slice::from_ref(&log)).unwrap().recordings, [vec![log]]);
        // A folder that is only called so is not one.
        let other = folder.path().join("other");
        write(&other, "var/log/boot.pcap", CAPTURE);
        write(&other, "runs/second.pcap", CAPTURE);
        assert_eq!(recordings(&[other]).unwrap().recordings.len(), 2);
    }
}
