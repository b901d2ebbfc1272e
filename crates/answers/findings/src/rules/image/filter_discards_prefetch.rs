//! A write filter discards what Windows learns.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on and does not exclude Windows\Prefetch or the registry key PrefetchParameters.
    ///
    /// # Why it costs time
    /// Each restart discards what Windows learned about new programs and changed files, and its prefetch files fill the
    /// overlay.
    ///
    /// # Evidence needed
    /// The hive SYSTEM with the UWF exclusions. FBWF stores its exclusions in a separate file.
    ///
    /// # What to do
    /// Exclude the folder and the key, or accept the loss: launch plans trained before the filter was turned on stay
    /// usable.
    ///
    /// # When it is wrong
    /// The programs never change, so their launch plans do not have to either.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Superfetch": "you will also have to make an exception for
    /// the registry".
    "image/filter-discards-prefetch", "a write filter discards what Windows learns", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let Some(excludes_folder) = filter.excludes("\\Windows\\Prefetch").filter(|_| filter.kind == WriteFilterKind::Uwf)
    else {
        return Err(missing_input("write filter exclusions: not in the registry"));
    };
    let keys = filter.registry_exclusions.as_deref().unwrap_or_default();
    let excludes_key = keys.iter().any(|key| key.to_lowercase().contains("prefetchparameters"));
    if excludes_folder && excludes_key {
        return Ok(Vec::new());
    }
    let problem = match (excludes_folder, excludes_key) {
        (false, false) => "neither Windows\\Prefetch nor its registry key is excluded",
        (false, true) => "Windows\\Prefetch is not excluded",
        _ => "the registry key PrefetchParameters is not excluded",
    };
    let mut actions = Vec::new();
    let mut exclude = |kind: &str, item: &str| {
        actions.push(
            AdvisedAction::new(
                format!("UWF {kind} exclusion of {item}"),
                "excluded",
                format!("uwfmgr {kind} add-exclusion \"{item}\""),
            )
            .undo(format!("uwfmgr {kind} remove-exclusion \"{item}\""))
            .breaks("HORM is not possible with exclusions, and what Windows learns stays on the disk")
            .editions(UWF_EDITIONS),
        );
    };
    if !excludes_folder {
        exclude("file", r"C:\Windows\Prefetch");
    }
    if !excludes_key {
        exclude("registry", &format!(r"HKLM\SYSTEM\CurrentControlSet\{}", PREFETCH.trim_start_matches(r"CS\")));
    }
    let commands: Vec<String> =
        actions.iter().filter_map(|action| Some(format!("'{}'", action.command.as_ref()?))).collect();
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
        format!("{} discards what Windows learns: {problem}", filter.kind.as_str()),
    )
    .certainty(Certainty::Inferred)
    .evidence(None, filter.evidence())
    .advice(format!("add what is missing ({}), or accept the loss", commands.join(", ")));
    Ok(vec![actions.into_iter().fold(finding, RuleFinding::action)])
}
