//! A computer that stays busy after the desktop is ready.

use onoff_evidence::Scope;
use onoff_lists::cpu::{CpuGroup, list};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A computer that is busy for more than 6 s after the desktop is ready, or does not become idle before the
    /// recording ends, and the programs that keep it busy.
    ///
    /// # Why it costs time
    /// The boot ends once the computer has been idle for 10 s in total; all busy time until then counts.
    ///
    /// # Evidence needed
    /// CPU time per process (CSWITCH, or samples for an estimate) and disk requests (DISK_IO) after the desktop is
    /// ready.
    ///
    /// # What to do
    /// Start the named programs later, reduce their work, or run them at low CPU and disk priority: low-priority work
    /// does not count.
    ///
    /// # When it is wrong
    /// A person using the computer also keeps it busy. The named program used the most; many small ones may account for
    /// the rest.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostBoot Performance Analysis"; the threshold is onoff's.
    "boot/post-boot-busy", "a computer that stays busy after the desktop, and what keeps it busy", Session(check)
}

fn check(facts: &BootFacts<'_>) -> Outcome {
    let Some((phase, (start, end))) = facts.post_boot() else { return Ok(Vec::new()) };
    facts.require_cpu_times()?;
    let busy = facts.report.work_after_ns().unwrap_or(0);
    if busy < thresholds::POST_BOOT_NS {
        return Ok(Vec::new());
    }
    let processes = busy_processes(facts, phase, (start, end));
    let total_ns: i64 = processes.iter().map(|process| process.ns).fold(0, i64::saturating_add);
    let share = |ns: i64| ns as f64 * 100.0 / total_ns.max(1) as f64;
    let subject = processes.first().filter(|process| share(process.ns) >= thresholds::POST_BOOT_SHARE_PERCENT);
    let main_user = match subject {
        Some(process) => format!("; mostly with {}", process.image),
        None => String::new(),
    };
    let title = if facts.report.settled().is_some() {
        format!("the computer was busy for {} after the desktop was ready", time(busy))
    } else {
        format!(
            "the computer did not become idle: it was busy for {} of the {} recorded after the desktop was ready",
            time(busy),
            time(end.saturating_sub(start))
        )
    };
    let mut finding = RuleFinding::new(
        match subject {
            Some(process) => {
                FindingSubject::new(FindingSubjectKind::Process, process.image.clone()).with_pid(process.pid)
            }
            None => FindingSubject::new(FindingSubjectKind::Transition, ""),
        },
        title + &main_user,
    )
    .cost(Cost::at_most(busy))
    .certainty(facts.report.settling.as_ref().map_or(Certainty::Missing, |settling| settling.certainty))
    .advice("start these programs later, reduce their work, or run them at low CPU and disk priority, which does not count as busy");
    for BusyProcess { image, ns, .. } in processes.iter().take(4) {
        finding =
            finding.evidence(None, format!("{image}: {} of CPU and disk, {:.0} % of the total", time(*ns), share(*ns)));
    }
    Ok(vec![finding])
}

struct BusyProcess {
    image: String,
    pid: Option<u32>,
    /// CPU time at normal priority and above plus disk time, ns.
    ns: i64,
}

/// Returns the processes that kept the computer busy, busiest first.
fn busy_processes(facts: &BootFacts<'_>, phase: &onoff_transitions::Phase, (start, end): Interval) -> Vec<BusyProcess> {
    /// Threads below this priority do not count as busy.
    const NORMAL_PRIORITY: u8 = 8;
    let mut processes: Vec<BusyProcess> = Vec::new();
    let mut add = |image: &str, pid: Option<u32>, ns: i64| {
        if image.is_empty() || ns <= 0 || pid == Some(0) {
            return;
        }
        match processes.iter_mut().find(|process| process.pid == pid) {
            Some(process) => process.ns = process.ns.saturating_add(ns),
            None => processes.push(BusyProcess { image: image.to_owned(), pid, ns }),
        }
    };
    if let Some(scope) = Scope::between(facts.trace, start, end) {
        for row in list(facts.trace, &scope, &[CpuGroup::Process, CpuGroup::Priority]).rows {
            if row.priority.is_none_or(|priority| priority >= NORMAL_PRIORITY) {
                add(&row.image, row.pid, row.cpu_ns);
            }
        }
    }
    let low_priority: Vec<(Option<u32>, i64)> = facts
        .trace
        .disk_ios
        .iter()
        .filter(|row| row.priority.is_low() && row.complete_ns > start && row.complete_ns <= end)
        .map(|row| (row.pid, row.service_ns))
        .collect();
    for row in phase.disk.iter().flat_map(|disk| &disk.by_process) {
        let low_priority_ns: i64 =
            low_priority.iter().filter(|(pid, _)| *pid == row.pid).map(|&(_, ns)| ns).fold(0, i64::saturating_add);
        add(&row.image, row.pid, row.service_ns.saturating_sub(low_priority_ns));
    }
    processes.sort_by_key(|process| std::cmp::Reverse(process.ns));
    processes
}
