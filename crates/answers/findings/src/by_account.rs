//! One cause, one finding: what rules found is held against the account of the transition.
//!
//! Rules say what to change; the account says whose the time was. A finding that a subject of the account explains takes its
//! name, its phase and its cost from there, so that every verb says the same. Findings of one subject are one: the one that
//! costs most leads, the others are folded below it. What encloses a subject (a policy around its script) is that subject's.

use onoff_blame::account::{
    AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, Culprit, Did, NotKnown, PhaseAccount,
    VIDEO_DRIVERS, has_no_path,
};
use onoff_evidence::Certainty;
use onoff_evidence::interval::covered_ns;
use onoff_transitions::PhaseName;

use crate::cost::{Cost, Stretch};
use crate::finding::{CostBasis, FindingEvidence, FindingSubject, FindingSubjectKind, FoldedFinding, RuleFinding};
use crate::quantities::time;

/// The code of the rule for whoever no other rule names.
pub(crate) const GENERAL: &str = "account/time-on-path";
/// The rule that says a phase took long: whoever took it leads.
const PHASE_BEYOND_NORMAL: &str = "boot/phase-beyond-normal";
/// The rule that infers a video driver from a gap: the account of the gap decides.
const VIDEO_DRIVER: &str = "boot/video-driver-slow";
/// The rule about programs that compute much.
const CPU_HOG: &str = "boot/cpu-hog";
/// The rule about a device's callbacks in all phases of a sleep of Linux.
const SLEEP_DEVICE: &str = "linux/sleep-device-slow";
/// The rule about services one after the other, whose cost is what they take beyond the longest.
const IN_A_ROW: &str = "linux/units-in-a-row";
/// Who took this part of what a rule says is who it is about: half.
const IS_ABOUT: i64 = 2;
/// Who took this part of a phase explains it: a fifth.
const EXPLAINS: i64 = 5;
/// With less than this part of a phase not known its account is complete: a twentieth.
const NOT_KNOWN: i64 = 20;
/// The rules about a computer that does not settle: who kept it busy most is their subject.
const SETTLING_RULES: [&str; 2] = ["boot/post-boot-busy", "suspend/post-resume-busy"];
/// A rule's own cost that is this near the account's says the same: a tenth.
const SAYS_THE_SAME: u64 = 10;
/// Parts of what a subject did that are told.
const TOLD_PARTS: usize = 3;

/// The account that findings are held against.
pub(crate) struct ByAccount<'a> {
    pub(crate) phases: &'a [AccountedPhase],
    /// The services that a process hosts, by its id and a time: ids are used again.
    pub(crate) services_of: &'a dyn Fn(u32, i64) -> Vec<String>,
}

/// A subject of a phase: places of the phase and of its entry.
type Place = (usize, usize);

/// A finding and the subjects that it is about.
struct Held {
    finding: RuleFinding,
    /// What its own rule says it costs, ns.
    own_ns: i64,
    /// Whether its rule named a process, and the account the service that it hosts.
    is_of_host: bool,
    /// Whether its rule itself named the subject: one that only encloses a subject does not.
    is_named: bool,
    places: Vec<Place>,
}

impl ByAccount<'_> {
    /// The findings of one transition, each cause once.
    pub(crate) fn settle(&self, findings: Vec<RuleFinding>) -> Vec<RuleFinding> {
        let mut held: Vec<Held> = Vec::new();
        let mut long_phases: Vec<RuleFinding> = Vec::new();
        for finding in findings {
            if finding.code == PHASE_BEYOND_NORMAL {
                long_phases.push(finding);
            } else {
                held.push(self.hold(finding));
            }
        }
        // Who names most of a chain, then who names the subject itself, then who costs most, then the most particular rule leads.
        held.sort_by_key(|one| {
            let is_general = one.finding.code == GENERAL;
            let most = std::cmp::Reverse((one.places.len(), !one.is_of_host, one.is_named, one.own_ns));
            (is_general, most, one.finding.code)
        });
        let mut leading: Vec<Held> = Vec::new();
        for one in held {
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
        leading.into_iter().map(|held| held.finding).collect()
    }

    /// Whether `other` is about a subject that `known` names already.
    fn is_same_cause(&self, known: &Held, other: &Held) -> bool {
        if known.finding.transition != other.finding.transition {
            return false;
        }
        if !other.places.is_empty() && !known.places.is_empty() {
            return other.places.iter().all(|place| known.places.contains(place));
        }
        let disk = |one: &RuleFinding| (one.subject.kind == FindingSubjectKind::Disk).then(|| one.subject.name.clone());
        if other.finding.code == GENERAL
            && disk(&known.finding).is_some()
            && disk(&known.finding) == disk(&other.finding)
        {
            return true;
        }
        // Files, disks and groups are no subjects of an account: where they hold most of what a subject took, they lead.
        other.finding.code == GENERAL
            && matches!(known.finding.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
            && known.places.is_empty()
            && known.own_ns.saturating_mul(IS_ABOUT) >= other.own_ns
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

    /// Holds a finding against the account: its subject, phase and cost become those of the entry that it is about.
    fn hold(&self, mut finding: RuleFinding) -> Held {
        let Some(own_ns) = finding.cost_ns else {
            // What costs nothing of its own is nobody's time; but a part of the system that took long is somebody.
            let places = self.about(&finding).filter(|_| finding.code == GENERAL).into_iter().collect();
            return Held { finding, own_ns: 0, is_of_host: false, is_named: false, places };
        };
        let names: Vec<&str> = finding.subject.name.split(" → ").flat_map(|part| part.split(", ")).collect();
        let mut places: Vec<Place> = Vec::new();
        if names.len() > 1 {
            places = names.iter().filter_map(|name| self.named(&finding, name)).collect();
            let phase = places.first().map(|place| place.0);
            // All of them and in one phase, or the sum means nothing.
            if places.len() < names.len() || places.iter().any(|place| Some(place.0) != phase) {
                places.clear();
            }
            places.sort();
            places.dedup();
        } else if SETTLING_RULES.contains(&finding.code) {
            places.extend(self.first_while_settling());
        } else if let Some(place) = self.about(&finding) {
            places.push(place);
        }
        if finding.code == VIDEO_DRIVER {
            return self.hold_video(finding, own_ns);
        }
        let Some(&(first, _)) = places.first() else {
            if self.hold_unit(&mut finding) {
                return Held { finding, own_ns, is_of_host: false, is_named: false, places };
            }
            self.bound(&mut finding);
            self.refute(&mut finding);
            return Held { finding, own_ns, is_of_host: false, is_named: false, places };
        };
        let Some(phase) = self.phases.get(first) else {
            return Held { finding, own_ns, is_of_host: false, is_named: false, places };
        };
        finding.phase = Some(phase.phase.clone());
        let is_named = self.named(&finding, &finding.subject.name).is_some_and(|place| places.contains(&place));
        let entries: Vec<&AccountEntry> = places.iter().filter_map(|&place| self.entry(place)).collect();
        let is_of_host = finding.subject.kind == FindingSubjectKind::Process
            && entries.iter().any(|entry| entry.kind == AccountSubjectKind::Service);
        // Callbacks of a device in several phases of a sleep are one finding, and no one entry.
        let has_own_cost = [SLEEP_DEVICE, IN_A_ROW].contains(&finding.code);
        if phase.account.measure != AccountMeasure::RecordedWork && !has_own_cost {
            take_from_account(&mut finding, phase, &entries);
        }
        Held { finding, own_ns, is_of_host, is_named, places }
    }

    /// A program that is said to compute much, and of whose time on the path little is its own: what ran were others' interrupts and
    /// deferred procedure calls.
    fn refute(&self, finding: &mut RuleFinding) {
        let its = self.named(finding, &finding.subject.name).filter(|_| finding.code == CPU_HOG);
        let Some(((phase, _), entry)) = its.and_then(|place| Some((place, self.entry(place)?))) else { return };
        let is_path = self.phases.get(phase).is_some_and(|phase| phase.account.measure == AccountMeasure::CriticalPath);
        if is_path && entry.ns < crate::thresholds::HOG_NS {
            finding.cost_ns = Some(0);
        }
    }

    /// A unit that was waited for costs what the account has of it: for the rest of the wait others had the processors, or were waited
    /// for in its place.
    fn hold_unit(&self, finding: &mut RuleFinding) -> bool {
        let place = match finding.subject.kind {
            FindingSubjectKind::Service => self.named(finding, &finding.subject.name),
            _ => None,
        };
        let Some((phase, entry)) = place.and_then(|place| Some((self.phases.get(place.0)?, self.entry(place)?))) else {
            return false;
        };
        let own_ns = finding.cost_ns.unwrap_or(0);
        if phase.account.measure == AccountMeasure::RecordedWork {
            hold_loader(finding, &phase.account, own_ns);
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
        let text = format!("{}; for the other {} others had the processors or were waited for", did(entry), time(rest));
        let time_ns = entry.stretches.first().map(|one| one.start_ns);
        finding.evidence.push(FindingEvidence { time_ns, text });
        true
    }

    /// Somebody who only ran beside a path that others explain costs what the account says, not the time that it ran.
    fn bound(&self, finding: &mut RuleFinding) {
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
            .filter(|entry| entry.kind.is_somebody() && !onoff_blame::account::is_of_every_transition(entry))
            .fold(0_i64, |sum, entry| sum.saturating_add(entry.ns));
        let is_known = account.not_known_ns.saturating_mul(NOT_KNOWN) < account.duration_ns;
        if !is_subject
            || finding.cost_basis != CostBasis::AtMost
            || !is_known
            || explained.saturating_mul(IS_ABOUT) < account.duration_ns
        {
            return;
        }
        let its = account
            .entries
            .iter()
            .filter(|entry| without_ending(&entry.name).eq_ignore_ascii_case(without_ending(&finding.subject.name)));
        finding.cost_ns = Some(its.fold(0_i64, |sum, entry| sum.saturating_add(entry.ns)));
        finding.cost_basis = CostBasis::CriticalPath;
        finding.phase = Some(phase.phase.clone());
    }

    /// Who kept the computer busy most after the desktop or a resume.
    fn first_while_settling(&self) -> Option<Place> {
        let (at, phase) = self
            .phases
            .iter()
            .enumerate()
            .find(|(_, phase)| has_no_path(&phase.phase) && phase.account.measure == AccountMeasure::BusySlices)?;
        let place = phase.account.entries.iter().position(|entry| entry.kind.is_somebody())?;
        Some((at, place))
    }

    /// A finding about files or a disk takes over the subject that took their time: a driver that waited for them, or the one file.
    fn take_over(&self, known: &mut Held, general: &Held) {
        let is_close =
            known.own_ns.abs_diff(general.own_ns).saturating_mul(SAYS_THE_SAME) <= known.own_ns.unsigned_abs();
        if general.finding.code == GENERAL
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

    /// The video driver is inferred from the gap between two starts: who else took most of that gap leads.
    fn hold_video(&self, mut finding: RuleFinding, own_ns: i64) -> Held {
        let Some(when) = finding.when else {
            return Held { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        let Some((place, ns)) = self.largest_within(when, |_| true) else {
            return Held { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        let (Some(phase), Some(entry)) = (self.phases.get(place.0), self.entry(place)) else {
            return Held { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        };
        finding.phase = Some(phase.phase.clone());
        if ns.saturating_mul(IS_ABOUT) < own_ns {
            return Held { finding, own_ns, is_of_host: false, is_named: false, places: Vec::new() };
        }
        let cost = match phase.account.measure {
            AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
            _ => Cost::at_most(entry.ns),
        };
        if VIDEO_DRIVERS.contains(&entry.name.as_str()) {
            finding.subject.name.clone_from(&entry.name);
            finding = finding.cost(cost);
            return Held { finding, own_ns, is_of_host: false, is_named: true, places: vec![place] };
        }
        finding.title =
            format!("{} held the session for {}, where the video driver usually initializes", entry.name, time(ns));
        finding.advice = advice(entry);
        finding.certainty = entry.certainty;
        finding.subject = subject(entry);
        finding = finding.cost(cost).evidence(entry.stretches.first().map(|one| one.start_ns), did(entry));
        Held { finding, own_ns: ns, is_of_host: false, is_named: false, places: vec![place] }
    }

    /// The subject that a finding is about: the one with its name, else the one that took most of its time.
    fn about(&self, finding: &RuleFinding) -> Option<Place> {
        let own_ns = finding.cost_ns.unwrap_or(0);
        let named = self.named(finding, &finding.subject.name);
        if let Some(place) = named
            && self.entry(place).is_some_and(|entry| entry.ns > 0 && entry.ns.saturating_mul(IS_ABOUT) >= own_ns)
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
            .and_then(|when| self.largest_within(when, |entry| !onoff_blame::account::is_of_every_transition(entry)));
        within.filter(|&(_, ns)| ns.saturating_mul(IS_ABOUT) >= own_ns && ns > 0).map(|(place, _)| place)
    }

    /// The subject of that name: in the phase where the finding's evidence begins, else where it took longest.
    fn named(&self, finding: &RuleFinding, name: &str) -> Option<Place> {
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
                    && without_ending(&entry.name).eq_ignore_ascii_case(without_ending(name))
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
        let mut best: Option<(bool, i64, Place)> = None;
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

    /// Who took most of a stretch of time on the path, and how much of it.
    fn largest_within(&self, when: Stretch, wanted: impl Fn(&AccountEntry) -> bool) -> Option<(Place, i64)> {
        let mut best: Option<(Place, i64)> = None;
        for (at, phase) in self.phases.iter().enumerate().filter(|(_, phase)| !has_no_path(&phase.phase)) {
            for (place, entry) in phase.account.entries.iter().enumerate() {
                if !entry.kind.is_somebody() || !wanted(entry) {
                    continue;
                }
                let stretches = entry.stretches.iter().map(|one| (one.start_ns, one.end_ns)).collect();
                let ns = covered_ns(stretches, when);
                if ns > best.map_or(0, |known| known.1) {
                    best = Some(((at, place), ns));
                }
            }
        }
        best
    }

    fn entry(&self, (phase, entry): Place) -> Option<&AccountEntry> {
        self.phases.get(phase)?.account.entries.get(entry)
    }

    /// A phase is no culprit: who took it leads, and that it took long is folded below.
    fn fold_long_phase(&self, finding: RuleFinding, leading: &mut Vec<Held>) {
        let name = &finding.subject.name;
        let length = self.phases.iter().find(|phase| phase.phase == *name).map(|phase| phase.account.duration_ns);
        let in_it = leading.iter_mut().filter(|one| {
            let is_in_it = one.finding.phase.as_ref() == Some(name) || self.begins_in(&one.finding, name);
            let ns = one.finding.cost_ns.unwrap_or(0);
            let is_system = one.finding.code == GENERAL && one.finding.cost_ns.is_none();
            is_in_it && (is_system || length.is_none_or(|length| ns.saturating_mul(EXPLAINS) >= length))
        });
        match in_it.max_by_key(|one| one.finding.cost_ns) {
            Some(known) => fold(&mut known.finding, finding),
            None => {
                let finding = self.long_phase_of_nobody(finding);
                leading.push(Held { finding, own_ns: 0, is_of_host: false, is_named: false, places: Vec::new() });
            }
        }
    }

    /// A long phase of which nobody took much: the finding is about the transition, and says what is known of its time.
    fn long_phase_of_nobody(&self, mut finding: RuleFinding) -> RuleFinding {
        let phase = self.phases.iter().find(|phase| phase.phase == finding.subject.name);
        let account = phase.map(|phase| &phase.account);
        let unknown = |account: &&PhaseAccount| account.not_known_ns.saturating_mul(IS_ABOUT) >= account.duration_ns;
        let most = account.and_then(|account| account.first());
        let who = match (account.filter(unknown), most) {
            (Some(account), _) => {
                let why = account.entries.iter().find_map(|entry| entry.not_known);
                let why = why.map_or("nothing was recorded", NotKnown::phrase);
                format!("for {} of it nobody is known, because {why}", time(account.not_known_ns))
            }
            (None, Some(most)) => format!("of many, {} took most, {}", most.name, time(most.ns)),
            (None, None) => "who took it is not known".to_owned(),
        };
        finding.title = format!("{}; {who}", finding.title);
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

/// The finding of the general rule is about the entry that it was made of.
fn entry_of_general(finding: &RuleFinding, entry: &AccountEntry) -> bool {
    finding.code == GENERAL && entry.name == finding.subject.name && subject(entry).kind == finding.subject.kind
}

fn fold(leading: &mut RuleFinding, other: RuleFinding) {
    // Who waited for a disk is told with it: the phases and files are named where their accounts are.
    if leading.subject.kind == FindingSubjectKind::Disk
        && matches!(other.subject.kind, FindingSubjectKind::File | FindingSubjectKind::Disk)
    {
        let time_ns = other.evidence.iter().find_map(|one| one.time_ns);
        leading.evidence.push(FindingEvidence { time_ns, text: other.title.clone() });
    }
    if other.code != GENERAL {
        leading.folded.push(FoldedFinding { code: other.code, title: other.title });
        leading.folded.extend(other.folded);
    }
}

/// A unit that was waited for while it loaded drivers, by an account of recorded work: what they took is theirs.
fn hold_loader(finding: &mut RuleFinding, account: &PhaseAccount, own_ns: i64) {
    let Some(start_ns) =
        finding.when.map(|when| when.0).or_else(|| finding.evidence.iter().find_map(|one| one.time_ns))
    else {
        return;
    };
    let window = (start_ns, start_ns.saturating_add(own_ns));
    let drivers = account.entries.iter().filter(|entry| entry.kind == AccountSubjectKind::Driver);
    let within =
        |entry: &AccountEntry| covered_ns(entry.stretches.iter().map(|it| (it.start_ns, it.end_ns)).collect(), window);
    let mut loaded: Vec<(i64, &str)> = drivers.map(|entry| (within(entry), entry.name.as_str())).collect();
    loaded.retain(|&(ns, _)| ns > 0);
    loaded.sort_by(|a, b| b.cmp(a));
    let loaded_ns = loaded.iter().fold(0_i64, |sum, &(ns, _)| sum.saturating_add(ns));
    if loaded_ns.saturating_mul(IS_ABOUT) < own_ns {
        return;
    }
    let names: Vec<String> = loaded.iter().take(TOLD_PARTS).map(|&(ns, name)| format!("{name} {}", time(ns))).collect();
    finding.cost_ns = Some(own_ns.saturating_sub(loaded_ns));
    let text = format!("for {} of it drivers that it loaded were at work: {}", time(loaded_ns), names.join(", "));
    finding.evidence.push(FindingEvidence { time_ns: None, text });
}

/// Name, cost and evidence of a finding become those of the account.
fn take_from_account(finding: &mut RuleFinding, phase: &AccountedPhase, entries: &[&AccountEntry]) {
    if finding.code == GENERAL {
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
            // In the order in which they were on the path, as the account names a relay.
            let mut members = entries.to_vec();
            members.sort_by_key(|entry| entry.stretches.first().map(|one| one.start_ns));
            let names: Vec<&str> = members.iter().map(|entry| entry.name.as_str()).collect();
            finding.subject.name = names.join(" → ");
        }
        return;
    };
    let is_same_name = finding.subject.name.eq_ignore_ascii_case(&entry.name);
    let begins = entry.stretches.first().map(|one| one.start_ns);
    let shown = PhaseName::of(&phase.phase).map_or_else(|| phase.phase.clone(), PhaseName::shown);
    let said = format!("on the path of {shown}: {}", did(entry));
    let is_named = finding.title.to_lowercase().contains(&entry.name.to_lowercase());
    let own_ns = own_ns.unwrap_or(ns);
    let is_far = own_ns.abs_diff(ns).saturating_mul(SAYS_THE_SAME) > ns.unsigned_abs();
    // A step of the kernel is named by a code, which the rule has in words.
    let is_device = finding.subject.kind == FindingSubjectKind::Device || entry.kind == AccountSubjectKind::Kernel;
    if phase.account.measure == AccountMeasure::CriticalPath && (is_far || !is_named && !is_device) {
        finding.title = format!("{} took {}: {}", entry.name, time(entry.ns), finding.title);
    }
    if SETTLING_RULES.contains(&finding.code) {
        let busy = finding.title.split("; ").next().unwrap_or_default().to_owned();
        finding.title = format!("{busy}; {} kept it so most, {}", entry.name, time(entry.ns));
    }
    let kind = finding.subject.kind;
    finding.subject = subject(entry);
    if kind == FindingSubjectKind::Service && entry.kind == AccountSubjectKind::Process && is_same_name {
        // Notifications name who answers, not whether it is a service.
        finding.subject.kind = kind;
    }
    finding.evidence.push(FindingEvidence { time_ns: begins, text: said });
}

/// The subject of an entry.
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

/// What a subject did, the longest first.
fn did(entry: &AccountEntry) -> String {
    if !entry.read_by.is_empty() {
        let readers = entry.read_by.iter().take(TOLD_PARTS);
        let parts: Vec<String> = readers.map(|one| format!("{} waited for it {}", one.name, time(one.ns))).collect();
        return parts.join(", ");
    }
    let parts: Vec<String> = entry
        .did
        .iter()
        .filter(|share| share.did != Did::Nothing && share.ns.saturating_mul(100) >= entry.ns)
        .take(TOLD_PARTS)
        .map(|share| format!("{} {}", share.did.phrase_of(entry.kind), time(share.ns)))
        .collect();
    if parts.is_empty() { entry.name.clone() } else { format!("{} {}", entry.name, parts.join(", ")) }
}

/// What to do about somebody that no rule knows.
fn advice(entry: &AccountEntry) -> String {
    let most = entry.did.first().map(|share| share.did);
    let what = match (entry.kind, most) {
        (_, Some(Did::HeldProcessors)) => "lower its priority, start it later, or have it do less",
        (AccountSubjectKind::File, _) => {
            "see why it takes so long to read: its size, the health of its disk, what scans it"
        }
        (AccountSubjectKind::Disk, _) => "look at the disk's health and for a faster one; see what is read from it",
        (AccountSubjectKind::Driver, _) => "look for a newer driver; take the device out if nobody needs it",
        (_, Some(Did::WaitedForDisk | Did::HeldDisk)) => {
            "see which files it reads and writes, and whether it must do that now"
        }
        (_, Some(Did::WaitedForTimer)) => "see what it waits for: it let a time limit or a pause pass",
        _ => "see what it does there, and whether that must happen now",
    };
    what.to_owned()
}

/// Whoever took long and is named by no rule.
pub(crate) fn general(culprit: &Culprit) -> RuleFinding {
    let entry = &culprit.entry;
    let phase = PhaseName::of(&culprit.phase).map_or_else(|| culprit.phase.clone(), PhaseName::shown);
    if entry.kind == AccountSubjectKind::Processors {
        return bound_by_processors(culprit, &phase);
    }
    let cost = match culprit.measure {
        // A part of every transition cannot be taken out of it.
        _ if culprit.of_system => Cost::UNKNOWN,
        AccountMeasure::CriticalPath => Cost::on_path(entry.ns),
        _ => Cost::at_most(entry.ns),
    };
    let title = match entry.read_by.first() {
        Some(reader) => format!("{} waited for {} for {} of {phase}", reader.name, entry.name, time(entry.ns)),
        None => format!("{} was on the path of {phase} for {}", entry.name, time(entry.ns)),
    };
    let mut finding = RuleFinding::new(subject(entry), title)
        .cost(cost)
        .certainty(entry.certainty)
        .evidence(entry.stretches.first().map(|one| one.start_ns), did(entry))
        .advice(format!("{}: 'onoff why FILE --phase {}' shows the chain", advice(entry), culprit.phase));
    finding.phase = Some(culprit.phase.clone());
    finding
}

/// Nobody in particular: there is more to do at once than the processors can.
fn bound_by_processors(culprit: &Culprit, phase: &str) -> RuleFinding {
    let entry = &culprit.entry;
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Work, entry.name.clone()),
        format!("No processor was free for {} of {phase}", time(entry.ns)),
    )
    .cost(Cost::at_most(entry.ns))
    .certainty(entry.certainty)
    .evidence(
        entry.stretches.first().map(|one| one.start_ns),
        format!("{} had the processors most", culprit.members.join(", ")),
    )
    .advice(format!(
        "Start less at once or later, or give the machine more processors: 'onoff why FILE --phase {}' shows who had them",
        culprit.phase
    ));
    finding.phase = Some(culprit.phase.clone());
    finding
}

fn without_ending(name: &str) -> &str {
    let cut =
        name.len().checked_sub(4).filter(|&at| name.get(at..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")));
    cut.and_then(|at| name.get(..at)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onoff_blame::account::{AccountStretch, DidShare, PhaseAccount, culprits};

    const MS: i64 = 1_000_000;

    fn entry(kind: AccountSubjectKind, name: &str, (from, to): Stretch) -> AccountEntry {
        AccountEntry {
            kind,
            name: name.to_owned(),
            device: String::new(),
            pid: None,
            read_by: Vec::new(),
            not_known: None,
            ns: (to - from) * MS,
            percent: 0.0,
            certainty: Certainty::Measured,
            requests: None,
            did: vec![DidShare { did: Did::WaitedForTimer, ns: (to - from) * MS }],
            stretches: vec![AccountStretch { start_ns: from * MS, end_ns: to * MS }],
            stretch_count: 1,
        }
    }

    fn phase(name: &str, entries: Vec<AccountEntry>) -> AccountedPhase {
        let start_ns = entries.iter().map(|one| one.stretches[0].start_ns).min().unwrap();
        let end_ns = entries.iter().map(|one| one.stretches[0].end_ns).max().unwrap();
        let account = PhaseAccount {
            start_ns,
            end_ns,
            duration_ns: end_ns - start_ns,
            measure: AccountMeasure::CriticalPath,
            is_cut: false,
            entries,
            not_known_ns: 0,
        };
        AccountedPhase { transition: "boot", phase: name.to_owned(), account }
    }

    fn found(code: &'static str, kind: FindingSubjectKind, name: &str, when: Stretch) -> RuleFinding {
        let when = (when.0 * MS, when.1 * MS);
        let mut finding = RuleFinding::new(FindingSubject::new(kind, name), format!("{name} is slow"))
            .cost(Cost::at_most(when.1 - when.0))
            .within(when)
            .evidence(when.0, "begins");
        finding.code = code;
        finding
    }

    /// What is left of `findings`, with the general rule's: code, name, cost in ms, codes folded.
    fn settled(
        phases: &[AccountedPhase],
        mut findings: Vec<RuleFinding>,
    ) -> Vec<(&'static str, String, i64, Vec<&'static str>)> {
        for culprit in culprits(phases) {
            let mut finding = general(&culprit);
            finding.code = GENERAL;
            findings.push(finding);
        }
        let services_of =
            |pid: u32, _: i64| if pid == 8 { vec!["Other".to_owned(), "Agent".to_owned()] } else { Vec::new() };
        let mut left: Vec<_> = ByAccount { phases, services_of: &services_of }
            .settle(findings)
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
    fn all_requests_of_a_driver_are_one_finding_with_the_accounts_cost() {
        let phases =
            [phase("PreSMSS", vec![entry(Driver, "Ramdisk", (0, 15_000)), entry(Process, "System", (15_000, 17_000))])];
        let rules = ["boot/driver-start-not-pended", "boot/driver-load-slow", "boot/driver-enumeration-not-pended"];
        let times = [(9_000, 12_000), (0, 9_000), (12_000, 15_000)];
        let findings = rules
            .into_iter()
            .zip(times)
            .map(|(code, when)| found(code, FindingSubjectKind::Driver, "RAMDISK.SYS", when));
        let long = found(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "PreSMSS", (0, 17_000));
        let left = settled(&phases, findings.chain([long]).collect());
        let folded = vec!["boot/driver-enumeration-not-pended", "boot/driver-start-not-pended", PHASE_BEYOND_NORMAL];
        assert_eq!(left, [("boot/driver-load-slow", "Ramdisk".to_owned(), 15_000, folded)]);
    }

    #[test]
    fn the_innermost_leads_and_what_encloses_it_is_folded() {
        let phases = [phase(
            "WinLogonInit",
            vec![entry(Script, "logon.cmd", (1_000, 4_000)), entry(Service, "Agent", (4_000, 6_000))],
        )];
        let script = found("boot/policy-script", FindingSubjectKind::Work, "logon", (1_000, 4_000));
        let policy = found("boot/policy-slow", FindingSubjectKind::Work, "policy for the user", (900, 4_100));
        let service = found("boot/service-start-slow", FindingSubjectKind::Service, "agent", (3_500, 6_000));
        let mut hog = found("boot/cpu-hog", FindingSubjectKind::Process, "agentsvc.exe", (4_000, 6_000));
        hog.subject.pid = Some(8);
        let left = settled(&phases, vec![policy, hog, service, script]);
        assert_eq!(left[0].1, "logon.cmd");
        assert_eq!((left[0].2, left[0].3.len()), (3_000, 1), "{left:?}");
        assert_eq!(left[1], ("boot/service-start-slow", "Agent".to_owned(), 2_000, vec!["boot/cpu-hog"]));
        assert_eq!(left.len(), 2);
    }

    #[test]
    fn a_program_in_whose_time_a_driver_ran_is_no_hog() {
        let phases = |own_ms: i64| {
            [phase(
                "WinLogonInit",
                vec![entry(Driver, "netslow", (0, 3_200)), entry(Process, "agent.exe", (3_200, 3_200 + own_ms))],
            )]
        };
        let hog = || found(CPU_HOG, FindingSubjectKind::Process, "agent.exe", (0, 4_000));
        let costs = |own_ms| {
            let left = settled(&phases(own_ms), vec![hog()]);
            left.into_iter().map(|one| (one.1, one.2)).collect::<Vec<_>>()
        };
        assert_eq!(costs(880), [("netslow".to_owned(), 3_200), ("agent.exe".to_owned(), 0)]);
        assert!(costs(2_100).contains(&("agent.exe".to_owned(), 2_100)));
    }

    #[test]
    fn the_rule_that_names_the_subject_leads_the_one_that_only_encloses_it() {
        let phases = [phase("WinLogonInit", vec![entry(Process, "scanner.exe", (1_000, 4_000))])];
        let policy = found("boot/policy-slow", FindingSubjectKind::Work, "policy for the computer", (900, 4_100));
        let hog = found(CPU_HOG, FindingSubjectKind::Process, "scanner.exe", (1_000, 4_000));
        let left = settled(&phases, vec![policy, hog]);
        assert_eq!(left, [(CPU_HOG, "scanner.exe".to_owned(), 3_000, vec!["boot/policy-slow"])]);
    }

    #[test]
    fn who_fits_no_rule_is_found_and_who_is_off_the_path_is_not() {
        let phases = [phase(
            "SMSSInit",
            vec![entry(Process, "autochk.exe", (0, 9_000)), entry(Process, "quick.exe", (9_000, 9_900))],
        )];
        let left = settled(&phases, Vec::new());
        assert_eq!(left, [(GENERAL, "autochk.exe".to_owned(), 9_000, vec![])]);
        // A decoy that worked meanwhile, off the path, costs nothing.
        let decoy = found("boot/cpu-hog", FindingSubjectKind::Process, "decoy.exe", (0, 9_900));
        let left = settled(&phases, vec![decoy]);
        let costs: Vec<(&str, i64)> = left.iter().map(|one| (one.1.as_str(), one.2)).collect();
        assert_eq!(costs, [("autochk.exe", 9_000), ("decoy.exe", 0)]);
        // A quick one, and nobody else: silent.
        assert_eq!(settled(&[phase("SMSSInit", vec![entry(Process, "quick.exe", (0, 900))])], Vec::new()), []);
    }

    #[test]
    fn a_long_phase_is_no_culprit_but_who_took_it_is() {
        let phases = [phase("SMSSInit", vec![entry(Process, "smss.exe", (0, 1_112_000))])];
        let long = found(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "SMSSInit", (0, 1_112_000));
        let left = settled(&phases, vec![long]);
        assert_eq!(left, [(GENERAL, "smss.exe".to_owned(), -1, vec![PHASE_BEYOND_NORMAL])]);
    }

    #[test]
    fn a_long_phase_of_nobody_is_about_the_transition_and_says_why() {
        let long = || found(PHASE_BEYOND_NORMAL, FindingSubjectKind::Phase, "WinLogonInit", (0, 90_000));
        let unknown = AccountEntry {
            not_known: Some(NotKnown::NoSwitches),
            ..entry(AccountSubjectKind::NotKnown, "", (0, 80_000))
        };
        let mut not_known = phase("WinLogonInit", vec![unknown, entry(Process, "a.exe", (80_000, 90_000))]);
        not_known.account.not_known_ns = 80_000 * MS;
        let many: Vec<AccountEntry> =
            (0..9).map(|at| entry(Driver, &format!("d{at}"), (at * 10_000, (at + 1) * 10_000))).collect();
        for (phase, said) in [
            (not_known, "for 80.0 s of it nobody is known, because context switches were not recorded"),
            (phase("WinLogonInit", many), "of many, d0 took most, 10.0 s"),
        ] {
            let services_of = |_: u32, _: i64| Vec::new();
            let phases = [phase];
            let left = ByAccount { phases: &phases, services_of: &services_of }.settle(vec![long()]);
            assert_eq!(left.len(), 1);
            assert_eq!(left[0].subject, FindingSubject::new(FindingSubjectKind::Transition, ""));
            assert_eq!(left[0].phase.as_deref(), Some("WinLogonInit"));
            assert!(left[0].title.ends_with(said), "{}", left[0].title);
        }
    }

    #[test]
    fn the_gap_of_the_video_driver_is_whose_the_account_says() {
        let gap = || {
            let mut gap = found(VIDEO_DRIVER, FindingSubjectKind::Work, "video driver, system's session", (0, 4_000));
            gap.title = "the video driver takes 4.00 s".to_owned();
            gap
        };
        let inferred = [phase("SMSSInit", vec![entry(Driver, VIDEO_DRIVERS[0], (0, 4_000))])];
        assert_eq!(settled(&inferred, vec![gap()])[0].1, "video driver, system's session");
        let other = [phase(
            "SMSSInit",
            vec![entry(Process, "smss.exe", (0, 3_500)), entry(Driver, VIDEO_DRIVERS[0], (3_500, 4_000))],
        )];
        assert_eq!(settled(&other, vec![gap()])[0], (VIDEO_DRIVER, "smss.exe".to_owned(), 3_500, vec![]));
    }
}
