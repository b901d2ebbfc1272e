//! Units that were restarted after a failure.

use std::collections::BTreeMap;

use onoff_trace::ServiceOutcome;
use onoff_usage::units::Unit;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A service that was started twice or more before the boot was finished, and failed at least once, or failed until
    /// the service manager refused to start it again (the start limit).
    ///
    /// # Why it costs time
    /// Each attempt takes CPU and disk from the rest of the boot, and whatever needs the service waits until one
    /// attempt succeeds.
    ///
    /// # Evidence needed
    /// Unit starts and results: the journal. Unit properties only have the last start.
    ///
    /// # What to do
    /// Find out why the first attempts failed (`journalctl -b -u UNIT`). Often a service starts before what it needs is
    /// available because it has no `After=`.
    ///
    /// # When it is wrong
    /// A service that a path or a socket unit triggers repeatedly starts as often as it should; it is not reported
    /// unless it failed.
    ///
    /// # Source
    /// systemd.service(5), `Restart=`; systemd.unit(5), `StartLimitBurst=`.
    "linux/unit-restarted", "units that were restarted after a failure", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let units = &facts.report.units;
    if units.is_empty() {
        return Err(missing_input("unit start and end times"));
    }
    let mut starts: BTreeMap<&str, Vec<&Unit>> = BTreeMap::new();
    for unit in units.iter().filter(|unit| unit.name.ends_with(".service")) {
        starts.entry(&unit.name).or_default().push(unit);
    }
    // Ignore units first started after the boot.
    starts.retain(|_, starts| starts.first().is_some_and(|first_start| first_start.automatic));
    let has_critical_path = !facts.report.details.critical_path.steps.is_empty();
    Ok(starts
        .into_iter()
        .filter_map(|(name, starts)| {
            // The service manager refuses the last start of a unit that failed too often.
            let (refused, attempts): (Vec<&Unit>, Vec<&Unit>) =
                starts.into_iter().partition(|unit| unit.result == START_LIMIT);
            // A service that counts as started at once fails later.
            let failed: Vec<&Unit> = attempts
                .iter()
                .copied()
                .filter(|unit| unit.outcome == ServiceOutcome::Failed || !unit.result.is_empty())
                .collect();
            let (first_start, last_start) = (*attempts.first()?, *attempts.last()?);
            if attempts.len() + refused.len() < 2 || failed.is_empty() {
                return None;
            }
            // A retry after the boot or off the critical path delayed nothing.
            let is_waited_for =
                last_start.automatic && (!has_critical_path || attempts.iter().any(|unit| unit.on_path));
            let length_ns = last_start.start_ns.saturating_sub(first_start.start_ns).max(0);
            let result = failed.iter().rev().map(|unit| unit.result.as_str()).find(|result| !result.is_empty());
            let result_suffix = result.map_or_else(String::new, |result| format!(" ({result})"));
            let title = match refused.is_empty() {
                false => format!("{name} failed {} times, until its start limit{result_suffix}", failed.len()),
                true => format!(
                    "{name} was started {} times, {} of them failed{result_suffix}",
                    attempts.len(),
                    failed.len()
                ),
            };
            let has_recovered =
                refused.is_empty() && failed.last().is_none_or(|unit| unit.start_ns < last_start.start_ns);
            let mut finding = RuleFinding::new(FindingSubject::new(FindingSubjectKind::Service, name), title)
                .cost(if is_waited_for { Cost::at_most(length_ns) } else { Cost::UNKNOWN })
                .evidence(first_start.start_ns, "first start")
                .evidence(last_start.start_ns, "last start")
                .advice(advice(name, result.unwrap_or_default(), has_recovered));
            if let Some(refused) = refused.first() {
                finding = finding.evidence(refused.start_ns, "the service manager refused to start it again");
            }
            Some(finding)
        })
        .collect())
}

/// Result of a start that the service manager refused because the unit had failed too often.
const START_LIMIT: &str = "start-limit-hit";

/// What an exit status of the service manager's own means. Source: systemd.exec(5), "Process Exit Codes".
const STATUSES: [(&str, &str); 6] = [
    ("200/CHDIR", "its working directory does not exist"),
    ("203/EXEC", "its program does not exist or is not executable: check 'ExecStart='"),
    ("209/STDOUT", "its standard output could not be opened"),
    ("216/GROUP", "its group does not exist: check 'Group='"),
    ("217/USER", "its user does not exist: check 'User='"),
    ("226/NAMESPACE", "its file system namespace could not be set up: check 'ReadWritePaths=' and similar settings"),
];

fn advice(name: &str, result: &str, has_recovered: bool) -> String {
    if let Some((status, meaning)) = STATUSES.iter().find(|(status, _)| result.ends_with(status)) {
        return format!("{meaning} (status {status})");
    }
    if has_recovered {
        return format!(
            "find out why the first attempts failed ('journalctl -b -u {name}'): often a service starts before what it needs is \
             available because it has no 'After='"
        );
    }
    format!("find out why it fails ('journalctl -b -u {name}') and fix it, or disable it if nothing needs it")
}
