//! Group Policy that is slow to apply.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Computer or user Group Policy that takes 3 s or more to apply, not counting scripts, with its slowest extension
    /// and its waits for the network.
    ///
    /// # Why it costs time
    /// The logon waits for policy applied in the foreground.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Look at the slowest extension. Let policy apply in the background (turn off "Always wait for the network"), and
    /// keep a domain controller close by.
    ///
    /// # When it is wrong
    /// Policy applied while logon services are still starting costs only the time by which it outlasts them.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities"; the threshold is
    /// onoff's.
    "boot/policy-slow", "Group Policy that is slow to apply", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-GroupPolicy")?;
    let policy = &facts.report.details.group_policy;
    Ok(policy
        .applications
        .iter()
        .filter_map(|work| {
            let (end, length) = work.end_ns.zip(work.duration_ns)?;
            if length < thresholds::POLICY_NS {
                return None;
            }
            let policy_name = if work.name.is_empty() {
                "policy".to_owned()
            } else {
                format!("policy for the {}", work.name)
            };
            let is_within = |start: i64| start >= work.start_ns && start < end;
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Work, policy_name.clone()),
                format!("{policy_name} took {} to apply", time(length)),
            )
            .cost(facts.cost(vec![(work.start_ns, end)]))
            .active_during((work.start_ns, end))
            .evidence(work.start_ns, format!("{policy_name}: {}", time(length)))
            .advice(
                "look at the slowest extension; let policy apply in the background, and keep a domain controller close by",
            );
            let extensions = policy.extensions.iter().map(|part| (part, "extension"));
            let waits = policy.network_waits.iter().map(|part| (part, "network wait"));
            for (part, kind) in extensions.chain(waits).filter(|(part, _)| is_within(part.start_ns)) {
                if let Some(length) = part.duration_ns.filter(|&ns| ns >= thresholds::NOISE_NS) {
                    finding =
                        finding.evidence(part.start_ns, format!("{kind} {}: {}", part.name, time(length)));
                }
            }
            Some(finding)
        })
        .collect())
}
