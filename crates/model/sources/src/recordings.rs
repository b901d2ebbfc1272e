//! Which files make one recording: told by their beginnings. The only rule there is for that; every front end asks it.

use hashbrown::HashMap;
use onoff_etl::{Input, LogfileHeader};

use crate::sections::sections;
use onoff_input::error::Error;
use onoff_input::opened::SourceFile;
use onoff_input::sniff::{Content, LOOKED_AT, Packing, RecordingKind, is_tar, sniff};
use onoff_input::unpack::unpacked_beginning;
use onoff_linux::{self, IDENTITY_BYTES, PartIdentity, Relation};

/// What a file is to the recordings that it may be a part of.
#[derive(Clone, Debug)]
pub enum FileRole {
    /// A log of Windows, which other logs may have been recorded with.
    Log(Box<LogfileHeader>),
    /// A part of a Linux recording, such as a kernel log.
    LinuxPart(Box<PartIdentity>),
    /// A recording by itself, but files of it that are given together are read one after the other: a capture, file
    /// operations.
    Series,
    /// A recording by itself: an archive.
    Whole,
    /// Nothing was written, or zeros only.
    Empty,
    /// No recording.
    Nothing,
}

/// Files put together to recordings, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The files of one recording each, in order.
    pub recordings: Vec<Vec<usize>>,
    /// Parts that only add to a recording, of which it is not known to which.
    pub unattributed: Vec<usize>,
}

/// What the file called `name` is; `bytes` is what it holds, packed or not.
#[must_use]
pub fn file_role(name: &str, bytes: &[u8]) -> FileRole {
    let packing = match sniff(bytes) {
        Content::Packed(Packing::Zip) => return FileRole::Whole,
        Content::Packed(packing) => Some(packing),
        _ => None,
    };
    let unpacked;
    let beginning = match packing {
        Some(packing) => {
            unpacked = unpacked_beginning(packing, bytes, LOOKED_AT);
            &unpacked
        }
        None => bytes.get(..LOOKED_AT).unwrap_or(bytes),
    };
    match sniff(beginning) {
        Content::Recording(RecordingKind::EventTraceLog) => {
            match LogfileHeader::of_beginning(&Input { name, bytes: beginning }) {
                Ok(header) => FileRole::Log(Box::new(header)),
                // Its reader says what is wrong with it.
                Err(_) => FileRole::Whole,
            }
        }
        Content::Recording(RecordingKind::NetworkCapture) => FileRole::Series,
        Content::Recording(_) | Content::Packed(_) => FileRole::Whole,
        Content::Empty => FileRole::Empty,
        Content::Unknown if is_tar(beginning) => FileRole::Whole,
        Content::Unknown if onoff_fileio::recognize(beginning).is_some() => FileRole::Series,
        Content::Unknown => match onoff_linux::kind_of(name, beginning) {
            // A report with many outputs may hold some of them.
            None if packing.is_none() && holds_parts(bytes) => FileRole::LinuxPart(Box::new(PartIdentity::of_report())),
            None => FileRole::Nothing,
            Some(kind) => {
                let more;
                let bytes = match packing {
                    Some(packing) => {
                        more = unpacked_beginning(packing, bytes, IDENTITY_BYTES);
                        &more
                    }
                    None => bytes,
                };
                FileRole::LinuxPart(Box::new(PartIdentity::of(&onoff_linux::Part { kind, name, bytes })))
            }
        },
    }
}

/// Whether a file is a report (supportconfig) with an output that is part of a Linux recording.
fn holds_parts(bytes: &[u8]) -> bool {
    sections(bytes).into_iter().flatten().any(|section| {
        let output = bytes.get(section.range).unwrap_or_default();
        matches!(sniff(output), Content::Unknown) && onoff_linux::is_part(&section.name, output)
    })
}

/// Puts files together to recordings: logs of Windows that were recorded together, the parts of one Linux recording,
/// and every other file that is a recording by itself. A part of Linux that could be of several recordings is of that
/// which lies nearest to it by `names`.
#[must_use]
pub fn group(names: &[&str], roles: &[FileRole]) -> Groups {
    let mut recordings: Vec<Vec<usize>> = Vec::new();
    let mut logs: Vec<(usize, &LogfileHeader)> = Vec::new();
    let mut parts: Vec<Item<'_>> = Vec::new();
    for (at, role) in roles.iter().enumerate() {
        match role {
            FileRole::Log(header) => logs.push((at, header)),
            FileRole::LinuxPart(identity) => {
                let name = names.get(at).copied().unwrap_or_default();
                parts.push(Item { at, folders: folders(name), identity });
            }
            FileRole::Series | FileRole::Whole => recordings.push(vec![at]),
            FileRole::Empty | FileRole::Nothing => {}
        }
    }
    recordings.extend(groups_of_logs(logs));
    let (of_linux, mut unattributed) = groups_of_parts(parts);
    recordings.extend(of_linux);
    for group in &mut recordings {
        group.sort_unstable();
    }
    recordings.sort_unstable();
    unattributed.sort_unstable();
    Groups { recordings, unattributed }
}

/// Folders that all is below of one machine, by the paths of files in them: what sosreport collected, and a copied file
/// system.
const OF_ONE_MACHINE: [&str; 2] = ["/sos_commands/", "/var/log/"];

/// Refuses the members of an archive if they are of several recordings.
pub(crate) fn refuse_several_members(members: &[SourceFile]) -> Result<(), Error> {
    let names: Vec<&str> = members.iter().map(SourceFile::name).collect();
    if names.len() < 2 || names.iter().any(|name| OF_ONE_MACHINE.iter().any(|folder| name.contains(folder))) {
        return Ok(());
    }
    let roles: Vec<FileRole> = members.iter().map(|member| file_role(member.name(), member.bytes())).collect();
    refuse_several(&names, &roles)
}

/// Refuses files of several recordings.
pub(crate) fn refuse_several(names: &[&str], roles: &[FileRole]) -> Result<(), Error> {
    let groups = group(names, roles);
    // Files of a capture follow each other, and an archive says itself what is in it.
    let is_told_apart = |at: &usize| matches!(roles.get(*at), Some(FileRole::Log(_) | FileRole::LinuxPart(_)));
    let mut told_apart = groups.recordings.iter().filter(|group| group.iter().any(is_told_apart));
    let first_of =
        |group: &Vec<usize>| group.first().and_then(|&at| names.get(at)).copied().unwrap_or_default().to_owned();
    match (told_apart.next(), told_apart.next()) {
        (Some(first), Some(second)) => Err(Error::SeveralRecordings {
            count: 2 + told_apart.count(),
            first: first_of(first),
            second: first_of(second),
        }),
        _ => Ok(()),
    }
}

/// Logs that were recorded together, directly or by a log between them.
fn groups_of_logs(mut logs: Vec<(usize, &LogfileHeader)>) -> Vec<Vec<usize>> {
    logs.sort_by_key(|(_, header)| header.boot_filetime());
    let mut joined: Vec<usize> = (0..logs.len()).collect();
    for (place, (_, header)) in logs.iter().enumerate() {
        let until = header.boot_filetime().saturating_add(LogfileHeader::BOOT_TIMES_APART);
        let near = logs.iter().enumerate().skip(place + 1);
        for (other, (_, others)) in near.take_while(|(_, (_, others))| others.boot_filetime() <= until) {
            if header.recorded_with(others) {
                let (first, second) = (root(&joined, place), root(&joined, other));
                if let Some(slot) = joined.get_mut(first.max(second)) {
                    *slot = first.min(second);
                }
            }
        }
    }
    let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, (at, _)) in logs.iter().enumerate() {
        groups.entry(root(&joined, place)).or_default().push(*at);
    }
    groups.into_values().collect()
}

fn root(joined: &[usize], mut place: usize) -> usize {
    while let Some(&above) = joined.get(place).filter(|&&above| above != place) {
        place = above;
    }
    place
}

/// A part of Linux among files.
struct Item<'r> {
    at: usize,
    /// The folders that it lies in, the outermost first.
    folders: Vec<&'r str>,
    identity: &'r PartIdentity,
}

/// The folders in a path.
fn folders(name: &str) -> Vec<&str> {
    let mut folders: Vec<&str> = name.split(['/', '\\']).collect();
    folders.pop();
    folders
}

fn shared_folders(a: &[&str], b: &[&str]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Parts of Linux by recording, and those of which it is not known.
fn groups_of_parts(mut parts: Vec<Item<'_>>) -> (Vec<Vec<usize>>, Vec<usize>) {
    parts.sort_by_key(|part| (part.identity.rank(), part.at));
    let mut groups: Vec<Vec<&Item<'_>>> = Vec::new();
    let mut by_key: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut unattributed = Vec::new();
    for part in &parts {
        let relation = |group: &[&Item<'_>]| {
            let mut known = Relation::Unknown;
            for member in group {
                match part.identity.relation(member.identity) {
                    Relation::Different => return Relation::Different,
                    Relation::Same => known = Relation::Same,
                    Relation::Unknown => {}
                }
            }
            known
        };
        let mut candidates: Vec<usize> =
            part.identity.keys().filter_map(|key| by_key.get(&key)).flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        let is_same = |at: &usize| groups.get(*at).is_some_and(|group| relation(group) == Relation::Same);
        let mut possible: Vec<usize> = candidates.iter().copied().filter(is_same).collect();
        if possible.is_empty() {
            // Of many recordings those are not compared line by line that share no line.
            let is_apart = |(_, group): &(usize, &Vec<&Item<'_>>)| {
                groups.len() > MAX_COMPARED
                    && group.iter().any(|member| part.identity.is_apart_unless_shared(member.identity))
            };
            let others = groups.iter().enumerate().filter(|each| !is_apart(each));
            let relations = others.map(|(at, group)| (at, relation(group)));
            let relations: Vec<_> = relations.filter(|(_, relation)| *relation != Relation::Different).collect();
            let has_same = relations.iter().any(|(_, relation)| *relation == Relation::Same);
            possible = relations
                .into_iter()
                .filter(|(_, relation)| !has_same || *relation == Relation::Same)
                .map(|(at, _)| at)
                .collect();
        }
        let place = match nearest(part, &possible, &groups) {
            Some(at) => at,
            None if possible.is_empty() || part.identity.stands_alone => {
                groups.push(Vec::new());
                groups.len() - 1
            }
            None => {
                unattributed.push(part.at);
                continue;
            }
        };
        if let Some(group) = groups.get_mut(place) {
            group.push(part);
        }
        for key in part.identity.keys() {
            let places = by_key.entry(key).or_default();
            if !places.contains(&place) && places.len() < MAX_CANDIDATES {
                places.push(place);
            }
        }
    }
    (groups.into_iter().map(|group| group.into_iter().map(|part| part.at).collect()).collect(), unattributed)
}

/// Recordings that are looked at for what they share with a part. What more of them share is no evidence of any.
const MAX_CANDIDATES: usize = 64;

/// Recordings that a part is compared with in full.
const MAX_COMPARED: usize = 256;

/// The only one of the possible recordings, or the one that lies nearest.
fn nearest(part: &Item<'_>, possible: &[usize], groups: &[Vec<&Item<'_>>]) -> Option<usize> {
    let distance = |at: usize| {
        let members = groups.get(at).into_iter().flatten();
        members.map(|member| shared_folders(&member.folders, &part.folders)).max().unwrap_or(0)
    };
    let mut by_distance: Vec<(usize, usize)> = possible.iter().map(|&at| (distance(at), at)).collect();
    by_distance.sort_unstable();
    match by_distance.as_slice() {
        [] => None,
        [(_, at)] => Some(*at),
        [.., (second, _), (first, at)] => (first > second).then_some(*at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recordings(files: &[(&str, String)]) -> (Vec<Vec<&'static str>>, usize) {
        let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
        let roles: Vec<FileRole> = files.iter().map(|(name, text)| file_role(name, text.as_bytes())).collect();
        let groups = group(&names, &roles);
        let leak = |at: usize| -> &'static str { Box::leak(names[at].to_owned().into_boxed_str()) };
        (
            groups.recordings.iter().map(|group| group.iter().map(|&at| leak(at)).collect()).collect(),
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
    fn kernel_logs_of_several_computers_and_boots_are_several_recordings() {
        let files = [
            ("logs/a.txt", log("web1", 1)),
            ("logs/b.txt", log("web2", 2)),
            ("logs/b-again.txt", log("web2", 3)),
            ("logs/uname", uname("web1")),
        ];
        let expected = vec![vec!["logs/a.txt", "logs/uname"], vec!["logs/b.txt"], vec!["logs/b-again.txt"]];
        assert_eq!(recordings(&files), (expected, 0));
        // The same log twice, one longer than the other, is of one boot.
        let longer = format!("{}[   60.000000] more\n", log("web1", 1));
        assert_eq!(recordings(&[("a", log("web1", 1)), ("b", longer)]).0.len(), 1);
    }

    #[test]
    fn what_says_nothing_of_itself_is_of_the_recording_next_to_it_or_of_none() {
        let memory = || "MemTotal:        1969152 kB\n".to_owned();
        let files = [("a/dmesg", log("a", 1)), ("b/dmesg", log("b", 2)), ("b/meminfo", memory())];
        assert_eq!(recordings(&files), (vec![vec!["a/dmesg"], vec!["b/dmesg", "b/meminfo"]], 0));
        let files = [("x/a", log("a", 1)), ("x/b", log("b", 2)), ("x/meminfo", memory())];
        assert_eq!(recordings(&files), (vec![vec!["x/a"], vec!["x/b"]], 1));
        assert_eq!(recordings(&[("x/a", log("a", 1)), ("y/meminfo", memory())]), (vec![vec!["x/a", "y/meminfo"]], 0));
    }

    #[test]
    fn captures_and_empty_files_are_by_themselves() {
        const CAPTURE: &[u8] = b"\xD4\xC3\xB2\xA1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0";
        let roles = [file_role("a", CAPTURE), file_role("b", b""), file_role("c", &[0; 200]), file_role("d", b"text")];
        assert!(matches!(roles, [FileRole::Series, FileRole::Empty, FileRole::Empty, FileRole::Nothing]), "{roles:?}");
    }

    #[test]
    fn many_logs_are_grouped_in_reasonable_time() {
        let files: Vec<(String, String)> = (0..600).map(|at| (format!("fleet/{at}.txt"), log("", at))).collect();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let roles: Vec<FileRole> = files.iter().map(|(name, text)| file_role(name, text.as_bytes())).collect();
        assert_eq!(group(&names, &roles).recordings.len(), 600);
    }
}
