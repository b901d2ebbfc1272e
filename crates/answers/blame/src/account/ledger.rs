//! Sums the parts of a phase by subject.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use onoff_evidence::Certainty;
use onoff_evidence::account_model::{
    AccountAction, AccountEntry, AccountInterval, AccountMeasure, AccountSubjectKind, ActionShare, FileReader,
    PhaseAccount, UnknownReason,
};
use onoff_usage::cpu::percent_of;

/// Maximum number of intervals per entry; the longest are kept.
const MAX_LISTED_INTERVALS: usize = 64;
/// Minimum time a phase waits for a file to report the file instead of its reader, ns.
const MIN_FILE_NS: i64 = onoff_evidence::significance::NOTICEABLE_NS;
/// Minimum number of files that are reported as their folder.
const MIN_FOLDER_FILES: usize = 3;
/// Maximum number of readers per file; those that waited longest are kept.
const MAX_LISTED_READERS: usize = 8;
/// Maximum number of intervals kept per entry while summing, before the shortest are dropped.
const MAX_KEPT_INTERVALS: usize = 1024;

/// A subject as printed. Parts with equal subjects are added up.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Subject {
    pub(super) kind: AccountSubjectKind,
    pub(super) name: String,
    pub(super) device: String,
    pub(super) pid: Option<u32>,
}

impl Subject {
    pub(super) fn new(kind: AccountSubjectKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into(), device: String::new(), pid: None }
    }
}

/// Index into [`Subjects`].
pub(super) type SubjectId = u32;

/// Interns subjects.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    list: Vec<Subject>,
    ids: HashMap<Subject, SubjectId>,
}

impl Subjects {
    /// Interns `subject`. Names are compared ignoring case: Windows spells driver names inconsistently. A driver is one
    /// subject for all its devices and is reported with its first one: [`super::subject_resolver`] registers them in
    /// recording order. Files differ by exact spelling and disk; a phase joins them later.
    pub(super) fn id(&mut self, subject: Subject) -> SubjectId {
        let key = match subject.kind {
            AccountSubjectKind::File => subject.clone(),
            _ => Subject { name: subject.name.to_ascii_lowercase(), device: String::new(), ..subject.clone() },
        };
        let next_id = SubjectId::try_from(self.list.len()).unwrap_or(SubjectId::MAX);
        let device = subject.device.clone();
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.list.push(subject);
            next_id
        });
        if let Some(interned) = self.list.get_mut(id as usize)
            && interned.device.is_empty()
        {
            interned.device = device;
        }
        id
    }

    pub(super) fn get(&self, id: SubjectId) -> Option<&Subject> {
        self.list.get(id as usize)
    }
}

/// An interval of a phase with the subject that took it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) attribution: Attribution,
    pub(super) action: AccountAction,
    pub(super) certainty: Certainty,
}

/// What a part is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Attribution {
    Subject(SubjectId),
    /// A file, and the system component that waited for it.
    File {
        file: SubjectId,
        reader: SubjectId,
    },
    Idle,
    Unattributed(UnknownReason),
}

#[derive(Debug, Default)]
struct Total {
    ns: i64,
    certainty: Certainty,
    actions: Vec<(AccountAction, i64)>,
    intervals: Vec<AccountInterval>,
    count: u64,
    /// Waits for files too short to be reported, in ns by disk.
    by_disk: BTreeMap<String, i64>,
}

impl Total {
    fn new_measured() -> Self {
        Self { certainty: Certainty::Measured, ..Self::default() }
    }

    fn join(&mut self, other: Self) {
        self.ns = self.ns.saturating_add(other.ns);
        self.certainty = self.certainty.and(other.certainty);
        self.count = self.count.saturating_add(other.count);
        self.intervals.extend(other.intervals);
        for (action, ns) in other.actions {
            match self.actions.iter_mut().find(|(existing, _)| *existing == action) {
                Some((_, total)) => *total = total.saturating_add(ns),
                None => self.actions.push((action, ns)),
            }
        }
    }
}

/// Time of a file, or of the files in a folder, by the subject that waited.
#[derive(Debug)]
struct FileTime {
    subject: Subject,
    by_reader: BTreeMap<SubjectId, Total>,
}

impl FileTime {
    fn ns(&self) -> i64 {
        self.by_reader.values().fold(0_i64, |sum, total| sum.saturating_add(total.ns))
    }

    /// True if the file is reported. Unnamed files and files with little wait time count as their reader's time
    /// instead.
    fn is_named(&self) -> bool {
        !self.subject.name.is_empty() && self.ns() >= MIN_FILE_NS
    }

    fn folder(&self) -> Option<&str> {
        self.subject.name.rsplit_once(['\\', '/']).map(|(folder, _)| folder)
    }

    fn join(&mut self, other: Self) {
        self.subject = self.subject.clone().min(other.subject);
        for (reader, total) in other.by_reader {
            self.by_reader.entry(reader).or_insert_with(Total::new_measured).join(total);
        }
    }

    fn readers(&self, subjects: &Subjects) -> Vec<FileReader> {
        let mut readers: Vec<FileReader> = self
            .by_reader
            .iter()
            .filter_map(|(&reader, sum)| {
                let reader = subjects.get(reader)?;
                Some(FileReader { kind: reader.kind, name: reader.name.clone(), pid: reader.pid, ns: sum.ns })
            })
            .collect();
        readers.sort_by(|a, b| (b.ns, &a.name, a.pid).cmp(&(a.ns, &b.name, b.pid)));
        readers.truncate(MAX_LISTED_READERS);
        readers
    }
}

/// Accumulates the parts of a phase.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    sums: HashMap<Attribution, Total>,
}

impl Ledger {
    /// Adds a part. Parts come in order of time, forwards or backwards, and do not overlap.
    pub(super) fn add(&mut self, part: Part) {
        let ns = part.end_ns.saturating_sub(part.start_ns);
        if ns <= 0 {
            return;
        }
        let sum = self.sums.entry(part.attribution).or_insert_with(Total::new_measured);
        sum.ns = sum.ns.saturating_add(ns);
        sum.certainty = sum.certainty.and(part.certainty);
        match sum.actions.iter_mut().find(|(action, _)| *action == part.action) {
            Some((_, total)) => *total = total.saturating_add(ns),
            None => sum.actions.push((part.action, ns)),
        }
        match sum.intervals.last_mut() {
            Some(last) if last.start_ns == part.end_ns => last.start_ns = part.start_ns,
            Some(last) if last.end_ns == part.start_ns => last.end_ns = part.end_ns,
            _ => {
                sum.count += 1;
                if sum.intervals.len() >= MAX_KEPT_INTERVALS {
                    compact(&mut sum.intervals);
                }
                sum.intervals.push(AccountInterval { start_ns: part.start_ns, end_ns: part.end_ns });
            }
        }
    }

    /// Removes and returns the files worth reporting; adds the time of the others to their readers.
    fn take_files(&mut self, subjects: &Subjects) -> Vec<FileTime> {
        let mut files: BTreeMap<(String, &str), FileTime> = BTreeMap::new();
        let file_keys: Vec<(SubjectId, SubjectId)> = self
            .sums
            .keys()
            .filter_map(|attribution| match *attribution {
                Attribution::File { file, reader } => Some((file, reader)),
                _ => None,
            })
            .collect();
        for (file, reader) in file_keys {
            let (Some(subject), Some(sum)) =
                (subjects.get(file), self.sums.remove(&Attribution::File { file, reader }))
            else {
                continue;
            };
            let file_time = FileTime { subject: subject.clone(), by_reader: BTreeMap::from([(reader, sum)]) };
            match files.get_mut(&(subject.name.to_ascii_lowercase(), subject.device.as_str())) {
                Some(existing) => existing.join(file_time),
                None => {
                    files.insert((subject.name.to_ascii_lowercase(), &subject.device), file_time);
                }
            }
        }
        let (reported, short_files): (Vec<FileTime>, Vec<FileTime>) =
            join_by_folder(files.into_values()).into_iter().partition(FileTime::is_named);
        for file in short_files {
            for (reader, sum) in file.by_reader {
                let reader_total = self.sums.entry(Attribution::Subject(reader)).or_insert_with(Total::new_measured);
                let disk_ns = reader_total.by_disk.entry(file.subject.device.clone()).or_default();
                *disk_ns = disk_ns.saturating_add(sum.ns);
                reader_total.join(sum);
            }
        }
        reported
    }

    /// Returns the account of a phase from `start_ns` to `end_ns`. Uncovered time becomes unattributed, so the entries
    /// always sum to the phase.
    pub(super) fn finish(
        mut self,
        subjects: &Subjects,
        (start_ns, end_ns): (i64, i64),
        measure: AccountMeasure,
    ) -> PhaseAccount {
        let known_ns = self.sums.values().fold(0_i64, |sum, total| sum.saturating_add(total.ns));
        let files = self.take_files(subjects);
        let duration_ns = end_ns.saturating_sub(start_ns).max(0);
        let uncovered_ns = duration_ns.saturating_sub(known_ns);
        if uncovered_ns > 0 {
            let sum = self.sums.entry(Attribution::Unattributed(UnknownReason::NothingRecorded)).or_default();
            sum.ns = sum.ns.saturating_add(uncovered_ns);
            sum.certainty = Certainty::Missing;
            match sum.actions.iter_mut().find(|(action, _)| *action == AccountAction::Nothing) {
                Some((_, total)) => *total = total.saturating_add(uncovered_ns),
                None => sum.actions.push((AccountAction::Nothing, uncovered_ns)),
            }
        }
        let mut entries: Vec<AccountEntry> = self
            .sums
            .into_iter()
            .map(|(attribution, sum)| {
                let (subject, unknown_reason) = match attribution {
                    Attribution::Subject(id) | Attribution::File { file: id, .. } => (subjects.get(id).cloned(), None),
                    Attribution::Idle => (Some(Subject::new(AccountSubjectKind::Idle, "idle")), None),
                    Attribution::Unattributed(reason) => (None, Some(reason)),
                };
                let subject = subject.unwrap_or_else(|| {
                    Subject::new(
                        AccountSubjectKind::Unknown,
                        unknown_reason.unwrap_or(UnknownReason::NothingRecorded).phrase(),
                    )
                });
                AccountEntry { unknown_reason, ..entry(subject, sum, duration_ns) }
            })
            .collect();
        entries.extend(files.into_iter().map(|file| {
            let read_by = file.readers(subjects);
            let mut sum = Total::new_measured();
            for reader_total in file.by_reader.into_values() {
                sum.join(reader_total);
            }
            AccountEntry { read_by, ..entry(file.subject, sum, duration_ns) }
        }));
        join_entries_without_pid(&mut entries, duration_ns);
        entries.sort_by(|a, b| {
            let key = |entry: &AccountEntry| (std::cmp::Reverse(entry.ns), entry.kind, entry.pid);
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.device).cmp(&(&b.name, &b.device)))
        });
        let unknown_ns = entries
            .iter()
            .filter(|entry| entry.kind == AccountSubjectKind::Unknown)
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        PhaseAccount { start_ns, end_ns, duration_ns, measure, is_truncated: false, entries, unknown_ns }
    }
}

/// Joins files of one folder if none of them takes more than half the time.
fn join_by_folder(files: impl Iterator<Item = FileTime>) -> Vec<FileTime> {
    let mut folders: BTreeMap<(Option<String>, String), Vec<FileTime>> = BTreeMap::new();
    for file in files {
        let folder = file.folder().map(str::to_ascii_lowercase);
        folders.entry((folder, file.subject.device.clone())).or_default().push(file);
    }
    let mut joined = Vec::new();
    for ((folder, _), files) in folders {
        let all_ns = files.iter().map(FileTime::ns).fold(0_i64, i64::saturating_add);
        let max_ns = files.iter().map(FileTime::ns).max().unwrap_or(0);
        if folder.is_none() || files.len() < MIN_FOLDER_FILES || all_ns < MIN_FILE_NS || max_ns > all_ns / 2 {
            joined.extend(files);
            continue;
        }
        let mut files = files.into_iter();
        let Some(mut merged) = files.next() else { continue };
        if let Some(folder) = merged.folder().map(str::to_owned) {
            merged.subject.name = folder;
        }
        for file in files {
            merged.join(file);
        }
        joined.push(merged);
    }
    joined
}

fn entry(subject: Subject, mut sum: Total, duration_ns: i64) -> AccountEntry {
    sum.actions.sort_by_key(|&(action, ns)| (std::cmp::Reverse(ns), action));
    truncate_to_longest(&mut sum.intervals);
    let disk = sum.by_disk.into_iter().max_by_key(|&(_, ns)| ns).map(|(disk, _)| disk);
    AccountEntry {
        kind: subject.kind,
        name: subject.name,
        device: if subject.device.is_empty() { disk.unwrap_or_default() } else { subject.device },
        pid: subject.pid,
        read_by: Vec::new(),
        unknown_reason: None,
        ns: sum.ns,
        percent: percent_of(sum.ns, duration_ns),
        certainty: sum.certainty,
        requests: None,
        actions: sum.actions.into_iter().map(|(action, ns)| ActionShare { action, ns }).collect(),
        intervals: sum.intervals,
        interval_count: sum.count,
    }
}

/// Joins a program entry without a process id to the entry that has one, if the account has only one process of that
/// name.
fn join_entries_without_pid(entries: &mut Vec<AccountEntry>, duration_ns: i64) {
    let lacks_pid = |entry: &AccountEntry| entry.kind == AccountSubjectKind::Process && entry.pid.is_none();
    let (without_pid, mut others): (Vec<_>, Vec<_>) = std::mem::take(entries).into_iter().partition(lacks_pid);
    for entry in without_pid {
        let mut same_name = others.iter_mut().filter(|other| {
            other.kind == entry.kind && other.pid.is_some() && other.name.eq_ignore_ascii_case(&entry.name)
        });
        match (same_name.next(), same_name.next()) {
            (Some(process_entry), None) => {
                process_entry.ns = process_entry.ns.saturating_add(entry.ns);
                process_entry.percent = percent_of(process_entry.ns, duration_ns);
                process_entry.certainty = process_entry.certainty.and(entry.certainty);
                for share in entry.actions {
                    match process_entry.actions.iter_mut().find(|existing| existing.action == share.action) {
                        Some(existing) => existing.ns = existing.ns.saturating_add(share.ns),
                        None => process_entry.actions.push(share),
                    }
                }
                process_entry.actions.sort_by_key(|share| (std::cmp::Reverse(share.ns), share.action));
                process_entry.intervals.extend(entry.intervals);
                truncate_to_longest(&mut process_entry.intervals);
                process_entry.interval_count = process_entry.interval_count.saturating_add(entry.interval_count);
            }
            _ => others.push(entry),
        }
    }
    *entries = others;
}

/// Keeps the longest intervals, sorted by time.
fn truncate_to_longest(intervals: &mut Vec<AccountInterval>) {
    intervals.sort_by_key(|interval| {
        (std::cmp::Reverse(interval.end_ns.saturating_sub(interval.start_ns)), interval.start_ns)
    });
    intervals.truncate(MAX_LISTED_INTERVALS);
    intervals.sort();
}

/// Keeps the longest completed intervals, and the last one, which may still grow.
fn compact(intervals: &mut Vec<AccountInterval>) {
    if let Some(last) = intervals.pop() {
        truncate_to_longest(intervals);
        intervals.push(last);
    }
}
