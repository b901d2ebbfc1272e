//! Boot traces kept by ReadyBoot.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use onoff_prefetch::{ReadyBoot, ReadyBootRead};
use serde::Serialize;

use super::PrefetchFile;

/// Maximum number of files listed per boot.
const MAX_FILES: usize = 50;
/// Number of equal time slices per boot.
const SLICES: usize = 20;

/// A file read during a boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootTraceFile {
    /// Path.
    pub path: String,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes: u64,
}

/// A ReadyBoot trace of a boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BootTrace {
    /// Path or name of the file.
    pub name: String,
    /// Time of the last write, ns since 1970-01-01 UTC: soon after the boot.
    pub modified_unix_ns: Option<i64>,
    /// Number of reads.
    pub reads: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Number of reads of unknown files.
    pub unattributed_reads: u64,
    /// Number of files read.
    pub files: u64,
    /// Time from the first to the last read, ns. The unit of the file (µs) is inferred.
    pub duration_ns: i64,
    /// Share of the reads of known files that start where the previous read of the same file ended, percent.
    pub sequential_percent: f64,
    /// Bytes read in each twentieth of the duration.
    pub bytes_by_slice: Vec<u64>,
    /// The files with the most bytes read, at most 50.
    pub top_files: Vec<BootTraceFile>,
    /// Number of unreadable names and reads.
    pub unreadable: u64,
}

impl BootTrace {
    pub(super) fn new(file: &PrefetchFile, boot: &ReadyBoot) -> Self {
        let mut reads: Vec<&ReadyBootRead> = boot.reads.iter().collect();
        // The file has two lists of reads of the same period: a stable sort by time keeps the order within each list.
        reads.sort_by_key(|read| read.time_us);
        let (first_us, last_us) =
            reads.first().zip(reads.last()).map_or((0, 0), |(first, last)| (first.time_us, last.time_us));
        let duration_us = u64::from(last_us - first_us) + 1;
        // (reads, bytes, end of the last read) of each file.
        let mut by_file: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
        let mut trace = Self {
            name: file.name.clone(),
            modified_unix_ns: file.modified_unix_ns,
            reads: reads.len() as u64,
            duration_ns: i64::from(last_us - first_us) * 1000,
            bytes_by_slice: vec![0; if reads.is_empty() { 0 } else { SLICES }],
            unreadable: boot.unreadable,
            ..Self::default()
        };
        let mut sequential = 0_u64;
        for read in reads {
            let bytes = u64::from(read.bytes);
            trace.bytes += bytes;
            let slice = u64::from(read.time_us - first_us) * SLICES as u64 / duration_us;
            if let Some(sum) = usize::try_from(slice).ok().and_then(|slice| trace.bytes_by_slice.get_mut(slice)) {
                *sum += bytes;
            }
            let Some(file) = read.file else {
                trace.unattributed_reads += 1;
                continue;
            };
            let (file_reads, file_bytes, end) = by_file.entry(file).or_default();
            sequential += u64::from(*file_reads > 0 && *end == read.offset);
            *file_reads += 1;
            *file_bytes += bytes;
            *end = read.offset.saturating_add(bytes);
        }
        let attributed = trace.reads - trace.unattributed_reads;
        trace.sequential_percent = if attributed == 0 { 0.0 } else { sequential as f64 * 100.0 / attributed as f64 };
        trace.files = by_file.len() as u64;
        let path = |file: u32| boot.files.get(file as usize).cloned().unwrap_or_default();
        let mut files: Vec<BootTraceFile> = by_file
            .into_iter()
            .map(|(file, (reads, bytes, _))| BootTraceFile { path: path(file), reads, bytes })
            .collect();
        files.sort_by(|a, b| (Reverse(a.bytes), &a.path).cmp(&(Reverse(b.bytes), &b.path)));
        files.truncate(MAX_FILES);
        trace.top_files = files;
        trace
    }
}

/// Files read in every boot.
#[derive(Debug, Default)]
pub(super) struct CommonFiles {
    boots: u64,
    files: BTreeSet<String>,
}

impl CommonFiles {
    pub(super) fn add(&mut self, boot: &ReadyBoot) {
        let boot_files: BTreeSet<String> = boot
            .reads
            .iter()
            .filter_map(|read| boot.files.get(read.file? as usize))
            .map(|path| path.to_uppercase())
            .collect();
        if self.boots == 0 {
            self.files = boot_files;
        } else {
            self.files.retain(|path| boot_files.contains(path));
        }
        self.boots += 1;
    }

    /// Returns the number of files; `None` with fewer than two boots.
    pub(super) fn count(&self) -> Option<u64> {
        (self.boots > 1).then_some(self.files.len() as u64)
    }
}
