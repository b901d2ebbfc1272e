//! A computer that stays busy after it resumed.

use onoff_evidence::Scope;
use onoff_lists::cpu::{CpuGroup, list};
use onoff_transitions::PhaseName;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A computer that is busy for 5 s or more after its resume until it has settled, and who used the processors most.
    ///
    /// # Why it costs time
    /// A person wants to work now: timers, tasks and notifications of the time asleep all run at once and compete with the person.
    ///
    /// # Evidence needed
    /// Processor times by process after the resume: the kernel's flag CSWITCH, or samples.
    ///
    /// # What to do
    /// Have the programs named wait after a resume, do less, or run with low priority, which does not count.
    ///
    /// # When it is wrong
    /// A person who works keeps the computer busy as well.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostResume Subphase"; the metric is PostBoot's, the limit onoff's.
    "suspend/post-resume-busy", "a computer that stays busy after it resumed", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    /// Threads below this priority do not count for the metric.
    const NORMAL_PRIORITY: u8 = 8;
    // The work after a new session's desktop is a boot's: `boot/post-boot-busy`.
    if transition.phase(PhaseName::PostBoot).is_some() {
        return Ok(Vec::new());
    }
    let Some((settling, start)) = transition.settling.as_ref().and_then(|it| Some((it, it.start_ns?))) else {
        return Ok(Vec::new());
    };
    if settling.busy_ns < thresholds::POST_RESUME_NS {
        return Ok(Vec::new());
    }
    let end = settling.end_ns.unwrap_or(facts.trace.duration_ns);
    let mut users: Vec<(String, Option<u32>, i64)> = Vec::new();
    if let Some(scope) = Scope::between(facts.trace, start, end) {
        for row in list(facts.trace, &scope, &[CpuGroup::Process, CpuGroup::Priority]).rows {
            let counts = row.priority.is_none_or(|priority| priority >= NORMAL_PRIORITY);
            if !counts || row.image.is_empty() || row.pid == Some(0) {
                continue;
            }
            match users.iter_mut().find(|known| known.1 == row.pid) {
                Some(known) => known.2 = known.2.saturating_add(row.cpu_ns),
                None => users.push((row.image, row.pid, row.cpu_ns)),
            }
        }
    }
    users.sort_by_key(|it| std::cmp::Reverse(it.2));
    let who = users.first().map_or(String::new(), |(image, _, _)| format!("; {image} used the processors most"));
    let mut finding = RuleFinding::new(
        match users.first() {
            Some((image, pid, _)) => FindingSubject::new(FindingSubjectKind::Process, image.clone()).with_pid(*pid),
            None => FindingSubject::new(FindingSubjectKind::Transition, ""),
        },
        format!("the computer is busy for {} after its resume{who}", time(settling.busy_ns)),
    )
    .costs(Cost::at_most(settling.busy_ns))
    .certain(settling.certainty)
    .advise("have these programs wait after a resume, do less, or run with low priority");
    for (image, _, used) in users.iter().take(4) {
        finding = finding.because(None, format!("{image}: {} of processor time", time(*used)));
    }
    Ok(vec![finding])
}
