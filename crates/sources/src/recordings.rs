//! Which files make one recording: told by their beginnings.

use onoff_etl::{Input, LogfileHeader};
use onoff_order::InOrder;

use crate::linux;
use crate::sniff::{Content, LOOKED_AT, Packing, RecordingKind, is_tar, sniff};
use crate::unpack::unpacked_beginning;

/// What a file is to the recordings that it may be a part of.
#[derive(Clone, Debug)]
pub enum FileRole {
    /// A log of Windows, which other logs may have been recorded with.
    Log(Box<LogfileHeader>),
    /// A part of a Linux recording, such as a kernel log.
    LinuxPart,
    /// A recording by itself: a capture, an archive.
    Whole,
    /// No recording.
    Nothing,
}

/// What the file called `name` is; `bytes` is what it holds, packed or not.
#[must_use]
pub fn file_role(name: &str, bytes: &[u8]) -> FileRole {
    let unpacked;
    let beginning = match sniff(bytes) {
        Content::Packed(Packing::Zip) => return FileRole::Whole,
        Content::Packed(packing) => {
            unpacked = unpacked_beginning(packing, bytes, LOOKED_AT);
            &unpacked
        }
        _ => bytes.get(..LOOKED_AT).unwrap_or(bytes),
    };
    match sniff(beginning) {
        Content::Recording(RecordingKind::EventTraceLog) => {
            match LogfileHeader::of_beginning(&Input { name, bytes: beginning }) {
                Ok(header) => FileRole::Log(Box::new(header)),
                // Its reader says what is wrong with it.
                Err(_) => FileRole::Whole,
            }
        }
        Content::Recording(_) | Content::Packed(_) => FileRole::Whole,
        Content::Empty => FileRole::Nothing,
        Content::Unknown if is_tar(beginning) || onoff_fileio::recognise(beginning).is_some() => FileRole::Whole,
        Content::Unknown if linux::kind_of(name, beginning).is_some() => FileRole::LinuxPart,
        Content::Unknown => FileRole::Nothing,
    }
}

/// The files of one recording each, by their numbers, in order: logs that were recorded together, the parts of one Linux recording,
/// and every other file by itself.
#[must_use]
pub fn group(roles: &[FileRole]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, role) in roles.iter().enumerate() {
        let belongs = |group: &Vec<usize>| {
            group.iter().any(|&other| match (role, roles.get(other)) {
                (FileRole::Log(header), Some(FileRole::Log(others))) => header.recorded_with(others),
                (FileRole::LinuxPart, Some(FileRole::LinuxPart)) => true,
                _ => false,
            })
        };
        let (mut joined, others): (Vec<_>, Vec<_>) = groups.into_iter().partition(belongs);
        groups = others;
        joined.push(vec![at]);
        let mut one = joined.concat();
        one.order();
        groups.push(one);
    }
    groups.order_by_key(|group| group.first().copied());
    groups
}
