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
    let users = users(facts, phase, (start, end));
    let all: i64 = users.iter().map(|it| it.2).fold(0, i64::saturating_add);
    let share = |ns: i64| ns as f64 * 100.0 / all.max(1) as f64;
    let subject = users.first().filter(|it| share(it.2) >= thresholds::POST_BOOT_SHARE_PERCENT);
    let who = match subject {
        Some((image, _, _)) => format!("; mostly with {image}"),
        None => String::new(),
    };
    let length = if facts.report.settled().is_some() {
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
            Some((image, pid, _)) => {
                FindingSubject::new(FindingSubjectKind::Process, image.clone()).with_pid(*pid)
            }
            None => FindingSubject::new(FindingSubjectKind::Transition, ""),
        },
        length + &who,
    )
    .cost(Cost::at_most(busy))
    .certainty(facts.report.settling.as_ref().map_or(Certainty::Missing, |it| it.certainty))
    .advice("start these programs later, reduce their work, or run them at low CPU and disk priority, which does not count as busy");
    for (image, _, used) in users.iter().take(4) {
        finding = finding
            .evidence(None, format!("{image}: {} of CPU and disk, {:.0} % of the total", time(*used), share(*used)));
    }
    Ok(vec![finding])
}

/// Processes by CPU time (at normal priority and above) plus disk time, largest first.
fn users(
    facts: &BootFacts<'_>,
    phase: &onoff_transitions::Phase,
    (start, end): Interval,
) -> Vec<(String, Option<u32>, i64)> {
    /// Threads below this priority do not count as busy.
    const NORMAL_PRIORITY: u8 = 8;
    let mut users: Vec<(String, Option<u32>, i64)> = Vec::new();
    let mut add = |image: &str, pid: Option<u32>, ns: i64| {
        if image.is_empty() || ns <= 0 || pid == Some(0) {
            return;
        }
        match users.iter_mut().find(|known| known.1 == pid) {
            Some(known) => known.2 = known.2.saturating_add(ns),
            None => users.push((image.to_owned(), pid, ns)),
        }
    };
    if let Some(scope) = Scope::between(facts.trace, start, end) {
        for row in list(facts.trace, &scope, &[CpuGroup::Process, CpuGroup::Priority]).rows {
            if row.priority.is_none_or(|priority| priority >= NORMAL_PRIORITY) {
                add(&row.image, row.pid, row.cpu_ns);
            }
        }
    }
    let low: Vec<(Option<u32>, i64)> = facts
        .trace
        .disk_ios
        .iter()
        .filter(|row| row.priority.is_low() && row.complete_ns > start && row.complete_ns <= end)
        .map(|row| (row.pid, row.service_ns))
        .collect();
    for row in phase.disk.iter().flat_map(|disk| &disk.by_process) {
        let low: i64 = low.iter().filter(|(pid, _)| *pid == row.pid).map(|&(_, ns)| ns).fold(0, i64::saturating_add);
        add(&row.image, row.pid, row.service_ns.saturating_sub(low));
    }
    users.sort_by_key(|it| std::cmp::Reverse(it.2));
    users
}
