//! Third-party file system filters.

use super::prelude::*;

rule! {
    /// # What it finds
    /// Two or more third-party virus filters, or four or more third-party file system filters, load at boot.
    ///
    /// # Why it costs time
    /// Each file operation of the boot passes every filter, and two virus scanners scan each file twice.
    ///
    /// # Evidence needed
    /// The registry hive SYSTEM.
    ///
    /// # What to do
    /// Keep one virus scanner, and remove products that are not needed.
    ///
    /// # When it is wrong
    /// One product can have several filters. Windows' own filters, and one virus scanner, are no finding.
    ///
    /// # Source
    /// Microsoft's list of load-order groups of filters (FSFilter Anti-Virus and others); Autoruns lists them under
    /// "Drivers".
    "image/file-system-filters", "several third-party file system filters load at boot", Image(check)
}

/// Filters of Windows, in lower case.
const KNOWN: [&str; 36] = [
    "applockerfltr",
    "bfs",
    "bindflt",
    "cimfs",
    "cldflt",
    "csc",
    "dedup",
    "dfs",
    "dfsdriver",
    "exfat",
    "filecrypt",
    "fileinfo",
    "filetrace",
    "fsdepends",
    "iorate",
    "luafv",
    "mssecflt",
    "msseccore",
    "npsvctrig",
    "prjflt",
    "quota",
    "resumekeyfilter",
    "sis",
    "storqosflt",
    "unionfs",
    "uwfreg",
    "uwfrtl",
    "uwfs",
    "uwfvol",
    "vhdmp",
    "wcifs",
    "wcnfs",
    "wdfilter",
    "winload",
    "wof",
    "fbwf",
];
/// Load-order group of virus filters.
const VIRUS_GROUP: &str = "FSFilter Anti-Virus";
/// Minimum number of third-party virus filters. Chosen: one scanner is usual.
const MIN_VIRUS_FILTERS: usize = 2;
/// Minimum number of third-party filters. Chosen: a scanner, an encryption and a backup product are usual.
const MIN_FILTERS: usize = 4;

fn check(facts: &ImageFacts<'_>) -> Outcome {
    facts.require_system_hive()?;
    let filters: Vec<&ServiceEntry> = facts
        .report
        .services
        .iter()
        .filter(|service| {
            matches!(service.start, ServiceStart::Boot | ServiceStart::System | ServiceStart::Auto)
                && service.group.get(..8).is_some_and(|group| group.eq_ignore_ascii_case("FSFilter"))
                && !KNOWN.contains(&service.name.to_lowercase().as_str())
        })
        .collect();
    let virus: Vec<&ServiceEntry> =
        filters.iter().copied().filter(|filter| filter.group.eq_ignore_ascii_case(VIRUS_GROUP)).collect();
    let (reported, noun, severity) = if virus.len() >= MIN_VIRUS_FILTERS {
        (virus, "third-party virus filter", FindingSeverity::Moderate)
    } else if filters.len() >= MIN_FILTERS {
        (filters, "third-party file system filter", FindingSeverity::Note)
    } else {
        return Ok(Vec::new());
    };
    let names: Vec<&str> = reported.iter().map(|filter| filter.name.as_str()).collect();
    let Some(first) = names.first() else { return Ok(Vec::new()) };
    let finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Driver, *first),
        format!("each file operation passes {}: {}", counted(names.len(), noun), listed(&names, 8)),
    )
    .severity(severity)
    .certainty(Certainty::Inferred)
    .advice("keep one virus scanner, and remove products that are not needed with their own uninstaller");
    Ok(vec![reported.iter().fold(finding, |finding, filter| {
        finding.evidence(None, format!("{}; group {}", filter.evidence(), filter.group))
    })])
}
