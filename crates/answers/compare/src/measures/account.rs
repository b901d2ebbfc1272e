//! Converts the account of each phase to measures: the time of each subject.

use hashbrown::HashMap;

use super::{MAX_SHARES, MIN_SHARE_NS};
use crate::run::{Category, Measure, MeasureUnit, MeasuredSubject, Run};
use onoff_blame::account::{AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, ActionShare};

/// Adds the time of each subject in the phases to `run`. People are skipped if their time is excluded from all
/// durations.
pub fn add_accounts<'a>(run: &mut Run, phases: impl IntoIterator<Item = &'a AccountedPhase>) {
    let prefix = run.transition.as_str();
    let mut by_key: HashMap<String, usize> = HashMap::new();
    let mut measures: Vec<Measure> = Vec::new();
    for phase in phases.into_iter().filter(|phase| phase.account.measure != AccountMeasure::None) {
        for entry in &phase.account.entries {
            if entry.kind == AccountSubjectKind::UserInput && run.user_input_ns > 0 {
                continue;
            }
            let key = format!("{prefix}.{}.{}.{}", Category::Account.as_str(), phase.phase, name(entry));
            let folded = if run.is_case_sensitive() { key.clone() } else { key.to_ascii_lowercase() };
            match by_key.get(&folded).and_then(|&at| measures.get_mut(at)) {
                Some(known) => add(known, entry),
                None => {
                    by_key.insert(folded, measures.len());
                    measures.push(measure(key, &phase.phase, entry));
                }
            }
        }
    }
    measures.retain(|measure| measure.value >= MIN_SHARE_NS || is_unattributed(measure));
    measures.sort_by_key(|measure| std::cmp::Reverse((is_unattributed(measure), measure.value)));
    measures.truncate(MAX_SHARES);
    run.measures.append(&mut measures);
}

/// The last part of an entry's key. All unattributed time shares one key.
fn name(entry: &AccountEntry) -> String {
    match entry.kind {
        AccountSubjectKind::Unknown | AccountSubjectKind::Idle => entry.kind.as_str().to_owned(),
        kind => format!("{}.{}", kind.as_str(), entry.name),
    }
}

fn is_unattributed(measure: &Measure) -> bool {
    measure.subject.as_ref().is_some_and(|subject| !subject.kind.is_attributable())
}

fn measure(key: String, phase: &str, entry: &AccountEntry) -> Measure {
    Measure {
        key,
        category: Category::Account,
        unit: MeasureUnit::Ns,
        value: entry.ns,
        phase: Some(phase.to_owned()),
        since_phase_ns: None,
        doubtful: false,
        subject: Some(MeasuredSubject {
            kind: entry.kind,
            name: entry.name.clone(),
            actions: entry.actions.clone(),
            certainty: entry.certainty,
        }),
    }
}

/// Adds another process of the same image, or another reason for unattributed time.
fn add(known: &mut Measure, entry: &AccountEntry) {
    known.value = known.value.saturating_add(entry.ns);
    let Some(subject) = &mut known.subject else { return };
    subject.certainty = subject.certainty.and(entry.certainty);
    for share in &entry.actions {
        match subject.actions.iter_mut().find(|known| known.action == share.action) {
            Some(known) => known.ns = known.ns.saturating_add(share.ns),
            None => subject.actions.push(*share),
        }
    }
    subject.actions.sort_by_key(|&ActionShare { action, ns }| (std::cmp::Reverse(ns), action));
}
