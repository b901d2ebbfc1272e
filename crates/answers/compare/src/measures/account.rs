//! Converts the accounts of phases to measures, one for the time of each subject.

use hashbrown::HashMap;

use super::{MAX_SHARES, MIN_SHARE_NS};
use crate::run::{Category, Measure, MeasureUnit, MeasuredSubject, Run};
use onoff_blame::account::{AccountEntry, AccountMeasure, AccountSubjectKind, AccountedPhase, ActionShare};

/// Adds the time of each subject in the phases to `run`. Skips user input if all durations exclude it.
pub fn add_accounts<'a>(run: &mut Run, phases: impl IntoIterator<Item = &'a AccountedPhase>) {
    let prefix = run.transition.as_str();
    let mut index_by_key: HashMap<String, usize> = HashMap::new();
    let mut measures: Vec<Measure> = Vec::new();
    for phase in phases.into_iter().filter(|phase| phase.account.measure != AccountMeasure::None) {
        for entry in &phase.account.entries {
            if entry.kind == AccountSubjectKind::UserInput && run.user_input_ns > 0 {
                continue;
            }
            let key = format!("{prefix}.{}.{}.{}", Category::Account.as_str(), phase.phase, key_suffix(entry));
            let match_key = if run.is_case_sensitive() { key.clone() } else { key.to_ascii_lowercase() };
            match index_by_key.get(&match_key).and_then(|&index| measures.get_mut(index)) {
                Some(measure) => add(measure, entry),
                None => {
                    index_by_key.insert(match_key, measures.len());
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

/// Returns the last part of an entry's key. All unattributed time shares one key.
fn key_suffix(entry: &AccountEntry) -> String {
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

/// Adds the time of another process of the same image, or of another reason for unattributed time.
fn add(measure: &mut Measure, entry: &AccountEntry) {
    measure.value = measure.value.saturating_add(entry.ns);
    let Some(subject) = &mut measure.subject else { return };
    subject.certainty = subject.certainty.and(entry.certainty);
    for share in &entry.actions {
        match subject.actions.iter_mut().find(|existing| existing.action == share.action) {
            Some(existing) => existing.ns = existing.ns.saturating_add(share.ns),
            None => subject.actions.push(*share),
        }
    }
    subject.actions.sort_by_key(|&ActionShare { action, ns }| (std::cmp::Reverse(ns), action));
}
