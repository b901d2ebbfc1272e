//! Merges findings that have one cause, using the account of the transition.
//!
//! Rules say what to change; the account attributes the time of each phase to subjects. A finding about a subject of
//! the account takes its name, phase and cost from there, so that all commands agree. Findings about one subject are
//! merged: the most expensive one leads, and the others are folded into it. A finding that encloses a subject (a policy
//! around its script) counts as a finding about that subject.

use onoff_blame::account::{
    AccountAction, AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, Culprit, PhaseAccount,
    UnknownReason, VIDEO_DRIVERS, has_no_path,
};
use onoff_evidence::Certainty;
use onoff_evidence::interval::covered_ns;
use onoff_transitions::PhaseName;

use crate::cost::{Cost, Interval};
use crate::finding::{CostBasis, FindingEvidence, FindingSubject, FindingSubjectKind, FoldedFinding, RuleFinding};
use crate::quantities::time;

/// The rule for subjects that no other rule reports.
pub(crate) const TIME_ON_PATH: &str = "account/critical-path-time";
/// The rule about long phases: the subject that took the time leads.
const PHASE_BEYOND_NORMAL: &str = "boot/phase-beyond-normal";
/// The rule that infers the video driver from a gap: the account of the gap decides.
const VIDEO_DRIVER: &str = "boot/video-driver-slow";
/// The rule about CPU-heavy processes.
const CPU_HOG: &str = "boot/cpu-hog";
/// The rule about the callbacks of a device in all phases of a Linux sleep.
const SLEEP_DEVICE: &str = "linux/sleep-device-slow";
/// The rule about sequential services, whose cost is the time beyond the longest one.
const UNIT_CHAIN: &str = "linux/unit-chain";
/// A finding is about a subject that took at least this fraction of its cost: half.
const MIN_SUBJECT_PART: i64 = 2;
/// A subject explains a phase if it took at least this fraction of it: a fifth.
const MIN_PHASE_PART: i64 = 5;
/// An account is complete if less than this fraction of its phase is unknown: a twentieth.
const MAX_UNKNOWN_PART: i64 = 20;
/// The rules about a computer that stays busy: their subject is the process that used the most.
const SETTLING_RULES: [&str; 2] = ["boot/post-boot-busy", "suspend/post-resume-busy"];
/// A rule's cost agrees with the account if they differ by at most this fraction: a tenth.
const MAX_DIFFERENCE_PART: u64 = 10;
/// Maximum number of activities listed per subject.
const MAX_ACTIVITIES: usize = 3;

/// Attributes findings to the subjects of an account.
pub(crate) struct Attribution<'a> {
    pub(crate) phases: &'a [AccountedPhase],
    /// Returns the services a process hosts, by its id and a time, because ids are reused.
    pub(crate) services_of: &'a dyn Fn(u32, i64) -> Vec<String>,
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

impl Attribution<'_> {
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

    /// Attributes a finding: its subject, phase and cost become those of the matching entry.
    fn attribute(&self, mut finding: RuleFinding) -> AttributedFinding {
        let Some(rule_cost_ns) = finding.cost_ns else {
            // A finding without a cost has no time to attribute, except for a system component that took long.
            let entry_indexes =
                self.entry_about(&finding).filter(|_| finding.code == TIME_ON_PATH).into_iter().collect();
            return AttributedFinding {
                finding,
                rule_cost_ns: 0,
                names_host: false,
                names_subject: false,
                entry_indexes,
            };
        };
        let names: Vec<&str> = finding.subject.name.split(" → ").flat_map(|part| part.split(", ")).collect();
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
            entry_indexes.push(index);
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
        let names_subject =
            self.entry_named(&finding, &finding.subject.name).is_some_and(|index| entry_indexes.contains(&index));
        let entries: Vec<&AccountEntry> = entry_indexes.iter().filter_map(|&index| self.entry(index)).collect();
        let names_host = finding.subject.kind == FindingSubjectKind::Process
            && entries.iter().any(|entry| entry.kind == AccountSubjectKind::Service);
        // The callbacks of a device in several phases of a sleep are one finding but several entries.
        let has_own_cost = [SLEEP_DEVICE, UNIT_CHAIN].contains(&finding.code);
        if phase.account.measure != AccountMeasure::RecordedWork && !has_own_cost {
            take_from_account(&mut finding, phase, &entries);
        }
        AttributedFinding { finding, rule_cost_ns, names_host, names_subject, entry_indexes }
    }

    /// Drops the cost of a CPU-heavy program with little time on the critical path: what ran was interrupts and
    /// deferred procedure calls of other subjects.
    fn drop_foreign_cost(&self, finding: &mut RuleFinding) {
        let entry_index = self.entry_named(finding, &finding.subject.name).filter(|_| finding.code == CPU_HOG);
        let Some(((phase_index, _), entry)) = entry_index.and_then(|index| Some((index, self.entry(index)?))) else {
            return;
        };
        let is_path =
            self.phases.get(phase_index).is_some_and(|phase| phase.account.measure == AccountMeasure::CriticalPath);
        if is_path && entry.ns < crate::thresholds::HOG_NS {
            finding.cost_ns = Some(0);
        }
    }

    /// Limits the cost of a unit to its account entry: for the rest of the wait, others used the CPU or were waited
    /// for. Returns false if the account has no such entry.
    fn attribute_unit(&self, finding: &mut RuleFinding) -> bool {
        let index = match finding.subject.kind {
            FindingSubjectKind::Service => self.entry_named(finding, &finding.subject.name),
            _ => None,
        };
        let Some((phase, entry)) = index.and_then(|index| Some((self.phases.get(index.0)?, self.entry(index)?))) else {
            return false;
        };
        let rule_cost_ns = finding.cost_ns.unwrap_or(0);
        if phase.account.measure == AccountMeasure::RecordedWork {
            subtract_loaded_drivers(finding, &phase.account, rule_cost_ns);
            return true;
        }
        let is_path = phase.account.measure == AccountMeasure::CriticalPath;
        if entry.kind != AccountSubjectKind::Unit || !is_path || entry.ns >= rule_cost_ns {
            return false;
        }
        let others_ns = rule_cost_ns.saturating_sub(entry.ns);
        finding.cost_ns = Some(entry.ns);
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
        let text = format!(
            "{}; other subjects were on the critical path for the other {}",
            activities(entry),
            time(others_ns)
        );
        let time_ns = entry.intervals.first().map(|interval| interval.start_ns);
        finding.evidence.push(FindingEvidence { time_ns, text });
        true
    }

    /// If other subjects explain the critical path, limits the cost of a subject that ran in parallel to its account
    /// entry.
    fn limit_parallel_cost(&self, finding: &mut RuleFinding) {
        let is_subject = matches!(
            finding.subject.kind,
            FindingSubjectKind::Process | FindingSubjectKind::Service | FindingSubjectKind::Driver
        ) && finding.code != SLEEP_DEVICE;
        let start_ns = finding
            .active_interval
            .map(|when| when.0)
            .or_else(|| finding.evidence.iter().find_map(|fact| fact.time_ns));
        let phase = start_ns.and_then(|time_ns| {
            self.phases.iter().find(|phase| time_ns >= phase.account.start_ns && time_ns < phase.account.end_ns)
        });
        let Some(phase) = phase.filter(|phase| phase.account.measure == AccountMeasure::CriticalPath) else { return };
        let account = &phase.account;
        let explained = account
            .entries
            .iter()
            .filter(|entry| entry.kind.is_attributable() && !onoff_blame::account::is_system_component(entry))
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        let is_mostly_known = account.unknown_ns.saturating_mul(MAX_UNKNOWN_PART) < account.duration_ns;
        if !is_subject
            || finding.cost_basis != CostBasis::AtMost
            || !is_mostly_known
            || explained.saturating_mul(MIN_SUBJECT_PART) < account.duration_ns
        {
            return;
        }
        let matching_entries = account.entries.iter().filter(|entry| {
            without_extension(&entry.name).eq_ignore_ascii_case(without_extension(&finding.subject.name))
        });
        finding.cost_ns = Some(matching_entries.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns)));
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
    }

    /// Returns the subject that used the most after the desktop or a resume.
    fn largest_while_settling(&self) -> Option<EntryIndex> {
        let (phase_index, phase) = self
            .phases
            .iter()
            .enumerate()
            .find(|(_, phase)| has_no_path(&phase.phase) && phase.account.measure == AccountMeasure::BusySlices)?;
        let entry_index = phase.account.entries.iter().position(|entry| entry.kind.is_attributable())?;
        Some((phase_index, entry_index))
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
            && let (Some(phase), Some(entry)) = (self.phases.get(index.0), self.entry(*index))
        {
            leader.entry_indexes.push(*index);
            leader.finding.phase = Some(phase.phase.clone());
            take_from_account(&mut leader.finding, phase, &[entry]);
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
        let (Some(phase), Some(entry)) = (self.phases.get(index.0), self.entry(index)) else {
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

    /// Returns the entry a finding is about: the entry of the same name if it accounts for enough of the cost,
    /// otherwise the entry that took most of the time.
    fn entry_about(&self, finding: &RuleFinding) -> Option<EntryIndex> {
        let rule_cost_ns = finding.cost_ns.unwrap_or(0);
        let same_name = self.entry_named(finding, &finding.subject.name);
        if let Some(index) = same_name
            && self
                .entry(index)
                .is_some_and(|entry| entry.ns > 0 && entry.ns.saturating_mul(MIN_SUBJECT_PART) >= rule_cost_ns)
        {
            return Some(index);
        }
        let is_enclosing = matches!(
            finding.subject.kind,
            FindingSubjectKind::Service
                | FindingSubjectKind::Work
                | FindingSubjectKind::Device
                | FindingSubjectKind::Driver
        );
        let largest = finding
            .active_interval
            .filter(|_| is_enclosing)
            .and_then(|when| self.largest_within(when, |entry| !onoff_blame::account::is_system_component(entry)));
        largest.filter(|&(_, ns)| ns.saturating_mul(MIN_SUBJECT_PART) >= rule_cost_ns && ns > 0).map(|(index, _)| index)
    }

    /// Returns the entry of that name in the phase where the finding's evidence starts, otherwise in the phase where it
    /// took longest.
    fn entry_named(&self, finding: &RuleFinding, name: &str) -> Option<EntryIndex> {
        let name = name.trim();
        let start_ns = finding
            .active_interval
            .map(|when| when.0)
            .or_else(|| finding.evidence.iter().find_map(|fact| fact.time_ns));
        let hosted = finding
            .subject
            .pid
            .filter(|_| finding.subject.kind == FindingSubjectKind::Process)
            .map_or_else(Vec::new, |pid| (self.services_of)(pid, start_ns.unwrap_or(i64::MAX)));
        let is_match = |entry: &AccountEntry| match finding.subject.kind {
            FindingSubjectKind::Service => {
                let kinds = [AccountSubjectKind::Service, AccountSubjectKind::Unit, AccountSubjectKind::Process];
                kinds.contains(&entry.kind) && entry.name.eq_ignore_ascii_case(name)
            }
            FindingSubjectKind::Driver => {
                entry.kind == AccountSubjectKind::Driver
                    && without_extension(&entry.name).eq_ignore_ascii_case(without_extension(name))
            }
            FindingSubjectKind::Device => {
                entry.kind == AccountSubjectKind::Driver
                    && !entry.device.is_empty()
                    && entry.device.eq_ignore_ascii_case(name)
            }
            FindingSubjectKind::Process => match entry.kind {
                AccountSubjectKind::Process => {
                    let same_pid = finding.subject.pid.zip(entry.pid).is_none_or(|(a, b)| a == b);
                    entry.name.eq_ignore_ascii_case(name) && same_pid
                }
                AccountSubjectKind::Service => hosted.iter().any(|service| service.eq_ignore_ascii_case(&entry.name)),
                _ => false,
            },
            FindingSubjectKind::Work => {
                matches!(
                    entry.kind,
                    AccountSubjectKind::Subscriber
                        | AccountSubjectKind::Policy
                        | AccountSubjectKind::Script
                        | AccountSubjectKind::Kernel
                ) && entry.name.eq_ignore_ascii_case(name)
            }
            FindingSubjectKind::File => entry.kind == AccountSubjectKind::File && entry.name.eq_ignore_ascii_case(name),
            _ => was_created_from(finding, entry),
        };
        let mut best: Option<(bool, i64, EntryIndex)> = None;
        for (phase_index, phase) in self.phases.iter().enumerate() {
            if finding.phase.as_ref().is_some_and(|finding_phase| *finding_phase != phase.phase) {
                continue;
            }
            let account = &phase.account;
            let contains_start =
                start_ns.is_some_and(|time_ns| time_ns >= account.start_ns && time_ns < account.end_ns);
            for (entry_index, entry) in account.entries.iter().enumerate().filter(|(_, entry)| is_match(entry)) {
                if best.is_none_or(|(best_contains_start, best_ns, _)| {
                    (contains_start, entry.ns) > (best_contains_start, best_ns)
                }) {
                    best = Some((contains_start, entry.ns, (phase_index, entry_index)));
                }
            }
        }
        best.map(|(_, _, index)| index)
    }

    /// Returns the entry that took most of an interval on the critical path, and the time it took.
    fn largest_within(&self, when: Interval, is_wanted: impl Fn(&AccountEntry) -> bool) -> Option<(EntryIndex, i64)> {
        let mut best: Option<(EntryIndex, i64)> = None;
        for (phase_index, phase) in self.phases.iter().enumerate().filter(|(_, phase)| !has_no_path(&phase.phase)) {
            for (entry_index, entry) in phase.account.entries.iter().enumerate() {
                if !entry.kind.is_attributable() || !is_wanted(entry) {
                    continue;
                }
                let intervals = entry.intervals.iter().map(|interval| (interval.start_ns, interval.end_ns)).collect();
                let ns = covered_ns(intervals, when);
                if ns > best.map_or(0, |(_, best_ns)| best_ns) {
                    best = Some(((phase_index, entry_index), ns));
                }
            }
        }
        best
    }

    fn entry(&self, (phase, entry): EntryIndex) -> Option<&AccountEntry> {
        self.phases.get(phase)?.account.entries.get(entry)
    }

    /// Folds a long phase, which is not a cause, into the finding about what took the time.
    fn fold_long_phase(&self, finding: RuleFinding, leading: &mut Vec<AttributedFinding>) {
        let name = &finding.subject.name;
        let length = self.phases.iter().find(|phase| phase.phase == *name).map(|phase| phase.account.duration_ns);
        let in_phase = leading.iter_mut().filter(|candidate| {
            let is_in_phase =
                candidate.finding.phase.as_ref() == Some(name) || self.starts_in(&candidate.finding, name);
            let ns = candidate.finding.cost_ns.unwrap_or(0);
            let is_system = candidate.finding.code == TIME_ON_PATH && candidate.finding.cost_ns.is_none();
            is_in_phase && (is_system || length.is_none_or(|length| ns.saturating_mul(MIN_PHASE_PART) >= length))
        });
        match in_phase.max_by_key(|candidate| candidate.finding.cost_ns) {
            Some(leader) => fold(&mut leader.finding, finding),
            None => {
                let finding = self.unexplained_phase(finding);
                leading.push(AttributedFinding::without_entry(finding, 0));
            }
        }
    }

    /// Turns the finding about a long phase without a dominant subject into one about the transition that describes
    /// what is known.
    fn unexplained_phase(&self, mut finding: RuleFinding) -> RuleFinding {
        let phase = self.phases.iter().find(|phase| phase.phase == finding.subject.name);
        let account = phase.map(|phase| &phase.account);
        let is_mostly_unknown =
            |account: &&PhaseAccount| account.unknown_ns.saturating_mul(MIN_SUBJECT_PART) >= account.duration_ns;
        let largest = account.and_then(|account| account.largest_entry());
        let explanation = match (account.filter(is_mostly_unknown), largest) {
            (Some(account), _) => {
                let reason = account.entries.iter().find_map(|entry| entry.unknown_reason);
                let reason = reason.map_or("nothing was recorded", UnknownReason::phrase);
                format!("{} of it is unattributed: {reason}", time(account.unknown_ns))
            }
            (None, Some(largest)) => {
                format!("many subjects contributed, {} the most ({})", largest.name, time(largest.ns))
            }
            (None, None) => "what took the time is unknown".to_owned(),
        };
        finding.title = format!("{}; {explanation}", finding.title);
        finding.phase = Some(std::mem::take(&mut finding.subject.name));
        finding.subject.kind = FindingSubjectKind::Transition;
        finding
    }

    fn starts_in(&self, finding: &RuleFinding, phase: &str) -> bool {
        let account = self.phases.iter().find(|accounted| accounted.phase == phase).map(|accounted| &accounted.account);
        let start_ns = finding.evidence.iter().find_map(|fact| fact.time_ns);
        account.zip(start_ns).is_some_and(|(account, time_ns)| time_ns >= account.start_ns && time_ns < account.end_ns)
    }
}

/// True if the finding of the general rule was created from this entry.
fn was_created_from(finding: &RuleFinding, entry: &AccountEntry) -> bool {
    finding.code == TIME_ON_PATH && entry.name == finding.subject.name && subject(entry).kind == finding.subject.kind
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

/// Subtracts the time of drivers that a unit loaded from its cost, if the account is based on recorded work.
fn subtract_loaded_drivers(finding: &mut RuleFinding, account: &PhaseAccount, rule_cost_ns: i64) {
    let Some(start_ns) =
        finding.active_interval.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|fact| fact.time_ns))
    else {
        return;
    };
    let window = (start_ns, start_ns.saturating_add(rule_cost_ns));
    let drivers = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Driver);
    let time_in_window = |entry: &AccountEntry| {
        covered_ns(entry.intervals.iter().map(|interval| (interval.start_ns, interval.end_ns)).collect(), window)
    };
    let mut driver_times: Vec<(i64, &str)> =
        drivers.map(|entry| (time_in_window(entry), entry.name.as_str())).collect();
    driver_times.retain(|&(ns, _)| ns > 0);
    driver_times.sort_by(|a, b| b.cmp(a));
    let loaded_ns = driver_times.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if loaded_ns.saturating_mul(MIN_SUBJECT_PART) < rule_cost_ns {
        return;
    }
    let names: Vec<String> =
        driver_times.iter().take(MAX_ACTIVITIES).map(|&(ns, name)| format!("{name} {}", time(ns))).collect();
    finding.cost_ns = Some(rule_cost_ns.saturating_sub(loaded_ns));
    let text = format!("drivers it loaded account for {}: {}", time(loaded_ns), names.join(", "));
    finding.evidence.push(FindingEvidence { time_ns: None, text });
}

/// Sets name, cost and evidence of a finding from the account.
fn take_from_account(finding: &mut RuleFinding, phase: &AccountedPhase, entries: &[&AccountEntry]) {
    if finding.code == TIME_ON_PATH {
        return;
    }
    let ns = entries.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let rule_cost_ns = finding.cost_ns.replace(ns);
    if phase.account.measure == AccountMeasure::CriticalPath {
        finding.cost_basis = CostBasis::CriticalPath;
    } else if finding.cost_basis == CostBasis::Unknown {
        finding.cost_basis = CostBasis::AtMost;
    }
    let certainty = entries.iter().fold(Certainty::Measured, |combined, entry| combined.and(entry.certainty));
    finding.certainty = finding.certainty.and(certainty);
    let [entry] = entries else {
        if phase.account.measure == AccountMeasure::CriticalPath {
            // In the order on the critical path, like the account.
            let mut members = entries.to_vec();
            members.sort_by_key(|entry| entry.intervals.first().map(|interval| interval.start_ns));
            let names: Vec<&str> = members.iter().map(|entry| entry.name.as_str()).collect();
            finding.subject.name = names.join(" → ");
        }
        return;
    };
    let is_same_name = finding.subject.name.eq_ignore_ascii_case(&entry.name);
    let start_ns = entry.intervals.first().map(|interval| interval.start_ns);
    let phase_name = PhaseName::parse(&phase.phase).map_or_else(|| phase.phase.clone(), PhaseName::display_name);
    let text = format!("critical path ({phase_name}): {}", activities(entry));
    let title_has_name = finding.title.to_lowercase().contains(&entry.name.to_lowercase());
    let rule_cost_ns = rule_cost_ns.unwrap_or(ns);
    let differs = rule_cost_ns.abs_diff(ns).saturating_mul(MAX_DIFFERENCE_PART) > ns.unsigned_abs();
    // The account names kernel steps by code; the rule has a description.
    let is_device = finding.subject.kind == FindingSubjectKind::Device || entry.kind == AccountSubjectKind::Kernel;
    if phase.account.measure == AccountMeasure::CriticalPath && (differs || !title_has_name && !is_device) {
        finding.title = match (entry.kind, differs) {
            (AccountSubjectKind::Script, false) if finding.code.ends_with("script") => {
                format!("{} script {} took {}", finding.subject.name, entry.name, time(entry.ns))
            }
            _ if title_has_name => format!("{} ({} on the critical path)", finding.title, time(entry.ns)),
            _ => format!("{} took {}: {}", entry.name, time(entry.ns), finding.title),
        };
    }
    if SETTLING_RULES.contains(&finding.code) {
        let busy = finding.title.split("; ").next().unwrap_or_default().to_owned();
        finding.title = format!("{busy}; mostly with {} ({})", entry.name, time(entry.ns));
    }
    let kind = finding.subject.kind;
    finding.subject = subject(entry);
    if kind == FindingSubjectKind::Service && entry.kind == AccountSubjectKind::Process && is_same_name {
        // Notifications name the process, not whether it is a service.
        finding.subject.kind = kind;
    }
    finding.evidence.push(FindingEvidence { time_ns: start_ns, text });
}

fn subject(entry: &AccountEntry) -> FindingSubject {
    let kind = match entry.kind {
        AccountSubjectKind::Service | AccountSubjectKind::Unit => FindingSubjectKind::Service,
        AccountSubjectKind::Driver => FindingSubjectKind::Driver,
        AccountSubjectKind::Process => FindingSubjectKind::Process,
        AccountSubjectKind::File => FindingSubjectKind::File,
        AccountSubjectKind::Disk => FindingSubjectKind::Disk,
        _ => FindingSubjectKind::Work,
    };
    FindingSubject::new(kind, entry.name.clone()).with_pid(entry.pid)
}

/// Lists what a subject did, longest first.
fn activities(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let readers = entry.read_by.iter().take(MAX_ACTIVITIES);
        let parts: Vec<String> =
            readers.map(|reader| format!("{} waited {} for it", reader.name, time(reader.ns))).collect();
        return parts.join(", ");
    }
    let parts: Vec<String> = entry
        .actions
        .iter()
        .filter(|share| share.action != AccountAction::Nothing && share.ns.saturating_mul(100) >= entry.ns)
        .take(MAX_ACTIVITIES)
        .map(|share| {
            let phrase = share.action.phrase_for(entry.kind);
            match phrase.strip_suffix(')') {
                Some(phrase) => format!("{phrase}, {})", time(share.ns)),
                None => format!("{phrase} ({})", time(share.ns)),
            }
        })
        .collect();
    if parts.is_empty() { entry.name.clone() } else { format!("{} {}", entry.name, parts.join(", ")) }
}

/// Advice about a subject that no other rule covers.
fn advice(entry: &AccountEntry) -> String {
    let main_action = entry.actions.first().map(|share| share.action);
    let text = match (entry.kind, main_action) {
        (_, Some(AccountAction::OccupiedCpu)) => "lower its priority, start it later, or reduce its work",
        (AccountSubjectKind::File, _) => {
            "find out why it takes so long to read: its size, the health of its disk, or what scans it"
        }
        (AccountSubjectKind::Disk, _) => "check the disk's health and what is read from it; consider a faster disk",
        (AccountSubjectKind::Driver, _) => "look for a newer driver; remove the device if it is not needed",
        (_, Some(AccountAction::WaitedForDisk | AccountAction::OccupiedDisk)) => {
            "check which files it reads and writes, and whether it can do that later"
        }
        (_, Some(AccountAction::WaitedForTimer)) => "find out which timeout or delay it waited for",
        _ => "find out what it does, and whether it can do that later",
    };
    text.to_owned()
}

/// Creates the finding about a subject that no other rule covers.
pub(crate) fn critical_path_time(culprit: &Culprit) -> RuleFinding {
    let entry = &culprit.entry;
    let phase = PhaseName::parse(&culprit.phase).map_or_else(|| culprit.phase.clone(), PhaseName::display_name);
    if entry.kind == AccountSubjectKind::Cpu {
        return cpu_bound(culprit, &phase);
    }
    let cost = match culprit.measure {
        // A component of every transition cannot be removed.
        _ if culprit.is_system => Cost::UNKNOWN,
        AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
        _ => Cost::at_most(entry.ns),
    };
    let title = match entry.read_by.first() {
        Some(reader) => format!("{} waited {} for {} during {phase}", reader.name, time(entry.ns), entry.name),
        None => format!("{} was on the critical path for {} ({phase})", entry.name, time(entry.ns)),
    };
    let mut finding = RuleFinding::new(subject(entry), title)
        .cost(cost)
        .certainty(entry.certainty)
        .evidence(entry.intervals.first().map(|interval| interval.start_ns), activities(entry))
        .advice(format!("{} ('onoff why FILE --phase {}' shows the critical path)", advice(entry), culprit.phase));
    finding.phase = Some(culprit.phase.clone());
    finding
}

/// Creates the finding about a phase without a single cause: more threads were ready than CPUs available.
fn cpu_bound(culprit: &Culprit, phase: &str) -> RuleFinding {
    let entry = &culprit.entry;
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, entry.name.clone()),
        format!("no CPU was free for {} ({phase})", time(entry.ns)),
    )
    .cost(Cost::at_most(entry.ns))
    .certainty(entry.certainty)
    .evidence(
        entry.intervals.first().map(|interval| interval.start_ns),
        format!("mostly used by {}", culprit.members.join(", ")),
    )
    .advice(format!(
        "start fewer programs at once, or use a computer with more CPUs ('onoff why FILE --phase {}' shows what used them)",
        culprit.phase
    ));
    finding.phase = Some(culprit.phase.clone());
    finding
}

fn without_extension(name: &str) -> &str {
    let stem_len = name
        .len()
        .checked_sub(4)
        .filter(|&stem_len| name.get(stem_len..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")));
    stem_len.and_then(|stem_len| name.get(..stem_len)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_blame::account::{AccountInterval, ActionShare, PhaseAccount, culprits};

    const MS: i64 = 1_000_000;

    fn entry(kind: AccountSubjectKind, name: &str, (start_ms, end_ms): Interval) -> AccountEntry {
        AccountEntry {
            kind,
            name: name.to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            unknown_reason: None,
            ns: (end_ms - start_ms) * MS,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            actions: vec![ActionShare { action: AccountAction::WaitedForTimer, ns: (end_ms - start_ms) * MS }],
            intervals: vec![AccountInterval { start_ns: start_ms * MS, end_ns: end_ms * MS }],
            interval_count: 1,
        }
    }

    fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
        let start_ns = entries.iter().map(|entry| entry.intervals[0].start_ns).min().unwrap();
        let end_ns = entries.iter().map(|entry| entry.intervals[0].end_ns).max().unwrap();
        let account = PhaseAccount {
            start_ns,
            end_ns,
            duration_ns: end_ns - start_ns,
            measure: AccountMeasure::CriticalPath,
            is_truncated: false,
            entries,
            unknown_ns: 0,
        };
        AccountedPhase { transition: "boot", phase: name.to_owned(), account }
    }

    fn rule_finding(code: &'static str, kind: FindingSubjectKind, name: &str, when: Interval) -> RuleFinding {
        let when = (when.0 * MS, when.1 * MS);
        let mut finding = RuleFinding::new(FindingSubject::new(kind, name), format!("{name} is slow"))
            .cost(Cost::at_most(when.1 - when.0))
            .active_during(when)
            .evidence(when.0, "start");
        finding.code = code;
        finding
    }

    /// Merges `findings` with those of the general rule. Returns code, name, cost in ms and folded codes.
    fn merged(
        phases: &[AccountedPhase],
        mut findings: Vec<RuleFinding>,
    ) -> Vec<(&'static str, String, i64, Vec<&'static str>)> {
        for culprit in culprits(phases) {
            let mut finding = critical_path_time(&culprit);
            finding.code = TIME_ON_PATH;
            findings.push(finding);
        }
        let services_of =
            |pid: u32, _: i64| if pid == 8 { vec!["Other".to_owned(), "Agent".to_owned()] } else { Vec::new() };
        let mut results: Vec<_> = Attribution { phases, services_of: &services_of }
            .merge(findings)
            .into_iter()
            .map(|finding| {
                let folded = finding.folded.iter().map(|folded| folded.code).collect();
                (finding.code, finding.subject.name, finding.cost_ns.unwrap_or(-MS) / MS, folded)
            })
            .collect();
        results.sort_by_key(|result| std::cmp::Reverse(result.2));
        results
    }

    use AccountSubjectKind::{Driver, Process, Script, Service};

    #[test]
    fn merges_findings_of_one_driver_with_cost_from_account() {
        let phases =
            [phase("PreSMSS", vec![entry(Driver, "Ramdisk", (0, 15_000)), entry(Process, "System", (15_000, 17_000))])];
        let rules = ["boot/driver-start-not-pended", "boot/driver-load-slow", "boot/driver-enumeration-not-pended"];
        let times = [(9_000, 12_000), (0, 9_000), (12_000, 15_000)];
        let findings = rules
            .into_iter()
            .zip(times)
            .map(|(code, when)| rule_finding(code, FindingSubjectKind::Driver, "RAMDISK.SYS", when));
        let long = rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "PreSMSS", (0, 17_000));
        let results = merged(&phases, findings.chain([long]).collect());
        let folded = vec!["boot/driver-enumeration-not-pended", "boot/driver-start-not-pended", PHASE_BEYOND_NORMAL];
        assert_eq!(results, [("boot/driver-load-slow", "Ramdisk".to_owned(), 15_000, folded)]);
    }

    #[test]
    fn folds_enclosing_finding_into_innermost() {
        let phases = [phase(
            "WinLogonInit",
            vec![entry(Script, "logon.cmd", (1_000, 4_000)), entry(Service, "Agent", (4_000, 6_000))],
        )];
        let script = rule_finding("boot/policy-script", FindingSubjectKind::Work, "logon", (1_000, 4_000));
        let policy = rule_finding("boot/policy-slow", FindingSubjectKind::Work, "policy for the user", (900, 4_100));
        let service = rule_finding("boot/service-start-slow", FindingSubjectKind::Service, "agent", (3_500, 6_000));
        let mut hog = rule_finding("boot/cpu-hog", FindingSubjectKind::Process, "agentsvc.exe", (4_000, 6_000));
        hog.subject.pid = Some(8);
        let results = merged(&phases, vec![policy, hog, service, script]);
        assert_eq!(results[0].1, "logon.cmd");
        assert_eq!((results[0].2, results[0].3.len()), (3_000, 1), "{results:?}");
        assert_eq!(results[1], ("boot/service-start-slow", "Agent".to_owned(), 2_000, vec!["boot/cpu-hog"]));
        assert_eq!(results.len(), 2);
    }

    #[test]
    fn cpu_hog_without_own_path_time_costs_nothing() {
        let phases = |own_ms: i64| {
            [phase(
                "WinLogonInit",
                vec![entry(Driver, "netslow", (0, 3_200)), entry(Process, "agent.exe", (3_200, 3_200 + own_ms))],
            )]
        };
        let hog = || rule_finding(CPU_HOG, FindingSubjectKind::Process, "agent.exe", (0, 4_000));
        let costs = |own_ms| {
            let results = merged(&phases(own_ms), vec![hog()]);
            results.into_iter().map(|result| (result.1, result.2)).collect::<Vec<_>>()
        };
        assert_eq!(costs(880), [("netslow".to_owned(), 3_200), ("agent.exe".to_owned(), 0)]);
        assert!(costs(2_100).contains(&("agent.exe".to_owned(), 2_100)));
    }

    #[test]
    fn finding_naming_subject_leads_enclosing_one() {
        let phases = [phase("WinLogonInit", vec![entry(Process, "scanner.exe", (1_000, 4_000))])];
        let policy =
            rule_finding("boot/policy-slow", FindingSubjectKind::Work, "policy for the computer", (900, 4_100));
        let hog = rule_finding(CPU_HOG, FindingSubjectKind::Process, "scanner.exe", (1_000, 4_000));
        let results = merged(&phases, vec![policy, hog]);
        assert_eq!(results, [(CPU_HOG, "scanner.exe".to_owned(), 3_000, vec!["boot/policy-slow"])]);
    }

    #[test]
    fn reports_subject_on_path_but_not_off_path() {
        let phases = [phase(
            "SMSSInit",
            vec![entry(Process, "autochk.exe", (0, 9_000)), entry(Process, "quick.exe", (9_000, 9_900))],
        )];
        let results = merged(&phases, Vec::new());
        assert_eq!(results, [(TIME_ON_PATH, "autochk.exe".to_owned(), 9_000, vec![])]);
        // A process that ran in parallel, off the path, costs nothing.
        let decoy = rule_finding("boot/cpu-hog", FindingSubjectKind::Process, "decoy.exe", (0, 9_900));
        let results = merged(&phases, vec![decoy]);
        let costs: Vec<(&str, i64)> = results.iter().map(|result| (result.1.as_str(), result.2)).collect();
        assert_eq!(costs, [("autochk.exe", 9_000), ("decoy.exe", 0)]);
        // A quick process alone is not reported.
        assert_eq!(merged(&[phase("SMSSInit", vec![entry(Process, "quick.exe", (0, 900))])], Vec::new()), []);
    }

    #[test]
    fn folds_long_phase_into_its_cause() {
        let phases = [phase("SMSSInit", vec![entry(Process, "smss.exe", (0, 1_112_000))])];
        let long = rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "SMSSInit", (0, 1_112_000));
        let results = merged(&phases, vec![long]);
        assert_eq!(results, [(TIME_ON_PATH, "smss.exe".to_owned(), -1, vec![PHASE_BEYOND_NORMAL])]);
    }

    #[test]
    fn unexplained_long_phase_is_about_the_transition() {
        let long = || rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "WinLogonInit", (0, 90_000));
        let unknown = AccountEntry {
            unknown_reason: Some(UnknownReason::NoContextSwitches),
            ..entry(AccountSubjectKind::Unknown, "", (0, 80_000))
        };
        let mut mostly_unknown = phase("WinLogonInit", vec![unknown, entry(Process, "a.exe", (80_000, 90_000))]);
        mostly_unknown.account.unknown_ns = 80_000 * MS;
        let many: Vec<AccountEntry> =
            (0..9).map(|index| entry(Driver, &format!("d{index}"), (index * 10_000, (index + 1) * 10_000))).collect();
        for (phase, expected) in [
            (mostly_unknown, "80.0 s of it is unattributed: context switches were not recorded"),
            (phase("WinLogonInit", many), "many subjects contributed, d0 the most (10.0 s)"),
        ] {
            let services_of = |_: u32, _: i64| Vec::new();
            let phases = [phase];
            let results = Attribution { phases: &phases, services_of: &services_of }.merge(vec![long()]);
            assert_eq!(results.len(), 1);
            assert_eq!(results[0].subject, FindingSubject::new(FindingSubjectKind::Transition, ""));
            assert_eq!(results[0].phase.as_deref(), Some("WinLogonInit"));
            assert!(results[0].title.ends_with(expected), "{}", results[0].title);
        }
    }

    #[test]
    fn account_decides_subject_of_video_driver_gap() {
        let gap = || {
            let mut gap =
                rule_finding(VIDEO_DRIVER, FindingSubjectKind::Work, "video driver (system session)", (0, 4_000));
            gap.title = "the video driver took 4.00 s".to_owned();
            gap
        };
        let inferred = [phase("SMSSInit", vec![entry(Driver, VIDEO_DRIVERS[0], (0, 4_000))])];
        assert_eq!(merged(&inferred, vec![gap()])[0].1, "video driver (system session)");
        let other = [phase(
            "SMSSInit",
            vec![entry(Process, "smss.exe", (0, 3_500)), entry(Driver, VIDEO_DRIVERS[0], (3_500, 4_000))],
        )];
        assert_eq!(merged(&other, vec![gap()])[0], (VIDEO_DRIVER, "smss.exe".to_owned(), 3_500, vec![]));
    }
}
