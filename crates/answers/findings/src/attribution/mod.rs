//! Merges findings that have one cause, using the account of the transition.
//!
//! Rules say what to change; the account attributes the time of each phase to subjects. A finding about a subject of
//! the account takes its name, phase and cost from there, so that all commands agree. Its cost is the subject's time in
//! all phases of the transition. Findings about one subject are merged: the most expensive one leads, and the others are
//! folded into it. A finding that encloses a subject (a policy around its script) counts as a finding about it.

mod cost;
mod entries;
mod long_phases;
#[cfg(test)]
mod tests;
mod wording;

use onoff_blame::account::{
    AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, CulpritPhase, VIDEO_DRIVERS, subject_times,
};

use crate::cost::Cost;
use crate::finding::{FindingEvidence, FindingSubjectKind, FoldedFinding, RuleFinding};
use crate::quantities::time;

use self::cost::take_from_account;
use self::wording::{activities, advice, display_name, phase_names, subject};

pub(crate) use self::wording::critical_path_time;

/// The rule for subjects that no other rule reports.
pub(crate) const TIME_ON_PATH: &str = "account/critical-path-time";
/// The rule about long phases: the subject that took the time leads.
const PHASE_BEYOND_NORMAL: &str = "boot/phase-beyond-normal";
/// The rule that infers the video driver from a gap: the account of the gap decides.
const VIDEO_DRIVER: &str = "boot/video-driver-slow";
/// The rule about the callbacks of a device in all phases of a Linux sleep.
const SLEEP_DEVICE: &str = "linux/sleep-device-slow";
/// The rule about sequential services, whose cost is the time beyond the longest one.
const UNIT_CHAIN: &str = "linux/unit-chain";
/// A finding is about a subject that took at least this fraction of its cost: half.
const MIN_SUBJECT_PART: i64 = 2;
/// The rules about a computer that stays busy: their subject is the process that used the most.
const SETTLING_RULES: [&str; 2] = ["boot/post-boot-busy", "suspend/post-resume-busy"];
/// A rule's cost agrees with the account if they differ by at most this fraction: a tenth.
const MAX_DIFFERENCE_PART: u64 = 10;
/// Maximum number of activities listed per subject.
const MAX_ACTIVITIES: usize = 3;

/// Attributes findings to the subjects of an account.
pub(crate) struct Attribution<'a> {
    phases: &'a [AccountedPhase],
    /// Returns the services a process hosts, by its id and a time, because ids are reused.
    services_of: &'a dyn Fn(u32, i64) -> Vec<String>,
    /// The subjects that took time in several phases.
    subjects: Vec<SubjectTotal>,
}

/// The time of a subject over several phases.
struct SubjectTotal {
    /// The subject's entries, longest first.
    indexes: Vec<EntryIndex>,
    /// The sum of its entries.
    entry: AccountEntry,
    /// The phases that the sum includes, longest first.
    phases: Vec<CulpritPhase>,
}

/// Indexes of a phase and of an entry in its account.
type EntryIndex = (usize, usize);

/// A finding and the subjects it is about.
struct AttributedFinding {
    finding: RuleFinding,
    /// The cost according to its rule, ns.
    rule_cost_ns: i64,
    /// True if the rule named a process and the account names the service it hosts.
    names_host: bool,
    /// True if the rule named the subject, instead of something that encloses it.
    names_subject: bool,
    entry_indexes: Vec<EntryIndex>,
}

impl AttributedFinding {
    /// Creates a finding without an entry in the account.
    const fn without_entry(finding: RuleFinding, rule_cost_ns: i64) -> Self {
        Self { finding, rule_cost_ns, names_host: false, names_subject: false, entry_indexes: Vec::new() }
    }
}

impl<'a> Attribution<'a> {
    pub(crate) fn new(phases: &'a [AccountedPhase], services_of: &'a dyn Fn(u32, i64) -> Vec<String>) -> Self {
        let all: Vec<&AccountedPhase> = phases.iter().collect();
        let index_of = |&(phase_index, entry): &(usize, &AccountEntry)| {
            let entries = &phases.get(phase_index)?.account.entries;
            Some((phase_index, entries.iter().position(|other| std::ptr::eq(other, entry))?))
        };
        let subjects = subject_times(&all).into_iter().filter(|subject| subject.entries.len() > 1);
        let totals = subjects.filter_map(|subject| {
            let (_, entry, phases) = subject.total(&all)?;
            Some(SubjectTotal { indexes: subject.entries.iter().filter_map(index_of).collect(), entry, phases })
        });
        Self { phases, services_of, subjects: totals.collect() }
    }

    /// Returns the subject of an entry, if it took time in several phases.
    fn subject_total(&self, index: EntryIndex) -> Option<&SubjectTotal> {
        self.subjects.iter().find(|subject| subject.indexes.contains(&index))
    }

    /// Returns the index that stands for a subject in all phases: the index of its longest entry.
    fn subject_index(&self, index: EntryIndex) -> EntryIndex {
        self.subject_total(index).and_then(|subject| subject.indexes.first().copied()).unwrap_or(index)
    }

    /// Returns the time of the entry's subject in all phases.
    fn total_entry(&self, index: EntryIndex) -> Option<&AccountEntry> {
        self.subject_total(index).map(|subject| &subject.entry).or_else(|| self.entry(index))
    }

    /// Names the phases in which the entry's subject took time.
    fn phase_names(&self, index: EntryIndex) -> String {
        match self.subject_total(index) {
            Some(subject) => phase_names(&subject.phases),
            None => self.phases.get(index.0).map_or_else(String::new, |phase| display_name(&phase.phase)),
        }
    }

    /// Merges the findings of one transition, so that each cause is reported once.
    pub(crate) fn merge(&self, findings: Vec<RuleFinding>) -> Vec<RuleFinding> {
        let mut attributed: Vec<AttributedFinding> = Vec::new();
        let mut long_phases: Vec<RuleFinding> = Vec::new();
        for finding in findings {
            if finding.code == PHASE_BEYOND_NORMAL {
                long_phases.push(finding);
            } else {
                attributed.push(self.attribute(finding));
            }
        }
        // The finding that names most of a chain leads, then the one that names the subject, then the most expensive
        // one.
        attributed.sort_by_key(|candidate| {
            let is_general = candidate.finding.code == TIME_ON_PATH;
            let priority = std::cmp::Reverse((
                candidate.entry_indexes.len(),
                !candidate.names_host,
                candidate.names_subject,
                candidate.rule_cost_ns,
            ));
            (is_general, priority, candidate.finding.code)
        });
        let mut leading: Vec<AttributedFinding> = Vec::new();
        for candidate in attributed {
            let leader = leading.iter_mut().find(|leader| self.is_same_cause(leader, &candidate));
            match leader {
                Some(leader) => {
                    self.take_over(leader, &candidate);
                    fold(&mut leader.finding, candidate.finding);
                }
                None => leading.push(candidate),
            }
        }
        for phase in long_phases {
            self.fold_long_phase(phase, &mut leading);
        }
        leading.into_iter().map(|candidate| candidate.finding).collect()
    }

    /// True if `candidate` is about a subject that `leader` already covers.
    fn is_same_cause(&self, leader: &AttributedFinding, candidate: &AttributedFinding) -> bool {
        if leader.finding.transition != candidate.finding.transition {
            return false;
        }
        // A file that took most of the time of its disk is the cause of it.
        if candidate.finding.code == TIME_ON_PATH
            && candidate.finding.subject.kind == FindingSubjectKind::Disk
            && leader.finding.subject.kind == FindingSubjectKind::File
            && leader.finding.phase.is_some()
            && leader.finding.phase == candidate.finding.phase
            && leader.rule_cost_ns.saturating_mul(MIN_SUBJECT_PART) >= candidate.rule_cost_ns
        {
            return true;
        }
        if !candidate.entry_indexes.is_empty() && !leader.entry_indexes.is_empty() {
            return candidate.entry_indexes.iter().all(|index| leader.entry_indexes.contains(index));
        }
        let disk = |finding: &RuleFinding| {
            (finding.subject.kind == FindingSubjectKind::Disk).then(|| finding.subject.name.clone())
        };
        if candidate.finding.code == TIME_ON_PATH
            && disk(&leader.finding).is_some()
            && disk(&leader.finding) == disk(&candidate.finding)
        {
            return true;
        }
        // Files and disks have no separate entry here. They lead if they account for most of a subject's time.
        candidate.finding.code == TIME_ON_PATH
            && matches!(leader.finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
            && leader.entry_indexes.is_empty()
            && leader.rule_cost_ns.saturating_mul(MIN_SUBJECT_PART) >= candidate.rule_cost_ns
            && candidate.entry_indexes.iter().any(|&(phase, _)| {
                let account = self.phases.get(phase).map(|phase| &phase.account);
                let times = leader
                    .finding
                    .evidence
                    .iter()
                    .filter_map(|fact| fact.time_ns)
                    .chain(leader.finding.active_interval.map(|interval| interval.0));
                account.is_some_and(|account| {
                    times.into_iter().any(|time_ns| time_ns >= account.start_ns && time_ns < account.end_ns)
                })
            })
    }

    /// Attributes a finding: it takes subject, phase and cost from the matching entry.
    fn attribute(&self, mut finding: RuleFinding) -> AttributedFinding {
        let Some(rule_cost_ns) = finding.cost_ns else {
            // A finding without a cost has no time to attribute, except for a system component that took long.
            let index = self.entry_about(&finding).filter(|_| finding.code == TIME_ON_PATH);
            let entry_indexes = index.into_iter().map(|index| self.subject_index(index)).collect();
            return AttributedFinding {
                finding,
                rule_cost_ns: 0,
                names_host: false,
                names_subject: false,
                entry_indexes,
            };
        };
        let names: Vec<&str> = match finding.members.as_slice() {
            [] => finding.subject.name.split(" → ").flat_map(|part| part.split(", ")).collect(),
            members => members.iter().map(String::as_str).collect(),
        };
        let mut entry_indexes: Vec<EntryIndex> = Vec::new();
        if names.len() > 1 {
            entry_indexes = names.iter().filter_map(|name| self.entry_named(&finding, name)).collect();
            let phase = entry_indexes.first().map(|index| index.0);
            // The sum is meaningful only if all of them are in one phase.
            if entry_indexes.len() < names.len() || entry_indexes.iter().any(|index| Some(index.0) != phase) {
                entry_indexes.clear();
            }
            entry_indexes.sort();
            entry_indexes.dedup();
        } else if SETTLING_RULES.contains(&finding.code) {
            entry_indexes.extend(self.largest_while_settling());
        } else if let Some(index) = self.entry_about(&finding) {
            entry_indexes.push(self.subject_index(index));
        }
        if finding.code == VIDEO_DRIVER {
            return self.attribute_video_driver(finding, rule_cost_ns);
        }
        let Some(&(phase_index, _)) = entry_indexes.first() else {
            if self.attribute_unit(&mut finding) {
                return AttributedFinding::without_entry(finding, rule_cost_ns);
            }
            self.limit_parallel_cost(&mut finding);
            self.drop_foreign_cost(&mut finding);
            return AttributedFinding::without_entry(finding, rule_cost_ns);
        };
        let Some(phase) = self.phases.get(phase_index) else {
            return AttributedFinding { finding, rule_cost_ns, names_host: false, names_subject: false, entry_indexes };
        };
        finding.phase = Some(phase.phase.clone());
        let names_subject = self
            .entry_named(&finding, &finding.subject.name)
            .is_some_and(|index| entry_indexes.contains(&self.subject_index(index)));
        let entries: Vec<&AccountEntry> = match entry_indexes.as_slice() {
            [index] => self.total_entry(*index).into_iter().collect(),
            // The sum of a chain covers one phase.
            indexes => indexes.iter().filter_map(|&index| self.entry(index)).collect(),
        };
        let names_host = finding.subject.kind == FindingSubjectKind::Process
            && entries.iter().any(|entry| entry.kind == AccountSubjectKind::Service);
        // The callbacks of a device in several phases of a sleep are one finding but several entries.
        let has_own_cost = [SLEEP_DEVICE, UNIT_CHAIN].contains(&finding.code);
        if phase.account.measure != AccountMeasure::RecordedWork && !has_own_cost {
            let phase_names = entry_indexes.first().map_or_else(String::new, |&index| self.phase_names(index));
            take_from_account(&mut finding, (phase, &phase_names), &entries);
        }
        let entry_indexes = entry_indexes.into_iter().map(|index| self.subject_index(index)).collect();
        AttributedFinding { finding, rule_cost_ns, names_host, names_subject, entry_indexes }
    }

    /// Attributes a finding about files or a disk to the subject that took their time: a driver that waited for them,
    /// or a file.
    fn take_over(&self, leader: &mut AttributedFinding, general: &AttributedFinding) {
        let is_close = leader.rule_cost_ns.abs_diff(general.rule_cost_ns).saturating_mul(MAX_DIFFERENCE_PART)
            <= leader.rule_cost_ns.unsigned_abs();
        if general.finding.code == TIME_ON_PATH
            && leader.entry_indexes.is_empty()
            && matches!(leader.finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
            && is_close
            && let [index] = general.entry_indexes.as_slice()
            && let (Some(phase), Some(entry)) = (self.phases.get(index.0), self.total_entry(*index))
        {
            leader.entry_indexes.push(*index);
            leader.finding.phase = Some(phase.phase.clone());
            take_from_account(&mut leader.finding, (phase, &self.phase_names(*index)), &[entry]);
        }
    }

    /// Attributes the finding about a video driver, which is inferred from the gap between two process starts: if
    /// another subject took most of the gap, that subject leads.
    fn attribute_video_driver(&self, mut finding: RuleFinding, rule_cost_ns: i64) -> AttributedFinding {
        let Some(when) = finding.active_interval else {
            return AttributedFinding::without_entry(finding, rule_cost_ns);
        };
        let Some((index, ns)) = self.largest_within(when, |_| true) else {
            return AttributedFinding::without_entry(finding, rule_cost_ns);
        };
        let index = self.subject_index(index);
        let (Some(phase), Some(entry)) = (self.phases.get(index.0), self.total_entry(index)) else {
            return AttributedFinding::without_entry(finding, rule_cost_ns);
        };
        finding.phase = Some(phase.phase.clone());
        if ns.saturating_mul(MIN_SUBJECT_PART) < rule_cost_ns {
            return AttributedFinding::without_entry(finding, rule_cost_ns);
        }
        let cost = match phase.account.measure {
            AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
            _ => Cost::at_most(entry.ns),
        };
        if VIDEO_DRIVERS.contains(&entry.name.as_str()) {
            finding.subject.name.clone_from(&entry.name);
            finding = finding.cost(cost);
            return AttributedFinding {
                finding,
                rule_cost_ns,
                names_host: false,
                names_subject: true,
                entry_indexes: vec![index],
            };
        }
        finding.title =
            format!("{} blocked the session for {}, when the video driver usually initializes", entry.name, time(ns));
        finding.advice = advice(entry);
        finding.certainty = entry.certainty;
        finding.subject = subject(entry);
        finding =
            finding.cost(cost).evidence(entry.intervals.first().map(|interval| interval.start_ns), activities(entry));
        AttributedFinding {
            finding,
            rule_cost_ns: ns,
            names_host: false,
            names_subject: false,
            entry_indexes: vec![index],
        }
    }
}

fn fold(leading: &mut RuleFinding, finding: RuleFinding) {
    // A finding about a disk lists what waited for it.
    if leading.subject.kind == FindingSubjectKind::Disk
        && matches!(finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
    {
        let time_ns = finding.evidence.iter().find_map(|fact| fact.time_ns);
        leading.evidence.push(FindingEvidence { time_ns, text: finding.title.clone() });
    }
    if finding.code != TIME_ON_PATH {
        leading.folded.push(FoldedFinding { code: finding.code, title: finding.title });
        leading.folded.extend(finding.folded);
    }
}
