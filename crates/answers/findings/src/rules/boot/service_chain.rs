//! Services that start sequentially.

use onoff_usage::units::Unit;

use super::starts::starts;
use crate::finding::CostBasis;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Three or more services that started sequentially, each when the previous one was done, and took 3 s or more in
    /// total, without one of them taking most of it.
    ///
    /// # Why it costs time
    /// Each start may be short, but sequential waits add up while CPUs and disks stay idle.
    ///
    /// # Evidence needed
    /// Service starts: provider Microsoft-Windows-Services. Dependencies are not recorded; the order of starts is used
    /// instead.
    ///
    /// # What to do
    /// Remove unneeded dependencies, and do not express them through load-order groups. Have services report
    /// SERVICE_RUNNING before their slow work.
    ///
    /// # When it is wrong
    /// Starts that follow one another within 50 ms by chance look like a chain, so the finding is always inferred.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Boot Transition: Summary": avoid load-order groups to express
    /// dependencies.
    "boot/service-chain", "services that start sequentially", Boot(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    let services: Vec<&Unit> = starts(facts).filter(|service| service.automatic).collect();
    // The longest chain ending at each service. Services are ordered by start, and each waits for an earlier one.
    let mut best: Vec<(i64, Option<usize>)> = Vec::with_capacity(services.len());
    for (index, service) in services.iter().enumerate() {
        let own_ns = link_ns(service);
        let previous = service
            .waited_for
            .as_ref()
            .and_then(|wait| services.get(..index)?.iter().rposition(|earlier| earlier.name == wait.name));
        let so_far = previous.and_then(|index| best.get(index)).map_or(0, |&(chain_ns, _)| chain_ns);
        best.push((own_ns.saturating_add(so_far), previous));
    }
    let Some(last_index) = (0..best.len()).max_by_key(|&index| best.get(index).map_or(0, |&(chain_ns, _)| chain_ns))
    else {
        return Ok(Vec::new());
    };
    let mut chain: Vec<&Unit> = Vec::new();
    let mut next = Some(last_index);
    while let Some(index) = next {
        let (Some(service), Some(&(_, previous))) = (services.get(index), best.get(index)) else { break };
        if link_ns(service) >= thresholds::CHAIN_LINK_NS {
            chain.push(service);
        }
        next = previous;
    }
    chain.reverse();
    let total: i64 = chain.iter().map(|service| link_ns(service)).fold(0, i64::saturating_add);
    let largest = chain.iter().map(|service| link_ns(service)).max().unwrap_or(0);
    let has_dominant_service = largest as f64 * 100.0 > total as f64 * thresholds::CHAIN_LARGEST_PERCENT;
    if chain.len() < thresholds::MIN_CHAIN_SERVICES || total < thresholds::CHAIN_NS || has_dominant_service {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = chain.iter().map(|service| service.name.as_str()).collect();
    let costs: Vec<Cost> = chain.iter().map(|service| facts.service_cost(service)).collect();
    let cost_ns = costs.iter().filter_map(|cost| cost.ns).fold(0, i64::saturating_add);
    let is_exact = costs.iter().all(|cost| cost.basis == CostBasis::CriticalPath);
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, names.join(" → ")),
        format!(
            "{} started sequentially and took {} in total: {}",
            counted(chain.len(), "service"),
            time(total),
            listed(&names, 5)
        ),
    )
    .cost(if is_exact {
        Cost::on_path(cost_ns)
    } else {
        Cost::at_most(cost_ns)
    })
    .certainty(Certainty::Inferred)
    .members(names.iter().copied())
    .advice(
        "remove unneeded dependencies and load-order groups, and have these services report SERVICE_RUNNING before their \
         slow work; check each with 'sc qc NAME' and 'sc enumdepend NAME' first",
    );
    for service in chain.iter().take(6) {
        let evidence = match &service.waited_for {
            Some(wait) => format!("{}: {}; {}", service.name, time(link_ns(service)), wait.phrase(&service.name)),
            None => format!("{}: {}", service.name, time(link_ns(service))),
        };
        finding = finding.evidence(service.start_ns, evidence);
    }
    Ok(vec![finding])
}

/// Time the service adds to a chain, ns.
fn link_ns(service: &Unit) -> i64 {
    service.duration_ns.unwrap_or(0)
}
