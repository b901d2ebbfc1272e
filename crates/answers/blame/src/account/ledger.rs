//! Parts of a phase, summed by subject.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use onoff_evidence::Certainty;
use onoff_evidence::account_model::{
    AccountEntry, AccountMeasure, AccountStretch, AccountSubjectKind, Did, DidShare, FileReader, NotKnown, PhaseAccount,
};
use onoff_usage::cpu::percent_of;

/// Stretches listed with an entry, at most: the longest.
const LISTED_STRETCHES: usize = 64;
/// A file that a phase waited for less than this is its reader's time, ns: what makes somebody a culprit.
const MIN_FILE_NS: i64 = super::MIN_CULPRIT_NS;
/// Files that a folder is said in place of, at least.
const MIN_FOLDER_FILES: usize = 3;
/// Readers listed with a file, at most: those that waited for it longest.
const LISTED_READERS: usize = 8;
/// Stretches kept while a phase is summed, before the shortest go.
const KEPT_STRETCHES: usize = 1024;

/// A subject, as its name will be printed. Two parts are one subject's when these are equal.
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

/// A subject's number in a [`Subjects`].
pub(super) type SubjectId = u32;

/// Every subject that was met, each with a number.
#[derive(Debug, Default)]
pub(super) struct Subjects {
    list: Vec<Subject>,
    ids: HashMap<Subject, SubjectId>,
}

impl Subjects {
    /// The number of `subject`. Names are compared without case: Windows spells one driver in several ways. A driver is one
    /// subject, whatever devices it works for, and the first one is named: [`super::actors`] meets all of them in the order of
    /// the recording. Files are told apart as they are spelled, and by their disk: a phase brings them together.
    pub(super) fn id(&mut self, subject: Subject) -> SubjectId {
        let key = match subject.kind {
            AccountSubjectKind::File => subject.clone(),
            _ => Subject { name: subject.name.to_ascii_lowercase(), device: String::new(), ..subject.clone() },
        };
        let next = SubjectId::try_from(self.list.len()).unwrap_or(SubjectId::MAX);
        let device = subject.device.clone();
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.list.push(subject);
            next
        });
        if let Some(known) = self.list.get_mut(id as usize)
            && known.device.is_empty()
        {
            known.device = device;
        }
        id
    }

    pub(super) fn get(&self, id: SubjectId) -> Option<&Subject> {
        self.list.get(id as usize)
    }
}

/// A part of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) who: Who,
    pub(super) did: Did,
    pub(super) certainty: Certainty,
}

/// Whose a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Subject(SubjectId),
    /// A file, and the part of the system that waited for it.
    File {
        file: SubjectId,
        reader: SubjectId,
    },
    Idle,
    Nobody(NotKnown),
}

#[derive(Debug, Default)]
struct Sum {
    ns: i64,
    certainty: Certainty,
    did: Vec<(Did, i64)>,
    stretches: Vec<AccountStretch>,
    count: u64,
    /// What of it is a wait for files that took too little to be named, ns by disk.
    by_disk: BTreeMap<String, i64>,
}

impl Sum {
    fn measured() -> Self {
        Self { certainty: Certainty::Measured, ..Self::default() }
    }

    /// With another's parts.
    fn join(&mut self, its: Self) {
        self.ns = self.ns.saturating_add(its.ns);
        self.certainty = self.certainty.and(its.certainty);
        self.count = self.count.saturating_add(its.count);
        self.stretches.extend(its.stretches);
        for (did, ns) in its.did {
            match self.did.iter_mut().find(|(known, _)| *known == did) {
                Some((_, total)) => *total = total.saturating_add(ns),
                None => self.did.push((did, ns)),
            }
        }
    }
}

/// The time of a file, or of the files of a folder, by who waited for it.
#[derive(Debug)]
struct FileTime {
    subject: Subject,
    by_reader: BTreeMap<SubjectId, Sum>,
}

impl FileTime {
    fn ns(&self) -> i64 {
        self.by_reader.values().fold(0_i64, |sum, one| sum.saturating_add(one.ns))
    }

    /// What a phase waited little for is its reader's time, and so is what has no name.
    fn is_named(&self) -> bool {
        !self.subject.name.is_empty() && self.ns() >= MIN_FILE_NS
    }

    fn folder(&self) -> Option<&str> {
        self.subject.name.rsplit_once(['\\', '/']).map(|(folder, _)| folder)
    }

    fn join(&mut self, other: Self) {
        self.subject = self.subject.clone().min(other.subject);
        for (reader, sum) in other.by_reader {
            self.by_reader.entry(reader).or_insert_with(Sum::measured).join(sum);
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
        readers.truncate(LISTED_READERS);
        readers
    }
}

/// What the parts of a phase come to.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    sums: HashMap<Who, Sum>,
}

impl Ledger {
    /// Adds a part; parts come in order of time, forwards or back, and do not overlap.
    pub(super) fn add(&mut self, part: Part) {
        let ns = part.end_ns.saturating_sub(part.start_ns);
        if ns <= 0 {
            return;
        }
        let sum = self.sums.entry(part.who).or_insert_with(Sum::measured);
        sum.ns = sum.ns.saturating_add(ns);
        sum.certainty = sum.certainty.and(part.certainty);
        match sum.did.iter_mut().find(|(did, _)| *did == part.did) {
            Some((_, total)) => *total = total.saturating_add(ns),
            None => sum.did.push((part.did, ns)),
        }
        match sum.stretches.last_mut() {
            Some(last) if last.start_ns == part.end_ns => last.start_ns = part.start_ns,
            Some(last) if last.end_ns == part.start_ns => last.end_ns = part.end_ns,
            _ => {
                sum.count += 1;
                if sum.stretches.len() >= KEPT_STRETCHES {
                    keep_longest(&mut sum.stretches);
                }
                sum.stretches.push(AccountStretch { start_ns: part.start_ns, end_ns: part.end_ns });
            }
        }
    }

    /// Takes out the files that are named; the others become their readers' time.
    fn take_files(&mut self, subjects: &Subjects) -> Vec<FileTime> {
        let mut files: BTreeMap<(String, &str), FileTime> = BTreeMap::new();
        let all: Vec<(SubjectId, SubjectId)> = self
            .sums
            .keys()
            .filter_map(|who| match *who {
                Who::File { file, reader } => Some((file, reader)),
                _ => None,
            })
            .collect();
        for (file, reader) in all {
            let (Some(subject), Some(sum)) = (subjects.get(file), self.sums.remove(&Who::File { file, reader })) else {
                continue;
            };
            let new = FileTime { subject: subject.clone(), by_reader: BTreeMap::from([(reader, sum)]) };
            match files.get_mut(&(subject.name.to_ascii_lowercase(), subject.device.as_str())) {
                Some(known) => known.join(new),
                None => {
                    files.insert((subject.name.to_ascii_lowercase(), &subject.device), new);
                }
            }
        }
        let (named, little): (Vec<FileTime>, Vec<FileTime>) =
            by_folder(files.into_values()).into_iter().partition(FileTime::is_named);
        for file in little {
            for (reader, sum) in file.by_reader {
                let known = self.sums.entry(Who::Subject(reader)).or_insert_with(Sum::measured);
                let of_disk = known.by_disk.entry(file.subject.device.clone()).or_default();
                *of_disk = of_disk.saturating_add(sum.ns);
                known.join(sum);
            }
        }
        named
    }

    /// The account of a phase from `start_ns` to `end_ns`. What no part covers is not known, so the entries always sum to
    /// the phase.
    pub(super) fn finish(
        mut self,
        subjects: &Subjects,
        (start_ns, end_ns): (i64, i64),
        measure: AccountMeasure,
    ) -> PhaseAccount {
        let known = self.sums.values().fold(0_i64, |sum, one| sum.saturating_add(one.ns));
        let files = self.take_files(subjects);
        let duration_ns = end_ns.saturating_sub(start_ns).max(0);
        let open_ns = duration_ns.saturating_sub(known);
        if open_ns > 0 {
            let sum = self.sums.entry(Who::Nobody(NotKnown::NothingRecorded)).or_default();
            sum.ns = sum.ns.saturating_add(open_ns);
            sum.certainty = Certainty::Missing;
            match sum.did.iter_mut().find(|(did, _)| *did == Did::Nothing) {
                Some((_, total)) => *total = total.saturating_add(open_ns),
                None => sum.did.push((Did::Nothing, open_ns)),
            }
        }
        let mut entries: Vec<AccountEntry> = self
            .sums
            .into_iter()
            .map(|(who, sum)| {
                let (subject, not_known) = match who {
                    Who::Subject(id) | Who::File { file: id, .. } => (subjects.get(id).cloned(), None),
                    Who::Idle => (Some(Subject::new(AccountSubjectKind::Idle, "idle")), None),
                    Who::Nobody(why) => (None, Some(why)),
                };
                let subject = subject.unwrap_or_else(|| {
                    Subject::new(AccountSubjectKind::NotKnown, not_known.unwrap_or(NotKnown::NothingRecorded).phrase())
                });
                AccountEntry { not_known, ..entry(subject, sum, duration_ns) }
            })
            .collect();
        entries.extend(files.into_iter().map(|file| {
            let read_by = file.readers(subjects);
            let mut sum = Sum::measured();
            for its in file.by_reader.into_values() {
                sum.join(its);
            }
            AccountEntry { read_by, ..entry(file.subject, sum, duration_ns) }
        }));
        join_unnumbered(&mut entries, duration_ns);
        entries.sort_by(|a, b| {
            let key = |entry: &AccountEntry| (std::cmp::Reverse(entry.ns), entry.kind, entry.pid);
            key(a).cmp(&key(b)).then_with(|| (&a.name, &a.device).cmp(&(&b.name, &b.device)))
        });
        let not_known_ns = entries
            .iter()
            .filter(|entry| entry.kind == AccountSubjectKind::NotKnown)
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        PhaseAccount { start_ns, end_ns, duration_ns, measure, is_cut: false, entries, not_known_ns }
    }
}

/// Makes one of many files of a folder, none of which is most of them.
fn by_folder(files: impl Iterator<Item = FileTime>) -> Vec<FileTime> {
    let mut folders: BTreeMap<(Option<String>, String), Vec<FileTime>> = BTreeMap::new();
    for file in files {
        let folder = file.folder().map(str::to_ascii_lowercase);
        folders.entry((folder, file.subject.device.clone())).or_default().push(file);
    }
    let mut joined = Vec::new();
    for ((folder, _), files) in folders {
        let all_ns = files.iter().map(FileTime::ns).fold(0_i64, i64::saturating_add);
        let most_ns = files.iter().map(FileTime::ns).max().unwrap_or(0);
        if folder.is_none() || files.len() < MIN_FOLDER_FILES || all_ns < MIN_FILE_NS || most_ns > all_ns / 2 {
            joined.extend(files);
            continue;
        }
        let mut files = files.into_iter();
        let Some(mut whole) = files.next() else { continue };
        if let Some(folder) = whole.folder().map(str::to_owned) {
            whole.subject.name = folder;
        }
        for file in files {
            whole.join(file);
        }
        joined.push(whole);
    }
    joined
}

/// The entry of a subject.
fn entry(subject: Subject, mut sum: Sum, duration_ns: i64) -> AccountEntry {
    sum.did.sort_by_key(|&(did, ns)| (std::cmp::Reverse(ns), did));
    list_longest(&mut sum.stretches);
    let disk = sum.by_disk.into_iter().max_by_key(|&(_, ns)| ns).map(|(disk, _)| disk);
    AccountEntry {
        kind: subject.kind,
        name: subject.name,
        device: if subject.device.is_empty() { disk.unwrap_or_default() } else { subject.device },
        pid: subject.pid,
        read_by: Vec::new(),
        not_known: None,
        ns: sum.ns,
        percent: percent_of(sum.ns, duration_ns),
        certainty: sum.certainty,
        requests: None,
        did: sum.did.into_iter().map(|(did, ns)| DidShare { did, ns }).collect(),
        stretches: sum.stretches,
        stretch_count: sum.count,
    }
}

/// Gives what a record says of a program without its process id to that program, where only one process of the name is in the account:
/// one name is one entry.
fn join_unnumbered(entries: &mut Vec<AccountEntry>, duration_ns: i64) {
    let is_unnumbered = |entry: &AccountEntry| entry.kind == AccountSubjectKind::Process && entry.pid.is_none();
    let (unnumbered, mut others): (Vec<_>, Vec<_>) = std::mem::take(entries).into_iter().partition(is_unnumbered);
    for entry in unnumbered {
        let mut same = others.iter_mut().filter(|other| {
            other.kind == entry.kind && other.pid.is_some() && other.name.eq_ignore_ascii_case(&entry.name)
        });
        match (same.next(), same.next()) {
            (Some(only), None) => {
                only.ns = only.ns.saturating_add(entry.ns);
                only.percent = percent_of(only.ns, duration_ns);
                only.certainty = only.certainty.and(entry.certainty);
                for share in entry.did {
                    match only.did.iter_mut().find(|known| known.did == share.did) {
                        Some(known) => known.ns = known.ns.saturating_add(share.ns),
                        None => only.did.push(share),
                    }
                }
                only.did.sort_by_key(|share| (std::cmp::Reverse(share.ns), share.did));
                only.stretches.extend(entry.stretches);
                list_longest(&mut only.stretches);
                only.stretch_count = only.stretch_count.saturating_add(entry.stretch_count);
            }
            _ => others.push(entry),
        }
    }
    *entries = others;
}

/// Leaves the longest, in order of time, whatever the order in which they came.
fn list_longest(stretches: &mut Vec<AccountStretch>) {
    stretches.sort_by_key(|one| (std::cmp::Reverse(one.end_ns.saturating_sub(one.start_ns)), one.start_ns));
    stretches.truncate(LISTED_STRETCHES);
    stretches.sort();
}

/// Leaves the longest of those that do not grow any more, and the last, which may.
fn keep_longest(stretches: &mut Vec<AccountStretch>) {
    if let Some(last) = stretches.pop() {
        list_longest(stretches);
        stretches.push(last);
    }
}
