//! Work with files on a network before the desktop.

use onoff_evidence::missing_evidence::Unanswered;
use std::collections::BTreeSet;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Operations on files of a network (paths through the redirector) that take 500 ms or more before the desktop is ready: persistent
    /// network drives, profiles and scripts on a server.
    ///
    /// # Why it costs time
    /// Network drives that are connected at each logon make the time to the desktop depend on servers and on the network, which may just be
    /// coming up.
    ///
    /// # Evidence needed
    /// File operations with their ends: the kernel's flags FILE_IO, FILE_IO_INIT and FILENAME.
    ///
    /// # What to do
    /// Delete connections that nobody needs (`net use * /delete`), connect the others when they are used.
    ///
    /// # When it is wrong
    /// A program that waits for a server on a separate thread holds nobody: without the chain of waits the cost is an upper bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Network Connection Effects on Performance Measurements"; the limit is onoff's.
    "boot/network-connections", "persistent network connections", Session(check)
}

/// Shares looked at, at most.
const MAX_SHARES: usize = 256;

/// A share of a server, and who used it when.
#[derive(Default)]
struct Share {
    name: String,
    intervals: Vec<Stretch>,
    tids: BTreeSet<u32>,
}

/// How paths of the network's redirectors begin.
const NETWORK: [&str; 4] = [r"\device\mup\", r"\device\lanmanredirector\", r"\device\webdavredirector\", r"\\"];

fn is_on_network(path: &str) -> bool {
    let lower = path.get(..path.len().min(64)).unwrap_or(path).to_lowercase();
    NETWORK.iter().any(|prefix| lower.starts_with(prefix))
}

/// Server and share of a path.
fn share(path: &str) -> String {
    let lower = path.to_lowercase();
    let rest = NETWORK.iter().find_map(|prefix| lower.strip_prefix(prefix)).unwrap_or(&lower);
    let parts: Vec<&str> = rest.split('\\').filter(|part| !part.is_empty()).take(2).collect();
    format!(r"\\{}", parts.join(r"\"))
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    if facts.trace.file_ios.is_empty() {
        return Err(lacks_kernel(Unanswered::NetworkFiles, &["FILE_IO", "FILE_IO_INIT", "FILENAME"]));
    }
    let (start, end) = facts.main_path();
    let mut shares: Vec<Share> = Vec::new();
    for row in facts.trace.file_ios.iter() {
        let Some(ended) = row.end_ns.filter(|&ended| ended > start && row.start_ns < end) else { continue };
        let path = facts.trace.text(row.file);
        if !is_on_network(path) {
            continue;
        }
        let name = share(path);
        let known = shares.iter().position(|known| known.name == name);
        let at = known.unwrap_or(shares.len());
        if known.is_none() {
            // A machine has few shares; a broken recording may name any number.
            if shares.len() >= MAX_SHARES {
                continue;
            }
            shares.push(Share { name, ..Share::default() });
        }
        if let Some(share) = shares.get_mut(at) {
            share.intervals.push((row.start_ns, ended));
            share.tids.extend(row.tid);
        }
    }
    Ok(shares
        .into_iter()
        .filter_map(|Share { name, intervals, tids }| {
            let total = covered_ns(intervals.clone(), (start, end));
            let tids: Vec<u32> = tids.into_iter().collect();
            let first = intervals.iter().map(|&(start, _)| start).min()?;
            (total >= thresholds::NETWORK_FILES_NS).then(|| {
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::File, name.clone()),
                    format!("files on {name} take {} before the desktop is ready", time(total)),
                )
                .because(first, format!("{} on {name}", counted(intervals.len(), "operation")))
                .costs(facts.device_cost(intervals, &tids))
                .advise("delete persistent connections that nobody needs ('net use * /delete'), connect the others when they are used")
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_through_the_redirector_are_on_the_network() {
        let path = r"\Device\Mup\SERVER\Profiles\user\ntuser.dat";
        assert!(is_on_network(path));
        assert_eq!(share(path), r"\\server\profiles");
        assert!(!is_on_network(r"\Device\HarddiskVolume2\Windows\explorer.exe"));
        assert!(!is_on_network("ä"));
    }
}
