//! Services that nothing waited for but that used CPU and disk time the boot needed.

use onoff_blame::waits::StepKind;
use onoff_usage::units::{Unit, WaitKind};

use super::starts::starts;
use crate::path::Step;
use crate::protected::is_protected;
use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Automatic services with a dedicated process that nothing waited for and that used 1 s or more of CPU and disk
    /// time in total before the desktop.
    ///
    /// # Why it costs time
    /// They take resources from the boot. As demand-start, trigger-start or delayed services, they run when nothing is
    /// waiting.
    ///
    /// # Evidence needed
    /// Service starts (provider Microsoft-Windows-Services), and CPU or disk time per process.
    ///
    /// # What to do
    /// Change the start type of services that nothing needs early: `sc.exe config NAME start= demand` or
    /// `delayed-auto`, after checking their ERROR_CONTROL and their dependents. Services that are part of Windows or
    /// its protection are never listed here.
    ///
    /// # When it is wrong
    /// Even if nothing waited for a service in this boot, something may need it. Use of idle CPUs costs nothing, so the
    /// cost is an upper bound.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "Boot Transition: Summary"; Improving Performance in Windows
    /// Embedded Standard 7, "Services".
    "boot/service-could-start-later", "services that could be demand-start, trigger-start or delayed", Boot(check)
}

/// True if the critical path waited for the service: a program may wait for a service that no other service needs.
fn is_on_critical_path(facts: &BootFacts<'_>, service: &Unit) -> bool {
    let (Some(path), Some(pid)) = (&facts.path, service.pid) else { return false };
    let is_waited_for = |step: &Step| step.pid == Some(pid) && step.pids.iter().any(|&waiting_pid| waiting_pid != pid);
    path.time(facts.main_path(), is_waited_for) >= thresholds::NOISE_NS
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Services")?;
    facts.require_cpu_times()?;
    let (_, main_path_end) = facts.main_path();
    // Waiting for the host process of another service is not waiting for that service.
    let waited_for: Vec<&str> = starts(facts)
        .filter_map(|service| service.waited_for.as_ref())
        .filter(|wait| wait.kind != WaitKind::Container)
        .map(|wait| wait.name.as_str())
        .collect();
    let mut candidates: Vec<(&str, Option<u32>, i64, i64)> = starts(facts)
        .filter(|service| {
            service.automatic
                && service.group.is_empty()
                && !waited_for.contains(&service.name.as_str())
                && service.start_ns < main_path_end
                && !is_protected(&service.name)
                && !service.image.eq_ignore_ascii_case("svchost.exe")
                && !is_on_critical_path(facts, service)
        })
        .filter_map(|service| {
            let pid = service.pid?;
            let used = facts.main_path_usage_ns(pid);
            (used > 0).then_some((service.name.as_str(), Some(pid), service.start_ns, used))
        })
        .collect();
    candidates.sort_by_key(|&(_, _, _, used)| std::cmp::Reverse(used));
    let total: i64 = candidates.iter().map(|&(_, _, _, used)| used).fold(0, i64::saturating_add);
    if total < thresholds::LATER_SERVICES_NS {
        return Ok(Vec::new());
    }
    let names: Vec<&str> = candidates.iter().map(|&(name, _, _, _)| name).collect();
    let is_single = candidates.len() == 1;
    let pids: Vec<u32> = candidates.iter().filter_map(|candidate| candidate.1).collect();
    let mut finding = RuleFinding::new(
        FindingSubject::new(FindingSubjectKind::Service, names.join(", "))
            .with_pid(candidates.first().filter(|_| is_single).and_then(|candidate| candidate.1)),
        format!(
            "{} that nothing waited for used {} of CPU and disk before the desktop: {}",
            counted(candidates.len(), "service"),
            time(total),
            listed(&names, 4)
        ),
    )
    .members(names.iter().copied())
    .cost(facts.processes_cost(
        &pids,
        facts.main_path(),
        &[StepKind::Ready, StepKind::Disk],
        total,
    ))
    .certainty(Certainty::Inferred)
    .advice(
        "make those that nothing needs early demand-start, trigger-start or delayed ('sc.exe config NAME start= delayed-auto'); \
         check first with 'sc qc NAME' that ERROR_CONTROL is not 3 and with 'sc enumdepend NAME' that nothing needs it",
    );
    for (name, _, start, used) in candidates.iter().take(5) {
        finding = finding.evidence(*start, format!("{name}: {} of CPU and disk", time(*used)));
    }
    Ok(vec![finding])
}
