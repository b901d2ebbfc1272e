//! Finds the recordings among files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use onoff_sources::{Bytes, Error, FileRole, FolderContents, Groups, file_role, group_files, is_single_machine};

use crate::mapped::MappedFile;
use crate::read_error;
use crate::standard_input::is_standard_input;
use crate::walk::{Listing, WalkEntry, list, walk};

/// The recordings in files and folders. Every file in a folder is part of a recording, unusable, or counted in
/// `other_files`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingGroups {
    /// The file paths of each recording.
    pub recordings: Vec<Vec<PathBuf>>,
    /// Files and folders that may contain a recording but cannot be read; opening them reports the reason.
    pub unusable: Vec<PathBuf>,
    /// Files in folders that are not recordings, and links, which are not followed.
    pub other_files: u64,
    has_event_logs: bool,
}

impl RecordingGroups {
    /// Returns the recordings, followed by the unusable paths.
    #[must_use]
    pub fn into_all_paths(self) -> Vec<Vec<PathBuf>> {
        let mut all = self.recordings;
        all.extend(self.unusable.into_iter().map(|path| vec![path]));
        all
    }

    /// Moves event logs to the traces that they accompany: the nearest ones in the folder tree. The boot in each trace
    /// is later found by its start and computer, so logs of several boots can accompany several traces. Without a
    /// trace, event logs are recordings.
    fn attach_event_logs(&mut self) {
        if !self.has_event_logs {
            return;
        }
        let role = |files: &Vec<PathBuf>| files.first().map_or(FileRole::Other, |file| detect_role(file));
        let roles: Vec<FileRole> = self.recordings.iter().map(role).collect();
        if !roles.iter().any(|role| matches!(role, FileRole::Log(_))) {
            return;
        }
        let (mut logs, mut others) = (Vec::new(), Vec::new());
        for (files, role) in std::mem::take(&mut self.recordings).into_iter().zip(roles) {
            match role {
                FileRole::EventLog => logs.push(files),
                role => others.push((matches!(role, FileRole::Log(_)), files)),
            }
        }
        let traces: Vec<Option<PathBuf>> =
            others.iter().map(|(is_trace, files)| files.first().filter(|_| *is_trace).cloned()).collect();
        for files in logs {
            let distances: Vec<Option<usize>> =
                traces.iter().map(|trace| Some(shared_folders(trace.as_deref()?, files.first()?))).collect();
            let nearest = distances.iter().flatten().max().copied();
            for ((_, trace), _) in others.iter_mut().zip(&distances).filter(|(_, shared)| **shared == nearest) {
                trace.extend(files.iter().cloned());
            }
        }
        self.recordings = others.into_iter().map(|(_, files)| files).collect();
    }

    /// Rejects files of several recordings. Captures may be split into several files.
    ///
    /// # Errors
    /// There are several recordings.
    fn require_single(&self) -> Result<(), Error> {
        let recordings: Vec<&Vec<PathBuf>> = self.recordings.iter().filter(|files| !is_split_capture(files)).collect();
        let first_file =
            |files: &Vec<PathBuf>| files.first().map(|file| file.display().to_string()).unwrap_or_default();
        match recordings.as_slice() {
            [first, second, ..] => Err(Error::SeveralRecordings {
                count: recordings.len(),
                first: first_file(first),
                second: first_file(second),
            }),
            _ => Ok(()),
        }
    }
}

/// Rejects paths of several recordings: see [`recordings`].
///
/// # Errors
/// There are several recordings, or a path cannot be read.
pub(crate) fn require_single(paths: &[PathBuf]) -> Result<(), Error> {
    match paths {
        // A single file is one recording, whatever it contains.
        [path] if is_standard_input(path) || !path.is_dir() => Ok(()),
        _ => find_recordings(paths)?.require_single(),
    }
}

fn is_split_capture(files: &[PathBuf]) -> bool {
    files.iter().all(|file| !file.is_dir() && matches!(detect_role(file), FileRole::Sequence))
}

/// Groups `paths` into recordings. Logs recorded together form one recording, as do the parts of one Linux recording.
/// An archive is one recording. A folder is one recording if it was collected by a support tool, contains a copy of
/// `/var/log`, or contains the parts of a single Linux recording. Otherwise, every recording in the folder and its
/// subfolders is separate. Event logs accompany the traces that are nearest in the folder tree, if there are any.
/// Links in folders are not followed.
///
/// # Errors
/// A path cannot be read.
pub fn find_recordings(paths: &[PathBuf]) -> Result<RecordingGroups, Error> {
    let mut found = RecordingGroups::default();
    let mut files = Vec::new();
    for path in paths {
        if !is_standard_input(path) && fs::metadata(path).map_err(read_error(path))?.is_dir() {
            scan_folder(path, &mut found)?;
        } else {
            files.push(path.clone());
        }
    }
    // A file in `paths` counts as a recording; its reader reports problems.
    let recording_role = |path: &PathBuf| match detect_role(path) {
        FileRole::Other | FileRole::Empty => FileRole::Standalone,
        role => role,
    };
    let roles: Vec<FileRole> = files.iter().map(recording_role).collect();
    let Groups { recordings, unattributed } = group_paths(&files, &roles);
    let groups = recordings.into_iter().chain(unattributed.into_iter().map(|index| vec![index]));
    found.recordings.splice(0..0, paths_of(groups, &files));
    found.has_event_logs |= has_event_log(&roles);
    found.attach_event_logs();
    Ok(found)
}

fn scan_folder(root: &Path, found: &mut RecordingGroups) -> Result<(), Error> {
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        match list(&folder) {
            Ok(listing) => add_folder(&folder, listing, &mut pending, found),
            Err(source) if folder == root => return Err(read_error(&folder)(source)),
            Err(_) => found.unusable.push(folder),
        }
    }
    Ok(())
}

/// Adds the contents of a folder to `found`, and the subfolders to scan to `pending`.
fn add_folder(folder: &Path, listing: Listing, pending: &mut Vec<PathBuf>, found: &mut RecordingGroups) {
    if is_single_machine(&DiskFolder(folder)) {
        found.recordings.push(vec![folder.to_path_buf()]);
        return;
    }
    let mut files = ClassifiedFiles::default();
    files.add(listing.files);
    if files.are_linux_parts() {
        // Subfolders may contain more parts, such as /sys/firmware/acpi/fpdt.
        for subfolder in &listing.folders {
            let _unreadable = walk(subfolder, |entry| match entry {
                WalkEntry::File(path, length) => files.add([(path.to_path_buf(), length)]),
                WalkEntry::Unreadable(path, _) => files.unreadable.push(path.to_path_buf()),
            });
        }
        let groups = group_paths(&files.paths, &files.roles);
        if groups.recordings.len() <= 1 && groups.unattributed.is_empty() {
            found.recordings.push(vec![folder.to_path_buf()]);
        } else {
            files.add_to(groups, found);
            found.other_files += listing.other_entries;
        }
        return;
    }
    let groups = group_paths(&files.paths, &files.roles);
    files.add_to(groups, found);
    found.other_files += listing.other_entries;
    found.unusable.extend(listing.unreadable.into_iter().map(|(path, _)| path));
    pending.extend(listing.folders.into_iter().rev());
}

/// The files of a folder by role.
#[derive(Default)]
struct ClassifiedFiles {
    paths: Vec<PathBuf>,
    roles: Vec<FileRole>,
    empty: Vec<PathBuf>,
    unreadable: Vec<PathBuf>,
    other_files: u64,
}

impl ClassifiedFiles {
    fn add(&mut self, files: impl IntoIterator<Item = (PathBuf, u64)>) {
        for (path, length) in files {
            let role = if length == 0 { FileRole::Empty } else { detect_role(&path) };
            match role {
                FileRole::Empty => self.empty.push(path),
                // The other logs in the folder are a recording without it.
                FileRole::Other if is_named_event_log(&path) => self.unreadable.push(path),
                FileRole::Other if !has_recording_extension(&path) => self.other_files += 1,
                role => {
                    self.paths.push(path);
                    // A recording that is damaged beyond recognition must still be reported.
                    self.roles.push(if matches!(role, FileRole::Other) { FileRole::Standalone } else { role });
                }
            }
        }
    }

    fn are_linux_parts(&self) -> bool {
        !self.roles.is_empty() && self.roles.iter().all(|role| matches!(role, FileRole::LinuxPart(_)))
    }

    fn add_to(self, groups: Groups, found: &mut RecordingGroups) {
        let Groups { recordings, unattributed } = groups;
        found.has_event_logs |= has_event_log(&self.roles);
        found.recordings.extend(paths_of(recordings, &self.paths));
        found.unusable.extend(paths_of(unattributed.into_iter().map(|index| vec![index]), &self.paths).flatten());
        found.unusable.extend(self.empty.into_iter().chain(self.unreadable));
        found.other_files += self.other_files;
    }
}

fn has_event_log(roles: &[FileRole]) -> bool {
    roles.iter().any(|role| matches!(role, FileRole::EventLog))
}

/// Returns the number of folders that contain both files.
fn shared_folders(a: &Path, b: &Path) -> usize {
    let folders = a.parent().zip(b.parent());
    folders.map_or(0, |(a, b)| a.components().zip(b.components()).take_while(|(a, b)| a == b).count())
}

/// A folder in the file system.
struct DiskFolder<'a>(&'a Path);

impl FolderContents for DiskFolder<'_> {
    fn is_var_log(&self) -> bool {
        self.0.ends_with("var/log")
    }

    fn has_folder(&self, path: &str) -> bool {
        self.0.join(path).is_dir()
    }

    fn has_file(&self, path: &str) -> bool {
        self.0.join(path).is_file()
    }

    fn folders(&self, path: &str) -> Vec<String> {
        let folders = list(&self.0.join(path)).map(|listing| listing.folders).unwrap_or_default();
        folders.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
    }

    fn has_linux_part(&self, path: &str) -> bool {
        let is_part =
            |(path, length): &(PathBuf, u64)| *length > 0 && matches!(detect_role(path), FileRole::LinuxPart(_));
        list(&self.0.join(path)).is_ok_and(|listing| listing.files.iter().any(is_part))
    }
}

/// Returns whether a file that was found in a folder counts as a recording, or as a part of one, readable or not.
/// [`find_recordings`] counts every file that is passed by name.
pub fn is_recording(path: &Path) -> bool {
    !matches!(detect_role(path), FileRole::Other) || has_recording_extension(path) || is_named_event_log(path)
}

fn is_named_event_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("evtx"))
}

/// Returns true if the file name has an extension of Windows recordings or captures, packed or not.
fn has_recording_extension(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let unpacked_name =
        [".xz", ".gz", ".zst"].into_iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(&name);
    [".etl", ".pcap", ".pcapng", ".cap"].into_iter().any(|extension| unpacked_name.ends_with(extension))
}

fn group_paths(files: &[PathBuf], roles: &[FileRole]) -> Groups {
    let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    group_files(&names.iter().map(String::as_str).collect::<Vec<_>>(), roles)
}

fn paths_of(groups: impl IntoIterator<Item = Vec<usize>>, files: &[PathBuf]) -> impl Iterator<Item = Vec<PathBuf>> {
    groups.into_iter().map(|group| group.into_iter().filter_map(|index| files.get(index).cloned()).collect())
}

fn detect_role(path: &Path) -> FileRole {
    // Do not open a stream, which only its consumer may read. The consumer also reports unreadable files.
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => return FileRole::Empty,
        Ok(metadata) if metadata.is_file() => {}
        _ => return FileRole::Standalone,
    }
    match MappedFile::open(path) {
        Ok(mapped) => file_role(&path.display().to_string(), mapped.bytes()),
        Err(_) => FileRole::Standalone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_testkit::assemble::{EtlBuilder, Session};

    fn write(root: &Path, name: &str, bytes: impl AsRef<[u8]>) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn relative_names(root: &Path, found: &RecordingGroups) -> (Vec<String>, Vec<String>) {
        let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string().replace('\\', "/");
        let joined_names = |files: &Vec<PathBuf>| files.iter().map(name).collect::<Vec<_>>().join("+");
        (found.recordings.iter().map(joined_names).collect(), found.unusable.iter().map(name).collect())
    }

    /// The header of a capture, which is a complete recording.
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
    fn finds_more_than_20000_recordings() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20_001 {
            fs::write(folder.path().join(format!("{number:05}.pcap")), CAPTURE).unwrap();
        }
        let found = find_recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!((found.recordings.len(), found.unusable.len(), found.other_files), (20_001, 0, 0));
    }

    #[test]
    fn accounts_for_every_file_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(30);
        write(folder.path(), &format!("{deep}deep.pcap"), CAPTURE);
        write(folder.path(), "a.pcap", CAPTURE);
        write(folder.path(), "empty.etl", b"");
        write(folder.path(), "zeros.etl", [0; 4096]);
        write(folder.path(), "damaged.etl", b"no longer a log");
        write(folder.path(), "notes.txt", b"not a recording");
        let found = find_recordings(&[folder.path().to_owned()]).unwrap();
        let (names, unusable) = relative_names(folder.path(), &found);
        assert_eq!(names, ["a.pcap".to_owned(), "damaged.etl".to_owned(), format!("{deep}deep.pcap")]);
        assert_eq!(unusable, ["empty.etl", "zeros.etl"]);
        assert_eq!(found.other_files, 1);
        // A file alone counts as it does in its folder.
        write(folder.path(), "damaged.EVTX", b"no longer a log");
        for name in names.iter().chain(&unusable).map(String::as_str).chain(["damaged.EVTX"]) {
            assert!(is_recording(&folder.path().join(name)), "{name}");
        }
        assert!(!is_recording(&folder.path().join("notes.txt")));
    }

    #[test]
    fn folder_with_system_logs_is_one_recording() {
        let syslog =
            |host: &str| format!("Nov 22 09:00:00 {host} kernel: Linux version 6.1\nNov 22 09:00:05 {host} a: x\n");
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "copy/syslog", syslog("web"));
        // The log of the installation, from before the computer had its name.
        write(root, "copy/syslog.1", syslog("installer7"));
        write(root, "copy/auth.log", "Nov 22 09:00:00 web sshd[1]: x\n");
        write(root, "copy/wtmp", [1, 2]);
        write(root, "copy/dmesg", kernel_log("web", 1));
        let names = |path: &Path| relative_names(root, &find_recordings(&[path.to_owned()]).unwrap()).0;
        assert_eq!(names(root), ["copy"]);
        assert_eq!(names(&root.join("copy")), ["copy"]);
        // Logs that were collected from several computers.
        write(root, "others/syslog", syslog("web1"));
        write(root, "others/web2.log", syslog("web2"));
        write(root, "others/dmesg", kernel_log("web3", 1));
        assert_eq!(names(&root.join("others")).len(), 3);
    }

    /// An empty trace that started at `start_time`.
    fn trace(start_time: u64) -> Vec<u8> {
        let session = Session { start_time, boot_time: start_time, ..Session::windows_10(1) };
        EtlBuilder::new(session).finish()
    }

    #[test]
    fn event_logs_accompany_the_nearest_traces() {
        const LOG: &[u8] = b"ElfFile\0the rest of a log";
        const DAY: u64 = 864_000_000_000;
        let start = 133_492_608_000_000_000;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        write(root, "a/boot.etl", trace(start));
        write(root, "a/logs/System.evtx", LOG);
        write(root, "b/first.etl", trace(start + DAY));
        write(root, "b/logs/Application.evtx", LOG);
        write(root, "b/logs/System.evtx", LOG);
        write(root, "b/second.etl", trace(start + 2 * DAY));
        write(root, "c/boot.pcap", CAPTURE);
        let names = |path: &Path| {
            let found = find_recordings(&[path.to_owned()]).unwrap();
            relative_names(root, &found).0
        };
        let logs_of_b = "b/logs/Application.evtx+b/logs/System.evtx";
        let expected = [
            "c/boot.pcap".to_owned(),
            "a/boot.etl+a/logs/System.evtx".to_owned(),
            format!("b/first.etl+{logs_of_b}"),
            format!("b/second.etl+{logs_of_b}"),
        ];
        let sorted = |mut names: Vec<String>| {
            names.sort();
            names
        };
        assert_eq!(sorted(names(root)), sorted(expected.to_vec()));
        // Without a trace, logs are a recording.
        assert_eq!(names(&root.join("b/logs")), [logs_of_b]);
        let paths = [root.join("a/boot.etl"), root.join("b/logs")];
        assert_eq!(find_recordings(&paths).unwrap().recordings.len(), 1);
        assert!(crate::open_all(&paths, &onoff_sources::Limits::default()).unwrap().event_logs().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn reports_unreadable_folder() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.pcap", CAPTURE);
        write(folder.path(), "locked/b.pcap", CAPTURE);
        let locked = folder.path().join("locked");
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        let is_readable_anyway = fs::read_dir(&locked).is_ok();
        let found = find_recordings(&[folder.path().to_owned()]).unwrap();
        fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
        let (names, unusable) = relative_names(folder.path(), &found);
        // A privileged user can read the folder anyway.
        match is_readable_anyway {
            true => assert_eq!(names, ["a.pcap", "locked/b.pcap"]),
            false => assert_eq!((names, unusable), (vec!["a.pcap".to_owned()], vec!["locked".to_owned()])),
        }
    }

    #[test]
    fn kernel_logs_of_several_computers_are_several_recordings() {
        let folder = tempfile::tempdir().unwrap();
        for (name, host, boot) in [("a.txt", "web1", 1), ("b.txt", "web2", 2), ("c.txt", "web2", 3)] {
            write(folder.path(), name, kernel_log(host, boot));
        }
        let found = find_recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!(relative_names(folder.path(), &found).0, ["a.txt", "b.txt", "c.txt"]);
        let error = crate::open_all(&[folder.path().to_owned()], &onoff_sources::Limits::default()).unwrap_err();
        assert!(error.to_string().contains("these are 3 recordings"), "{error}");
        // One boot with parts in subfolders is one recording.
        let single = folder.path().join("one");
        write(&single, "dmesg.txt", kernel_log("web1", 1));
        write(&single, "end/dmesg.txt", format!("{}[   60.000000] reboot: Restarting system\n", kernel_log("web1", 1)));
        write(&single, "proc/meminfo", "MemTotal:        1969152 kB\n");
        let found = find_recordings(std::slice::from_ref(&single)).unwrap();
        assert_eq!(found.recordings, [vec![single]]);
    }

    #[test]
    fn sosreport_and_log_folder_copies_are_one_recording_each() {
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
        let found = find_recordings(&[folder.path().to_owned()]).unwrap();
        assert_eq!(relative_names(folder.path(), &found).0, ["copied", "sosreport-web1"]);
        let log = copied.join("var/log");
        assert_eq!(find_recordings(std::slice::from_ref(&log)).unwrap().recordings, [vec![log]]);
        // The folder name alone does not make the folder one recording.
        let other = folder.path().join("other");
        write(&other, "var/log/boot.pcap", CAPTURE);
        write(&other, "runs/second.pcap", CAPTURE);
        assert_eq!(find_recordings(&[other]).unwrap().recordings.len(), 2);
    }
}
