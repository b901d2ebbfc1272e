//! Tasks that are slow to freeze.

use onoff_transitions::PhaseName;
use onoff_transitions::linux::suspend::{FrozenTask, LinuxSleep};

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// Freezing the processes takes 500 ms or more; the tasks that froze last are listed.
    ///
    /// # Why it costs time
    /// No device suspends before the last task is frozen. After 20 s, the kernel aborts the sleep
    /// (`/sys/power/pm_freeze_timeout`).
    ///
    /// # Evidence needed
    /// The phases of the sleep: the trace event `power:suspend_resume`, or the kernel log. For the last tasks:
    /// `sched:sched_switch`.
    ///
    /// # What to do
    /// Find out what the task does: a task in an uninterruptible wait for a server or a disk cannot be frozen until the
    /// wait ends. Unmount network file systems before a sleep, or mount them so that they can be interrupted.
    ///
    /// # When it is wrong
    /// The last task may just not have got a CPU earlier: check what used the CPUs during the phase.
    ///
    /// # Source
    /// The kernel's `Documentation/power/freezing-of-tasks.rst`; the threshold is onoff's.
    "linux/sleep-tasks-slow", "tasks that are slow to freeze", LinuxSuspend(check)
}

const MAX_TASKS: usize = 3;

fn check(sleep: &LinuxSleep) -> Outcome {
    let freezing = || sleep.phases.iter().filter(|phase| phase.name == PhaseName::FreezeProcesses);
    if freezing().next().is_none() {
        return Err(missing_input("task freezing times (trace event power:suspend_resume)"));
    }
    Ok(freezing()
        .filter_map(|phase| {
            let (end, length) = phase.end_ns.zip(phase.duration_ns)?;
            let start = phase.start_ns?;
            if length < thresholds::FREEZE_NS {
                return None;
            }
            let mut last_tasks: Vec<&FrozenTask> = sleep
                .details.tasks
                .iter()
                .filter(|task| (start..=end).contains(&task.frozen_ns))
                .collect();
            last_tasks.sort_by_key(|task| std::cmp::Reverse(task.frozen_ns));
            let delay_ns = |task: &FrozenTask| task.frozen_ns.saturating_sub(start);
            let mut finding = match last_tasks.first() {
                Some(task) => RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Process, task.name.as_str())
                        .with_pid(Some(task.pid)),
                    format!(
                        "freezing the processes took {}: {} ({}) froze after {}",
                        time(length),
                        task.name,
                        task.tid,
                        time(delay_ns(task))
                    ),
                ),
                None => RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Phase, phase.name.as_str()),
                    format!("freezing the processes took {}", time(length)),
                ),
            }
            .cost(Cost::on_path(length))
            .certainty(phase.certainty)
            .evidence(phase.start_ns, phase.ends.rule.to_string())
            .advice(
                "find out what the task waits for uninterruptibly, such as a server or a disk; unmount network file systems before a \
                 sleep",
            );
            for task in last_tasks.iter().take(MAX_TASKS) {
                finding = finding.evidence(
                    task.frozen_ns,
                    format!("{} ({}) froze {} after the start", task.name, task.tid, time(delay_ns(task))),
                );
            }
            let cpu_rows = phase.cpu.iter().flat_map(|cpu| &cpu.by_process);
            let busiest = cpu_rows.max_by_key(|row| row.cpu_ns);
            if let Some(row) = busiest.filter(|row| row.cpu_ns >= thresholds::NOISE_NS) {
                finding = finding.evidence(
                    None,
                    format!("{} used the most CPU: {}", row.image, time(row.cpu_ns)),
                );
            }
            Some(finding)
        })
        .collect())
}
