//! Services that start one after the other.

use onoff_transitions::linux::boot::UnitPathStep;
use onoff_usage::units::WaitKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Three or more services on the way to the default target, each ordered after the one before it, that take 3 s or more together,
    /// none of them most of that.
    ///
    /// # Why it costs time
    /// Each waits for the one before. Where an ordering is not needed they could start together, and only the longest would count.
    ///
    /// # Evidence needed
    /// Times of units (the journal or the service manager's own dump) and their ordering (properties of units).
    ///
    /// # What to do
    /// Look at each `After=` between them (`systemctl show -p After UNIT`): it is needed where one uses what the other makes. A socket or
    /// a D-Bus name lets both start at once.
    ///
    /// # When it is wrong
    /// An ordering that is there for a reason has to stay, and services that keep the processors or the disk busy take as long side by
    /// side.
    ///
    /// # Source
    /// systemd.unit(5), `After=`; daemon(7), socket-based activation; the limits are those of the rule `boot/service-chain`.
    "linux/units-in-a-row", "services that start one after the other", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let path = &facts.report.details.critical_path;
    if path.steps.is_empty() {
        return Err(lacks_other("which unit waited for which: times of units and their properties"));
    }
    let is_link = |step: &UnitPathStep| {
        step.unit.ends_with(".service")
            // systemd orders its own services as they need each other.
            && !step.unit.starts_with("systemd-")
            && step.duration_ns >= thresholds::CHAIN_LINK_NS
            // Who has all processors takes as long beside others.
            && step.busy_percent.is_none_or(|busy| busy < thresholds::CHAIN_BUSY_PERCENT)
    };
    let mut findings = Vec::new();
    let mut rest = &path.steps[..];
    while let Some((first, after)) = rest.split_first() {
        let follows = after.iter().zip(rest).take_while(|(step, before)| {
            is_link(step) && step.released_by.kind == WaitKind::DeclaredOrder && step.released_by.name == before.unit
        });
        let length = if is_link(first) { 1 + follows.count() } else { 1 };
        let (chain, next) = rest.split_at(length);
        rest = next;
        let whole_ns = chain.iter().fold(0_i64, |sum, step| sum.saturating_add(step.duration_ns));
        let largest_ns = chain.iter().map(|step| step.duration_ns).max().unwrap_or_default();
        let percent = if whole_ns > 0 { largest_ns as f64 * 100.0 / whole_ns as f64 } else { 100.0 };
        if length < thresholds::CHAIN_SERVICES
            || whole_ns < thresholds::CHAIN_NS
            || percent > thresholds::CHAIN_LARGEST_PERCENT
        {
            continue;
        }
        let names: Vec<&str> = chain.iter().map(|step| step.unit.as_str()).collect();
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Service, names.join(" → ")),
            format!("{length} services start one after the other for {}: {}", time(whole_ns), names.join(", ")),
        )
        // Side by side the longest would be left.
        .costs(Cost::at_most(whole_ns.saturating_sub(largest_ns)))
        .certain(chain.iter().fold(path.certainty, |all, step| all.and(step.released_by.certainty)))
        .advise(
            "look at each 'After=' between them ('systemctl show -p After UNIT'): drop those where one does not use what the other makes, or \
             let a socket carry the order",
        );
        for step in chain {
            finding = finding.because(step.start_ns, format!("{} takes {}", step.unit, time(step.duration_ns)));
        }
        findings.push(finding);
    }
    Ok(findings)
}
