//! Steps of the kernel's shutdown that take long.

use onoff_trace::shutdown_step;
use onoff_usage::disk;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// A step of the kernel's shutdown that takes 2 s or more: the wait for processes, the notification of drivers, the
    /// shutdown of the file systems, or the writing of the registry.
    ///
    /// # Why it costs time
    /// The kernel takes one step at a time, after all programs and services have ended. Nothing else runs meanwhile.
    ///
    /// # Evidence needed
    /// Kernel shutdown steps: provider Microsoft-Windows-Kernel-Power. Disk requests (kernel flag DISK_IO) show whether
    /// the disk was the reason.
    ///
    /// # What to do
    /// If the disk was busy during the step, have programs write less shortly before a shutdown, or use a faster disk.
    /// If it was not, a driver waited for something else: record with wait stacks.
    ///
    /// # When it is wrong
    /// The step names where the time went, not the driver or program that took it.
    ///
    /// # Source
    /// The task names of the kernel's power events; the threshold is onoff's.
    "shutdown/kernel-step-slow", "a step of the kernel's shutdown that takes long", Shutdown(check)
}

/// What each step does. `zero_page_file` has a rule; `graceful_shutdown` contains the others, and `devices` the requests
/// to drivers, which are reported by driver.
const STEPS: [(&str, &str); 4] = [
    (shutdown_step::WAIT_FOR_PROCESSES, "waited for processes"),
    (shutdown_step::IO_SYSTEM, "notified drivers of the shutdown"),
    (shutdown_step::FILE_SYSTEMS, "shut down the file systems"),
    (shutdown_step::REGISTRY, "wrote and closed the registry"),
];

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.require_provider("Microsoft-Windows-Kernel-Power")?;
    let has_disk_requests = facts.require_kernel_flag("DISK_IO").is_ok();
    let steps = facts.report.details.kernel_steps.iter();
    Ok(steps
        .filter_map(|step| {
            let (name, did) = STEPS.into_iter().find(|&(name, _)| name == step.name)?;
            let (end_ns, length_ns) = step.end_ns.zip(step.duration_ns)?;
            if length_ns < thresholds::KERNEL_STEP_NS {
                return None;
            }
            let mut finding = RuleFinding::new(
                FindingSubject::new(FindingSubjectKind::Work, name),
                format!("the kernel {did} for {}", time(length_ns)),
            )
            .cost(facts.cost((step.start_ns, end_ns)))
            .evidence(step.start_ns, format!("kernel step started ({})", step.event))
            .evidence(end_ns, "kernel step ended");
            let usage = disk::usage(facts.trace, &[step.start_ns, end_ns]).pop().filter(|_| has_disk_requests);
            let waited_for_disk = usage.as_ref().map(|usage| usage.service_ns >= length_ns / 2);
            if let Some(usage) = usage {
                let requests = counted(usize::try_from(usage.operations.operations()).unwrap_or(usize::MAX), "disk request");
                finding = finding.evidence(None, format!("{requests} meanwhile, {} of disk time", time(usage.service_ns)));
            }
            Some(finding.advice(match (waited_for_disk, name) {
                (Some(true), _) => {
                    "find out what the disk wrote ('onoff disk FILE'); write it earlier, or use a faster disk".to_owned()
                }
                (_, shutdown_step::WAIT_FOR_PROCESSES) => {
                    "find out which process ended last ('onoff processes FILE'), and have it end when it is asked to".to_owned()
                }
                (Some(false), _) => {
                    "record the shutdown with wait stacks to find the driver: the disk was idle for most of the step".to_owned()
                }
                (None, _) => "record the shutdown with disk requests and wait stacks to find out what the step waited for".to_owned(),
            }))
        })
        .collect())
}
