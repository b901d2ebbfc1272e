//! A computer that stays busy after a resume.

use onoff_evidence::Scope;
use onoff_lists::cpu::{CpuGroup, list};
use onoff_transitions::PhaseName;
use onoff_transitions::suspend::PowerTransition;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A computer that is busy for 5 s or more between the resume and becoming idle, and the programs that used the
    /// most CPU.
    ///
    /// # Why it costs time
    /// The user wants to work, but timers, tasks and notifications that were due during the sleep all run at once.
    ///
    /// # Evidence needed
    /// CPU time per process after the resume: kernel flag CSWITCH, or samples.
    ///
    /// # What to do
    /// Let the named programs wait after a resume, reduce their work, or run them at low priority, which does not count
    /// as busy.
    ///
    /// # When it is wrong
    /// A person using the computer also keeps it busy.
    ///
    /// # Source
    /// Windows On/Off Transition Performance Analysis, "PostResume Subphase"; the metric is the same as for PostBoot; the
    /// threshold is onoff's.
    "suspend/post-resume-busy", "a computer that stays busy after a resume", Suspend(check)
}

fn check(facts: &SuspendFacts<'_>, transition: &PowerTransition) -> Outcome {
    /// Threads below this priority do not count as busy.
    const NORMAL_PRIORITY: u8 = 8;
    // After a fast startup, `boot/post-boot-busy` covers the work after the desktop.
    if transition.phase(PhaseName::PostBoot).is_some() {
        return Ok(Vec::new());
    }
    let Some((settling, start)) =
        transition.settling.as_ref().and_then(|settling| Some((settling, settling.start_ns?)))
    else {
        return Ok(Vec::new());
    };
    if settling.busy_ns < thresholds::POST_RESUME_NS {
        return Ok(Vec::new());
    }
    let end = settling.end_ns.unwrap_or(facts.trace.duration_ns);
    let mut users: Vec<(String, Option<u32>, i64)> = Vec::new();
    if let Some(scope) = Scope::between(facts.trace, start, end) {
        for row in list(facts.trace, &scope, &[CpuGroup::Process, CpuGroup::Priority]).rows {
            let is_normal_priority = row.priority.is_none_or(|priority| priority >= NORMAL_PRIORITY);
            if !is_normal_priority || row.image.is_empty() || row.pid == Some(0) {
                continue;
            }
            match users.iter_mut().find(|(_, pid, _)| *pid == row.pid) {
                Some((_, _, cpu_ns)) => *cpu_ns = cpu_ns.saturating_add(row.cpu_ns),
                None => users.push((row.image, row.pid, row.cpu_ns)),
            }
        }
    }
    users.sort_by_key(|&(_, _, cpu_ns)| std::cmp::Reverse(cpu_ns));
    let main_user = users.first().map_or(String::new(), |(image, _, _)| format!("; mostly with {image}"));
    let mut finding = RuleFinding::new(
        match users.first() {
            Some((image, pid, _)) => FindingSubject::new(FindingSubjectKind::Process, image.clone()).with_pid(*pid),
            None => FindingSubject::new(FindingSubjectKind::Transition, ""),
        },
        format!("the computer was busy for {} after the resume{main_user}", time(settling.busy_ns)),
    )
    .cost(Cost::at_most(settling.busy_ns))
    .certainty(settling.certainty)
    .advice("let these programs wait after a resume, reduce their work, or run them at low priority");
    for (image, _, used) in users.iter().take(4) {
        finding = finding.evidence(None, format!("{image}: {} of CPU time", time(*used)));
    }
    Ok(vec![finding])
}
