//! A write filter holds the plans that Windows goes on writing.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on while SuperFetch runs, and the filter does not exclude Windows\Prefetch.
    ///
    /// # Why it costs time
    /// Windows keeps watching programs and boots, and its files take room in the overlay until the next restart.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Plan the overlay with it, or exclude the folder.
    ///
    /// # When it is wrong
    /// The files are few MiB. It matters for small overlays and long uptimes only.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters": "will occasionally write files to
    /// your overlay".
    "image/filter-grows-by-plans", "a write filter holds the plans that Windows goes on writing", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.needs_system()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let runs = facts.service("SysMain").is_some_and(|service| service.start == ServiceStart::Auto);
    let off = facts.system(PREFETCH, "EnableSuperfetch").is_some_and(|setting| setting.number() == Some(0));
    if !runs || off || filter.excludes("\\Windows\\Prefetch") == Some(true) {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
            format!("{} is on while SuperFetch runs: its files take room in the overlay", filter.kind.as_str()),
        )
        .because(None, filter.evidence())
        .because(None, facts.service("SysMain").map(ServiceEntry::evidence).unwrap_or_default())
        .advise(
            "give the overlay room for it, or exclude Windows\\Prefetch; the option --trace with a recording says how much",
        ),
    ])
}
