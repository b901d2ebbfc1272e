//! Finds subjects by the names that people write.

use std::collections::BTreeSet;

use hashbrown::HashSet;
use onoff_blame::account::is_system_component_name;
use onoff_evidence::account_model::AccountSubjectKind;

use super::{ChangeError, Changes};

/// Maximum number of candidates named for an unknown name.
const MAX_CANDIDATES: usize = 8;

impl Changes<'_, '_, '_> {
    /// Returns the subjects with these names, or an error with candidates.
    pub(super) fn matching_subjects(&mut self, names: &[&str]) -> Result<HashSet<u32>, ChangeError> {
        let index = self.index();
        let mut all_matched = HashSet::new();
        for &name in names {
            let mut has_match = false;
            let mut others: Vec<(i64, String)> = Vec::new();
            for (&subject, &ns) in &index.work_ns {
                let Some(named) = self.work.subject(subject).filter(|named| is_removable(named.kind)) else { continue };
                if has_name(named.name, name) || has_name(named.device, name) {
                    has_match = true;
                    all_matched.insert(subject);
                } else if !is_system_component_name(named.name) {
                    others.push((ns, named.name.to_owned()));
                }
            }
            if !has_match {
                let kind = "service, program, driver, unit or script";
                let candidates = candidates(name, others);
                return Err(ChangeError::Unknown { kind, name: name.to_owned(), candidates });
            }
        }
        Ok(all_matched)
    }
}

/// True for subjects that a computer can do without.
pub(super) const fn is_removable(kind: AccountSubjectKind) -> bool {
    matches!(
        kind,
        AccountSubjectKind::Service
            | AccountSubjectKind::Unit
            | AccountSubjectKind::Driver
            | AccountSubjectKind::Process
            | AccountSubjectKind::Script
            | AccountSubjectKind::Subscriber
            | AccountSubjectKind::Policy
    )
}

/// Compares names as people write them: ignoring case, with or without an extension.
pub(crate) fn has_name(subject: &str, name: &str) -> bool {
    const EXTENSIONS: [&str; 4] = [".exe", ".sys", ".service", " script"];
    if name.is_empty() || subject.is_empty() {
        return false;
    }
    let stem = |text: &str| {
        let lower = text.to_lowercase();
        EXTENSIONS.iter().find_map(|extension| lower.strip_suffix(extension).map(str::to_owned)).unwrap_or(lower)
    };
    subject.eq_ignore_ascii_case(name) || stem(subject) == stem(name)
}

/// Returns the names that contain a part of `name`, otherwise those with the most work.
pub(crate) fn candidates(name: &str, mut names: Vec<(i64, String)>) -> Vec<String> {
    names.sort_by(|a, b| b.cmp(a));
    let lower = name.to_lowercase();
    let prefix: String = lower.chars().take(3).collect();
    let is_similar = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        candidate.contains(&lower) || (prefix.chars().count() == 3 && candidate.starts_with(&prefix))
    };
    let mut seen = BTreeSet::new();
    let mut unique: Vec<String> =
        names.into_iter().map(|(_, name)| name).filter(|name| seen.insert(name.clone())).collect();
    if unique.iter().any(|candidate| is_similar(candidate)) {
        unique.retain(|candidate| is_similar(candidate));
    }
    unique.truncate(MAX_CANDIDATES);
    unique
}
