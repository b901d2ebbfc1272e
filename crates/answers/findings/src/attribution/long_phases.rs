//! Folds findings about long phases, which are not causes, into findings about what took the time.

use onoff_blame::account::{PhaseAccount, UnknownReason};

use super::{AttributedFinding, Attribution, MIN_SUBJECT_PART, TIME_ON_PATH, fold};
use crate::finding::{FindingSubjectKind, RuleFinding};
use crate::quantities::time;

/// A subject explains a phase if it took at least this fraction of it: a fifth.
const MIN_PHASE_PART: i64 = 5;

impl Attribution<'_> {
    /// Folds a long phase, which is not a cause, into the finding about what took the time.
    pub(super) fn fold_long_phase(&self, finding: RuleFinding, leading: &mut Vec<AttributedFinding>) {
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
