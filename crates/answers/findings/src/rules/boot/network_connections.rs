//! Network file access before the desktop.

use onoff_evidence::missing_evidence::UnknownFact;
use std::collections::BTreeSet;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Operations on network files (paths through a redirector) that take 500 ms or more before the desktop is ready,
    /// such as persistent network drives, or profiles and scripts on a server.
    ///
    /// # Why it costs time
    /// Network drives that are connected at each logon make the time to the desktop depend on servers and on a network
    /// that may still be coming up.
    ///
    /// # Evidence needed
    /// File operations with their completions: kernel flags FILE_IO, FILE_IO_INIT and FILENAME.
    ///
    /// # What to do
    /// Delete connections that are not needed (`net use * /delete`) and connect the others on demand.
    ///
    /// # When it is wrong
    /// A program that waits for a server on a separate thread blocks nothing: without a critical path, the cost is an
    /// upper bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Network Connection Effects on Performance Measurements"; the
    /// threshold is onoff's.
    "boot/network-connections", "persistent network connections", Session(check)
}

const MAX_SHARES: usize = 256;

/// Access to a share on a server.
#[derive(Default)]
struct Share {
    name: String,
    intervals: Vec<Interval>,
    tids: BTreeSet<u32>,
}

const REDIRECTOR_PREFIXES: [&str; 4] =
    [r"\device\mup\", r"\device\lanmanredirector\", r"\device\webdavredirector\", r"\\"];

fn is_on_network(path: &str) -> bool {
    let lower = path.get(..path.len().min(64)).unwrap_or(path).to_lowercase();
    REDIRECTOR_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
}

/// Returns `\\server\share` of a path.
fn share(path: &str) -> String {
    let lower = path.to_lowercase();
    let share_path = REDIRECTOR_PREFIXES.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
    let parts: Vec<&str> = share_path.split('\\').filter(|part| !part.is_empty()).take(2).collect();
    format!(r"\\{}", parts.join(r"\"))
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    if facts.trace.file_ios.is_empty() {
        return Err(missing_kernel_flags(UnknownFact::NetworkFiles, &["FILE_IO", "FILE_IO_INIT", "FILENAME"]));
    }
    let (start, end) = facts.main_path();
    let mut shares: Vec<Share> = Vec::new();
    for row in facts.trace.file_ios.iter() {
        let Some(completed_ns) = row.end_ns.filter(|&completed_ns| completed_ns > start && row.start_ns < end) else {
            continue;
        };
        let path = facts.trace.text(row.file);
        if !is_on_network(path) {
            continue;
        }
        let name = share(path);
        let position = shares.iter().position(|share| share.name == name);
        let index = position.unwrap_or(shares.len());
        if position.is_none() {
            // A computer uses few shares, but a corrupt recording may name any number.
            if shares.len() >= MAX_SHARES {
                continue;
            }
            shares.push(Share { name, ..Share::default() });
        }
        if let Some(share) = shares.get_mut(index) {
            share.intervals.push((row.start_ns, completed_ns));
            share.tids.extend(row.tid);
        }
    }
    Ok(shares
        .into_iter()
        .filter_map(|Share { name, intervals, tids }| {
            let total = covered_ns(intervals.clone(), (start, end));
            let tids: Vec<u32> = tids.into_iter().collect();
            let first_start_ns = intervals.iter().map(|&(start, _)| start).min()?;
            (total >= thresholds::NETWORK_FILES_NS).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::File, name.clone()),
                    format!("access to files on {name} took {} before the desktop was ready", time(total)),
                )
                .evidence(first_start_ns, format!("{} on {name}", counted(intervals.len(), "operation")))
                .cost(facts.device_cost(intervals, &tids))
                .advice("delete persistent connections that are not needed ('net use * /delete') and connect the others on demand")
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_redirector_paths() {
        let path = r"\Device\Mup\SERVER\Profiles\user\ntuser.dat";
        assert!(is_on_network(path));
        assert_eq!(share(path), r"\\server\profiles");
        assert!(!is_on_network(r"\Device\HarddiskVolume2\Windows\explorer.exe"));
        assert!(!is_on_network("ä"));
    }
}
