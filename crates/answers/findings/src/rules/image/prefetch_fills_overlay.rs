//! Prefetch files written by Windows fill the overlay of a write filter.

use super::prelude::*;

rule! {
    /// # What it finds
    /// A write filter is on while Superfetch runs, and it does not exclude Windows\Prefetch.
    ///
    /// # Why it costs time
    /// Windows keeps learning from programs and boots, and its prefetch files use overlay space until the next restart.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Include them in the overlay size, or exclude the folder.
    ///
    /// # When it is wrong
    /// The files are only a few MiB. They matter only for small overlays and long uptimes.
    ///
    /// # Source
    /// Improving Performance in Windows Embedded Standard 7, "Using Superfetch with Write Filters": "will occasionally
    /// write files to your overlay".
    "image/prefetch-fills-overlay", "prefetch files fill the overlay of a write filter", Image(check)
}

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let Some(filter) = facts.filter() else { return Ok(Vec::new()) };
    let is_running = facts.service("SysMain").is_some_and(|service| service.start == ServiceStart::Auto);
    let is_disabled = facts.system(PREFETCH, "EnableSuperfetch").is_some_and(|setting| setting.number() == Some(0));
    if !is_running || is_disabled || filter.excludes("\\Windows\\Prefetch") == Some(true) {
        return Ok(Vec::new());
    }
    Ok(vec![
        RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Setting, filter.kind.as_str()),
            format!("{} is on while Superfetch runs: prefetch files use overlay space", filter.kind.as_str()),
        )
        .evidence(None, filter.evidence())
        .evidence(None, facts.service("SysMain").map(ServiceEntry::evidence).unwrap_or_default())
        .advice(if is_horm_on(facts) {
            "include them in the overlay size (HORM forbids exclusions); pass a recording with --trace to see how much they use"
        } else {
            "include them in the overlay size, or exclude Windows\\Prefetch; pass a recording with --trace to see how much they use"
        }),
    ])
}
