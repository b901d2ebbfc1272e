//! Services that start sequentially.

use onoff_transitions::linux::boot::UnitPathStep;
use onoff_usage::units::WaitKind;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Three or more services on the critical path to the default target, each ordered after the previous one, that
    /// take 3 s or more in total without one of them taking most of it.
    ///
    /// # Why it costs time
    /// Each waits for the previous one. Without unneeded ordering they could start in parallel, and only the longest
    /// would count.
    ///
    /// # Evidence needed
    /// Unit times (journal, or systemd's own dump) and unit ordering (unit properties).
    ///
    /// # What to do
    /// Check each `After=` between them (`systemctl show -p After UNIT`): it is needed if one uses what the other
    /// provides. With a socket or a D-Bus name, both can start at once.
    ///
    /// # When it is wrong
    /// Ordering that is needed has to stay, and services limited by CPU or disk take just as long in parallel.
    ///
    /// # Source
    /// systemd.unit(5), `After=`; daemon(7), socket-based activation; thresholds as in the rule
    /// `boot/service-chain`.
    "linux/unit-chain", "services that start sequentially", LinuxBoot(check)
}

fn check(facts: &LinuxBootFacts<'_>) -> Outcome {
    let path = &facts.report.details.critical_path;
    if path.steps.is_empty() || !path.has_declared_order() {
        return Err(missing_input("unit ordering: unit times and properties"));
    }
    let is_link = |step: &UnitPathStep| {
        step.unit.ends_with(".service")
            // systemd's own services are ordered by need.
            && !step.unit.starts_with("systemd-")
            && step.duration_ns >= thresholds::CHAIN_LINK_NS
            // A CPU-bound service would take just as long in parallel.
            && step.busy_percent.is_none_or(|busy| busy < thresholds::CHAIN_BUSY_PERCENT)
    };
    let mut findings = Vec::new();
    let mut remaining = &path.steps[..];
    while let Some((first, later_steps)) = remaining.split_first() {
        let follows = later_steps.iter().zip(remaining).take_while(|(step, previous)| {
            is_link(step) && step.released_by.kind == WaitKind::DeclaredOrder && step.released_by.name == previous.unit
        });
        let length = if is_link(first) { 1 + follows.count() } else { 1 };
        let (chain, following) = remaining.split_at(length);
        remaining = following;
        let total_ns = chain.iter().fold(0_i64, |sum, step| sum.saturating_add(step.duration_ns));
        let largest_ns = chain.iter().map(|step| step.duration_ns).max().unwrap_or_default();
        let percent = if total_ns > 0 { largest_ns as f64 * 100.0 / total_ns as f64 } else { 100.0 };
        if length < thresholds::MIN_CHAIN_SERVICES
            || total_ns < thresholds::CHAIN_NS
            || percent > thresholds::CHAIN_LARGEST_PERCENT
        {
            continue;
        }
        let names: Vec<&str> = chain.iter().map(|step| step.unit.as_str()).collect();
        let mut finding = RuleFinding::new(
            FindingSubject::new(FindingSubjectKind::Service, names.join(" → ")),
            format!("{length} services started sequentially and took {} in total: {}", time(total_ns), names.join(", ")),
        )
        .members(names.iter().copied())
        // In parallel, only the longest would count.
        .cost(Cost::at_most(total_ns.saturating_sub(largest_ns)))
        .certainty(chain.iter().fold(path.certainty, |certainty, step| certainty.and(step.released_by.certainty)))
        .advice(
            "check each 'After=' between them ('systemctl show -p After UNIT'): remove it if one does not use what the other \
             provides, or use socket activation",
        );
        for step in chain {
            finding = finding.evidence(step.start_ns, format!("{} took {}", step.unit, time(step.duration_ns)));
        }
        findings.push(finding);
    }
    Ok(findings)
}
