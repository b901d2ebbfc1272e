//! A page file that is overwritten at every shutdown.

use onoff_trace::shutdown_step;

use crate::rules::prelude::*;

rule! {
    /// # What it finds
    /// The kernel overwriting the page file with zeros.
    ///
    /// # Why it costs time
    /// All of the page file is written, gigabytes on usual computers, before the computer goes off.
    ///
    /// # Evidence needed
    /// The kernel's steps: provider Microsoft-Windows-Kernel-Power.
    ///
    /// # What to do
    /// Turn off the policy "Shutdown: Clear virtual memory pagefile" (`ClearPageFileAtShutdown`) where security rules allow it; a disk that is
    /// encrypted as a whole protects the page file as well.
    ///
    /// # When it is wrong
    /// Where rules demand it, it stays.
    ///
    /// # Source
    /// The kernel's step of that name; Windows' security policy of the same effect.
    "shutdown/page-file-cleared", "a page file that is overwritten at the shutdown", Shutdown(check)
}

fn check(facts: &ShutdownFacts<'_>) -> Outcome {
    facts.needs("Microsoft-Windows-Kernel-Power")?;
    Ok(facts
        .report
        .details.kernel_steps
        .iter()
        .filter(|step| step.name == shutdown_step::ZERO_PAGE_FILE)
        .filter_map(|step| {
            let (end, length) = step.end_ns.zip(step.duration_ns)?;
            Some(
                RuleFinding::new(
                    FindingSubject::new(FindingSubjectKind::Work, shutdown_step::ZERO_PAGE_FILE),
                    format!("the page file is overwritten with zeros, which takes {}", time(length)),
                )
                .costs(facts.cost((step.start_ns, end)))
                .because(step.start_ns, format!("the kernel's step begins ({})", step.event))
                .advise("turn ClearPageFileAtShutdown off where security rules allow it, or encrypt the disk as a whole instead"),
            )
        })
        .collect())
}
