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
    own_ns: i64,
    /// True if the rule named a process and the account names the service it hosts.
    is_of_host: bool,
    /// True if the rule named the subject, instead of something that encloses it.
    is_named: bool,
    places: Vec<EntryIndex>,
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
        attributed.sort_by_key(|one| {
            let is_general = one.finding.code == TIME_ON_PATH;
            let priority = std::cmp::Reverse((one.places.len(), !one.is_of_host, one.is_named, one.own_ns));
            (is_general, priority, one.finding.code)
        });
        let mut leading: Vec<AttributedFinding> = Vec::new();
        for one in attributed {
            let shared = leading.iter_mut().find(|known| self.is_same_cause(known, &one));
            match shared {
                Some(known) => {
                    self.take_over(known, &one);
                    fold(&mut known.finding, one.finding);
                }
                None => leading.push(one),
            }
        }
        for phase in long_phases {
            self.fold_long_phase(phase, &mut leading);
        }
        leading.into_iter().map(|one| one.finding).collect()
    }

    /// True if `other` is about a subject that `known` already covers.
    fn is_same_cause(&self, known: &AttributedFinding, other: &AttributedFinding) -> bool {
        if known.finding.transition != other.finding.transition {
            return false;
        }
        if !other.places.is_empty() && !known.places.is_empty() {
            return other.places.iter().all(|place| known.places.contains(place));
        }
        let disk = |one: &RuleFinding| (one.subject.kind == FindingSubjectKind::Disk).then(|| one.subject.name.clone());
        if other.finding.code == TIME_ON_PATH
            && disk(&known.finding).is_some()
            && disk(&known.finding) == disk(&other.finding)
        {
            return true;
        }
        // Files and disks have no entry of their own here: if they account for most of a subject's time, they lead.
        other.finding.code == TIME_ON_PATH
            && matches!(known.finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
            && known.places.is_empty()
            && known.own_ns.saturating_mul(MIN_SUBJECT_PART) >= other.own_ns
            && other.places.iter().any(|&(phase, _)| {
                let account = self.phases.get(phase).map(|phase| &phase.account);
                let times = known
                    .finding
                    .evidence
                    .iter()
                    .filter_map(|one| one.time_ns)
                    .chain(known.finding.when.map(|it| it.0));
                account.is_some_and(|account| times.into_iter().any(|at| at >= account.start_ns && at < account.end_ns))
            })
    }

    /// Attributes a finding: its subject, phase and cost become those of the matching entry.
    fn attribute(&self, mut finding: RuleFinding) -> AttributedFinding {
        let Some(own_ns) = finding.cost_ns else {
            // A finding without a cost has no time to attribute, except for a system component that took long.
            let places = self.entry_about(&finding).filter(|_| finding.code == TIME_ON_PATH).into_iter().collect();
            return AttributedFinding { finding, own_ns: 0, is_of_host: false, is_named: false, places };
        };
        let names: Vec<&str> = finding.subject.name.split(" → ").flat_map(|part| part.split(", ")).collect();
        let mut places: Vec<EntryIndex> = Vec::new();
        if names.len() > 1 {
            places = names.iter().filter_map(|name| self.entry_named(&finding, name)).collect();
            let phase = places.first().map(|place| place.0);
            // The sum is meaningful only if all of them are in one phase.
            if places.len() < names.len() || places.iter().any(|place| Some(place.0) != phase) {
                places.clear();
            }
            places.sort();
            places.dedup();
        } else if SETTLING_RULES.contains(&finding.code) {
            places.extend(self.first_while_settling());
        } else if let Some(place) = self.entry_about(&finding) {
            places.push(place);
        }
        if finding.code == VIDEO_DRIVER {
            return self.attribute_video_driver(finding, own_ns);
        }
        let Some(&(first, _)) = places.first() else {
            if self.attribute_unit(&mut finding) {
                return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places };
            }
            self.limit_parallel_cost(&mut finding);
            self.drop_foreign_cost(&mut finding);
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places };
        };
        let Some(phase) = self.phases.get(first) else {
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places };
        };
        finding.phase = Some(phase.phase.clone());
        let is_named = self.entry_named(&finding, &finding.subject.name).is_some_and(|place| places.contains(&place));
        let entries: Vec<&AccountEntry> = places.iter().filter_map(|&place| self.entry(place)).collect();
        let is_of_host = finding.subject.kind == FindingSubjectKind::Process
            && entries.iter().any(|entry| entry.kind == AccountSubjectKind::Service);
        // The callbacks of a device in several phases of a sleep are one finding but several entries.
        let has_own_cost = [SLEEP_DEVICE, UNIT_CHAIN].contains(&finding.code);
        if phase.account.measure != AccountMeasure::RecordedWork && !has_own_cost {
            take_from_account(&mut finding, phase, &entries);
        }
        AttributedFinding { finding, own_ns, is_of_host, is_named, places }
    }

    /// Drops the cost of a CPU-heavy program with little time on the critical path: what ran was interrupts and
    /// deferred procedure calls of other subjects.
    fn drop_foreign_cost(&self, finding: &mut RuleFinding) {
        let its = self.entry_named(finding, &finding.subject.name).filter(|_| finding.code == CPU_HOG);
        let Some(((phase, _), entry)) = its.and_then(|place| Some((place, self.entry(place)?))) else { return };
        let is_path = self.phases.get(phase).is_some_and(|phase| phase.account.measure == AccountMeasure::CriticalPath);
        if is_path && entry.ns < crate::thresholds::HOG_NS {
            finding.cost_ns = Some(0);
        }
    }

    /// Limits the cost of a unit to its account entry: for the rest of the wait, others used the CPU or were waited
    /// for. Returns false if the account has no such entry.
    fn attribute_unit(&self, finding: &mut RuleFinding) -> bool {
        let place = match finding.subject.kind {
            FindingSubjectKind::Service => self.entry_named(finding, &finding.subject.name),
            _ => None,
        };
        let Some((phase, entry)) = place.and_then(|place| Some((self.phases.get(place.0)?, self.entry(place)?))) else {
            return false;
        };
        let own_ns = finding.cost_ns.unwrap_or(0);
        if phase.account.measure == AccountMeasure::RecordedWork {
            subtract_loaded_drivers(finding, &phase.account, own_ns);
            return true;
        }
        let is_path = phase.account.measure == AccountMeasure::CriticalPath;
        if entry.kind != AccountSubjectKind::Unit || !is_path || entry.ns >= own_ns {
            return false;
        }
        let rest = own_ns.saturating_sub(entry.ns);
        finding.cost_ns = Some(entry.ns);
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
        let text =
            format!("{}; for the other {} others used the CPU or were waited for", activities(entry), time(rest));
        let time_ns = entry.intervals.first().map(|one| one.start_ns);
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
        let begins = finding.when.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|one| one.time_ns));
        let phase = begins
            .and_then(|at| self.phases.iter().find(|phase| at >= phase.account.start_ns && at < phase.account.end_ns));
        let Some(phase) = phase.filter(|phase| phase.account.measure == AccountMeasure::CriticalPath) else { return };
        let account = &phase.account;
        let explained = account
            .entries
            .iter()
            .filter(|entry| entry.kind.is_attributable() && !onoff_blame::account::is_system_component(entry))
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        let is_known = account.unknown_ns.saturating_mul(MAX_UNKNOWN_PART) < account.duration_ns;
        if !is_subject
            || finding.cost_basis != CostBasis::AtMost
            || !is_known
            || explained.saturating_mul(MIN_SUBJECT_PART) < account.duration_ns
        {
            return;
        }
        let its = account.entries.iter().filter(|entry| {
            without_extension(&entry.name).eq_ignore_ascii_case(without_extension(&finding.subject.name))
        });
        finding.cost_ns = Some(its.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns)));
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
    }

    /// The subject that used the most after the desktop or a resume.
    fn first_while_settling(&self) -> Option<EntryIndex> {
        let (at, phase) = self
            .phases
            .iter()
            .enumerate()
            .find(|(_, phase)| has_no_path(&phase.phase) && phase.account.measure == AccountMeasure::BusySlices)?;
        let place = phase.account.entries.iter().position(|entry| entry.kind.is_attributable())?;
        Some((at, place))
    }

    /// Attributes a finding about files or a disk to the subject that took their time: a driver that waited for them,
    /// or a file.
    fn take_over(&self, known: &mut AttributedFinding, general: &AttributedFinding) {
        let is_close =
            known.own_ns.abs_diff(general.own_ns).saturating_mul(MAX_DIFFERENCE_PART) <= known.own_ns.unsigned_abs();
        if general.finding.code == TIME_ON_PATH
            && known.places.is_empty()
            && matches!(known.finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
            && is_close
            && let [place] = general.places.as_slice()
            && let (Some(phase), Some(entry)) = (self.phases.get(place.0), self.entry(*place))
        {
            known.places.push(*place);
            known.finding.phase = Some(phase.phase.clone());
            take_from_account(&mut known.finding, phase, &[entry]);
        }
    }

    /// The video driver is inferred from the gap between two process starts: if another subject took most of the gap,
    /// it leads.
    fn attribute_video_driver(&self, mut finding: RuleFinding, own_ns: i64) -> AttributedFinding {
        let Some(when) = finding.when else {
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        let Some((place, ns)) = self.largest_within(when, |_| true) else {
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        let (Some(phase), Some(entry)) = (self.phases.get(place.0), self.entry(place)) else {
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        finding.phase = Some(phase.phase.clone());
        if ns.saturating_mul(MIN_SUBJECT_PART) < own_ns {
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        }
        let cost = match phase.account.measure {
            AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
            _ => Cost::at_most(entry.ns),
        };
        if VIDEO_DRIVERS.contains(&entry.name.as_str()) {
            finding.subject.name.clone_from(&entry.name);
            finding = finding.cost(cost);
            return AttributedFinding { finding, own_ns, is_of_host: false, is_named: true, places: vec![place] };
        }
        finding.title =
            format!("{} blocked the session for {}, when the video driver usually initializes", entry.name, time(ns));
        finding.advice = advice(entry);
        finding.certainty = entry.certainty;
        finding.subject = subject(entry);
        finding = finding.cost(cost).evidence(entry.intervals.first().map(|one| one.start_ns), activities(entry));
        AttributedFinding { finding, own_ns: ns, is_of_host: false, is_named: false, places: vec![place] }
    }

    /// The entry a finding is about: the one with its name, else the one that took most of its time.
    fn entry_about(&self, finding: &RuleFinding) -> Option<EntryIndex> {
        let own_ns = finding.cost_ns.unwrap_or(0);
        let named = self.entry_named(finding, &finding.subject.name);
        if let Some(place) = named
            && self
                .entry(place)
                .is_some_and(|entry| entry.ns > 0 && entry.ns.saturating_mul(MIN_SUBJECT_PART) >= own_ns)
        {
            return Some(place);
        }
        let is_enclosing = matches!(
            finding.subject.kind,
            FindingSubjectKind::Service
                | FindingSubjectKind::Work
                | FindingSubjectKind::Device
                | FindingSubjectKind::Driver
        );
        let within = finding
            .when
            .filter(|_| is_enclosing)
            .and_then(|when| self.largest_within(when, |entry| !onoff_blame::account::is_system_component(entry)));
        within.filter(|&(_, ns)| ns.saturating_mul(MIN_SUBJECT_PART) >= own_ns && ns > 0).map(|(place, _)| place)
    }

    /// The entry with that name in the phase where the finding's evidence starts, else where it took longest.
    fn entry_named(&self, finding: &RuleFinding, name: &str) -> Option<EntryIndex> {
        let name = name.trim();
        let begins = finding.when.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|one| one.time_ns));
        let hosted = finding
            .subject
            .pid
            .filter(|_| finding.subject.kind == FindingSubjectKind::Process)
            .map_or_else(Vec::new, |pid| (self.services_of)(pid, begins.unwrap_or(i64::MAX)));
        let is_its = |entry: &AccountEntry| match finding.subject.kind {
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
            _ => entry_of_general(finding, entry),
        };
        let mut best: Option<(bool, i64, EntryIndex)> = None;
        for (at, phase) in self.phases.iter().enumerate() {
            if finding.phase.as_ref().is_some_and(|known| *known != phase.phase) {
                continue;
            }
            let account = &phase.account;
            let is_there = begins.is_some_and(|at| at >= account.start_ns && at < account.end_ns);
            for (place, entry) in account.entries.iter().enumerate().filter(|(_, entry)| is_its(entry)) {
                if best.is_none_or(|(there, ns, _)| (is_there, entry.ns) > (there, ns)) {
                    best = Some((is_there, entry.ns, (at, place)));
                }
            }
        }
        best.map(|(_, _, place)| place)
    }

    /// The entry that took most of an interval on the critical path, with that time.
    fn largest_within(&self, when: Interval, wanted: impl Fn(&AccountEntry) -> bool) -> Option<(EntryIndex, i64)> {
        let mut best: Option<(EntryIndex, i64)> = None;
        for (at, phase) in self.phases.iter().enumerate().filter(|(_, phase)| !has_no_path(&phase.phase)) {
            for (place, entry) in phase.account.entries.iter().enumerate() {
                if !entry.kind.is_attributable() || !wanted(entry) {
                    continue;
                }
                let intervals = entry.intervals.iter().map(|one| (one.start_ns, one.end_ns)).collect();
                let ns = covered_ns(intervals, when);
                if ns > best.map_or(0, |known| known.1) {
                    best = Some(((at, place), ns));
                }
            }
        }
        best
    }

    fn entry(&self, (phase, entry): EntryIndex) -> Option<&AccountEntry> {
        self.phases.get(phase)?.account.entries.get(entry)
    }

    /// A long phase is not a cause: the finding about what took the time leads, and the phase is folded into it.
    fn fold_long_phase(&self, finding: RuleFinding, leading: &mut Vec<AttributedFinding>) {
        let name = &finding.subject.name;
        let length = self.phases.iter().find(|phase| phase.phase == *name).map(|phase| phase.account.duration_ns);
        let in_it = leading.iter_mut().filter(|one| {
            let is_in_it = one.finding.phase.as_ref() == Some(name) || self.begins_in(&one.finding, name);
            let ns = one.finding.cost_ns.unwrap_or(0);
            let is_system = one.finding.code == TIME_ON_PATH && one.finding.cost_ns.is_none();
            is_in_it && (is_system || length.is_none_or(|length| ns.saturating_mul(MIN_PHASE_PART) >= length))
        });
        match in_it.max_by_key(|one| one.finding.cost_ns) {
            Some(known) => fold(&mut known.finding, finding),
            None => {
                let finding = self.unexplained_phase(finding);
                leading.push(AttributedFinding {
                    finding,
                    own_ns: 0,
                    is_of_host: false,
                    is_named: false,
                    places: Vec::new(),
                });
            }
        }
    }

    /// A long phase without a dominant subject: the finding is about the transition and describes what is known.
    fn unexplained_phase(&self, mut finding: RuleFinding) -> RuleFinding {
        let phase = self.phases.iter().find(|phase| phase.phase == finding.subject.name);
        let account = phase.map(|phase| &phase.account);
        let unknown =
            |account: &&PhaseAccount| account.unknown_ns.saturating_mul(MIN_SUBJECT_PART) >= account.duration_ns;
        let most = account.and_then(|account| account.first());
        let explanation = match (account.filter(unknown), most) {
            (Some(account), _) => {
                let why = account.entries.iter().find_map(|entry| entry.unknown_reason);
                let why = why.map_or("nothing was recorded", UnknownReason::phrase);
                format!("{} of it is unattributed: {why}", time(account.unknown_ns))
            }
            (None, Some(most)) => format!("many subjects took part, most of all {} ({})", most.name, time(most.ns)),
            (None, None) => "what took the time is unknown".to_owned(),
        };
        finding.title = format!("{}; {explanation}", finding.title);
        finding.phase = Some(std::mem::take(&mut finding.subject.name));
        finding.subject.kind = FindingSubjectKind::Transition;
        finding
    }

    fn begins_in(&self, finding: &RuleFinding, phase: &str) -> bool {
        let account = self.phases.iter().find(|one| one.phase == phase).map(|one| &one.account);
        let begins = finding.evidence.iter().find_map(|one| one.time_ns);
        account.zip(begins).is_some_and(|(account, at)| at >= account.start_ns && at < account.end_ns)
    }
}

/// True if the finding of the general rule was created from this entry.
fn entry_of_general(finding: &RuleFinding, entry: &AccountEntry) -> bool {
    finding.code == TIME_ON_PATH && entry.name == finding.subject.name && subject(entry).kind == finding.subject.kind
}

fn fold(leading: &mut RuleFinding, other: RuleFinding) {
    // A finding about a disk lists what waited for it.
    if leading.subject.kind == FindingSubjectKind::Disk
        && matches!(other.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
    {
        let time_ns = other.evidence.iter().find_map(|one| one.time_ns);
        leading.evidence.push(FindingEvidence { time_ns, text: other.title.clone() });
    }
    if other.code != TIME_ON_PATH {
        leading.folded.push(FoldedFinding { code: other.code, title: other.title });
        leading.folded.extend(other.folded);
    }
}

/// Subtracts the time of drivers that a unit loaded from its cost, if the account is based on recorded work.
fn subtract_loaded_drivers(finding: &mut RuleFinding, account: &PhaseAccount, own_ns: i64) {
    let Some(start_ns) =
        finding.when.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|one| one.time_ns))
    else {
        return;
    };
    let window = (start_ns, start_ns.saturating_add(own_ns));
    let drivers = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Driver);
    let within =
        |entry: &AccountEntry| covered_ns(entry.intervals.iter().map(|it| (it.start_ns, it.end_ns)).collect(), window);
    let mut loaded: Vec<(i64, &str)> = drivers.map(|entry| (within(entry), entry.name.as_str())).collect();
    loaded.retain(|&(ns, _)| ns > 0);
    loaded.sort_by(|a, b| b.cmp(a));
    let loaded_ns = loaded.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if loaded_ns.saturating_mul(MIN_SUBJECT_PART) < own_ns {
        return;
    }
    let names: Vec<String> =
        loaded.iter().take(MAX_ACTIVITIES).map(|&(ns, name)| format!("{name} {}", time(ns))).collect();
    finding.cost_ns = Some(own_ns.saturating_sub(loaded_ns));
    let text = format!("drivers it loaded account for {} of it: {}", time(loaded_ns), names.join(", "));
    finding.evidence.push(FindingEvidence { time_ns: None, text });
}

/// Sets name, cost and evidence of a finding from the account.
fn take_from_account(finding: &mut RuleFinding, phase: &AccountedPhase, entries: &[&AccountEntry]) {
    if finding.code == TIME_ON_PATH {
        return;
    }
    let ns = entries.iter().fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
    let own_ns = finding.cost_ns.replace(ns);
    if phase.account.measure == AccountMeasure::CriticalPath {
        finding.cost_basis = CostBasis::CriticalPath;
    } else if finding.cost_basis == CostBasis::Unknown {
        finding.cost_basis = CostBasis::AtMost;
    }
    let certainty = entries.iter().fold(Certainty::Measured, |sum, entry| sum.and(entry.certainty));
    finding.certainty = finding.certainty.and(certainty);
    let [entry] = entries else {
        if phase.account.measure == AccountMeasure::CriticalPath {
            // In the order on the critical path, like the account.
            let mut members = entries.to_vec();
            members.sort_by_key(|entry| entry.intervals.first().map(|one| one.start_ns));
            let names: Vec<&str> = members.iter().map(|entry| entry.name.as_str()).collect();
            finding.subject.name = names.join(" → ");
        }
        return;
    };
    let is_same_name = finding.subject.name.eq_ignore_ascii_case(&entry.name);
    let begins = entry.intervals.first().map(|one| one.start_ns);
    let shown = PhaseName::parse(&phase.phase).map_or_else(|| phase.phase.clone(), PhaseName::display_name);
    let text = format!("critical path of {shown}: {}", activities(entry));
    let is_named = finding.title.to_lowercase().contains(&entry.name.to_lowercase());
    let own_ns = own_ns.unwrap_or(ns);
    let is_far = own_ns.abs_diff(ns).saturating_mul(MAX_DIFFERENCE_PART) > ns.unsigned_abs();
    // The account names kernel steps by code; the rule has a description.
    let is_device = finding.subject.kind == FindingSubjectKind::Device || entry.kind == AccountSubjectKind::Kernel;
    if phase.account.measure == AccountMeasure::CriticalPath && (is_far || !is_named && !is_device) {
        finding.title = match (entry.kind, is_far) {
            (AccountSubjectKind::Script, false) if finding.code.ends_with("script") => {
                format!("{} script {} took {}", finding.subject.name, entry.name, time(entry.ns))
            }
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
    finding.evidence.push(FindingEvidence { time_ns: begins, text });
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
        let parts: Vec<String> = readers.map(|one| format!("{} waited for it {}", one.name, time(one.ns))).collect();
        return parts.join(", ");
    }
    let parts: Vec<String> = entry
        .actions
        .iter()
        .filter(|share| share.action != AccountAction::Nothing && share.ns.saturating_mul(100) >= entry.ns)
        .take(MAX_ACTIVITIES)
        .map(|share| format!("{} {}", share.action.phrase_of(entry.kind), time(share.ns)))
        .collect();
    if parts.is_empty() { entry.name.clone() } else { format!("{} {}", entry.name, parts.join(", ")) }
}

/// Advice about a subject that no other rule covers.
fn advice(entry: &AccountEntry) -> String {
    let most = entry.actions.first().map(|share| share.action);
    let text = match (entry.kind, most) {
        (_, Some(AccountAction::OccupiedCpu)) => "lower its priority, start it later, or reduce its work",
        (AccountSubjectKind::File, _) => {
            "find out why it takes so long to read: its size, the health of its disk, or what scans it"
        }
        (AccountSubjectKind::Disk, _) => "check the disk's health and what is read from it; consider a faster disk",
        (AccountSubjectKind::Driver, _) => "look for a newer driver; remove the device if it is not needed",
        (_, Some(AccountAction::WaitedForDisk | AccountAction::OccupiedDisk)) => {
            "check which files it reads and writes, and whether it can do that later"
        }
        (_, Some(AccountAction::WaitedForTimer)) => "find out what it waits for: it waited for a timeout or a delay",
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
        Some(reader) => format!("{} waited {} of {phase} for {}", reader.name, time(entry.ns), entry.name),
        None => format!("{} was on the critical path of {phase} for {}", entry.name, time(entry.ns)),
    };
    let mut finding = RuleFinding::new(subject(entry), title)
        .cost(cost)
        .certainty(entry.certainty)
        .evidence(entry.intervals.first().map(|one| one.start_ns), activities(entry))
        .advice(format!("{} ('onoff why FILE --phase {}' shows the critical path)", advice(entry), culprit.phase));
    finding.phase = Some(culprit.phase.clone());
    finding
}

/// Creates the finding about a phase without a single cause: more threads were ready than CPUs available.
fn cpu_bound(culprit: &Culprit, phase: &str) -> RuleFinding {
    let entry = &culprit.entry;
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, entry.name.clone()),
        format!("no CPU was free for {} of {phase}", time(entry.ns)),
    )
    .cost(Cost::at_most(entry.ns))
    .certainty(entry.certainty)
    .evidence(
        entry.intervals.first().map(|one| one.start_ns),
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
    let cut =
        name.len().checked_sub(4).filter(|&at| name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")));
    cut.and_then(|at| name.get(..at)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_blame::account::{AccountInterval, ActionShare, PhaseAccount, culprits};

    const MS: i64 = 1_000_000;

    fn entry(kind: AccountSubjectKind, name: &str, (from, to): Interval) -> AccountEntry {
        AccountEntry {
            kind,
            name: name.to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            unknown_reason: None,
            ns: (to - from) * MS,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            actions: vec![ActionShare { action: AccountAction::WaitedForTimer, ns: (to - from) * MS }],
            intervals: vec![AccountInterval { start_ns: from * MS, end_ns: to * MS }],
            interval_count: 1,
        }
    }

    fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
        let start_ns = entries.iter().map(|one| one.intervals[0].start_ns).min().unwrap();
        let end_ns = entries.iter().map(|one| one.intervals[0].end_ns).max().unwrap();
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
        let mut left: Vec<_> = Attribution { phases, services_of: &services_of }
            .merge(findings)
            .into_iter()
            .map(|one| {
                let folded = one.folded.iter().map(|folded| folded.code).collect();
                (one.code, one.subject.name, one.cost_ns.unwrap_or(-MS) / MS, folded)
            })
            .collect();
        left.sort_by_key(|one| std::cmp::Reverse(one.2));
        left
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
        let left = merged(&phases, findings.chain([long]).collect());
        let folded = vec!["boot/driver-enumeration-not-pended", "boot/driver-start-not-pended", PHASE_BEYOND_NORMAL];
        assert_eq!(left, [("boot/driver-load-slow", "Ramdisk".to_owned(), 15_000, folded)]);
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
        let left = merged(&phases, vec![policy, hog, service, script]);
        assert_eq!(left[0].1, "logon.cmd");
        assert_eq!((left[0].2, left[0].3.len()), (3_000, 1), "{left:?}");
        assert_eq!(left[1], ("boot/service-start-slow", "Agent".to_owned(), 2_000, vec!["boot/cpu-hog"]));
        assert_eq!(left.len(), 2);
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
            let left = merged(&phases(own_ms), vec![hog()]);
            left.into_iter().map(|one| (one.1, one.2)).collect::<Vec<_>>()
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
        let left = merged(&phases, vec![policy, hog]);
        assert_eq!(left, [(CPU_HOG, "scanner.exe".to_owned(), 3_000, vec!["boot/policy-slow"])]);
    }

    #[test]
    fn reports_subject_on_path_but_not_off_path() {
        let phases = [phase(
            "SMSSInit",
            vec![entry(Process, "autochk.exe", (0, 9_000)), entry(Process, "quick.exe", (9_000, 9_900))],
        )];
        let left = merged(&phases, Vec::new());
        assert_eq!(left, [(TIME_ON_PATH, "autochk.exe".to_owned(), 9_000, vec![])]);
        // A process that ran in parallel, off the path, costs nothing.
        let decoy = rule_finding("boot/cpu-hog", FindingSubjectKind::Process, "decoy.exe", (0, 9_900));
        let left = merged(&phases, vec![decoy]);
        let costs: Vec<(&str, i64)> = left.iter().map(|one| (one.1.as_str(), one.2)).collect();
        assert_eq!(costs, [("autochk.exe", 9_000), ("decoy.exe", 0)]);
        // A quick process alone is not reported.
        assert_eq!(merged(&[phase("SMSSInit", vec![entry(Process, "quick.exe", (0, 900))])], Vec::new()), []);
    }

    #[test]
    fn folds_long_phase_into_its_cause() {
        let phases = [phase("SMSSInit", vec![entry(Process, "smss.exe", (0, 1_112_000))])];
        let long = rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "SMSSInit", (0, 1_112_000));
        let left = merged(&phases, vec![long]);
        assert_eq!(left, [(TIME_ON_PATH, "smss.exe".to_owned(), -1, vec![PHASE_BEYOND_NORMAL])]);
    }

    #[test]
    fn unexplained_long_phase_is_about_the_transition() {
        let long = || rule_finding(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "WinLogonInit", (0, 90_000));
        let unknown = AccountEntry {
            unknown_reason: Some(UnknownReason::NoContextSwitches),
            ..entry(AccountSubjectKind::Unknown, "", (0, 80_000))
        };
        let mut not_known = phase("WinLogonInit", vec![unknown, entry(Process, "a.exe", (80_000, 90_000))]);
        not_known.account.unknown_ns = 80_000 * MS;
        let many: Vec<AccountEntry> =
            (0..9).map(|at| entry(Driver, &format!("d{at}"), (at * 10_000, (at + 1) * 10_000))).collect();
        for (phase, expected) in [
            (not_known, "80.0 s of it is unattributed: context switches were not recorded"),
            (phase("WinLogonInit", many), "many subjects took part, most of all d0 (10.0 s)"),
        ] {
            let services_of = |_: u32, _: i64| Vec::new();
            let phases = [phase];
            let left = Attribution { phases: &phases, services_of: &services_of }.merge(vec![long()]);
            assert_eq!(left.len(), 1);
            assert_eq!(left[0].subject, FindingSubject::new(FindingSubjectKind::Transition, ""));
            assert_eq!(left[0].phase.as_deref(), Some("WinLogonInit"));
            assert!(left[0].title.ends_with(expected), "{}", left[0].title);
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
