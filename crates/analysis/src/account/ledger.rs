//! Parts of a phase, summed by subject.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use onoff_order::InOrder;

use crate::account_model::{
    AccountEntry, AccountMeasure, AccountStretch, AccountSubjectKind, Did, DidShare, NotKnown, PhaseAccount,
};
use crate::cpu::percent_of;
use crate::evidence::Certainty;

/// Stretches listed with an entry, at most: the longest.
const LISTED_STRETCHES: usize = 64;
/// A file that a phase waited for less than this is its reader's time, ns: what makes somebody a culprit.
const LEAST_OF_FILE_NS: i64 = super::LEAST_CULPRIT_NS;
/// Files that a folder is said in place of, at least.
const LEAST_OF_FOLDER: usize = 3;
/// Stretches kept while a phase is summed, before the shortest go.
const KEPT_STRETCHES: usize = 1024;

/// A subject, as its name will be printed. Two parts are one subject's when these are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// Who waited for each file.
    readers: HashMap<SubjectId, SubjectId>,
}

impl Subjects {
    /// The number of `subject`. Names are compared without case: Windows spells one driver in several ways.
    pub(super) fn id(&mut self, subject: Subject) -> SubjectId {
        let key = Subject { name: subject.name.to_ascii_lowercase(), device: String::new(), ..subject.clone() };
        let next = SubjectId::try_from(self.list.len()).unwrap_or(SubjectId::MAX);
        let device = subject.device.clone();
        let id = *self.ids.entry(key).or_insert_with(|| {
            self.list.push(subject);
            next
        });
        // A driver is one subject, whatever devices it works for; the first one is named.
        if let Some(known) = self.list.get_mut(id as usize)
            && known.device.is_empty()
        {
            known.device = device;
        }
        id
    }

    /// That `reader` waited for a file.
    pub(super) fn is_read_by(&mut self, file: SubjectId, reader: SubjectId) {
        self.readers.entry(file).or_insert(reader);
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

    /// Many files of one folder, none of which is most of them, are the folder: the names of those that stand for theirs.
    fn join_files_of_folders(&mut self, subjects: &Subjects) -> HashMap<SubjectId, String> {
        let mut folders: BTreeMap<(String, &str), Vec<SubjectId>> = BTreeMap::new();
        for &who in self.sums.keys() {
            if let Who::Subject(id) = who
                && let Some(file) = subjects.get(id).filter(|subject| subject.kind == AccountSubjectKind::File)
                && let Some((folder, _)) = file.name.rsplit_once(['\\', '/'])
            {
                folders.entry((folder.to_ascii_lowercase(), &file.device)).or_default().push(id);
            }
        }
        let mut names = HashMap::new();
        for mut files in folders.into_values().filter(|files| files.len() >= LEAST_OF_FOLDER) {
            files.order();
            let ns_of = |id: &SubjectId| self.sums.get(&Who::Subject(*id)).map_or(0, |sum| sum.ns);
            let all_ns = files.iter().map(ns_of).fold(0_i64, i64::saturating_add);
            let most_ns = files.iter().map(ns_of).max().unwrap_or(0);
            let (Some(&first), true) = (files.first(), all_ns >= LEAST_OF_FILE_NS && most_ns <= all_ns / 2) else {
                continue;
            };
            for &file in files.iter().skip(1) {
                if let Some(its) = self.sums.remove(&Who::Subject(file)) {
                    self.sums.entry(Who::Subject(first)).or_insert_with(Sum::measured).join(its);
                }
            }
            let folder = subjects.get(first).and_then(|file| file.name.rsplit_once(['\\', '/']));
            names.extend(folder.map(|(folder, _)| (first, folder.to_owned())));
        }
        names
    }

    /// A file that took little is its reader's time.
    fn give_little_files_to_their_readers(&mut self, subjects: &Subjects) {
        let mut little: Vec<(Who, SubjectId)> = self
            .sums
            .iter()
            .filter_map(|(&who, sum)| match who {
                Who::Subject(id) if sum.ns < LEAST_OF_FILE_NS => Some((who, *subjects.readers.get(&id)?)),
                _ => None,
            })
            .collect();
        little.order_by_key(|&(_, reader)| reader);
        for (file, reader) in little {
            let Some(its) = self.sums.remove(&file) else { continue };
            self.sums.entry(Who::Subject(reader)).or_insert_with(Sum::measured).join(its);
        }
    }

    /// The account of a phase from `start_ns` to `end_ns`. What no part covers is not known, so the entries always sum to
    /// the phase.
    pub(super) fn finish(
        mut self,
        subjects: &Subjects,
        (start_ns, end_ns): (i64, i64),
        measure: AccountMeasure,
    ) -> PhaseAccount {
        let folders = self.join_files_of_folders(subjects);
        self.give_little_files_to_their_readers(subjects);
        let duration_ns = end_ns.saturating_sub(start_ns).max(0);
        let known = self.sums.values().fold(0_i64, |sum, one| sum.saturating_add(one.ns));
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
            .map(|(who, mut sum)| {
                sum.did.order_by_key(|&(did, ns)| (std::cmp::Reverse(ns), did));
                list_longest(&mut sum.stretches);
                let (subject, not_known) = match who {
                    Who::Subject(id) => {
                        let named = |subject: &Subject| match folders.get(&id) {
                            Some(folder) => Subject { name: folder.clone(), ..subject.clone() },
                            None => subject.clone(),
                        };
                        (subjects.get(id).map(named), None)
                    }
                    Who::Idle => (Some(Subject::new(AccountSubjectKind::Idle, "idle")), None),
                    Who::Nobody(why) => (None, Some(why)),
                };
                let subject = subject.unwrap_or_else(|| {
                    Subject::new(AccountSubjectKind::NotKnown, not_known.unwrap_or(NotKnown::NothingRecorded).phrase())
                });
                AccountEntry {
                    kind: subject.kind,
                    name: subject.name,
                    device: subject.device,
                    pid: subject.pid,
                    not_known,
                    ns: sum.ns,
                    percent: percent_of(sum.ns, duration_ns),
                    certainty: sum.certainty,
                    requests: None,
                    did: sum.did.into_iter().map(|(did, ns)| DidShare { did, ns }).collect(),
                    stretches: sum.stretches,
                    stretch_count: sum.count,
                }
            })
            .collect();
        join_unnumbered(&mut entries, duration_ns);
        entries.order_by(|a, b| {
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
                only.did.order_by_key(|share| (std::cmp::Reverse(share.ns), share.did));
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
    stretches.order_by_key(|one| (std::cmp::Reverse(one.end_ns.saturating_sub(one.start_ns)), one.start_ns));
    stretches.truncate(LISTED_STRETCHES);
    stretches.order();
}

/// Leaves the longest of those that do not grow any more, and the last, which may.
fn keep_longest(stretches: &mut Vec<AccountStretch>) {
    if let Some(last) = stretches.pop() {
        list_longest(stretches);
        stretches.push(last);
    }
}
