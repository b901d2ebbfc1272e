//! A write filter throws away what Windows learns.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on and its exclusions lack Windows\Prefetch or the registry key PrefetchParameters.
    ///
    /// # Why it costs time
    /// What Windows learns about new programs and changed files is lost with each restart, and its plans fill the overlay.
    ///
    /// # Evidence needed
    /// The hive SYSTEM, with the exclusions of UWF. FBWF keeps them in a separate file.
    ///
    /// # What to do
    /// Exclude the folder and the key, or accept it: the plans trained before the filter was turned on stay as they are.
    ///
    /// # When it is wrong
    /// Where programs never change, the plans need not either.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch": "you will also have to make an exception for the registry".
    "image/filter-forgets-plans", "a write filter throws away what Windows learns", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let Some(folder) = filter.excludes("\\Windows\\Prefetch").filter(|_| filter.kind == WriteFilterKind::Uwf) else {
        return Err(lacks_other("what the filter leaves out: its exclusions are not in the registry"));
    };
    let keys = filter.registry_exclusions.as_deref().unwrap_or_default();
    let key = keys.iter().any(|key| key.to_lowercase().contains("prefetchparameters"));
    if folder && key {
        return Ok(Vec::new());
    }
    let lacking = match (folder, key) {
        (false, false) => "neither Windows\\Prefetch nor its registry key is excluded",
        (false, true) => "Windows\\Prefetch is not excluded",
        _ => "the registry key PrefetchParameters is not excluded",
    };
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
            format!("{} throws away what Windows learns: {lacking}", filter.kind.as_str()),
        )
        .certain(Certainty::Inferred)
        .because(None, filter.evidence())
        .advise("add both exclusions (uwfmgr file add-exclusion C:\\Windows\\Prefetch; uwfmgr registry add-exclusion with the key), or accept it"),
    ])
}
