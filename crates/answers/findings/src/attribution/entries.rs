//! Finds the entry of the account that a finding is about.

use onoff_blame::account::{AccountEntry, AccountMeasure, AccountSubjectKind, has_no_path};
use onoff_evidence::interval::covered_ns;

use super::wording::subject;
use super::{Attribution, EntryIndex, MIN_SUBJECT_PART, TIME_ON_PATH};
use crate::cost::Interval;
use crate::finding::{FindingSubjectKind, RuleFinding};

impl Attribution<'_> {
    /// Returns the entry a finding is about: the entry of the same name if it accounts for enough of the cost,
    /// otherwise the entry that took most of the time.
    pub(super) fn entry_about(&self, finding: &RuleFinding) -> Option<EntryIndex> {
        let rule_cost_ns = finding.cost_ns.unwrap_or(0);
        let same_name = self.entry_named(finding, &finding.subject.name);
        if let Some(index) = same_name
            && self
                .total_entry(index)
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
    pub(super) fn entry_named(&self, finding: &RuleFinding, name: &str) -> Option<EntryIndex> {
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
            FindingSubjectKind::Device => match entry.kind {
                AccountSubjectKind::Driver => !entry.device.is_empty() && entry.device.eq_ignore_ascii_case(name),
                AccountSubjectKind::Unit => entry.name == name,
                _ => false,
            },
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
    pub(super) fn largest_within(
        &self,
        when: Interval,
        is_wanted: impl Fn(&AccountEntry) -> bool,
    ) -> Option<(EntryIndex, i64)> {
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

    /// Returns the subject that used the most after the desktop or a resume.
    pub(super) fn largest_while_settling(&self) -> Option<EntryIndex> {
        let (phase_index, phase) = self
            .phases
            .iter()
            .enumerate()
            .find(|(_, phase)| has_no_path(&phase.phase) && phase.account.measure == AccountMeasure::BusySlices)?;
        let entry_index = phase.account.entries.iter().position(|entry| entry.kind.is_attributable())?;
        Some((phase_index, entry_index))
    }

    pub(super) fn entry(&self, (phase, entry): EntryIndex) -> Option<&AccountEntry> {
        self.phases.get(phase)?.account.entries.get(entry)
    }
}

/// True if the finding of the general rule was created from this entry.
fn was_created_from(finding: &RuleFinding, entry: &AccountEntry) -> bool {
    finding.code == TIME_ON_PATH && entry.name == finding.subject.name && subject(entry).kind == finding.subject.kind
}

pub(super) fn without_extension(name: &str) -> &str {
    let stem_len = name
        .len()
        .checked_sub(4)
        .filter(|&stem_len| name.get(stem_len..).is_some_and(|end| end.eq_ignore_ascii_case(".sys")));
    stem_len.and_then(|stem_len| name.get(..stem_len)).unwrap_or(name)
}
