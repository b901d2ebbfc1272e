//! Explains differences: for each phase that differs, finds the subjects whose time differs in the same direction, and
//! the unexplained part.

use hashbrown::HashMap;

use super::measures::{OWN_INITIALIZATION, UNTIL_PENDED};
use super::report::{
    Change, ComparedMeasure, ExplainedDetail, ExplainedPart, Explanation, PartChange, SubjectOfMeasure, Verdict,
};
use super::run::Category;
use super::run::RunSubject;
use onoff_blame::account::AccountSubjectKind;

/// Minimum phase difference to explain, ns: 10 ms.
const MIN_EXPLAINED_NS: u64 = 10_000_000;
/// Subjects that account for less than 1/50 (2 %) of the phase difference are not listed.
const MIN_SHARE_DIVISOR: u64 = 50;
/// Maximum number of subjects listed per phase and direction.
const MAX_PARTS: usize = 5;
/// A subject with at most 1/20 (5 %) of its former time counts as gone.
const GONE_DIVISOR: i64 = 20;

/// Explains how a configuration differs from the baseline, largest phase difference first. `change_index` is the index
/// of the configuration among the changes.
pub(super) fn explain(
    measures: &[ComparedMeasure],
    transition: RunSubject,
    configuration: &str,
    change_index: usize,
) -> Vec<Explanation> {
    let by_key: HashMap<String, &ComparedMeasure> =
        measures.iter().map(|measure| (measure.key.to_ascii_lowercase(), measure)).collect();
    let total_difference = total_difference(&by_key, transition, change_index);
    let mut explanations: Vec<Explanation> = measures
        .iter()
        .filter(|measure| measure.category == Category::Phase)
        .filter_map(|phase| {
            let difference = significant_difference(phase, phase.changes.get(change_index)?)?;
            (difference.unsigned_abs() >= MIN_EXPLAINED_NS).then(|| {
                let context = Context { measures, by_key: &by_key, transition, change_index };
                context.explain_phase(&phase.name, difference, configuration)
            })
        })
        .collect();
    // Differences in the direction of the total come first.
    explanations.sort_by_key(|explanation| {
        let is_opposing = total_difference.is_some_and(|total| total.signum() != explanation.difference_ns.signum());
        (is_opposing, std::cmp::Reverse(explanation.difference_ns.unsigned_abs()))
    });
    explanations
}

fn total_difference(
    by_key: &HashMap<String, &ComparedMeasure>,
    transition: RunSubject,
    change_index: usize,
) -> Option<i64> {
    let measure = by_key.get(&format!("{}.total", transition.as_str()))?;
    measure.changes.get(change_index)?.difference.filter(|&difference| difference != 0)
}

/// Returns the difference of a measure; `None` if within noise.
fn significant_difference(measure: &ComparedMeasure, change: &Change) -> Option<i64> {
    if change.verdict == Verdict::Same {
        return None;
    }
    let baseline_median = || measure.values.first().and_then(|values| values.median);
    change.difference.or_else(|| match change.verdict {
        Verdict::Gone => baseline_median().map(i64::wrapping_neg),
        _ => None,
    })
}

struct Context<'a> {
    measures: &'a [ComparedMeasure],
    by_key: &'a HashMap<String, &'a ComparedMeasure>,
    transition: RunSubject,
    change_index: usize,
}

impl Context<'_> {
    fn explain_phase(&self, phase: &str, difference_ns: i64, configuration: &str) -> Explanation {
        let mut parts: Vec<ExplainedPart> = Vec::new();
        let mut opposing: Vec<ExplainedPart> = Vec::new();
        let min_part_ns = difference_ns.unsigned_abs() / MIN_SHARE_DIVISOR;
        let mut has_account = false;
        for measure in self.measures {
            let Some(subject) = measure.subject.as_ref().filter(|subject| subject.phase == phase) else { continue };
            has_account = true;
            let Some(part_ns) =
                measure.changes.get(self.change_index).and_then(|change| significant_difference(measure, change))
            else {
                continue;
            };
            if !subject.kind.is_attributable() || part_ns.unsigned_abs() < min_part_ns.max(1) {
                continue;
            }
            let side = if part_ns.signum() == difference_ns.signum() { &mut parts } else { &mut opposing };
            side.push(self.part(measure, subject, part_ns));
        }
        let opposing_ns = opposing.iter().fold(0_i64, |sum, part| sum.saturating_add(part.difference_ns));
        for side in [&mut parts, &mut opposing] {
            side.sort_by(|a, b| {
                let key = |part: &ExplainedPart| (std::cmp::Reverse(part.difference_ns.unsigned_abs()), part.kind);
                key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
            });
            side.truncate(MAX_PARTS);
        }
        let explained_ns = parts.iter().fold(opposing_ns, |sum, part| sum.saturating_add(part.difference_ns));
        Explanation {
            configuration: configuration.to_owned(),
            phase: phase.to_owned(),
            difference_ns,
            has_account,
            parts,
            opposing,
            opposing_ns,
            unexplained_ns: difference_ns.saturating_sub(explained_ns),
        }
    }

    fn part(&self, measure: &ComparedMeasure, subject: &SubjectOfMeasure, difference_ns: i64) -> ExplainedPart {
        let median =
            |configuration: usize| measure.values.get(configuration).and_then(|values| values.median).unwrap_or(0);
        let (before_ns, after_ns) = (median(0), median(self.change_index + 1));
        let change = if after_ns.saturating_mul(GONE_DIVISOR) <= before_ns {
            PartChange::Gone
        } else if before_ns.saturating_mul(GONE_DIVISOR) <= after_ns {
            PartChange::New
        } else if difference_ns > 0 {
            PartChange::Longer
        } else {
            PartChange::Shorter
        };
        ExplainedPart {
            key: measure.key.clone(),
            kind: subject.kind,
            name: subject.name.clone(),
            before_ns,
            after_ns,
            difference_ns,
            change,
            detail: self.detail(subject),
        }
    }

    /// Returns the time until a driver pended its requests, or a service's own initialization.
    fn detail(&self, subject: &SubjectOfMeasure) -> Option<ExplainedDetail> {
        let (category, suffix) = match subject.kind {
            AccountSubjectKind::Driver => (Category::Driver, UNTIL_PENDED),
            AccountSubjectKind::Service => (Category::Service, OWN_INITIALIZATION),
            _ => return None,
        };
        let key = format!("{}.{}.{}.{suffix}", self.transition.as_str(), category.as_str(), subject.name);
        let measure = self.by_key.get(&key.to_ascii_lowercase())?;
        let median = |configuration: usize| measure.values.get(configuration).and_then(|values| values.median);
        Some(ExplainedDetail {
            key: measure.key.clone(),
            before_ns: median(0),
            after_ns: median(self.change_index + 1),
        })
    }
}
