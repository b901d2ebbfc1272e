//! Policy that takes long to apply.

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Group policy of the computer or the user that takes 3 s or more to apply, its scripts apart, with its slowest extension and its
    /// waits for the network.
    ///
    /// # Why it costs time
    /// The logon waits for policy that is applied in the foreground.
    ///
    /// # Evidence needed
    /// Policy events: provider Microsoft-Windows-GroupPolicy.
    ///
    /// # What to do
    /// Look at the slowest extension. Let policy be applied in the background ("Always wait for the network" off), and have a domain
    /// controller near.
    ///
    /// # When it is wrong
    /// Policy that is applied while the services of the logon still start costs only what it ends later than they.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "WinLogonInit Performance Vulnerabilities"; the limit is onoff's.
    "boot/policy-slow", "policy that takes long to apply", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-GroupPolicy")?;
    let policy = &facts.report.details.group_policy;
    Ok(policy
        .applications
        .iter()
        .filter_map(|work| {
            let (end, length) = work.end_ns.zip(work.duration_ns)?;
            if length < thresholds::POLICY_NS {
                return None;
            }
            let whose = if work.name.is_empty() {
                "policy".to_owned()
            } else {
                format!("policy for the {}", work.name)
            };
            let within = |start: i64| start >= work.start_ns && start < end;
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Work, whose.clone()),
                format!("{whose} takes {} to apply", time(length)),
            )
            .costs(facts.cost(vec![(work.start_ns, end)]))
            .within((work.start_ns, end))
            .because(work.start_ns, format!("{whose}: {}", time(length)))
            .advise(
                "look at its slowest extension; let policy be applied in the background and keep a domain controller near",
            );
            let extensions = policy.extensions.iter().map(|it| (it, "extension"));
            let waits = policy.network_waits.iter().map(|it| (it, "wait for the network"));
            for (part, what) in extensions.chain(waits).filter(|(it, _)| within(it.start_ns)) {
                if let Some(length) = part.duration_ns.filter(|&ns| ns >= thresholds::NOISE_NS) {
                    finding =
                        finding.because(part.start_ns, format!("{what} {}: {}", part.name, time(length)));
                }
            }
            Some(finding)
        })
        .collect())
}
