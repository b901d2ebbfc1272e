//! Decides which files form one recording, from the beginnings of the files. All front ends use this rule.

use hashbrown::HashMap;
use onoff_etl::{Input, LogfileHeader};

use crate::sections::sections;
use onoff_input::error::Error;
use onoff_input::opened::SourceFile;
use onoff_input::sniff::{Content, Packing, RecordingKind, SNIFF_LEN, is_tar, sniff};
use onoff_input::unpack::unpack_beginning;
use onoff_linux::{self, MAX_IDENTITY_BYTES, PartIdentity, Relation};

/// Role of a file in recordings.
#[derive(Clone, Debug)]
pub enum FileRole {
    /// A Windows log, which may have been recorded together with others.
    Log(Box<LogfileHeader>),
    /// A Windows event log, which belongs together with those in the same folder.
    EventLog,
    /// A part of a Linux recording, such as a kernel log.
    LinuxPart(Box<PartIdentity>),
    /// A complete recording of a kind whose files are read in sequence if several are given: captures, file operations.
    Sequence,
    /// A complete recording: an archive, or a file whose reader reports its problems.
    Standalone,
    /// Empty, or only zeros.
    Empty,
    /// Not a recording.
    Other,
}

/// Files grouped into recordings, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The files of each recording, in order.
    pub recordings: Vec<Vec<usize>>,
    /// Parts that only complement a recording, if it is not known which recording they belong to.
    pub unattributed: Vec<usize>,
}

/// Returns the role of the file `name` with the content `bytes`, packed or not.
#[must_use]
pub fn file_role(name: &str, bytes: &[u8]) -> FileRole {
    let packing = match sniff(bytes) {
        Content::Packed(Packing::Zip) => return FileRole::Standalone,
        Content::Packed(packing) => Some(packing),
        _ => None,
    };
    let unpacked;
    let beginning = match packing {
        Some(packing) => {
            unpacked = unpack_beginning(packing, bytes, SNIFF_LEN);
            &unpacked
        }
        None => bytes.get(..SNIFF_LEN).unwrap_or(bytes),
    };
    match sniff(beginning) {
        Content::Recording(RecordingKind::EventTraceLog) => {
            match LogfileHeader::from_prefix(&Input { name, bytes: beginning }) {
                Ok(header) => FileRole::Log(Box::new(header)),
                // The reader reports what is wrong with the file.
                Err(_) => FileRole::Standalone,
            }
        }
        Content::Recording(RecordingKind::WindowsEventLogs) => FileRole::EventLog,
        Content::Recording(RecordingKind::NetworkCapture) => FileRole::Sequence,
        Content::Recording(_) | Content::Packed(_) => FileRole::Standalone,
        Content::Empty => FileRole::Empty,
        Content::Unknown if is_tar(beginning) => FileRole::Standalone,
        Content::Unknown if onoff_fileio::recognize(beginning).is_some() => FileRole::Sequence,
        Content::Unknown => match onoff_linux::part_kind(name, beginning) {
            // A report may contain outputs that are parts.
            None if packing.is_none() && has_parts(bytes) => FileRole::LinuxPart(Box::new(PartIdentity::for_report())),
            None => FileRole::Other,
            Some(kind) => {
                let longer_beginning;
                let bytes = match packing {
                    Some(packing) => {
                        longer_beginning = unpack_beginning(packing, bytes, MAX_IDENTITY_BYTES);
                        &longer_beginning
                    }
                    None => bytes,
                };
                FileRole::LinuxPart(Box::new(PartIdentity::from_part(&onoff_linux::Part { kind, name, bytes })))
            }
        },
    }
}

/// True for a report (supportconfig) with an output that is part of a Linux recording.
fn has_parts(bytes: &[u8]) -> bool {
    sections(bytes).into_iter().flatten().any(|section| {
        let output = bytes.get(section.range).unwrap_or_default();
        matches!(sniff(output), Content::Unknown) && onoff_linux::is_part(&section.name, output)
    })
}

/// A folder, to decide whether everything in it belongs to one machine. Paths are relative to it and separated by
/// slashes; the empty path is the folder itself.
pub trait FolderContents {
    /// True if the folder is named `log` in a folder `var`.
    fn is_var_log(&self) -> bool;
    fn has_folder(&self, path: &str) -> bool;
    fn has_file(&self, path: &str) -> bool;
    /// Returns the names of the folders directly in a folder.
    fn folders(&self, path: &str) -> Vec<String>;
    /// True if a file directly in a folder is a Linux log or journal.
    fn has_linux_part(&self, path: &str) -> bool;
}

/// Returns true if the folder belongs to one machine: the output of sosreport, a file system with a `/var/log`, or a
/// `/var/log` itself.
#[must_use]
pub fn is_single_machine(folder: &impl FolderContents) -> bool {
    if folder.has_folder("sos_commands") {
        return true;
    }
    let (is_var_log, log_folder) = match folder.has_folder("var/log") {
        true => (true, "var/log/"),
        false => (folder.is_var_log(), ""),
    };
    let journal = format!("{log_folder}journal");
    let journals = folder.folders(&journal);
    let has_part = |path: &str| folder.has_linux_part(path);
    (is_var_log || journals.iter().any(|name| is_machine_id(name)) || has_system_files(folder, log_folder))
        && (has_part(log_folder.trim_end_matches('/'))
            || journals.iter().any(|name| has_part(&format!("{journal}/{name}"))))
}

fn is_machine_id(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns true if the files of a folder are those that only the `/var/log` of a computer has together.
fn has_system_files(folder: &impl FolderContents, log_folder: &str) -> bool {
    const NAMES: [&str; 14] = [
        "alternatives.log",
        "auth.log",
        "boot.log",
        "btmp",
        "cron",
        "dpkg.log",
        "faillog",
        "kern.log",
        "lastlog",
        "messages",
        "pacman.log",
        "secure",
        "syslog",
        "wtmp",
    ];
    /// Minimum number of these files.
    const MIN_FILES: usize = 3;
    NAMES.iter().filter(|name| folder.has_file(&format!("{log_folder}{name}"))).count() >= MIN_FILES
}

/// Groups files into recordings: Windows logs recorded together, the parts of one Linux recording, and all other files
/// that are complete recordings. A Linux part that fits several recordings is assigned to the nearest recording in the
/// folder tree, according to `names`.
#[must_use]
pub fn group_files(names: &[&str], roles: &[FileRole]) -> Groups {
    let mut recordings: Vec<Vec<usize>> = Vec::new();
    let mut logs: Vec<(usize, &LogfileHeader)> = Vec::new();
    let mut parts: Vec<LinuxFile<'_>> = Vec::new();
    let mut event_logs: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
    for (index, role) in roles.iter().enumerate() {
        match role {
            FileRole::EventLog => {
                let name = names.get(index).copied().unwrap_or_default();
                event_logs.entry(folders(name)).or_default().push(index);
            }
            FileRole::Log(header) => logs.push((index, header)),
            FileRole::LinuxPart(identity) => {
                let name = names.get(index).copied().unwrap_or_default();
                parts.push(LinuxFile { index, folders: folders(name), identity });
            }
            FileRole::Sequence | FileRole::Standalone => recordings.push(vec![index]),
            FileRole::Empty | FileRole::Other => {}
        }
    }
    recordings.extend(event_logs.into_values());
    recordings.extend(group_logs(logs));
    let (linux_groups, mut unattributed) = group_parts(parts);
    recordings.extend(linux_groups);
    for group in &mut recordings {
        group.sort_unstable();
    }
    recordings.sort_unstable();
    unattributed.sort_unstable();
    Groups { recordings, unattributed }
}

/// Folders whose whole tree belongs to one machine: the output of sosreport, and a copied file system.
const SINGLE_MACHINE_FOLDERS: [&str; 2] = ["/sos_commands/", "/var/log/"];

/// Rejects the members of an archive if they belong to several recordings.
pub(crate) fn require_single_in_archive(members: &[SourceFile]) -> Result<(), Error> {
    let names: Vec<&str> = members.iter().map(SourceFile::name).collect();
    if names.len() < 2 || names.iter().any(|name| SINGLE_MACHINE_FOLDERS.iter().any(|folder| name.contains(folder))) {
        return Ok(());
    }
    let roles: Vec<FileRole> = members.iter().map(|member| file_role(member.name(), member.bytes())).collect();
    require_single(&names, &roles)
}

/// Rejects files of several recordings.
pub(crate) fn require_single(names: &[&str], roles: &[FileRole]) -> Result<(), Error> {
    let groups = group_files(names, roles);
    // Captures may be split over several files, and the content of an archive belongs together.
    let is_identifiable = |index: &usize| matches!(roles.get(*index), Some(FileRole::Log(_) | FileRole::LinuxPart(_)));
    let mut identifiable = groups.recordings.iter().filter(|group| group.iter().any(is_identifiable));
    let first_name =
        |group: &Vec<usize>| group.first().and_then(|&index| names.get(index)).copied().unwrap_or_default().to_owned();
    match (identifiable.next(), identifiable.next()) {
        (Some(first), Some(second)) => Err(Error::SeveralRecordings {
            count: 2 + identifiable.count(),
            first: first_name(first),
            second: first_name(second),
        }),
        _ => Ok(()),
    }
}

/// Groups logs that were recorded together, directly or through another log.
fn group_logs(mut logs: Vec<(usize, &LogfileHeader)>) -> Vec<Vec<usize>> {
    logs.sort_by_key(|(_, header)| header.boot_filetime());
    // Union-find: each log refers to another log of its group, and the root of a group to itself.
    let mut parents: Vec<usize> = (0..logs.len()).collect();
    for (position, (_, header)) in logs.iter().enumerate() {
        let max_boot_time = header.boot_filetime().saturating_add(LogfileHeader::MAX_BOOT_TIME_DIFFERENCE);
        let later_logs = logs.iter().enumerate().skip(position + 1);
        for (later, (_, later_header)) in
            later_logs.take_while(|(_, (_, later_header))| later_header.boot_filetime() <= max_boot_time)
        {
            if header.is_same_recording(later_header) {
                let (first, second) = (root(&parents, position), root(&parents, later));
                if let Some(parent) = parents.get_mut(first.max(second)) {
                    *parent = first.min(second);
                }
            }
        }
    }
    let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
    for (position, (index, _)) in logs.iter().enumerate() {
        groups.entry(root(&parents, position)).or_default().push(*index);
    }
    groups.into_values().collect()
}

fn root(parents: &[usize], mut position: usize) -> usize {
    while let Some(&parent) = parents.get(position).filter(|&&parent| parent != position) {
        position = parent;
    }
    position
}

/// A Linux part.
struct LinuxFile<'r> {
    index: usize,
    /// The folders that contain the file, outermost first.
    folders: Vec<&'r str>,
    identity: &'r PartIdentity,
}

/// Returns the folders in a path.
fn folders(name: &str) -> Vec<&str> {
    let mut folders: Vec<&str> = name.split(['/', '\\']).collect();
    folders.pop();
    folders
}

fn shared_folders(a: &[&str], b: &[&str]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Groups Linux parts by recording. Also returns the parts that fit several recordings.
fn group_parts(mut parts: Vec<LinuxFile<'_>>) -> (Vec<Vec<usize>>, Vec<usize>) {
    parts.sort_by_key(|part| (part.identity.rank(), part.index));
    let mut groups: Vec<Vec<&LinuxFile<'_>>> = Vec::new();
    let mut by_key: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut unattributed = Vec::new();
    for part in &parts {
        let relation = |group: &[&LinuxFile<'_>]| {
            let mut group_relation = Relation::Unknown;
            for member in group {
                match part.identity.relation(member.identity) {
                    Relation::Different => return Relation::Different,
                    Relation::Same => group_relation = Relation::Same,
                    Relation::Unknown => {}
                }
            }
            group_relation
        };
        let mut candidates: Vec<usize> =
            part.identity.keys().filter_map(|key| by_key.get(&key)).flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        let is_same =
            |group_index: &usize| groups.get(*group_index).is_some_and(|group| relation(group) == Relation::Same);
        let mut matching_groups: Vec<usize> = candidates.iter().copied().filter(is_same).collect();
        if matching_groups.is_empty() {
            // If there are many recordings, do not compare the part line by line with recordings without a common line.
            let is_skipped = |(_, group): &(usize, &Vec<&LinuxFile<'_>>)| {
                groups.len() > MAX_COMPARED
                    && group.iter().any(|member| part.identity.differs_unless_key_shared(member.identity))
            };
            let compared_groups = groups.iter().enumerate().filter(|entry| !is_skipped(entry));
            let relations = compared_groups.map(|(group_index, group)| (group_index, relation(group)));
            let relations: Vec<_> = relations.filter(|(_, relation)| *relation != Relation::Different).collect();
            let has_same = relations.iter().any(|(_, relation)| *relation == Relation::Same);
            matching_groups = relations
                .into_iter()
                .filter(|(_, relation)| !has_same || *relation == Relation::Same)
                .map(|(group_index, _)| group_index)
                .collect();
        }
        let assigned_index = match nearest(part, &matching_groups, &groups) {
            Some(group_index) => group_index,
            None if matching_groups.is_empty() || part.identity.is_standalone => {
                groups.push(Vec::new());
                groups.len() - 1
            }
            None => {
                unattributed.push(part.index);
                continue;
            }
        };
        if let Some(group) = groups.get_mut(assigned_index) {
            group.push(part);
        }
        for key in part.identity.keys() {
            let group_indexes = by_key.entry(key).or_default();
            if !group_indexes.contains(&assigned_index) && group_indexes.len() < MAX_CANDIDATES {
                group_indexes.push(assigned_index);
            }
        }
    }
    (groups.into_iter().map(|group| group.into_iter().map(|part| part.index).collect()).collect(), unattributed)
}

/// Maximum number of recordings per key. A key shared by more recordings is no evidence.
const MAX_CANDIDATES: usize = 64;

/// Maximum number of recordings with which a part is fully compared.
const MAX_COMPARED: usize = 256;

/// Returns the only possible recording, or the nearest recording if one is nearer than all others.
fn nearest(part: &LinuxFile<'_>, matching_groups: &[usize], groups: &[Vec<&LinuxFile<'_>>]) -> Option<usize> {
    let distance = |group_index: usize| {
        let members = groups.get(group_index).into_iter().flatten();
        members.map(|member| shared_folders(&member.folders, &part.folders)).max().unwrap_or(0)
    };
    let mut by_distance: Vec<(usize, usize)> =
        matching_groups.iter().map(|&group_index| (distance(group_index), group_index)).collect();
    by_distance.sort_unstable();
    match by_distance.as_slice() {
        [] => None,
        [(_, group_index)] => Some(*group_index),
        [.., (second, _), (first, group_index)] => (first > second).then_some(*group_index),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recordings(files: &[(&str, String)]) -> (Vec<Vec<&'static str>>, usize) {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let roles: Vec<FileRole> = files.iter().map(|(name, text)| file_role(name, text.as_bytes())).collect();
        let groups = group_files(&names, &roles);
        let leak = |index: usize| -> &'static str { Box::leak(names[index].to_owned().into_boxed_str()) };
        (
            groups.recordings.iter().map(|group| group.iter().map(|&index| leak(index)).collect()).collect(),
            groups.unattributed.len(),
        )
    }

    fn log(host: &str, boot: u32) -> String {
        let line = |second: u32| {
            format!("[{second:5}.{:06}] usb 1-1: line {second}\n", (second * 7919 + boot * 104_729) % 1_000_000)
        };
        let lines: String = (1..40).map(line).collect();
        format!(
            "[    0.000000] Linux version 6.1.0 (gcc) #1 SMP\n{lines}[   50.000000] systemd[1]: Hostname set to <{host}>.\n"
        )
    }

    fn uname(host: &str) -> String {
        format!("Linux {host} 6.1.0 #1 SMP x86_64 GNU/Linux\n")
    }

    #[test]
    fn groups_kernel_logs_by_computer_and_boot() {
        let files = [
            ("logs/a.txt", log("web1", 1)),
            ("logs/b.txt", log("web2", 2)),
            ("logs/b-again.txt", log("web2", 3)),
            ("logs/uname", uname("web1")),
        ];
        let expected = vec![vec!["logs/a.txt", "logs/uname"], vec!["logs/b.txt"], vec!["logs/b-again.txt"]];
        assert_eq!(recordings(&files), (expected, 0));
        // Two copies of a log, one of them longer, are of one boot.
        let longer = format!("{}[   60.000000] more\n", log("web1", 1));
        assert_eq!(recordings(&[("a", log("web1", 1)), ("b", longer)]).0.len(), 1);
    }

    #[test]
    fn unidentified_parts_belong_to_nearest_recording() {
        let memory = || "MemTotal:        1969152 kB\n".to_owned();
        let files = [("a/dmesg", log("a", 1)), ("b/dmesg", log("b", 2)), ("b/meminfo", memory())];
        assert_eq!(recordings(&files), (vec![vec!["a/dmesg"], vec!["b/dmesg", "b/meminfo"]], 0));
        let files = [("x/a", log("a", 1)), ("x/b", log("b", 2)), ("x/meminfo", memory())];
        assert_eq!(recordings(&files), (vec![vec!["x/a"], vec!["x/b"]], 1));
        assert_eq!(recordings(&[("x/a", log("a", 1)), ("y/meminfo", memory())]), (vec![vec!["x/a", "y/meminfo"]], 0));
    }

    #[test]
    fn roles_of_captures_and_empty_files() {
        const CAPTURE: &[u8] = b"\xD4\xC3\xB2\xA1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0";
        let roles = [file_role("a", CAPTURE), file_role("b", b""), file_role("c", &[0; 200]), file_role("d", b"text")];
        assert!(matches!(roles, [FileRole::Sequence, FileRole::Empty, FileRole::Empty, FileRole::Other]), "{roles:?}");
    }

    #[test]
    fn many_logs_are_grouped_in_reasonable_time() {
        let files: Vec<(String, String)> = (0..600).map(|boot| (format!("fleet/{boot}.txt"), log("", boot))).collect();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let roles: Vec<FileRole> = files.iter().map(|(name, text)| file_role(name, text.as_bytes())).collect();
        assert_eq!(group_files(&names, &roles).recordings.len(), 600);
    }
}
