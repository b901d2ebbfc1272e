//! Tasks that are slow to freeze.

use onoff_transitions::PhaseName;
use onoff_transitions::linux::suspend::{FrozenTask, LinuxSleep};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A freezing of processes that takes 500 ms or more, and the tasks that stopped last.
    ///
    /// # Why it costs time
    /// No device goes to sleep before the last task has stopped. After 20 s the kernel gives the sleep up
    /// (`/sys/power/pm_freeze_timeout`).
    ///
    /// # Evidence needed
    /// The phases of the sleep: the trace event `power:suspend_resume`, or the kernel's log. Who stopped last: `sched:sched_switch`.
    ///
    /// # What to do
    /// See what the task does: one that waits for a server or a disk without being interruptible cannot be frozen until that answers.
    /// Unmount network file systems before a sleep, or mount them so that they can be interrupted.
    ///
    /// # When it is wrong
    /// A task that stops last may only have had no processor before: look at who used the processors in the phase.
    ///
    /// # Source
    /// The kernel's `Documentation/power/freezing-of-tasks.rst`; the limit is onoff's.
    "linux/sleep-tasks-slow", "tasks that are slow to freeze", LinuxSuspend(check)
}

/// Tasks named.
const NAMED: usize = 3;

fn check(sleep: &LinuxSleep) -> Outcome {
    let freezing = || sleep.phases.iter().filter(|phase| phase.name == PhaseName::FreezeProcesses);
    if freezing().next().is_none() {
        return Err(lacks_other("how long tasks took to freeze: the trace event power:suspend_resume tells"));
    }
    Ok(freezing()
        .filter_map(|phase| {
            let (end, length) = phase.end_ns.zip(phase.duration_ns)?;
            let start = phase.start_ns?;
            if length < thresholds::FREEZE_NS {
                return None;
            }
            let mut last: Vec<&FrozenTask> = sleep
                .details.tasks
                .iter()
                .filter(|task| (start..=end).contains(&task.frozen_ns))
                .collect();
            last.sort_by_key(|task| std::cmp::Reverse(task.frozen_ns));
            let after = |task: &FrozenTask| task.frozen_ns.saturating_sub(start);
            let mut finding = match last.first() {
                Some(task) => RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Process, task.name.as_str())
                        .with_pid(Some(task.pid)),
                    format!(
                        "freezing the processes takes {}: {} ({}) stops after {}",
                        time(length),
                        task.name,
                        task.tid,
                        time(after(task))
                    ),
                ),
                None => RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Phase, phase.name.as_str()),
                    format!("freezing the processes takes {}", time(length)),
                ),
            }
            .costs(Cost::on_path(length))
            .certain(phase.certainty)
            .because(phase.start_ns, phase.ends.rule.to_string())
            .advise(
                "see what the task waits for that cannot be interrupted: a server, a disk; unmount network file systems before a sleep",
            );
            for task in last.iter().take(NAMED) {
                finding = finding.because(
                    task.frozen_ns,
                    format!("{} ({}) stops, {} after the start", task.name, task.tid, time(after(task))),
                );
            }
            let users = phase.cpu.iter().flat_map(|cpu| &cpu.by_process);
            let busiest = users.max_by_key(|row| row.cpu_ns);
            if let Some(row) = busiest.filter(|row| row.cpu_ns >= thresholds::NOISE_NS) {
                finding = finding.because(
                    None,
                    format!("{} used the processors most: {}", row.image, time(row.cpu_ns)),
                );
            }
            Some(finding)
        })
        .collect())
}
